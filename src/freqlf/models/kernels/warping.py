"""Runs of the central view's pixels, found in the other views by their disparities.

A run is some pixels that follow each other in memory, of one row or of several; there are few enough for a
processor's cache. Views are float32, colours side by side, see `packing`.
"""

from typing import Any

import numpy as np
from numba import njit

from freqlf.models.kernels.pixelpair import (
    gather_pair,
    load_eight,
    load_pair,
    magnitudes,
    spread_0,
    spread_1,
    spread_2,
    spread_3,
    store_sums,
)
from freqlf.models.kernels.running import LOOP

Array = np.ndarray

RUN = 512  # pixels; a multiple of the eight that are compared at a time

_f32, _i32 = np.float32, np.int32
_BORDER_PX = _f32(0.5)  # as in `HalfLines`


@njit(**LOOP)
def number_pixels(first: int, width: int, origin: Array, rows: Array, columns: Array) -> None:
    """Rows and columns in the views of the pixels from number `first` on, in a centre of so many columns."""
    row, column = first // width, first % width
    for x in range(rows.shape[0]):
        rows[x], columns[x] = _f32(origin[0] + row), _f32(origin[1] + column)
        column += 1
        if column == width:
            row, column = row + 1, 0


@njit(**LOOP)
def measure_room(
    disparity_px: Array,
    rows: Array,
    columns: Array,
    by_rows: int,
    by_columns: int,
    height: int,
    width: int,
    room: Array,
) -> None:
    """Steps of view in a direction, of which only the signs count, for which pixels stay inside of the frame."""
    for x in range(disparity_px.shape[0]):
        disparity = disparity_px[x]
        size = abs(disparity)
        steps_per_px = _f32(1) / (size if size > _f32(1e-6) else _f32(1e-6))
        y, x_ = rows[x] + _BORDER_PX, columns[x] + _BORDER_PX
        # Near pixels move towards smaller coordinates in views of larger index.
        along_y = (y if (by_rows > 0) == (disparity > _f32(0)) else _f32(height) - y) * steps_per_px
        along_x = (x_ if (by_columns > 0) == (disparity > _f32(0)) else _f32(width) - x_) * steps_per_px
        along_y = along_y if by_rows != 0 else along_x
        along_x = along_x if by_columns != 0 else along_y
        room[x] = along_y if along_y < along_x else along_x


@njit(**LOOP)
def locate(
    height: int,
    width: int,
    by_rows: int,
    by_columns: int,
    disparity_px: Array,
    rows: Array,
    columns: Array,
    starts: Array,
    down: Array,
    right: Array,
) -> None:
    """Where pixels are seen in a view of (height, width), some steps from the centre by rows and columns.

    starts: the number of the view at which the pixel above and to the left of there starts.
    down, right: how much to take of the pixels next to it, in [0, 1]; what lies outside is moved to the border. Along
        an axis on which nothing moves there is nothing to take, and nothing is written.
    """
    if by_rows == 0:
        for x in range(disparity_px.shape[0]):
            row = _i32(rows[x])
            starts[x] = _i32(3 * width) * (row if row < _i32(height - 1) else _i32(height - 1))
    else:
        _place(rows, disparity_px, by_rows, height, 3 * width, False, starts, down)
    if by_columns == 0:
        for x in range(disparity_px.shape[0]):
            column = _i32(columns[x])
            starts[x] += _i32(3) * (column if column < _i32(width - 1) else _i32(width - 1))
    else:
        _place(columns, disparity_px, by_columns, width, 3, True, starts, right)


@njit(**LOOP)
def _place(
    pixels: Array, disparity_px: Array, steps: int, size: int, stride: int, is_added: bool, starts: Array, parts: Array
) -> None:
    """Along one axis of a view, `size` pixels long and with so many numbers from one to the next."""
    largest, last_whole = _f32(size - 1), _i32(max(size - 2, 0))  # even the last pixel has one to be mixed with
    for x in range(disparity_px.shape[0]):
        place = pixels[x] - _f32(steps) * disparity_px[x]
        place = place if place > _f32(0) else _f32(0)  # and so NaN does no harm
        place = place if place < largest else largest
        whole = _i32(place)
        whole = whole if whole < last_whole else last_whole
        parts[x] = place - _f32(whole)
        starts[x] = _i32(stride) * whole + (starts[x] if is_added else _i32(0))


@njit(**LOOP)
def compare(
    views: Array,
    first: int,
    height: int,
    width: int,
    by_rows: int,
    by_columns: int,
    starts: Array,
    down: Array,
    right: Array,
    centre: Array,
    centre_first: int,
    differences: Array,
) -> None:
    """Sums over colours of the absolute differences of a run of the centre and what a view shows there.

    The view begins at number `first`, the run of the centre at `centre_first`; the other arguments are those of
    `locate`. A multiple of eight pixels is compared, so all of these arrays have to be that long.
    """
    to_right, to_below = 3 * min(width - 1, 1), 3 * width * min(height - 1, 1)
    if by_rows == 0:
        _compare_between_two(views, first, to_right, starts, right, centre, centre_first, differences)
    elif by_columns == 0:
        _compare_between_two(views, first, to_below, starts, down, centre, centre_first, differences)
    else:
        size = (first, to_right, to_below)
        for x in range(0, differences.shape[0], 8):
            d, r = load_eight(down, x), load_eight(right, x)
            one = _compare_four(views, size, starts, x, spread_0(d), spread_0(r), centre, centre_first)
            two = _compare_four(views, size, starts, x + 1, spread_1(d), spread_1(r), centre, centre_first)
            three = _compare_four(views, size, starts, x + 2, spread_2(d), spread_2(r), centre, centre_first)
            four = _compare_four(views, size, starts, x + 3, spread_3(d), spread_3(r), centre, centre_first)
            store_sums(differences, x, one, two, three, four)


@njit(**LOOP)
def _compare_between_two(
    views: Array, first: int, far: int, starts: Array, part: Array, centre: Array, centre_first: int, differences: Array
) -> None:
    for x in range(0, differences.shape[0], 8):
        p = load_eight(part, x)
        one = _compare_two(views, first, far, starts, x, spread_0(p), centre, centre_first)
        two = _compare_two(views, first, far, starts, x + 1, spread_1(p), centre, centre_first)
        three = _compare_two(views, first, far, starts, x + 2, spread_2(p), centre, centre_first)
        four = _compare_two(views, first, far, starts, x + 3, spread_3(p), centre, centre_first)
        store_sums(differences, x, one, two, three, four)


@njit(**LOOP, inline="always")
def sample(views: Array, first: int, far: int, starts: Array, x: int, part: Any) -> Any:
    """Two pixels, each between one of the view and that `far` numbers after it."""
    near = gather_pair(views, first, starts, x)
    return near + (gather_pair(views, first + far, starts, x) - near) * part


@njit(**LOOP, inline="always")
def _compare_two(
    views: Array, first: int, far: int, starts: Array, x: int, part: Any, centre: Array, centre_first: int
) -> Any:
    """Each pixel interpolated between two."""
    colours = sample(views, first, far, starts, x, part)
    return magnitudes(colours - load_pair(centre, centre_first + 3 * x))


@njit(**LOOP, inline="always")
def _compare_four(
    views: Array,
    size: tuple[int, int, int],
    starts: Array,
    x: int,
    down: Any,
    right: Any,
    centre: Array,
    centre_first: int,
) -> Any:
    """Each pixel interpolated between four; size: where the view begins, and how far it is to the right and below."""
    first, to_right, to_below = size
    above = sample(views, first, to_right, starts, x, right)
    below = sample(views, first + to_below, to_right, starts, x, right)
    colours = above + (below - above) * down
    return magnitudes(colours - load_pair(centre, centre_first + 3 * x))
