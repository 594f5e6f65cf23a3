"""What the surfaces around a pixel say about it: planes through their disparities. Nothing here is learned.

Costs alone cannot tell which of two close disparities is right where texture is faint. That a surface goes on as its
surroundings do can: the plane through samples around a pixel, by how sure they are and not across edges of the image,
as in a cross-bilateral filter with holes (Petschnigg et al., SIGGRAPH 2004; Dammertz et al., HPG 2010). Only
differences of disparities are given away, so shearing the light field leaves them as they are.
"""

import itertools
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from freqlf.models.filters import box_mean
from freqlf.models.kernels import can_fuse
from freqlf.models.kernels.surroundings import fit_planes_fused
from freqlf.models.opinion import SecondOpinion

# Samples lie on a square grid of 5 x 5 around a pixel.
_REACH = 2
# Deviation at which a surface counts half, in px.
_SURE_PX = 0.03
# Difference of the guide, the root of intensities, that lowers a sample's weight to 1/e.
_GUIDE_SCALE = 0.08
# Added to the variance of the samples' coordinates, in units of their spacing: a plane is not tilted by a few of them.
_RIDGE = 0.1
# Differences of disparities are read at two scales, in 1/px.
_FINE, _COARSE = 8.0, 1.0


def name_surroundings(hypotheses: int, spacings_px: Sequence[int], *, has_opinion: bool, doubts: int = 0) -> list[str]:
    """What the channels of `describe_surroundings` are; `doubts`: as many as there are in its opinion."""
    surfaces = ("estimate", "opinion") if has_opinion else ("estimate",)
    names = [f"fine difference {i}" for i in range(1, hypotheses)]
    for spacing_px, scale in itertools.product(spacings_px, ("fine", "coarse")):
        names += [f"{scale} plane {spacing_px} of {surface}" for surface in surfaces]
    names += [f"certainty of {surface}" for surface in surfaces]
    if has_opinion:
        names += [f"{colour} by contrast" for colour in ("red", "green", "blue")]
    return names + [f"doubt {i}" for i in range(doubts)]


@torch.no_grad()
def describe_surroundings(
    hypotheses_px: Tensor,
    deviation_px: Tensor,
    opinion: SecondOpinion | None,
    centre: Tensor,
    spacings_px: Sequence[int],
) -> Tensor:
    """Inputs (B, channels, H, W) of an encoder, all of order 1.

    Differences of the hypotheses (B, N, H, W) from the first one, the estimate, at a fine scale; those of planes
    through the estimates and through the second opinion's surfaces around a pixel; how sure these are; the view by
    its contrast, for faint edges; and how doubtful the surfaces of wide windows are.

    deviation_px: (B, 1, H, W), of the estimate.
    opinion: sure where its surfaces agree.
    centre: (B, 3, H, W), the view whose edges planes do not cross.
    """
    estimate_px = hypotheses_px[:, :1]
    surfaces_px, deviations_px = estimate_px, deviation_px
    if opinion is not None:
        other_px = opinion.surfaces_px
        disagreement_px = other_px.amax(dim=1, keepdim=True) - other_px.amin(dim=1, keepdim=True)
        surfaces_px = torch.cat((estimate_px, other_px[:, -1:]), dim=1)
        deviations_px = torch.cat((deviation_px, disagreement_px), dim=1)
    certainty = _SURE_PX**2 / (_SURE_PX**2 + deviations_px.square())
    guide = centre.clamp_min(0).sqrt()
    parts = [torch.tanh(_FINE * (hypotheses_px[:, 1:] - estimate_px))]
    for spacing_px in spacings_px:
        away_px = fit_planes(surfaces_px, certainty, guide, spacing_px) - estimate_px
        parts += [torch.tanh(_FINE * away_px), torch.tanh(_COARSE * away_px)]
    parts.append(0.25 * torch.log(certainty + 1e-3) + 0.8)
    if opinion is not None:
        parts.append((0.5 * opinion.normalised.centre).clamp_(-2, 2))
        if opinion.doubts is not None:
            parts.append(0.5 * torch.log(opinion.doubts.clamp_min(1e-3)) + 1)
    return torch.cat(parts, dim=1)


@torch.no_grad()
def fit_planes(disparity_px: Tensor, certainty: Tensor, guide: Tensor, spacing_px: int) -> Tensor:
    """At each pixel the value of a plane through samples of the disparities (B, S, H, W) around it.

    A sample is the mean of the spacing_px x spacing_px pixels around it, by their certainty (B, S, H, W). It counts by
    its certainty and by how similar the guide (B, C, H, W) is there.
    """
    H, W = disparity_px.shape[-2:]
    window_px = spacing_px + 1 - spacing_px % 2
    weight = box_mean(certainty, window_px)
    mean_px = box_mean(certainty * disparity_px, window_px) / weight.clamp_min(1e-6)
    smooth = box_mean(guide, window_px)
    if can_fuse(disparity_px, weight, guide):
        maps = (disparity_px, weight, mean_px, guide, smooth)
        return fit_planes_fused(*maps, spacing_px, _REACH, _GUIDE_SCALE, _RIDGE)
    reach = _REACH * spacing_px
    margin = (reach, reach, reach, reach)
    weight, mean_px, smooth = (F.pad(one, margin) for one in (weight, mean_px, smooth))  # no weight outside
    total, x1, y1, xx, xy, yy, d1, xd, yd = (torch.zeros_like(disparity_px) for _ in range(9))
    for y in range(-_REACH, _REACH + 1):
        for x in range(-_REACH, _REACH + 1):
            top, left = reach + y * spacing_px, reach + x * spacing_px
            place = (..., slice(top, top + H), slice(left, left + W))
            likeness = torch.exp((smooth[place] - guide).abs_().mean(dim=1, keepdim=True).mul_(-1 / _GUIDE_SCALE))
            w = weight[place] * likeness
            wd = w * (mean_px[place] - disparity_px)
            total += w
            d1 += wd
            for sums, one, factor in ((x1, w, x), (y1, w, y), (xd, wd, x), (yd, wd, y)):
                sums.add_(one, alpha=factor)
            for sums, factor in ((xx, x * x), (xy, x * y), (yy, y * y)):
                sums.add_(w, alpha=factor)
    total.clamp_min_(1e-6)
    x1, y1, xx, xy, yy, d1, xd, yd = (one.div_(total) for one in (x1, y1, xx, xy, yy, d1, xd, yd))
    # Least squares around the centre of the samples, then the plane's value at the pixel.
    xx, xy, yy = xx - x1 * x1 + _RIDGE, xy - x1 * y1, yy - y1 * y1 + _RIDGE
    xd, yd = xd - x1 * d1, yd - y1 * d1
    determinant = xx * yy - xy * xy
    along_x, along_y = (yy * xd - xy * yd) / determinant, (xx * yd - xy * xd) / determinant
    return disparity_px + d1 - along_x * x1 - along_y * y1
