"""Procedural, band-limited colour textures.

A texture is painted once per surface onto a grid of points. `coordinates` (2, h, w) say where on the surface
each point lies, as (p, q) in texture units; `footprint` (h, w) is how many units one pixel covers there. Every
detail that is finer than two pixels is faded out, so that a texture seen at a grazing angle turns into its mean
colour instead of aliasing.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor
from torch.nn import functional as F

TILE = 512  # texels per side of the periodic tiles below
NOISE_WAVELENGTH = 8.0  # texels
CELL_SIZE = 16.0  # texels
_WRAP = 3  # texels

Rng = np.random.Generator


@cache
def _noise_tile() -> Tensor:
    """(4, 1, side, side): four periodic tiles of one octave of noise, zero mean and unit variance."""
    frequency = np.fft.fftfreq(TILE)
    radius = np.hypot(frequency[:, None], frequency[None, :])
    radius[0, 0] = 1e-9
    octave = np.exp(-0.5 * (np.log2(radius * NOISE_WAVELENGTH) / 0.45) ** 2)
    white = np.random.default_rng(0).standard_normal((4, TILE, TILE))
    tiles = np.fft.ifft2(np.fft.fft2(white) * octave).real
    tiles /= tiles.std(axis=(1, 2), keepdims=True)
    return _wrapped(tiles[:, None])


@cache
def _cell_tile() -> Tensor:
    """(1, 2, side, side): distance to the nearest cell border and to the cell's seed, in cells."""
    cells = round(TILE / CELL_SIZE)
    rng = np.random.default_rng(1)
    seeds = (np.stack(np.meshgrid(range(cells), range(cells)), -1) + rng.uniform(0, 1, (cells, cells, 2))) % cells
    tree = cKDTree(seeds.reshape(-1, 2), boxsize=cells)
    axis = np.arange(TILE) / CELL_SIZE
    distances, _ = tree.query(np.stack(np.meshgrid(axis, axis), -1), k=2)
    return _wrapped(np.stack([distances[..., 1] - distances[..., 0], distances[..., 0]])[None])


def _wrapped(tiles: np.ndarray) -> Tensor:
    """Continue the tiles by `_WRAP` texels on all sides, so that interpolation across the seam is no special case."""
    pad = (_WRAP, _WRAP)
    return torch.from_numpy(np.pad(tiles, ((0, 0), (0, 0), pad, pad), mode="wrap")).float()


def _sample_tile(tile: Tensor, p: Tensor, q: Tensor, mode: str = "bilinear") -> Tensor:
    """Look up a periodic (1, C, side, side) tile at texel (p, q) of shape (h, w): (C, h, w)."""
    grid = torch.stack([p, q], dim=-1).remainder_(TILE).add_(_WRAP).mul_(2 / (TILE + 2 * _WRAP - 1)).sub_(1)
    return F.grid_sample(tile, grid[None], mode=mode, align_corners=True, padding_mode="border")[0]


def measure_footprint(coordinates: Tensor, texels_per_px: float) -> Tensor:
    """Texture units per pixel (h, w), along the direction in which `coordinates` (2, h, w) change fastest."""
    along_y = torch.hypot(*torch.diff(coordinates, dim=1))
    along_x = torch.hypot(*torch.diff(coordinates, dim=2))
    fastest = torch.maximum(torch.cat([along_y, along_y[-1:]], dim=0), torch.cat([along_x, along_x[:, -1:]], dim=1))
    return (fastest * texels_per_px).clamp_min_(1e-6)


def _visible(frequency: float, footprint: Tensor) -> Tensor:
    """Amplitude that survives at `frequency` (cycles per unit): 1 below 0.25 cycles per pixel, 0 above 0.5."""
    ramp = ((0.5 - frequency * footprint) / 0.25).clamp_(0, 1)
    return ramp * ramp * (3 - 2 * ramp)


def fractal_noise(
    rng: Rng,
    coordinates: Tensor,
    footprint: Tensor,
    wavelength: float,
    gain: float,
    stretch: float = 1.0,
    octaves: int = 8,
) -> Tensor:
    """(h, w) noise with about unit variance; amplitude falls by `gain` per octave below `wavelength` (units)."""
    finest, coarsest = float(footprint.min()), float(footprint.max())
    total = torch.zeros_like(footprint)
    power = 0.0
    for octave in range(octaves):
        frequency = 2.0**octave / wavelength
        angle, shift_p, shift_q = rng.uniform(0, 2 * math.pi), *rng.uniform(0, TILE, 2)
        tile = _noise_tile()[int(rng.integers(4))][None]
        amplitude = gain**octave
        power += amplitude**2
        if frequency * finest > 0.5:
            continue  # keep drawing: what follows must not depend on the resolution
        if stretch != 1.0:
            angle = 0.0  # the grain of stretched noise keeps one direction through all octaves
        scale = frequency * NOISE_WAVELENGTH
        cos, sin = math.cos(angle) * scale, math.sin(angle) * scale
        p, q = coordinates[0] / stretch, coordinates[1]
        # Where a texel covers several pixels, linear interpolation would show as facets.
        mode = "bicubic" if scale * finest < 0.7 else "bilinear"
        layer = _sample_tile(tile, p * cos - q * sin + shift_p, p * sin + q * cos + shift_q, mode)[0]
        if frequency * coarsest > 0.25:
            layer *= _visible(frequency, footprint)
        total.add_(layer, alpha=amplitude)
    return total / math.sqrt(power)


# --- colour ----------------------------------------------------------------------------------------------


def random_colour(rng: Rng) -> Tensor:
    """(3,) in [0, 1]: mostly muted, as things in a room are, sometimes vivid; dark to bright."""
    lightness = rng.beta(1.6, 1.6) * 0.8 + 0.12
    saturation = rng.beta(1.2, 3.5) if rng.random() < 0.85 else rng.uniform(0.4, 1.0)
    hue = rng.uniform(0, 1) if rng.random() < 0.5 else rng.normal(0.93, 0.08)  # half of all is wood, clay, skin, paper
    channels = 0.5 + 0.5 * np.cos(2 * math.pi * (hue + np.array([0.0, 1 / 3, 2 / 3])))
    rgb = lightness * (1 - saturation + saturation * channels / max(channels.max(), 1e-6))
    return torch.tensor(np.clip(rgb, 0.01, 0.99), dtype=torch.float32)


def _related_colour(rng: Rng, colour: Tensor, contrast: float) -> Tensor:
    """A colour at distance `contrast` from `colour`: neighbouring parts of one thing share their tint."""
    step = rng.choice([-1.0, 1.0]) * contrast * np.array([1.0, 1.0, 1.0]) + rng.normal(0, 0.35 * contrast, 3)
    return (colour + torch.tensor(step, dtype=torch.float32)).clamp(0.01, 0.99)


def _draw_contrast(rng: Rng) -> float:
    """Between the parts of one texture: faint about as often as strong."""
    return float(np.exp(rng.uniform(np.log(0.03), np.log(0.5))))


def _mix(first: Tensor, second: Tensor, weight: Tensor) -> Tensor:
    """(3, h, w): `first` where weight (h, w) is 0, `second` where it is 1; both are (3,) or (3, h, w)."""
    first = first if first.dim() == 3 else first[:, None, None]
    second = second if second.dim() == 3 else second[:, None, None]
    return first + (second - first) * weight


def _ramp(rng: Rng, values: Tensor, contrast: float) -> Tensor:
    """Map (h, w) noise to colours through two to four related colours."""
    base = random_colour(rng)
    stops = [base] + [_related_colour(rng, base, contrast * rng.uniform(0.4, 1.2)) for _ in range(rng.integers(1, 4))]
    position = torch.sigmoid(1.5 * values) * (len(stops) - 1)
    colour = _mix(stops[0], stops[1], position.clamp(0, 1))
    for index in range(1, len(stops) - 1):
        colour = _mix(colour, stops[index + 1], (position - index).clamp(0, 1))
    return colour


# --- textures: (rng, coordinates, footprint, size) -> (3, h, w), `size` being the surface's extent in units ---


def paint_plain(rng: Rng, coordinates: Tensor, footprint: Tensor, size: float) -> Tensor:
    """Nearly no texture: one colour, a faint gradient and at most a trace of grain."""
    angle = rng.uniform(0, 2 * math.pi)
    along = (coordinates[0] * math.cos(angle) + coordinates[1] * math.sin(angle)) / size
    change = rng.uniform(-0.2, 0.2) * torch.tanh(along)
    if rng.random() < 0.6:
        grain = fractal_noise(rng, coordinates, footprint, rng.uniform(4, 30), 0.8)
        change = change + 10 ** rng.uniform(-3.0, -1.7) * grain
    return random_colour(rng)[:, None, None] * (1 + change)


def paint_faint(rng: Rng, coordinates: Tensor, footprint: Tensor, size: float) -> Tensor:
    """A wall in the shade: dark, with a gradient of light and grain of a few grey levels at most."""
    lightness = float(np.exp(rng.uniform(np.log(0.03), np.log(0.35))))
    tint = torch.tensor(rng.normal(1, 0.08, 3), dtype=torch.float32)
    light = smooth_field(rng, coordinates, size * rng.uniform(0.8, 2)).clamp(-2, 2)
    grain = fractal_noise(rng, coordinates, footprint, float(np.exp(rng.uniform(np.log(3.0), np.log(60.0)))), 0.85)
    levels = float(np.exp(rng.uniform(np.log(0.7), np.log(5.0)))) / 255
    return (lightness * tint)[:, None, None] * (1 + rng.uniform(0, 0.3) * light) + levels * grain


def paint_fractal(rng: Rng, coordinates: Tensor, footprint: Tensor, size: float) -> Tensor:
    """Noise over many octaves; with a gain near 1 its spectrum falls as 1/f, like a photograph's."""
    wavelength = float(np.exp(rng.uniform(np.log(8.0), np.log(max(16.0, size)))))
    values = fractal_noise(rng, coordinates, footprint, wavelength, rng.uniform(0.5, 1.0))
    colour = _ramp(rng, values * rng.uniform(0.6, 1.6), _draw_contrast(rng))
    tint = fractal_noise(rng, coordinates, footprint, wavelength * 2, 0.7, octaves=4)
    shift = torch.tensor(rng.normal(0, 0.04, 3), dtype=torch.float32)
    return colour + shift[:, None, None] * tint


def _paint_marble(rng: Rng, coordinates: Tensor, footprint: Tensor, size: float) -> Tensor:
    """Bands bent by noise: veins, agate, crumpled cloth."""
    period = float(np.exp(rng.uniform(np.log(10.0), np.log(max(20.0, size / 2)))))
    bend = fractal_noise(rng, coordinates, footprint, period * rng.uniform(1, 4), rng.uniform(0.4, 0.7))
    angle = rng.uniform(0, 2 * math.pi)
    along = coordinates[0] * math.cos(angle) + coordinates[1] * math.sin(angle)
    bands = torch.sin(2 * math.pi * along / period + rng.uniform(0.5, 3) * bend)
    grain = fractal_noise(rng, coordinates, footprint, 12.0, 0.9)
    return _ramp(rng, (1.3 * bands + rng.uniform(0, 0.3) * grain) * _visible(3 / period, footprint), 0.35)


def _paint_grain(rng: Rng, coordinates: Tensor, footprint: Tensor, size: float) -> Tensor:
    """Noise drawn out along one direction: wood, brushed metal, fabric."""
    angle = rng.uniform(0, math.pi)
    cos, sin = math.cos(angle), math.sin(angle)
    turned = torch.stack([coordinates[0] * cos - coordinates[1] * sin, coordinates[0] * sin + coordinates[1] * cos])
    wavelength = float(np.exp(rng.uniform(np.log(6.0), np.log(max(12.0, size / 5)))))
    values = fractal_noise(rng, turned, footprint, wavelength, rng.uniform(0.6, 0.95), stretch=rng.uniform(4, 20))
    return _ramp(rng, values, 0.7 * _draw_contrast(rng))


def _paint_cells(rng: Rng, coordinates: Tensor, footprint: Tensor, size: float) -> Tensor:
    """Irregular cells with joints: cobbles, leather, cracked paint."""
    cell = float(np.exp(rng.uniform(np.log(10.0), np.log(max(20.0, size / 4)))))
    scaled = coordinates / cell * CELL_SIZE
    border, seed = _sample_tile(_cell_tile(), scaled[0] + rng.uniform(0, TILE), scaled[1] + rng.uniform(0, TILE))
    joint = rng.uniform(0.05, 0.2)
    softness = (1.5 * footprint / cell).clamp_min(0.08)
    body = ((border - joint) / softness + 0.5).clamp(0, 1)
    visible = _visible(1.5 / cell, footprint)
    body = body * visible + 0.8 * (1 - visible)
    dome = 1 - rng.uniform(0, 0.5) * seed * visible
    stone = paint_fractal(rng, coordinates, footprint, size)
    return _mix(random_colour(rng) * 0.5, stone * dome, body)


def _paint_pattern(rng: Rng, coordinates: Tensor, footprint: Tensor, size: float) -> Tensor:
    """Regular stripes, checks, dots, bricks or plaid, with worn colours."""
    period = float(np.exp(rng.uniform(np.log(7.0), np.log(max(14.0, size / 3)))))
    angle = rng.choice([0.0, math.pi / 4, rng.uniform(0, math.pi)])
    cos, sin = math.cos(angle) / period, math.sin(angle) / period
    p = coordinates[0] * cos - coordinates[1] * sin + rng.uniform(0, 1)
    q = coordinates[0] * sin + coordinates[1] * cos + rng.uniform(0, 1)
    softness = (1.2 * footprint / period).clamp_min(rng.choice([0.0, 0.05, 0.3]))

    def band(phase: Tensor, duty: float) -> Tensor:
        """1 in the middle `duty` of every period, with soft edges."""
        return ((0.5 * duty - (phase.remainder(1) - 0.5).abs()) / softness + 0.5).clamp(0, 1)

    duty = rng.uniform(0.25, 0.75)
    match rng.integers(5):
        case 0:
            shape = band(p, duty)
        case 1:
            first, second = band(p, 0.5), band(q, 0.5)
            shape = first + second - 2 * first * second
        case 2:
            distance = torch.hypot(p.remainder(1) - 0.5, q.remainder(1) - 0.5)
            shape = ((rng.uniform(0.15, 0.42) - distance) / softness + 0.5).clamp(0, 1)
        case 3:
            row = torch.floor(2 * q)
            shape = band(p + 0.5 * row.remainder(2), rng.uniform(0.85, 0.95)) * band(2 * q, rng.uniform(0.75, 0.9))
        case _:
            shape = 0.5 * band(p, duty) + 0.5 * band(q * rng.choice([1.0, 2.0]), rng.uniform(0.2, 0.8))
    visible = _visible(1.5 / period, footprint)
    shape = shape * visible + shape.mean() * (1 - visible)
    base = random_colour(rng)
    other = random_colour(rng) if rng.random() < 0.4 else _related_colour(rng, base, _draw_contrast(rng))
    wear = fractal_noise(rng, coordinates, footprint, max(10.0, size / 4), 0.8)
    return _mix(base, other, shape) * (1 + rng.uniform(0, 0.12) * wear)


def _paint_print(rng: Rng, coordinates: Tensor, footprint: Tensor, size: float) -> Tensor:
    """Flat shapes of all sizes over one another: a poster, a label, a book cover."""
    colour = random_colour(rng)[:, None, None].expand(3, *footprint.shape)
    centre = coordinates.mean(dim=(1, 2))
    for _ in range(rng.integers(6, 22)):
        p0, q0 = centre + torch.tensor(rng.uniform(-0.6, 0.6, 2) * size, dtype=torch.float32)
        half_p, half_q = size * np.exp(rng.uniform(np.log(0.01), np.log(0.3), 2))
        angle = rng.choice([0.0, 0.0, rng.uniform(0, math.pi)])
        cos, sin = math.cos(angle), math.sin(angle)
        p = (coordinates[0] - p0) * cos - (coordinates[1] - q0) * sin
        q = (coordinates[0] - p0) * sin + (coordinates[1] - q0) * cos
        if rng.random() < 0.6:
            inside = torch.minimum(half_p - p.abs(), half_q - q.abs())
        else:
            inside = (1 - torch.hypot(p / half_p, q / half_q)) * min(half_p, half_q)
        coverage = (inside / footprint.clamp_min(1e-6) + 0.5).clamp(0, 1)
        thin = min(1.0, 2 * min(half_p, half_q) / float(footprint.min()))
        colour = _mix(colour, random_colour(rng), coverage * thin * rng.choice([1.0, 0.6]))
    wear = fractal_noise(rng, coordinates, footprint, max(10.0, size / 4), 0.8)
    return colour * (1 + rng.uniform(0, 0.08) * wear)


def _paint_mixture(rng: Rng, coordinates: Tensor, footprint: Tensor, size: float) -> Tensor:
    """Two textures in patches: stains, moss, worn paint."""
    patches = fractal_noise(rng, coordinates, footprint, max(20.0, size * rng.uniform(0.15, 0.8)), 0.6)
    weight = torch.sigmoid(rng.uniform(2, 12) * (patches - rng.uniform(-0.5, 0.5)))
    first = _paint_basic(rng, coordinates, footprint, size)
    return _mix(first, _paint_basic(rng, coordinates, footprint, size), weight)


Painter = Callable[[Rng, Tensor, Tensor, float], Tensor]
_BASIC: dict[Painter, float] = {
    paint_plain: 0.20,
    paint_fractal: 0.30,
    _paint_marble: 0.06,
    _paint_grain: 0.10,
    _paint_cells: 0.08,
    _paint_pattern: 0.16,
    _paint_print: 0.10,
}


def _paint_basic(rng: Rng, coordinates: Tensor, footprint: Tensor, size: float) -> Tensor:
    painters = list(_BASIC)
    painter = painters[rng.choice(len(painters), p=list(_BASIC.values()))]
    return painter(rng, coordinates, footprint, size)


def paint(rng: Rng, coordinates: Tensor, footprint: Tensor, size: float) -> Tensor:
    """Paint a random texture: (3, h, w) colours at `coordinates` (2, h, w).

    A unit should be about a pixel where the surface is usually seen; `size` is the surface's extent in units
    (it bounds the coarsest detail).
    """
    painter = _paint_mixture if rng.random() < 0.12 else _paint_basic
    return painter(rng, coordinates, footprint, size)


def smooth_field(rng: Rng, coordinates: Tensor, wavelength: float) -> Tensor:
    """(h, w) slowly varying field of about unit variance, for illumination and relief."""
    return fractal_noise(rng, coordinates, torch.full(coordinates.shape[1:], 1e-6), wavelength, 0.5, octaves=3)
