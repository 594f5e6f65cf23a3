"""What the views say about a few hypotheses for the disparity of each pixel. Nothing here is learned.

Most of the error of any first estimate lies along occlusion edges, where the right answer is one of the two
surfaces that meet. So a pixel gets hypotheses, its own estimate and the surfaces around it, and for each of
them every half-line of views tells how badly it disagrees. Disparities enter only as differences, so shearing
the light field leaves the evidence as it is.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from freqlf.models.filters import box_mean, local_maximum, local_minimum
from freqlf.models.halflines import HalfLines, average_parts, spatial_gradient
from freqlf.models.kernels import can_fuse
from freqlf.models.opinion import CONTRAST_ROBUSTNESS
from freqlf.models.visibility import HIDING_PX, find_seen


def count_hypotheses(windows_px: Sequence[int]) -> int:
    """How many hypotheses `surround` makes."""
    return 2 + 2 * len(windows_px)


def surround(estimate_px: Tensor, alternative_px: Tensor, windows_px: Sequence[int]) -> Tensor:
    """Hypotheses (B, N, H, W): the estimate, the farthest and nearest surface in each window, the alternative.

    estimate_px and alternative_px are (B, 1, H, W). A wide window finds the background of a hole that the
    estimate has closed; a narrow one is exact on slanted surfaces.
    """
    extremes = [find(estimate_px, window) for window in windows_px for find in (local_minimum, local_maximum)]
    return torch.cat((estimate_px, *extremes, alternative_px), dim=1)


# Evidence at a pixel depends on pixels so far away: gradients (1) averaged over 9x9 (4).
EVIDENCE_REACH_PX = 5


class Evidence(NamedTuple):
    """Inputs of an encoder, all of order 1.

    context: (B, channels, H, W), appearance and relative hypotheses, see `name_context`.
    half_lines: (B, J, channels, H, W), the same measurements for each of J half-lines, see `name_half_line`.
    """

    context: Tensor
    half_lines: Tensor


class Step(NamedTuple):
    """Averaged normal equations (B, J, H, W) each: their quotient is what a half-line would move the estimate by.

    scale: in 1/px, at which that is read.
    """

    numerators: Tensor
    denominators: Tensor
    scale: float


# Sides of the windows that equations are averaged over, and scales at which steps are read: of views, of normalised
# ones. The first are for edges, the second for smooth surfaces of faint texture.
_STEP, _CONTRAST_STEP = (3, 4.0), (9, 10.0)


def _average(equations: tuple[Tensor, Tensor], how: tuple[int, float]) -> Step:
    window_px, scale = how
    return Step(box_mean(equations[0], window_px), box_mean(equations[1], window_px), scale)


def name_context(hypotheses: int, *, has_contrast: bool = False, has_occlusion: bool = False) -> list[str]:
    """What the channels of the context are, so that weights find theirs in a model with more of them."""
    others, each = range(1, hypotheses), range(hypotheses)
    names = ["red", "green", "blue", "texture x", "texture y", "smooth texture x", "smooth texture y"]
    names += [*(f"difference {i}" for i in others), "bumpiness"]
    if has_contrast:  # two costs of each hypothesis in its neighbourhood
        names += [*(f"cost around {i}" for i in each), *(f"contrast cost around {i}" for i in each)]
    if has_occlusion:  # what those views say that see it
        names += [f"{kind} {i}" for kind in ("seen logarithm", "seen contrast cost", "seen share") for i in each]
    return names


def name_half_line(
    hypotheses: int, relative_px: Sequence[float], *, has_contrast: bool = False, has_steps: bool = False
) -> list[str]:
    """What the measurements of a half-line are; see `_measure`."""
    names = ["cost 0", "logarithm 0", "near", "far", "share"]
    names += [f"{kind} {i}" for i in range(1, hypotheses) for kind in ("cost", "logarithm")]
    names += [f"cost at {offset_px:+g}" for offset_px in relative_px]
    if has_contrast:
        names += [f"contrast cost {i}" for i in range(hypotheses)]
    names += ["offset", "certainty"]
    return [*names, "contrast offset", "contrast certainty"] if has_steps else names


@torch.no_grad()
def gather_evidence(
    half_lines: HalfLines,
    hypotheses_px: Tensor,
    relative_px: Sequence[float] = (),
    normalised: HalfLines | None = None,
    *,
    has_steps: bool = False,
    nearest_px: Tensor | None = None,
) -> Evidence:
    """Evidence for the hypotheses (B, N, H, W), of which the first is the estimate.

    relative_px adds the cost curve around the estimate at these distances from it. It stays empty in models
    that must not enumerate disparities. normalised are the same views by their local contrast: what they cost in the
    neighbourhood of a pixel decides where texture is faint, and has_steps says that they also tell by how much they
    would move the estimate. nearest_px are the surfaces in all views, see `draw_nearest`: what they hide is left out of
    further costs, for which normalised views are needed, too.
    """
    estimate_px = hypotheses_px[:, :1]
    steps = [_average(half_lines.normal_equations(estimate_px), _STEP)]
    if normalised is not None and has_steps:
        steps.append(_average(normalised.normal_equations(estimate_px, CONTRAST_ROBUSTNESS), _CONTRAST_STEP))
    measure = _measure_fused if can_fuse(hypotheses_px, half_lines.views) else _measure
    measurements, seen = measure(half_lines, normalised, hypotheses_px, relative_px, steps, nearest_px)
    context = [_describe_context(half_lines.centre, hypotheses_px)]
    if normalised is not None:
        context.append(_describe_neighbourhood(measurements, hypotheses_px.shape[1], len(relative_px)))
    if seen is not None:
        context.append(_rank_seen(seen))
    return Evidence(torch.cat(context, dim=1), measurements)


def _measure(
    half_lines: HalfLines,
    normalised: HalfLines | None,
    hypotheses_px: Tensor,
    relative_px: Sequence[float],
    steps: Sequence["Step"],
    nearest_px: Tensor | None,
) -> tuple[Tensor, Tensor | None]:
    """What half-lines say of the hypotheses, of disparities around the first one, and of steps from it.

    And what all views say that see a hypothesis, (B, 3, N, H, W), see `_compare_seen`.
    """
    measurements: list[Tensor] = []  # B, J, H, W each
    for index, hypothesis_px in enumerate(hypotheses_px.split(1, dim=1)):
        measurements += _compare(half_lines, hypothesis_px, is_estimate=index == 0)
    for offset_px in relative_px:
        measurements.append(_compress(half_lines.costs(hypotheses_px[:, :1] + offset_px)))
    if normalised is not None:
        measurements += [_compress_contrast(normalised.costs(one)) for one in hypotheses_px.split(1, dim=1)]
    # The offset that each half-line would like best, and how sure it is.
    for one in steps:
        measurements.append(torch.tanh(one.scale * one.numerators / (one.denominators + 0.02)))
        measurements.append(0.25 * torch.log(one.denominators + 0.01))
    seen = None
    if nearest_px is not None and normalised is not None:
        hypotheses = hypotheses_px.split(1, dim=1)
        seen = torch.stack([_compare_seen(half_lines, normalised, nearest_px, one) for one in hypotheses], dim=2)
    return torch.stack(measurements, dim=2), seen


def _measure_fused(
    half_lines: HalfLines,
    normalised: HalfLines | None,
    hypotheses_px: Tensor,
    relative_px: Sequence[float],
    steps: Sequence["Step"],
    nearest_px: Tensor | None,
) -> tuple[Tensor, Tensor | None]:
    """The same by compiled loops."""
    from freqlf.models.kernels.costs import compare_hypotheses
    from freqlf.models.kernels.equations import describe_equations

    B, N, H, W = hypotheses_px.shape
    J = len(half_lines.slices)
    around_px = [hypotheses_px[:, :1] + offset_px for offset_px in relative_px]
    names = name_half_line(N, relative_px, has_contrast=normalised is not None, has_steps=len(steps) > 1)
    measurements = hypotheses_px.new_empty(B, J, len(names), H, W)
    by_contrast = None if normalised is None else normalised.packed()
    candidates_px = torch.cat([hypotheses_px, *around_px], dim=1)
    seen = None
    if nearest_px is not None and normalised is not None:
        seen = hypotheses_px.new_empty(B, 3, N, H, W)
    compare_hypotheses(half_lines.packed(), candidates_px, N, measurements, by_contrast, nearest_px, seen, HIDING_PX)
    for number, one in enumerate(steps):
        first = names.index("offset") + 2 * number
        describe_equations(one.numerators, one.denominators, one.scale, measurements, first)
    return measurements, seen


def _compress(cost: Tensor) -> Tensor:
    """To about [-1, 1.5] on a logarithmic scale: in dark or flat places small differences decide as well."""
    return cost.add(0.003).log_().mul_(0.5).add_(1.9)


def _compress_contrast(cost: Tensor) -> Tensor:
    """The same for differences of normalised views, which are of order 1 where views disagree."""
    return cost.add(0.03).log_().mul_(0.5).add_(0.8)


def _describe_neighbourhood(measurements: Tensor, hypotheses: int, relative: int) -> Tensor:
    """Costs (B, 2N, H, W) of the hypotheses around each pixel, of views and of normalised views, less the least one's.

    Of a line's two sides the better one counts, for the other may see an occluder.
    """
    if can_fuse(measurements):
        from freqlf.models.kernels.costs import choose_sides

        sides = choose_sides(measurements, hypotheses, relative)
    else:
        first = 2 * hypotheses + 3 + relative  # of the normalised views' costs
        # As in `_measure`: five measurements of the first hypothesis, two of each of the others.
        chosen = [0, *range(5, 5 + 2 * (hypotheses - 1), 2), *range(first, first + hypotheses)]
        costs = measurements[:, :, chosen]  # B, J, 2N, H, W
        sides = torch.minimum(costs[:, 0::2], costs[:, 1::2]).mean(dim=1)
    around = box_mean(sides, 9).unflatten(1, (2, hypotheses))
    return (2 * (around - around.amin(dim=2, keepdim=True))).flatten(1, 2)


def _compare_seen(half_lines: HalfLines, normalised: HalfLines, nearest_px: Tensor, disparity_px: Tensor) -> Tensor:
    """What those views say of a hypothesis that nothing nearer hides it in, (B, 3, H, W).

    The mean logarithm of their differences, their mean difference by contrast, and which share of all views they are.
    Where none is left, the first two are of all that show the pixel.
    """
    totals: list[Tensor] = []  # B, 3, H, W each: of the views that are seen and, further down, of all
    everything: list[Tensor] = []
    count = len(half_lines.steps)
    compared = zip(
        half_lines.residuals(disparity_px),
        normalised.residuals(disparity_px),
        find_seen(half_lines, nearest_px, disparity_px),
        strict=True,
    )
    for (values, visible), (others, _), is_seen in compared:
        parts = torch.stack(
            (_compress(values.abs_().mean(dim=2)), others.abs_().mean(dim=2), torch.ones_like(visible)), 1
        )
        everything.append((parts * visible.unsqueeze(1)).sum(dim=2))
        totals.append((parts * (visible * is_seen).unsqueeze(1)).sum(dim=2))
    seen, shown = torch.stack(totals).sum(dim=0), torch.stack(everything).sum(dim=0)
    chosen = torch.where(seen[:, 2:] > 0, seen, shown)
    logarithm, contrast = (chosen[:, :2] / chosen[:, 2:].clamp_min(1)).unbind(dim=1)
    return torch.stack((logarithm, _compress_contrast(contrast), seen[:, 2] / count), dim=1)


def _rank_seen(seen: Tensor) -> Tensor:
    """Inputs (B, 3N, H, W) from what is said of hypotheses (B, 3, N, H, W): costs less the least one's, and shares."""
    costs = seen[:, :2]
    ranks = 2 * (costs - costs.amin(dim=2, keepdim=True))
    return torch.cat((ranks, seen[:, 2:]), dim=1).flatten(1, 2)


def _compare(half_lines: HalfLines, disparity_px: Tensor, *, is_estimate: bool) -> list[Tensor]:
    """How well each half-line agrees, by the mean of its differences and by the mean of their logarithms.

    The first is spoilt by a single view that sees an occluder. The second asks how many views agree: behind a grid
    some do on either side. Of the estimate also the cost of the inner and of the outer views, since near an edge the
    outer ones fail first, and the share of views that show the pixel.
    """
    costs, logs = [], []
    near: list[tuple[Tensor, Tensor]] = []
    far: list[tuple[Tensor, Tensor]] = []
    shares = []
    for index, (values, visible) in enumerate(half_lines.residuals(disparity_px)):
        differences = values.abs_().mean(dim=2)  # B, views, H, W; zero where invisible
        count = visible.sum(dim=1)
        costs.append((differences.sum(dim=1), count))
        logs.append(((_compress(differences) * visible).sum(dim=1), count))
        if is_estimate:
            half = (differences.shape[1] + 1) // 2
            is_outwards = half_lines.steps[half_lines.slices[index]][0] > 0
            first, last = slice(None, half), slice(differences.shape[1] - half, None)
            for part, chosen in ((near, first if is_outwards else last), (far, last if is_outwards else first)):
                part.append((differences[:, chosen].sum(dim=1), visible[:, chosen].sum(dim=1)))
            shares.append(count / differences.shape[1])
    measurements = [_compress(average_parts(costs)), average_parts(logs)]
    if is_estimate:
        measurements += [_compress(average_parts(near)), _compress(average_parts(far)), torch.stack(shares, dim=1)]
    return measurements


def _describe_context(centre: Tensor, hypotheses_px: Tensor) -> Tensor:
    estimate_px = hypotheses_px[:, :1]
    gradients = [spatial_gradient(centre, axis).abs().mean(dim=1, keepdim=True) for axis in ((0, 1), (1, 0))]
    texture = torch.cat(gradients, dim=1)
    return torch.cat(
        (
            centre - 0.5,
            0.5 * torch.log(texture + 0.003) + 2,
            0.5 * torch.log(box_mean(texture, 9) + 0.003) + 2,
            torch.tanh(hypotheses_px[:, 1:] - estimate_px),
            torch.tanh(10 * (estimate_px - box_mean(estimate_px, 5))),
        ),
        dim=1,
    )
