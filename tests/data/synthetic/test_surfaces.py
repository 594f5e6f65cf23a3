"""Rays meet surfaces where the sign convention says, and the nearest surface wins."""

import pytest
import torch

from freqlf.data.synthetic.scene import _ray_offsets
from freqlf.data.synthetic.surfaces import TEXELS_PER_PX, Patch, Rays, Surface, SurfaceStack, limit_factor

HEIGHT, WIDTH = 20, 30
CENTRES = torch.zeros(1, 2)


def rays(s, t, offsets=CENTRES):
    return Rays.through(s, t, range(HEIGHT), range(WIDTH), offsets)


def make_surface(plane, inside=None, relief=None, colour=0.5):
    """A surface over the whole view and 20 pixels beyond; `inside` and `relief` are functions of (y, x)."""
    patch = Patch.around(-20, -20, HEIGHT + 20, WIDTH + 20)
    y, x = patch.pixels()
    fill = torch.full((3, patch.rows, patch.columns), colour)
    grids = [None if function is None else function(y, x) + 0 * (x + y) for function in (inside, relief)]
    return Surface(patch, plane, fill, *grids)


@pytest.mark.parametrize(("s", "t"), [(0, 0), (2, -3), (-4, 4), (1, 0)])
def test_a_slanted_plane_is_met_where_its_disparity_says(s, t):
    a, b, c = 0.7, 0.03, -0.05
    disparity, _ = SurfaceStack([make_surface((a, b, c))]).trace(rays(s, t))
    y, x = torch.arange(HEIGHT)[:, None] + s * disparity[0], torch.arange(WIDTH) + t * disparity[0]
    torch.testing.assert_close(disparity[0], a + b * x + c * y, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("s", "t"), [(0, 0), (2, -3), (-4, 4)])
def test_a_curved_surface_is_met_within_a_ten_thousandth_of_a_pixel(s, t):
    def bumps(y, x):
        return 0.4 * torch.sin(0.2 * y) * torch.cos(0.15 * x)

    surface = make_surface((1.0, 0.01, 0.0), relief=bumps)
    assert surface.steepness(4, 4) < 0.9
    disparity, _ = SurfaceStack([surface]).trace(rays(s, t))
    y, x = torch.arange(HEIGHT)[:, None] + s * disparity[0], torch.arange(WIDTH) + t * disparity[0]
    grid = surface.patch.locate(rays(s, t), disparity)
    relief = torch.nn.functional.grid_sample(surface.relief[None, None], grid, align_corners=True)[0, 0]
    torch.testing.assert_close(disparity[0], 1 + 0.01 * x + relief, atol=2e-5, rtol=0)
    # The texels are fine enough that it is also the function itself.
    torch.testing.assert_close(disparity[0], 1 + 0.01 * x + bumps(y, x), atol=2e-3, rtol=0)


def test_the_nearest_surface_wins_and_planes_may_cross():
    first, second = make_surface((0.0, 0.1, 0.0)), make_surface((1.5, 0.0, 0.0))
    disparity, number = SurfaceStack([first, second]).trace(rays(0, 0))
    x = torch.arange(WIDTH)
    torch.testing.assert_close(disparity[0, 0], torch.clamp(0.1 * x, min=1.5))
    assert (number[0, 0][x < 15] == 1).all()
    assert (number[0, 0][x > 15] == 0).all()


def test_an_outline_moves_with_its_disparity():
    """An edge at x = 10 with disparity 2 is at x = 4 three views to the right; a disparity of 0 stays."""
    behind = make_surface((0.0, 0.0, 0.0), colour=0.0)
    before = make_surface((2.0, 0.0, 0.0), inside=lambda y, x: 10 - x, colour=1.0)
    stack = SurfaceStack([before, behind])
    for t in (0, 3):
        here = rays(0, t)
        colour = stack.look_up(here, *stack.trace(here))[0, 0]
        assert (colour[:, : 10 - 2 * t] == 1).all()
        assert (colour[:, 11 - 2 * t :] == 0).all()


def test_a_plane_seen_from_behind_is_not_drawn():
    edge_on = make_surface((5.0, 0.5, 0.0), inside=lambda y, x: 1 + 0 * x)
    stack = SurfaceStack([edge_on, make_surface((0.0, 0.0, 0.0))])
    assert (stack.trace(rays(0, 0))[1] == 0).all()
    assert (stack.trace(rays(0, 4))[1] == 1).all()


def test_the_factor_is_limited_by_the_steepest_background():
    gentle, steep = make_surface((0.0, 0.01, 0.0)), make_surface((0.0, 0.05, 0.05))
    factor = limit_factor([gentle, steep], 4, 4)
    assert steep.rescaled(factor, 1.0).steepness(4, 4) == pytest.approx(0.7)


def test_colours_of_many_surfaces_do_not_mix():
    surfaces = [make_surface((float(d), 0.0, 0.0), lambda y, x, d=d: 3.0 * d + 3 - x, colour=d / 10) for d in range(9)]
    surfaces[0] = make_surface((-1.0, 0.0, 0.0), colour=0.95)
    stack = SurfaceStack(surfaces)
    here = rays(0, 0)
    disparity, number = stack.trace(here)
    colours = torch.tensor([0.95, *(d / 10 for d in range(1, 9))])
    torch.testing.assert_close(stack.look_up(here, disparity, number)[0, 0], colours[number[0]])


@pytest.mark.parametrize("count", [1, 2, 4, 5, 8, 9, 13])
def test_rays_are_spread_evenly_over_the_pixel(count):
    offsets = _ray_offsets(count)
    even = (torch.arange(count) + 0.5) / count - 0.5
    for axis in (0, 1):
        torch.testing.assert_close(offsets[:, axis].sort().values, even)


def test_texels_of_a_cropped_patch_stay_where_they_are():
    patch = Patch.around(-3.4, 2.2, 10, 12)
    y, x = patch.pixels()
    cropped_y, cropped_x = patch.cropped(2, 3, 9, 8).pixels()
    torch.testing.assert_close(cropped_y, y[2:9])
    torch.testing.assert_close(cropped_x, x[:, 3:8])
    assert y[1, 0] - y[0, 0] == 1 / TEXELS_PER_PX
