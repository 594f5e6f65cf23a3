"""Slope fields on views by their contrast."""

import torch

from freqlf.models.halflines import HalfLines
from freqlf.models.opinion import find_other_slopes, normalise_contrast
from freqlf.models.slope import SlopeOptions, estimate_slope

LINES = ("horizontal", "vertical")


def make_shade(plane_stacks, faintness: float) -> HalfLines:
    """A textured plane in the shade: what is left of its texture are a few grey levels."""
    stacks = plane_stacks(0.6, height=64, width=64)
    return HalfLines.from_stacks({line: 0.1 + faintness * (stacks[line] - 0.5) for line in LINES}, LINES)


def test_faint_texture_is_enough(plane_stacks) -> None:
    half_lines = make_shade(plane_stacks, 0.0004)
    opinion = find_other_slopes(half_lines, LINES, (5, 9), (), SlopeOptions())
    assert opinion.surfaces_px.shape == (1, 2, 64, 64)
    inside = (..., slice(8, -8), slice(8, -8))
    error_px = (opinion.surfaces_px - 0.6).abs()[inside]
    raw_px = (estimate_slope(half_lines, SlopeOptions()).slope_px - 0.6).abs()[inside]
    assert error_px.mean() < 0.04
    assert error_px.mean() < 0.7 * raw_px.mean()


def test_contrast_does_not_depend_on_brightness(plane_stacks) -> None:
    bright = normalise_contrast(make_shade(plane_stacks, 0.8))
    dark = normalise_contrast(make_shade(plane_stacks, 0.4))
    # The floor of the deviation counts more in the dark.
    assert (bright.centre - dark.centre).abs().mean() < 0.1 * bright.centre.abs().mean()
    assert bright.views.shape == dark.views.shape


def test_tiles_change_nothing(plane_stacks) -> None:
    half_lines = make_shade(plane_stacks, 0.05)
    whole, tiled = (find_other_slopes(half_lines, LINES, (5,), (5,), SlopeOptions(), tile_px) for tile_px in (None, 24))
    assert torch.equal(whole.surfaces_px, tiled.surfaces_px)
