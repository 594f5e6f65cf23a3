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
# What is summed over the views of a half-line.
_PARTS = 4
_ALL, _LOGARITHMS, _NEAR, _FAR = range(_PARTS)
_SHIFT = _f32(1.9 - 0.5 * math.log(_FACTOR))  # of their mean, to the scale of evidence


def compare_hypotheses(packed: PackedViews, hypotheses_px: Tensor, compared: int, measurements: Tensor) -> None:
    """Evidence of hypotheses (B, N, H, W) into the first channels of the measurements (B, H, W, J, channels).

    Those of `freqlf.models.evidence`: five of the first hypothesis, two of the others up to `compared`, and one of
    all further ones.
    """
    _run(packed, hypotheses_px, compared, measurements)


def measure_costs(packed: PackedViews, disparity_px: Tensor) -> Tensor:
    """`HalfLines.costs` (B, J, H, W) of disparities (B, 1, H, W)."""
    B, _, H, W = disparity_px.shape
    costs = torch.empty(B, H, W, len(packed.starts) - 1, 1)
    _run(packed, disparity_px, 0, costs)
    return costs.squeeze(4).permute(0, 3, 1, 2).contiguous()


def _run(packed: PackedViews, hypotheses_px: Tensor, compared: int, measurements: Tensor) -> None:
    B, _, H, W = hypotheses_px.shape
    hypotheses, results = hypotheses_px.flatten(2).contiguous().numpy(), measurements.flatten(1, 2).numpy()
    runs = -(-H * W // RUN)
    run_in_threads(_compare_runs, B * runs, *packed, W, hypotheses, compared, results)


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
    room, differences, product = np.empty(RUN, np.float32), np.empty(RUN, np.float32), np.ones(RUN, np.float32)
    channels = measurements.shape[3]
    block = np.empty(
        (J * channels, RUN + 16), np.float32
    )  # rows at distances that do not fall on one another in caches
    sums, counts = np.empty((_PARTS, J, RUN), np.float32), np.empty((_PARTS, J, RUN), np.float32)
    for run in range(first_run, last_run):
        b, first_pixel = run // runs, run % runs * RUN
        last_pixel = min(first_pixel + RUN, P)
        number_pixels(first_pixel, columns_of_centre, origin, rows, columns)
        for n in range(N):
            disparity_px[: last_pixel - first_pixel] = hypotheses_px[b, n, first_pixel:last_pixel]
            is_compared, is_estimate = n < compared, n == 0 and compared > 0
            sums[:] = _f32(0)
            counts[:] = _f32(0)
            for j in range(J):
                count = starts[j + 1] - starts[j]
                half = (count + 1) // 2
                by_rows, by_columns = offsets[starts[j]]
                measure_room(disparity_px, rows, columns, by_rows, by_columns, height, width, room)
                for view in range(starts[j], starts[j + 1]):
                    by_rows, by_columns = offsets[view]
                    steps = max(abs(by_rows), abs(by_columns))
                    locate(height, width, by_rows, by_columns, disparity_px, rows, columns, pixels, down, right)
                    first = b * batch_stride + view * height * width * 3
                    centre_first = 3 * (b * P + first_pixel)
                    compare(
                        views, first, height, width, by_rows, by_columns, pixels, down, right,
                        centre, centre_first, differences,
                    )  # fmt: skip
                    _add(differences, room, steps, sums, counts, _ALL, j)
                    if is_compared:
                        _multiply(differences, room, steps, product)
                        if (view - starts[j]) % _FACTORS == _FACTORS - 1 or view == starts[j + 1] - 1:
                            _add_logarithms(product, sums, j)
                    if is_estimate and steps <= half:
                        _add(differences, room, steps, sums, counts, _NEAR, j)
                    if is_estimate and steps > count - half:
                        _add(differences, room, steps, sums, counts, _FAR, j)
            if is_compared:
                _finish_logarithms(sums, counts)
            channel = n if compared == 0 else (0 if n == 0 else (3 + 2 * n if is_compared else 3 + compared + n))
            _average(sums, counts, _ALL, compared > 0, block, channel, channels)
            if is_compared:
                _average(sums, counts, _LOGARITHMS, False, block, channel + 1, channels)
            if is_estimate:
                _average(sums, counts, _NEAR, True, block, 2, channels)
                _average(sums, counts, _FAR, True, block, 3, channels)
                for j in range(J):
                    share = _f32(1) / _f32(starts[j + 1] - starts[j])
                    for x in range(RUN):
                        block[j * channels + 4, x] = share * counts[_ALL, j, x]
        written = channels if compared == 0 else 3 + compared + N
        _write(block, written, measurements[b, first_pixel:last_pixel])


@njit(**LOOP)
def _add(differences: Array, room: Array, steps: int, sums: Array, counts: Array, part: int, j: int) -> None:
    """The differences of a view, so many steps from the centre, where it shows the pixel."""
    for x in range(RUN):
        is_visible = _f32(steps) <= room[x]
        sums[part, j, x] += _THIRD * differences[x] if is_visible else _f32(0)
        counts[part, j, x] += _f32(1) if is_visible else _f32(0)


@njit(**LOOP)
def _multiply(differences: Array, room: Array, steps: int, product: Array) -> None:
    for x in range(RUN):
        factor = _f32(_FACTOR) * (_THIRD * differences[x] + _f32(0.003))
        product[x] *= factor if _f32(steps) <= room[x] else _f32(1)


@njit(**LOOP)
def _add_logarithms(product: Array, sums: Array, j: int) -> None:
    """Add those of the products, and begin new ones."""
    for x in range(RUN):
        sums[_LOGARITHMS, j, x] += log(product[x])
        product[x] = _f32(1)


@njit(**LOOP)
def _finish_logarithms(sums: Array, counts: Array) -> None:
    """From sums of logarithms to sums on the scale of evidence."""
    for j in range(sums.shape[1]):
        for x in range(RUN):
            counts[_LOGARITHMS, j, x] = counts[_ALL, j, x]
            sums[_LOGARITHMS, j, x] = _f32(0.5) * sums[_LOGARITHMS, j, x] + _SHIFT * counts[_ALL, j, x]


@njit(**LOOP)
def _average(
    sums: Array,
    counts: Array,
    part: int,
    is_compressed: bool,
    block: Array,
    channel: int,
    channels: int,
) -> None:
    """`average_parts` over half-lines, if need be on the logarithmic scale of evidence, into one of their channels."""
    J = sums.shape[1]
    overall, counted, means = np.zeros(RUN, np.float32), np.zeros(RUN, np.float32), np.empty(RUN, np.float32)
    for j in range(J):
        for x in range(RUN):
            overall[x] += sums[part, j, x]
            counted[x] += counts[part, j, x]
    for x in range(RUN):
        overall[x] /= counted[x] if counted[x] > _f32(1) else _f32(1)
    for j in range(J):
        for x in range(RUN):
            count = counts[part, j, x]
            mean = sums[part, j, x] / (count if count > _f32(1) else _f32(1))
            means[x] = mean if count > _f32(0) else overall[x]
        if is_compressed:
            for x in range(RUN):
                means[x] = _f32(0.5) * log(means[x] + _f32(0.003)) + _f32(1.9)
        block[j * channels + channel, :RUN] = means


@njit(**LOOP)
def _write(block: Array, written: int, measurements: Array) -> None:
    """Turn the first channels of (J * channels, pixels) into (pixels, J, channels)."""
    pixels, J, channels = measurements.shape
    for j in range(J):
        for first in range(0, written, 8):
            last = min(first + 8, written)
            for x in range(pixels):
                for channel in range(first, last):
                    measurements[x, j, channel] = block[j * channels + channel, x]
