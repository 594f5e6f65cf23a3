"""What half-lines of views cost under given disparities of the pixels."""

import math

import numpy as np
import torch
from numba import njit
from torch import Tensor

from freqlf.models.kernels.functions import log
from freqlf.models.kernels.packing import PackedViews
from freqlf.models.kernels.running import LOOP, run_in_threads
from freqlf.models.kernels.warping import RUN, compare, locate, measure_room, number_pixels

Array = np.ndarray

_f32 = np.float32
_THIRD = _f32(1 / 3)  # differences are summed over three colours
# So many logarithms of differences are one of their product, scaled so that it neither vanishes nor overflows.
_FACTORS, _FACTOR = 8, 16
# What is summed over the views of a half-line: differences, their logarithms, those of inner and of outer views.
_PARTS = 4
_ALL, _LOGARITHMS, _NEAR, _FAR = range(_PARTS)
_SHIFT = _f32(1.9 - 0.5 * math.log(_FACTOR))  # of the mean of logarithms, to the scale of evidence


def compare_hypotheses(packed: PackedViews, hypotheses_px: Tensor, compared: int, measurements: Tensor) -> None:
    """Evidence of hypotheses (B, N, H, W) into the first channels of the measurements (B, J, channels, H, W).

    Those of `freqlf.models.evidence`: five of the first hypothesis, two of the others up to `compared`, and one of
    all further ones; with none compared, the costs as they are.
    """
    B, _, H, W = hypotheses_px.shape
    hypotheses, results = hypotheses_px.flatten(2).contiguous().numpy(), measurements.view(*measurements.shape[:3], -1)
    runs = -(-H * W // RUN)
    run_in_threads(_compare_runs, B * runs, *packed, W, hypotheses, compared, results.numpy())


def measure_costs(packed: PackedViews, disparity_px: Tensor) -> Tensor:
    """`HalfLines.costs` (B, J, H, W) of disparities (B, 1, H, W)."""
    B, _, H, W = disparity_px.shape
    costs = torch.empty(B, len(packed.starts) - 1, 1, H, W)
    compare_hypotheses(packed, disparity_px, 0, costs)
    return costs.squeeze(2)


@njit(**LOOP)
def _compare_runs(
    views: Array,
    batch_stride: int,
    height: int,
    width: int,
    offsets: Array,
    starts: Array,
    centre: Array,
    origin: Array,
    columns_of_centre: int,
    hypotheses_px: Array,
    compared: int,
    measurements: Array,
    first_run: int,
    last_run: int,
) -> None:
    _, N, P = hypotheses_px.shape
    J, runs = len(starts) - 1, (P + RUN - 1) // RUN
    rows, columns, disparity_px = np.empty(RUN, np.float32), np.empty(RUN, np.float32), np.zeros(RUN, np.float32)
    pixels, down, right = np.empty(RUN, np.int32), np.empty(RUN, np.float32), np.empty(RUN, np.float32)
    room, differences, product = np.empty(RUN, np.float32), np.empty(RUN, np.float32), np.empty(RUN, np.float32)
    sums, counts, mean = np.empty((_PARTS, RUN), np.float32), np.empty((J, RUN), np.float32), np.empty(RUN, np.float32)
    # Over all half-lines, for those of which no view shows the pixel.
    overall, counted = np.empty((_PARTS, RUN), np.float32), np.empty((_PARTS, RUN), np.float32)
    for run in range(first_run, last_run):
        b, first_pixel = run // runs, run % runs * RUN
        last_pixel = min(first_pixel + RUN, P)
        number_pixels(first_pixel, columns_of_centre, origin, rows, columns)
        for n in range(N):
            disparity_px[: last_pixel - first_pixel] = hypotheses_px[b, n, first_pixel:last_pixel]
            is_compared, is_estimate = n < compared, n == 0 and compared > 0
            channel = n if compared == 0 else (0 if n == 0 else (3 + 2 * n if is_compared else 3 + compared + n))
            parts = _PARTS if is_estimate else (2 if is_compared else 1)
            overall[:parts] = _f32(0)
            counted[:parts] = _f32(0)
            is_complete = True
            for j in range(J):
                count = starts[j + 1] - starts[j]
                half = (count + 1) // 2
                by_rows, by_columns = offsets[starts[j]]
                measure_room(disparity_px, rows, columns, by_rows, by_columns, height, width, room)
                sums[:parts] = _f32(0)
                product[:] = _f32(1)
                for view in range(starts[j], starts[j + 1]):
                    by_rows, by_columns = offsets[view]
                    steps = max(abs(by_rows), abs(by_columns))
                    locate(height, width, by_rows, by_columns, disparity_px, rows, columns, pixels, down, right)
                    compare(
                        views, b * batch_stride + view * height * width * 3, height, width, by_rows, by_columns,
                        pixels, down, right, centre, 3 * (b * P + first_pixel), differences,
                    )  # fmt: skip
                    if is_compared:
                        _add_and_multiply(differences, room, steps, sums[_ALL], product)
                        if (view - starts[j]) % _FACTORS == _FACTORS - 1 or view == starts[j + 1] - 1:
                            _add_logarithms(product, sums[_LOGARITHMS])
                    else:
                        _add(differences, room, steps, sums[_ALL])
                    if is_estimate and steps <= half:
                        _add(differences, room, steps, sums[_NEAR])
                    if is_estimate and steps > count - half:
                        _add(differences, room, steps, sums[_FAR])
                is_complete &= _count_views(room, count, counts[j])
                for part in range(parts):
                    _average(sums[part], counts[j], *_limits(part, count), mean, overall[part], counted[part])
                    _scale(mean, part, compared > 0)
                    measurements[b, j, channel + part, first_pixel:last_pixel] = mean[: last_pixel - first_pixel]
                if is_estimate:
                    for x in range(last_pixel - first_pixel):
                        measurements[b, j, 4, first_pixel + x] = counts[j, x] / _f32(count)
            if not is_complete:
                for part in range(parts):
                    for x in range(RUN):
                        mean[x] = overall[part, x] / max(counted[part, x], _f32(1))
                    _scale(mean, part, compared > 0)
                    for j in range(J):
                        skipped, _ = _limits(part, starts[j + 1] - starts[j])
                        target = measurements[b, j, channel + part, first_pixel:last_pixel]
                        _replace_unseen(counts[j], skipped, mean, target)


@njit(**LOOP)
def _limits(part: int, count: int) -> tuple[int, int]:
    """Of so many views of a half-line, from the centre outwards, how many a part leaves out, and takes then."""
    half = (count + 1) // 2
    return count - half if part == _FAR else 0, half if part >= _NEAR else count


@njit(**LOOP)
def _add(differences: Array, room: Array, steps: int, sums: Array) -> None:
    """The differences of a view, so many steps from the centre, where it shows the pixel."""
    for x in range(RUN):
        sums[x] += _THIRD * differences[x] if _f32(steps) <= room[x] else _f32(0)


@njit(**LOOP)
def _add_and_multiply(differences: Array, room: Array, steps: int, sums: Array, product: Array) -> None:
    for x in range(RUN):
        is_visible, difference = _f32(steps) <= room[x], _THIRD * differences[x]
        sums[x] += difference if is_visible else _f32(0)
        product[x] *= _f32(_FACTOR) * (difference + _f32(0.003)) if is_visible else _f32(1)


@njit(**LOOP)
def _add_logarithms(product: Array, sums: Array) -> None:
    """Add those of the products, and begin new ones."""
    for x in range(RUN):
        sums[x] += log(product[x])
        product[x] = _f32(1)


@njit(**LOOP)
def _count_views(room: Array, count: int, counts: Array) -> bool:
    """How many of the views 1 .. count steps away show the pixels, and whether all parts of them have one."""
    least = _f32(count)
    for x in range(RUN):
        counts[x] = np.floor(room[x] if room[x] < _f32(count) else _f32(count))
        least = counts[x] if counts[x] < least else least
    return bool(least > count - (count + 1) // 2)


@njit(**LOOP)
def _average(sums: Array, counts: Array, skipped: int, most: int, mean: Array, overall: Array, counted: Array) -> None:
    """Means over those of `most` views that show the pixels, after those that a part leaves out."""
    for x in range(RUN):
        count = counts[x] - _f32(skipped)
        count = count if count > _f32(0) else _f32(0)
        count = count if count < _f32(most) else _f32(most)
        mean[x] = sums[x] / (count if count > _f32(1) else _f32(1))
        overall[x] += sums[x]
        counted[x] += count


@njit(**LOOP)
def _scale(mean: Array, part: int, is_compressed: bool) -> None:
    """To the scale of evidence, see `_compress` there."""
    if part == _LOGARITHMS:
        for x in range(RUN):
            mean[x] = _f32(0.5) * mean[x] + _SHIFT
    elif is_compressed:
        for x in range(RUN):
            mean[x] = _f32(0.5) * log(mean[x] + _f32(0.003)) + _f32(1.9)


@njit(**LOOP)
def _replace_unseen(counts: Array, skipped: int, overall: Array, target: Array) -> None:
    """A half-line that does not show a pixel has no opinion: it takes that of all."""
    for x in range(len(target)):
        if counts[x] <= skipped:
            target[x] = overall[x]
