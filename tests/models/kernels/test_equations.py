import pytest
import torch

from freqlf.models.kernels.equations import make_equations

SHAPES = [(21, 34, 9, 2), (7, 5, 3, 1), (33, 20, 17, 1), (1, 9, 5, 1), (9, 1, 5, 1)]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_equations_are_those_of_the_tensor_code(
    half_lines_of, reference_of, shape: tuple[int, int, int, int], threads: int
) -> None:
    height, width, views, batch = shape
    half_lines = half_lines_of(height, width, views, batch)
    disparity_px = torch.randn(batch, 1, height, width, generator=torch.Generator().manual_seed(2))
    expected = reference_of(half_lines).normal_equations(disparity_px.double())
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        apart = half_lines.normal_equations(disparity_px)
        together = make_equations(half_lines.packed(), disparity_px, 0.02, together=True)
    finally:
        torch.set_num_threads(before)
    for one, total, reference in zip(apart, together, expected, strict=True):
        # Weights reach 50 k^2: what counts is the precision relative to the largest.
        scale = reference.abs().max().item()
        torch.testing.assert_close(one.double(), reference, rtol=0, atol=1e-5 * scale)
        torch.testing.assert_close(total.double(), reference.sum(dim=1, keepdim=True), rtol=0, atol=2e-5 * scale)


def test_a_window_has_the_equations_of_the_whole_image(half_lines_of) -> None:
    half_lines = half_lines_of(30, 40)
    disparity_px = torch.randn(1, 1, 30, 40, generator=torch.Generator().manual_seed(2))
    part = half_lines.window(5, 9, 18, 23).normal_equations(disparity_px[..., 5:23, 9:32])
    for one, whole in zip(part, half_lines.normal_equations(disparity_px), strict=True):
        # One pixel inside, gradients see the same.
        torch.testing.assert_close(one[..., 1:-1, 1:-1], whole[..., 6:22, 10:31], rtol=1e-5, atol=1e-5)
