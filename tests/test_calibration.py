import json

import numpy as np
import pytest

from freqlf.calibration import Calibration, cross_validate, fit_calibration, read_calibration, write_calibration
from freqlf.diagnostics import calibration_error, coverage_curve, interval_factor
from freqlf.errors import FreqLFError


def ece_of(standard_errors) -> float:
    return calibration_error(coverage_curve(standard_errors))


def gaussian_scenes(deviation: float, count: int = 4):
    """|error| / predicted deviation of pixels whose deviation was predicted `deviation` times too large."""
    rng = np.random.default_rng(1)
    return {f"scene{i}": np.abs(rng.standard_normal(20_000)) / deviation for i in range(count)}


def heavy_tailed_scenes(count: int = 4):
    """Most pixels are far better than promised, a few are far worse: no single scale can be right."""
    rng = np.random.default_rng(2)
    scenes = {}
    for i in range(count):
        good = rng.random(20_000) < 0.85
        scenes[f"scene{i}"] = np.abs(rng.standard_normal(20_000)) * np.where(good, 0.1, 3.0)
    return scenes


def test_a_doubled_deviation_is_halved():
    calibration = fit_calibration(gaussian_scenes(2.0), kinds=("none", "scale"))
    assert calibration.kind == "scale"
    assert calibration.factor(0.9) == pytest.approx(interval_factor(0.9) / 2, rel=0.02)
    assert np.allclose(calibration.deviation_px(np.array([0.2])), 0.1, rtol=0.02)
    unseen = np.abs(np.random.default_rng(9).standard_normal(50_000)) / 2
    assert ece_of(unseen) > 0.15
    assert ece_of(calibration.standardize(unseen)) < 0.01


def test_levels_calibrate_unseen_scenes_where_a_scale_cannot():
    scenes = heavy_tailed_scenes(6)
    unseen = {name: scenes.pop(name) for name in ("scene4", "scene5")}
    calibration = fit_calibration(scenes)
    assert calibration.kind == "levels"
    assert calibration.scenes == tuple(scenes)
    assert calibration.held_out_ece["levels"] < calibration.held_out_ece["scale"] < calibration.held_out_ece["none"]
    scale = fit_calibration(scenes, kinds=("scale",))
    for errors in unseen.values():
        assert ece_of(errors) > 0.3
        assert ece_of(calibration.standardize(errors)) < 0.01
        assert ece_of(scale.standardize(errors)) > 0.02
        for level in (0.3, 0.683, 0.9):
            inside = np.mean(errors <= calibration.half_width_px(np.ones(1), level))
            assert inside == pytest.approx(level, abs=0.02)


def test_the_held_out_error_is_of_scenes_that_were_not_seen():
    scenes = gaussian_scenes(1.0) | {"odd": 5 * np.abs(np.random.default_rng(3).standard_normal(20_000))}
    held_out = cross_validate(scenes, "levels")
    assert held_out["odd"] > 0.25  # nothing in the others prepares for it
    assert list(held_out) == list(scenes)
    many = gaussian_scenes(2.0, count=11)  # left out in groups
    assert max(cross_validate(many, "scale").values()) < 0.02


def test_nothing_is_changed_when_nothing_is_wrong():
    scenes = gaussian_scenes(1.0)
    calibration = fit_calibration(scenes)
    assert calibration.held_out_ece[calibration.kind] <= calibration.held_out_ece["none"]
    assert calibration.factor(0.8) == pytest.approx(interval_factor(0.8), rel=0.03)
    assert Calibration().factor(0.8) == interval_factor(0.8)


def test_the_map_is_monotone_and_inverts():
    calibration = fit_calibration(heavy_tailed_scenes(), kinds=("levels",))
    levels = np.linspace(0.001, 0.9999, 300)
    factors = np.array([calibration.factor(level) for level in levels])
    assert np.all(np.diff(factors) > 0)
    gaussian = np.array([interval_factor(level) for level in levels])
    assert np.allclose(calibration.standardize(factors), gaussian, rtol=1e-6, atol=1e-9)


def test_errors_of_zero_and_broken_promises_can_be_fitted():
    rng = np.random.default_rng(4)
    scenes = gaussian_scenes(1.0, 3)
    scenes["exact"] = np.zeros(5000)
    scenes["broken"] = np.where(rng.random(5000) < 0.5, np.inf, 1.0)
    calibration = fit_calibration(scenes, kinds=("levels",))
    assert np.isfinite(calibration.factor(0.999))
    with pytest.raises(FreqLFError, match="nearly all deviations are 0"):
        fit_calibration({name: np.full(100, np.inf) for name in "ab"}, kinds=("levels",))


def test_written_and_read_again(tmp_path):
    calibration = fit_calibration(heavy_tailed_scenes())
    write_calibration(tmp_path / "calibration.json", calibration)
    assert read_calibration(tmp_path / "calibration.json") == calibration


def test_one_scene_is_not_enough():
    with pytest.raises(FreqLFError, match="two scenes at least, not 1"):
        fit_calibration(gaussian_scenes(1.0, 1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "magic"}, "not 'magic'"),
        ({"needed": [1.0, 2.0]}, "must be as many"),
        ({"gaussian": [1.0, 0.5], "needed": [1.0, 2.0]}, "increasing"),
        ({"needed": ["wide"]}, "is not a calibration"),
        ({"needed": [-1.0]}, "positive"),
        ({"colour": 3}, "and nothing else"),
        ({"held_out_ece": 3}, "is not a calibration"),
    ],
)
def test_damaged_files_are_refused(tmp_path, change, message):
    path = tmp_path / "calibration.json"
    write_calibration(path, Calibration())
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(FreqLFError, match=message) as caught:
        read_calibration(path)
    assert str(path) in str(caught.value)


def test_files_that_are_no_json_are_refused(tmp_path):
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(FreqLFError, match="is not JSON"):
        read_calibration(tmp_path / "a.json")
    with pytest.raises(FreqLFError, match="cannot read"):
        read_calibration(tmp_path / "b.json")
