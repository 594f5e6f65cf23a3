"""Local contrast normalisation of views in one pass over each: sums over the window run along with the pixels."""

import math

import numpy as np
from numba import njit
from torch import Tensor

from freqlf.models.kernels.packing import flatten, lay_out, new_views
from freqlf.models.kernels.running import LOOP, run_in_threads

Array = np.ndarray

_f32 = np.float32


def normalise_views(views: Tensor, window_px: int, floor: float) -> Tensor:
    """`freqlf.models.sweep.normalise_contrast` of views (B, V, 3, H, W), in the memory layout of the loops."""
    B, V, _, H, W = views.shape
    views, result = lay_out(views), new_views(B, V, H, W)
    sizes = (V, H, W, views.stride(0), result.stride(0))
    run_in_threads(_normalise, B * V, flatten(views), *sizes, window_px // 2, _f32(floor), flatten(result))
    return result


@njit(**LOOP)
def _normalise(
    views: Array,
    count: int,
    height: int,
    width: int,
    views_stride: int,
    result_stride: int,
    reach: int,
    floor: float,
    result: Array,
    first: int,
    last: int,
) -> None:
    """Whole views, numbered over the batch: (I - mean) / (deviation of the grey image + floor) for each colour."""
    for image in range(first, last):
        b, v = image // count, image % count
        source = views[b * views_stride + v * height * width * 3 :]
        target = result[b * result_stride + v * height * width * 3 :]
        # By column, over the rows of the window: sums of the colours and of the squared grey.
        columns = np.zeros((width, 4), np.float64)
        for y in range(min(reach, height)):
            _add_row(source, y, width, 1.0, columns)
        for y in range(height):
            if y + reach < height:
                _add_row(source, y + reach, width, 1.0, columns)
            if y - reach > 0:
                _add_row(source, y - reach - 1, width, -1.0, columns)
            rows = min(y + reach, height - 1) - max(y - reach, 0) + 1
            red, green, blue, squares = 0.0, 0.0, 0.0, 0.0
            for x in range(-reach, width):
                if x + reach < width:
                    ahead = columns[x + reach]
                    red, green, blue, squares = red + ahead[0], green + ahead[1], blue + ahead[2], squares + ahead[3]
                if x - reach > 0:
                    behind = columns[x - reach - 1]
                    red, green, blue = red - behind[0], green - behind[1], blue - behind[2]
                    squares -= behind[3]
                if x < 0:
                    continue
                share = 1.0 / (rows * (min(x + reach, width - 1) - max(x - reach, 0) + 1))
                grey = (red + green + blue) * share / 3
                scale = _f32(1) / (_f32(math.sqrt(max(squares * share - grey * grey, 0.0))) + floor)
                place = 3 * (y * width + x)
                target[place] = (source[place] - _f32(red * share)) * scale
                target[place + 1] = (source[place + 1] - _f32(green * share)) * scale
                target[place + 2] = (source[place + 2] - _f32(blue * share)) * scale


@njit(**LOOP)
def _add_row(source: Array, y: int, width: int, sign: float, columns: Array) -> None:
    for x in range(width):
        place = 3 * (y * width + x)
        red, green, blue = source[place], source[place + 1], source[place + 2]
        grey = (np.float64(red) + green + blue) / 3
        columns[x, 0] += sign * red
        columns[x, 1] += sign * green
        columns[x, 2] += sign * blue
        columns[x, 3] += sign * grey * grey
