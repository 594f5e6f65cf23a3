"""A sweep of tilted planes: floors, tables and walls at a slant. Nothing here is learned.

The disparity of a floor grows with the rows. A wide window, which faint texture needs, then covers more disparities
than one plane parallel to the image has; a plane that is tilted as the surface is stays on it (Gallup et al., CVPR
2007).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from freqlf.models.filters import box_mean
from freqlf.models.halflines import HalfLines
from freqlf.models.kernels import can_fuse
from freqlf.models.kernels.minima import SMOOTHING_PX
from freqlf.models.kernels.tilts import find_tilted_fused

# Added to the squared contrast of refocused views, 1 at most.
LEAST_CONTRAST = 1e-3
# The window is wide: half of the resolution is enough, and takes an eighth of the time.
_SHRUNK_BY = 2


class Tilted(NamedTuple):
    """What a sweep of tilted planes finds, (B, 1, H, W) each; doubt as in `SecondOpinion`."""

    disparity_px: Tensor
    doubt: Tensor


@torch.no_grad()
def find_tilted(
    normalised: HalfLines, disparities_px: Tensor, step_px: float, tilts: Sequence[float], window_px: int
) -> Tilted:
    """The planes with these tilts on which the mean of all views, refocused there, has most contrast.

    normalised: the views by their contrast.
    disparities_px: (B, D), step_px apart: the range that the planes stay in, and how near to each other they are.
    tilts: by how much their disparities grow from one pixel to the next, along rows or along columns.
    window_px: side of the window over which the contrast is measured.
    """
    H, W = normalised.centre.shape[-2:]
    small = normalised.shrunk(_SHRUNK_BY)
    find = find_tilted_fused if can_fuse(small.centre, small.views) else find_by_warping
    side_px = 2 * (window_px // (2 * _SHRUNK_BY)) + 1
    maps = find(small, disparities_px / _SHRUNK_BY, step_px / _SHRUNK_BY, tilts, side_px, LEAST_CONTRAST)
    found_px, doubt = (F.interpolate(one, size=(H, W), mode="nearest") for one in maps)
    return Tilted(found_px * _SHRUNK_BY, doubt)


def find_by_warping(
    normalised: HalfLines,
    disparities_px: Tensor,
    step_px: float,
    tilts: Sequence[float],
    window_px: int,
    least_contrast: float,
) -> tuple[Tensor, Tensor]:
    """Disparities and doubts by warps of all views: for other devices, and what the fused loop is tested against."""
    grey = replace(
        normalised,
        centre=normalised.centre.mean(dim=1, keepdim=True),
        views=normalised.views.mean(dim=2, keepdim=True),
    )
    H, W = grey.centre.shape[-2:]
    y = torch.arange(H, device=grey.centre.device, dtype=torch.float64).view(H, 1).expand(H, W)
    x = torch.arange(W, device=grey.centre.device, dtype=torch.float64).view(1, W).expand(H, W)
    found = []
    for b, lowest_px in enumerate(disparities_px[:, 0].tolist()):
        one = replace(grey, centre=grey.centre[b : b + 1], views=grey.views[b : b + 1])
        families = [
            _try_planes(
                one, lowest_px, step_px, disparities_px.shape[1], tilt / step_px * along, window_px, least_contrast
            )
            for along in (y, x)
            for tilt in tilts
        ]
        found_px, least, doubt = (torch.stack(maps) for maps in zip(*families, strict=True))
        best = least.argmin(dim=0, keepdim=True)
        found.append((found_px.gather(0, best), doubt.gather(0, best)))
    found_px, doubt = (torch.stack(maps) for maps in zip(*found, strict=True))
    return found_px, doubt


def _try_planes(
    grey: HalfLines, lowest_px: float, step_px: float, count: int, rise: Tensor, window_px: int, least_contrast: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Disparities, least costs and doubts (H, W) of planes that rise by so many steps (H, W) at each pixel."""
    first, last = math.floor(float(-rise.max())), math.ceil(float(-rise.min())) + count - 1
    costs, places = [], []
    for plane in range(first, last + 1):
        place = plane + rise
        disparity_px = (lowest_px + step_px * place).to(grey.centre.dtype)
        mean = grey.refocused(disparity_px[None, None]).centre
        contrast = box_mean(mean, SMOOTHING_PX).square()
        cost = (1 / (box_mean(contrast, window_px) + least_contrast))[0, 0]
        costs.append(cost.masked_fill((place < 0) | (place > count - 1), math.inf))
        places.append(place)
    cost, place = torch.stack(costs), torch.stack(places)  # planes, H, W
    least, best = cost.min(dim=0)
    beside = F.pad(cost, (0, 0, 0, 0, 1, 1), value=math.inf)
    before, after = (beside.gather(0, (best + side).unsqueeze(0))[0] for side in (0, 2))
    curvature = before - 2 * least + after
    offset = torch.where(curvature.isfinite() & (curvature > 0), 0.5 * (before - after) / curvature, 0.0)
    found_px = lowest_px + step_px * (place.gather(0, best.unsqueeze(0))[0] + offset.clamp(-0.5, 0.5))
    found_px = torch.where(least.isfinite(), found_px, lowest_px)  # a single plane may cross none of the tilted ones
    is_tried = cost.isfinite()
    total = torch.where(is_tried, cost, 0).sum(dim=0).clamp_min(1e-6)
    return found_px.to(cost.dtype), least, least * is_tried.sum(dim=0) / total
