"""Which views of a grid are used: an odd number around a centre, as many as help, none of them dark or missing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from freqlf.errors import FreqLFError
from freqlf.io.viewgrid import InputOptions, ViewGrid
from freqlf.io.views import View, ViewSource
from freqlf.lightfield import LightField, list_views

Brightness = Callable[[int, int], float]  # of view (u, v); negative if there is no such view

# Views per axis to begin with, as many as the packaged weights were trained on; more are used where they help, see
# `freqlf.inference.preparation`.
USUAL_VIEWS = 9
_DIM = 0.7  # of the centre's brightness: darker views are vignetted, which matching takes for a difference


@dataclass(frozen=True)
class Selection:
    """Rows and columns of views, evenly spaced around the centre, and why not all, if so."""

    rows: range
    columns: range
    note: str | None = None


def usual_count(length: int, options: InputOptions) -> int:
    """How many views of so many in a row or column are used at most."""
    most = min((length - 1) // options.stride + 1, options.views or USUAL_VIEWS)
    return (most - 1) // 2 * 2 + 1


def select_views(
    rows: int, columns: int, options: InputOptions, lines: Sequence[str], brightness: Brightness, where: str
) -> Selection:
    """The views of a grid of rows x columns to use: those that the options ask for, else those that can be used.

    A microlens sees the round aperture of the main lens, so the views in the corners of the square behind it are dark;
    other files have black pictures there, or none. Only views on the `lines` count: a model that reads no diagonals
    needs no corners. Of an even number, the middle candidate around which more can be used is the centre.

    where: what has these views, for errors.
    """
    if options.views is not None:
        return _select_asked(rows, columns, options, options.views, where)
    counts = usual_count(rows, options), usual_count(columns, options)
    for count in range(max(counts), 2, -2):
        size = min(counts[0], count), min(counts[1], count)
        for row in _middle_ranges(rows, size[0], options.stride):
            for column in _middle_ranges(columns, size[1], options.stride):
                if _can_use(row, column, lines, brightness):
                    is_dark = size != counts
                    return Selection(row, column, _explain(rows, columns, row, column, options, is_dark=is_dark))
    if brightness((rows - 1) // 2, (columns - 1) // 2) < 0:  # whoever reads the centre says that it is missing
        middle = (
            _middle_ranges(rows, counts[0], options.stride)[0],
            _middle_ranges(columns, counts[1], options.stride)[0],
        )
        return Selection(*middle)
    raise FreqLFError(
        f"{where}: of {rows} x {columns} views, no 3 x 3 around the centre are there and equally bright; is the order "
        "of views right (--pitch-px, --grid, --axes)? --views 3 takes them as they are"
    )


def centre_grid(
    grid: ViewGrid, options: InputOptions, lines: Sequence[str], where: Path
) -> tuple[ViewGrid, tuple[int, int]]:
    """All views around the centre, an odd number each way, and how many (rows, columns) of them to use.

    Views that were looked at are kept, so that each is read once.
    """
    ahead = _ReadAhead(grid.source)
    seen = grid.brightness or ahead.brightness

    def brightness(u: int, v: int) -> float:
        return seen(u, v) if grid.source.has(u, v) else -1.0

    chosen = select_views(grid.rows, grid.columns, options, lines, brightness, str(where))
    ahead.release(lambda u, v: u in chosen.rows and v in chosen.columns)
    size = len(chosen.rows), len(chosen.columns)
    around = chosen.rows, chosen.columns
    if options.views is None:
        around = _extend(chosen.rows, grid.rows), _extend(chosen.columns, grid.columns)
    picked = replace(grid, source=ahead).picked(*around)
    if grid.parameters is not None:
        picked = replace(picked, parameters=grid.parameters.strided(options.stride, *size))
    return (picked if chosen.note is None else picked.noted(chosen.note)), size


def choose_subgrid(
    light_field: LightField, options: InputOptions, lines: Sequence[str]
) -> tuple[LightField, tuple[int, int], str | None]:
    """The same for a light field, whose numbers of views are odd; and the note, if not all are used."""
    brightness = partial(measure_brightness, light_field)
    chosen = select_views(light_field.rows, light_field.columns, options, lines, brightness, "the light field")
    for u, v in np.ndindex(light_field.rows, light_field.columns):
        if u not in chosen.rows or v not in chosen.columns:
            light_field.forget(u, v)
    size = len(chosen.rows), len(chosen.columns)
    around = chosen.rows, chosen.columns
    if options.views is None:
        around = _extend(chosen.rows, light_field.rows), _extend(chosen.columns, light_field.columns)
    if (around[0].step, around[1].step) == (1, 1) and (len(around[0]), len(around[1])) == (
        light_field.rows,
        light_field.columns,
    ):
        return light_field, size, chosen.note
    return light_field.subgrid(len(around[0]), len(around[1]), options.stride), size, chosen.note


def measure_brightness(light_field: LightField, u: int, v: int) -> float:
    """The mean of a view; negative if it is missing."""
    return float(light_field.view(u, v).mean()) if light_field.has_view(u, v) else -1.0


def can_use(light_field: LightField, lines: Sequence[str]) -> bool:
    """Whether all views on the lines are there and bright."""
    rows, columns = range(light_field.rows), range(light_field.columns)
    return _can_use(rows, columns, lines, partial(measure_brightness, light_field))


def _extend(chosen: range, length: int) -> range:
    """As many more indices to both sides as there are, by the same step."""
    centre = chosen[len(chosen) // 2]
    reach = min(centre, length - 1 - centre) // chosen.step * chosen.step
    return range(centre - reach, centre + reach + 1, chosen.step)


def _select_asked(rows: int, columns: int, options: InputOptions, count: int, where: str) -> Selection:
    """The central count x count views, whatever they look like; a single row or column stays one."""
    sizes = [1 if length == 1 else count for length in (rows, columns)]
    ranges = [_middle_ranges(*pair, options.stride) for pair in zip((rows, columns), sizes, strict=True)]
    if not all(ranges):
        raise FreqLFError(
            f"{where} has {rows} x {columns} views; {count} x {count} with stride {options.stride} do not fit: ask "
            "for fewer with --views, or for a smaller --stride"
        )
    row, column = ranges[0][0], ranges[1][0]
    return Selection(row, column, _explain(rows, columns, row, column, options))


def _middle_ranges(length: int, count: int, stride: int) -> list[range]:
    """Of the ways to take `count` indices in the middle, `stride` apart: one, two if none is in the middle, or none."""
    spare = length - ((count - 1) * stride + 1)
    starts = [] if spare < 0 else sorted({spare // 2, (spare + 1) // 2})
    return [range(start, start + (count - 1) * stride + 1, stride) for start in starts]


def _can_use(rows: range, columns: range, lines: Sequence[str], brightness: Brightness) -> bool:
    """Whether all views on the lines through the centre are there and bright."""
    window = LightField(len(rows), len(columns), {})
    centre = brightness(rows[window.centre[0]], columns[window.centre[1]])
    # The ends of lines come first: they are the darkest, and what need not be looked at is not read.
    views = [view for view in list_views(len(rows), len(columns), lines) if view != window.centre]
    outermost = sorted(views, key=lambda view: -max(abs(view[0] - window.centre[0]), abs(view[1] - window.centre[1])))
    return centre >= 0 and all(brightness(rows[u], columns[v]) >= _DIM * centre for u, v in outermost)


def _explain(
    rows: int, columns: int, row: range, column: range, options: InputOptions, *, is_dark: bool = False
) -> str | None:
    if (len(row), len(column)) == (rows, columns):
        return None
    strided = f", every {options.stride}th" if options.stride > 1 else ""
    note = f"took the central {len(row)} x {len(column)} of {rows} x {columns} views{strided}"
    if options.views is not None:
        return note
    if is_dark:
        return f"{note}: those outside are dark or missing (--views N takes N x N as they are)"
    is_even = max(rows, columns) <= USUAL_VIEWS + 1 and not strided
    return f"{note}: an even number has no central one" if is_even else note


class _ReadAhead:
    """Views of another source; those whose brightness was asked for are kept until they are read, which is once."""

    def __init__(self, source: ViewSource) -> None:
        self._source = source
        self._kept: dict[tuple[int, int], View] = {}
        self._brightness: dict[tuple[int, int], float] = {}
        self.has, self.name, self.size = source.has, source.name, source.size

    def brightness(self, u: int, v: int) -> float:
        if (u, v) not in self._brightness:
            view = self._kept[u, v] = self._source.read(u, v)
            self._brightness[u, v] = float(view.mean())
        return self._brightness[u, v]

    def release(self, is_used: Callable[[int, int], bool]) -> None:
        """Keep no view that is not used."""
        self._kept = {view: pixels for view, pixels in self._kept.items() if is_used(*view)}

    def read(self, u: int, v: int) -> View:
        view = self._kept.pop((u, v), None)
        return self._source.read(u, v) if view is None else view
