import pytest
import torch
import torch.nn.functional as F

from freqlf.models.filters import box_mean, local_maximum, local_minimum, median3


@pytest.mark.parametrize("size", [(1, 1), (2, 9), (13, 4), (40, 61)])
def test_filters_are_those_of_the_tensor_code(size: tuple[int, int]) -> None:
    field = torch.randn(2, 3, *size, generator=torch.Generator().manual_seed(3))
    for window_px in (3, 9, 31):
        expected = box_mean(field.double(), window_px)
        torch.testing.assert_close(box_mean(field, window_px).double(), expected, rtol=0, atol=1e-6)
        assert torch.equal(local_maximum(field, window_px).double(), local_maximum(field.double(), window_px))
        assert torch.equal(local_minimum(field, window_px).double(), local_minimum(field.double(), window_px))
    assert torch.equal(median3(field).double(), median3(field.double()))


def test_gradients_pass_through_filters() -> None:
    field = torch.randn(1, 1, 6, 7, requires_grad=True)
    box_mean(field, 3).sum().backward()
    assert field.grad is not None
    assert field.grad.sum().item() == pytest.approx(42, rel=1e-4)


@pytest.mark.parametrize("size", [(8, 8), (9, 13), (33, 20)])
@pytest.mark.parametrize("scale", [2, 4, 8])
def test_shrinking_averages_areas(half_lines_of, size: tuple[int, int], scale: int) -> None:
    half_lines = half_lines_of(*size, batch=2).of_lines(["horizontal", "vertical"])
    shrunk = half_lines.shrunk(scale)
    expected = F.interpolate(half_lines.views.flatten(0, 1).double(), size=shrunk.centre.shape[-2:], mode="area")
    torch.testing.assert_close(shrunk.views.flatten(0, 1).double(), expected, rtol=0, atol=1e-6)
