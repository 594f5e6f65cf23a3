"""From a configuration to a network: the only place where the two meet."""

from dataclasses import asdict
from typing import Any

import torch

from freqlf.lightfield import LINES
from freqlf.models.aligned import AlignedFreqLF, RefinementPass
from freqlf.models.backbone import FlatBackbone, Hourglass
from freqlf.models.base import DisparityModel
from freqlf.models.config import (
    AlignedConfig,
    EpiConfig,
    ModelConfig,
    OcclusionConfig,
    PaperConfig,
    PassConfig,
    count_modes,
)
from freqlf.models.decoder import Decoder, MixtureDecoder, RegressionDecoder
from freqlf.models.encoder import HalfLineEncoder, name_evidence
from freqlf.models.epi import EpiEncoder
from freqlf.models.evidence import count_hypotheses
from freqlf.models.hybrid import HybridLayer
from freqlf.models.occlusion import FreqLFPlus, OcclusionEncoder
from freqlf.models.paper import FreqLF
from freqlf.models.slope import SlopeOptions
from freqlf.models.sweep import SweepOptions
from freqlf.models.viewstream import ViewStream


def build_model(config: ModelConfig) -> DisparityModel[Any]:
    """A freshly initialised network."""
    if isinstance(config, EpiConfig):
        return _build_epi(config)
    return _build_occlusion(config) if isinstance(config, OcclusionConfig) else _build_aligned(config)


def _build_epi(config: EpiConfig) -> FreqLF:
    encoder = EpiEncoder(
        config.columns, config.rows, config.channels, config.stream_channels, squeeze=config.switches.squeeze
    )
    return FreqLF(encoder, *_build_paper_backbone(config))


def _build_occlusion(config: OcclusionConfig) -> FreqLFPlus:
    encoder = OcclusionEncoder(
        2 * len(config.lines),
        (config.lowest_px, config.highest_px, config.planes),
        config.channels,
        config.stream_channels,
        opinions=config.opinions,
        squeeze=config.switches.squeeze,
    )
    return FreqLFPlus(config.lines, encoder, *_build_paper_backbone(config))


def _build_paper_backbone(config: PaperConfig) -> tuple[list[HybridLayer], Decoder]:
    """The layers and the decoder that the paper's two models have in common."""
    layers = [
        HybridLayer(
            config.channels,
            count_modes(config.modes, config.band),
            fourier=config.switches.fourier,
            local=config.switches.local,
            field=config.field,
            reference_px=_square(config.reference_px),
        )
        for _ in range(config.layers)
    ]
    channels = config.channels
    if not config.switches.probabilistic:
        return layers, RegressionDecoder(channels, channels)
    floor_px = config.deviation_floor_px
    return layers, MixtureDecoder(channels, channels, config.components, deviation_floor_px=floor_px)


def _build_aligned(config: AlignedConfig) -> AlignedFreqLF:
    sweep = None if config.sweep is None else SweepOptions(**asdict(config.sweep))
    passes = [_build_pass(config, one, is_first=number == 0) for number, one in enumerate(config.passes)]
    windows_px = (config.contrast_windows_px, config.mean_windows_px)
    return AlignedFreqLF(
        config.lines, passes, SlopeOptions(), sweep, *windows_px, reading=config.reading, repeats=config.repeats
    )


def _build_pass(config: AlignedConfig, one: PassConfig, *, is_first: bool) -> RefinementPass:
    switches = config.switches
    opinions, wide_opinions = 0, 0
    if one.second_opinion:
        opinions, wide_opinions = config.opinions, config.wide_opinions + one.tilted * config.tilted_opinions
    names = name_evidence(
        len(config.lines),
        one.windows_px,
        one.relative_px,
        opinions,
        wide_opinions,
        0 if config.sweep is None else wide_opinions,
        one.spacings_px,
        has_steps=one.contrast_steps,
        has_occlusion=one.occlusion,
    )
    stream, streamed = None, (0, count_hypotheses(one.windows_px) - 1)  # the estimate and the alternative
    if one.stream_channels:
        lines = [LINES[name] for name in config.lines]
        stream = ViewStream(lines, len(streamed), one.stream_channels, 2 * one.stream_channels)
    encoder = HalfLineEncoder(
        names,
        one.stem_channels,
        one.channels,
        squeeze=switches.squeeze,
        shared_channels=one.shared_channels,
        stream=stream,
        streamed=streamed,
    )
    layers = _build_hourglass(config, one) if one.coarse_channels else _build_flat_backbone(config, one)
    decoder: Decoder = RegressionDecoder(one.channels, one.channels)
    if switches.probabilistic:
        components = config.components + opinions + wide_opinions
        decoder = _build_anchored_decoder(config, one, components, is_first=is_first)
    return RefinementPass(
        encoder,
        layers,
        decoder,
        windows_px=one.windows_px,
        relative_px=one.relative_px,
        has_opinion=one.second_opinion,
        wide_opinions=wide_opinions,
        spacings_px=one.spacings_px,
        occlusion=one.occlusion,
    )


def _build_anchored_decoder(
    config: AlignedConfig, one: PassConfig, components: int, *, is_first: bool
) -> MixtureDecoder:
    """Starts where the estimate is: most weight on it, offsets near zero.

    A slope is less exact than the estimate of a pass. What is right for most pixels should not be left to learn:
    all layers would grow to move the same outputs everywhere.
    """
    deviation_px, weight = (0.15, 2.0) if is_first else (0.05, 3.5)
    decoder = MixtureDecoder(
        one.channels,
        one.channels,
        components,
        deviation_floor_px=config.deviation_floor_px,
        initial_spread_px=0.0,
        initial_deviation_px=deviation_px,
        offset_px=one.offset_px,
    )
    output = decoder.mlp.output
    assert output.bias is not None
    with torch.no_grad():
        output.weight.mul_(0.1 if is_first else 0.5)
        output.bias[0] = weight
    return decoder


def _build_flat_backbone(config: AlignedConfig, one: PassConfig) -> FlatBackbone:
    return FlatBackbone(*(_build_layer(config, one, one.channels) for _ in range(one.layers)))


def _build_hourglass(config: AlignedConfig, one: PassConfig) -> Hourglass:
    """The Fourier branch is at the coarsest level only: long waves are what it is for, and they need few pixels."""
    *finer, coarsest = enumerate((one.channels, *one.coarse_channels))

    def build_level(channels: int, level: int, *, fourier: bool) -> list[HybridLayer]:
        return [_build_layer(config, one, channels, shrunk_by=2**level, fourier=fourier) for _ in range(one.layers)]

    down = [build_level(channels, level, fourier=False) for level, channels in finer]
    down.append(build_level(coarsest[1], coarsest[0], fourier=True))
    return Hourglass(down, [build_level(channels, level, fourier=False) for level, channels in finer])


def _build_layer(
    config: AlignedConfig, one: PassConfig, channels: int, *, shrunk_by: int = 1, fourier: bool = True
) -> HybridLayer:
    reference_px = None if config.reference_px is None else config.reference_px // shrunk_by
    return HybridLayer(
        channels,
        count_modes(one.modes, config.band),
        fourier=config.switches.fourier and fourier and one.modes > 0,
        local=config.switches.local,
        residual=True,
        normalised=bool(one.coarse_channels),
        field=config.field,
        reference_px=_square(reference_px),
    )


def _square(side_px: int | None) -> tuple[int, int] | None:
    return None if side_px is None else (side_px, side_px)
