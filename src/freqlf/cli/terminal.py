"""Tables and progress bars: bars only for people, never in a log."""

from collections.abc import Iterator, Sequence
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
    return Progress(console=console, disable=not console.is_terminal, transient=True)


def show_progress(items: Sequence[Item], description: str) -> Iterator[Item]:
    """Yield the items, with a progress bar on standard error if that is a terminal."""
    with make_progress() as progress:
        yield from progress.track(items, description=description)
