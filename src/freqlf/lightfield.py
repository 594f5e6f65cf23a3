"""Light fields: a grid of views of one scene, and the conventions that everything else relies on.

A light field is indexed [u, v, y, x, c]. `u` is the row of a view and `v` its column, `y` and `x` the row and
column of a pixel, all counted from the top left. Disparity is in pixels per view step, at the central view, positive
in front of the focus plane; `project_pixel` is its definition.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.views import StoredViews, View, ViewSource, find_scaled_size, scale_view, shift_view

Number = TypeVar("Number", float, NDArray[np.floating])

# The lines of views through the centre: (rows, columns) from one view to the next.
LINES: dict[str, tuple[int, int]] = {
    "horizontal": (0, 1),
    "vertical": (1, 0),
    "diagonal": (1, 1),
    "antidiagonal": (1, -1),
}

GRID_RULE = "at least 3 x 3 views, or a single row or column of 3"


def is_grid(rows: int, columns: int) -> bool:
    """Whether so many rows and columns of views can be a light field."""
    return max(rows, columns) >= 3 and min(rows, columns) != 2 and min(rows, columns) >= 1


def list_views(rows: int, columns: int, lines: Iterable[str] = LINES) -> list[tuple[int, int]]:
    """The (u, v) of the views of a grid on some lines through its centre; models look at no others."""
    grid = LightField(rows, columns, {})
    return sorted({view for line in lines for view in grid.line(line)})


def project_pixel(y: Number, x: Number, disparity_px: Number, view_step: tuple[int, int]) -> tuple[Number, Number]:
    """Where a point that the central view sees at (y, x) is seen by the view `view_step` = (u - uc, v - vc) away."""
    return y - view_step[0] * disparity_px, x - view_step[1] * disparity_px


class LightField:
    """A grid of views, each (H, W, 3) float32 in [0, 1], read when first asked for and then kept until `forget`.

    Views may be missing as long as nobody asks for them. Transformations (`crop`, `sheared`, ...) return new light
    fields that compute only those views that are asked for.
    """

    def __init__(
        self,
        rows: int,
        columns: int,
        views: Mapping[tuple[int, int], Path | NDArray[Any]],
        name_view: Callable[[int, int], str] | None = None,
    ) -> None:
        """`views` maps (u, v) to a file or to pixels; `name_view` says in errors where a missing view belongs."""
        self._attach(rows, columns, StoredViews(views, name_view))

    @classmethod
    def from_source(cls, rows: int, columns: int, source: ViewSource) -> "LightField":
        """From anything that can read single views, such as a container file."""
        light_field = cls.__new__(cls)
        light_field._attach(rows, columns, source)
        return light_field

    def _attach(self, rows: int, columns: int, source: ViewSource) -> None:
        if not is_grid(rows, columns):
            raise FreqLFError(f"a light field needs {GRID_RULE}, not {rows} x {columns}")
        if rows % 2 == 0 or columns % 2 == 0:
            raise FreqLFError(
                f"{rows} x {columns} views have no central one; both counts must be odd, so leave out "
                "the last row or column of views, for example LightField.from_array(array[:-1, :-1])"
            )
        self.rows = rows
        self.columns = columns
        self._source = source
        self._views: dict[tuple[int, int], View] = {}
        self._keeps_views = True

    @classmethod
    def from_array(cls, array: NDArray[Any]) -> "LightField":
        """From pixels (rows, columns, H, W) or (rows, columns, H, W, 1, 3 or 4): uint8, uint16 or floats in [0, 1]."""
        if array.ndim not in (4, 5):
            raise FreqLFError(f"a light field is [u, v, y, x] or [u, v, y, x, c], not the shape {array.shape}")
        rows, columns = array.shape[:2]
        return cls(rows, columns, {(u, v): array[u, v] for u in range(rows) for v in range(columns)})

    # --- views ---------------------------------------------------------------------------------------------------

    @property
    def centre(self) -> tuple[int, int]:
        """(u, v) of the central view."""
        return self.rows // 2, self.columns // 2

    @property
    def height(self) -> int:
        """Rows of pixels per view; known without reading any."""
        return self._source.size(*self.centre)[0]

    @property
    def width(self) -> int:
        """Columns of pixels per view; known without reading any."""
        return self._source.size(*self.centre)[1]

    def has_view(self, u: int, v: int) -> bool:
        """Whether the view is there."""
        return 0 <= u < self.rows and 0 <= v < self.columns and self._source.has(u, v)

    def view(self, u: int, v: int) -> View:
        """The pixels (H, W, 3) of view (u, v). Do not write into them: they are shared."""
        pixels = self._views.get((u, v))
        if pixels is None:
            if not (0 <= u < self.rows and 0 <= v < self.columns):
                raise FreqLFError(f"view ({u}, {v}) is outside the grid of {self.rows} x {self.columns} views")
            if not self._source.has(u, v):
                raise FreqLFError(f"view ({u}, {v}) is missing: {self._source.name(u, v)} is not there")
            pixels = self._checked(u, v, self._source.read(u, v))
            if self._keeps_views:
                self._views[u, v] = pixels
        return pixels

    def forget(self, u: int, v: int) -> None:
        """Keep the pixels of view (u, v) no longer, nor those it was derived from; it is read again if asked for."""
        self._views.pop((u, v), None)
        if isinstance(self._source, _DerivedViews):
            self._source.forget(u, v)

    def _checked(self, u: int, v: int, pixels: View) -> View:
        height, width = pixels.shape[:2]
        if height < 2 or width < 2:
            name = self._source.name(u, v)
            raise FreqLFError(f"{name} has {width} x {height} pixels; disparity needs views of at least 2 x 2")
        for other, reference in list(self._views.items())[:1]:  # a list: other threads may be adding views
            if reference.shape != pixels.shape:
                raise FreqLFError(
                    f"all views must have one size, but {self._source.name(u, v)} has {width} x {height} pixels "
                    f"and {self._source.name(*other)} has {reference.shape[1]} x {reference.shape[0]}"
                )
        pixels.flags.writeable = False
        return pixels

    def centre_view(self) -> View:
        """The view whose disparity is estimated, (H, W, 3)."""
        return self.view(*self.centre)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines through the centre that have other views: of a single row, the horizontal one only."""
        return tuple(name for name in LINES if len(self.line(name)) > 1)

    def line(self, direction: str) -> list[tuple[int, int]]:
        """The (u, v) of the views on a line through the centre, in order; `direction` is a key of `LINES`."""
        if direction not in LINES:
            raise FreqLFError(f"unknown line of views {direction!r}: choose one of {', '.join(LINES)}")
        step_u, step_v = LINES[direction]
        centre_u, centre_v = self.centre
        reach = min([centre_u] * abs(step_u) + [centre_v] * abs(step_v))
        return [(centre_u + t * step_u, centre_v + t * step_v) for t in range(-reach, reach + 1)]

    def stack(self, direction: str) -> View:
        """The views of a line, in order: (A, H, W, 3)."""
        return np.stack([self.view(u, v) for u, v in self.line(direction)])

    def epi_horizontal(self, y: int) -> View:
        """Row `y` of every view of the central row: (columns, W, 3). A point moves by -disparity pixels a row."""
        if not 0 <= y < self.height:
            raise FreqLFError(f"the views have no row {y}: choose 0 to {self.height - 1}")
        return np.stack([self.view(u, v)[y] for u, v in self.line("horizontal")])

    # --- transformations -----------------------------------------------------------------------------------------

    def crop(self, y: int, x: int, height: int, width: int) -> "LightField":
        """The window of every view whose top left pixel is (y, x). Disparities stay."""
        if y < 0 or x < 0 or height < 2 or width < 2 or y + height > self.height or x + width > self.width:
            raise FreqLFError(
                f"crop {width} x {height} at ({y}, {x}) must be at least 2 x 2 and lie within the views "
                f"of {self.width} x {self.height} pixels"
            )
        return self._derive(lambda view, step: view[y : y + height, x : x + width], size=(height, width))

    def sheared(self, k: float) -> "LightField":
        """Shift each view in proportion to its distance from the centre, which adds `k` to every disparity.

        Uses cubic splines: linear interpolation would blur views by fractions of their shift, and matching
        would see that blur. What comes in from outside repeats the edge.
        """
        if not math.isfinite(k):
            raise FreqLFError(f"the shear must be a finite number of pixels per view step, not {k}")
        return self._derive(lambda view, step: shift_view(view, -k * step[0], -k * step[1]))

    def scaled(self, factor: float) -> "LightField":
        """Every view resized by `factor` (antialiased, rounded down to whole pixels); disparities scale along."""
        if not (math.isfinite(factor) and min(self.height, self.width) * factor >= 2):
            raise FreqLFError(f"cannot scale {self.width} x {self.height} views by {factor}: 2 x 2 pixels must remain")
        size = find_scaled_size(self.height, self.width, factor)
        return self._derive(lambda view, step: scale_view(view, factor), size=size)

    def transposed(self) -> "LightField":
        """Swap u with v and y with x: the horizontal stack becomes the vertical one. Disparities keep their sign."""
        grid, size = (self.columns, self.rows), (self.width, self.height)
        return self._derive(lambda view, step: view.transpose(1, 0, 2), lambda u, v: (v, u), grid, size)

    def with_gains(self, gains: "Mapping[tuple[int, int], View]") -> "LightField":
        """Views (u, v) that have gains (3,) multiplied by them, colour by colour, at most to white; others stay.

        They are computed each time, for that is cheaper than to hold all of them twice.
        """
        centre_u, centre_v = self.centre

        def brighten(view: View, step: tuple[int, int]) -> View:
            gain = gains.get((centre_u + step[0], centre_v + step[1]))
            return view if gain is None else np.minimum(view * gain, np.float32(1))

        derived = self._derive(brighten)
        derived._keeps_views = False
        return derived

    def subgrid(self, rows: int, columns: int, stride: int = 1) -> "LightField":
        """The central rows x columns views, every `stride`-th of them. Disparities are multiplied by `stride`."""
        (old_u, old_v), new_u, new_v = self.centre, rows // 2, columns // 2
        if stride < 1 or new_u * stride > old_u or new_v * stride > old_v:
            raise FreqLFError(
                f"{rows} x {columns} views with stride {stride} do not fit into {self.rows} x {self.columns} views"
            )
        return self._derive(
            lambda view, step: view,
            lambda u, v: (old_u + (u - new_u) * stride, old_v + (v - new_v) * stride),
            (rows, columns),
        )

    def reordered(
        self, *, reverse_rows: bool = False, reverse_columns: bool = False, swap: bool = False
    ) -> "LightField":
        """The views in another order, their pixels untouched: for files whose order differs from ours.

        `swap` makes rows of views columns; it comes first. Reversing rows and columns negates all disparities.
        """
        rows, columns = (self.columns, self.rows) if swap else (self.rows, self.columns)

        def locate(u: int, v: int) -> tuple[int, int]:
            u = rows - 1 - u if reverse_rows else u
            v = columns - 1 - v if reverse_columns else v
            return (v, u) if swap else (u, v)

        return self._derive(lambda view, step: view, locate, (rows, columns))

    def _derive(
        self,
        transform: "Callable[[View, tuple[int, int]], View]",
        locate: Callable[[int, int], tuple[int, int]] = lambda u, v: (u, v),
        grid: tuple[int, int] | None = None,
        size: tuple[int, int] | None = None,
    ) -> "LightField":
        """A light field whose view (u, v) is `transform(view, its step from the centre)` of our view `locate(u, v)`.

        grid, size: (rows, columns) of views and (height, width) of a view, where they become others.
        """
        source = _DerivedViews(self, transform, locate, size)
        return LightField.from_source(*(grid or (self.rows, self.columns)), source)


class _DerivedViews:
    """Views computed from those of another light field."""

    def __init__(
        self,
        parent: LightField,
        transform: Callable[[View, tuple[int, int]], View],
        locate: Callable[[int, int], tuple[int, int]],
        size: tuple[int, int] | None,
    ) -> None:
        self._parent = parent
        self._transform = transform
        self._locate = locate
        self._size = size

    def has(self, u: int, v: int) -> bool:
        return self._parent.has_view(*self._locate(u, v))

    def name(self, u: int, v: int) -> str:
        return self._parent._source.name(*self._locate(u, v))

    def size(self, u: int, v: int) -> tuple[int, int]:
        return self._size or self._parent._source.size(*self._locate(u, v))

    def forget(self, u: int, v: int) -> None:
        self._parent.forget(*self._locate(u, v))

    def read(self, u: int, v: int) -> View:
        parent_u, parent_v = self._locate(u, v)
        centre_u, centre_v = self._parent.centre
        view = self._parent.view(parent_u, parent_v)
        return self._transform(view, (parent_u - centre_u, parent_v - centre_v))
