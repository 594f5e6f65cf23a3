"""Rendered scenes: what is seen agrees with the ground truth, and the same seed gives the same scene."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.ndimage import map_coordinates, maximum_filter

from freqlf.data.hci import Scene, write_scene
from freqlf.data.synthetic import LAYOUTS, SceneOptions, render_disparity, render_scene
from freqlf.errors import FreqLFError

SMALL = SceneOptions(height_px=96, width_px=96, rows=5, columns=5)
CLEAN = replace(SMALL, highlights=False, bit_depth=16)


def sample(image, y, x, order=3):
    """`image` (H, W) at real positions; NaN outside."""
    return map_coordinates(image.astype(np.float64), [y, x], order=order, cval=np.nan)


def is_edge(disparity_px):
    """Where the disparity jumps within 2 pixels."""
    return maximum_filter(disparity_px, 5) + maximum_filter(-disparity_px, 5) > 0.3


def warp_errors(scene, options, view, disparity_of_view, shift_px=0.0):
    """|view warped to the centre - centre|, in [0, 1], at the pixels whose surface the view sees as well.

    `shift_px` is added to the disparity by which the view is warped.
    """
    s, t = view[0] - options.centre[0], view[1] - options.centre[1]
    y, x = np.mgrid[: options.height_px, : options.width_px]
    d = scene.disparity_px
    y_view, x_view = y - s * d, x - t * d
    white = np.iinfo(scene.views[view].dtype).max
    y_warp, x_warp = y_view - s * shift_px, x_view - t * shift_px
    warped = np.stack([sample(scene.views[view][..., c] / white, y_warp, x_warp) for c in range(3)], axis=-1)
    errors = np.abs(warped - scene.views[options.centre] / white).mean(axis=-1)
    # Visible: the view's own ground truth has the same disparity there. Pixels at edges mix two surfaces, and the
    # cubic interpolation rings beside them, so stay 2 pixels away in both views.
    seen = sample(disparity_of_view, y_view, x_view, order=1)
    edge = is_edge(d) | (sample(is_edge(disparity_of_view), y_view, x_view, order=1) > 0)
    inside = (y_view > 3) & (x_view > 3) & (y_view < options.height_px - 4) & (x_view < options.width_px - 4)
    return errors[(np.abs(seen - d) < 0.02) & ~edge & inside]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_view_warped_by_the_ground_truth_is_the_centre(layout):
    options = replace(CLEAN, layout=layout)
    for seed in (0, 1):
        scene = render_scene(seed, options)
        disparities = render_disparity(seed, options)
        errors = np.concatenate([warp_errors(scene, options, view, disparities[view]) for view in options.all_views])
        assert errors.size > 2 * options.height_px * options.width_px
        # What is left comes from interpolating between pixels: nothing for smooth texture, a few per cent of white
        # where the texture is as fine as the pixels.
        assert np.median(errors) < 0.01
        assert np.quantile(errors, 0.95) < 0.06


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_the_ground_truth_has_no_bias(seed):
    """Slightly lower and slightly higher disparities fit equally worse: the best is within 0.002 px of the truth.

    On a continuous surface, because interpolation beside edges has a bias of its own.
    """
    options = replace(CLEAN, layout="relief")
    views = [(0, 0), (2, 0), (0, 2), (4, 4), (2, 4), (4, 2)]
    scene = render_scene(seed, options, [*views, options.centre])
    disparities = render_disparity(seed, options, views)
    below, at, above = (
        np.mean(np.concatenate([warp_errors(scene, options, view, disparities[view], shift) ** 2 for view in views]))
        for shift in (-0.1, 0.0, 0.1)
    )
    assert at < 0.3 * min(below, above)
    assert abs(0.1 * (above - below) / (2 * (above + below - 2 * at))) < 0.002


def test_the_opposite_sign_does_not_fit():
    scene = render_scene(3, replace(CLEAN, layout="cutouts", disparity_range_px=(1.0, 3.0)))
    options = replace(CLEAN, layout="cutouts", disparity_range_px=(1.0, 3.0))
    right = warp_errors(scene, options, (0, 4), render_disparity(3, options, [(0, 4)])[0, 4])
    y, x = np.mgrid[:96, :96]
    wrong = sample(scene.views[0, 4][..., 0] / 65535, y - 2 * scene.disparity_px, x + 2 * scene.disparity_px)
    wrong = np.abs(wrong - scene.views[2, 2][..., 0] / 65535)
    assert np.nanmean(wrong) > 5 * right.mean()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_positive_disparity_moves_left_and_up(layout):
    """The point at x of the centre is at x - d one view further right, and at y - d one view further down."""
    options = replace(CLEAN, layout=layout, disparity_range_px=(2.0, 2.2), height_px=40, width_px=64)
    scene = render_scene(1, options, [(2, 2), (2, 3), (3, 2)])
    centre, right, below = (scene.views[view].astype(float) for view in [(2, 2), (2, 3), (3, 2)])
    for moved, opposite, other in (
        (centre[:, 2:], centre[:, :-2], right), (centre[2:], centre[:-2], below),
    ):  # fmt: skip
        fits = np.abs(other[: moved.shape[0], : moved.shape[1]] - moved).mean()
        misfits = np.abs(other[-opposite.shape[0] :, -opposite.shape[1] :] - opposite).mean()
        assert fits < misfits


def test_the_same_seed_gives_the_same_scene_on_any_number_of_threads():
    options = replace(SMALL, noise=0.02, blur_px=0.5, exposure_jitter=0.05)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        first = render_scene(5, options)
        torch.set_num_threads(3)
        second = render_scene(5, options)
    finally:
        torch.set_num_threads(before)
    assert first.parameters == second.parameters
    np.testing.assert_array_equal(first.disparity_px, second.disparity_px)
    for view in options.all_views:
        np.testing.assert_array_equal(first.views[view], second.views[view])
    assert any((first.views[2, 2] != render_scene(6, options, [(2, 2)]).views[2, 2]).ravel())


def test_some_views_are_the_same_as_among_all():
    options = replace(SMALL, noise=0.02, exposure_jitter=0.05)
    everything = render_scene(2, options)
    some = render_scene(2, options, [(0, 4), (2, 2), (3, 1)])
    assert sorted(some.views) == [(0, 4), (2, 2), (3, 1)]
    for view, image in some.views.items():
        np.testing.assert_array_equal(image, everything.views[view])


def test_disparity_stays_in_its_range_and_scenes_cover_it():
    options = replace(SMALL, height_px=32, width_px=32, layout="relief")
    ranges = [render_scene(seed, options, []).disparity_px for seed in range(40)]
    lowest, highest = min(d.min() for d in ranges), max(d.max() for d in ranges)
    assert -4.001 <= lowest < -2.5
    assert 2.5 < highest <= 4.001
    assert all(d.max() - d.min() > 0.2 for d in ranges)


def test_disparity_of_a_view_at_the_centre_is_the_ground_truth():
    np.testing.assert_array_equal(render_disparity(4, SMALL, [(2, 2)])[2, 2], render_scene(4, SMALL, []).disparity_px)


@pytest.mark.parametrize(("height", "width"), [(33, 70), (64, 17), (5, 3), (1, 1)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_size(height, width, layout):
    options = SceneOptions(height_px=height, width_px=width, rows=3, columns=7, layout=layout)
    scene = render_scene(0, options)
    assert len(scene.views) == 21
    assert all(image.shape == (height, width, 3) and image.dtype == np.uint8 for image in scene.views.values())
    assert scene.disparity_px.shape == scene.valid_mask.shape == (height, width)
    assert scene.disparity_px.dtype == np.float32
    assert np.isfinite(scene.disparity_px).all()


def test_no_ray_misses_the_scene():
    """In views far out, at the steepest disparities, there is a surface behind every pixel."""
    options = SceneOptions(height_px=24, width_px=48, rows=9, columns=9)
    for seed in range(10):
        for disparity_px in render_disparity(seed, options, [(0, 0), (8, 0), (0, 8)]).values():
            assert np.isfinite(disparity_px).all()


def test_noise_has_the_size_that_was_asked_for_and_differs_between_views():
    clean, noisy = (render_scene(1, replace(SMALL, noise=noise, bit_depth=16)) for noise in (0.0, 0.03))
    views = [(0, 0), (2, 2)]
    first, second = ((noisy.views[view].astype(float) - clean.views[view]) / 65535 for view in views)
    grey = clean.views[2, 2] / 65535
    assert second[(grey > 0.4) & (grey < 0.6)].std() == pytest.approx(0.03, rel=0.1)
    assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 0.05
    np.testing.assert_array_equal(clean.disparity_px, noisy.disparity_px)


def test_blur_smooths_and_exposure_changes_brightness():
    plain = render_scene(1, SMALL, [(2, 2)]).views[2, 2].astype(float)
    blurred = render_scene(1, replace(SMALL, blur_px=1.5), [(2, 2)]).views[2, 2].astype(float)
    assert np.abs(np.diff(blurred, axis=1)).mean() < 0.8 * np.abs(np.diff(plain, axis=1)).mean()
    assert blurred.mean() == pytest.approx(plain.mean(), rel=0.01)
    jittered = render_scene(1, replace(SMALL, exposure_jitter=0.1, bit_depth=16))
    steady = render_scene(1, replace(SMALL, bit_depth=16))
    gains = [np.median(jittered.views[v] / np.maximum(steady.views[v], 1)) for v in SMALL.all_views]
    assert 0.05 < np.std(gains) < 0.2


def test_an_amount_may_be_drawn_from_a_range():
    options = replace(SMALL, exposure_jitter=(0.0, 0.2))
    assert (render_scene(1, options, [(0, 0)]).views[0, 0] != render_scene(1, SMALL, [(0, 0)]).views[0, 0]).any()


def test_highlights_break_the_match_in_some_scenes_and_are_masked_where_they_hide_the_surface():
    options = replace(SMALL, layout="relief", height_px=64, width_px=64, rows=3, columns=3)
    made = [render_scene(seed, options, [(0, 0)]) for seed in range(16)]
    plain = [render_scene(seed, replace(options, highlights=False), [(0, 0)]) for seed in range(16)]
    differ = [(a.views[0, 0] != b.views[0, 0]).any() for a, b in zip(made, plain, strict=True)]
    assert 1 <= sum(differ) < 16
    assert all(scene.valid_mask.mean() > 0.9 for scene in made)
    assert not all(scene.valid_mask.all() for scene in made)
    assert all(scene.valid_mask.all() for scene in plain)


def test_parameters_give_a_positive_depth_that_agrees_with_the_disparity():
    for seed in range(4):
        scene = render_scene(seed, replace(SMALL, disparity_range_px=(1.0, 4.0)), [])
        depth_m = scene.parameters.depth_m(scene.disparity_px)
        assert np.isfinite(depth_m).all()
        assert (depth_m > 0).all()
        np.testing.assert_allclose(scene.parameters.disparity_px(depth_m), scene.disparity_px, atol=1e-4)
        assert scene.parameters.disp_min_px == scene.disparity_px.min()
        assert scene.parameters.disp_max_px == scene.disparity_px.max()


def test_a_scene_survives_the_benchmark_layout(tmp_path):
    made = render_scene(7, SMALL)
    write_scene(tmp_path / "made", made.views, made.disparity_px, made.parameters, made.valid_mask)
    scene = Scene(tmp_path / "made")
    np.testing.assert_array_equal(scene.disparity_px(), made.disparity_px)
    np.testing.assert_array_equal(scene.valid_mask(), made.valid_mask)
    assert scene.parameters == made.parameters
    np.testing.assert_allclose(scene.light_field().view(1, 3) * 255, made.views[1, 3], atol=1e-3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"height_px": 0}, "height_px must be between 1 and 30000, not 0"),
        ({"rows": 4}, "rows of views must be odd and at least 3 (one view is the centre), not 4"),
        ({"columns": 1}, "columns of views must be odd"),
        ({"disparity_range_px": (2.0, 1.0)}, "ascending order, not 2.0 and 1.0"),
        ({"disparity_range_px": (0.0, float("nan"))}, "ascending order"),
        ({"noise": -0.1}, "noise must not be negative"),
        ({"blur_px": (1.0, 0.5)}, "blur_px must not be negative, and a range must be ascending"),
        ({"layout": "sea"}, "no layout 'sea': choose one of room"),
        ({"bit_depth": 12}, "bit_depth must be 8 or 16, not 12"),
    ],
)
def test_wrong_options(wrong, message):
    with pytest.raises(FreqLFError) as caught:
        SceneOptions(**wrong)
    assert message in str(caught.value)


def test_views_that_do_not_exist_and_negative_seeds():
    with pytest.raises(FreqLFError, match=r"no view \(5, 0\) in a grid of 5 x 5 views"):
        render_scene(0, SMALL, [(5, 0)])
    with pytest.raises(FreqLFError, match="seed must not be negative"):
        render_scene(-1, SMALL, [])
