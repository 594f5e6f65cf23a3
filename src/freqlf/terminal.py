"""Tables and progress bars: bars only for people, never in a log."""

from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from rich.console import Console
from rich.progress import track
from rich.table import Table

Item = TypeVar("Item")


def print_table(table: Table) -> None:
    """Print to standard output; in a pipe or a file, wide enough that no cell is folded."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=max(80, Console(width=1000).measure(table).maximum))
    console.print(table)


def show_progress(items: Iterable[Item], description: str) -> Iterator[Item]:
    """Yield the items, with a progress bar on standard error if that is a terminal."""
    console = Console(stderr=True)
    total = len(items) if isinstance(items, Sized) else None
    yield from track(items, description, total=total, console=console, disable=not console.is_terminal, transient=True)
