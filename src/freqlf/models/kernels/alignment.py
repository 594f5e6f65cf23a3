"""The mean of views that are aligned by the disparities of the central one's pixels, see `HalfLines.refocused`."""

import numpy as np
import torch
from numba import njit
from torch import Tensor

from freqlf.models.kernels.packing import PackedViews
from freqlf.models.kernels.pixelpair import fill_pair, load_pair, splat, store_pair
from freqlf.models.kernels.running import LOOP, run_in_threads
from freqlf.models.kernels.warping import locate, measure_room, number_pixels, sample

Array = np.ndarray

_f32 = np.float32


def average_aligned(packed: PackedViews, disparity_px: Tensor) -> Tensor:
    """The mean (B, 3, H, W) of the centre and all views that show a pixel, by its disparity (B, 1, H, W)."""
    B, _, H, W = disparity_px.shape
    means = torch.empty(B, 3, H, W)
    run_in_threads(_average_rows, B * H, *packed, disparity_px[:, 0].contiguous().numpy(), means.numpy())
    return means


@njit(**LOOP)
def _average_rows(
    views: Array,
    batch_stride: int,
    height: int,
    width: int,
    offsets: Array,
    starts: Array,
    centre: Array,
    origin: Array,
    disparity_px: Array,
    means: Array,
    first_row: int,
    last_row: int,
) -> None:
    _, H, W = disparity_px.shape
    size, count = (W + 7) // 8 * 8, len(offsets)
    disparity, rows, columns = np.zeros(size, np.float32), np.empty(size, np.float32), np.empty(size, np.float32)
    room, pixels = np.empty(size, np.float32), np.empty((count, size), np.int32)
    down, right = np.empty((count, size), np.float32), np.empty((count, size), np.float32)
    visible, row_means = np.empty((count, size), np.float32), np.empty(4 * size, np.float32)
    number_pixels(0, size, origin, rows, columns)
    to_right, to_below = 3 * min(width - 1, 1), 3 * width * min(height - 1, 1)
    for row in range(first_row, last_row):
        b, y = row // H, row % H
        disparity[:W] = disparity_px[b, y]
        rows[:] = _f32(origin[0] + y)
        for j in range(len(starts) - 1):
            by_rows, by_columns = np.sign(offsets[starts[j]])
            measure_room(disparity, rows, columns, by_rows, by_columns, height, width, room)
            for v in range(starts[j], starts[j + 1]):
                du, dv = offsets[v]
                locate(height, width, du, dv, disparity, rows, columns, pixels[v], down[v], right[v])
                steps = _f32(max(abs(du), abs(dv)))
                for x in range(size):
                    visible[v, x] = _f32(1) if steps <= room[x] else _f32(0)
        _average_row(
            views, b * batch_stride, 3 * height * width, to_right, to_below, offsets, pixels.reshape(-1),
            down.reshape(-1), right.reshape(-1), visible.reshape(-1), centre, 3 * (b * H + y) * W, row_means,
        )  # fmt: skip
        for c in range(3):
            for x in range(W):
                means[b, c, y, x] = row_means[4 * x + c]


@njit(**LOOP)
def _average_row(
    views: Array,
    first: int,
    view_size: int,
    to_right: int,
    to_below: int,
    offsets: Array,
    pixels: Array,
    down: Array,
    right: Array,
    visible: Array,
    centre: Array,
    centre_first: int,
    means: Array,
) -> None:
    """One row of means, four numbers a pixel, from the views, of which the first begins at number `first`."""
    size = len(means) // 4
    for eight in range(0, size, 8):
        for x in range(eight, eight + 4):
            total, seen_by = load_pair(centre, centre_first + 3 * x), splat(_f32(1))
            for v in range(len(offsets)):
                at, start = v * size + x, first + v * view_size
                if offsets[v, 0] == 0:
                    seen = sample(views, start, to_right, pixels, at, fill_pair(right, at))
                elif offsets[v, 1] == 0:
                    seen = sample(views, start, to_below, pixels, at, fill_pair(down, at))
                else:
                    across = fill_pair(right, at)
                    above = sample(views, start, to_right, pixels, at, across)
                    below = sample(views, start + to_below, to_right, pixels, at, across)
                    seen = above + (below - above) * fill_pair(down, at)
                is_seen = fill_pair(visible, at)
                total = total + seen * is_seen
                seen_by = seen_by + is_seen
            store_pair(means, x, total / seen_by)
