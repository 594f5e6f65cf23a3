"""Independent pieces of work in several threads, each of which computes alone."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from functools import cache
from threading import Barrier
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_side_by_side(items: Iterable[Item], work: Callable[[Item], Result], workers: int) -> Iterator[Result]:
    """What `work` makes of the items, in their order, by so many threads that are a few items ahead at most.

    Whoever gets done takes the next item, so a thread that shares its core with another program holds up nobody.
    """
    if workers == 1:
        yield from map(work, items)
        return
    pool, is_inference = _make_pool(workers, os.getpid()), torch.is_inference_mode_enabled()

    def work_inside(item: Item) -> Result:  # modes of torch are those of a thread
        mode: AbstractContextManager[object] = torch.inference_mode() if is_inference else nullcontext()
        with mode:
            return work(item)

    pending: deque[Future[Result]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(copy_context().run, work_inside, item))
            if len(pending) > workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:  # nobody writes into memory that is no longer wanted
        for one in pending:
            one.cancel()
        wait(pending)


@cache
def _make_pool(workers: int, process: int) -> ThreadPoolExecutor:
    """Threads in which torch has no others to wait for; those of a parent do not live on in a forked process."""
    usual, all_started = torch.get_num_threads(), Barrier(workers + 1)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="freqlf tiles", initializer=_compute_alone)
    for _ in range(workers):
        pool.submit(all_started.wait)
    all_started.wait()
    torch.set_num_threads(usual)  # threads to come ask what was set last
    return pool


def _compute_alone() -> None:
    torch.set_num_threads(1)
    torch.get_num_threads()  # makes it this thread's own, whatever is set later
    torch.set_flush_denormal(True)
