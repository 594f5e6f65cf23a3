"""What happens to real captures before a model sees them: vignetting, many views, focus far away, single rows."""

import warnings

import numpy as np
import pytest

import freqlf
from freqlf.data.synthetic import SceneOptions, render_scene
from freqlf.inference.consistency import Ordering, check_consistency
from freqlf.inference.exposure import measure_gains
from freqlf.inference.opening import open_light_field
from freqlf.inference.preparation import prepare
from freqlf.inference.shear import find_layout
from freqlf.lightfield import LINES, LightField

STAR = tuple(LINES)


@pytest.fixture(scope="module")
def room():
    options = SceneOptions(128, 128, 9, 9, disparity_range_px=(-2.0, 2.0), layout="room", highlights=False)
    needed = {view for direction in LINES for view in LightField(9, 9, {}).line(direction)}
    return render_scene(5, options, needed)


def as_array(scene, rows=9, columns=9):
    """Views that were not rendered are black."""
    array = np.zeros((rows, columns, *scene.disparity_px.shape, 3), np.uint8)
    for (u, v), view in scene.views.items():
        array[u, v] = view
    return array


def vignette(array, strength=0.28):
    """Darker towards the edge of the aperture, and a little redder."""
    rows, columns = array.shape[:2]
    u, v = np.mgrid[:rows, :columns]
    radius = np.hypot(u - rows // 2, v - columns // 2) / np.hypot(rows // 2, columns // 2)
    gain = 1 - strength * radius[..., None] ** 2 * np.array([0.9, 1.0, 1.0])
    return np.round(array * gain[:, :, None, None, :]).astype(np.uint8), gain


def test_even_views_are_left_alone(room):
    light_field = LightField.from_array(as_array(room))
    assert measure_gains(light_field, STAR, 0.0) == {}
    prepared = prepare(open_light_field(light_field), STAR, None, lambda rows, columns: True)
    assert prepared.for_model is prepared.light_field
    assert (prepared.notes, prepared.shear_px) == ((), 0.0)


def test_vignetting_is_measured_and_undone(room):
    dark, gain = vignette(as_array(room))
    found = measure_gains(LightField.from_array(dark), STAR, 0.0)
    for view in ((0, 0), (4, 0), (8, 8), (2, 6)):
        assert found[view] == pytest.approx(1 / gain[view], rel=0.02)


def test_vignetting_costs_next_to_nothing(room):
    def error_px(array):
        disparity_px = freqlf.estimate(array, "freqlf-plus-small").disparity_px
        return np.abs(disparity_px - room.disparity_px)[12:-12, 12:-12].mean()

    even = as_array(room)
    dark, _ = vignette(even)
    assert error_px(even) < 0.01
    assert error_px(dark) < 0.02  # 1.1 px without any gains


def test_a_capture_with_dark_corners_works_with_defaults():
    options = SceneOptions(112, 112, 15, 15, (-1.0, 1.0), layout="cutouts", highlights=False)
    needed = {view for direction in LINES for view in LightField(15, 15, {}).line(direction)}
    scene = render_scene(22, options, needed)
    rng = np.random.default_rng(0)
    array = as_array(scene, 15, 15).astype(float)
    for u, v in needed:
        radius = np.hypot(u - 7, v - 7) / 7
        array[u, v] *= (1 - 0.35 * radius**2) if radius < 1.02 else 0.05
        array[u, v] += rng.normal(0, 2.5, array[u, v].shape)
    result = freqlf.estimate(np.clip(np.round(array), 0, 255).astype(np.uint8), "freqlf-plus-small")
    error_px = np.abs(result.disparity_px - scene.disparity_px)[10:-10, 10:-10]
    assert error_px.mean() < 0.03  # 0.8 px with all views as they are
    assert np.abs(result.disparity_px).max() < 2


@pytest.mark.parametrize("shear_px", [-18.0, 11.0])
@pytest.mark.parametrize("order", [Ordering(), Ordering(reverse_rows=True), Ordering(reverse_columns=True)], ids=str)
def test_order_and_sign_are_found_far_from_the_focus_plane(array, shear_px, order):
    sheared = LightField.from_array(array).sheared(shear_px)
    wrong = sheared.reordered(reverse_rows=order.reverse_rows, reverse_columns=order.reverse_columns)
    found = check_consistency(wrong)
    assert found.warning is None
    both = (found.ordering.reverse_rows != order.reverse_rows, found.ordering.reverse_columns != order.reverse_columns)
    assert both == (False, False) or (not found.sign_is_sure and both == (True, True))


def test_a_plain_background_does_not_decide_where_the_scene_lies():
    rng = np.random.default_rng(0)
    views, size, disparity_px = 9, 160, -10
    texture = rng.random((60, 60, 3)).astype(np.float32)
    array = np.full((views, views, size, size, 3), 0.4, np.float32)
    for u, v in np.ndindex(views, views):
        y, x = 50 - (u - 4) * disparity_px, 50 - (v - 4) * disparity_px
        array[u, v, y : y + 60, x : x + 60] = texture[: size - y, : size - x]
    layout = find_layout(LightField.from_array(array))
    assert layout.middle_px == pytest.approx(disparity_px, abs=0.5)


def test_a_constant_light_field_is_flagged_and_finite():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = freqlf.estimate(np.full((9, 9, 48, 56, 3), 0.5), "freqlf-plus-small")
    assert any("next to nothing that could be matched" in str(warning.message) for warning in caught)
    assert result.shear_px == 0
    assert result.no_evidence.min() == 1
    assert result.no_evidence_share == 1
    for values in (result.disparity_px, result.deviation_px, result.lower_px, result.upper_px):
        assert np.isfinite(values).all()
    assert result.lower_px.max() <= -32
    assert result.upper_px.min() >= 32


@pytest.mark.parametrize(("half_range_px", "count"), [(0.5, 13), (3.0, 9)])
def test_more_views_are_used_where_disparities_are_small(half_range_px, count):
    options = SceneOptions(96, 96, 13, 13, (-half_range_px, half_range_px), layout="cutouts", highlights=False)
    scene = render_scene(4, options)
    result = freqlf.estimate(as_array(scene, 13, 13), "slope")
    assert (result.light_field.rows, result.light_field.columns) == (count, count)
    assert any("more views help" in note for note in result.notes) == (count == 13)


@pytest.mark.parametrize("is_row", [True, False])
@pytest.mark.parametrize("is_reversed", [True, False])
def test_a_single_row_or_column_works_end_to_end(tmp_path, scene, array, is_row, is_reversed):
    line = array[2:3] if is_row else array[:, 2:3]
    line = line[::-1, ::-1] if is_reversed else line
    with pytest.warns(UserWarning, match="a single row or column of views"):
        result = freqlf.estimate(line, "freqlf-plus-small")
    assert result.model == "slope"
    assert result.deviation_px is None
    assert np.median(np.abs(result.disparity_px - scene.disparity_px)) < 0.1
    assert "disparity.pfm" in {path.name for path in result.save(tmp_path / "out", all_in_focus=True)}
