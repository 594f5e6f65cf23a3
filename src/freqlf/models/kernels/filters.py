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
    for x in range(W):
        shares[x] = _f32(1) / _f32(min(x + reach, W - 1) - max(x - reach, 0) + 1)
    for row in range(first_row, last_row):
        n, y = row // H, row % H
        first, last = max(y - reach, 0), min(y + reach, H - 1)
        target = result[n, y]
        sums[reach : reach + W] = field[n, first]
        for other in range(first + 1, last + 1):
            source = field[n, other]
            for x in range(W):
                sums[reach + x] += source[x]
        share = _f32(1) / _f32(last - first + 1)
        for x in range(W):
            target[x] = sums[x]
        for k in range(1, window_px):
            for x in range(W):
                target[x] += sums[x + k]
        for x in range(W):
            target[x] *= share * shares[x]


@njit(**LOOP)
def extreme_rows(field: Array, window_px: int, sign: float, result: Array, first_row: int, last_row: int) -> None:
    """The largest values in windows, or with a sign of -1 (float32) the smallest."""
    _, H, W = field.shape
    reach = window_px // 2
    largest = np.full(W + 2 * reach, -np.inf, np.float32)
    for row in range(first_row, last_row):
        n, y = row // H, row % H
        target = result[n, y]
        first, last = max(y - reach, 0), min(y + reach, H - 1)
        for x in range(W):
            largest[reach + x] = sign * field[n, first, x]
        for other in range(first + 1, last + 1):
            source = field[n, other]
            for x in range(W):
                value, best = sign * source[x], largest[reach + x]
                largest[reach + x] = value if value > best else best
        for x in range(W):
            target[x] = largest[x]
        for k in range(1, window_px):
            for x in range(W):
                value, best = largest[x + k], target[x]
                target[x] = value if value > best else best
        for x in range(W):
            target[x] *= sign


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
