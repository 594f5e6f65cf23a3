"""How compiled loops are run: in which threads, and with a word to who waits for the compiler."""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import torch
from numba.core import event
from numba.core.caching import Cache

# Options of all loops: no lock on the interpreter, kept on disk, sums in any order. NaN stays NaN.
LOOP: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "fastmath": {"contract", "reassoc", "nsz"},
    "error_model": "numpy",
}

# Threads take pieces of the work as they get done: beside another program one of them may be much slower.
_PIECES_PER_THREAD = 4


def run_in_threads(loop: Callable[..., None], count: int, *arguments: Any) -> None:
    """Call loop(*arguments, first, last) in as many threads as torch has, each number below `count` in one call."""
    threads = torch.get_num_threads()
    size = -(-count // (_PIECES_PER_THREAD * threads))
    if threads == 1 or size >= count:
        loop(*arguments, 0, count)
        return
    pool = _make_pool(threads, os.getpid())
    list(pool.map(lambda first: loop(*arguments, first, min(first + size, count)), range(0, count, size)))


@cache
def _make_pool(threads: int, process: int) -> ThreadPoolExecutor:
    """Threads that sleep while there is nothing to do; those of a parent do not live on in a forked process."""
    return ThreadPoolExecutor(threads, thread_name_prefix="freqlf")


class _Announcement(event.Listener):
    """One line, the first time that something is compiled rather than found on disk."""

    def on_start(self, event: event.Event) -> None:
        if not self.is_made:
            print("freqlf: compiling loops for this processor, once, for about half a minute", file=sys.stderr)
            self.is_made = True

    def on_end(self, event: event.Event) -> None:
        pass

    is_made = False


event.register("numba:compile", _Announcement())


@contextmanager
def _go_on_without(cache: Cache) -> Iterator[None]:
    """A disk that is full or shut costs the compiler's time, not the result; Numba sees to that on Windows only."""
    with suppress(OSError):
        yield


Cache._guard_against_spurious_io_errors = _go_on_without
