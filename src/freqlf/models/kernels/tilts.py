"""A sweep of tilted planes in one pass over the image: as in `minima`, but a plane's disparity grows with the rows."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from freqlf.models.kernels.filters import add_row, measure_shares, sum_columns
from freqlf.models.kernels.minima import (
    SMOOTHING_PX,
    compare_row,
    invert,
    keep_least,
    make_grey,
    place_between,
    refocus,
    square,
)
from freqlf.models.kernels.packing import list_starts
from freqlf.models.kernels.running import LOOP, run_in_threads

if TYPE_CHECKING:
    from freqlf.models.halflines import HalfLines

Array = np.ndarray
_Parts = tuple[Any, ...]
_f32 = np.float32
_BAND = 64  # rows that a thread takes; it computes those around them as well


def find_tilted_fused(
    normalised: "HalfLines",
    disparities_px: Tensor,
    step_px: float,
    tilts: Sequence[float],
    window_px: int,
    least_contrast: float,
) -> tuple[Tensor, Tensor]:
    """What `freqlf.models.tilts.find_by_warping` computes."""
    B, _, H, W = normalised.centre.shape
    starts = list_starts(normalised.slices)
    views, centre = make_grey(normalised.views), make_grey(normalised.centre.unsqueeze(1))[:, 0]
    offsets, origin = np.array(normalised.offsets, np.float64), np.array(normalised.origin, np.int64)
    planes_px = disparities_px.double().numpy()
    # Disparity, least cost and doubt of the best plane so far.
    found_px = np.empty((B, H, W), np.float32)
    found_px[:] = planes_px[:, :1, None]
    least, doubt = np.full((B, H, W), np.inf, np.float32), np.ones((B, H, W), np.float32)
    best: tuple[Array, ...] = (found_px, least, doubt)
    for _ in ("along rows", "along columns"):
        bands = B * -(-centre.shape[-2] // _BAND)
        for tilt in tilts:
            planes = (planes_px, step_px, tilt, window_px, _f32(least_contrast))
            run_in_threads(_find_bands, bands, (views, centre, origin, offsets, starts), planes, best)
        # Rows are columns then, and after the second turn rows again.
        views, centre = (np.ascontiguousarray(one.swapaxes(-1, -2)) for one in (views, centre))
        best = tuple(np.ascontiguousarray(one.swapaxes(-1, -2)) for one in best)
        offsets, origin = np.ascontiguousarray(offsets[:, ::-1]), np.ascontiguousarray(origin[::-1])
    found_px, _, doubt = best
    return torch.from_numpy(found_px).view(B, 1, H, W), torch.from_numpy(doubt).view(B, 1, H, W)


@njit(**LOOP)
def _find_bands(rays: _Parts, planes: _Parts, best: _Parts, first_band: int, last_band: int) -> None:
    H = rays[1].shape[1]
    bands = (H + _BAND - 1) // _BAND
    for band in range(first_band, last_band):
        first = band % bands * _BAND
        _find_rows(rays, planes, best, band // bands, first, min(first + _BAND, H))


@njit(**LOOP)
def _find_rows(rays: _Parts, planes: _Parts, best_so_far: _Parts, b: int, first: int, last: int) -> None:
    """Rows of image b. Plane k has the disparity lowest_px + k step_px + tilt y, whatever rows a thread takes."""
    views, centre, origin, offsets, starts = rays[0][b], rays[1][b], rays[2], rays[3], rays[4]
    disparities_px, step_px, tilt, window_px, least_contrast = planes[0][b], planes[1], planes[2], planes[3], planes[4]
    found_px, lowest_cost, doubt = best_so_far[0][b], best_so_far[1][b], best_so_far[2][b]
    H, W = found_px.shape
    D, J, reach = len(disparities_px), len(starts) - 1, window_px // 2
    lowest_px = disparities_px[0]
    rise = tilt / step_px  # planes that the range moves by a row
    top_row, bottom_row = max(first - reach - 1, 0), min(last + reach, H - 1)
    k_first = math.floor(min(-rise * top_row, -rise * bottom_row))
    K = math.ceil(max(-rise * top_row, -rise * bottom_row)) + D - k_first
    slack = abs(rise) * (reach + 2) + 1  # of a window's other rows
    kept = 2 * reach + 3
    contrasts, means = np.zeros((kept, K, W), np.float32), np.zeros((SMOOTHING_PX, K, W + 2), np.float32)
    sums, counts = np.empty((J, W), np.float32), np.empty((J, W), np.float32)
    mean, smooth = np.empty(W, np.float32), np.zeros(W + 2, np.float32)
    column, parts = np.zeros(W + 2 * reach, np.float32), np.empty((2, W + 2 * reach), np.float32)
    costs, least = np.empty((K, W), np.float32), np.empty(W, np.float32)
    best, total = np.empty(W, np.int32), np.empty(W, np.float32)
    position, ratio = np.empty(W, np.float32), np.empty(W, np.float32)
    shares, smooth_shares = np.empty(W, np.float32), np.empty(W, np.float32)
    measure_shares(reach, shares)
    measure_shares(SMOOTHING_PX // 2, smooth_shares)
    for y in range(top_row, last + reach + 1):
        if y < H:
            for k in range(K):
                place = k_first + k + rise * y  # in planes from the lowest one
                if -slack <= place <= D - 1 + slack:
                    compare_row(
                        views, centre, origin, offsets, starts, lowest_px + step_px * place, y, sums, counts, mean
                    )
                    refocus(mean, counts, centre[y], means[y % SMOOTHING_PX, k, 1 : 1 + W])
        if y > top_row and y <= H:
            top, bottom = max(y - 2, top_row), min(y, H - 1)
            for k in range(K):
                smooth[:] = means[top % SMOOTHING_PX, k]
                for row in range(top + 1, bottom + 1):
                    add_row(means[row % SMOOTHING_PX, k], smooth)
                square(smooth, smooth_shares, _f32(1) / _f32(bottom - top + 1), contrasts[(y - 1) % kept, k])
        y_out = y - reach - 1
        if not first <= y_out < last:
            continue
        top, bottom = max(y_out - reach, 0), min(y_out + reach, H - 1)
        low = max(math.ceil(-rise * y_out) - k_first, 0)
        high = min(math.floor(D - 1 - rise * y_out) - k_first, K - 1)
        least[:] = np.inf
        best[:] = 0
        total[:] = _f32(0)
        share = _f32(1) / _f32(bottom - top + 1)
        for k in range(low, high + 1):
            inner = column[reach : reach + W]
            inner[:] = contrasts[top % kept, k]
            for row in range(top + 1, bottom + 1):
                add_row(contrasts[row % kept, k], inner)
            sum_columns(column, window_px, parts, costs[k])
            invert(costs[k], shares, share, least_contrast)
            keep_least(costs[k], k - low, least, best, total)
        place_between(costs[low : high + 1], least, best, total, position, ratio)
        shift = _f32(low + k_first + rise * y_out)
        for x in range(W):
            if least[x] < lowest_cost[y_out, x]:  # than planes of the tilts before
                found_px[y_out, x] = _f32(lowest_px) + _f32(step_px) * (position[x] + shift)
                lowest_cost[y_out, x], doubt[y_out, x] = least[x], ratio[x]
