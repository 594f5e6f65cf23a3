from collections.abc import Callable

import pytest
import torch

from freqlf.models.halflines import HalfLines
from freqlf.models.kernels.tilts import find_tilted_fused
from freqlf.models.opinion import normalise_contrast
from freqlf.models.tilts import find_by_warping

STEP_PX = 0.25


def place(batch: int, count: int = 9) -> torch.Tensor:
    """Not where pixels fall on the end of a frame: rounding decides there."""
    steps = STEP_PX * (torch.arange(count) - 0.5 * (count - 1))
    return 0.013 * torch.arange(1, batch + 1).unsqueeze(1) + steps


# height, width, views, images: odd sizes, smaller than windows, several bands of rows
@pytest.mark.parametrize("tilts", [(-0.045, 0.03), (0.1,)])
@pytest.mark.parametrize("shape", [(21, 34, 9, 2), (7, 5, 3, 1), (33, 20, 17, 1), (1, 9, 5, 1), (150, 20, 5, 1)])
def test_planes_are_those_of_the_tensor_code(
    half_lines_of: Callable[..., HalfLines],
    reference_of: Callable[[HalfLines], HalfLines],
    shape: tuple[int, int, int, int],
    tilts: tuple[float, ...],
) -> None:
    height, width, views, batch = shape
    normalised = normalise_contrast(half_lines_of(height, width, views, batch))
    planes_px = place(batch)
    expected = find_by_warping(reference_of(normalised), planes_px.double(), STEP_PX, tilts, 9, 1e-3)
    found = find_tilted_fused(normalised, planes_px, STEP_PX, tilts, 9, 1e-3)
    assert found[0].shape == found[1].shape == (batch, 1, height, width)
    torch.testing.assert_close(found[1].double(), expected[1], rtol=0, atol=1e-5)
    # Of two planes of the same contrast either may be found.
    assert ((found[0] - expected[0]).abs() > 1e-4).float().mean() < 2e-3


def test_threads_do_not_change_anything(half_lines_of: Callable[..., HalfLines]) -> None:
    normalised = normalise_contrast(half_lines_of(150, 24, 5, 2))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = find_tilted_fused(normalised, place(2), STEP_PX, (-0.045, 0.045), 11, 1e-3)
        torch.set_num_threads(3)
        together = find_tilted_fused(normalised, place(2), STEP_PX, (-0.045, 0.045), 11, 1e-3)
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(*both) for both in zip(alone, together, strict=True))


def test_a_single_plane_is_no_sweep(
    half_lines_of: Callable[..., HalfLines], reference_of: Callable[[HalfLines], HalfLines]
) -> None:
    """Most pixels are on none of the tilted planes that cross it: there it is the answer, wherever it lies."""
    normalised = normalise_contrast(half_lines_of(20, 16, 5))
    for find, views in ((find_tilted_fused, normalised), (find_by_warping, reference_of(normalised))):
        found_px, doubt = find(views, place(1, 1) + 7, STEP_PX, (0.045,), 9, 1e-3)
        assert (found_px - 7.013).abs().max() < 1e-4
        assert doubt.isfinite().any()
