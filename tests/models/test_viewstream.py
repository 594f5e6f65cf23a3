"""What is read of the views themselves: residuals of a plane, and kernels that turn with the half-lines."""

import pytest
import torch

from freqlf.lightfield import LINES
from freqlf.models.halflines import HalfLines
from freqlf.models.viewstream import INNER_VIEWS, ViewStream, align_residuals


def views_of(stacks: dict[str, torch.Tensor]) -> HalfLines:
    return HalfLines.from_stacks(stacks, list(LINES))


def residuals_of(stacks: dict[str, torch.Tensor], disparity_px: float) -> torch.Tensor:
    """Of every half-line and view, red, inside: (8, INNER_VIEWS, H, W)."""
    height, width = next(iter(stacks.values())).shape[-2:]
    half_lines = views_of(stacks)
    found = align_residuals(half_lines, half_lines, torch.full((1, 1, height, width), disparity_px))
    return found[:, 0, 0].unflatten(1, (INNER_VIEWS, 4))[:, :, 0, 10:-10, 10:-10]


def test_residuals_of_a_plane_grow_with_the_error_and_with_the_step_of_view(plane_stacks) -> None:
    stacks = plane_stacks(0.5, rows=9, columns=9, height=48, width=48)
    exact, near, far = (residuals_of(stacks, 0.5 + error).abs().mean(dim=(2, 3)) for error in (0.0, 0.03, 0.1))
    assert (exact < near).all()
    assert (near < far).all()
    assert (near[:, 2:] > near[:, :2]).all()  # from the innermost views outwards


def test_opposite_views_differ_by_their_sign_where_the_estimate_is_off() -> None:
    y, x = torch.meshgrid(torch.arange(40.0), torch.arange(40.0), indexing="ij")
    ramp = (0.3 + 0.004 * x + 0.003 * y).expand(1, 9, 3, 40, 40)
    residuals = residuals_of(dict.fromkeys(LINES, ramp), 0.2)
    assert residuals.abs().max() > 0.05
    torch.testing.assert_close(residuals[0::2], -residuals[1::2], rtol=0, atol=1e-4)


def test_a_view_that_does_not_show_a_pixel_takes_what_the_one_before_it_shows(plane_stacks) -> None:
    stacks = plane_stacks(1.0, rows=9, columns=9, height=40, width=40)
    half_lines = views_of(stacks)
    to_the_right = half_lines.directions.index((0, 1)) + 1
    found = align_residuals(half_lines, half_lines, torch.full((1, 1, 40, 40), 1.2))
    red = found[to_the_right, 0, 0].unflatten(0, (INNER_VIEWS, 4))[:, 0, 15:-15, 3]
    limited = 0.03 * red / (1 - red.abs())  # what it was before it was limited
    # At column 3 the third view no longer shows what lies 1.2 px a step to the left.
    torch.testing.assert_close(limited[2], limited[1] * 3 / 2, rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(limited[3], limited[1] * 2, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("kind", [0, 1])
def test_kernels_turn_with_the_half_lines(kind: int) -> None:
    torch.manual_seed(0)
    stream = ViewStream([LINES[name] for name in LINES], hypotheses=2, width=6, channels=8)
    residuals = torch.randn(2, 4 * INNER_VIEWS, 13, 13)
    turned = [number for number, (one, _) in enumerate(stream.turns) if one == kind]
    assert len(turned) == 4
    for number in turned:
        quarters = stream.turns[number][1]
        first = next(one for one in turned if stream.turns[one][1] == 0)
        expected = torch.rot90(stream.read(first, residuals), quarters, (2, 3))
        torch.testing.assert_close(stream.read(number, torch.rot90(residuals, quarters, (2, 3))), expected)


def test_features_depend_on_the_order_of_hypotheses_and_images_alone() -> None:
    torch.manual_seed(0)
    stream = ViewStream([(0, 1), (1, 0)], hypotheses=2, width=4, channels=8)
    stacks = {line: torch.rand(3, 5, 3, 17, 20) for line in ("horizontal", "vertical")}
    half_lines = HalfLines.from_stacks(stacks, list(stacks))
    disparities_px = torch.randn(3, 2, 17, 20)
    together = stream(half_lines, half_lines, disparities_px)
    assert together.shape == (3, 8, 17, 20)
    for number in range(3):
        alone = HalfLines.from_stacks({line: one[number : number + 1] for line, one in stacks.items()}, list(stacks))
        features = stream(alone, alone, disparities_px[number : number + 1])
        torch.testing.assert_close(features[0], together[number], rtol=0, atol=1e-5)
