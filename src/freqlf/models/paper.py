"""FreqLF as published: an encoder, Fourier-local layers, a coordinate-conditioned decoder.

The paper has two encoders before one backbone: the EPI streams here, and the front-end of FreqLF+ in
`freqlf.models.occlusion`. Names of weights are the same behind the encoder, so backbones can be exchanged.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from freqlf.errors import FreqLFError
from freqlf.lightfield import LightField
from freqlf.models.base import DisparityModel, Reader, Views
from freqlf.models.config import EPI_LINES
from freqlf.models.decoder import Decoder
from freqlf.models.epi import EpiEncoder
from freqlf.models.footprint import MAPS, Footprint, find_widest
from freqlf.models.hybrid import HybridLayer
from freqlf.models.mixture import Mixture
from freqlf.models.scale import scale_weights
from freqlf.models.streaming import read_field, update_field
from freqlf.models.tiles import WHOLE, Tile, Tiling
from freqlf.models.views import Stacks, read_stacks

# Planes of features that a stream of 3D convolutions holds for one that its first convolution leaves: input and
# output, and the copies in a layout of their own that the library makes.
_PLANE_COPIES = 12


class FieldModel(DisparityModel[Views]):
    """The paper's stages 2 and 3 behind any encoder: lift, hybrid layers, decoder.

    encoder: makes the features (B, encoder_channels, H, W).
    layers: at least one hybrid layer, all of the same channels; the features are lifted to these by a 1x1 convolution.
    decoder: reads the last field.

    Attributes:
        decodes_lift: whether `forward_passes` gives the mixture that the decoder reads off the lifted features as
            well: a loss on it reaches the encoder without passing the layers. Needs no weights of its own.
    """

    decodes_lift = False

    def __init__(
        self, encoder: nn.Module, encoder_channels: int, layers: Iterable[HybridLayer], decoder: Decoder
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.layers = nn.ModuleList(layers)
        self.decoder = decoder
        channels = {layer.channels for layer in self.layers if isinstance(layer, HybridLayer)}
        if len(channels) != 1:
            raise FreqLFError(f"the hybrid layers need one number of channels, not {sorted(channels)}")
        self.lift = nn.Conv2d(encoder_channels, channels.pop(), 1)
        scale_weights(self.lift, after_gelu=False)

    @abstractmethod
    def pack(self, stacks: Mapping[str, Tensor]) -> Views:
        """The views as the encoder reads them; lines that it does not know are ignored."""

    @abstractmethod
    def look(self, views: Views, tiling: Tiling = WHOLE) -> Tensor:
        """The encoder's features (B, channels, H, W)."""

    def forward_passes(
        self, stacks: Mapping[str, Tensor], queries: Tensor | None = None, beliefs: Tensor | None = None
    ) -> list[Mixture]:
        """The mixture as a list: this model has one pass. See `decodes_lift`."""
        field = self.raise_features(self.look(self.pack(stacks)))
        lifted = [self.decoder(field)] if self.decodes_lift else []
        return [*lifted, self.decoder(update_field(self.layers, field, WHOLE, "layer"), queries)]

    @torch.inference_mode()
    def stream(self, views: Views, read: Reader, tiling: Tiling = WHOLE) -> Tensor:
        """What `read` takes from the mixture."""
        return read_field(self.decoder, self.encode(views, tiling), read, tiling, "mixture")

    def encode(self, views: Views, tiling: Tiling = WHOLE) -> Tensor:
        """The latent field (B, C, H, W)."""
        field = self.raise_features(self.look(views, tiling), tiling)
        return update_field(self.layers, field, tiling, "layer")

    def raise_features(self, features: Tensor, tiling: Tiling = WHOLE) -> Tensor:
        """The lift: the field that the layers update."""
        H, W = features.shape[-2:]

        def lift(tile: Tile) -> Tensor:
            return self.lift(tile.of(features)).contiguous(memory_format=torch.channels_last)

        # The lift is pointwise: of as many channels as the features have, its result can take their place.
        is_wider = self.lift.out_channels != self.lift.in_channels
        return tiling.fill(H, W, "lift", lift, onto=None if is_wider else features)

    @property
    def field_bytes(self) -> int:
        """Per pixel of the image: one latent field, or two of unlike width, and the maps."""
        fields = self.lift.out_channels * (1 if self.lift.out_channels == self.lift.in_channels else 2)
        return 4 * (fields + MAPS)


class FreqLF(FieldModel[Stacks]):
    """Two stacks of views to a mixture over disparity; no disparity is ever enumerated.

    The central row of views, v increasing, is "horizontal", the central column, u increasing, is "vertical". Their
    numbers of views are those that the encoder was built for.
    """

    lines = EPI_LINES
    encoder: EpiEncoder

    def __init__(self, encoder: EpiEncoder, layers: Iterable[HybridLayer], decoder: Decoder) -> None:
        super().__init__(encoder, encoder.channels, layers, decoder)

    def pack(self, stacks: Mapping[str, Tensor]) -> Stacks:
        """Both stacks."""
        missing = [line for line in self.lines if line not in stacks]
        if missing:
            raise FreqLFError(f"the model needs the {' and '.join(missing)} views; got {', '.join(stacks)}")
        return stacks

    def look(self, views: Stacks, tiling: Tiling = WHOLE) -> Tensor:
        """Appearance and slopes of EPI lines."""
        features: Tensor = self.encoder(*(views[line] for line in self.lines), tiling)
        return features

    def read_views(self, light_field: LightField, device: torch.device, *, forget: bool = False) -> Stacks:
        """Both stacks."""
        return read_stacks(light_field, self.lines, device, forget=forget)

    def footprint(self, views: int) -> Footprint:
        """In a tile, the planes of the wider stream."""
        streams = (self.encoder.horizontal, self.encoder.vertical)
        planes = max((stream.views - 1) // 2 * find_widest(stream) for stream in streams)
        return Footprint(
            view_bytes=4 * 3 * views,
            image_bytes=self.field_bytes,
            tile_bytes=4 * _PLANE_COPIES * planes,
            margin_px=self.encoder.reach_px,
        )
