"""Half-lines as the compiled loops read them: NumPy arrays without axes of tensors, colours side by side.

And views at a fraction of their resolution in the same layout, for coarse levels.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from torch import Tensor

from freqlf.models.kernels.running import LOOP, run_in_threads

Array = np.ndarray

_f32 = np.float32
_SLACK = 2048  # numbers after the last pixel: loops read whole runs of pixels, see `warping`


class PackedViews(NamedTuple):
    """The views around a window of the central one; indices of numbers are those of flat arrays.

    views: flat; view v of image b starts at number b * batch_stride + v * height * width * 3.
    height, width: of the views.
    offsets: (V, 2), view steps (rows, columns) from the centre.
    starts: (J + 1), where the half-lines begin in the views, and the end.
    centre: flat, (B, H, W, 3).
    origin: (y, x) of the centre's top left pixel in the views.
    """

    views: Array
    batch_stride: int
    height: int
    width: int
    offsets: Array
    starts: Array
    centre: Array
    origin: Array


def new_views(batch: int, count: int, height: int, width: int) -> Tensor:
    """Uninitialised views (B, V, 3, H, W) in the memory layout of the loops."""
    numbers = torch.empty(batch * count * height * width * 3 + _SLACK)
    return numbers[:-_SLACK].view(batch, count, height, width, 3).permute(0, 1, 4, 2, 3)


def join(parts: Sequence[Tensor]) -> Tensor:
    """Views (B, ., 3, H, W) side by side in the memory layout of the loops."""
    B, _, _, H, W = parts[0].shape
    views = new_views(B, sum(part.shape[1] for part in parts), H, W)
    if views.numel() == 0:
        return views
    first = 0
    for part in parts:
        part = part.detach() if part.stride(-1) == 1 else part.detach().contiguous()
        count = part.shape[1]
        planes = part.as_strided((_last_number(part) + 1,), (1,)).numpy()
        target = flatten(views[:, first : first + count])
        strides = np.array(part.stride()[:-1], np.int64)
        run_in_threads(_interleave, B * count * H, planes, strides, count, H, W, target, views.stride(0))
        first += count
    return views


@njit(**LOOP)
def _interleave(
    planes: Array,
    strides: Array,
    count: int,
    height: int,
    width: int,
    colours: Array,
    batch_stride: int,
    first_row: int,
    last_row: int,
) -> None:
    """Rows of (B, V, 3, H, W), of which the strides are given, to those of (B, V, H, W, 3)."""
    for row in range(first_row, last_row):
        b, v, y = row // (count * height), row // height % count, row % height
        start = b * strides[0] + v * strides[1] + y * strides[3]
        target = colours[b * batch_stride + (v * height + y) * width * 3 :]
        red, green, blue = planes[start:], planes[start + strides[2] :], planes[start + 2 * strides[2] :]
        for x in range(width):
            target[3 * x], target[3 * x + 1], target[3 * x + 2] = red[x], green[x], blue[x]


def lay_out(views: Tensor) -> Tensor:
    """The same views (B, V, 3, H, W) in the memory layout of the loops, most often themselves."""
    return views.detach() if _is_laid_out(views) else join([views])


def pack(
    views: Tensor, offsets: Sequence[tuple[int, int]], slices: Sequence[slice], centre: Tensor, origin: tuple[int, int]
) -> PackedViews:
    """The arguments are attributes of `HalfLines`."""
    views = lay_out(views)
    height, width = views.shape[-2:]
    return PackedViews(
        flatten(views),
        views.stride(0),
        height,
        width,
        np.array(offsets, np.int64),
        list_starts(slices),
        flatten(join([centre.unsqueeze(1)])),
        np.array(origin, np.int64),
    )


def list_starts(slices: Sequence[slice]) -> Array:
    """Where the half-lines begin in the views, and the end of the last one."""
    return np.array([*(part.start for part in slices), slices[-1].stop], np.int64)


def _is_laid_out(views: Tensor) -> bool:
    _, _, C, H, W = views.shape
    numbers = views.untyped_storage().nbytes() // 4
    has_room = numbers > views.storage_offset() + _last_number(views) + _SLACK
    return C == 3 and views.stride()[1:] == (3 * H * W, 1, 3 * W, 3) and has_room


def _last_number(views: Tensor) -> int:
    """Where the last number of a tensor is in memory, counted from its first."""
    return sum((size - 1) * stride for size, stride in zip(views.shape, views.stride(), strict=True))


def flatten(views: Tensor) -> Array:
    """The memory of views that are laid out, as one array, with what follows the last one."""
    return views.as_strided((_last_number(views) + 1 + _SLACK,), (1,)).numpy()


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
