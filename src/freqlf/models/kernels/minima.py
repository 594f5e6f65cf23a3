"""Planes of least cost in windows, in one pass over the image: costs are kept for as many rows as windows have.

Rows come first and planes second: what views show around a row stays in a processor's cache for all planes.
"""

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from numba import njit
from torch import Tensor

from freqlf.models.kernels.filters import add_row, measure_shares, scale_row, sum_columns
from freqlf.models.kernels.packing import flatten, lay_out, list_starts
from freqlf.models.kernels.running import LOOP, run_in_threads

if TYPE_CHECKING:
    from freqlf.models.halflines import HalfLines

Array = np.ndarray
_f32 = np.float32
SMOOTHING_PX = 3  # side of the window that refocused views are smoothed with
# Sums over the rows of a window run along with the rows, and begin anew after so many, before rounding adds up.
_RENEWAL = 16
# Threads take about so many rows, a multiple of the former; they compute the costs of the rows around them as well.
_BAND = 128


def find_minima(
    normalised: "HalfLines",
    disparities_px: Tensor,
    windows_px: tuple[int, ...],
    wide_px: tuple[int, ...],
    caution: float,
    least_contrast: float,
) -> tuple[Tensor, Tensor]:
    """Numbers of the planes (B, D) of least cost, with fractions, and their doubts, (B, surfaces, H, W) each.

    What `freqlf.models.sweep` finds by warps, on the mean of the colours.
    """
    B, _, H, W = normalised.centre.shape
    sides = np.array([*windows_px, *wide_px, *wide_px], np.int64)
    position, doubt = torch.empty(B, len(sides), H, W), torch.empty(B, len(sides), H, W)
    views, centre = make_grey(normalised.views), make_grey(normalised.centre.unsqueeze(1))
    starts = list_starts(normalised.slices)
    size = -(-H // max(round(H / _BAND), 1))
    size = -(-size // _RENEWAL) * _RENEWAL
    run_in_threads(
        _find_bands,
        B * -(-H // size),
        views,
        centre[:, 0],
        np.array(normalised.origin, np.int64),
        np.array(normalised.offsets, np.float64),
        starts,
        disparities_px.double().numpy(),
        sides,
        len(sides) - len(wide_px),
        _f32(caution),
        _f32(least_contrast),
        size,
        position.numpy(),
        doubt.numpy(),
    )
    return position, doubt


def make_grey(views: Tensor) -> Array:
    """The mean (B, V, H, W) of the colours of views (B, V, 3, H, W)."""
    B, V, _, H, W = views.shape
    views, grey = lay_out(views), np.empty((B, V, H, W), np.float32)
    run_in_threads(_average_colours, B * V, flatten(views), views.stride(0), grey)
    return grey


@njit(**LOOP)
def _average_colours(views: Array, batch_stride: int, grey: Array, first: int, last: int) -> None:
    _, V, H, W = grey.shape
    for image in range(first, last):
        b, v = image // V, image % V
        place = b * batch_stride + v * H * W * 3
        source, target = views[place : place + 3 * H * W], grey[b, v].reshape(-1)
        for x in range(H * W):
            target[x] = (source[3 * x] + source[3 * x + 1] + source[3 * x + 2]) * _f32(1 / 3)


@njit(**LOOP)
def _find_bands(
    views: Array,
    centre: Array,
    origin: Array,
    offsets: Array,
    starts: Array,
    disparities_px: Array,
    sides: Array,
    focused: int,
    caution: float,
    least_contrast: float,
    size: int,
    position: Array,
    doubt: Array,
    first_band: int,
    last_band: int,
) -> None:
    H = position.shape[2]
    bands = (H + size - 1) // size
    band = first_band
    while band < last_band:  # those of one image in one go
        b = band // bands
        end = min(last_band, (b + 1) * bands)
        _find_rows(
            views[b], centre[b], origin, offsets, starts, disparities_px[b], sides, focused, caution, least_contrast,
            band % bands * size, min((end - b * bands) * size, H), position[b], doubt[b],
        )  # fmt: skip
        band = end


@njit(**LOOP)
def _find_rows(
    views: Array,
    centre: Array,
    origin: Array,
    offsets: Array,
    starts: Array,
    disparities_px: Array,
    sides: Array,
    focused: int,
    caution: float,
    least_contrast: float,
    first: int,
    last: int,
    position: Array,
    doubt: Array,
) -> None:
    """Rows of one image. Surfaces from number `focused` on are found by the contrast of refocused views."""
    S, H, W = position.shape
    D, J, reach = len(disparities_px), len(starts) - 1, max(sides) // 2
    is_focused = focused < S
    # Rows of costs and of contrasts, of which the oldest is replaced by the newest.
    kept = 2 * reach + 3
    costs, contrasts = np.empty((kept, D, W), np.float32), np.empty((kept, D, W), np.float32)
    means = np.zeros((SMOOTHING_PX, D, W + 2), np.float32)
    sums, counts = np.empty((J, W), np.float32), np.empty((J, W), np.float32)
    mean, smooth = np.empty(W, np.float32), np.zeros(W + 2, np.float32)
    # Over the rows of each window, with as many zeros at both ends as windows reach; over parts of its columns.
    columns, parts = np.zeros((S, D, W + 2 * reach), np.float32), np.empty((2, W + 2 * reach), np.float32)
    window_costs, least, best, total = (
        np.empty((D, W), np.float32),
        np.empty(W, np.float32),
        np.empty(W, np.int32),
        np.empty(W, np.float32),
    )
    shares, smooth_shares = np.empty((S, W), np.float32), np.empty(W, np.float32)
    for s in range(S):
        measure_shares(sides[s] // 2, shares[s])
    measure_shares(SMOOTHING_PX // 2, smooth_shares)
    for y in range(max(first - reach - 1, 0), last + reach + 1):
        if y < H:
            for d in range(D):
                compare_row(views, centre, origin, offsets, starts, disparities_px[d], y, sums, counts, mean)
                _weigh_sides(sums, counts, caution, costs[y % kept, d])
                if is_focused:
                    refocus(mean, counts, centre[y], means[y % SMOOTHING_PX, d, 1 : 1 + W])
        if is_focused and 1 <= y <= H:
            # That of the row before this one, as its neighbours are known by now.
            top, bottom = max(y - 2, 0), min(y, H - 1)
            for d in range(D):
                smooth[:] = means[top % SMOOTHING_PX, d]
                for row in range(top + 1, bottom + 1):
                    add_row(means[row % SMOOTHING_PX, d], smooth)
                square(smooth, smooth_shares, _f32(1) / _f32(bottom - top + 1), contrasts[(y - 1) % kept, d])
        y_out = y - reach - 1
        if not first <= y_out < last:
            continue
        for s in range(S):
            half = sides[s] // 2
            top, bottom = max(y_out - half, 0), min(y_out + half, H - 1)
            source = contrasts if s >= focused else costs
            least[:] = np.inf
            best[:] = 0
            total[:] = _f32(0)
            for d in range(D):
                column = columns[s, d, reach : reach + W]
                if y_out % _RENEWAL == 0 or y_out == first:
                    column[:] = source[top % kept, d]
                    for row in range(top + 1, bottom + 1):
                        add_row(source[row % kept, d], column)
                else:
                    if y_out + half < H:
                        add_row(source[bottom % kept, d], column)
                    if top > 0:
                        _subtract(source[(top - 1) % kept, d], column)
                sum_columns(columns[s, d, reach - half :], sides[s], parts, window_costs[d])
                share = _f32(1) / _f32(bottom - top + 1)
                if s >= focused:
                    invert(window_costs[d], shares[s], share, least_contrast)
                else:
                    scale_row(window_costs[d], shares[s], share)
                keep_least(window_costs[d], d, least, best, total)
            place_between(window_costs, least, best, total, position[s, y_out], doubt[s, y_out])


@njit(**LOOP)
def compare_row(
    views: Array,
    centre: Array,
    origin: Array,
    offsets: Array,
    starts: Array,
    disparity_px: float,
    y: int,
    sums: Array,
    counts: Array,
    total: Array,
) -> None:
    """Of row y of the centre: sums of differences and numbers of views by half-line, (J, W), and the sum of all views.

    Views are bilinear, and their borders are repeated for half a pixel.
    """
    _, view_height, view_width = views.shape
    W = len(total)
    total[:] = _f32(0)
    sums[:] = _f32(0)
    for j in range(len(starts) - 1):
        seen = 0
        counts[j] = _f32(0)
        for v in range(starts[j], starts[j + 1]):
            row = origin[0] + y - offsets[v, 0] * disparity_px
            if row < -0.5 or row > view_height - 0.5:
                continue
            shift = origin[1] - offsets[v, 1] * disparity_px
            # Columns whose place in the view is inside of its frame.
            first = min(max(0, math.ceil(-0.5 - shift)), W)
            last = max(min(W, math.floor(view_width - 0.5 - shift) + 1), first)
            seen += 1
            for x in range(first):
                counts[j, x] -= _f32(1)
            for x in range(last, W):
                counts[j, x] -= _f32(1)
            above, left = math.floor(row), math.floor(shift)
            down, right = _f32(row - above), _f32(shift - left)
            top, bottom = views[v, max(above, 0)], views[v, min(above + 1, view_height - 1)]
            # Columns that need no clamping, and at most one on either side that does.
            inner, outer = max(first, -left), min(last, view_width - 1 - left)
            if inner < outer:
                place, n = inner + left, outer - inner
                _add_view(
                    top[place : place + n + 1], bottom[place : place + n + 1], down, right, centre[y, inner:outer],
                    sums[j, inner:outer], total[inner:outer],
                )  # fmt: skip
            for x in range(first, min(inner, last)):
                value = (1 - down) * top[0] + down * bottom[0]
                sums[j, x] += abs(value - centre[y, x])
                total[x] += value
            for x in range(max(outer, inner, first), last):
                value = (1 - down) * top[view_width - 1] + down * bottom[view_width - 1]
                sums[j, x] += abs(value - centre[y, x])
                total[x] += value
        for x in range(W):
            counts[j, x] += _f32(seen)


@njit(**LOOP)
def _add_view(top: Array, bottom: Array, down: float, right: float, centre: Array, sums: Array, total: Array) -> None:
    """Part of a row of one view; its rows have one pixel more than that."""
    n = len(centre)
    w00, w01 = (_f32(1) - down) * (_f32(1) - right), (_f32(1) - down) * right
    w10, w11 = down * (_f32(1) - right), down * right
    a, b, c, d = top[:n], top[1 : n + 1], bottom[:n], bottom[1 : n + 1]
    if down == 0:
        for x in range(n):
            value = w00 * a[x] + w01 * b[x]
            total[x] += value
            sums[x] += abs(value - centre[x])
    elif right == 0:
        for x in range(n):
            value = w00 * a[x] + w10 * c[x]
            total[x] += value
            sums[x] += abs(value - centre[x])
    else:
        for x in range(n):
            value = w00 * a[x] + w01 * b[x] + w10 * c[x] + w11 * d[x]
            total[x] += value
            sums[x] += abs(value - centre[x])


@njit(**LOOP)
def _weigh_sides(sums: Array, counts: Array, caution: float, cost: Array) -> None:
    """`freqlf.models.sweep.cost_by_warping` from the sums of its half-lines."""
    J, W = sums.shape
    for x in range(W):
        overall, seen = _f32(0), _f32(0)
        for j in range(J):
            overall += sums[j, x]
            seen += counts[j, x]
        cost[x] = overall / max(seen, _f32(1))
    for j in range(J):
        of_line, count = sums[j], counts[j]
        for x in range(W):
            mean = of_line[x] / max(count[x], _f32(1))
            of_line[x] = mean if count[x] > _f32(0) else cost[x]
    cost[:] = _f32(0)
    for j in range(0, J, 2):
        one, other = sums[j], sums[j + 1]
        for x in range(W):
            cost[x] += min(one[x], other[x]) + caution * (one[x] + other[x])


@njit(**LOOP)
def refocus(total: Array, counts: Array, centre: Array, mean: Array) -> None:
    """The mean of the views and the centre."""
    mean[:] = _f32(1)
    for j in range(len(counts)):
        add_row(counts[j], mean)
    for x in range(len(mean)):
        mean[x] = (total[x] + centre[x]) / mean[x]


@njit(**LOOP)
def _subtract(source: Array, target: Array) -> None:
    for x in range(len(target)):
        target[x] -= source[x]


@njit(**LOOP)
def square(sums: Array, shares: Array, share: float, result: Array) -> None:
    """The squared mean over columns and their neighbours, of which there is a zero at both ends."""
    n = len(result)
    left, middle, right = sums[:n], sums[1 : n + 1], sums[2 : n + 2]
    for x in range(n):
        mean = (left[x] + middle[x] + right[x]) * shares[x] * share
        result[x] = mean * mean


@njit(**LOOP)
def invert(values: Array, shares: Array, share: float, least: float) -> None:
    """One over means, and something that is added to them."""
    for x in range(len(values)):
        values[x] = _f32(1) / (values[x] * shares[x] * share + least)


@njit(**LOOP)
def keep_least(values: Array, plane: int, least: Array, best: Array, total: Array) -> None:
    """The least values of all planes so far, which planes they are of, and sums."""
    for x in range(len(values)):
        value, before = values[x], least[x]
        total[x] += value
        best[x] = np.int32(plane) if value < before else best[x]
        least[x] = value if value < before else before


@njit(**LOOP)
def place_between(costs: Array, least: Array, best: Array, total: Array, position: Array, doubt: Array) -> None:
    """A parabola through the least cost and its neighbours; not at the ends of the range."""
    D, W = costs.shape
    for x in range(W):
        plane, lowest = best[x], least[x]
        offset = _f32(0)
        if 0 < plane < D - 1:
            before, after = costs[plane - 1, x], costs[plane + 1, x]
            curvature = before - _f32(2) * lowest + after
            if curvature > 0:
                offset = min(max(_f32(0.5) * (before - after) / curvature, _f32(-0.5)), _f32(0.5))
        position[x] = _f32(plane) + offset
        doubt[x] = lowest * _f32(D) / max(total[x], _f32(1e-6))
