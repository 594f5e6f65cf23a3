"""FreqLF as published: EPI-guided encoder, Fourier-local layers, coordinate-conditioned decoder."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from freqlf.errors import FreqLFError
from freqlf.lightfield import LightField
from freqlf.models.base import DisparityModel, Reader
from freqlf.models.config import EPI_LINES
from freqlf.models.decoder import Decoder, MixtureDecoder, RegressionDecoder
from freqlf.models.epi import EpiEncoder
from freqlf.models.footprint import MAPS, Footprint, find_widest
from freqlf.models.hybrid import HybridLayer
from freqlf.models.mixture import Mixture
from freqlf.models.scale import scale_weights
from freqlf.models.spectral import Field
from freqlf.models.streaming import read_field, update_field
from freqlf.models.tiles import WHOLE, Tile, Tiling
from freqlf.models.views import Stacks, read_stacks

# Planes of features that a stream of 3D convolutions holds for one that its first convolution leaves: input and
# output, and the copies in a layout of their own that the library makes.
_PLANE_COPIES = 12


class FreqLF(DisparityModel[Stacks]):
    """Two stacks of views to a mixture over disparity; no disparity is ever enumerated.

    The central row of views, v increasing, is "horizontal", the central column, u increasing, is "vertical". Their
    numbers of views are those that the encoder was built for.

    encoder: from (horizontal, vertical) to features (B, encoder.channels, H, W).
    layers: at least one hybrid layer, all of the same channels; the features are lifted to these by a 1x1 convolution.
    decoder: reads the last field.
    """

    lines = EPI_LINES

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

    def forward(
        self, stacks: Mapping[str, Tensor], queries: Tensor | None = None, *, size: tuple[int, int] | None = None
    ) -> Mixture:
        """The disparity of the centre view; `queries` or `size` say where to decode, see `Decoder`."""
        return self.decoder(self.encode(stacks), queries, size=size)

    def forward_passes(self, stacks: Mapping[str, Tensor], queries: Tensor | None = None) -> list[Mixture]:
        """The mixture as a list: this model has one pass."""
        return [self(stacks, queries)]

    def read_views(self, light_field: LightField, device: torch.device, *, forget: bool = False) -> Stacks:
        """Both stacks."""
        return read_stacks(light_field, self.lines, device, forget=forget)

    @torch.inference_mode()
    def stream(self, views: Stacks, read: Reader, tiling: Tiling = WHOLE) -> Tensor:
        """What `read` takes from the mixture."""
        return read_field(self.decoder, self.encode(views, tiling), read, tiling, "mixture")

    def encode(self, stacks: Mapping[str, Tensor], tiling: Tiling = WHOLE) -> Tensor:
        """The latent field (B, C, H, W); lines that the model does not know are ignored."""
        missing = [line for line in self.lines if line not in stacks]
        if missing:
            raise FreqLFError(f"the model needs the {' and '.join(missing)} views; got {', '.join(stacks)}")
        features = self.encoder(*(stacks[line] for line in self.lines), tiling)
        H, W = features.shape[-2:]

        def lift(tile: Tile) -> Tensor:
            return self.lift(tile.of(features)).contiguous(memory_format=torch.channels_last)

        # The lift is pointwise: of as many channels as the features have, its result can take their place.
        is_wider = self.lift.out_channels != self.lift.in_channels
        field = tiling.fill(H, W, "lift", lift, onto=None if is_wider else features)
        return update_field(self.layers, field, tiling, "layer")

    def footprint(self, views: int) -> Footprint:
        """One latent field, or two of unlike width; in a tile, the planes of the wider stream."""
        streams = (self.encoder.horizontal, self.encoder.vertical)
        planes = max((stream.views - 1) // 2 * find_widest(stream) for stream in streams)
        fields = self.lift.out_channels * (1 if self.lift.out_channels == self.lift.in_channels else 2)
        return Footprint(
            view_bytes=4 * 3 * views,
            image_bytes=4 * (fields + MAPS),
            tile_bytes=4 * _PLANE_COPIES * planes,
            margin_px=self.encoder.reach_px,
        )


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
