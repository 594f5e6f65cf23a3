from random import Random

import numpy as np
import pytest
import torch
from scipy.ndimage import map_coordinates

from freqlf.data.reliefs import list_steps, render_relief
from freqlf.lightfield import LINES, project_pixel

STEPS = list_steps(LINES, views=5)


def mean_difference(sample, disparity_px) -> float:
    """Of the outermost views, looked up where a disparity says, and the centre, away from the border."""
    views = sample.views.double().numpy() / 255
    centre = views[sample.steps.index((0, 0))]
    y, x = np.mgrid[: sample.height, : sample.width].astype(float)
    differences = []
    for step, view in zip(sample.steps, views, strict=True):
        if max(map(abs, step)) == 2:
            places = project_pixel(y, x, disparity_px, step)
            seen = [map_coordinates(view[c], places, order=1) for c in range(3)]
            differences.append(np.abs(np.stack(seen) - centre)[:, 12:-12, 12:-12].mean())
    return float(np.mean(differences))


@pytest.mark.parametrize("variety", [0.0, 1.0])
def test_views_show_what_the_truth_says(variety: float) -> None:
    right, wrong = [], []
    for seed in range(12):
        sample = render_relief(Random(seed), STEPS, 64, 64, 3.0, variety=variety)
        truth = sample.disparity_px.double().numpy()
        assert sample.views.dtype == torch.uint8
        assert sample.valid.all()
        right.append(mean_difference(sample, truth))
        wrong.append(min(mean_difference(sample, truth + off) for off in (-0.3, 0.3)))
    # Interpolation blurs the sharpest textures a little even where it is told the truth.
    assert sum(a < 0.6 * b for a, b in zip(right, wrong, strict=True)) >= 9
    assert np.mean(right) < 0.5 * np.mean(wrong)


def test_disparities_stay_in_their_range_and_vary() -> None:
    maps = [render_relief(Random(seed), STEPS, 40, 48, 1.5).disparity_px for seed in range(40)]
    assert all(one.shape == (40, 48) for one in maps)
    assert max(one.abs().max() for one in maps) <= 1.5
    assert torch.stack([one.mean() for one in maps]).std() > 0.3
    assert torch.stack([one.std() for one in maps]).mean() > 0.1


def test_the_first_textures_have_one_contrast() -> None:
    deviations = [
        render_relief(Random(seed), STEPS, 40, 40, 1.0, variety=0.0).views.float().std().item() for seed in range(10)
    ]
    assert min(deviations) > 25
    assert max(deviations) < 50


def test_the_same_numbers_give_the_same_relief() -> None:
    first, again = (render_relief(Random(5), STEPS, 24, 24, 1.0) for _ in range(2))
    assert torch.equal(first.views, again.views)
    assert not torch.equal(first.views, render_relief(Random(6), STEPS, 24, 24, 1.0).views)


def test_places_of_views() -> None:
    assert list_steps(("horizontal",), views=3) == ((-1, 0), (0, -1), (0, 0), (0, 1), (1, 0))
    assert len(list_steps(LINES)) == 33
