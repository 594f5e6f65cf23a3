"""FreqLF as published: EPI-guided encoder, Fourier-local layers, coordinate-conditioned decoder."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from freqlf.errors import FreqLFError
from freqlf.models.decoder import Decoder, MixtureDecoder, RegressionDecoder
from freqlf.models.epi import EpiEncoder
from freqlf.models.hybrid import HybridLayer
from freqlf.models.mixture import Mixture
from freqlf.models.scale import scale_weights
from freqlf.models.spectral import Field


class FreqLF(nn.Module):
    """Two stacks of views to a mixture over disparity; no disparity is ever enumerated.

    encoder: a module from (horizontal, vertical) to features (B, encoder.channels, H, W).
    layers: at least one hybrid layer, all of the same channels; the features are lifted to these by a 1x1 convolution.
    decoder: reads the last field.
    """

    def __init__(self, encoder: EpiEncoder, layers: Iterable[HybridLayer], decoder: Decoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.layers = nn.ModuleList(layers)
        self.decoder = decoder
        channels = {layer.channels for layer in self.layers if isinstance(layer, HybridLayer)}
        if len(channels) != 1:
            raise FreqLFError(f"the hybrid layers need one number of channels, not {sorted(channels)}")
        self.lift = nn.Conv2d(encoder.channels, channels.pop(), 1)
        scale_weights(self.lift, after_gelu=False)

    lines = ("horizontal", "vertical")

    def forward(
        self, stacks: Mapping[str, Tensor], queries: Tensor | None = None, *, size: tuple[int, int] | None = None
    ) -> Mixture:
        """The disparity of the centre view, the middle of the horizontal stack.

        stacks: "horizontal" to (B, A_h, 3, H, W), the central row of views with v increasing, colours in [0, 1], and
            "vertical" to (B, A_v, 3, H, W), the central column of views with u increasing. Others are ignored.
        queries, size: where to decode, see `Decoder`; the pixels of the centre view if neither is given.
        """
        missing = [line for line in self.lines if line not in stacks]
        if missing:
            raise FreqLFError(f"the model needs the {' and '.join(missing)} views; got {', '.join(stacks)}")
        z = self.update_field(self.encoder(stacks["horizontal"], stacks["vertical"]))
        return self.decoder(z, queries, size=size)

    def forward_passes(self, stacks: Mapping[str, Tensor]) -> list[Mixture]:
        """The mixture as a list: this model has one pass."""
        return [self(stacks)]

    def update_field(self, features: Tensor) -> Tensor:
        """Features to the final latent field, (B, C, H, W)."""
        z = self.lift(features).contiguous(memory_format=torch.channels_last)
        for layer in self.layers:
            z = layer(z)
        return z


def build_paper_model(
    views: tuple[int, int] = (9, 9),
    channels: int = 128,
    layers: int = 4,
    modes: int = 16,
    components: int = 5,
    stream_channels: int = 64,
    *,
    hidden: int = 128,
    deviation_floor_px: float = 0.01,
    fourier: bool = True,
    local: bool = True,
    squeeze: bool = True,
    probabilistic: bool = True,
    field: Field = "index",
    reference_px: tuple[int, int] | None = None,
) -> FreqLF:
    """FreqLF with the paper's sizes by default; the four switches are its ablations.

    views: the numbers of horizontal and vertical views.
    """
    encoder = EpiEncoder(*views, channels=channels, stream_channels=stream_channels, squeeze=squeeze)
    field_layers = [
        HybridLayer(channels, (modes, modes), fourier=fourier, local=local, field=field, reference_px=reference_px)
        for _ in range(layers)
    ]
    decoder: Decoder
    if probabilistic:
        decoder = MixtureDecoder(channels, hidden, components, deviation_floor_px=deviation_floor_px)
    else:
        decoder = RegressionDecoder(channels, hidden)
    return FreqLF(encoder, field_layers, decoder)
