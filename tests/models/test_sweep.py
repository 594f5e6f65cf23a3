from dataclasses import replace

import pytest
import torch

from freqlf.models.halflines import HalfLines
from freqlf.models.kernels.planes import sweep_fused
from freqlf.models.sweep import MEASUREMENTS, Planes, normalise_contrast, place_planes, sweep_by_warping, sweep_planes

STAR = ("horizontal", "vertical", "diagonal", "antidiagonal")


def random_half_lines(views: int = 5, height: int = 31, width: int = 44, batch: int = 1) -> HalfLines:
    generator = torch.Generator().manual_seed(0)
    stacks = {line: torch.rand(batch, views, 3, height, width, generator=generator) for line in STAR}
    return HalfLines.from_stacks(stacks, STAR)


@pytest.mark.parametrize(("views", "height", "width"), [(3, 17, 40), (9, 32, 33), (17, 25, 31)])
def test_fused_loop_equals_warps(views: int, height: int, width: int) -> None:
    half_lines = random_half_lines(views, height, width, batch=2)
    # No disparity that puts pixels exactly on the end of a frame: rounding decides there.
    disparities_px = torch.tensor([-3.013, -1.0, -0.26, 0.0, 0.511, 2.0, 4.77])
    for part in (half_lines, half_lines.window(3, 5, 11, 19), normalise_contrast(half_lines)):
        for b in range(2):
            fused = sweep_fused(part, b, disparities_px, 0.003)
            warped = sweep_by_warping(part, b, disparities_px, 0.003)
            unseen = warped[0] < 0
            assert ((fused[0] < 0) == unseen).all()
            torch.testing.assert_close(fused[0][~unseen], warped[0][~unseen], rtol=1e-5, atol=2e-5)
            # Where a difference is near zero, an error of 1e-6 is much beside the floor, 0.003.
            torch.testing.assert_close(fused[1][~unseen], warped[1][~unseen], rtol=1e-4, atol=2e-3)


def test_the_right_plane_costs_least(plane_stacks) -> None:
    half_lines = HalfLines.from_stacks(plane_stacks(0.5, rows=9, columns=9), STAR)
    planes = Planes(torch.arange(-4, 5).mul(0.25).unsqueeze(0))
    measurements = sweep_planes(half_lines, normalise_contrast(half_lines), planes)
    J = len(half_lines.slices)
    assert measurements.shape == (1, 9, MEASUREMENTS * J, 32, 40)
    assert measurements.isfinite().all()
    inner = measurements[..., 8:-8, 8:-8].unflatten(2, (MEASUREMENTS, J))
    # For every kind of measurement the plane at 0.5 px, number 6, wins at nearly all pixels.
    share = (inner.mean(dim=3).argmin(dim=1) == 6).float().mean(dim=(0, 2, 3))
    assert (share > 0.95).all(), share


def test_planes_cover_textured_slopes_and_move_with_shear() -> None:
    centre = torch.rand(2, 3, 40, 40, generator=torch.Generator().manual_seed(0))
    centre[:, :, :, :16] = 0.5  # no texture, so slopes there mean nothing
    slope_px = torch.linspace(-1, 1.5, 40).expand(2, 1, 40, 40).clone()
    slope_px[:, :, :, :14] = 30.0
    planes = place_planes(slope_px, centre, step_px=0.25, margin_px=0.5, most=40)
    spacing = planes.disparities_px.diff(dim=1)
    torch.testing.assert_close(spacing, torch.full_like(spacing, 0.25))
    assert planes.disparities_px.min() <= 0.03 - 0.4
    assert 1.5 + 0.4 <= planes.disparities_px.max() < 2.5
    sheared = place_planes(slope_px + 7, centre, step_px=0.25, margin_px=0.5, most=40)
    torch.testing.assert_close(sheared.disparities_px, planes.disparities_px + 7)
    assert place_planes(slope_px, centre, step_px=0.25, margin_px=0.5, most=6).count == 6


def test_contrast_is_the_same_whatever_the_exposure() -> None:
    half_lines = random_half_lines()
    bright = normalise_contrast(half_lines)
    dark = normalise_contrast(replace(half_lines, centre=0.5 * half_lines.centre, views=0.5 * half_lines.views))
    assert bright.views.shape[2] == 1
    torch.testing.assert_close(dark.centre, bright.centre, rtol=0, atol=0.15)
    assert bright.centre.std() == pytest.approx(1, abs=0.15)
