"""FreqLF+ as the paper has it: an occlusion-aware front-end in place of the EPI streams, all behind it unchanged.

The paper says what the front-end is for (occlusions, more angular evidence, costs may be enumerated), not what it is
made of. Here a plane sweep over a fixed range asks the half-lines of all four lines of views separately, so that
one side of an occlusion edge can be right where the other sees the occluder; learned layers decide whom to believe.
"""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from freqlf.lightfield import LightField
from freqlf.models.convolution import convolve
from freqlf.models.decoder import Decoder
from freqlf.models.epi import SpatialStream, SqueezeExcitation, centre_values
from freqlf.models.footprint import Footprint
from freqlf.models.halflines import HalfLines
from freqlf.models.hybrid import HybridLayer
from freqlf.models.opinion import normalise_contrast
from freqlf.models.paper import FieldModel
from freqlf.models.scale import gelu, scale_weights
from freqlf.models.sweep import MEASUREMENTS, Planes, sweep_planes
from freqlf.models.tiles import WHOLE, Tile, Tiling
from freqlf.models.views import read_half_lines

_PLANE_CHANNELS = 32
_PLANES_AT_ONCE = 4
_COPIES = 3  # of measurements, features and scores: as they are made, compared, and laid out for a convolution


class PlaneStream(nn.Module):
    """What the half-lines say about the planes, (B, D, measurements, H, W), to features (B, channels, H, W).

    Every plane goes through the same layers: a pointwise one that sees all half-lines at once, a 3x3 one that asks
    the neighbours, and one that leaves a few scores. For each of these `opinions` the planes compete (softmax, as in
    the soft argmin of Kendall et al., GC-Net, ICCV 2017), and one layer reads all that is believed of a pixel.
    """

    reach_px = 1

    def __init__(self, half_lines: int, planes: int, channels: int, opinions: int) -> None:
        super().__init__()
        measurements = MEASUREMENTS * half_lines
        self.read = nn.Conv2d(measurements, _PLANE_CHANNELS, 1)
        self.gather = nn.Conv2d(_PLANE_CHANNELS, _PLANE_CHANNELS, 3, padding=1)
        self.score = nn.Conv2d(_PLANE_CHANNELS, opinions, 1, bias=False)  # what all planes share decides nothing
        self.weigh = nn.Conv2d(planes * opinions + measurements, channels, 1)
        scale_weights(self.read, gain=2.0, after_gelu=False)  # measurements have about half of unit scale
        scale_weights(self.gather)
        scale_weights(self.score, gain=2.0)  # a plane is right or wrong by a wide margin
        scale_weights(self.weigh, gain=2.0, after_gelu=False)  # at first no plane is believed in much

    def forward(self, costs: Tensor) -> Tensor:
        """Features of the measurements, whose memory is taken."""
        mean = costs.mean(dim=1)
        costs.sub_(mean.unsqueeze(1))  # which plane costs less than others is what matters
        scores = torch.cat([self._rate(part) for part in costs.split(_PLANES_AT_ONCE, dim=1)], dim=1)
        beliefs = scores.softmax(dim=1).flatten(1, 2)  # B, D * opinions, H, W
        beliefs = beliefs * scores.shape[1] ** 0.5  # of unit power if few planes are believed in
        return gelu(self.weigh(torch.cat((beliefs, mean), dim=1)))

    def _rate(self, costs: Tensor) -> Tensor:
        """Scores (B, planes, opinions, H, W) of some planes."""
        z = costs.flatten(0, 1).contiguous(memory_format=torch.channels_last)
        z = gelu(self.read(z))
        z = gelu(convolve(z, self.gather.weight, self.gather.bias).to(z.dtype))  # which may have been rounded to bf16
        scores: Tensor = self.score(z)
        return scores.unflatten(0, costs.shape[:2])


class OcclusionEncoder(nn.Module):
    """Spatial stream and plane stream, concatenated, projected and reweighted as in `EpiEncoder`.

    half_lines: how many there are.
    sweep: disparity of the first and of the last plane in px, and their number.
    opinions: see `PlaneStream`.
    """

    disparities_px: Tensor  # (D,)

    def __init__(
        self,
        half_lines: int,
        sweep: tuple[float, float, int],
        channels: int = 128,
        stream_channels: int = 64,
        *,
        opinions: int = 4,
        squeeze: bool = True,
    ) -> None:
        super().__init__()
        self.channels = channels
        self.register_buffer("disparities_px", torch.linspace(*sweep), persistent=False)
        self.spatial = SpatialStream(stream_channels)
        self.planes = PlaneStream(half_lines, sweep[2], stream_channels, opinions)
        self.project = nn.Conv2d(2 * stream_channels, channels, 1)
        # The reweighting starts around one half.
        scale_weights(self.project, gain=2.0 if squeeze else 1.0)
        self.reweight = SqueezeExcitation(channels) if squeeze else nn.Identity()

    def forward(self, half_lines: HalfLines, tiling: Tiling = WHOLE) -> Tensor:
        """Features (B, channels, H, W) of the central view."""
        B, _, H, W = half_lines.centre.shape
        planes = Planes(self.disparities_px.expand(B, -1))
        normalised = normalise_contrast(half_lines)

        def project(tile: Tile) -> Tensor:
            outer = tile.grown(self.reach_px, H, W)
            place = (outer.y, outer.x, outer.height, outer.width)
            window = half_lines.window(*place)
            costs = sweep_planes(window, normalised.window(*place), planes)
            streams = (self.spatial(centre_values(window.centre)), self.planes(costs))
            return tile.inside(outer).of(self.project(torch.cat(streams, dim=1)))

        features: Tensor = self.reweight(tiling.fill(H, W, "planes", project))
        return features

    @property
    def reach_px(self) -> int:
        """How far away pixels may be that a feature depends on."""
        return max(len(self.spatial.layers), self.planes.reach_px)

    @property
    def bytes_per_pixel(self) -> int:
        """Memory that a tile takes without gradients."""
        D, measurements = len(self.disparities_px), self.planes.read.in_channels
        scores = D * self.planes.score.out_channels
        return 4 * _COPIES * (D * measurements + _PLANES_AT_ONCE * _PLANE_CHANNELS + scores)


class FreqLFPlus(FieldModel[HalfLines]):
    """Lines of views to a mixture over disparity; takes any odd number of views per axis."""

    is_traceable = False  # nothing but loops over planes and half-lines measures costs
    encoder: OcclusionEncoder

    def __init__(
        self, lines: Iterable[str], encoder: OcclusionEncoder, layers: Iterable[HybridLayer], decoder: Decoder
    ) -> None:
        super().__init__(encoder, encoder.channels, layers, decoder)
        self.lines = tuple(lines)

    def pack(self, stacks: Mapping[str, Tensor]) -> HalfLines:
        """All lines, packed by half-lines."""
        return HalfLines.from_stacks(stacks, self.lines)

    def look(self, views: HalfLines, tiling: Tiling = WHOLE) -> Tensor:
        """Appearance, and what half-lines say about planes."""
        features: Tensor = self.encoder(views, tiling)
        return features

    def read_views(self, light_field: LightField, device: torch.device, *, forget: bool = False) -> HalfLines:
        """All lines, packed by half-lines."""
        return read_half_lines(light_field, self.lines, device, forget=forget)

    def footprint(self, views: int) -> Footprint:
        """The field and the normalised views; in a tile, measurements of all planes."""
        return Footprint(
            view_bytes=4 * 3 * views,
            image_bytes=self.field_bytes + 4 * 3 * views,
            tile_bytes=self.encoder.bytes_per_pixel,
            margin_px=self.encoder.reach_px,
        )
