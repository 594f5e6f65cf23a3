"""Models that see the views aligned: slope field, then passes of evidence, hybrid layers and mixture decoding.

Plain networks on raw stacks learn matching slowly. Here a slope field does the geometry first: the network
only learns what is left, and which of the surfaces around a pixel it belongs to. The base model enumerates no
disparity; FreqLF+ adds the diagonal views and the cost curve around the estimate. Both take any odd number of
views per axis, and shearing the light field shears the estimate along.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from freqlf.lightfield import LightField
from freqlf.models.backbone import Backbone, Hourglass
from freqlf.models.base import DisparityModel, Reader
from freqlf.models.config import EPI_LINES
from freqlf.models.decoder import Decoder
from freqlf.models.encoder import HalfLineEncoder, Proposal
from freqlf.models.evidence import EVIDENCE_REACH_PX, surround
from freqlf.models.footprint import MAPS, Footprint, count_warp_numbers, find_widest
from freqlf.models.halflines import HalfLines
from freqlf.models.mixture import Mixture, Reading
from freqlf.models.opinion import SecondOpinion, find_other_slopes, normalise_contrast
from freqlf.models.scale import gelu_of
from freqlf.models.slope import SlopeOptions, estimate_slope
from freqlf.models.streaming import read_field
from freqlf.models.surroundings import describe_surroundings
from freqlf.models.sweep import SweepOptions, sweep_surfaces
from freqlf.models.tiles import WHOLE, Tiling
from freqlf.models.views import read_half_lines
from freqlf.models.visibility import draw_nearest

# Components within this distance of the heaviest one are the same surface.
SURFACE_RADIUS_PX = 0.3
# Evidence is held measurement by measurement, then as one tensor, then as a convolution likes it.
_EVIDENCE_COPIES = 3


class Surfaces(NamedTuple):
    """What a pass leaves to the next one, (B, 1, H, W) each.

    The surface it believes in most, the mean of the others and, if the next one asks, how uncertain it is.
    """

    estimate_px: Tensor
    alternative_px: Tensor
    deviation_px: Tensor | None = None


class RefinementPass(nn.Module):
    """Evidence about hypotheses in, a mixture anchored at them out.

    windows_px, relative_px: see `PassConfig`.
    has_opinion: whether the surfaces of the second opinion are hypotheses too.
    wide_opinions: so many of its wide ones.
    spacings_px, occlusion: see `PassConfig`.
    """

    def __init__(
        self,
        encoder: HalfLineEncoder,
        layers: Backbone,
        decoder: Decoder,
        *,
        windows_px: Sequence[int],
        relative_px: Sequence[float],
        has_opinion: bool = False,
        wide_opinions: int = 0,
        spacings_px: Sequence[int] = (),
        occlusion: bool = False,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.layers = layers
        self.decoder = decoder
        self.windows_px, self.relative_px = tuple(windows_px), tuple(relative_px)
        self.has_opinion, self.wide_opinions = has_opinion, wide_opinions
        self.spacings_px, self.occlusion = tuple(spacings_px), occlusion

    def propose(self, believed: Surfaces, opinion: SecondOpinion | None, half_lines: HalfLines) -> Proposal:
        """Hypotheses: the estimate, surfaces around it, the alternative, those of the second opinion."""
        hypotheses_px = surround(believed.estimate_px, believed.alternative_px, self.windows_px)
        opinion = opinion.only(self.wide_opinions) if self.has_opinion and opinion is not None else None
        if opinion is not None:
            hypotheses_px = torch.cat((hypotheses_px, opinion.hypotheses_px), dim=1)
        surroundings = None
        if self.spacings_px:
            assert believed.deviation_px is not None  # the pass before this one was asked for it
            surroundings = describe_surroundings(
                hypotheses_px, believed.deviation_px, opinion, half_lines.centre, self.spacings_px
            )
        nearest_px = draw_nearest(half_lines, believed.estimate_px) if self.occlusion else None
        return Proposal(hypotheses_px, surroundings, None if opinion is None else opinion.normalised, nearest_px)

    def forward(self, half_lines: HalfLines, proposal: Proposal, queries: Tensor | None = None) -> Mixture:
        """The mixture of every pixel, or at `queries`."""
        field = self.encode(half_lines, proposal)
        return self.decoder(gelu_of(field), queries, anchors=self._choose_anchors(proposal.hypotheses_px))

    def stream(
        self, half_lines: HalfLines, proposal: Proposal, read: Reader, tiling: Tiling, stage: str = "pass"
    ) -> Tensor:
        """The maps that `read` takes from the same mixture."""
        field = self.encode(half_lines, proposal, tiling, stage)
        anchors_px = self._choose_anchors(proposal.hypotheses_px)
        return read_field(self.decoder, field, read, tiling, f"{stage}, mixture", anchors_px, gelu_of)

    def encode(self, half_lines: HalfLines, proposal: Proposal, tiling: Tiling = WHOLE, stage: str = "pass") -> Tensor:
        """The latent field (B, channels, H, W)."""
        field = self.encoder(half_lines, proposal, self.relative_px, tiling=tiling, stage=f"{stage}, evidence")
        return self.layers.update(field, tiling, f"{stage}, layer")

    def name_channels(self) -> dict[str, list[str]]:
        """What the inputs of the first layers and the outputs of the last one are, by the names of their weights."""
        inputs = {f"encoder.{weight}": names for weight, names in self.encoder.name_inputs().items()}
        anchors = min(self.encoder.names.hypotheses, self.decoder.components)
        parts = self.decoder.mlp.output.out_channels // self.decoder.components
        outputs = [
            f"output {part} of anchor {k % anchors}, turn {k // anchors}"
            for part in range(parts)
            for k in range(self.decoder.components)
        ]
        return inputs | {f"decoder.mlp.output.{one}": outputs for one in ("weight", "bias")}

    def _choose_anchors(self, hypotheses_px: Tensor) -> Tensor:
        """The estimate comes first, so that a decoder of fewer components starts from it."""
        return hypotheses_px[:, : self.decoder.components]


class AlignedFreqLF(DisparityModel[HalfLines]):
    """The compact FreqLF, or FreqLF+ if its passes evaluate relative costs and its lines include diagonals."""

    def __init__(
        self,
        lines: Sequence[str],
        passes: Sequence[RefinementPass],
        slope: SlopeOptions,
        sweep: SweepOptions | None = None,
        contrast_windows_px: Sequence[int] = (),
        mean_windows_px: Sequence[int] = (),
        *,
        reading: Reading = "tempered",
        repeats: int = 0,
    ) -> None:
        super().__init__()
        self.lines = tuple(lines)
        self.reading = reading
        self.passes, self.repeats = nn.ModuleList(passes), repeats
        self.slope, self.sweep = slope, sweep
        self.contrast_windows_px, self.mean_windows_px = tuple(contrast_windows_px), tuple(mean_windows_px)
        self.slope_lines = choose_slope_lines(self.lines)
        self.is_traceable = sweep is None  # how many planes there are depends on the scene
        self.is_sized = any(isinstance(one.layers, Hourglass) for one in passes)  # odd sides are padded

    def forward_passes(
        self, stacks: Mapping[str, Tensor], queries: Tensor | None = None, beliefs: Tensor | None = None
    ) -> list[Mixture]:
        """The mixtures of all passes, or with `beliefs` of those that learn; only the last is asked at `queries`."""
        half_lines = HalfLines.from_stacks(stacks, self.lines)
        first = 0 if beliefs is None else self.frozen_passes
        believed, opinion = self._begin(half_lines) if beliefs is None else self._unpack(beliefs, half_lines)
        mixtures: list[Mixture] = []
        for number, refine in enumerate(self.rounds, start=1):
            if number <= first:  # frozen, and in the beliefs
                continue
            proposal = refine.propose(believed, opinion, half_lines)
            is_last = number == len(self.rounds)
            mixtures.append(refine(half_lines, proposal, queries if is_last else None))
            if not is_last:
                believed = Surfaces(*self._read_surfaces(number)(mixtures[-1]).split(1, dim=1))
        return mixtures

    @property
    def frozen_passes(self) -> int:
        """How many of the first passes no longer learn."""
        learning = (any(weight.requires_grad for weight in one.parameters()) for one in self.rounds)
        return sum(1 for _ in itertools.takewhile(lambda learns: not learns, learning))

    @torch.no_grad()
    def believe(self, stacks: Mapping[str, Tensor], tiling: Tiling = WHOLE) -> Tensor:
        """What the passes that learn begin with, (B, maps, H, W): the surfaces of the frozen ones, and second opinions.

        Under mirroring and transposing of a light field these maps turn with its pixels.
        """
        views = HalfLines.from_stacks(stacks, self.lines)
        believed, opinion = self._begin(views, tiling)
        believed = self._refine(believed, opinion, views, self.frozen_passes, tiling)
        opinions = () if opinion is None else (opinion.surfaces_px, opinion.wide_px, opinion.doubts)
        return torch.cat([one for one in (*believed, *opinions) if one is not None], dim=1)

    def _unpack(self, beliefs: Tensor, half_lines: HalfLines) -> tuple[Surfaces, SecondOpinion | None]:
        """The inverse of how `believe` packs them."""
        count = 3 if self.rounds[self.frozen_passes].spacings_px else 2
        believed, maps = Surfaces(*beliefs[:, :count].split(1, dim=1)), beliefs[:, count:]
        if maps.shape[1] == 0:
            return believed, None
        exact = len(self.sweep.windows_px if self.sweep else self.contrast_windows_px)
        others = maps.shape[1] - exact  # wide surfaces and, of those of a sweep, as many doubts
        wide = others // 2 if self.sweep else others
        surfaces_px, wide_px, doubts = maps.split((exact, wide, others - wide), dim=1)
        parts = (one if one.shape[1] else None for one in (wide_px, doubts))
        return believed, SecondOpinion(normalise_contrast(half_lines), surfaces_px, *parts)

    def _begin(self, views: HalfLines, tiling: Tiling = WHOLE) -> tuple[Surfaces, SecondOpinion | None]:
        """What the first pass begins with."""
        tiling.report("slope", 0, 1)
        believed = Surfaces(*estimate_slope(views.of_lines(self.slope_lines), self.slope, tiling.side_px))
        tiling.report("slope", 1, 1)
        return believed, self._ask(views, believed, tiling)

    def _refine(
        self, believed: Surfaces, opinion: SecondOpinion | None, views: HalfLines, passes: int, tiling: Tiling
    ) -> Surfaces:
        """What so many of the first passes leave; between them, two surfaces and a deviation are all that is kept."""
        for number, refine in itertools.islice(enumerate(self.rounds, start=1), passes):
            proposal = refine.propose(believed, opinion, views)
            maps = refine.stream(views, proposal, self._read_surfaces(number), tiling, f"pass {number}")
            believed = Surfaces(*maps.split(1, dim=1))
        return believed

    def name_channels(self) -> dict[str, list[str]]:
        """Those of all passes."""
        passes = enumerate(self.rounds[: len(self.passes)])
        return {f"passes.{i}.{weight}": names for i, one in passes for weight, names in one.name_channels().items()}

    def read_views(self, light_field: LightField, device: torch.device, *, forget: bool = False) -> HalfLines:
        """All lines, packed by half-lines."""
        return read_half_lines(light_field, self.lines, device, forget=forget)

    @torch.inference_mode()
    def stream(self, views: HalfLines, read: Reader, tiling: Tiling = WHOLE) -> Tensor:
        """What `read` takes from the last mixture."""
        believed, opinion = self._begin(views, tiling)
        *others, last = self.rounds
        believed = self._refine(believed, opinion, views, len(others), tiling)
        proposal = last.propose(believed, opinion, views)
        return last.stream(views, proposal, read, tiling, f"pass {len(self.rounds)}")

    def _ask(self, half_lines: HalfLines, believed: Surfaces, tiling: Tiling = WHOLE) -> SecondOpinion | None:
        """The second opinion, in models that have one."""
        if self.sweep is None and not self.contrast_windows_px:
            return None
        stage = "slope by contrast" if self.sweep is None else "plane sweep"
        tiling.report(stage, 0, 1)
        if self.sweep is None:
            windows_px = (self.contrast_windows_px, self.mean_windows_px)
            opinion = find_other_slopes(half_lines, self.slope_lines, *windows_px, self.slope, tiling.side_px)
        else:
            opinion = sweep_surfaces(half_lines, believed.estimate_px, self.sweep)
        tiling.report(stage, 1, 1)
        return opinion

    def _read_surfaces(self, number: int) -> Reader:
        """What pass `number`, from 1, leaves to the next one, as maps (B, 2 or 3, H, W)."""
        is_asked = bool(self.rounds[number].spacings_px)

        def read(mixture: Mixture) -> Tensor:
            surfaces = split_surfaces(mixture)
            return torch.cat((*surfaces, measure_deviation(mixture)) if is_asked else surfaces, dim=1)

        return read

    @property
    def rounds(self) -> tuple[RefinementPass, ...]:
        """The passes in the order in which they decide; the last one does so several times if it is repeated."""
        passes = [one for one in self.passes if isinstance(one, RefinementPass)]
        return (*passes, *self.repeats * passes[-1:])

    def footprint(self, views: int) -> Footprint:
        """One latent field, or the views at coarser resolutions; in a tile, warped views and evidence.

        A second opinion adds the views by their contrast and, if it sweeps, their grey image or smaller views; the
        surfaces in all views take as much as that, and come when it has gone. Coarser fields are a third of the finest
        at most. What is said of the surroundings is held for the whole image.
        """
        encoders = [one.encoder for one in self.rounds]
        view_bytes = 4 * 3 * views
        asked_bytes = view_bytes if self.contrast_windows_px else 0
        if self.sweep is not None or any(one.occlusion for one in self.rounds):
            asked_bytes = view_bytes + view_bytes // 3
        if self.sweep is not None and self.sweep.tilts:  # views of half the resolution, and their grey images
            asked_bytes = view_bytes + view_bytes // 2
        channels = max(encoder.look.out_channels for encoder in encoders)
        maps = MAPS + max(len(encoder.names.surroundings) for encoder in encoders)
        widest = max(max(encoder.evidence_channels, find_widest(encoder)) for encoder in encoders)
        streamed = max(0 if encoder.stream is None else encoder.stream.count_numbers() for encoder in encoders)
        return Footprint(
            view_bytes,
            image_bytes=max(view_bytes // 3, 4 * channels * 4 // 3) + 4 * maps + asked_bytes,
            tile_bytes=4 * (count_warp_numbers(views, len(self.lines)) + _EVIDENCE_COPIES * widest + streamed),
            margin_px=EVIDENCE_REACH_PX + max(encoder.reach_px for encoder in encoders),
        )


def choose_slope_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Those that the slope field is found on: the diagonals cost twice as much and do not make it better."""
    return tuple(line for line in lines if line in EPI_LINES) or tuple(lines)


@torch.no_grad()
def measure_deviation(mixture: Mixture) -> Tensor:
    """The root of a mixture's variance, (B, 1, H, W)."""
    parts = (part.float() for part in (mixture.logits, mixture.means, mixture.deviations))
    return Mixture(*parts).summarise().deviation.unsqueeze(1)


@torch.no_grad()
def split_surfaces(mixture: Mixture, radius_px: float = SURFACE_RADIUS_PX) -> tuple[Tensor, Tensor]:
    """The surface that a mixture believes in most and the mean of its other components, both (B, 1, H, W).

    A mixture that sees one surface only gives it twice.
    """
    estimate_px, alternative_px = mixture.split(radius_px)
    return estimate_px.unsqueeze(1), alternative_px.unsqueeze(1)
