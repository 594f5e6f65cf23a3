"""Tables and progress bars: bars only for people, never in a log."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

Item = TypeVar("Item")


def print_table(table: Table) -> None:
    """Print to standard output; in a pipe or a file, wide enough that no cell is folded."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=max(80, Console(width=1000).measure(table).maximum))
    console.print(table)


def make_progress() -> Progress:
    """A progress bar on standard error, or nothing if that is not a terminal. Use it in a `with` statement."""
    console = Console(stderr=True)
    # What is printed meanwhile goes above the bar, but not from a file or a pipe to the terminal.
    is_terminal = sys.stdout.isatty()
    return Progress(console=console, disable=not console.is_terminal, transient=True, redirect_stdout=is_terminal)


class StageBar:
    """One bar for work of several stages that report their own tiles: how much of it all is done, and the time left."""

    def __init__(self, progress: Progress, title: str) -> None:
        self._progress = progress
        self._title = title
        self._task = progress.add_task(f"{title}: reading", total=1.0)
        self._shares: dict[str, tuple[float, float]] = {}

    @property
    def is_shown(self) -> bool:
        """Whether anybody looks."""
        return not self._progress.disable

    def plan(self, seconds: Mapping[str, float]) -> None:
        """Say how long stages take compared with each other, in their order."""
        whole, before = sum(seconds.values()) or 1.0, 0.0
        for stage, duration in seconds.items():
            self._shares[stage] = before / whole, duration / whole
            before += duration

    def show(self, stage: str, done: int, total: int) -> None:
        """Told by a stage that so many of its tiles are done."""
        text = f"{self._title}: {stage}" + (f", {done} of {total} tiles" if total > 1 else "")
        if stage not in self._shares:
            self._progress.update(self._task, description=text)
            return
        first, share = self._shares[stage]
        self._progress.update(self._task, description=text, completed=first + share * done / max(total, 1))

    def remove(self) -> None:
        """The work has ended."""
        self._progress.remove_task(self._task)


def show_progress(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items, with a progress bar on standard error if that is a terminal; `total` if they have no length."""
    with make_progress() as progress:
        yield from progress.track(items, total=total, description=description)
