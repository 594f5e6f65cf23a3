import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.lightfield import LINES, LightField
from freqlf.models.halflines import HalfLines
from freqlf.models.slope import SlopeOptions, estimate_slope


def slope_of(stacks: dict[str, torch.Tensor], lines: tuple[str, ...] = ("horizontal", "vertical")) -> torch.Tensor:
    return estimate_slope(HalfLines.from_stacks(stacks, lines), SlopeOptions()).slope_px


@pytest.mark.parametrize("disparity_px", [-1.8, -0.4, 0.0, 1.1, 2.3])
def test_finds_the_disparity_of_a_plane(plane_stacks, disparity_px: float) -> None:
    slope = slope_of(plane_stacks(disparity_px, rows=9, columns=9, height=96, width=80))
    error = (slope - disparity_px)[..., 12:-12, 12:-12].abs()
    assert error.median() < 0.01
    assert error.max() < 0.1


@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (5, 5), (9, 7)])
def test_any_number_of_views_and_any_lines(plane_stacks, rows: int, columns: int) -> None:
    stacks = plane_stacks(0.6, rows=rows, columns=columns, height=48, width=56)
    for lines in (("horizontal",), ("horizontal", "vertical"), tuple(stacks)):
        slope = slope_of(stacks, lines)
        assert slope.shape == (1, 1, 48, 56)
        assert (slope - 0.6)[..., 8:-8, 8:-8].abs().median() < 0.02


def test_transposing_the_light_field_transposes_the_slope(render_plane, stacks_of) -> None:
    light_field = LightField.from_array(render_plane(0.6, rows=5, columns=7, height=40, width=52))
    before, after = slope_of(stacks_of(light_field)), slope_of(stacks_of(light_field.transposed()))
    assert torch.allclose(after, before.transpose(-1, -2), atol=1e-4)


def test_a_flat_image_stays_at_zero(plane_stacks) -> None:
    stacks = {name: torch.full_like(stack, 0.5) for name, stack in plane_stacks(1.0).items()}
    assert torch.all(slope_of(stacks) == 0)


def test_tiny_images_use_the_finest_scale_only(plane_stacks) -> None:
    assert slope_of(plane_stacks(0.2, height=5, width=3)).isfinite().all()


@pytest.mark.parametrize("tile_px", [7, 16, 100])
def test_tiles_change_nothing(plane_stacks, tile_px: int) -> None:
    half_lines = HalfLines.from_stacks(plane_stacks(0.7, height=41, width=52), ["horizontal", "vertical"])
    whole, tiled = (estimate_slope(half_lines, SlopeOptions(), side_px) for side_px in (None, tile_px))
    assert torch.allclose(tiled.slope_px, whole.slope_px, atol=1e-5)
    assert torch.allclose(tiled.support_px, whole.support_px, atol=1e-5)


def test_surfaces_without_texture_take_the_slope_of_their_surroundings(plane_stacks) -> None:
    stacks = plane_stacks(1.5, rows=9, columns=9, height=160, width=160)
    y, x = torch.arange(160.0)[:, None], torch.arange(160.0)[None, :]
    for name, stack in stacks.items():  # a patch of one grey, that lies in the plane
        for place, step in enumerate(range(-4, 5)):
            du, dv = LINES[name]
            patch = ((y + 1.5 * du * step - 80).abs() < 20) & ((x + 1.5 * dv * step - 80).abs() < 20)
            stack[:, place, :, patch] = 0.5
    field = estimate_slope(HalfLines.from_stacks(stacks, ("horizontal", "vertical")), SlopeOptions())
    assert field.support_px.shape == (1, 1, 160, 160)
    assert (field.support_px - 1.5)[..., 70:90, 70:90].abs().max() < 0.15
    noise = {name: stack + 0.01 * torch.randn(stack.shape) for name, stack in stacks.items()}
    noisy = estimate_slope(HalfLines.from_stacks(noise, ("horizontal", "vertical")), SlopeOptions())
    assert (noisy.support_px - 1.5)[..., 70:90, 70:90].abs().max() < 0.5


def test_options_are_checked() -> None:
    with pytest.raises(FreqLFError, match="one number of steps per scale"):
        SlopeOptions(scales=(2, 1), steps=(1,))
    with pytest.raises(FreqLFError, match="last scale must be 1"):
        SlopeOptions(scales=(4, 2), steps=(1, 1))
    with pytest.raises(FreqLFError, match="odd"):
        SlopeOptions(window_px=4)
