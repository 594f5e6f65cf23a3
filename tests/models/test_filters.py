import pytest
import torch
import torch.nn.functional as F

from freqlf.models.filters import box_mean, local_maximum, local_minimum, median3


def neighbourhoods(field: torch.Tensor, window_px: int, mode: str, value: float = 0.0) -> torch.Tensor:
    reach = window_px // 2
    padded = F.pad(field, (reach,) * 4, mode=mode, **({"value": value} if mode == "constant" else {}))
    return F.unfold(padded, window_px).view(field.shape[0], -1, *field.shape[-2:])


@pytest.mark.parametrize("shape", [(2, 1, 7, 10), (1, 1, 1, 5), (1, 1, 3, 3)])
def test_median_is_the_median_of_nine(shape: tuple[int, ...]) -> None:
    field = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    expected = neighbourhoods(field, 3, "replicate").median(dim=1, keepdim=True).values
    assert torch.equal(median3(field), expected)


@pytest.mark.parametrize("window_px", [3, 7])
def test_local_extremes(window_px: int) -> None:
    field = torch.randn(1, 1, 12, 9, generator=torch.Generator().manual_seed(1))
    largest = neighbourhoods(field, window_px, "constant", -99.0).amax(dim=1, keepdim=True)
    smallest = neighbourhoods(field, window_px, "constant", 99.0).amin(dim=1, keepdim=True)
    assert torch.equal(local_maximum(field, window_px), largest)
    assert torch.equal(local_minimum(field, window_px), smallest)


def test_box_mean_counts_only_pixels_inside() -> None:
    assert torch.allclose(box_mean(torch.ones(1, 2, 6, 5), 5), torch.ones(1, 2, 6, 5))
    field = torch.zeros(1, 1, 4, 4)
    field[0, 0, 0, 0] = 1.0
    assert box_mean(field, 3)[0, 0, 0, 0] == pytest.approx(1 / 4)
    assert box_mean(field, 3)[0, 0, 1, 1] == pytest.approx(1 / 9)
