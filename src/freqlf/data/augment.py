"""Variations of samples that keep views and ground truth consistent.

The order is that of a camera: colours of the scene, geometry and blur of the lens, exposure, noise of the sensor.
"""

import math
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import torch
from torch import Tensor

from freqlf.data.samples import Sample
from freqlf.data.sampling import Augmentation

_LOBES = 3  # of the interpolating kernel; linear interpolation would blur views by fractions of their shift


def flip_randomly(sample: Sample, rng: Random) -> Sample:
    """Mirror left and right, or top and bottom, or both, or neither."""
    if rng.random() < 0.5:
        sample = sample.flipped_horizontally()
    if rng.random() < 0.5:
        sample = sample.flipped_vertically()
    return sample


def vary_colours(sample: Sample, options: Augmentation, rng: Random) -> Sample:
    """8-bit pixels to floats, with other colours. The same change for all views."""
    channels = list(range(3))
    if options.swap_colours:
        rng.shuffle(channels)
    gamma = math.exp(rng.uniform(-options.gamma, options.gamma))
    gains = [rng.uniform(options.gain_low, options.gain_high) for _ in range(3)]
    # 256 levels per channel: a table is cheaper than powers of every pixel.
    levels = (np.arange(256, dtype=np.float32) / 255) ** np.float32(gamma)
    pixels = sample.views.numpy()
    views = np.empty(pixels.shape, np.float32)
    for target, source in enumerate(channels):
        np.take(levels * np.float32(gains[target]), pixels[:, source], out=views[:, target], mode="clip")
    return replace(sample, views=torch.from_numpy(views))


def vary_exposure(sample: Sample, options: Augmentation, rng: Random) -> Sample:
    """Each view a little brighter or darker."""
    if options.exposure == 0:
        return sample
    factors = [math.exp(rng.uniform(-options.exposure, options.exposure)) for _ in sample.steps]
    return replace(sample, views=sample.views * torch.tensor(factors).view(-1, 1, 1, 1))


def add_noise(sample: Sample, options: Augmentation, rng: Random) -> Sample:
    """Sensor noise, independent in each view, colour and pixel; what would be below black or above white is cut off."""
    if options.noise == 0 or rng.random() >= options.noise_probability:
        return sample
    deviation = rng.uniform(0, options.noise)
    generator = torch.Generator().manual_seed(rng.getrandbits(62))
    noise = torch.randn(sample.views.shape, generator=generator)
    return replace(sample, views=sample.views.add(noise, alpha=deviation).clamp_(0, 1))


@dataclass(frozen=True)
class Geometry:
    """A resampling of all views: scale, then shear, then misalignment and blur, in pixels of the result."""

    scale: float = 1.0
    shear_px: float = 0.0
    blur_px: float = 0.0
    misalignment_px: tuple[tuple[float, float], ...] = ()  # per view (down, right); the central one's is ignored

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing."""
        moved = any(shift for pair in self.misalignment_px for shift in pair)
        return self.scale == 1 and self.shear_px == 0 and self.blur_px == 0 and not moved

    def margin_px(self, reach: int) -> int:
        """Pixels of the source needed around a window, for views up to `reach` steps from the centre."""
        moved = max((abs(shift) for pair in self.misalignment_px for shift in pair), default=0.0)
        kernel = _LOBES * max(1.0, self.scale) + 3 * self.blur_px
        return math.ceil((reach * abs(self.shear_px) + moved + kernel) / self.scale) + 1


def draw_geometry(options: Augmentation, views: int, rng: Random) -> Geometry:
    """Random amounts for a sample with this number of views."""
    if rng.random() >= options.geometry_probability:
        return Geometry()
    scale = math.exp(rng.uniform(-1, 1) * math.log(options.scale))
    shear_px = rng.uniform(-options.shear_px, options.shear_px)
    if rng.random() < 0.5:  # whole pixels need no interpolation, so the model also sees views that are as sharp as ever
        shear_px = float(round(shear_px))
    blur_px = rng.uniform(0, options.blur_px)
    misalignment_px: tuple[tuple[float, float], ...] = ()
    if options.misalignment_px > 0:
        limit_px = options.misalignment_px
        misalignment_px = tuple(
            (rng.uniform(-limit_px, limit_px), rng.uniform(-limit_px, limit_px)) for _ in range(views)
        )
    return Geometry(scale, shear_px, blur_px, misalignment_px)


def resample(source: Sample, geometry: Geometry, y: float, x: float, height: int, width: int) -> Sample:
    """The window of the transformed scene whose top left pixel was at (y, x) of the source, which has float views.

    Where a view would need pixels from outside the source, the edge is repeated.
    """
    shifts_px = [
        geometry.misalignment_px[i] if geometry.misalignment_px else (0.0, 0.0) for i in range(len(source.steps))
    ]
    shifts = torch.tensor(
        [
            # A sheared view shows what lay shear * step further on, see LightField.sheared.
            (geometry.shear_px * u - down, geometry.shear_px * v - right) if (u, v) != (0, 0) else (0.0, 0.0)
            for (u, v), (down, right) in zip(source.steps, shifts_px, strict=True)
        ],
        dtype=torch.float64,
    )
    shifts = shifts / geometry.scale  # from here on in pixels of the source
    vertical = _resampling_matrices(y + shifts[:, 0], height, source.height, geometry).unsqueeze(1)
    horizontal = _resampling_matrices(x + shifts[:, 1], width, source.width, geometry).unsqueeze(1)
    rows, rows_inside = _nearest(y, height, source.height, geometry.scale)
    columns, columns_inside = _nearest(x, width, source.width, geometry.scale)
    # Disparity is looked up, not interpolated: between two surfaces there is no third one.
    disparity_px = source.disparity_px[rows][:, columns] * geometry.scale + geometry.shear_px
    return replace(
        source,
        views=vertical @ source.views @ horizontal.transpose(-1, -2),
        disparity_px=disparity_px,
        valid=source.valid[rows][:, columns] & rows_inside.unsqueeze(1) & columns_inside,
    )


def _nearest(first: float, count: int, length: int, scale: float) -> tuple[Tensor, Tensor]:
    """The pixels of the source nearest to those of the result, and whether they really are where they should be."""
    wanted = (first + torch.arange(count) / scale).round().long()
    pixels = wanted.clamp(0, length - 1)
    return pixels, pixels == wanted


def _resampling_matrices(first: Tensor, count: int, length: int, geometry: Geometry) -> Tensor:
    """(V, count, length): for each view, how `length` pixels make up `count` ones, beginning at first (V,)."""
    blur_reach = math.ceil(3 * geometry.blur_px)
    places = torch.arange(-blur_reach, count + blur_reach) / geometry.scale
    positions = first.unsqueeze(-1) + places  # (V, n)
    spread = max(1.0, 1 / geometry.scale)  # a smaller result averages over more pixels, or it would alias
    taps = math.ceil(_LOBES * spread)
    indices = positions.floor().unsqueeze(-1) + torch.arange(1 - taps, taps + 1)  # (V, n, 2 taps)
    distance = (indices - positions.unsqueeze(-1)) / spread
    weights = torch.where(distance.abs() < _LOBES, torch.sinc(distance) * torch.sinc(distance / _LOBES), 0.0)
    weights = weights / weights.sum(-1, keepdim=True)
    matrices = torch.zeros(*positions.shape, length, dtype=weights.dtype)
    matrices.scatter_add_(-1, indices.clamp(0, length - 1).long(), weights)
    if geometry.blur_px > 0:
        matrices = _blur_matrix(count, blur_reach, geometry.blur_px) @ matrices
    return matrices.float()


def _blur_matrix(count: int, reach: int, deviation_px: float) -> Tensor:
    """(count, count + 2 reach): a Gaussian around each pixel."""
    offsets = torch.arange(count + 2 * reach) - reach - torch.arange(count).unsqueeze(1)
    weights = torch.exp(-0.5 * (offsets.double() / deviation_px).square()) * (offsets.abs() <= reach)
    return weights / weights.sum(1, keepdim=True)
