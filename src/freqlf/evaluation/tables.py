"""Tables as text: one table, shown in a terminal or written as Markdown."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.markup import escape as escape_markup
from rich.table import Table as RichTable

from freqlf.errors import FreqLFError, to_plain

Row = tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Text in rows and columns.

    Attributes:
        rows: as many cells each as there are headings; the first one names the row.
        summary: further rows, below a line: means.
        best: (row, column) of the cells to emphasise, of `rows`.
        notes: sentences below the table.
    """

    title: str
    headings: Row
    rows: tuple[Row, ...]
    summary: tuple[Row, ...] = ()
    best: frozenset[tuple[int, int]] = frozenset()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not all((*self.rows, *self.summary)):
            raise FreqLFError("a row of a table must have a cell")


def format_number(value: float | None, digits: int) -> str:
    """A number with `digits` after the point, or a dash where there is none."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.{digits}f}"


def find_best(values: Sequence[Sequence[float | None]], digits: Sequence[int]) -> set[tuple[int, int]]:
    """(row, column) of the lowest of each column, as printed: what looks equal is equally good."""
    best = set()
    for column, places in enumerate(digits):
        printed = [None if row[column] is None else format_number(row[column], places) for row in values]
        lowest = min((float(text) for text in printed if text not in (None, "-")), default=None)
        best |= {(row, column) for row, text in enumerate(printed) if text not in (None, "-") and float(text) == lowest}
    return best


def to_markdown(table: Table) -> str:
    """With its title in bold above and its notes below."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    alignment = line(["---", *["---:"] * (len(table.headings) - 1)])
    rows = [
        line([f"**{cell}**" if (y, x) in table.best else cell for x, cell in enumerate(row)])
        for y, row in enumerate(table.rows)
    ]
    summary = [line([f"*{cell}*" for cell in row]) for row in table.summary]
    parts = [f"**{table.title}**", "\n".join([line(table.headings), alignment, *rows, *summary]), *table.notes]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Neither markup nor codes that a terminal would obey."""
    return escape_markup(to_plain(text))


def to_rich(table: Table) -> RichTable:
    """For `freqlf.cli.terminal.print_table`."""
    shown = RichTable(title=escape(table.title), title_justify="left", caption_justify="left")
    for number, heading in enumerate(table.headings):
        shown.add_column(escape(heading), justify="right" if number else "left", no_wrap=number == 0)
    for y, row in enumerate(table.rows):
        shown.add_row(
            *(f"[bold]{escape(cell)}[/]" if (y, x) in table.best else escape(cell) for x, cell in enumerate(row))
        )
    if table.summary:
        shown.add_section()
    for row in table.summary:
        shown.add_row(*map(escape, row))
    if table.notes:
        shown.caption = "\n".join(map(escape, table.notes))
    return shown
