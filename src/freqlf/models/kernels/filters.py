"""The neighbourhood filters of `freqlf.models.filters`, row by row."""

from collections.abc import Callable

import numpy as np
import torch
from numba import njit
from torch import Tensor

from freqlf.models.kernels.running import LOOP, run_in_threads

Array = np.ndarray

_f32 = np.float32


def filter_rows(loop: Callable[..., None], field: Tensor, *options: object) -> Tensor:
    """What one of the loops below makes of the rows of (B, C, H, W)."""
    B, C, H, W = field.shape
    result = torch.empty(B, C, H, W)
    source, target = field.detach().contiguous().view(-1, H, W).numpy(), result.view(-1, H, W).numpy()
    run_in_threads(loop, B * C * H, source, *options, target)
    return result


@njit(**LOOP)
def average_rows(field: Array, window_px: int, result: Array, first_row: int, last_row: int) -> None:
    """Means over windows."""
    _, H, W = field.shape
    reach = window_px // 2
    sums, shares = np.zeros(W + 2 * reach, np.float32), np.empty(W, np.float32)
    parts = np.empty((2, W + 2 * reach), np.float32)
    measure_shares(reach, shares)
    for row in range(first_row, last_row):
        n, y = row // H, row % H
        first, last = max(y - reach, 0), min(y + reach, H - 1)
        sum_rows(field[n], first, last, sums[reach : reach + W])
        sum_columns(sums, window_px, parts, result[n, y])
        scale_row(result[n, y], shares, _f32(1) / _f32(last - first + 1))


@njit(**LOOP)
def measure_shares(reach: int, shares: Array) -> None:
    """One over the number of columns of a window that lie inside of the image."""
    W = len(shares)
    for x in range(W):
        shares[x] = _f32(1) / _f32(min(x + reach, W - 1) - max(x - reach, 0) + 1)


@njit(**LOOP)
def sum_rows(field: Array, first: int, last: int, sums: Array) -> None:
    """The sum of the rows first .. last; two are added at a time, to read and write sums half as often."""
    start = first + (last - first + 1) % 2
    sums[:] = _f32(0)
    if start > first:
        sums[:] = field[first]
    for row in range(start, last, 2):
        one, other = field[row], field[row + 1]
        for x in range(len(sums)):
            sums[x] += one[x] + other[x]


@njit(**LOOP)
def sum_columns(values: Array, window_px: int, parts: Array, result: Array) -> None:
    """Sums over so many columns from each one on: of 1, 2, 4, ... columns, each of them from two of the last.

    values have window_px - 1 numbers more than the result; parts is room for two rows of as many.
    """
    n, span, place, turn, source = len(result), 1, 0, 0, values
    result[:] = _f32(0)
    while True:
        if window_px // span % 2:
            add_row(source[place : place + n], result)
            place += span
        if 2 * span > window_px:
            return
        doubled, length = parts[turn], n + window_px - 2 * span
        one, other = source[:length], source[span : span + length]
        for x in range(length):
            doubled[x] = one[x] + other[x]
        source, turn, span = doubled, 1 - turn, 2 * span


@njit(**LOOP)
def add_row(source: Array, target: Array) -> None:
    """To the numbers of the target."""
    for x in range(len(target)):
        target[x] += source[x]


@njit(**LOOP)
def scale_row(values: Array, shares: Array, share: float) -> None:
    """Sums over windows to means: by shares of columns, and by that of rows."""
    for x in range(len(values)):
        values[x] *= shares[x] * share


@njit(**LOOP)
def extreme_rows(field: Array, window_px: int, sign: float, result: Array, first_row: int, last_row: int) -> None:
    """The largest values in windows, or with a sign of -1 (float32) the smallest."""
    _, H, W = field.shape
    reach = window_px // 2
    largest = np.full(W + 2 * reach, -np.inf, np.float32)
    parts = np.empty((2, W + 2 * reach), np.float32)
    for row in range(first_row, last_row):
        n, y = row // H, row % H
        first, last = max(y - reach, 0), min(y + reach, H - 1)
        target, inner = result[n, y], largest[reach : reach + W]
        for x in range(W):
            inner[x] = sign * field[n, first, x]
        for other in range(last, first, -2):  # two at a time; of an odd number of them the last is the first
            _raise_to(field[n, other], field[n, other - 1], sign, inner)
        # Of 1, 2, 4, ... columns, each from two of the last; in the end two of these cover the window.
        span, turn, source = 1, 0, largest
        while 2 * span <= window_px:
            length = W + window_px - 2 * span
            _take_larger(source[:length], source[span : span + length], _f32(1), parts[turn, :length])
            source, turn, span = parts[turn], 1 - turn, 2 * span
        place = window_px - span
        _take_larger(source[:W], source[place : place + W], sign, target)


@njit(**LOOP)
def _raise_to(one: Array, other: Array, sign: float, largest: Array) -> None:
    for x in range(len(largest)):
        a, b, best = sign * one[x], sign * other[x], largest[x]
        a = a if a > b else b
        largest[x] = a if a > best else best


@njit(**LOOP)
def _take_larger(one: Array, other: Array, sign: float, result: Array) -> None:
    for x in range(len(result)):
        result[x] = sign * (one[x] if one[x] > other[x] else other[x])


@njit(**LOOP)
def median_rows(field: Array, result: Array, first_row: int, last_row: int) -> None:
    """Medians of 3x3 pixels."""
    _, H, W = field.shape
    low, middle, high = np.empty(W + 2, np.float32), np.empty(W + 2, np.float32), np.empty(W + 2, np.float32)
    for row in range(first_row, last_row):
        n, y = row // H, row % H
        above, here, below = field[n, max(y - 1, 0)], field[n, y], field[n, min(y + 1, H - 1)]
        target = result[n, y]
        # Columns are sorted once for the three pixels that see them; the border is repeated outwards.
        for x in range(W):
            a, b, c = _sort(above[x], here[x], below[x])
            low[x + 1], middle[x + 1], high[x + 1] = a, b, c
        for values in (low, middle, high):
            values[0], values[W + 1] = values[1], values[W]
        # The median of nine is that of the largest low, the median middle and the smallest high one.
        for x in range(W):
            a = max(low[x], max(low[x + 1], low[x + 2]))
            _, b, _ = _sort(middle[x], middle[x + 1], middle[x + 2])
            c = min(high[x], min(high[x + 1], high[x + 2]))
            _, target[x], _ = _sort(a, b, c)


@njit(**LOOP, inline="always")
def _sort(a: float, b: float, c: float) -> tuple[float, float, float]:
    a, b = min(a, b), max(a, b)
    b, c = min(b, c), max(b, c)
    a, b = min(a, b), max(a, b)
    return a, b, c
