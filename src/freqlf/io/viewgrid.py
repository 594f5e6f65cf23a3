"""Views as a file stores them, before they become a light field; and what users may say about them."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.image import MOST_PIXELS, read_size, to_float_rgb
from freqlf.io.parameters import Parameters
from freqlf.io.schema import Range, check_fields
from freqlf.io.views import StoredViews, View, ViewSource
from freqlf.lightfield import GRID_RULE, LightField, is_grid

IMAGE_SUFFIXES = (".png", ".webp", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".ppm", ".pgm")

# Limits on what a file may claim. Real light fields stay far below; a damaged or hostile header does not.
MOST_VIEWS = 255  # in one direction
SMALLEST_VIEW_PX = 5  # smaller ones are another axis that was taken for pixels
MOST_BYTES_AT_ONCE = 8 * 2**30  # of files that cannot be read view by view
BYTES_PER_PIXEL = 24  # of a picture that holds all views: colours, and what is compared to find where they are

ViewCount = Annotated[int, Range(3, MOST_VIEWS)]
LineCount = Annotated[int, Range(1, MOST_VIEWS)]  # 1: a light field may be a single row or column of views


@dataclass(frozen=True)
class InputOptions:
    """What a file does not say about itself.

    Attributes:
        pitch_px: lenslet images: pixels from one microlens to the next, which is also the number of views per axis.
        grid: (rows, columns) of views, for a tiled image or for files with one number in their names.
        column_major: the first number, or axis, of the views is the column; a single number counts down columns.
        reverse_rows: the first row of views is the bottom one.
        reverse_columns: the first column of views is the rightmost one.
        check_order: find the order by the parallax, and change it if it is wrong, unless it was given here.
        axes: arrays: what each axis is, a permutation of "uvyx" or "uvyxc"; by default those two themselves.
        dataset: container files: the name of the array that holds the views.
        views: take the central views x views as they are; by default as many as help and are neither dark nor missing.
        stride: take every stride-th view, counted from the central one. Disparities are multiplied by it.
    """

    pitch_px: ViewCount = 14
    grid: tuple[LineCount, LineCount] | None = None
    column_major: bool = False
    reverse_rows: bool = False
    reverse_columns: bool = False
    check_order: bool = True
    axes: str | None = None
    dataset: str | None = None
    views: ViewCount | None = None
    stride: Annotated[int, Range(1, MOST_VIEWS)] = 1

    def __post_init__(self) -> None:
        check_fields(self)
        if self.axes is not None and sorted(self.axes) not in (sorted("uvyx"), sorted("uvyxc")):
            raise FreqLFError(f"axes must name u, v, y, x and perhaps c once each, such as yxuvc, not {self.axes!r}")
        if self.grid is not None and not is_grid(*self.grid):
            raise FreqLFError(f"--grid takes rows and columns of views, {GRID_RULE}, not {self.grid[0]} {self.grid[1]}")
        if self.views is not None and self.views % 2 == 0:
            raise FreqLFError(f"views must be odd, because one view is the centre, not {self.views}")

    @property
    def order_is_given(self) -> bool:
        """Whether the user said something about the order of views."""
        return self.column_major or self.reverse_rows or self.reverse_columns


@dataclass(frozen=True)
class ViewGrid:
    """Views of one file or folder in the order that its format documents; numbers of views may be even.

    Attributes:
        rows: of views.
        columns: of views.
        source: reads one view.
        order_is_certain: the format leaves no doubt about the order of views.
        parameters: the camera, where the format knows it.
        notes: what the user should know about how the file was read.
        brightness: of view (u, v), where its pixels do not tell; None where they do.
    """

    rows: int
    columns: int
    source: ViewSource
    order_is_certain: bool = False
    parameters: Parameters | None = None
    notes: tuple[str, ...] = ()
    brightness: Callable[[int, int], float] | None = None

    def noted(self, note: str) -> "ViewGrid":
        """The same with a further note."""
        return replace(self, notes=(*self.notes, note))

    def picked(self, rows: range, columns: range) -> "ViewGrid":
        """Only the views of some rows and columns, evenly spaced."""
        source = _PickedViews(self.source, rows, columns)
        return replace(self, rows=len(rows), columns=len(columns), source=source, brightness=None)

    def light_field(self, where: Path) -> LightField:
        """The light field; its central view must be there."""
        light_field = LightField.from_source(self.rows, self.columns, self.source)
        if not light_field.has_view(*light_field.centre):
            raise FreqLFError(f"{where} has no central view: {self.source.name(*light_field.centre)} is missing")
        return light_field


@dataclass(frozen=True)
class Promise:
    """What the header of a file says that its views are, before any pixel is read.

    Attributes:
        rows, columns: of views; before some may be left out.
        height, width: of a view in pixels.
        kept_bytes: what stays in memory as long as views are read: all of a file that cannot be read view by view.
    """

    rows: int
    columns: int
    height: int
    width: int
    kept_bytes: int = 0


def _allow_usual(promise: Promise) -> None:
    if promise.kept_bytes > MOST_BYTES_AT_ONCE:
        raise FreqLFError(
            f"it claims {promise.kept_bytes / 2**30:.0f} GiB, more than the {MOST_BYTES_AT_ONCE // 2**30} GiB that are "
            "read at once; keep only the central views, or store them as .npy or as separate images"
        )


_memory_check: ContextVar[Callable[[Promise], None]] = ContextVar("memory_check", default=_allow_usual)


@contextmanager
def checking_memory(check: Callable[[Promise], None]) -> Iterator[None]:
    """While views are opened, let `check` refuse, by a FreqLFError, what a header promises."""
    token = _memory_check.set(check)
    try:
        yield
    finally:
        _memory_check.reset(token)


def admit(where: Path, promise: Promise) -> None:
    """Whether there is memory for the views of a file: every reader asks once, before it reads any pixel."""
    try:
        _allow_usual(promise)
        _memory_check.get()(promise)
    except FreqLFError as error:
        raise FreqLFError(f"{where}: {error}") from error


class LateArray:
    """An array of known shape that is loaded when the first of its views is asked for."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], load: Callable[[], NDArray[Any]]) -> None:
        self.shape = shape
        self.dtype = dtype
        self._load = load
        self._array: NDArray[Any] | None = None

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """What it will hold."""
        return math.prod(self.shape) * self.dtype.itemsize

    def transpose(self, axes: list[int]) -> "LateArray":
        """The same with its axes in another order."""
        return LateArray(tuple(self.shape[axis] for axis in axes), self.dtype, lambda: self.load().transpose(axes))

    def load(self) -> NDArray[Any]:
        """All of it."""
        if self._array is None:
            array = self._load()
            if array.shape != self.shape or array.dtype != self.dtype:
                raise FreqLFError(f"an array of the shape {array.shape} was announced as {self.shape}; it has changed")
            self._array = array
        return self._array


Pixels = TypeVar("Pixels", NDArray[Any], LateArray)


def grid_of_files(where: Path, rows: int, columns: int, files: Mapping[tuple[int, int], Path]) -> ViewGrid:
    """Views with a file each, which are not decoded before they are needed. All must have one size."""
    check_view_count(where, rows, columns)
    size = check_sizes(files.values())
    if size is not None:
        admit(where, Promise(rows, columns, *size))
    return ViewGrid(rows, columns, StoredViews(files, lambda u, v: f"the file of view ({u}, {v}) in {where}"))


def grid_of_array(where: Path, array: NDArray[Any] | LateArray) -> ViewGrid:
    """Views in one array [u, v, y, x] or [u, v, y, x, c]."""
    check_shape(where, array.shape)
    rows, columns, height, width = array.shape[:4]
    # Mapped files are read view by view, and arrays are there already.
    admit(where, Promise(rows, columns, height, width, array.nbytes if isinstance(array, LateArray) else 0))

    def read(u: int, v: int) -> NDArray[Any]:
        return array.load()[u, v] if isinstance(array, LateArray) else array[u, v]

    return ViewGrid(rows, columns, ContainedViews(where, (height, width), read))


class ContainedViews:
    """All views of one file or array, of one (height, width): `read` gives the pixels of view (u, v) as stored."""

    def __init__(self, where: Path, size: tuple[int, int], read: Callable[[int, int], NDArray[Any]]) -> None:
        self._where = where
        self._size = size
        self._read = read

    def has(self, u: int, v: int) -> bool:
        """They are all there."""
        return True

    def name(self, u: int, v: int) -> str:
        """The file, and which of its views."""
        return f"view ({u}, {v}) of {self._where}"

    def size(self, u: int, v: int) -> tuple[int, int]:
        """That of all views."""
        return self._size

    def read(self, u: int, v: int) -> View:
        """The view's pixels."""
        return to_float_rgb(self._read(u, v), name=self.name(u, v))


def check_view_count(where: Path, rows: int, columns: int) -> None:
    """Refuse numbers of views that no light field has."""
    if not is_grid(rows, columns):
        raise FreqLFError(f"{where} has {rows} x {columns} views; a light field needs {GRID_RULE}")
    if rows > MOST_VIEWS or columns > MOST_VIEWS:
        raise FreqLFError(f"{where} claims {rows} x {columns} views; more than {MOST_VIEWS} in a line are not believed")


def check_shape(where: Path, shape: tuple[int, ...]) -> None:
    """Refuse shapes that are not [u, v, y, x] or [u, v, y, x, c] of believable size."""
    if len(shape) not in (4, 5) or (len(shape) == 5 and shape[4] not in (1, 3, 4)):
        raise FreqLFError(
            f"{where} has the shape {shape}; a light field is [u, v, y, x] or [u, v, y, x, c] with 1, 3 or 4 channels: "
            "say with --axes how its axes are ordered"
        )
    rows, columns, height, width = shape[:4]
    if rows > height and columns > width:
        raise FreqLFError(
            f"{where} has the shape {shape}, more views than pixels; if it is [y, x, u, v], give "
            f"--axes {'yxuvc'[: len(shape)]}"
        )
    if height < SMALLEST_VIEW_PX or width < SMALLEST_VIEW_PX:
        raise FreqLFError(
            f"{where} has the shape {shape}, which would be views of {width} x {height} pixels; a light field is "
            "[u, v, y, x] or [u, v, y, x, c]: say with --axes how its axes are ordered"
        )
    check_view_count(where, rows, columns)
    if height * width > MOST_PIXELS:
        raise FreqLFError(f"{where} claims views of {width} x {height} pixels; it is damaged or not a light field")


def arrange_axes(where: Path, array: Pixels, axes: str | None) -> Pixels:
    """The array with its axes in our order; `axes` says what they are now, None that they are in order."""
    if axes is None:
        return array
    if array.ndim != len(axes):
        raise FreqLFError(f"{where} has the shape {array.shape}, which does not fit the axes {axes}")
    return array.transpose([axes.index(axis) for axis in "uvyxc"[: array.ndim]])


def check_sizes(files: Iterable[Path]) -> tuple[int, int] | None:
    """The (height, width) of views by their headers, without decoding them; different sizes are refused."""
    first: tuple[Path, tuple[int, int]] | None = None
    for path in files:
        try:
            size = read_size(path)
        except FreqLFError:  # decoding it later says what is wrong with it, if it is needed
            continue
        if first is None:
            first = path, size
        elif size != first[1]:
            raise FreqLFError(
                f"all views must have one size, but {path} has {size[1]} x {size[0]} pixels and {first[0]} has "
                f"{first[1][1]} x {first[1][0]}"
            )
    return None if first is None else first[1]


class _PickedViews:
    """Views of evenly spaced rows and columns of another source."""

    def __init__(self, source: ViewSource, rows: range, columns: range) -> None:
        self._source = source
        self._rows = rows
        self._columns = columns

    def has(self, u: int, v: int) -> bool:
        return self._source.has(self._rows[u], self._columns[v])

    def name(self, u: int, v: int) -> str:
        return self._source.name(self._rows[u], self._columns[v])

    def size(self, u: int, v: int) -> tuple[int, int]:
        return self._source.size(self._rows[u], self._columns[v])

    def read(self, u: int, v: int) -> View:
        return self._source.read(self._rows[u], self._columns[v])
