"""The learning-free slope field as a model among the others."""

from collections.abc import Mapping

import torch
from torch import Tensor

from freqlf.lightfield import LightField
from freqlf.models.base import DisparityModel, Reader
from freqlf.models.config import EPI_LINES
from freqlf.models.footprint import MAPS, Footprint, count_warp_numbers
from freqlf.models.halflines import HalfLines
from freqlf.models.mixture import Mixture
from freqlf.models.slope import SlopeOptions, estimate_slope
from freqlf.models.tiles import WHOLE, Tiling
from freqlf.models.views import read_half_lines


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
