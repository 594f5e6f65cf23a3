"""Planes through the surroundings of pixels, see `freqlf.models.surroundings.fit_planes`, run by run of a row."""

import numpy as np
import torch
from numba import njit
from torch import Tensor

from freqlf.models.kernels.functions import exp
from freqlf.models.kernels.running import LOOP, run_in_threads

Array = np.ndarray

_f32 = np.float32
_RUN = 256  # pixels whose sums fit into a processor's first cache
_SUMS = 9  # of samples: 1, x, y, x^2, x y, y^2, d, x d and y d, by their weights
_ROW_SUMS = 5  # the same along a row of samples: 1, x, x^2, d, x d


def fit_planes_fused(
    disparity_px: Tensor,
    weight: Tensor,
    mean_px: Tensor,
    guide: Tensor,
    smooth: Tensor,
    spacing_px: int,
    reach: int,
    guide_scale: float,
    ridge: float,
) -> Tensor:
    """Values (B, S, H, W) of planes through (2 reach + 1)^2 samples of mean_px, spacing_px apart.

    Samples count by their weight (B, S, H, W) and by how similar their smooth guide (B, C, H, W) is to the pixel's.
    """
    B, _, H, _ = disparity_px.shape
    result = torch.empty(disparity_px.shape)
    maps = (one.contiguous().numpy() for one in (disparity_px, weight, mean_px, guide, smooth))
    constants = (_f32(-1 / (guide_scale * guide.shape[1])), _f32(ridge))
    run_in_threads(_fit_rows, B * H, *maps, spacing_px, reach, *constants, result.numpy())
    return result


@njit(**LOOP)
def _fit_rows(
    disparity_px: Array,
    weight: Array,
    mean_px: Array,
    guide: Array,
    smooth: Array,
    spacing_px: int,
    reach: int,
    steepness: float,
    ridge: float,
    result: Array,
    first_row: int,
    last_row: int,
) -> None:
    _, S, H, W = disparity_px.shape
    likeness = np.empty(_RUN, np.float32)
    sums, row_sums = np.empty((S, _SUMS * _RUN), np.float32), np.empty((S, _ROW_SUMS * _RUN), np.float32)
    for row in range(first_row, last_row):
        b, y = row // H, row % H
        for start in range(0, W, _RUN):
            end = min(start + _RUN, W)
            sums[:] = _f32(0)
            for dy in range(-reach, reach + 1):
                y_sample = y + dy * spacing_px
                if y_sample < 0 or y_sample >= H:
                    continue
                row_sums[:] = _f32(0)
                for dx in range(-reach, reach + 1):
                    # Pixels of the run whose sample lies inside of the image.
                    shift = dx * spacing_px
                    first, last = max(start, -shift), min(end, W - shift)
                    if first >= last:
                        continue
                    _compare(guide[b, :, y, first:last], smooth[b, :, y_sample, first + shift : last + shift],
                             steepness, likeness)  # fmt: skip
                    for s in range(S):
                        samples = slice(first + shift, last + shift)
                        _add_samples(
                            weight[b, s, y_sample, samples], mean_px[b, s, y_sample, samples],
                            disparity_px[b, s, y, first:last], likeness, _f32(dx), row_sums[s, first - start :],
                        )  # fmt: skip
                for s in range(S):
                    _add_row(row_sums[s], _f32(dy), sums[s])
            for s in range(S):
                _solve(sums[s], disparity_px[b, s, y, start:end], ridge, result[b, s, y, start:end])


@njit(**LOOP)
def _compare(guide: Array, smooth: Array, steepness: float, likeness: Array) -> None:
    """How similar the colours (C, n) of pixels and of samples are."""
    C, n = guide.shape
    likeness[:n] = _f32(0)
    for c in range(C):
        one, other = guide[c], smooth[c]
        for x in range(n):
            likeness[x] += abs(one[x] - other[x])
    for x in range(n):
        power = steepness * likeness[x]
        likeness[x] = exp(power if power > _f32(-80) else _f32(-80))


@njit(**LOOP)
def _add_samples(weight: Array, mean_px: Array, disparity_px: Array, likeness: Array, dx: float, sums: Array) -> None:
    """One sample of each pixel. Sums of a kind are a run apart: so the compiler knows that they do not overlap."""
    for x in range(len(weight)):
        w = weight[x] * likeness[x]
        wd = w * (mean_px[x] - disparity_px[x])
        sums[x] += w
        sums[_RUN + x] += dx * w
        sums[2 * _RUN + x] += dx * dx * w
        sums[3 * _RUN + x] += wd
        sums[4 * _RUN + x] += dx * wd


@njit(**LOOP)
def _add_row(row_sums: Array, dy: float, sums: Array) -> None:
    """A row of samples, all `dy` spacings below the pixel."""
    for x in range(_RUN):
        w, xw, xxw = row_sums[x], row_sums[_RUN + x], row_sums[2 * _RUN + x]
        wd, xwd = row_sums[3 * _RUN + x], row_sums[4 * _RUN + x]
        sums[x] += w
        sums[_RUN + x] += xw
        sums[2 * _RUN + x] += dy * w
        sums[3 * _RUN + x] += xxw
        sums[4 * _RUN + x] += dy * xw
        sums[5 * _RUN + x] += dy * dy * w
        sums[6 * _RUN + x] += wd
        sums[7 * _RUN + x] += xwd
        sums[8 * _RUN + x] += dy * wd


@njit(**LOOP)
def _solve(sums: Array, disparity_px: Array, ridge: float, result: Array) -> None:
    """Least squares around the centre of the samples, then the plane's value at the pixel."""
    for x in range(len(result)):
        total = sums[x]
        share = _f32(1) / (total if total > _f32(1e-6) else _f32(1e-6))
        x1, y1 = sums[_RUN + x] * share, sums[2 * _RUN + x] * share
        xx = sums[3 * _RUN + x] * share - x1 * x1 + ridge
        xy = sums[4 * _RUN + x] * share - x1 * y1
        yy = sums[5 * _RUN + x] * share - y1 * y1 + ridge
        d1 = sums[6 * _RUN + x] * share
        xd, yd = sums[7 * _RUN + x] * share - x1 * d1, sums[8 * _RUN + x] * share - y1 * d1
        along_x, along_y = yy * xd - xy * yd, xx * yd - xy * xd
        result[x] = disparity_px[x] + d1 - (along_x * x1 + along_y * y1) / (xx * yy - xy * xy)
