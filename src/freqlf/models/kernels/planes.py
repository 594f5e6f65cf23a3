"""The plane sweep as one loop over rows: every view is shifted by a constant, so nothing is gathered."""

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from numba import njit
from torch import Tensor

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
    starts = np.array([*(part.start for part in half_lines.slices), half_lines.slices[-1].stop], np.int64)
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


def cost_fused(half_lines: "HalfLines", b: int, disparity_px: float, caution: float) -> Tensor:
    """`freqlf.models.sweep.cost_by_warping` of image b, (H, W)."""
    H, W = half_lines.centre.shape[-2:]
    cost = torch.empty(H, W)
    run_in_threads(
        _cost_rows,
        H,
        *_unpack(half_lines, b),
        np.array([*(part.start for part in half_lines.slices), half_lines.slices[-1].stop], np.int64),
        float(disparity_px),
        _f32(caution),
        cost.numpy(),
    )
    return cost


def refocus_fused(half_lines: "HalfLines", b: int, disparity_px: float) -> Tensor:
    """`freqlf.models.sweep.refocus_by_warping` of image b, (H, W)."""
    H, W = half_lines.centre.shape[-2:]
    mean = torch.empty(H, W)
    run_in_threads(
        _refocus_rows,
        H,
        *_unpack(half_lines, b),
        float(disparity_px),
        mean.numpy(),
    )
    return mean


@njit(**LOOP)
def _refocus_rows(
    views: Array,
    centre: Array,
    origin: Array,
    offsets: Array,
    disparity_px: float,
    mean: Array,
    first_row: int,
    last_row: int,
) -> None:
    V, _, view_height, view_width = views.shape
    W = mean.shape[1]
    total, count = np.empty(W, np.float32), np.empty(W, np.float32)
    for y in range(first_row, last_row):
        total[:] = centre[0, y]
        count[:] = 1
        for v in range(V):
            row = origin[0] + y - offsets[v, 0] * disparity_px
            if row < -0.5 or row > view_height - 0.5:
                continue
            shift = origin[1] - offsets[v, 1] * disparity_px
            above, left = math.floor(row), math.floor(shift)
            down, right = _f32(row - above), _f32(shift - left)
            top, bottom = views[v, 0, max(above, 0)], views[v, 0, min(above + 1, view_height - 1)]
            w00, w01 = (1 - down) * (1 - right), (1 - down) * right
            w10, w11 = down * (1 - right), down * right
            # As in `_compare_row`: columns inside of the view, and those of them that need no clamping.
            first = max(0, math.ceil(-0.5 - shift))
            last = min(W, math.floor(view_width - 0.5 - shift) + 1)
            inner, outer = max(first, -left), min(last, view_width - 1 - left)
            n = max(outer - inner, 0)
            if n:
                place = inner + left
                a, b = top[place : place + n], top[place + 1 : place + 1 + n]
                e, f = bottom[place : place + n], bottom[place + 1 : place + 1 + n]
                sums = total[inner:outer]
                for x in range(n):
                    sums[x] += w00 * a[x] + w01 * b[x] + w10 * e[x] + w11 * f[x]
            for x in range(first, min(inner, last)):
                total[x] += (1 - down) * top[0] + down * bottom[0]
            for x in range(max(outer, inner), last):
                total[x] += (1 - down) * top[view_width - 1] + down * bottom[view_width - 1]
            for x in range(first, last):
                count[x] += _f32(1)
        for x in range(W):
            mean[y, x] = total[x] / count[x]


@njit(**LOOP)
def _cost_rows(
    views: Array,
    centre: Array,
    origin: Array,
    offsets: Array,
    starts: Array,
    disparity_px: float,
    caution: float,
    cost: Array,
    first_row: int,
    last_row: int,
) -> None:
    _, C, view_height, view_width = views.shape
    W, J = cost.shape[1], len(starts) - 1
    differences, total, count = np.empty(W, np.float32), np.empty((J, W), np.float32), np.empty((J, W), np.float32)
    share = _f32(1.0 / C)
    for y in range(first_row, last_row):
        total[:] = 0
        count[:] = 0
        for j in range(J):
            for v in range(starts[j], starts[j + 1]):
                row = origin[0] + y - offsets[v, 0] * disparity_px
                if row < -0.5 or row > view_height - 0.5:
                    continue
                shift = origin[1] - offsets[v, 1] * disparity_px
                first = max(0, math.ceil(-0.5 - shift))
                last = min(W, math.floor(view_width - 0.5 - shift) + 1)
                if first < last:
                    _compare_row(views[v], centre, y, row, shift, first, last, differences)
                    for x in range(first, last):
                        total[j, x] += share * differences[x]
                        count[j, x] += _f32(1)
        for x in range(W):
            overall, seen = _f32(0), _f32(0)
            for j in range(J):
                overall += total[j, x]
                seen += count[j, x]
            overall /= max(seen, _f32(1))
            least, all_sides = _f32(0), _f32(0)
            for j in range(0, J, 2):
                one = total[j, x] / count[j, x] if count[j, x] > 0 else overall
                other = total[j + 1, x] / count[j + 1, x] if count[j + 1, x] > 0 else overall
                least += min(one, other)
                all_sides += one + other
            cost[y, x] = least + caution * all_sides


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
