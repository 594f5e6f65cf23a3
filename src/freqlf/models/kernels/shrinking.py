"""Views at a fraction of their resolution, for coarse levels."""

import numpy as np
from numba import njit
from torch import Tensor

from freqlf.models.kernels.packing import flatten, lay_out, new_views
from freqlf.models.kernels.running import LOOP, run_in_threads

Array = np.ndarray

_f32 = np.float32


def shrink_views(views: Tensor, height: int, width: int) -> Tensor:
    """Area averages of views (B, V, 3, H, W), as `interpolate` with mode "area" takes them, laid out for the loops."""
    views = lay_out(views)
    B, V, _, H, W = views.shape
    smaller = new_views(B, V, height, width)
    sizes = np.array([V, H, W, height, width], np.int64)
    run_in_threads(_shrink_rows, B * V * height, flatten(views), views.stride(0), sizes, flatten(smaller))
    return smaller


@njit(**LOOP)
def _shrink_rows(views: Array, batch_stride: int, sizes: Array, smaller: Array, first_row: int, last_row: int) -> None:
    V, H, W, height, width = sizes
    sums = np.empty(3 * W, np.float32)
    for row in range(first_row, last_row):
        b, v, y = row // (V * height), row // height % V, row % height
        top, bottom = y * H // height, -(-(y + 1) * H // height)
        start = b * batch_stride + 3 * W * (v * H + top)
        sums[:] = views[start : start + 3 * W]
        for other in range(1, bottom - top):
            source = views[start + 3 * W * other : start + 3 * W * (other + 1)]
            for i in range(3 * W):
                sums[i] += source[i]
        if 2 * height == H and 2 * width == W:  # most levels; without a division for each pixel
            target = smaller[3 * row * width : 3 * (row + 1) * width]
            for x in range(width):
                for c in range(3):
                    target[3 * x + c] = _f32(0.25) * (sums[6 * x + c] + sums[6 * x + 3 + c])
            continue
        for x in range(width):
            left, right = x * W // width, -(-(x + 1) * W // width)
            share = _f32(1) / _f32((bottom - top) * (right - left))
            for c in range(3):
                total = _f32(0)
                for other in range(left, right):
                    total += sums[3 * other + c]
                smaller[3 * (row * width + x) + c] = share * total
