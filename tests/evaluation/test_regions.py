import numpy as np
import pytest

from freqlf.evaluation.metrics import scored_region
from freqlf.evaluation.regions import boundary_mask, find_regions, textureless_mask


def test_a_step_is_a_boundary_and_a_blank_wall_is_textureless():
    rng = np.random.default_rng(0)
    ground_truth = np.zeros((40, 40))
    ground_truth[:, 20:] = 1.0
    view = rng.random((40, 40, 3)).astype(np.float32)
    view[:, :12] = 0.4
    scored = np.ones((40, 40), bool)
    regions = find_regions(ground_truth, view, scored)
    # Central differences see the step in columns 19 and 20; both together are 5 %, the rest of the 10 % are ties.
    assert regions["boundary"][:, 19:21].all()
    assert regions["boundary"].sum() == 160
    # Windows that lie in the wall altogether end at column 8 (12 - 1 - 3); 15 % are 240 of these 9 * 40 pixels.
    assert regions["textureless"].sum() == 240
    assert not regions["textureless"][:, 9:].any()


@pytest.mark.parametrize(("height", "width"), [(37, 53), (32, 40)])
@pytest.mark.parametrize("ties", [False, True])
def test_masks_hold_exactly_10_and_15_percent_of_the_valid_pixels(height, width, ties):
    rng = np.random.default_rng(1)
    ground_truth = np.zeros((height, width)) if ties else rng.random((height, width))
    view = np.full((height, width, 3), 0.5, np.float32) if ties else rng.random((height, width, 3)).astype(np.float32)
    valid = rng.random((height, width)) < 0.7
    scored = scored_region(ground_truth, valid, border=3)
    regions = find_regions(ground_truth, view, scored)
    for name, share in (("boundary", 0.10), ("textureless", 0.15)):
        assert regions[name].sum() == round(share * scored.sum())
        assert not (regions[name] & ~scored).any()
        assert np.array_equal(regions[name], find_regions(ground_truth, view, scored)[name])


def test_ties_are_scattered_over_the_image():
    mask = boundary_mask(np.zeros((64, 64)), np.ones((64, 64), bool))
    quarters = [mask[y : y + 32, x : x + 32].sum() for y in (0, 32) for x in (0, 32)]
    assert min(quarters) > 80  # of 410, a quarter would be 102


def test_the_steepest_pixels_are_chosen():
    ground_truth = np.cumsum(np.arange(30.0) ** 2)[None].repeat(30, axis=0)  # ever steeper to the right
    mask = boundary_mask(ground_truth, np.ones((30, 30), bool))
    assert mask[:, -3:].all()
    assert mask.sum() == 90


def test_a_hole_in_the_ground_truth_is_no_boundary():
    ground_truth = np.tile(np.linspace(0, 1, 20), (20, 1))
    ground_truth[5, 5] = np.nan
    scored = np.isfinite(ground_truth)
    mask = boundary_mask(ground_truth, scored)
    assert mask.sum() == 40
    assert not mask[4:7, 5].any()
    assert not mask[5, 4:7].any()


def test_intensity_weighs_colours_as_the_eye_does():
    rng = np.random.default_rng(2)
    view = np.full((40, 40, 3), 0.5, np.float32)
    view[:, :20, 1] += 0.1 * rng.standard_normal((40, 20)).astype(np.float32)  # green counts five times as much
    view[:, 20:, 2] += 0.1 * rng.standard_normal((40, 20)).astype(np.float32)  # as blue
    mask = textureless_mask(view, np.ones((40, 40), bool))
    assert not mask[:, :17].any()
