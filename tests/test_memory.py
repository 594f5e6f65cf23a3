import numpy as np

from freqlf.benchmark import run_in_fresh_process
from freqlf.memory import held_memory_mb, peak_memory_mb


def hold_and_drop(megabytes: int) -> tuple[float, float, float]:
    before_mb = held_memory_mb()
    field = np.ones(megabytes * 125_000)
    held_mb = held_memory_mb() - before_mb
    del field
    return before_mb, held_mb, peak_memory_mb() - before_mb


def test_memory_is_seen_while_held_and_remembered_afterwards() -> None:
    ballast = np.ones(400 * 125_000)  # held by this process, and no business of the other one
    before_mb, held_mb, peak_mb = run_in_fresh_process(hold_and_drop, 100)
    assert 95 < held_mb < 120
    assert 95 < peak_mb < 120
    assert held_memory_mb() > ballast.nbytes / 1e6
    assert before_mb < peak_memory_mb()
