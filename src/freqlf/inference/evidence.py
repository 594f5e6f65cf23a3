"""Where the views say nothing about disparity, whatever a model makes of it: from the views, not from the model.

Disparity can only be seen where a picture changes along a line of views, and where the other views change in the same
way. Noise changes each view in its own way, so the products of gradients in two views average to what they share: to
zero on plain surfaces, and where views were laid over each other wrongly. What they share is compared with how much
they differ, in a small window, so neither exposure nor the level of noise needs to be known.

Intervals are as wide as the scene is deep there, for any disparity in it would look the same.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from freqlf.inference.shear import REACH_PX
from freqlf.io.parameters import Parameters
from freqlf.lightfield import LINES
from freqlf.models.config import EPI_LINES
from freqlf.models.halflines import HalfLines, spatial_gradient
from freqlf.outputs.estimate import Estimate
from freqlf.outputs.pointcloud import find_span_px

Map = NDArray[np.float32]  # (H, W)
NearViews = list[tuple[tuple[int, int], Tensor]]  # view steps (rows, columns), and the view (1, 3, H, W)

_WINDOW_PX = 5
_STRIP_PX = 64  # rows at a time
_QUANTUM = 1 / 255 / 12**0.5  # what rounding to 8 bits adds, as a standard deviation
# Of shared change to difference. On plain surfaces with noise, coloured or grey, 99.9 % of the pixels are below the
# first number; what is above the second has evidence for certain, and in between it grows.
_NOTHING, _CERTAIN = 0.12, 0.24
_LEAST_SHARE = 0.001  # of the pixels must have evidence, to say between which disparities a scene lies
_LEAST_DEPTH_PX = 1.0


def pick_near_views(views: HalfLines | Mapping[str, Tensor]) -> tuple[Tensor, NearViews]:
    """The centre (1, 3, H, W) and the views one step away along rows and columns, out of what a model read."""
    if isinstance(views, HalfLines):
        near = [(step, views.views[:, i]) for i, step in enumerate(views.offsets) if abs(step[0]) + abs(step[1]) == 1]
        return views.centre, near
    near, centre = [], None
    for name in EPI_LINES:
        if name in views:
            middle = views[name].shape[1] // 2
            centre = views[name][:, middle]
            du, dv = LINES[name]
            near += [((side * du, side * dv), views[name][:, middle + side]) for side in (-1, 1)]
    assert centre is not None  # every model reads one of these lines
    return centre, near


@torch.inference_mode()
def measure_no_evidence(centre: Tensor, near: NearViews, disparity_px: Tensor) -> Tensor:
    """(H, W) in [0, 1]: 1 where the views say nothing about the disparity, 0 where they say something.

    disparity_px: (H, W), at which the views are laid over the centre.
    """
    height = disparity_px.shape[-2]
    margin = _WINDOW_PX // 2 + 1
    strips = []
    for top in range(0, height, _STRIP_PX):
        first, last = max(top - margin, 0), min(top + _STRIP_PX + margin, height)
        share = _share_of_change(centre, near, disparity_px, first, last)
        strips.append(share[top - first : min(top + _STRIP_PX, height) - first])
    return ((_CERTAIN - torch.cat(strips)) / (_CERTAIN - _NOTHING)).clamp(0, 1)


def _share_of_change(centre: Tensor, near: NearViews, disparity_px: Tensor, first: int, last: int) -> Tensor:
    """Shared change over difference, of rows `first` to `last`: (rows, W)."""
    here = centre[:, :, first:last].float()
    disparity = disparity_px[first:last]
    shared = torch.zeros_like(disparity)
    differing = torch.full_like(disparity, len(near) * 3 * _QUANTUM**2)
    for step, view in near:
        there = _warp(view.float(), disparity, step, first)
        direction = (abs(step[0]), abs(step[1]))
        shared += (spatial_gradient(here, direction) * spatial_gradient(there, direction)).sum(dim=(0, 1))
        differing += (there - here).square().sum(dim=(0, 1))
    means = F.avg_pool2d(
        torch.stack((shared, differing))[None], _WINDOW_PX, 1, _WINDOW_PX // 2, count_include_pad=False
    )
    return means[0, 0] / means[0, 1]


def _warp(view: Tensor, disparity_px: Tensor, step: tuple[int, int], first: int) -> Tensor:
    """A view (1, 3, H, W) where the centre's rows from `first` on are seen in it, (1, 3, rows, W); bilinear."""
    height, width = view.shape[-2:]
    y = torch.arange(first, first + len(disparity_px), device=view.device)[:, None] - step[0] * disparity_px
    x = torch.arange(width, device=view.device)[None, :] - step[1] * disparity_px
    grid = torch.stack((2 * x / max(width - 1, 1) - 1, 2 * y / max(height - 1, 1) - 1), dim=-1)
    return F.grid_sample(view, grid[None].float(), mode="bilinear", padding_mode="border", align_corners=True)


def find_range_px(disparity_px: Map, no_evidence: Map, camera: Parameters | None) -> tuple[float, float]:
    """Between which disparities the scene lies, as far as can be told.

    What has no evidence may lie behind all that has, or before it: the range of what has is extended by itself to both
    sides. A camera that says more is believed. If nothing has evidence, it is all that was searched.
    """
    if np.mean(no_evidence < 0.5) < _LEAST_SHARE:
        low, high = -REACH_PX, REACH_PX
    else:
        low, high = find_span_px(disparity_px, no_evidence)
        depth = max(high - low, _LEAST_DEPTH_PX)
        low, high = low - depth, high + depth
    if camera is not None:
        low, high = min(low, camera.disp_min_px), max(high, camera.disp_max_px)
        low = max(low, min(float(camera.disparity_px(np.array(np.inf))), high))  # nothing is beyond infinity
    return low, high


def widen_intervals(estimate: Estimate) -> Estimate:
    """Let the interval of pixels without evidence reach over the scene's range, and others in proportion."""
    nothing = estimate.no_evidence
    if nothing is None:
        return estimate
    low, high = find_range_px(estimate.disparity_px, nothing, estimate.parameters)
    lower_px, upper_px = estimate.lower_px, estimate.upper_px
    if lower_px is not None and upper_px is not None:
        lower_px = (lower_px + nothing * (np.minimum(lower_px, low) - lower_px)).astype(np.float32)
        upper_px = (upper_px + nothing * (np.maximum(upper_px, high) - upper_px)).astype(np.float32)
    return replace(estimate, lower_px=lower_px, upper_px=upper_px, range_px=(low, high))
