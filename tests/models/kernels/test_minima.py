from dataclasses import replace

import pytest
import torch

from freqlf.models.kernels.minima import find_minima
from freqlf.models.sweep import Planes, SweepOptions, _find_cheapest, normalise_contrast

# height, width, views, images: odd sizes, smaller than windows, several bands of rows
SHAPES = [(21, 34, 9, 2), (7, 5, 3, 1), (33, 20, 17, 1), (1, 9, 5, 1), (9, 1, 5, 1), (300, 40, 5, 1)]
WINDOWS_PX = [((5, 9), (25,)), ((3,), ()), ((5,), (7, 15))]


def place(batch: int, count: int = 9) -> Planes:
    """Not where pixels fall on the end of a frame: rounding decides there."""
    steps = 0.25 * (torch.arange(count) - 0.5 * (count - 1))
    return Planes(0.013 * torch.arange(1, batch + 1).unsqueeze(1) + steps)


@pytest.mark.parametrize(("windows_px", "wide_px"), WINDOWS_PX)
@pytest.mark.parametrize("shape", SHAPES)
def test_minima_are_those_of_the_tensor_code(
    half_lines_of, reference_of, shape: tuple[int, int, int, int], windows_px, wide_px
) -> None:
    height, width, views, batch = shape
    normalised = normalise_contrast(half_lines_of(height, width, views, batch))
    options = SweepOptions(windows_px=windows_px, wide_windows_px=wide_px)
    expected_px, expected = _find_cheapest(reference_of(normalised), place(batch), options)
    found_px, doubt = _find_cheapest(normalised, place(batch), options)
    assert found_px.shape == (batch, len(windows_px) + 2 * len(wide_px), height, width)
    torch.testing.assert_close(doubt.double(), expected, rtol=0, atol=1e-5)
    # Of two planes of the same cost either may be the least, and a parabola without curvature is anywhere.
    far = (found_px - expected_px).abs() > 1e-4
    assert far.float().mean() < 2e-3


def test_a_window_of_the_centre_is_compared_where_it_lies(half_lines_of, reference_of) -> None:
    part = normalise_contrast(half_lines_of(30, 40, 9, 2)).window(3, 5, 11, 19)
    options = SweepOptions(windows_px=(5,), wide_windows_px=(9,))
    _, expected = _find_cheapest(reference_of(part), place(2), options)
    _, doubt = _find_cheapest(part, place(2), options)
    torch.testing.assert_close(doubt.double(), expected, rtol=0, atol=1e-5)


def test_disparities_far_outside_of_the_frames(half_lines_of, reference_of) -> None:
    normalised = normalise_contrast(half_lines_of(12, 20, 9))
    planes = Planes(torch.tensor([[-30.013, -3.013, 4.77, 30.2]]))
    options = SweepOptions(windows_px=(5,), wide_windows_px=(9,))
    _, expected = _find_cheapest(reference_of(normalised), planes, options)
    _, doubt = _find_cheapest(normalised, planes, options)
    torch.testing.assert_close(doubt.double(), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("count", [1, 2])
def test_few_planes_have_no_parabola(half_lines_of, count: int) -> None:
    normalised = normalise_contrast(half_lines_of(12, 20, 5))
    position, _ = find_minima(normalised, place(1, count).disparities_px, (5,), (9,), 0.1, 1e-3)
    assert set(position.unique().tolist()) <= set(range(count))


def test_nan_does_no_harm(half_lines_of) -> None:
    normalised = normalise_contrast(half_lines_of(12, 20, 5))
    broken = replace(normalised, centre=torch.full_like(normalised.centre, float("nan")))
    position, _ = find_minima(broken, place(1).disparities_px, (5,), (9,), 0.1, 1e-3)
    assert (position == 0).all()


def test_threads_do_not_change_anything(half_lines_of) -> None:
    normalised = normalise_contrast(half_lines_of(300, 24, 5, 2))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = find_minima(normalised, place(2).disparities_px, (5,), (25,), 0.1, 1e-3)
        torch.set_num_threads(3)
        together = find_minima(normalised, place(2).disparities_px, (5,), (25,), 0.1, 1e-3)
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(*both) for both in zip(alone, together, strict=True))
