"""A dense EPI slope field: no learning, and no disparity is ever enumerated.

The slope of an EPI line is a ratio of derivatives. The views are warped to the centre by the current slope,
the slope that is left follows by robust least squares over a small window, and so on from coarse to fine.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from freqlf.errors import FreqLFError
from freqlf.nn.filters import box_mean, median3
from freqlf.nn.halflines import HalfLines
from freqlf.nn.tiles import split_into_tiles


@dataclass(frozen=True)
class SlopeOptions:
    """How the slope field is found.

    Attributes:
        scales: divisors of the resolution, coarse to fine.
        steps: least-squares steps at each scale.
        window_px: side of the window that a slope is fitted to.
        robustness: residual (intensity in [0, 1]) at which a view's weight has halved.
        damping: squared gradient below which a window keeps the slope it has.
        largest_step_px: limit of one step in a level's pixels, so that no window is thrown far off.
    """

    scales: tuple[int, ...] = (8, 4, 2, 1)
    steps: tuple[int, ...] = (4, 3, 3, 3)
    window_px: int = 3
    robustness: float = 0.02
    damping: float = 1e-5
    largest_step_px: float = 1.0

    def __post_init__(self) -> None:
        if len(self.scales) != len(self.steps) or not self.scales:
            raise FreqLFError(f"one number of steps per scale is needed, got {self.scales} and {self.steps}")
        if self.scales[-1] != 1:
            raise FreqLFError(f"the last scale must be 1, the full resolution, not {self.scales[-1]}")
        if self.window_px % 2 == 0:
            raise FreqLFError(f"window_px must be odd, not {self.window_px}")


# Pixels around a tile that a least-squares step in it depends on, beside the window: those of the gradient.
_GRADIENT_REACH_PX = 1


@torch.no_grad()
def estimate_slope(half_lines: HalfLines, options: SlopeOptions, tile_px: int | None = None) -> Tensor:
    """Disparity (B, 1, H, W) of the central view in pixels per view step.

    With tile_px, at most so many pixels square are in work at a time; the result is the same.
    """
    B, _, H, W = half_lines.centre.shape
    slope_px = half_lines.centre.new_zeros(B, 1, 1, 1)
    for scale, steps in zip(options.scales, options.steps, strict=True):
        # A level of a few pixels only would be all border.
        if scale > 1 and min(H, W) < 4 * scale:
            continue
        level = half_lines.shrunk(scale)
        slope_px = F.interpolate(slope_px, size=level.centre.shape[-2:], mode="bilinear", align_corners=False)
        for _ in range(steps):
            # `slope_px` counts in full-resolution pixels; those of a level are `scale` times larger.
            slope_px = median3(slope_px + scale * _least_squares_step(level, slope_px / scale, options, tile_px))
    return slope_px


def _least_squares_step(level: HalfLines, slope: Tensor, options: SlopeOptions, tile_px: int | None) -> Tensor:
    height, width = slope.shape[-2:]
    step = torch.empty_like(slope)
    for tile in split_into_tiles(height, width, tile_px):
        outer = tile.grown(options.window_px // 2 + _GRADIENT_REACH_PX, height, width)
        window = level.window(outer.y, outer.x, outer.height, outer.width)
        equations = window.normal_equations(window.residuals(outer.of(slope)), options.robustness)
        numerator, denominator = (box_mean(part.sum(dim=1, keepdim=True), options.window_px) for part in equations)
        quotient = numerator / (denominator + options.damping / options.robustness)
        tile.of(step).copy_(tile.inside(outer).of(quotient))
    return step.clamp_(-options.largest_step_px, options.largest_step_px)
