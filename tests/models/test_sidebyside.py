import threading
import time

import pytest
import torch

from freqlf.models.sidebyside import run_side_by_side


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_order(workers: int) -> None:
    def work(item: int) -> int:
        time.sleep(0.002 * (item % 3))
        return item * item

    assert list(run_side_by_side(range(20), work, workers)) == [item * item for item in range(20)]


def test_threads_compute_alone_and_with_the_modes_of_the_caller() -> None:
    before = torch.get_num_threads()
    with torch.inference_mode():
        seen = list(
            run_side_by_side(
                range(8),
                lambda _: (torch.get_num_threads(), torch.is_inference_mode_enabled(), threading.get_ident()),
                2,
            )
        )
    assert {(threads, mode) for threads, mode, _ in seen} == {(1, True)}
    assert threading.get_ident() not in {thread for *_, thread in seen}
    assert torch.get_num_threads() == before
    assert list(run_side_by_side([0], lambda _: torch.is_inference_mode_enabled(), 2)) == [False]


def test_few_items_are_taken_ahead() -> None:
    """What is not yet wanted is not made: items hold memory."""
    taken = []

    def items():
        for item in range(50):
            taken.append(item)
            yield item

    results = run_side_by_side(items(), lambda item: item, 2)
    assert next(results) == 0
    assert len(taken) <= 4


def test_an_error_ends_it_when_nobody_works_any_more() -> None:
    running = []

    def work(item: int) -> None:
        running.append(item)
        time.sleep(0.01)
        if item == 1:
            raise ValueError("item 1")
        running.remove(item)

    with pytest.raises(ValueError, match="item 1"):
        list(run_side_by_side(range(10), work, 3))
    assert running == [1]
