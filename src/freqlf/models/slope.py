"""A dense EPI slope field, and a model made of it: no learning, and no disparity is ever enumerated.

The slope of an EPI line is a ratio of derivatives. The views are warped to the centre by the current slope,
the slope that is left follows by robust least squares over a small window, and so on from coarse to fine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from freqlf.errors import FreqLFError
from freqlf.lightfield import LightField
from freqlf.models.base import DisparityModel, Reader
from freqlf.models.config import EPI_LINES
from freqlf.models.filters import box_mean, median3, resample
from freqlf.models.footprint import MAPS, Footprint, count_warp_numbers
from freqlf.models.halflines import HalfLines
from freqlf.models.kernels import can_fuse
from freqlf.models.mixture import Mixture
from freqlf.models.tiles import WHOLE, Tiling, split_into_tiles
from freqlf.models.views import read_half_lines


@dataclass(frozen=True)
class SlopeOptions:
    """How the slope field is found.

    Attributes:
        scales: divisors of the resolution, coarse to fine.
        steps: least-squares steps at each scale.
        window_px: side of the window that a slope is fitted to.
        robustness: residual (intensity in [0, 1]) at which a view's weight has halved.
        damping: squared gradient below which a window keeps the slope it has.
        largest_step_px: limit of one step in pixels of the full resolution, so that no window is thrown far off.
        support_scales: at these scales, windows without texture of their own take over the slope of their surroundings.
        support: squared gradient, times 1 / robustness, at which own and surrounding slope count the same.
        support_reach: distances in a level's pixels over which slopes spread, one after the other.
        support_contrast: difference of intensity that they do not cross.
        reference: what views are compared with: the central one, or the mean of all views as aligned so far. The mean
            has a fraction of the noise, which otherwise passes for texture and shortens steps; its edges are blurred.
    """

    scales: tuple[int, ...] = (8, 4, 2, 1)
    steps: tuple[int, ...] = (4, 3, 3, 3)
    window_px: int = 3
    robustness: float = 0.02
    damping: float = 1e-5
    largest_step_px: float = 1.0
    support_scales: tuple[int, ...] = (8, 4)
    support: float = 0.05
    support_reach: tuple[int, ...] = (1, 2, 4, 8)
    support_contrast: float = 0.04
    reference: Literal["centre", "mean"] = "centre"

    def __post_init__(self) -> None:
        if len(self.scales) != len(self.steps) or not self.scales:
            raise FreqLFError(f"one number of steps per scale is needed, got {self.scales} and {self.steps}")
        if self.scales[-1] != 1:
            raise FreqLFError(f"the last scale must be 1, the full resolution, not {self.scales[-1]}")
        if self.window_px % 2 == 0:
            raise FreqLFError(f"window_px must be odd, not {self.window_px}")


# Pixels around a tile that its equations depend on: those of the gradient.
_GRADIENT_REACH_PX = 1


class SlopeField(NamedTuple):
    """Disparities (B, 1, H, W) of the central view in pixels per view step.

    slope_px: with all detail; where there is no texture, it may be anything.
    support_px: what the surroundings say, without detail but nowhere far off.
    """

    slope_px: Tensor
    support_px: Tensor


@torch.no_grad()
def estimate_slope(
    half_lines: HalfLines, options: SlopeOptions, tile_px: int | None = None, *, start_px: float = 0.0
) -> SlopeField:
    """The slope field of the central view.

    With tile_px, tiles of that side are computed one after the other; the result is the same.
    start_px: the disparity to begin with, of light fields that are far from the focus plane.
    """
    B, _, H, W = half_lines.centre.shape
    slope_px = half_lines.centre.new_full((B, 1, 1, 1), start_px)
    support_px = slope_px
    # A level of a few pixels only would be all border.
    used = [scale for scale in options.scales if scale == 1 or min(H, W) >= 4 * scale]
    levels = _shrink_to(half_lines, used)
    for scale, steps in zip(options.scales, options.steps, strict=True):
        if scale not in used:
            continue
        level = levels.pop(scale)
        slope_px = resample(slope_px, *level.centre.shape[-2:])
        is_supported = scale in options.support_scales
        alike = _compare_neighbours(level.centre, options) if is_supported else []
        for _ in range(steps):
            # `slope_px` counts in full-resolution pixels; those of a level are `scale` times larger.
            slope = slope_px / scale
            compared = level.refocused(slope) if options.reference == "mean" else level
            numerator, denominator = _normal_equations(compared, slope, options, tile_px)
            own, weight = (box_mean(part, options.window_px) for part in (numerator, denominator))
            if is_supported:
                around = _spread_slope(numerator + denominator * slope, denominator, alike, options)
                own, weight = own + options.support * (around - slope), weight + options.support
            limit = options.largest_step_px / scale
            step = (own / (weight + options.damping / options.robustness)).clamp_(-limit, limit)
            slope_px = median3(slope_px + scale * step)
        if is_supported or scale == options.scales[0]:
            support_px = slope_px
    return SlopeField(slope_px, resample(support_px, H, W))


def _shrink_to(half_lines: HalfLines, scales: Sequence[int]) -> dict[int, HalfLines]:
    """The views at these scales; coarse ones from the next finer ones, which have fewer pixels, if that is the same."""
    levels: dict[int, HalfLines] = {}
    for scale in sorted(scales):
        finer = max((one for one in levels if scale % one == 0), default=1)
        sides = half_lines.views.shape[-2:]
        can_compose = not torch.jit.is_tracing() and all(side % scale == 0 for side in sides)
        levels[scale] = levels[finer].shrunk(scale // finer) if levels and can_compose else half_lines.shrunk(scale)
    return levels


def _normal_equations(
    level: HalfLines, slope: Tensor, options: SlopeOptions, tile_px: int | None
) -> tuple[Tensor, Tensor]:
    """Those of all half-lines together, (B, 1, H, W) each."""
    if can_fuse(slope, level.views):
        from freqlf.models.kernels.equations import make_equations

        return make_equations(level.packed(), slope, options.robustness, together=True)  # without memory to save
    height, width = slope.shape[-2:]
    equations = torch.empty_like(slope), torch.empty_like(slope)
    for tile in split_into_tiles(height, width, tile_px):
        outer = tile.grown(_GRADIENT_REACH_PX, height, width)
        window = level.window(outer.y, outer.x, outer.height, outer.width)
        parts = window.normal_equations(outer.of(slope), options.robustness)
        for equation, part in zip(equations, parts, strict=True):
            tile.of(equation).copy_(tile.inside(outer).of(part.sum(dim=1, keepdim=True)))
    return equations


def _compare_neighbours(guide: Tensor, options: SlopeOptions) -> list[list[Tensor]]:
    """For each reach, how similar the guide (B, 3, H, W) is at the eight neighbours so far away, (B, 1, H, W) each."""
    alike = []
    for reach in options.support_reach:
        neighbours = _list_neighbours(F.pad(guide, (reach,) * 4, mode="replicate"), reach)
        contrasts = ((one - guide).abs_().amax(dim=1, keepdim=True) for one in neighbours)
        alike.append([torch.exp(-(one / options.support_contrast).square()) for one in contrasts])
    return alike


def _spread_slope(moment: Tensor, weight: Tensor, alike: list[list[Tensor]], options: SlopeOptions) -> Tensor:
    """The slopes moment / weight of the surroundings, by their weight, not across edges; see `_compare_neighbours`.

    A filter with holes: every round averages nine pixels twice as far apart as those of the round before.
    """
    field = torch.cat((moment, weight), dim=1)
    for reach, likenesses in zip(options.support_reach, alike, strict=True):
        total, counted = field.clone(), torch.ones_like(weight)
        neighbours = _list_neighbours(F.pad(field, (reach,) * 4, mode="replicate"), reach)
        for likeness, neighbour in zip(likenesses, neighbours, strict=True):
            total.addcmul_(likeness, neighbour)
            counted += likeness
        field = total / counted
    return field[:, :1] / (field[:, 1:] + 1e-6)


def _list_neighbours(padded: Tensor, reach: int) -> list[Tensor]:
    """Windows of an image that is padded by `reach`, shifted by as much to all eight sides."""
    H, W = padded.shape[-2] - 2 * reach, padded.shape[-1] - 2 * reach
    places = [(y, x) for y in (0, reach, 2 * reach) for x in (0, reach, 2 * reach) if (y, x) != (reach, reach)]
    return [padded[..., y : y + H, x : x + W] for y, x in places]


class SlopeModel(DisparityModel[HalfLines]):
    """Nothing is learned, and nothing is known about how sure the slopes are."""

    is_probabilistic = False

    def __init__(self, options: SlopeOptions = SlopeOptions(), lines: tuple[str, ...] = EPI_LINES) -> None:  # noqa: B008
        """lines: one of the two is enough, as of a single row of views."""
        super().__init__()
        self.options = options
        self.lines = lines

    def forward_passes(
        self, stacks: Mapping[str, Tensor], queries: Tensor | None = None, beliefs: Tensor | None = None
    ) -> list[Mixture]:
        """The slope as the mean of a single component of no meaningful deviation."""
        assert queries is None, "the slope field is known at pixels only"
        return [_certain(estimate_slope(HalfLines.from_stacks(stacks, self.lines), self.options).slope_px)]

    def read_views(self, light_field: LightField, device: torch.device, *, forget: bool = False) -> HalfLines:
        """Both lines, packed by half-lines."""
        return read_half_lines(light_field, self.lines, device, forget=forget)

    @torch.inference_mode()
    def stream(self, views: HalfLines, read: Reader, tiling: Tiling = WHOLE) -> Tensor:
        """The slope field, found in tiles and read as a whole."""
        tiling.report("slope", 0, 1)
        maps = read(_certain(estimate_slope(views, self.options, tiling.side_px).slope_px))
        tiling.report("slope", 1, 1)
        return maps

    def footprint(self, views: int) -> Footprint:
        """The views at half and coarser resolutions are all that is added."""
        view_bytes = 4 * 3 * views
        return Footprint(
            view_bytes,
            image_bytes=view_bytes // 3 + 4 * MAPS,
            tile_bytes=4 * count_warp_numbers(views, len(self.lines)),
            margin_px=5,
        )


def _certain(slope_px: Tensor) -> Mixture:
    return Mixture(torch.zeros_like(slope_px), slope_px, torch.ones_like(slope_px))
