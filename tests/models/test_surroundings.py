import pytest
import torch

from freqlf.models.surroundings import describe_surroundings, fit_planes, name_surroundings


def slanted(height: int = 40, width: int = 46) -> torch.Tensor:
    y, x = torch.arange(height)[:, None], torch.arange(width)[None, :]
    return (0.3 + 0.02 * x - 0.01 * y)[None, None]


@pytest.mark.parametrize("spacing_px", [1, 2, 3, 6])
def test_a_plane_goes_through_itself(spacing_px: int) -> None:
    disparity_px = slanted()
    guide = torch.full((1, 3, 40, 46), 0.5)
    found_px = fit_planes(disparity_px, torch.ones_like(disparity_px), guide, spacing_px)
    inside = (..., slice(3 * spacing_px, -3 * spacing_px), slice(3 * spacing_px, -3 * spacing_px))
    assert (found_px - disparity_px)[inside].abs().max() < 1e-5
    # At the border, where samples lie on one side only, the ridge pulls towards their mean.
    assert (found_px - disparity_px).abs().max() < 0.02 * spacing_px


def test_sure_samples_fill_a_hole() -> None:
    true_px = slanted()
    hole = (..., slice(16, 22), slice(18, 24))
    disparity_px, certainty = true_px.clone(), torch.ones_like(true_px)
    disparity_px[hole] += 1.0
    certainty[hole] = 1e-4
    found_px = fit_planes(disparity_px, certainty, torch.full((1, 3, 40, 46), 0.5), 4)
    assert (found_px - true_px)[hole].abs().max() < 0.02


def test_planes_do_not_cross_edges_of_the_guide() -> None:
    disparity_px = torch.zeros(1, 1, 40, 46)
    disparity_px[..., 23:] = 1.0
    guide = disparity_px.expand(-1, 3, -1, -1)
    ones = torch.ones_like(disparity_px)
    across = (fit_planes(disparity_px, ones, torch.zeros_like(guide), 1) - disparity_px).abs().max()
    along = (fit_planes(disparity_px, ones, guide, 1) - disparity_px).abs().max()
    assert along < 1e-3 < 0.2 < across


def test_shearing_changes_nothing() -> None:
    generator = torch.Generator().manual_seed(0)
    hypotheses_px = torch.randn(2, 4, 31, 34, generator=generator)
    deviation_px = torch.rand(2, 1, 31, 34, generator=generator)
    centre = torch.rand(2, 3, 31, 34, generator=generator)
    found = describe_surroundings(hypotheses_px, deviation_px, None, centre, (2, 5))
    assert found.shape == (2, len(name_surroundings(4, (2, 5), has_opinion=False)), 31, 34)
    assert found.abs().max() < 1.01
    sheared = describe_surroundings(hypotheses_px + 1.5, deviation_px, None, centre, (2, 5))
    assert (sheared - found).abs().max() < 1e-4
