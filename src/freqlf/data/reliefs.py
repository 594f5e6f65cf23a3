"""Textured reliefs, generated on the fly: the easiest light fields there are, as many as one likes.

A relief is a smooth surface that hides no part of itself, seen by all views; a plane is one without waves. Networks
on raw stacks of views have to find out what disparity is before anything else can be learned; from reliefs of small
disparity, which then grows, they do.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import torch
from torch import Tensor

from freqlf.data.samples import Sample, Step, mirrored_lines
from freqlf.data.synthetic.textures import paint, paint_fractal
from freqlf.lightfield import LINES

_STEEPEST = 0.4  # change of a surface point's place in a view per pixel; from 1 on a relief would hide parts of itself
_MOST_WAVES = 4
_NEWTON_STEPS = 4
_ODD_SHARE = 0.3  # of textures of any kind, nearly none included, where they have their full variety
_MEAN, _DEVIATION = 0.4, 0.16  # of the central views of the HCI benchmark on average


@dataclass(frozen=True)
class Relief:
    """disparity(y, x) = offset + sum of amplitude * sin(wave . (y, x) + phase), in px at the central view.

    waves: (N, 2), radians per px along y and x.
    amplitudes, phases: (N,).
    """

    offset_px: float
    waves: Tensor
    amplitudes: Tensor
    phases: Tensor

    def at(self, y: Tensor, x: Tensor) -> Tensor:
        """Disparity at places of the central view."""
        terms = (a * torch.sin(angle) for a, angle in self._terms(y, x))
        return sum(terms, torch.tensor(self.offset_px))

    def slope(self, y: Tensor, x: Tensor, step: Step) -> Tensor:
        """Change of disparity per px along `step` (rows, columns)."""
        along = self.waves @ torch.tensor(step, dtype=self.waves.dtype)
        terms = zip(along, self._terms(y, x), strict=True)
        return sum((a * w * torch.cos(angle) for w, (a, angle) in terms), torch.zeros(()))

    def _terms(self, y: Tensor, x: Tensor) -> list[tuple[Tensor, Tensor]]:
        waves = zip(self.amplitudes, self.waves, self.phases, strict=True)
        return [(amplitude, wave[0] * y + wave[1] * x + phase) for amplitude, wave, phase in waves]


def draw_relief(rng: Random, size_px: int, range_px: float, reach: int) -> Relief:
    """A random one within +-range_px, for views up to `reach` steps away.

    Waves are from a third to four times as long as the image: the longest are planes.
    """
    waves, amplitudes = [], []
    for _ in range(rng.randint(1, _MOST_WAVES)):
        length_px = size_px * math.exp(rng.uniform(math.log(1 / 3), math.log(4)))
        angle = rng.uniform(0, 2 * math.pi)
        waves.append([2 * math.pi / length_px * math.cos(angle), 2 * math.pi / length_px * math.sin(angle)])
        amplitudes.append(rng.uniform(0.1, 1))
    # As high as the range and the steepness allow, or less.
    steepness = sum(a * math.hypot(*wave) for a, wave in zip(amplitudes, waves, strict=True))
    height_px = min(range_px * rng.uniform(0.2, 1), _STEEPEST / reach / steepness * sum(amplitudes))
    scale = height_px / sum(amplitudes)
    return Relief(
        offset_px=rng.uniform(-1, 1) * (range_px - height_px),
        waves=torch.tensor(waves),
        amplitudes=torch.tensor(amplitudes) * scale,
        phases=torch.tensor([rng.uniform(0, 2 * math.pi) for _ in waves]),
    )


def render_relief(
    rng: Random, steps: Sequence[Step], height: int, width: int, range_px: float, *, variety: float = 1.0
) -> Sample:
    """A sample of 8-bit pixels, exact in every view but for their rounding.

    variety: of textures: at 0 all have detail of all sizes and the same contrast, at 1 they may be anything.
    """
    reach = max(max(abs(u), abs(v)) for u, v in steps)
    relief = draw_relief(rng, max(height, width), range_px, reach)
    y, x = torch.meshgrid(torch.arange(float(height)), torch.arange(float(width)), indexing="ij")
    places = torch.stack([_find_origin(relief, y, x, step) for step in steps], dim=1)  # 2, V, H, W
    # All views as one tall picture of the texture, which lies on the central view.
    texture = np.random.default_rng(rng.getrandbits(62))
    painter = paint if rng.random() < _ODD_SHARE * variety else paint_fractal
    colours = painter(texture, places.flatten(1, 2), torch.ones(len(steps) * height, width), float(max(height, width)))
    mean, deviation = colours.mean(), colours.std().clamp_min(0.01)
    even = _MEAN + (colours - mean) * (_DEVIATION / deviation)
    views = torch.lerp(even, colours, variety).clamp(0, 1).mul(255).round().to(torch.uint8)
    views = views.view(3, len(steps), height, width).transpose(0, 1).contiguous()
    disparity_px = relief.at(y, x)
    everywhere = torch.ones_like(disparity_px, dtype=torch.bool)
    return Sample("relief", views, tuple(steps), disparity_px, everywhere)


def _find_origin(relief: Relief, y: Tensor, x: Tensor, step: Step) -> Tensor:
    """(2, H, W): where in the central view the points are that a view shows at (y, x).

    The point at p of the centre is seen at p - step * disparity(p); solved for the disparity by Newton's method.
    """
    u, v = step
    disparity_px = relief.at(y, x)
    for _ in range(_NEWTON_STEPS if step != (0, 0) else 0):
        there = y + u * disparity_px, x + v * disparity_px
        error_px = disparity_px - relief.at(*there)
        disparity_px = disparity_px - error_px / (1 - relief.slope(*there, step))
    return torch.stack([y + u * disparity_px, x + v * disparity_px])


def list_steps(lines: Iterable[str], views: int = 9) -> tuple[Step, ...]:
    """The places, from the centre, of the views of lines and of their mirror images in a grid of views x views."""
    reach = views // 2
    directions = [LINES[line] for line in mirrored_lines(lines)]
    return tuple(sorted({(k * du, k * dv) for du, dv in directions for k in range(-reach, reach + 1)}))
