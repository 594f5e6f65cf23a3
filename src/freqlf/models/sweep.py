"""Plane sweep: what the views say about disparities that all pixels share. Nothing here is learned.

For each of a row of disparities (planes parallel to the image) every half-line of views tells how badly it
disagrees with the centre, pixel by pixel, as in space-sweep stereo (Collins, CVPR 1996). The planes cover the
range of the scene's own slope field, so shearing the light field moves them along.
"""

import math
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from freqlf.models.filters import box_mean
from freqlf.models.halflines import HalfLines, spatial_gradient
from freqlf.models.kernels import can_fuse
from freqlf.models.kernels.planes import sweep_fused

# Added to differences before their logarithm: about that of neighbouring 8-bit levels.
_FLOOR = 0.003
# Local contrast normalisation: side of the window, and the deviation that counts as no contrast at all.
_CONTRAST_WINDOW_PX = 15
_CONTRAST_FLOOR = 0.005

MEASUREMENTS = 3  # for each plane and half-line


@dataclass(frozen=True)
class Planes:
    """Disparities to try: for each image of a batch the same number, at the same distance.

    disparities_px: (B, D), ascending.
    """

    disparities_px: Tensor

    @property
    def count(self) -> int:
        """D, the number of planes."""
        return self.disparities_px.shape[1]


@torch.no_grad()
def place_planes(slope_px: Tensor, centre: Tensor, step_px: float, margin_px: float, most: int) -> Planes:
    """Planes at a distance of step_px that cover the slopes (B, 1, H, W) of the image's textured half.

    Without texture a slope field may be anything. A range that would need more than `most` planes is cut at both
    ends alike.
    """
    gradients = [spatial_gradient(centre, axis).abs().mean(dim=1, keepdim=True) for axis in ((0, 1), (1, 0))]
    texture = box_mean(gradients[0] + gradients[1], 5).flatten(1)
    ends = []
    for slopes, amount in zip(slope_px.flatten(1), texture, strict=True):
        textured = slopes[amount >= amount.median()]
        few = textured[:: max(1, len(textured) // 60_000)]  # `quantile` sorts, and takes no more than 16 million
        ends.append(torch.quantile(few, few.new_tensor((0.002, 0.998))))
    low, high = torch.stack(ends, dim=1)
    span_px = float((high - low).max()) + 2 * margin_px
    count = min(most, math.ceil(span_px / step_px) + 1)
    steps = torch.arange(count, device=slope_px.device) - 0.5 * (count - 1)
    return Planes(0.5 * (low + high).unsqueeze(1) + step_px * steps)


@torch.no_grad()
def sweep_planes(half_lines: HalfLines, normalised: HalfLines, planes: Planes) -> Tensor:
    """Measurements (B, D, MEASUREMENTS * J, H, W) of the planes by each of J half-lines, all of order 1.

    The mean absolute difference and the mean of its logarithms (which a few views that see an occluder do not
    spoil), both on a logarithmic scale, and the mean difference of the normalised views, in which faint texture in
    the shade counts as much as any other.
    """
    B, _, H, W = half_lines.centre.shape
    J = len(half_lines.slices)
    measurements = half_lines.centre.new_empty(B, planes.count, MEASUREMENTS * J, H, W)
    for b in range(B):
        disparities_px = planes.disparities_px[b]
        means, logs = _compare(half_lines, b, disparities_px)
        contrasts, _ = _compare(normalised, b, disparities_px)
        measurements[b, :, :J] = means.add_(_FLOOR).log_().mul_(0.5).add_(1.9)
        measurements[b, :, J : 2 * J] = logs.mul_(0.5).add_(1.9)
        measurements[b, :, 2 * J :] = contrasts.add_(10 * _FLOOR).log_().mul_(0.5).add_(0.5)
    return measurements


@torch.no_grad()
def normalise_contrast(half_lines: HalfLines) -> HalfLines:
    """Grey views without their local mean, over their local deviation: (B, 1, H, W) and (B, V, 1, H, W)."""

    def normalise(grey: Tensor) -> Tensor:  # B, V, H, W
        mean = _window_mean(grey)
        deviation = (_window_mean(grey.square()) - mean.square()).clamp_min_(0).sqrt_()
        return (grey - mean).div_(deviation.add_(_CONTRAST_FLOOR))

    return replace(
        half_lines,
        centre=normalise(half_lines.centre.mean(dim=1, keepdim=True)),
        views=normalise(half_lines.views.mean(dim=2)).unsqueeze(2),
    )


def _window_mean(images: Tensor) -> Tensor:
    window, reach = _CONTRAST_WINDOW_PX, _CONTRAST_WINDOW_PX // 2
    along_x = F.avg_pool2d(images, (1, window), stride=1, padding=(0, reach), count_include_pad=False)
    return F.avg_pool2d(along_x, (window, 1), stride=1, padding=(reach, 0), count_include_pad=False)


def _compare(half_lines: HalfLines, b: int, disparities_px: Tensor) -> tuple[Tensor, Tensor]:
    """Mean difference and mean logarithm of image b under each disparity, (D, J, H, W) each.

    A half-line that does not show a pixel has no opinion: it takes the mean over the others.
    """
    compare = sweep_fused if can_fuse(half_lines.centre, half_lines.views) else sweep_by_warping
    means, logs = compare(half_lines, b, disparities_px, _FLOOR)
    unseen = means < 0
    if unseen.any():
        seen = (~unseen).to(means.dtype)
        count = seen.sum(dim=1, keepdim=True).clamp_min(1)
        for values in (means, logs):
            values.copy_(torch.where(unseen, (values * seen).sum(dim=1, keepdim=True) / count, values))
    return means, logs


def sweep_by_warping(half_lines: HalfLines, b: int, disparities_px: Tensor, floor: float) -> tuple[Tensor, Tensor]:
    """What `sweep_fused` computes, by warps: for other devices, and what the fused loop is tested against."""
    one = replace(half_lines, centre=half_lines.centre[b : b + 1], views=half_lines.views[b : b + 1])
    J, (H, W) = len(one.slices), one.centre.shape[-2:]
    means = one.centre.new_full((len(disparities_px), J, H, W), -1.0)
    logs = torch.zeros_like(means)
    for d, disparity_px in enumerate(disparities_px):
        for j, (values, visible) in enumerate(one.residuals(disparity_px.expand(1, 1, H, W))):
            differences = values.abs().mean(dim=2)  # 1, views, H, W; zero where invisible
            count = visible.sum(dim=1)
            is_seen = count[0] > 0
            means[d, j][is_seen] = (differences.sum(dim=1) / count)[0][is_seen]
            logs[d, j][is_seen] = ((torch.log(differences + floor) * visible).sum(dim=1) / count)[0][is_seen]
    return means, logs
