"""Small neighbourhood filters over (B, C, H, W); windows have odd sides and end at the image's border."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from freqlf.models.kernels import can_fuse


def box_mean(field: Tensor, window_px: int) -> Tensor:
    """Mean over a square window, of those pixels that lie inside of the image."""
    if can_fuse(field):
        from freqlf.models.kernels.filters import average_rows, filter_rows

        return filter_rows(average_rows, field, window_px)
    return F.avg_pool2d(field, window_px, stride=1, padding=window_px // 2, count_include_pad=False)


def resample(field: Tensor, height: int, width: int) -> Tensor:
    """Bilinear, to another resolution of the same image; pixels are areas, as in an average over blocks of them."""
    if field.shape[-2:] == (height, width):
        return field
    return F.interpolate(field, (height, width), mode="bilinear", align_corners=False)


def local_maximum(field: Tensor, window_px: int) -> Tensor:
    """Largest value in a square window; computed along one axis, then along the other."""
    if can_fuse(field):
        from freqlf.models.kernels.filters import extreme_rows, filter_rows

        return filter_rows(extreme_rows, field, window_px, np.float32(1))
    reach = window_px // 2
    along_x = F.max_pool2d(field, (1, window_px), stride=1, padding=(0, reach))
    return F.max_pool2d(along_x, (window_px, 1), stride=1, padding=(reach, 0))


def local_minimum(field: Tensor, window_px: int) -> Tensor:
    """Smallest value in a square window."""
    if can_fuse(field):
        from freqlf.models.kernels.filters import extreme_rows, filter_rows

        return filter_rows(extreme_rows, field, window_px, np.float32(-1))
    return -local_maximum(-field, window_px)


def median3(field: Tensor) -> Tensor:
    """Median of the 3x3 neighbourhood; the border is repeated outwards."""
    if can_fuse(field):
        from freqlf.models.kernels.filters import filter_rows, median_rows

        return filter_rows(median_rows, field)
    H, W = field.shape[-2:]
    padded = F.pad(field, (1, 1, 1, 1), mode="replicate")
    values = [padded[..., y : y + H, x : x + W] for y in range(3) for x in range(3)]
    # Paeth's exchange network: the median of nine by minima and maxima, many times faster than a sort.
    for i, j in _MEDIAN_OF_NINE:
        values[i], values[j] = torch.minimum(values[i], values[j]), torch.maximum(values[i], values[j])
    return values[4]


_MEDIAN_OF_NINE = [
    *[(1, 2), (4, 5), (7, 8), (0, 1), (3, 4), (6, 7), (1, 2), (4, 5), (7, 8), (0, 3)],
    *[(5, 8), (4, 7), (3, 6), (1, 4), (2, 5), (4, 7), (4, 2), (6, 4), (4, 2)],
]
