from dataclasses import replace
from random import Random

import numpy as np
import pytest
import torch
from slanted import make_sample, photometric_error

from freqlf.data import augment
from freqlf.data.augment import Geometry
from freqlf.data.sampling import Augmentation
from freqlf.lightfield import LightField


def as_floats(sample):
    return replace(sample, views=sample.views.float() / 255)


def test_flips_keep_views_and_ground_truth_together():
    sample = make_sample()
    results = [augment.flip_randomly(sample, Random(seed)) for seed in range(12)]
    assert len({result.steps for result in results}) == 4
    for result in results:
        assert photometric_error(result) < 0.02


def test_colours_change_alike_in_all_views():
    sample = make_sample()
    options = Augmentation(swap_colours=True, gamma=0.4, gain_low=0.6, gain_high=1.1)
    varied = augment.vary_colours(sample, options, Random(3))
    assert varied.views.dtype == torch.float32
    assert (varied.views - sample.views.float() / 255).abs().max() > 0.05
    assert photometric_error(varied) < 0.03


def test_the_colour_table_is_a_power_times_a_gain():
    sample = make_sample(height=16, width=16, start_px=0, slope=0)
    options = Augmentation(gamma=0.4, gain_low=0.7, gain_high=0.7)
    varied = augment.vary_colours(sample, options, Random(1))
    ratio = varied.views.div(0.7).log() / (sample.views.double() / 255).log()
    assert ratio.std() < 1e-4
    assert 0.66 < ratio.mean() < 1.5
    assert abs(ratio.mean() - 1) > 0.01


def test_without_options_colours_stay():
    sample = make_sample()
    assert torch.equal(augment.vary_colours(sample, Augmentation(), Random(0)).views, sample.views.float() / 255)


def test_exposure_is_one_factor_per_view():
    sample = as_floats(make_sample())
    varied = augment.vary_exposure(sample, Augmentation(exposure=0.2), Random(0))
    factors = (varied.views / sample.views).flatten(1)
    assert factors.std(dim=1).max() < 1e-5
    assert 0.03 < factors.mean(dim=1).log().std() < 0.2
    assert factors.log().abs().max() <= 0.2 + 1e-5


def test_noise_is_independent_between_views_and_the_same_in_all_stacks():
    sample = as_floats(make_sample())
    noisy = augment.add_noise(sample, Augmentation(noise=0.05), Random(5))
    noise = (noisy.views - sample.views).flatten(1)
    assert 0.001 < noise.std() < 0.05
    assert noisy.views.min() == 0  # as in a file, nothing is darker than black
    correlation = np.corrcoef(noise.numpy())
    assert np.abs(correlation - np.eye(len(correlation))).max() < 0.05
    assert torch.equal(noisy.stack("horizontal")[2], noisy.stack("diagonal")[2])
    some = [augment.add_noise(sample, Augmentation(noise=0.05, noise_probability=0.5), Random(k)) for k in range(40)]
    assert 8 < sum(one is sample for one in some) < 32


@pytest.mark.parametrize("shear_px", [1.0, -2.0, 0.37, -1.6])
def test_shear_moves_views_and_ground_truth(shear_px):
    sample = as_floats(make_sample(height=70, width=80))
    geometry = Geometry(shear_px=shear_px)
    margin = geometry.margin_px(reach=2)
    sheared = augment.resample(sample, geometry, margin, margin, 70 - 2 * margin, 80 - 2 * margin)
    centre = sample.cut(margin, margin, sheared.height, sheared.width)
    assert torch.allclose(sheared.disparity_px, centre.disparity_px + shear_px)
    place = sample.steps.index((0, 0))
    assert torch.allclose(sheared.views[place], centre.views[place], atol=1e-6)
    assert photometric_error(sheared) < 0.02


def test_whole_shear_equals_that_of_the_light_field(make_scene):
    sample = as_floats(make_sample(height=40, width=44))
    sheared = augment.resample(sample, Geometry(shear_px=-1.0), 0, 0, 40, 44)
    views = {
        (u + 2, v + 2): view.permute(1, 2, 0).numpy() for (u, v), view in zip(sample.steps, sample.views, strict=True)
    }
    light_field = LightField(5, 5, views).sheared(-1.0)
    for (u, v), view in zip(sheared.steps, sheared.views, strict=True):
        assert np.allclose(view.permute(1, 2, 0), light_field.view(u + 2, v + 2), atol=1e-5)


@pytest.mark.parametrize("scale", [0.6, 0.8, 1.25, 1.7])
def test_scale_resizes_views_and_disparities(scale):
    sample = as_floats(make_sample(height=100, width=110, slope=0.012))
    geometry = Geometry(scale=scale, shear_px=0.25)
    margin = geometry.margin_px(reach=2)
    height, width = (int((side - 2 * margin) * scale) for side in (100, 110))
    scaled = augment.resample(sample, geometry, margin, margin, height, width)
    x = margin + torch.arange(width) / scale
    expected_px = scale * (-0.8 + 0.012 * x) + 0.25
    # Ground truth is looked up at the nearest pixel, which may be half a pixel off.
    assert (scaled.disparity_px - expected_px).abs().max() <= 0.5 * 0.012 * scale + 1e-5
    assert scaled.valid.all()
    assert photometric_error(scaled) < 0.03


def test_misalignment_moves_all_views_but_the_centre():
    sample = as_floats(make_sample(height=70, width=80, start_px=0.0, slope=0.0))
    geometry = augment.draw_geometry(Augmentation(misalignment_px=0.5), len(sample.steps), Random(2))
    moved = augment.resample(sample, geometry, 8, 8, 50, 60)
    still = sample.cut(8, 8, 50, 60)
    change = (moved.views - still.views).abs().amax(dim=(1, 2, 3))
    centre = sample.steps.index((0, 0))
    assert change[centre] < 1e-6
    assert (change[torch.arange(len(change)) != centre] > 0.002).all()
    assert change.max() < 0.5 * 0.5  # the texture changes by less than half of white in a pixel
    assert torch.equal(moved.disparity_px, still.disparity_px)


def test_blur_smooths_without_moving():
    sample = as_floats(make_sample(height=70, width=80))
    blurred = augment.resample(sample, Geometry(blur_px=1.2), 10, 10, 50, 60)
    still = sample.cut(10, 10, 50, 60)
    assert 0.5 < blurred.views.std() / still.views.std() < 0.95
    assert blurred.views.mean() == pytest.approx(float(still.views.mean()), abs=0.01)
    assert photometric_error(blurred) < 0.03


def test_all_of_the_geometry_together_is_consistent():
    sample = as_floats(make_sample(height=110, width=120, slope=0.01))
    for seed in range(5):
        options = Augmentation(shear_px=1.5, scale=1.4, blur_px=0.6)
        geometry = augment.draw_geometry(options, len(sample.steps), Random(seed))
        margin = geometry.margin_px(reach=2)
        result = augment.resample(sample, geometry, margin, margin, 48, 52)
        assert photometric_error(result) < 0.04


def test_what_lies_outside_of_the_source_is_not_valid():
    sample = as_floats(make_sample(height=40, width=44))
    larger = augment.resample(sample, Geometry(scale=0.5), 0, 0, 30, 30)
    assert larger.valid[:20, :22].all()
    assert not larger.valid[21:].any()
    assert not larger.valid[:, 23:].any()


def test_drawn_amounts_stay_in_their_ranges():
    options = Augmentation(shear_px=2.0, scale=1.5, blur_px=0.7, geometry_probability=0.5)
    drawn = [augment.draw_geometry(options, 17, Random(seed)) for seed in range(300)]
    changed = [one for one in drawn if not one.is_identity]
    assert 100 < len(changed) < 200
    assert max(abs(one.shear_px) for one in changed) <= 2
    assert min(one.scale for one in changed) >= 1 / 1.5
    assert max(one.scale for one in changed) <= 1.5
    assert max(one.blur_px for one in changed) <= 0.7
    whole = sum(one.shear_px.is_integer() for one in changed)
    assert 0.3 < whole / len(changed) < 0.7
    assert augment.draw_geometry(Augmentation(), 17, Random(0)).is_identity
