"""Views averaged where a map of disparities says: cubic splines, visibility and sums in loops over rows.

Splines interpolate, so what is sharp stays sharp. A view becomes coefficients of the spline first, in place, by two
recursive filters along each axis (Unser, IEEE Signal Processing Magazine 1999), mirrored at its border pixels.
"""

import math
from typing import Any

import numpy as np
from numba import njit

from freqlf.models.kernels.running import LOOP, run_in_threads

Array = np.ndarray
_f32 = np.float32

_POLE = math.sqrt(3) - 2
_GAIN = 6.0
_HORIZON = 14  # terms of a geometric series that float32 can tell from all of them
_NEVER = -np.inf


class ViewAverage:
    """The mean of views (H, W, 3), each looked up where its pixels are seen, over those that see them."""

    def __init__(self, centre: Array, disparity_px: Array, occluder_px: float | None) -> None:
        """Begins with the central view.

        disparity_px: (H, W); pixels where it is not finite keep the central view.
        occluder_px: from which difference on something in front hides a point; None if nothing does.
        """
        self._map_px = np.ascontiguousarray(disparity_px, np.float64)
        self._occluder_px = occluder_px
        self._total = centre.astype(np.float32)  # H, W, 3
        self._count = np.ones(centre.shape[:2], np.float32)

    def add(self, view: Array, step: tuple[int, int]) -> None:
        """A view so many (rows, columns) of views from the centre."""
        height, width = self._map_px.shape
        coefficients = np.array(view, np.float32, order="C")
        run_in_threads(_filter_rows, height, coefficients)
        run_in_threads(_filter_columns, 3 * width, coefficients.reshape(height, 3 * width))
        nearest_px = np.full((1, 1), _NEVER)
        if self._occluder_px is not None:
            splatted = np.full((height, width), _NEVER)
            _splat(self._map_px, float(step[0]), float(step[1]), splatted)
            nearest_px = np.empty((height, width))
            run_in_threads(_dilate_rows, height, splatted, nearest_px)
        run_in_threads(
            _add_rows,
            height,
            coefficients,
            self._map_px,
            float(step[0]),
            float(step[1]),
            nearest_px,
            self._occluder_px or 0.0,
            self._total,
            self._count,
        )

    def mean(self) -> Array:
        """(H, W, 3) in [0, 1]: splines overshoot at edges."""
        return np.clip(self._total / self._count[..., None], 0, 1).astype(np.float32)


@njit(**LOOP)
def _filter_rows(view: Array, first_row: int, last_row: int) -> None:
    """Rows of (H, W, 3) to coefficients along x."""
    width = view.shape[1]
    line = np.empty(width, np.float64)
    for y in range(first_row, last_row):
        for c in range(3):
            for x in range(width):
                line[x] = view[y, x, c]
            _filter_line(line)
            for x in range(width):
                view[y, x, c] = line[x]


@njit(**LOOP)
def _filter_columns(view: Array, first: int, last: int) -> None:
    """Columns of (H, N) to coefficients along y; all at a time, for neighbours lie side by side in memory."""
    height = view.shape[0]
    if height < 2:
        return
    part = view[:, first:last]
    n = last - first
    start = np.zeros(n, np.float64)
    weight = 1.0
    for k in range(min(_HORIZON, 2 * height - 2)):
        row = k if k < height else 2 * height - 2 - k
        for x in range(n):
            start[x] += weight * part[row, x]
        weight *= _POLE
    repeats = 1 - weight if 2 * height - 2 <= _HORIZON else 1.0  # a short line meets itself again in its mirrors
    for x in range(n):
        part[0, x] = _GAIN * start[x] / repeats
    for y in range(1, height):
        for x in range(n):
            part[y, x] = _GAIN * part[y, x] + _POLE * part[y - 1, x]
    share = _POLE / (_POLE * _POLE - 1)
    for x in range(n):
        part[height - 1, x] = share * (part[height - 1, x] + _POLE * part[height - 2, x])
    for y in range(height - 2, -1, -1):
        for x in range(n):
            part[y, x] = _POLE * (part[y + 1, x] - part[y, x])


@njit(**LOOP)
def _filter_line(line: Array) -> None:
    n = line.shape[0]
    if n < 2:
        return
    start, weight = 0.0, 1.0
    for k in range(min(_HORIZON, 2 * n - 2)):
        start += weight * line[k if k < n else 2 * n - 2 - k]
        weight *= _POLE
    repeats = 1 - weight if 2 * n - 2 <= _HORIZON else 1.0  # as above
    line[0] = _GAIN * start / repeats
    for x in range(1, n):
        line[x] = _GAIN * line[x] + _POLE * line[x - 1]
    line[n - 1] = _POLE / (_POLE * _POLE - 1) * (line[n - 1] + _POLE * line[n - 2])
    for x in range(n - 2, -1, -1):
        line[x] = _POLE * (line[x + 1] - line[x])


@njit(**LOOP)
def _splat(map_px: Array, du: float, dv: float, seen_px: Array) -> None:
    """The largest disparity that a view sees at each of its pixels, as far as the map knows."""
    height, width = map_px.shape
    for y in range(height):
        for x in range(width):
            disparity_px = map_px[y, x]
            if not np.isfinite(disparity_px):
                continue
            there_y, there_x = y - du * disparity_px, x - dv * disparity_px
            if there_y > -0.5 and there_x > -0.5 and there_y < height - 0.5 and there_x < width - 0.5:
                row, column = int(np.rint(there_y)), int(np.rint(there_x))
                if disparity_px > seen_px[row, column]:
                    seen_px[row, column] = disparity_px


@njit(**LOOP)
def _dilate_rows(values: Array, largest: Array, first_row: int, last_row: int) -> None:
    """The largest of 3 x 3: interpolation reaches that far, and slanted surfaces gape."""
    height, width = values.shape
    for y in range(first_row, last_row):
        for x in range(width):
            best = _NEVER
            for row in range(max(y - 1, 0), min(y + 2, height)):
                for column in range(max(x - 1, 0), min(x + 2, width)):
                    best = max(best, values[row, column])
            largest[y, x] = best


@njit(**LOOP)
def _add_rows(
    coefficients: Array,
    map_px: Array,
    du: float,
    dv: float,
    nearest_px: Array,
    occluder_px: float,
    total: Array,
    count: Array,
    first_row: int,
    last_row: int,
) -> None:
    height, width = map_px.shape
    has_occluders = nearest_px.shape[0] == height and nearest_px.shape[1] == width
    for y in range(first_row, last_row):
        for x in range(width):
            disparity_px = map_px[y, x]
            there_y, there_x = y - du * disparity_px, x - dv * disparity_px
            # What is not a number is in no range.
            if not (there_y >= 0 and there_y <= height - 1 and there_x >= 0 and there_x <= width - 1):
                continue
            if has_occluders:
                hides_px = nearest_px[int(np.rint(there_y)), int(np.rint(there_x))]
                if disparity_px < hides_px - occluder_px:
                    continue
            top, left = int(there_y), int(there_x)
            w0, w1, w2, w3 = _weights(there_x - left)
            x0, x2, x3 = _mirror(left - 1, width), _mirror(left + 1, width), _mirror(left + 2, width)
            down = _weights(there_y - top)
            red, green, blue = _f32(0), _f32(0), _f32(0)
            for k in range(4):
                row = coefficients[_mirror(top - 1 + k, height)]
                weight = down[k]
                red += weight * (w0 * row[x0, 0] + w1 * row[left, 0] + w2 * row[x2, 0] + w3 * row[x3, 0])
                green += weight * (w0 * row[x0, 1] + w1 * row[left, 1] + w2 * row[x2, 1] + w3 * row[x3, 1])
                blue += weight * (w0 * row[x0, 2] + w1 * row[left, 2] + w2 * row[x2, 2] + w3 * row[x3, 2])
            total[y, x, 0] += red
            total[y, x, 1] += green
            total[y, x, 2] += blue
            count[y, x] += _f32(1)


@njit(**LOOP)
def _weights(t: float) -> tuple[Any, Any, Any, Any]:
    """Of the four coefficients around a place, a fraction t behind the second."""
    s = 1 - t
    return (
        _f32(s * s * s / 6),
        _f32((4 - 6 * t * t + 3 * t * t * t) / 6),
        _f32((4 - 6 * s * s + 3 * s * s * s) / 6),
        _f32(t * t * t / 6),
    )


@njit(**LOOP)
def _mirror(i: int, n: int) -> int:
    i = -i if i < 0 else i
    i = 2 * n - 2 - i if i >= n else i
    return i if i >= 0 else 0
