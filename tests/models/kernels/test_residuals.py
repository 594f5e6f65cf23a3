import pytest
import torch

from freqlf.models.viewstream import INNER_VIEWS, align_residuals

# height, width, views, images: odd sizes, one row or column, fewer and more views than are read
SHAPES = [(21, 34, 9, 2), (7, 5, 3, 1), (33, 20, 17, 1), (1, 9, 5, 1), (9, 1, 5, 1)]


@pytest.mark.parametrize("lines", [("horizontal", "vertical"), ("horizontal", "vertical", "diagonal", "antidiagonal")])
@pytest.mark.parametrize("shape", SHAPES)
def test_residuals_are_those_of_the_tensor_code(
    half_lines_of, reference_of, shape: tuple[int, int, int, int], lines: tuple[str, ...]
) -> None:
    height, width, _, batch = shape
    half_lines = half_lines_of(*shape, lines)
    disparities_px = torch.randn(batch, 2, height, width, generator=torch.Generator().manual_seed(2))
    reference = reference_of(half_lines)
    expected = align_residuals(reference, reference, disparities_px.double())
    # Small differences are made 33 times as large, and their rounding with them.
    residuals = align_residuals(half_lines, half_lines, disparities_px)
    assert residuals.shape == (2 * len(lines), batch, 2, 4 * INNER_VIEWS, height, width)
    torch.testing.assert_close(residuals.double(), expected, rtol=0, atol=1e-4)


def test_a_window_has_the_residuals_of_the_whole_image(half_lines_of) -> None:
    half_lines = half_lines_of(30, 40)
    disparity_px = torch.randn(1, 1, 30, 40, generator=torch.Generator().manual_seed(2))
    whole = align_residuals(half_lines, half_lines, disparity_px)
    window = half_lines.window(5, 9, 18, 23)
    part = align_residuals(window, window, disparity_px[..., 5:23, 9:32])
    torch.testing.assert_close(part, whole[..., 5:23, 9:32], rtol=0, atol=1e-5)
