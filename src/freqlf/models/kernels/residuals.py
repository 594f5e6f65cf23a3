"""What is left of the inner views of each half-line, aligned by disparities, less the central view."""

import numpy as np
import torch
from numba import njit
from torch import Tensor

from freqlf.models.kernels.packing import PackedViews
from freqlf.models.kernels.pixelpair import fill_pair, load_pair, store_pair
from freqlf.models.kernels.running import LOOP, run_in_threads
from freqlf.models.kernels.warping import locate, measure_room, number_pixels, sample

Array = np.ndarray

_f32 = np.float32
_CHANNELS = 4  # of a view: three colours, and their mean by contrast


def compute_residuals(
    packed: PackedViews, normalised: PackedViews, disparities_px: Tensor, count: int, units: tuple[float, float]
) -> Tensor:
    """Residuals (J, B, N, count * 4, H, W) for the disparities (B, N, H, W), channels side by side in memory.

    See `freqlf.models.viewstream.align_residuals`, which this stands in for.
    """
    B, N, H, W = disparities_px.shape
    J = len(packed.starts) - 1
    residuals = torch.empty(J, B, N, H, W, count * _CHANNELS)
    run_in_threads(
        _compute_rows, B * N * H, *packed, normalised.views, normalised.batch_stride, normalised.centre,
        disparities_px.contiguous().numpy(), _f32(units[0]), _f32(units[1]), residuals.numpy(),
    )  # fmt: skip
    return residuals.permute(0, 1, 2, 5, 3, 4)


@njit(**LOOP)
def _compute_rows(
    views: Array,
    batch_stride: int,
    height: int,
    width: int,
    offsets: Array,
    starts: Array,
    centre: Array,
    origin: Array,
    others: Array,
    other_stride: int,
    other_centre: Array,
    disparities_px: Array,
    unit: float,
    other_unit: float,
    residuals: Array,
    first_row: int,
    last_row: int,
) -> None:
    _, N, H, W = disparities_px.shape
    size, count = (W + 7) // 8 * 8, residuals.shape[-1] // _CHANNELS
    disparity, rows, columns = np.zeros(size, np.float32), np.empty(size, np.float32), np.empty(size, np.float32)
    room, pixels = np.empty(size, np.float32), np.empty(size, np.int32)
    down, right = np.empty(size, np.float32), np.empty(size, np.float32)
    seen, by_contrast = np.empty(4 * size, np.float32), np.empty(4 * size, np.float32)
    kept = np.empty((size, _CHANNELS), np.float32)
    third = _f32(1) / _f32(3)
    number_pixels(0, size, origin, rows, columns)
    for row in range(first_row, last_row):
        b, n, y = row // (N * H), row // H % N, row % H
        disparity[:W] = disparities_px[b, n, y]
        rows[:] = _f32(origin[0] + y)
        centre_first = 3 * (b * H + y) * W
        for j in range(len(starts) - 1):
            first, last = starts[j], starts[j + 1]
            by_rows, by_columns = np.sign(offsets[first])
            measure_room(disparity, rows, columns, by_rows, by_columns, height, width, room)
            is_outwards = np.abs(offsets[first]).max() <= np.abs(offsets[last - 1]).max()
            target = residuals[j, b, n, y]
            kept[:] = _f32(0)
            for slot in range(count):
                if slot < last - first:
                    v = first + slot if is_outwards else last - 1 - slot
                    du, dv = offsets[v]
                    locate(height, width, du, dv, disparity, rows, columns, pixels, down, right)
                    start = v * 3 * height * width
                    _subtract(views, b * batch_stride + start, width, height, du, dv, pixels, down, right, centre,
                              centre_first, seen)  # fmt: skip
                    _subtract(others, b * other_stride + start, width, height, du, dv, pixels, down, right,
                              other_centre, centre_first, by_contrast)  # fmt: skip
                grown = _f32(slot + 1) / _f32(max(slot, 1))
                steps = _f32(slot + 1) if slot < last - first else np.float32(np.inf)
                for x in range(W):
                    if steps <= room[x]:
                        kept[x, 0], kept[x, 1], kept[x, 2] = seen[4 * x], seen[4 * x + 1], seen[4 * x + 2]
                        kept[x, 3] = third * (by_contrast[4 * x] + by_contrast[4 * x + 1] + by_contrast[4 * x + 2])
                    else:
                        for c in range(_CHANNELS):
                            kept[x, c] *= grown
                    at = slot * _CHANNELS
                    for c in range(3):
                        target[x, at + c] = kept[x, c] / (abs(kept[x, c]) + unit)
                    target[x, at + 3] = kept[x, 3] / (abs(kept[x, 3]) + other_unit)


@njit(**LOOP)
def _subtract(
    views: Array,
    start: int,
    width: int,
    height: int,
    du: int,
    dv: int,
    pixels: Array,
    down: Array,
    right: Array,
    centre: Array,
    centre_first: int,
    differences: Array,
) -> None:
    """What a view shows at these places less a row of the centre, four numbers a pixel."""
    to_right, to_below = 3 * min(width - 1, 1), 3 * width * min(height - 1, 1)
    for eight in range(0, len(pixels), 8):
        for x in range(eight, eight + 4):
            if du == 0:
                seen = sample(views, start, to_right, pixels, x, fill_pair(right, x))
            elif dv == 0:
                seen = sample(views, start, to_below, pixels, x, fill_pair(down, x))
            else:
                across = fill_pair(right, x)
                above = sample(views, start, to_right, pixels, x, across)
                below = sample(views, start + to_below, to_right, pixels, x, across)
                seen = above + (below - above) * fill_pair(down, x)
            store_pair(differences, x, seen - load_pair(centre, centre_first + 3 * x))
