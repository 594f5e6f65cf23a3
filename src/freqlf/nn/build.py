"""From a configuration to a network: the only place where the two meet."""

import torch

from freqlf.config import AlignedConfig, EpiConfig, ModelConfig, PassConfig
from freqlf.nn.aligned import AlignedFreqLF, HalfLineEncoder, RefinementPass, count_evidence_channels
from freqlf.nn.decoder import Decoder, MixtureDecoder, RegressionDecoder
from freqlf.nn.epi import EpiEncoder
from freqlf.nn.hybrid import HybridLayer
from freqlf.nn.model import FreqLF
from freqlf.nn.slope import SlopeOptions


def build_model(config: ModelConfig) -> FreqLF | AlignedFreqLF:
    """A freshly initialised network.

    It has `lines`, the names of the lines of views that it needs; `forward(stacks)` and `forward_passes(stacks)`.
    """
    return _build_epi(config) if isinstance(config, EpiConfig) else _build_aligned(config)


def _build_epi(config: EpiConfig) -> FreqLF:
    switches = config.switches
    encoder = EpiEncoder(config.columns, config.rows, config.channels, config.stream_channels, squeeze=switches.squeeze)
    layers = _build_layers(config, config.channels, config.layers, config.modes, residual=False)
    decoder: Decoder = RegressionDecoder(config.channels, config.channels)
    if switches.probabilistic:
        decoder = MixtureDecoder(config.channels, config.channels, config.components)
    return FreqLF(encoder, layers, decoder)


def _build_aligned(config: AlignedConfig) -> AlignedFreqLF:
    return AlignedFreqLF(config.lines, [_build_pass(config, one) for one in config.passes], SlopeOptions())


def _build_pass(config: AlignedConfig, one: PassConfig) -> RefinementPass:
    switches = config.switches
    inputs = count_evidence_channels(len(config.lines), one.windows_px, one.relative_px)
    encoder = HalfLineEncoder(inputs, one.stem_channels, one.channels, squeeze=switches.squeeze)
    layers = _build_layers(config, one.channels, one.layers, one.modes, residual=True)
    decoder: Decoder = RegressionDecoder(one.channels, one.channels)
    if switches.probabilistic:
        decoder = _build_anchored_decoder(one.channels, config.components)
    return RefinementPass(encoder, layers, decoder, windows_px=one.windows_px, relative_px=one.relative_px)


def _build_anchored_decoder(channels: int, components: int) -> MixtureDecoder:
    """Starts where the estimate is: most weight on it, offsets near zero."""
    decoder = MixtureDecoder(channels, channels, components, initial_spread_px=0.0, initial_deviation_px=0.15)
    output = decoder.mlp.output
    assert output.bias is not None
    with torch.no_grad():
        output.weight.mul_(0.1)
        output.bias[0] = 2.0
    return decoder


def _build_layers(config: ModelConfig, channels: int, layers: int, modes: int, *, residual: bool) -> list[HybridLayer]:
    reference_px = None if config.reference_px is None else (config.reference_px, config.reference_px)
    return [
        HybridLayer(
            channels,
            (modes, modes),
            fourier=config.switches.fourier,
            local=config.switches.local,
            residual=residual,
            field=config.field,
            reference_px=reference_px,
        )
        for _ in range(layers)
    ]
