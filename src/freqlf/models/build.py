"""From a configuration to a network: the only place where the two meet."""

from dataclasses import asdict
from typing import Any

import torch

from freqlf.models.aligned import AlignedFreqLF, HalfLineEncoder, RefinementPass, count_evidence
from freqlf.models.base import DisparityModel
from freqlf.models.config import AlignedConfig, EpiConfig, ModelConfig, PassConfig
from freqlf.models.decoder import Decoder, MixtureDecoder, RegressionDecoder
from freqlf.models.hybrid import HybridLayer
from freqlf.models.paper import FreqLF, build_paper_model
from freqlf.models.slope import SlopeOptions
from freqlf.models.swept import SweptFreqLF
from freqlf.models.volume import SweepPass


def build_model(config: ModelConfig) -> DisparityModel[Any]:
    """A freshly initialised network."""
    return _build_epi(config) if isinstance(config, EpiConfig) else _build_aligned(config)


def _build_epi(config: EpiConfig) -> FreqLF:
    return build_paper_model(
        (config.columns, config.rows),
        config.channels,
        config.layers,
        config.modes,
        config.components,
        config.stream_channels,
        hidden=config.channels,
        field=config.field,
        reference_px=_square(config.reference_px),
        **asdict(config.switches),
    )


def _build_aligned(config: AlignedConfig) -> AlignedFreqLF | SweptFreqLF:
    if config.sweep is None:
        return AlignedFreqLF(config.lines, [_build_pass(config, one) for one in config.passes], SlopeOptions())
    sweep = SweepPass(2 * len(config.lines), **asdict(config.sweep))
    refine = _build_pass(config, config.passes[0], sweep.knowledge_channels)
    return SweptFreqLF(config.lines, sweep, refine, SlopeOptions())


def _build_pass(config: AlignedConfig, one: PassConfig, knowledge_channels: int = 0) -> RefinementPass:
    switches = config.switches
    counts = count_evidence(len(config.lines), one.windows_px, one.relative_px)
    encoder = HalfLineEncoder(
        counts, one.stem_channels, one.channels, squeeze=switches.squeeze, shared_channels=one.shared_channels
    )
    layers = _build_layers(config, one)
    decoder: Decoder = RegressionDecoder(one.channels, one.channels)
    if switches.probabilistic:
        decoder = _build_anchored_decoder(one.channels, config.components, has_prior=knowledge_channels > 0)
    return RefinementPass(
        encoder,
        layers,
        decoder,
        windows_px=one.windows_px,
        relative_px=one.relative_px,
        knowledge_channels=knowledge_channels,
    )


def _build_anchored_decoder(channels: int, components: int, *, has_prior: bool) -> MixtureDecoder:
    """Starts where the estimate is: most weight on it, unless a prior weighs the anchors; offsets near zero."""
    decoder = MixtureDecoder(channels, channels, components, initial_spread_px=0.0, initial_deviation_px=0.15)
    output = decoder.mlp.output
    assert output.bias is not None
    with torch.no_grad():
        output.weight.mul_(0.1)
        if not has_prior:
            output.bias[0] = 2.0
    return decoder


def _build_layers(config: AlignedConfig, one: PassConfig) -> list[HybridLayer]:
    return [
        HybridLayer(
            one.channels,
            (one.modes, one.modes),
            fourier=config.switches.fourier,
            local=config.switches.local,
            residual=True,
            field=config.field,
            reference_px=_square(config.reference_px),
        )
        for _ in range(one.layers)
    ]


def _square(side_px: int | None) -> tuple[int, int] | None:
    return None if side_px is None else (side_px, side_px)
