"""Learned features of the views themselves, aligned by the disparities that a pass begins with.

Costs say how much a half-line disagrees, and add up what its views show. What is left of each view, with its sign,
says more: it grows with the step of view where the estimate is off by a little, and jumps where an occluder comes in.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from freqlf.models.convolution import convolve
from freqlf.models.halflines import HalfLines
from freqlf.models.kernels import can_fuse
from freqlf.models.pointwise import multiply_pixels
from freqlf.models.scale import scale_weights

INNER_VIEWS = 4  # of each half-line that are read; of 9 x 9 views these are all
# Differences of half the largest size, of views (white is 1) and of views by their contrast.
_UNITS = (0.03, 0.5)
_CHANNELS = 4  # of a view: three colours, and their mean by contrast
_RELU_POWER = 0.5  # E[relu(x)^2] of x ~ N(0, 1)
# Directions (rows, columns) of half-lines in the order in which a quarter turn (np.rot90) leads from each to the next.
_TURNS = (((0, 1), (-1, 0), (0, -1), (1, 0)), ((1, 1), (-1, 1), (-1, -1), (1, -1)))


@torch.no_grad()
def align_residuals(half_lines: HalfLines, normalised: HalfLines, disparities_px: Tensor) -> Tensor:
    """What is left of the inner views after alignment by (B, N, H, W): (J, B, N, INNER_VIEWS * 4, H, W).

    From the innermost view outwards, and limited to +-1. A view that does not show the pixel, or does not exist,
    takes what the one before it shows, as much larger as a small error of the disparity would make it there.
    """
    if can_fuse(disparities_px, half_lines.views, normalised.views):
        from freqlf.models.kernels.residuals import compute_residuals

        return compute_residuals(half_lines.packed(), normalised.packed(), disparities_px, INNER_VIEWS, _UNITS)
    aligned = [_align(half_lines, normalised, one) for one in disparities_px.split(1, dim=1)]
    return torch.stack(aligned, dim=2)


def _align(half_lines: HalfLines, normalised: HalfLines, disparity_px: Tensor) -> Tensor:
    both = zip(half_lines.residuals(disparity_px), normalised.residuals(disparity_px), strict=True)
    units = disparity_px.new_tensor((*3 * _UNITS[:1], _UNITS[1])).view(1, 1, -1, 1, 1)
    parts = []
    for index, ((values, visible), (others, _)) in enumerate(both):
        found = torch.cat((values, others.mean(dim=2, keepdim=True)), dim=2)  # B, views, 4, H, W
        if half_lines.steps[half_lines.slices[index]][0] < 0:
            found, visible = found.flip(1), visible.flip(1)
        slots = [torch.zeros_like(found[:, 0])]
        for slot in range(INNER_VIEWS):
            grown = slots[-1] * ((slot + 1) / max(slot, 1))
            is_seen = slot < found.shape[1]
            slots.append(torch.where(visible[:, slot, None] > 0, found[:, slot], grown) if is_seen else grown)
        kept = torch.stack(slots[1:], dim=1)
        parts.append((kept / (kept.abs() + units)).flatten(1, 2))
    return torch.stack(parts)


class ViewStream(nn.Module):
    """Residuals of the views to features (B, channels, H, W): two 3x3 layers of each half-line, then one of all.

    All half-lines along an axis share their weights, and so do the diagonal ones: kernels are turned to where a
    half-line points. So do the disparities that views are aligned by.

    lines: directions (rows, columns) of the lines of views, each with two half-lines.
    hypotheses: by how many disparities the views are aligned.
    """

    reach_px = 2

    def __init__(self, lines: Sequence[tuple[int, int]], hypotheses: int, width: int, channels: int) -> None:
        super().__init__()
        self.width = width
        self.turns = [_find_turn(side * du, side * dv) for du, dv in lines for side in (-1, 1)]
        kinds = sorted({kind for kind, _ in self.turns})
        self.first = nn.ModuleDict({str(kind): nn.Conv2d(INNER_VIEWS * _CHANNELS, width, 3) for kind in kinds})
        self.second = nn.ModuleDict({str(kind): nn.Conv2d(width, width, 3) for kind in kinds})
        self.mix = nn.Conv2d(2 * len(lines) * hypotheses * width, channels, 1)
        for layer in self.first.values():
            scale_weights(layer, gain=3.0, after_gelu=False)  # most residuals are small
        for layer in (*self.second.values(), self.mix):
            scale_weights(layer, gain=(0.425 / _RELU_POWER) ** 0.5)

    def forward(self, half_lines: HalfLines, normalised: HalfLines, disparities_px: Tensor) -> Tensor:
        """Features of the views aligned by each of (B, N, H, W)."""
        residuals = align_residuals(half_lines, normalised, disparities_px)
        # By hypothesis, and of each by half-line: the order of the inputs of `mix`. Nothing is put side by side.
        parts = [self.read(j, one) for of_hypothesis in residuals.unbind(2) for j, one in enumerate(of_hypothesis)]
        weights = self.mix.weight.flatten(1).split(self.width, dim=1)
        assert self.mix.bias is not None
        pixels = (multiply_pixels(weights, parts) + self.mix.bias).relu_()
        return pixels.transpose(1, 2).unflatten(2, disparities_px.shape[2:]).float()

    def read(self, half_line: int, residuals: Tensor) -> Tensor:
        """Features (B, width, H, W) of the residuals (B, channels, H, W) of a half-line, by its number."""
        kind, quarters = self.turns[half_line]
        z = residuals
        for layers in (self.first, self.second):
            layer = layers[str(kind)]
            assert isinstance(layer, nn.Conv2d)
            z = convolve(z, torch.rot90(layer.weight, quarters, (2, 3)), layer.bias).relu_()
        return z

    def count_numbers(self) -> int:
        """Of a pixel while it is computed: residuals, features of the half-lines, and what is made of them."""
        features = self.mix.in_channels
        residuals = features // self.width * INNER_VIEWS * _CHANNELS
        return residuals + features + 2 * self.mix.out_channels


def _find_turn(du: int, dv: int) -> tuple[int, int]:
    """Along an axis (0) or diagonal (1), and by how many quarters its kernels are turned."""
    kind = int(du != 0 and dv != 0)
    return kind, _TURNS[kind].index((du, dv))
