"""From evidence about hypotheses to features: what is read of each half-line, and of all of them together."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from freqlf.models.convolution import convolve
from freqlf.models.epi import SqueezeExcitation
from freqlf.models.evidence import (
    EVIDENCE_REACH_PX,
    count_hypotheses,
    gather_evidence,
    name_context,
    name_half_line,
)
from freqlf.models.halflines import HalfLines
from freqlf.models.pointwise import mix_and_activate
from freqlf.models.scale import gelu, scale_weights
from freqlf.models.surroundings import name_surroundings
from freqlf.models.tiles import WHOLE, Tile, Tiling
from freqlf.models.viewstream import ViewStream


class EvidenceNames(NamedTuple):
    """Channels of evidence for so many hypotheses: of the context, of each of the half-lines, and of surroundings."""

    hypotheses: int
    context: list[str]
    half_lines: int
    per_half_line: list[str]
    surroundings: list[str]


def name_evidence(
    lines: int,
    windows_px: Sequence[int],
    relative_px: Sequence[float],
    opinions: int,
    wide_opinions: int = 0,
    doubts: int = 0,
    spacings_px: Sequence[int] = (),
    *,
    has_steps: bool = False,
    has_occlusion: bool = False,
) -> EvidenceNames:
    """The inputs of a `HalfLineEncoder`; each line has two half-lines. Opinions as in `RefinementPass`."""
    hypotheses, has_contrast = count_hypotheses(windows_px) + opinions + wide_opinions, opinions > 0
    return EvidenceNames(
        hypotheses,
        name_context(hypotheses, has_contrast=has_contrast, has_occlusion=has_occlusion),
        2 * lines,
        name_half_line(hypotheses, relative_px, has_contrast=has_contrast, has_steps=has_steps),
        name_surroundings(hypotheses, spacings_px, has_opinion=opinions > 0, doubts=doubts) if spacings_px else [],
    )


class Proposal(NamedTuple):
    """What a pass decides on.

    hypotheses_px: (B, N, H, W), the estimate first.
    surroundings: (B, channels, H, W), see `describe_surroundings`, in passes that look there.
    normalised: the views by their contrast, in passes with a second opinion.
    nearest_px: (B, V, H, W), what is believed to be nearest in each view, in passes that look for occlusion.
    """

    hypotheses_px: Tensor
    surroundings: Tensor | None = None
    normalised: HalfLines | None = None
    nearest_px: Tensor | None = None


class HalfLineEncoder(nn.Module):
    """Evidence to features (B, channels, H, W): a pointwise layer, a 3x3 layer, channel reweighting.

    shared_channels: all half-lines first go through one pointwise layer of so many channels, the same for each of
        them; 0 leaves that out.
    stream: reads the views themselves, aligned by the hypotheses of the numbers `streamed`, if there is one.
    """

    gather = staticmethod(gather_evidence)
    # Pixels around a tile that its features depend on, beside those of the evidence.
    reach_px = 1

    def __init__(
        self,
        names: EvidenceNames,
        stem_channels: int,
        channels: int,
        *,
        squeeze: bool,
        shared_channels: int = 0,
        stream: ViewStream | None = None,
        streamed: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.names = names
        self.stream, self.streamed = stream, list(streamed)
        self.has_steps = "contrast offset" in names.per_half_line
        rest = len(names.context) + len(names.surroundings) + (0 if stream is None else stream.mix.out_channels)
        self.evidence_channels = rest + names.half_lines * len(names.per_half_line)
        self.share: nn.Conv2d | None = None
        if shared_channels:
            self.share = nn.Conv2d(len(names.per_half_line), shared_channels, 1)
            scale_weights(self.share, gain=2.0, after_gelu=False)
        inputs = rest + names.half_lines * (shared_channels or len(names.per_half_line))
        self.read = nn.Conv2d(inputs, stem_channels, 1)
        self.look = nn.Conv2d(stem_channels, channels, 3, padding=1)
        # Evidence has about half of unit scale, shared features have all of it; the reweighting starts at one half.
        scale_weights(self.read, gain=1.0 if shared_channels else 2.0, after_gelu=bool(shared_channels))
        scale_weights(self.look, gain=2.0 if squeeze else 1.0)
        self.squeeze = SqueezeExcitation(channels) if squeeze else None

    def forward(
        self,
        half_lines: HalfLines,
        proposal: Proposal,
        relative_px: Sequence[float] = (),
        *,
        tiling: Tiling = WHOLE,
        stage: str = "evidence",
    ) -> Tensor:
        """Features (B, channels, H, W) of the evidence for the hypotheses, see `gather_evidence`."""
        hypotheses_px, surroundings, normalised, nearest_px = proposal
        H, W = hypotheses_px.shape[-2:]

        def encode(tile: Tile) -> Tensor:
            # First the pixels that the convolutions see, around them those that the evidence sees.
            seen = tile.grown(self.reach_px, H, W)
            outer = seen.grown(EVIDENCE_REACH_PX, H, W)
            place = (outer.y, outer.x, outer.height, outer.width)
            contrast = None if normalised is None else normalised.window(*place)
            window = half_lines.window(*place)
            context, measured = self.gather(
                window,
                outer.of(hypotheses_px),
                relative_px,
                contrast,
                has_steps=self.has_steps,
                nearest_px=nearest_px,
            )
            inputs = [context, self.measure(measured)]
            if surroundings is not None:
                inputs.append(outer.of(surroundings))
            if self.stream is not None and contrast is not None:
                inputs.append(self.stream(window, contrast, outer.of(hypotheses_px)[:, self.streamed]))
            stem = mix_and_activate(self.read, inputs)
            # The margin of the evidence is cut off here, where the channels are fewest.
            stem = seen.inside(outer).of(stem).contiguous(memory_format=torch.channels_last)
            return tile.inside(seen).of(convolve(stem, self.look.weight, self.look.bias))

        features = tiling.fill(H, W, stage, encode)
        return features if self.squeeze is None else self.squeeze(features)

    def name_inputs(self) -> dict[str, list[str]]:
        """What the inputs of its first layers are, by the names of their weights."""
        measured = self.names.per_half_line
        if self.share is not None:
            measured = [f"shared {i}" for i in range(self.share.out_channels)]
        of_half_lines = [f"{name} of half-line {j}" for j in range(self.names.half_lines) for name in measured]
        of_views = [] if self.stream is None else [f"views {i}" for i in range(self.stream.mix.out_channels)]
        inputs = {"read.weight": [*self.names.context, *of_half_lines, *self.names.surroundings, *of_views]}
        return inputs if self.share is None else inputs | {"share.weight": self.names.per_half_line}

    def measure(self, half_lines: Tensor) -> Tensor:
        """What is read of the half-lines (B, J, channels, H, W), as channels of the image."""
        if self.share is not None:
            B, J, _, height, width = half_lines.shape
            assert self.share.bias is not None
            weight = self.share.weight.flatten(1).expand(B * J, -1, -1)
            # B * J, channels, H * W, as they lie in memory
            shared = torch.baddbmm(self.share.bias[:, None], weight, half_lines.flatten(3).flatten(0, 1))
            half_lines = gelu(shared).view(B, J, -1, height, width)
        return half_lines.flatten(1, 2)
