"""The plane sweep as one loop over rows: every view is shifted by a constant, so nothing is gathered."""

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from numba import njit
from torch import Tensor

from freqlf.models.kernels.packing import list_starts
from freqlf.models.kernels.running import LOOP, run_in_threads

if TYPE_CHECKING:
    from freqlf.models.halflines import HalfLines

Array = np.ndarray
_f32 = np.float32
_UNSEEN = _f32(-1)  # no view of a half-line shows the pixel


def sweep_fused(half_lines: "HalfLines", b: int, disparities_px: Tensor, floor: float) -> tuple[Tensor, Tensor]:
    """Mean difference, and mean of log(difference + floor), of image b's half-lines, (D, J, H, W) each.

    Where no view of a half-line shows a pixel, the difference is negative.
    """
    J, (H, W) = len(half_lines.slices), half_lines.centre.shape[-2:]
    means, logs = torch.empty(len(disparities_px), J, H, W), torch.empty(len(disparities_px), J, H, W)
    starts = list_starts(half_lines.slices)
    run_in_threads(
        _sweep_rows,
        H,
        *_unpack(half_lines, b),
        starts,
        disparities_px.double().numpy(),
        _f32(floor),
        means.numpy(),
        logs.numpy(),
    )
    logs.log_()
    # Powers of products were kept instead of logarithms, which are slow one by one.
    counts = torch.from_numpy(np.diff(starts)).view(1, J, 1, 1)
    logs.div_(counts)
    return means, logs


def _unpack(half_lines: "HalfLines", b: int) -> tuple[Array, Array, Array, Array]:
    """Views (V, C, H, W), centre (C, H, W), its origin (2) and the views' offsets (V, 2), of image b."""
    return (
        half_lines.views[b].contiguous().numpy(),
        half_lines.centre[b].contiguous().numpy(),
        np.array(half_lines.origin, np.int64),
        np.array(half_lines.offsets, np.float64),
    )


@njit(**LOOP)
def _sweep_rows(
    views: Array,
    centre: Array,
    origin: Array,
    offsets: Array,
    starts: Array,
    disparities_px: Array,
    floor: float,
    means: Array,
    products: Array,
    first_row: int,
    last_row: int,
) -> None:
    """Rows of (D, J, H, W): mean differences, and products of differences as if all views of a half-line were seen."""
    _, C, view_height, view_width = views.shape
    D, J, _, W = means.shape
    differences, total, product = np.empty(W, np.float32), np.empty(W, np.float32), np.empty(W, np.float32)
    count = np.empty(W, np.float32)
    share = _f32(1.0 / C)
    for y in range(first_row, last_row):
        for d in range(D):
            for j in range(J):
                total[:] = 0
                product[:] = 1
                count[:] = 0
                for v in range(starts[j], starts[j + 1]):
                    row = origin[0] + y - offsets[v, 0] * disparities_px[d]
                    if row < -0.5 or row > view_height - 0.5:
                        continue
                    shift = origin[1] - offsets[v, 1] * disparities_px[d]
                    # Columns whose place in the view is inside of its frame.
                    first = max(0, math.ceil(-0.5 - shift))
                    last = min(W, math.floor(view_width - 0.5 - shift) + 1)
                    if first < last:
                        _compare_row(views[v], centre, y, row, shift, first, last, differences)
                        _add_row(differences, first, last, share, floor, total, product, count)
                _finish_row(total, product, count, starts[j + 1] - starts[j], means[d, j, y], products[d, j, y])


@njit(**LOOP)
def _compare_row(
    view: Array, centre: Array, y: int, row: float, shift: float, first: int, last: int, differences: Array
) -> None:
    """Absolute differences of row y of the centre (C, H, W), summed over colours; bilinear, borders are repeated."""
    C, height, width = view.shape
    above, left = math.floor(row), math.floor(shift)
    down, right = _f32(row - above), _f32(shift - left)
    top, bottom = max(above, 0), min(above + 1, height - 1)
    # Columns that need no clamping, and at most one on either side that does.
    inner, outer = max(first, -left), min(last, width - 1 - left)
    n = max(outer - inner, 0)
    differences[first:last] = 0
    w00, w01 = (1 - down) * (1 - right), (1 - down) * right
    w10, w11 = down * (1 - right), down * right
    for c in range(C):
        if n:
            place = inner + left
            a, b = view[c, top, place : place + n], view[c, top, place + 1 : place + 1 + n]
            e, f = view[c, bottom, place : place + n], view[c, bottom, place + 1 : place + 1 + n]
            target, sums = centre[c, y, inner:outer], differences[inner:outer]
            if down == 0:
                for x in range(n):
                    sums[x] += abs(w00 * a[x] + w01 * b[x] - target[x])
            elif right == 0:
                for x in range(n):
                    sums[x] += abs(w00 * a[x] + w10 * e[x] - target[x])
            else:
                for x in range(n):
                    sums[x] += abs(w00 * a[x] + w01 * b[x] + w10 * e[x] + w11 * f[x] - target[x])
        for x in range(first, min(inner, last)):
            value = (1 - down) * view[c, top, 0] + down * view[c, bottom, 0]
            differences[x] += abs(value - centre[c, y, x])
        for x in range(max(outer, inner), last):
            value = (1 - down) * view[c, top, width - 1] + down * view[c, bottom, width - 1]
            differences[x] += abs(value - centre[c, y, x])


@njit(**LOOP)
def _add_row(
    differences: Array, first: int, last: int, share: float, floor: float, total: Array, product: Array, count: Array
) -> None:
    for x in range(first, last):
        difference = differences[x] * share
        total[x] += difference
        product[x] *= difference + floor
        count[x] += _f32(1)


@njit(**LOOP)
def _finish_row(total: Array, product: Array, count: Array, views: int, mean: Array, power: Array) -> None:
    is_complete = True
    for x in range(len(total)):
        is_complete &= count[x] == views
    if is_complete:
        share = _f32(1.0 / views)
        for x in range(len(total)):
            mean[x], power[x] = total[x] * share, product[x]
        return
    for x in range(len(total)):
        if count[x] > 0:
            mean[x], power[x] = total[x] / count[x], product[x] ** (_f32(views) / count[x])
        else:
            mean[x], power[x] = _UNSEEN, _f32(1)
