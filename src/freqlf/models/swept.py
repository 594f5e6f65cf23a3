"""FreqLF+ on a plane sweep: the sweep decides between surfaces, one pass at full resolution makes them sharp.

The slope field only says which disparities are worth trying. The sweep's volume sees all of them at every pixel, with
a wide neighbourhood; its surfaces, what it thinks of them and its features are what the refinement pass starts from.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from freqlf.lightfield import LightField
from freqlf.models.aligned import Briefing, RefinementPass, choose_slope_lines, split_surfaces
from freqlf.models.base import DisparityModel, Reader
from freqlf.models.evidence import EVIDENCE_REACH_PX, count_hypotheses
from freqlf.models.footprint import MAPS, Footprint, count_warp_numbers
from freqlf.models.halflines import HalfLines
from freqlf.models.mixture import Mixture
from freqlf.models.slope import SlopeOptions, estimate_slope
from freqlf.models.sweep import normalise_contrast
from freqlf.models.tiles import WHOLE, Tile, Tiling
from freqlf.models.views import read_half_lines
from freqlf.models.volume import COARSEST_CELL_PX, Finding, SweepPass

# What the sweep of one tile may take. Its tiles have a wide margin, so they should not be small.
_SWEEP_BYTES = 600_000_000


class SweptFreqLF(DisparityModel[HalfLines]):
    """Slope field, plane sweep, refinement pass."""

    is_traceable = False  # how many planes there are depends on the scene

    def __init__(self, lines: tuple[str, ...], sweep: SweepPass, refine: RefinementPass, slope: SlopeOptions) -> None:
        super().__init__()
        self.lines = lines
        self.sweep = sweep
        self.passes = nn.ModuleList([refine])
        self.slope = slope
        self.slope_lines = choose_slope_lines(lines)

    @property
    def refine(self) -> RefinementPass:
        """The pass after the sweep."""
        refine = self.passes[0]
        assert isinstance(refine, RefinementPass)
        return refine

    def forward_passes(self, stacks: Mapping[str, Tensor], queries: Tensor | None = None) -> list[Mixture]:
        """The mixture of the sweep, one component per plane, and that of the refinement pass."""
        half_lines = HalfLines.from_stacks(stacks, self.lines)
        slope_px = estimate_slope(half_lines.of_lines(self.slope_lines), self.slope).slope_px
        finding = self.sweep(half_lines, slope_px)
        return [finding.mixture, self.refine(half_lines, self._brief(finding), queries)]

    def read_views(self, light_field: LightField, device: torch.device, *, forget: bool = False) -> HalfLines:
        """All lines, packed by half-lines."""
        return read_half_lines(light_field, self.lines, device, forget=forget)

    @torch.inference_mode()
    def stream(self, views: HalfLines, read: Reader, tiling: Tiling = WHOLE) -> Tensor:
        """What `read` takes from the last mixture; of the sweep, a briefing is all that is kept."""
        tiling.report("slope", 0, 1)
        slope_px = estimate_slope(views.of_lines(self.slope_lines), self.slope, tiling.side_px).slope_px
        tiling.report("slope", 1, 1)
        return self.refine.stream(views, self._sweep_tiles(views, slope_px, tiling), read, tiling)

    def _sweep_tiles(self, views: HalfLines, slope_px: Tensor, tiling: Tiling) -> Briefing:
        H, W = slope_px.shape[-2:]
        planes = self.sweep.place_planes(slope_px, views.centre)
        normalised = normalise_contrast(views)
        # Hypotheses come from neighbours, too.
        margin_px = self.sweep.reach_px + max(self.refine.windows_px) // 2

        def sweep(tile: Tile) -> Tensor:
            outer = tile.grown(margin_px, H, W).starting_at_multiples(COARSEST_CELL_PX)
            place = (outer.y, outer.x, outer.height, outer.width)
            briefing = self._brief(self.sweep.decide(views.window(*place), normalised.window(*place), planes))
            return tile.inside(outer).of(torch.cat([part for part in briefing if part is not None], dim=1))

        side_px = self._choose_side_px(H, W, planes.count, margin_px, tiling)
        told = Tiling(side_px, tiling.progress).fill(H, W, "planes", sweep)
        N = count_hypotheses(self.refine.windows_px)
        return Briefing(*told.split([N, self.sweep.knowledge_channels, N], dim=1))

    def _choose_side_px(self, height: int, width: int, planes: int, margin_px: int, tiling: Tiling) -> int | None:
        """Tiles of the sweep: as large as its memory allows, the whole image if it is small enough."""
        if tiling.side_px is None:
            return None
        pixels = _SWEEP_BYTES // (self.sweep.bytes_per_plane * planes)
        if height * width <= pixels:
            return None
        return max(int(pixels**0.5) - 2 * margin_px, COARSEST_CELL_PX)

    def _brief(self, finding: Finding) -> Briefing:
        hypotheses_px = self.refine.brief(*split_surfaces(finding.mixture)).hypotheses_px
        return Briefing(hypotheses_px, finding.knowledge, rate_hypotheses(finding.mixture, hypotheses_px))

    def footprint(self, views: int) -> Footprint:
        """Views and their normalised grey copies, a latent field, the briefing; the sweep limits itself."""
        encoder = self.refine.encoder
        view_bytes = 4 * 3 * views
        briefing = 2 * count_hypotheses(self.refine.windows_px) + self.sweep.knowledge_channels
        return Footprint(
            view_bytes,
            image_bytes=4 * (views + encoder.look.out_channels + 2 * briefing + MAPS),
            tile_bytes=4 * (count_warp_numbers(views, len(self.lines)) + 3 * encoder.evidence_channels),
            margin_px=EVIDENCE_REACH_PX + encoder.reach_px,
            fixed_bytes=_SWEEP_BYTES,
        )


@torch.no_grad()
def rate_hypotheses(mixture: Mixture, hypotheses_px: Tensor) -> Tensor:
    """Log densities of a mixture at hypotheses (B, N, H, W), within limits: improbable is not impossible."""
    return torch.stack([mixture.log_prob(one) for one in hypotheses_px.unbind(dim=1)], dim=1).clamp_(-4, 4)
