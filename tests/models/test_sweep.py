from dataclasses import replace

import pytest
import torch

from freqlf.models import opinion, sweep
from freqlf.models.halflines import HalfLines
from freqlf.models.kernels.planes import sweep_fused
from freqlf.models.sweep import (
    MEASUREMENTS,
    Planes,
    SweepOptions,
    find_by_warping,
    normalise_contrast,
    place_planes,
    sweep_by_warping,
    sweep_planes,
    sweep_surfaces,
)

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
    assert bright.views.shape == half_lines.views.shape
    torch.testing.assert_close(dark.centre, bright.centre, rtol=0, atol=0.15)
    assert bright.centre.mean(dim=1).std() == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize(("height", "width"), [(7, 40), (32, 33)])
def test_fused_contrast_equals_filters(monkeypatch, height: int, width: int) -> None:
    half_lines = random_half_lines(3, height, width, batch=2)
    fused = normalise_contrast(half_lines)
    monkeypatch.setattr(opinion, "can_fuse", lambda *_: False)
    filtered = normalise_contrast(half_lines)
    torch.testing.assert_close(fused.centre, filtered.centre, rtol=0, atol=1e-5)
    torch.testing.assert_close(fused.views, filtered.views, rtol=0, atol=1e-5)


def test_refocused_views_show_texture_that_noise_hides(plane_stacks) -> None:
    """Noise as strong as three times the texture: costs of views find few pixels, their mean nearly all."""
    stacks = plane_stacks(0.62, rows=9, columns=9, height=64, width=72)
    generator = torch.Generator().manual_seed(0)
    noisy = {
        line: 0.5 + 0.1 * stack + 0.1 * torch.randn(stack.shape, generator=generator) for line, stack in stacks.items()
    }
    half_lines = HalfLines.from_stacks(noisy, STAR)
    slope_px = torch.linspace(-1, 2, 72).expand(1, 1, 64, 72)  # of no use but for its range
    found = sweep_surfaces(half_lines, slope_px, SweepOptions(windows_px=(9,), wide_windows_px=(25,)))
    assert found.hypotheses_px.shape == (1, 3, 64, 72)
    narrow, by_cost, by_focus = ((found.hypotheses_px - 0.62).abs() > 0.2).float().mean(dim=(0, 2, 3))
    assert by_focus < 0.02
    assert by_cost < narrow
    assert narrow > 0.2
    assert found.doubts is not None
    assert found.doubts.shape == (1, 2, 64, 72)
    assert ((found.doubts > 0) & (found.doubts <= 1)).all()


@pytest.mark.parametrize("contrast", [1.0, 0.02])
def test_surfaces_are_found_in_bright_and_in_faint_texture(plane_stacks, contrast: float) -> None:
    stacks = plane_stacks(0.62, rows=9, columns=9, height=48, width=56)
    half_lines = HalfLines.from_stacks({line: 0.1 + contrast * stack for line, stack in stacks.items()}, STAR)
    slope_px = torch.linspace(-1, 2, 56).expand(1, 1, 48, 56)  # of no use but for its range
    found = sweep_surfaces(half_lines, slope_px, SweepOptions(windows_px=(5, 9)))
    assert found.surfaces_px.shape == (1, 2, 48, 56)
    errors_px = (found.surfaces_px - 0.62)[..., 8:-8, 8:-8].abs()
    assert errors_px.median() < 0.01
    assert errors_px.quantile(0.95) < 0.03


def test_the_least_cost_is_found_whatever_the_order(monkeypatch) -> None:
    """Costs with their least at the first plane, at the last one, and between two."""
    curves = torch.tensor([[0.0, 1.0, 2.0, 3.0], [3.0, 2.0, 1.0, 0.0], [2.0, 0.5, 0.5, 2.0], [3.0, 1.0, 0.0, 3.0]])
    planes_px = torch.tensor([-0.5, -0.25, 0.0, 0.25])
    half_lines = random_half_lines(3, 2, 2)
    monkeypatch.setattr(
        sweep, "cost_by_warping", lambda _, b, d, c: curves[:, planes_px.tolist().index(d)].view(2, 2).contiguous()
    )
    monkeypatch.setattr(sweep, "box_mean", lambda cost, window: cost)
    found, doubt = find_by_warping(half_lines, 0, planes_px, SweepOptions(windows_px=(5,)))
    torch.testing.assert_close(doubt.flatten(), torch.tensor([0.0, 0.0, 0.4, 0.0]))
    # Parabolas: (2, 0.5, 0.5) has its least half a step on, (1, 0, 3) a quarter of a step back.
    torch.testing.assert_close(found.flatten(), torch.tensor([-0.5, 0.25, -0.125, -0.0625]))
