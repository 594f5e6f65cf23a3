"""Plane sweep: what the views say about disparities that all pixels share. Nothing here is learned.

For each of a row of disparities (planes parallel to the image) every half-line of views tells how badly it
disagrees with the centre, pixel by pixel, as in space-sweep stereo (Collins, CVPR 1996). The planes cover the
range of the scene's own slope field, so shearing the light field moves them along.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from freqlf.models.filters import box_mean, median3
from freqlf.models.halflines import HalfLines, average_parts, spatial_gradient
from freqlf.models.kernels import can_fuse
from freqlf.models.kernels.equations import make_equations
from freqlf.models.kernels.minima import SMOOTHING_PX, find_minima
from freqlf.models.kernels.planes import sweep_fused
from freqlf.models.opinion import SecondOpinion, normalise_contrast
from freqlf.models.tilts import LEAST_CONTRAST, find_tilted

# Added to differences before their logarithm: about that of neighbouring 8-bit levels.
_FLOOR = 0.003
# Of a line's two sides the better one counts, since the other may see an occluder; the worse one a little.
_CAUTION = 0.1
# Of the least squares on normalised views, whose differences are of order 1: see `HalfLines.normal_equations`.
_ROBUSTNESS, _DAMPING, _LARGEST_STEP_PX = 0.3, 1e-3, 0.15

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


@dataclass(frozen=True)
class SweepOptions:
    """How the range of a scene is swept.

    Attributes:
        step_px: distance of the planes.
        margin_px: how far they go beyond the range of the slope field.
        most_planes: planes at most.
        windows_px: sides of the windows that costs are averaged over; each gives a surface.
        wide_windows_px: sides of wide ones, for faint texture and noise; each gives two surfaces, see `SecondOpinion`.
        tilts: of further planes, which floors and walls are found on, see `find_tilted`; they give one surface.
        tilted_window_px: side of the window for these.
    """

    step_px: float = 0.25
    margin_px: float = 0.5
    most_planes: int = 40
    windows_px: tuple[int, ...] = (5, 9)
    wide_windows_px: tuple[int, ...] = ()
    tilts: tuple[float, ...] = ()
    tilted_window_px: int = 41


@torch.no_grad()
def sweep_surfaces(half_lines: HalfLines, slope_px: Tensor, options: SweepOptions) -> SecondOpinion:
    """The plane of least cost in each window, made exact by a parabola and a Lucas-Kanade step.

    In wide windows also the plane on which the views' mean, refocused there, has most contrast: the focus cue (Tao et
    al., ICCV 2013). A mean of many views has little noise, so it finds texture that no pair of views shows.

    slope_px (B, 1, H, W) says which planes are worth trying.
    """
    planes = place_planes(slope_px, half_lines.centre, options.step_px, options.margin_px, options.most_planes)
    normalised = normalise_contrast(half_lines)
    found_px, doubts = _find_cheapest(normalised, planes, options)
    windows_px = (*options.windows_px, *options.wide_windows_px, *options.wide_windows_px)
    surfaces_px = torch.cat(
        [_step_closer(normalised, *one) for one in zip(found_px.split(1, dim=1), windows_px, strict=True)], dim=1
    )
    exact = len(options.windows_px)
    wide_px, doubts = surfaces_px[:, exact:], doubts[:, exact:]
    if options.tilts:
        window_px = options.tilted_window_px
        tilted = find_tilted(normalised, planes.disparities_px, options.step_px, options.tilts, window_px)
        tilted_px = _step_closer(normalised, tilted.disparity_px, window_px)
        wide_px, doubts = torch.cat((wide_px, tilted_px), dim=1), torch.cat((doubts, tilted.doubt), dim=1)
    if wide_px.shape[1] == 0:
        return SecondOpinion(normalised, surfaces_px)
    return SecondOpinion(normalised, surfaces_px[:, :exact], wide_px, doubts)


def _find_cheapest(normalised: HalfLines, planes: Planes, options: SweepOptions) -> tuple[Tensor, Tensor]:
    """Disparities of least cost of the grey views in each window, and their doubts, (B, windows, H, W).

    Windows first, then wide ones, then wide ones again by the contrast of refocused views.
    """
    if can_fuse(normalised.centre, normalised.views):
        windows_px = (options.windows_px, options.wide_windows_px)
        position, doubt = find_minima(normalised, planes.disparities_px, *windows_px, _CAUTION, LEAST_CONTRAST)
        return position.mul_(options.step_px).add_(planes.disparities_px[:, :1, None, None]), doubt
    grey = replace(
        normalised,
        centre=normalised.centre.mean(dim=1, keepdim=True),
        views=normalised.views.mean(dim=2, keepdim=True),
    )
    found = [find_by_warping(grey, b, one, options) for b, one in enumerate(planes.disparities_px)]
    found_px, doubts = (torch.stack(one) for one in zip(*found, strict=True))
    return found_px, doubts


def find_by_warping(grey: HalfLines, b: int, disparities_px: Tensor, options: SweepOptions) -> tuple[Tensor, Tensor]:
    """What `find_minima` computes, for image b and planes (D,), (windows, H, W); few costs of a pixel are kept."""
    wide_px, windows_px = options.wide_windows_px, (*options.windows_px, *options.wide_windows_px)
    H, W = grey.centre.shape[-2:]
    least = grey.centre.new_full((len(windows_px) + len(wide_px), H, W), math.inf)
    before, after, previous, total = (torch.zeros_like(least) for _ in range(4))
    best = torch.zeros_like(least, dtype=torch.long)
    for plane, disparity_px in enumerate(disparities_px.tolist()):
        cost = cost_by_warping(grey, b, disparity_px, _CAUTION)[None, None]
        parts = [box_mean(cost, window) for window in windows_px]
        if wide_px:
            # Views between pixels have less noise than those on them, unless both are smoothed.
            contrast = box_mean(refocus_by_warping(grey, b, disparity_px)[None, None], SMOOTHING_PX).square_()
            parts += [1 / (box_mean(contrast, window) + LEAST_CONTRAST) for window in wide_px]
        costs = torch.cat(parts, dim=1)[0]
        total += costs
        follows = best == plane - 1
        after = torch.where(follows, costs, after)
        is_less = costs < least
        before, after = torch.where(is_less, previous, before), torch.where(is_less, costs, after)
        best, least = torch.where(is_less, plane, best), torch.where(is_less, costs, least)
        previous = costs
    # A parabola through the least cost and its neighbours; not at the ends of the range.
    curvature = before - 2 * least + after
    is_inside = (best > 0) & (best < len(disparities_px) - 1) & (curvature > 0)
    offset = torch.where(is_inside, 0.5 * (before - after) / curvature, 0.0).clamp_(-0.5, 0.5)
    doubt = least * len(disparities_px) / total.clamp_min(1e-6)
    return disparities_px[best] + options.step_px * offset, doubt


def _step_closer(normalised: HalfLines, disparity_px: Tensor, window_px: int) -> Tensor:
    """One step of least squares over the window, for surfaces between planes and slanted ones."""
    if can_fuse(disparity_px, normalised.views):
        parts = make_equations(normalised.packed(), disparity_px, _ROBUSTNESS, together=True)
    else:
        numerators, denominators = normalised.normal_equations(disparity_px, _ROBUSTNESS)
        parts = numerators.sum(dim=1, keepdim=True), denominators.sum(dim=1, keepdim=True)
    numerator, denominator = (box_mean(part, window_px) for part in parts)
    step = (numerator / (denominator + _DAMPING)).clamp_(-_LARGEST_STEP_PX, _LARGEST_STEP_PX)
    return median3(disparity_px + step)


def cost_by_warping(half_lines: HalfLines, b: int, disparity_px: float, caution: float) -> Tensor:
    """How badly the views of image b disagree with the centre at one disparity, occlusion-aware, (H, W).

    The sum over lines of the better one of their two half-lines, and `caution` times that of both.
    """
    one = replace(half_lines, centre=half_lines.centre[b : b + 1], views=half_lines.views[b : b + 1])
    parts = [
        (values.abs().mean(dim=2).sum(dim=1), visible.sum(dim=1))
        for values, visible in one.residuals(one.centre[:, :1].new_full((1, 1, *one.centre.shape[-2:]), disparity_px))
    ]
    costs = average_parts(parts)[0]  # J, H, W
    return torch.minimum(costs[0::2], costs[1::2]).sum(dim=0) + caution * costs.sum(dim=0)


def refocus_by_warping(half_lines: HalfLines, b: int, disparity_px: float) -> Tensor:
    """The mean of image b's grey views, the centre among them, refocused on one disparity, (H, W)."""
    one = replace(half_lines, centre=half_lines.centre[b : b + 1], views=half_lines.views[b : b + 1])
    everywhere_px = one.centre[:, :1].new_full((1, 1, *one.centre.shape[-2:]), disparity_px)
    return one.refocused(everywhere_px).centre[0, 0]


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
