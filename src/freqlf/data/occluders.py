"""Bars, grids and blobs held before a scene: as many occlusion edges, and holes to look through, as one likes.

Sixteen scenes have few of them, and what lies behind a grid or between leaves is where estimates err most. The same
shapes are painted on some of them, and on walls without holes, or a wallpaper's dark ground would be taken for holes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor

from freqlf.data.samples import Sample, Step

_NEAREST_PX, _FARTHEST_PX = 0.2, 2.0  # how far it is in front of all that it hides
_STEEPEST = 0.002  # its change of disparity per px
_WIDTHS_PX, _HOLES_PX = (1.5, 12.0), (3.0, 30.0)
_SHADES = 0.3  # at most, of its own texture, relative to its colour
_WALLS, _PAINTED = 0.2, 0.4  # shares of occluders that are whole walls, and of the others that are painted
_CANVAS = 16  # texture and blobs are made of so many random numbers along an image, or twice, or four times as many

# How deep places (y, x) of the central view lie inside of the occluder, in px; outside it is negative.
Depth = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Plane:
    """disparity = offset + slope . (y, x) at the central view, in px per view step."""

    offset_px: float
    slope: tuple[float, float]

    def seen_from(self, step: Step, y: Tensor, x: Tensor) -> Tensor:
        """The disparity of what a view shows at (y, x) of it."""
        along = self.slope[0] * step[0] + self.slope[1] * step[1]
        return (self.offset_px + self.slope[0] * y + self.slope[1] * x) / (1 - along)


def occlude(sample: Sample, rng: Random) -> Sample:
    """The sample, of float views, behind a random occluder. Nothing of the scene may be in front of that."""
    H, W = sample.height, sample.width
    y, x = torch.meshgrid(torch.arange(float(H)), torch.arange(float(W)), indexing="ij")
    plane = _draw_plane(sample, rng)
    generator = torch.Generator().manual_seed(rng.getrandbits(62))
    is_wall = rng.random() < _WALLS
    depth = _fill if is_wall else _draw_shape(rng, generator, max(H, W))
    paint = _draw_shape(rng, generator, max(H, W)) if is_wall or rng.random() < _PAINTED else None
    ground, colour = (_draw_colour(sample, rng) for _ in range(2))
    count = _CANVAS * 2 ** rng.randint(0, 2)
    shades = rng.uniform(0, _SHADES) * torch.randn(1, 1, count, count, generator=generator)
    views = []
    for view, (u, v) in zip(sample.views, sample.steps, strict=True):
        disparity_px = plane.seen_from((u, v), y, x)
        there = y + u * disparity_px, x + v * disparity_px  # of the central view
        cover = (depth(*there) + 0.5).clamp(0, 1)  # pixels at the edge show both
        own = ground if paint is None else torch.lerp(ground, colour, (paint(*there) + 0.5).clamp(0, 1))
        own = (own * (1 + _look_up(shades, *there, max(H, W))[0])).clamp(0, 1)
        views.append(torch.lerp(view, own, cover))
    is_hidden = depth(y, x) > 0
    return replace(
        sample,
        views=torch.stack(views),
        disparity_px=torch.where(is_hidden, plane.seen_from((0, 0), y, x), sample.disparity_px),
        valid=sample.valid | is_hidden,
    )


def _draw_plane(sample: Sample, rng: Random) -> Plane:
    known = sample.disparity_px[sample.valid]
    nearest_px = float(known.max()) if known.numel() else 0.0
    slope = rng.uniform(-_STEEPEST, _STEEPEST), rng.uniform(-_STEEPEST, _STEEPEST)
    lowest_px = min(0.0, slope[0] * sample.height) + min(0.0, slope[1] * sample.width)
    return Plane(nearest_px - lowest_px + rng.uniform(_NEAREST_PX, _FARTHEST_PX), slope)


def _draw_colour(sample: Sample, rng: Random) -> Tensor:
    """One that the scene has, darker or a bit brighter: (3, 1, 1)."""
    pixel = sample.views[0, :, rng.randrange(sample.height), rng.randrange(sample.width)]
    return (pixel * rng.uniform(0.3, 1.2)).view(3, 1, 1)


def _fill(y: Tensor, x: Tensor) -> Tensor:
    """The depth of what is everywhere."""
    return torch.ones_like(y)


def _draw_shape(rng: Random, generator: torch.Generator, size_px: int) -> Depth:
    return _draw_blobs(rng, generator, size_px) if rng.random() < 0.4 else _draw_bars(rng)


def _draw_bars(rng: Random) -> Depth:
    """Parallel bars or, more often, a grid of them."""
    angle, has_both = rng.uniform(0, math.pi), rng.random() < 0.7
    bars = []
    for direction in (angle, angle + math.pi / 2)[: 2 if has_both else 1]:
        width_px = math.exp(rng.uniform(*map(math.log, _WIDTHS_PX)))
        period_px = width_px + math.exp(rng.uniform(*map(math.log, _HOLES_PX)))
        bars.append((math.sin(direction), math.cos(direction), width_px, period_px, rng.uniform(0, period_px)))

    def depth(y: Tensor, x: Tensor) -> Tensor:
        parts = []
        for along_y, along_x, width_px, period_px, phase_px in bars:
            place_px = (along_y * y + along_x * x + phase_px).remainder(period_px)
            parts.append(0.5 * width_px - (place_px - 0.5 * period_px).abs())
        return torch.stack(parts).amax(dim=0)

    return depth


def _draw_blobs(rng: Random, generator: torch.Generator, size_px: int) -> Depth:
    """Where smooth random numbers are high: leaves and twigs, more or less."""
    count = _CANVAS * 2 ** rng.randint(0, 1)
    heights = torch.randn(1, 1, count, count, generator=generator)
    level = rng.uniform(0.0, 0.6)
    scale_px = size_px / count  # numbers change by about 1 over this length

    def depth(y: Tensor, x: Tensor) -> Tensor:
        return scale_px * (_look_up(heights, y, x, size_px)[0, 0] - level)

    return depth


def _look_up(canvas: Tensor, y: Tensor, x: Tensor, size_px: int) -> Tensor:
    """The canvas (1, C, n, n), laid over twice the image around its centre, at places (H, W): (1, C, H, W)."""
    grid = torch.stack((x, y), dim=-1) / size_px - 0.5
    return F.grid_sample(canvas, grid.unsqueeze(0), mode="bicubic", padding_mode="reflection", align_corners=False)
