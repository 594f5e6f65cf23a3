"""The nearest surface at every pixel of the views."""

from collections.abc import Sequence

import numpy as np
from numba import njit
from torch import Tensor

from freqlf.models.kernels.running import LOOP, run_in_threads

Array = np.ndarray

_f32 = np.float32


def draw_views(disparity_px: Tensor, nearest_px: Tensor, offsets: Sequence[tuple[int, int]], covered_px: float) -> None:
    """Draw surfaces (B, 1, H, W) into views (B, V, H, W) that lie so many steps from the centre: `draw_nearest`."""
    surfaces = disparity_px[:, 0].contiguous().numpy()
    steps = np.array(offsets, np.int64)
    run_in_threads(_draw, len(surfaces) * len(steps), surfaces, steps, nearest_px.numpy(), _f32(covered_px))


@njit(**LOOP)
def _draw(surfaces: Array, offsets: Array, nearest_px: Array, covered_px: float, first: int, last: int) -> None:
    _, H, W = surfaces.shape
    for number in range(first, last):
        b, view = number // len(offsets), number % len(offsets)
        down, right = _f32(offsets[view, 0]), _f32(offsets[view, 1])
        target = nearest_px[b, view]
        for y in range(H):
            for x in range(W):
                disparity = surfaces[b, y, x]
                at_y, at_x = _f32(y) - down * disparity, _f32(x) - right * disparity
                if not (at_y > _f32(-1) and at_y < _f32(H) and at_x > _f32(-1) and at_x < _f32(W)):
                    continue  # outside, or NaN
                top, left = int(np.floor(at_y)), int(np.floor(at_x))
                for to_y in range(max(top, 0), min(top + 2, H)):
                    for to_x in range(max(left, 0), min(left + 2, W)):
                        is_near = abs(at_y - _f32(to_y)) < covered_px and abs(at_x - _f32(to_x)) < covered_px
                        if is_near and disparity > target[to_y, to_x]:
                            target[to_y, to_x] = disparity
