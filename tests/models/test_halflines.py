import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.lightfield import LINES, LightField
from freqlf.models.halflines import HalfLines, spatial_gradient

INTERIOR = (..., slice(6, -6), slice(6, -6))


def residuals_of(half_lines: HalfLines, disparity_px: torch.Tensor) -> torch.Tensor:
    return torch.cat([values for values, _ in half_lines.residuals(disparity_px)], dim=1)


def constant(like: HalfLines, disparity_px: float) -> torch.Tensor:
    return torch.full_like(like.centre[:, :1], disparity_px)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("disparity_px", [-1.3, 0.0, 0.8])
def test_warping_by_the_true_disparity_aligns_every_line(plane_stacks, line: str, disparity_px: float) -> None:
    half_lines = HalfLines.from_stacks(plane_stacks(disparity_px), [line])
    aligned = residuals_of(half_lines, constant(half_lines, disparity_px))[INTERIOR]
    assert aligned.abs().max() < 0.02  # what bilinear sampling loses on this texture
    off = residuals_of(half_lines, constant(half_lines, disparity_px + 1))[INTERIOR]
    assert off.abs().mean() > 0.05


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("missing_px", [-0.2, 0.1])
def test_normal_equations_find_the_missing_disparity(plane_stacks, line: str, missing_px: float) -> None:
    half_lines = HalfLines.from_stacks(plane_stacks(0.5), [line])
    numerators, denominators = half_lines.normal_equations(constant(half_lines, 0.5 - missing_px))
    assert numerators.shape == (1, 2, 32, 40)
    # Each half-line by itself has the answer: at an occlusion only one of them may.
    found = numerators[INTERIOR].sum(dim=(-2, -1)) / denominators[INTERIOR].sum(dim=(-2, -1))
    assert torch.allclose(found, torch.full_like(found, missing_px), rtol=0.1)


def test_half_lines_are_ordered_and_kept_apart(plane_stacks) -> None:
    half_lines = HalfLines.from_stacks(plane_stacks(0.0, rows=5, columns=7), ["horizontal", "antidiagonal"])
    assert half_lines.steps == (-3, -2, -1, 1, 2, 3, -2, -1, 1, 2)
    assert half_lines.offsets[6:] == ((-2, 2), (-1, 1), (1, -1), (2, -2))
    half_lines.views[:] = half_lines.centre[:, None]
    half_lines.views[:, half_lines.slices[1]] -= 0.5
    costs = half_lines.costs(constant(half_lines, 0.0))
    assert costs.amax(dim=(0, 2, 3)).tolist() == pytest.approx([0.0, 0.5, 0.0, 0.0], abs=1e-6)


def test_shear_changes_nothing_but_the_disparity(render_plane, stacks_of) -> None:
    light_field = LightField.from_array(render_plane(0.3))
    half_lines = HalfLines.from_stacks(stacks_of(light_field), list(LINES))
    sheared = HalfLines.from_stacks(stacks_of(light_field.sheared(1.0)), list(LINES))
    before = residuals_of(half_lines, constant(half_lines, 0.45))[INTERIOR]
    after = residuals_of(sheared, constant(sheared, 1.45))[INTERIOR]
    assert torch.allclose(before, after, atol=1e-3)


def test_shrinking_divides_the_disparity(plane_stacks) -> None:
    half_lines = HalfLines.from_stacks(plane_stacks(1.0, height=64, width=64), ["horizontal"]).shrunk(2)
    assert half_lines.views.shape == (1, 4, 3, 32, 32)
    assert residuals_of(half_lines, constant(half_lines, 0.5))[INTERIOR].abs().max() < 0.03


def test_gradient_follows_the_direction() -> None:
    rows, columns = torch.arange(6.0)[:, None], torch.arange(8.0)[None, :]
    ramp = (2 * rows + 3 * columns).view(1, 1, 6, 8)
    for direction, slope in (((0, 1), 3.0), ((1, 0), 2.0), ((1, 1), 5.0), ((1, -1), -1.0)):
        assert torch.all(spatial_gradient(ramp, direction)[..., 1:-1, 1:-1] == slope)


def test_missing_lines_are_named(plane_stacks) -> None:
    stacks = plane_stacks(0.0)
    del stacks["diagonal"]
    with pytest.raises(FreqLFError, match="needs the diagonal views"):
        HalfLines.from_stacks(stacks, ["horizontal", "diagonal"])


def test_a_window_sees_what_the_whole_image_sees_there(plane_stacks) -> None:
    half_lines = HalfLines.from_stacks(plane_stacks(0.8), list(LINES))
    disparity = torch.linspace(-1, 1, 40).expand(1, 1, 32, 40)
    parts = half_lines.window(5, 9, 12, 20).residuals(disparity[..., 5:17, 9:29])
    for part, whole in zip(parts, half_lines.residuals(disparity), strict=True):
        assert torch.equal(part.values, whole.values[..., 5:17, 9:29])
        assert torch.equal(part.visible, whole.visible[..., 5:17, 9:29])


@pytest.mark.parametrize("disparity_px", [-2.6, -0.4, 0.0, 1.7])
def test_a_view_shows_what_lies_inside_of_its_frame(plane_stacks, disparity_px: float) -> None:
    half_lines = HalfLines.from_stacks(plane_stacks(0.0, rows=5, columns=7), list(LINES))
    visible = torch.cat([seen for _, seen in half_lines.residuals(constant(half_lines, disparity_px))], dim=1)
    assert visible.shape == (1, len(half_lines.steps), 32, 40)
    y, x = torch.arange(32.0)[:, None], torch.arange(40.0)[None, :]
    for view, (du, dv) in enumerate(half_lines.offsets):
        seen_y, seen_x = (y - du * disparity_px).expand(32, 40), (x - dv * disparity_px).expand(32, 40)
        inside = (seen_y >= -0.5) & (seen_y <= 31.5) & (seen_x >= -0.5) & (seen_x <= 39.5)
        assert torch.equal(visible[0, view].bool(), inside)


def test_views_that_do_not_show_a_pixel_have_no_say(plane_stacks) -> None:
    half_lines = HalfLines.from_stacks(plane_stacks(2.0, rows=7, columns=7), ["horizontal", "vertical"])
    disparity_px = constant(half_lines, 2.0)
    shares = [visible[0, :, 16, 0].mean().item() for _, visible in half_lines.residuals(disparity_px)]
    costs = half_lines.costs(disparity_px)[0]
    # In the first column the views to the right show nothing of what the central one shows; the others agree with it.
    assert shares == [1.0, 0.0, 1.0, 1.0]
    assert costs[:, 8:-8, 0].max() < 0.02
    assert torch.allclose(costs[1, 8:-8, 0], costs[[0, 2, 3], 8:-8, 0].mean(dim=0), atol=1e-6)
