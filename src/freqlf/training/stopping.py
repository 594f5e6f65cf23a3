"""Reasons to pause a loop between two steps: the clock, and signals."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Alarm:
    """Due when so many minutes have passed."""

    def __init__(self, minutes: float) -> None:
        self._seconds = 60 * minutes
        self.reset()

    def is_due(self) -> bool:
        """Whether the time has come."""
        return time.monotonic() - self._start >= self._seconds

    def reset(self) -> None:
        """Begin to wait again."""
        self._start = time.monotonic()


@contextmanager
def catch_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM, so that the step in hand can be finished and saved. A second one is not caught."""
    received: list[int] = []
    kinds = (signal.SIGINT, signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield received
        return
    previous = {kind: signal.getsignal(kind) for kind in kinds}

    def restore() -> None:
        for kind, handler in previous.items():
            signal.signal(kind, handler)

    def remember(number: int, frame: FrameType | None) -> None:
        received.append(number)
        restore()

    for kind in kinds:
        signal.signal(kind, remember)
    try:
        yield received
    finally:
        restore()
