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

from freqlf.nn.filters import box_mean, local_maximum, local_minimum
from freqlf.nn.halflines import HalfLines, spatial_gradient


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

    context: (B, count_context_channels(N), H, W), appearance and relative hypotheses.
    half_lines: (B, J, count_half_line_channels(N, ...), H, W), the same measurements for each of J half-lines.
    """

    context: Tensor
    half_lines: Tensor


def count_context_channels(hypotheses: int) -> int:
    """Colour, two gradients at two scales, the other hypotheses and the estimate's bumpiness."""
    return 3 + 2 + 2 + (hypotheses - 1) + 1


def count_half_line_channels(hypotheses: int, relative_px: Sequence[float]) -> int:
    """Costs of hypotheses and relative disparities, costs of near and far views, offset and its certainty."""
    return hypotheses + len(relative_px) + 2 + 2


@torch.no_grad()
def gather_evidence(half_lines: HalfLines, hypotheses_px: Tensor, relative_px: Sequence[float] = ()) -> Evidence:
    """Evidence for the hypotheses (B, N, H, W), of which the first is the estimate.

    relative_px adds the cost curve around the estimate at these distances from it. It stays empty in models
    that must not enumerate disparities.
    """
    estimate_px, others_px = hypotheses_px[:, :1], hypotheses_px[:, 1:]
    residuals = half_lines.residuals(estimate_px)
    costs = [half_lines.costs(residuals)]
    for other_px in (*others_px.split(1, dim=1), *(estimate_px + offset for offset in relative_px)):
        costs.append(half_lines.costs(half_lines.residuals(other_px)))
    costs += _costs_near_and_far(half_lines, residuals)

    # The offset that each half-line would like best, and how sure it is.
    numerators, denominators = (box_mean(part, 3) for part in half_lines.normal_equations(residuals))
    offsets = torch.tanh(4 * numerators / (denominators + 0.02))
    certainty = 0.25 * torch.log(denominators + 0.01)
    measurements = [*(_compress(cost) for cost in costs), offsets, certainty]
    return Evidence(_describe_context(half_lines.centre, hypotheses_px), torch.stack(measurements, dim=2))


def _compress(cost: Tensor) -> Tensor:
    """To about [-1, 1.5] on a logarithmic scale: in dark or flat places small differences decide as well."""
    return 0.5 * torch.log(cost + 0.003) + 1.9


def _costs_near_and_far(half_lines: HalfLines, residuals: Tensor) -> list[Tensor]:
    """Costs of the inner and of the outer views of each half-line: near an edge, the outer ones fail first."""
    near, far = [], []
    magnitude = residuals.abs()
    for part in half_lines.slices:
        views = magnitude[:, part]
        if half_lines.steps[part][0] < 0:
            views = views.flip(1)  # from the centre outwards
        half = (views.shape[1] + 1) // 2
        near.append(views[:, :half].mean(dim=(1, 2)))
        far.append(views[:, -half:].mean(dim=(1, 2)))
    return [torch.stack(near, dim=1), torch.stack(far, dim=1)]


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
