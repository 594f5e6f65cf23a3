import pytest
import torch

from freqlf.models.surroundings import fit_planes


# Odd sizes, images smaller than the samples' grid, and rows longer than a run of pixels.
@pytest.mark.parametrize(("height", "width", "surfaces"), [(40, 46, 2), (9, 7, 1), (1, 9, 2), (9, 1, 1), (5, 601, 2)])
@pytest.mark.parametrize("spacing_px", [1, 2, 6, 16])
def test_planes_are_those_of_the_tensor_code(height: int, width: int, surfaces: int, spacing_px: int) -> None:
    generator = torch.Generator().manual_seed(height)
    disparity_px = torch.randn(2, surfaces, height, width, generator=generator)
    certainty = torch.rand(2, surfaces, height, width, generator=generator) ** 4
    guide = torch.rand(2, 3, height, width, generator=generator)
    expected = fit_planes(disparity_px.double(), certainty.double(), guide.double(), spacing_px)
    found = fit_planes(disparity_px, certainty, guide, spacing_px)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-5)


def test_surfaces_that_nothing_is_known_of_stay_as_they_are() -> None:
    disparity_px = torch.randn(1, 1, 12, 20, generator=torch.Generator().manual_seed(0))
    guide = torch.zeros(1, 3, 12, 20)
    found = fit_planes(disparity_px, torch.zeros_like(disparity_px), guide, 2)
    torch.testing.assert_close(found, disparity_px, rtol=0, atol=1e-6)


def test_a_guide_of_any_contrast_does() -> None:
    disparity_px = torch.randn(1, 1, 12, 20, generator=torch.Generator().manual_seed(0))
    guide = torch.zeros(1, 3, 12, 20)
    guide[..., ::2] = 1e4
    expected = fit_planes(disparity_px.double(), torch.ones(1, 1, 12, 20).double(), guide.double(), 1)
    found = fit_planes(disparity_px, torch.ones(1, 1, 12, 20), guide, 1)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-5)
