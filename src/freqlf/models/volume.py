"""From a plane sweep to a mixture over disparity: 3D convolutions that see all planes and a wide neighbourhood.

The kernels are the same for all planes, so a disparity that was rare in training is no harder than another, and a
sheared light field gives the sheared answer. The volume has half the resolution; the four pixels of each of its
cells are channels, on the way in and on the way out. The central view decides what passes from cell to cell, as in
guided cost volume excitation (Bangunharcana et al., CoEx, IROS 2021).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from freqlf.models.halflines import HalfLines, spatial_gradient
from freqlf.models.mixture import Mixture
from freqlf.models.scale import scale_weights
from freqlf.models.sweep import MEASUREMENTS, Planes, normalise_contrast, place_planes, sweep_planes

# Pixels of an image per cell of the coarsest volume: windows must begin at multiples of it, see `reach_px`.
COARSEST_CELL_PX = 8
_CELL_PX = 2  # of the finest volume

_PLANES_AT_ONCE = 4
_VOLUMES_HELD = 5  # of the finest level at a time: one that is kept, inputs and outputs of a layer, and a copy

_COLOURS, _GRADIENTS = 3, 2
_FACTS = 4  # about the mixture, in `Finding.knowledge`

_SURFACE_RADIUS_PX = 0.3  # as in `split_surfaces`
_LOGIT_SCALE = 4.0  # a plane is right or wrong by a wide margin, so logits should not be small
_DEVIATION_FLOOR_PX, _INITIAL_DEVIATION_PX = 0.01, 0.15


@dataclass(frozen=True)
class Finding:
    """What a sweep found out.

    mixture: one component per plane, at every pixel.
    knowledge: (B, `SweepPass.knowledge_channels`, H, W), features of the planes it believes in, and how much it does.
    """

    mixture: Mixture
    knowledge: Tensor


class Pointwise(nn.Linear):
    """The same linear map at every cell of a volume (B, C, D, h, w)."""

    def __init__(self, inputs: int, outputs: int, *, gain: float = 1.0, after_activation: bool = True) -> None:
        super().__init__(inputs, outputs)
        scale_weights(self, gain=gain, after_gelu=after_activation)

    def forward(self, volume: Tensor) -> Tensor:
        """Volumes have channels last in memory, so this is one product and copies nothing."""
        return super().forward(volume.permute(0, 2, 3, 4, 1)).permute(0, 4, 1, 2, 3)


class VolumeLayer(nn.Module):
    """v + C(ReLU(v)) with a 3x3x3 kernel C."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.convolution = _make_conv3d(channels, channels, gain=0.5)

    def forward(self, volume: Tensor) -> Tensor:
        """(B, C, D, h, w) to the same."""
        return volume + self.convolution(F.relu(volume))


class Excitation(nn.Module):
    """Scales and shifts the channels of a volume by what the image shows at each place."""

    def __init__(self, context_channels: int, channels: int) -> None:
        super().__init__()
        self.scale = _make_conv2d(context_channels, channels, 1, gain=0.3)
        self.shift = _make_conv2d(context_channels, channels, 1, gain=0.5)

    def forward(self, volume: Tensor, context: Tensor) -> Tensor:
        """volume (B, C, D, h, w), context (B, C', h, w)."""
        seen = F.gelu(context)
        factors = 2 * torch.sigmoid(self.scale(seen))
        return torch.addcmul(self.shift(seen).unsqueeze(2), volume, factors.unsqueeze(2))


class ContextPyramid(nn.Module):
    """Features of the central view at 1/2, 1/4 and 1/8 of its resolution."""

    def __init__(self, inputs: int, channels: Sequence[int]) -> None:
        super().__init__()
        widths = (inputs, *channels)
        self.first = nn.ModuleList(
            _make_conv2d(widths[i], widths[i + 1], 3, stride=1 if i == 0 else 2, after_gelu=i > 0)
            for i in range(len(channels))
        )
        self.second = nn.ModuleList(_make_conv2d(width, width, 3) for width in channels)

    def forward(self, context: Tensor) -> list[Tensor]:
        """(B, inputs, h, w), fine to coarse."""
        levels: list[Tensor] = []
        for first, second in zip(self.first, self.second, strict=True):
            level = first(F.gelu(levels[-1]) if levels else context)
            levels.append(level + second(F.gelu(level)))
        return levels


class SweepPass(nn.Module):
    """Sweeps the planes of the scene's range and decides between them, with an hourglass of three levels.

    channels, context_channels: of the volumes and of the image's features, fine to coarse.
    layers: 3D layers at each level on the way down; on the way up there is one.
    """

    # Pixels around a window that its mixture depends on, in multiples of the coarsest cell.
    # Finest level: 3 kernels of 2 px; then 5 of 4 px, counting both resamplings; then 4 of 8 px.
    reach_px = 64

    def __init__(
        self,
        half_lines: int,
        *,
        step_px: float,
        margin_px: float,
        most_planes: int,
        channels: tuple[int, int, int],
        context_channels: tuple[int, int, int],
        layers: tuple[int, int, int],
    ) -> None:
        super().__init__()
        self.step_px, self.margin_px, self.most_planes = step_px, margin_px, most_planes
        fine, middle, coarse = channels
        measurements = MEASUREMENTS * half_lines
        pixels = _CELL_PX**2
        self.context = ContextPyramid(pixels * _COLOURS + measurements + _GRADIENTS, context_channels)
        self.read = Pointwise(pixels * measurements, 2 * fine, after_activation=False)
        self.mix = Pointwise(2 * fine, fine)
        self.excite = nn.ModuleList(Excitation(c, v) for c, v in zip(context_channels, channels, strict=True))
        self.down = nn.ModuleList(
            nn.Sequential(*[VolumeLayer(width) for _ in range(count)])
            for width, count in zip(channels, layers, strict=True)
        )
        self.shrink = nn.ModuleList(
            _make_conv3d(before, after, stride=(1, 2, 2)) for before, after in ((fine, middle), (middle, coarse))
        )
        self.widen = nn.ModuleList(Pointwise(after, before) for before, after in ((fine, middle), (middle, coarse)))
        self.up = nn.ModuleList(VolumeLayer(c) for c in (fine, middle))
        self.excite_again = Excitation(context_channels[0], fine)
        self.decode = Pointwise(fine, 3 * pixels, gain=0.3)
        self.knowledge_channels = fine + _FACTS
        with torch.no_grad():
            self.decode.bias[2 * pixels :] = math.log(math.expm1(_INITIAL_DEVIATION_PX - _DEVIATION_FLOOR_PX))

    def forward(self, half_lines: HalfLines, slope_px: Tensor) -> Finding:
        """The planes are placed by the slope field (B, 1, H, W)."""
        planes = self.place_planes(slope_px, half_lines.centre)
        return self.decide(half_lines, normalise_contrast(half_lines), planes)

    def place_planes(self, slope_px: Tensor, centre: Tensor) -> Planes:
        """Those of the whole image, whatever window of it is looked at."""
        return place_planes(slope_px, centre, self.step_px, self.margin_px, self.most_planes)

    def decide(self, half_lines: HalfLines, normalised: HalfLines, planes: Planes) -> Finding:
        """What the views and the normalised views say, for the window of the centre that they have."""
        H, W = half_lines.centre.shape[-2:]
        volume, levels = self._look(half_lines, normalised, planes)
        volume = self._update(volume, levels)
        mixture = self._read_mixture(volume, planes, H, W)
        return Finding(mixture, self._gather_knowledge(F.relu(volume), mixture))

    @property
    def bytes_per_plane(self) -> int:
        """Memory that `decide` takes without gradients, per pixel and plane: measurements, then a few fine volumes."""
        measurements = self.read.in_features // _CELL_PX**2
        return 4 * (measurements + _VOLUMES_HELD * self.mix.out_features // _CELL_PX**2)

    @torch.no_grad()
    def _measure(self, half_lines: HalfLines, normalised: HalfLines, planes: Planes) -> tuple[Tensor, Tensor]:
        """Measurements (B, D, measurements, H, W) and what the image's features are made of (B, channels, h, w)."""
        centre = half_lines.centre
        gradients = [spatial_gradient(centre, axis).abs().mean(dim=1, keepdim=True) for axis in ((0, 1), (1, 0))]
        texture = 0.5 * torch.log(torch.cat(gradients, dim=1) + 0.003) + 2
        costs = sweep_planes(half_lines, normalised, planes)
        mean = costs.mean(dim=1)
        costs.sub_(mean.unsqueeze(1)).mul_(2)  # which plane costs less than others is what matters
        costs, mean, texture, centre = (_pad_to_cells(part) for part in (costs, mean, texture, centre - 0.5))
        averages = [F.avg_pool2d(part, _CELL_PX) for part in (mean, texture)]
        image = torch.cat((F.pixel_unshuffle(centre, _CELL_PX), *averages), dim=1)
        return costs, image.contiguous(memory_format=torch.channels_last)

    def _look(self, half_lines: HalfLines, normalised: HalfLines, planes: Planes) -> tuple[Tensor, list[Tensor]]:
        """The volume (B, fine, D, h, w) and the image's features, fine to coarse."""
        costs, image = self._measure(half_lines, normalised, planes)
        # A few planes at a time, for their cells have the most channels of all.
        volume = torch.cat([self._enter(part) for part in costs.split(_PLANES_AT_ONCE, dim=1)], dim=1)
        return volume.permute(0, 4, 1, 2, 3), self.context(image)

    def _enter(self, costs: Tensor) -> Tensor:
        """Measurements (B, D, measurements, H, W) to cells (B, D, h, w, fine)."""
        cells = F.pixel_unshuffle(costs, _CELL_PX).permute(0, 1, 3, 4, 2)
        return F.linear(F.relu(F.linear(cells, self.read.weight, self.read.bias)), self.mix.weight, self.mix.bias)

    def _update(self, volume: Tensor, levels: list[Tensor]) -> Tensor:
        """The hourglass: (B, fine, D, h, w) to the same."""
        kept: list[Tensor] = []
        for index, (excite, layers) in enumerate(zip(self.excite, self.down, strict=True)):
            if index:
                volume = self.shrink[index - 1](F.relu(volume))
            volume = layers(excite(volume, levels[index]))
            kept.append(volume)
        volume = kept.pop()
        for index in (1, 0):
            volume = kept[index] + _double(self.widen[index](F.relu(volume)), kept[index])
            if index == 0:
                volume = self.excite_again(volume, levels[0])
            volume = self.up[index](volume)
        return volume

    def _read_mixture(self, volume: Tensor, planes: Planes, height: int, width: int) -> Mixture:
        """One component per plane, whose mean may leave the plane by a little more than half the distance of planes."""
        outputs = self.decode(F.relu(volume)).transpose(1, 2)  # B, D, 3 * 4, h, w
        outputs = F.pixel_shuffle(outputs, _CELL_PX)[..., :height, :width].float()
        logits, offsets, raw = outputs.unbind(dim=2)
        means = planes.disparities_px[:, :, None, None] + 1.2 * self.step_px * torch.tanh(offsets)
        return Mixture(_LOGIT_SCALE * logits, means, F.softplus(raw) + _DEVIATION_FLOOR_PX)

    def _gather_knowledge(self, features: Tensor, mixture: Mixture) -> Tensor:
        """Features of the planes by their weights, then how the weights are distributed."""
        H, W = mixture.means.shape[-2:]
        weights = mixture.weights  # B, D, H, W
        gathered = torch.einsum("bcdhw,bdhw->bchw", features, F.avg_pool2d(_pad_to_cells(weights), _CELL_PX))
        gathered = F.interpolate(gathered, scale_factor=_CELL_PX, mode="nearest")[..., :H, :W]
        with torch.no_grad():
            distances = (mixture.means - mixture.local_mean(_SURFACE_RADIUS_PX).unsqueeze(1)).abs()
            on_surface = weights * (distances < _SURFACE_RADIUS_PX)
            share = on_surface.sum(dim=1)
            spread = (on_surface * (mixture.deviations.square() + distances.square())).sum(dim=1) / share
            facts = (
                share - 0.5,
                weights.amax(dim=1) - 0.5,
                0.5 * torch.log(mixture.variance().sqrt() + 0.01) + 1,  # of all surfaces
                0.5 * torch.log(spread.sqrt() + 0.003) + 1.5,  # of this one
            )
        return torch.cat((gathered, torch.stack(facts, dim=1)), dim=1)


def _make_conv3d(
    inputs: int, outputs: int, *, gain: float = 1.0, stride: tuple[int, int, int] = (1, 1, 1)
) -> nn.Conv3d:
    convolution = nn.Conv3d(inputs, outputs, 3, padding=1, stride=stride)
    scale_weights(convolution, gain=gain)
    return convolution.to(memory_format=torch.channels_last_3d)  # type: ignore[call-overload]


def _make_conv2d(
    inputs: int, outputs: int, side: int, *, gain: float = 1.0, stride: int = 1, after_gelu: bool = True
) -> nn.Conv2d:
    convolution = nn.Conv2d(inputs, outputs, side, padding=side // 2, stride=stride)
    scale_weights(convolution, gain=gain, after_gelu=after_gelu)
    return convolution


def _pad_to_cells(images: Tensor) -> Tensor:
    """Repeat the last row and column until both sides are multiples of the coarsest cell; (..., H, W)."""
    H, W = images.shape[-2:]
    bottom, right = -H % COARSEST_CELL_PX, -W % COARSEST_CELL_PX
    if not (bottom or right):
        return images
    flat = images.flatten(0, -4)  # F.pad repeats borders of images (N, C, H, W) only
    return F.pad(flat, (0, right, 0, bottom), mode="replicate").unflatten(0, images.shape[:-3])


def _double(volume: Tensor, like: Tensor) -> Tensor:
    """To twice the height and width, bilinearly, plane by plane."""
    planes = volume.transpose(1, 2)  # B, D, C, h, w
    larger = F.interpolate(planes.flatten(0, 1), size=like.shape[-2:], mode="bilinear", align_corners=False)
    return larger.unflatten(0, planes.shape[:2]).transpose(1, 2)
