import pytest
import torch

SHAPES = [(21, 34, 9, 2), (7, 5, 3, 1), (33, 20, 17, 1), (1, 9, 5, 1), (9, 1, 5, 1)]


@pytest.mark.parametrize("lines", [("horizontal", "vertical"), ("horizontal", "vertical", "diagonal", "antidiagonal")])
@pytest.mark.parametrize("shape", SHAPES)
def test_refocused_views_are_those_of_the_tensor_code(
    half_lines_of, reference_of, shape: tuple[int, int, int, int], lines: tuple[str, ...]
) -> None:
    half_lines = half_lines_of(*shape, lines)
    height, width, _, batch = shape
    disparity_px = torch.randn(batch, 1, height, width, generator=torch.Generator().manual_seed(2))
    expected = reference_of(half_lines).refocused(disparity_px.double())
    refocused = half_lines.refocused(disparity_px)
    torch.testing.assert_close(refocused.centre.double(), expected.centre, rtol=0, atol=1e-5)
    assert refocused.views is half_lines.views


def test_a_window_is_refocused_like_the_whole_image(half_lines_of) -> None:
    half_lines = half_lines_of(30, 40)
    disparity_px = torch.randn(1, 1, 30, 40, generator=torch.Generator().manual_seed(2))
    part = half_lines.window(5, 9, 18, 23).refocused(disparity_px[..., 5:23, 9:32])
    whole = half_lines.refocused(disparity_px)
    torch.testing.assert_close(part.centre, whole.centre[..., 5:23, 9:32], rtol=0, atol=1e-6)
