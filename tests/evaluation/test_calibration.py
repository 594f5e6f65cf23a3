import json

import numpy as np
import pytest

from freqlf.errors import FreqLFError
from freqlf.evaluation.calibration import fit_calibration
from freqlf.evaluation.uncertainty import coverage_curve
from freqlf.weights.calibration import (
    LEVELS,
    Calibration,
    calibration_error,
    interval_factor,
    read_calibration,
    write_calibration,
)


def ece_of(pixels, calibration: Calibration | None = None) -> float:
    return calibration_error(coverage_curve((calibration or Calibration()).standardize(*pixels)))


def gaussian_scenes(too_large: float, count: int = 4):
    """Errors, and deviations that were predicted `too_large` times too large."""
    rng = np.random.default_rng(1)
    scenes = {}
    for i in range(count):
        deviation = np.exp(rng.uniform(-4, 0, 20_000))
        scenes[f"scene{i}"] = (np.abs(deviation * rng.standard_normal(20_000)), too_large * deviation)
    return scenes


def heavy_tailed_scenes(count: int = 4):
    """Most pixels are far better than promised, a few are far worse: no single scale can be right."""
    rng = np.random.default_rng(2)
    scenes = {}
    for i in range(count):
        good = rng.random(20_000) < 0.85
        deviation = np.exp(rng.uniform(-4, 0, 20_000))
        error = np.abs(rng.standard_normal(20_000)) * np.where(good, 0.1, 3.0) * deviation
        scenes[f"scene{i}"] = (error, deviation)
    return scenes


def squared_scenes(count: int = 5):
    """The true deviation is the square of the predicted one, and some scenes are harder than others."""
    rng = np.random.default_rng(3)
    scenes = {}
    for i in range(count):
        deviation = np.exp(rng.uniform(-4, -1.5 + 0.4 * i, 20_000))
        scenes[f"scene{i}"] = (np.abs(deviation**2 * rng.standard_normal(20_000)), deviation)
    return scenes


def test_a_doubled_deviation_is_halved():
    calibration = fit_calibration(gaussian_scenes(2.0))
    assert calibration.half_width_px(np.array([0.2]), 0.9) == pytest.approx(interval_factor(0.9) * 0.1, rel=0.05)
    unseen = gaussian_scenes(2.0, count=5)["scene4"]
    assert ece_of(unseen) > 0.15
    assert ece_of(unseen, calibration) < 0.01


def test_unseen_scenes_with_heavy_tails_are_calibrated():
    scenes = heavy_tailed_scenes(6)
    unseen = {name: scenes.pop(name) for name in ("scene4", "scene5")}
    calibration = fit_calibration(scenes)
    assert calibration.scenes == tuple(scenes)
    for error, deviation in unseen.values():
        assert ece_of((error, deviation)) > 0.3
        assert ece_of((error, deviation), calibration) < 0.01
        for level in (0.3, 0.683, 0.9):
            inside = np.mean(error <= calibration.half_width_px(deviation, level))
            assert inside == pytest.approx(level, abs=0.02)


def test_deviations_calibrate_scenes_that_differ_in_difficulty():
    scenes = squared_scenes()
    calibration = fit_calibration(scenes)
    assert calibration.held_out_ece < 0.02
    # The map is the square, between the knots and a little beyond.
    deviation = np.exp(np.array([-3.5, -2.0, -1.0]))
    expected = interval_factor(0.8) * deviation**2
    assert np.allclose(calibration.half_width_px(deviation, 0.8), expected, rtol=0.15)


def test_intervals_hold_among_certain_and_uncertain_pixels_alike():
    """The errors of uncertain pixels have another shape: most are small, some are huge."""
    rng = np.random.default_rng(5)
    scenes = {}
    for name in "abcd":
        deviation = np.exp(rng.uniform(-4, 0, 40_000))
        wrong = rng.random(40_000) < 0.4 * deviation  # the more uncertain, the more often on another surface
        error = np.abs(rng.standard_normal(40_000)) * np.where(wrong, 5.0, 0.3) * deviation
        scenes[name] = (error, deviation)
    error, deviation = scenes.pop("d")
    calibration = fit_calibration(scenes)
    for low, high in ((0.0, 0.05), (0.05, 0.2), (0.2, 0.5), (0.5, 1.0)):
        chosen = (deviation > low) & (deviation <= high)
        for level in (0.5, 0.9):
            inside = np.mean(error[chosen] <= calibration.half_width_px(deviation[chosen], level))
            assert inside == pytest.approx(level, abs=0.03), (low, level)


def test_more_uncertain_is_never_more_certain():
    calibration = fit_calibration(squared_scenes())
    widths = calibration.half_width_px(np.concatenate([[0.0], np.geomspace(1e-6, 1e3, 2000)]), 0.9)
    assert widths[0] == 0.0
    assert np.all(np.diff(widths) > 0)
    assert np.isfinite(widths).all()


def test_the_held_out_error_is_of_scenes_that_were_not_seen():
    scenes = gaussian_scenes(1.0)
    error, deviation = scenes["scene0"]
    scenes["odd"] = (5 * error, deviation)
    calibration = fit_calibration(scenes)
    held_out = {name: calibration_error(np.array(one)) for name, one in calibration.held_out_coverage.items()}
    assert held_out["odd"] > 0.25  # nothing in the others prepares for it
    assert calibration.scenes == tuple(scenes)
    assert calibration.held_out_ece == pytest.approx(np.mean(list(held_out.values())))
    known = {name: one for name, one in scenes.items() if name != "odd"}
    alone = coverage_curve(fit_calibration(known).standardize(*scenes["odd"]))
    assert calibration.held_out_coverage["odd"] == pytest.approx(alone, abs=1e-3)
    many = fit_calibration(gaussian_scenes(2.0, count=40))  # left out in groups
    assert many.held_out_ece < 0.02


def test_nothing_is_changed_when_nothing_is_wrong():
    calibration = fit_calibration(gaussian_scenes(1.0))
    deviation = np.exp(np.array([-3.5, -2.0, -0.5]))
    assert np.allclose(calibration.half_width_px(deviation, 0.8), interval_factor(0.8) * deviation, rtol=0.06)


def test_the_map_is_monotone_and_inverts():
    calibration = fit_calibration(heavy_tailed_scenes())
    levels = np.linspace(0.001, 0.9999, 300)
    gaussian = np.array([interval_factor(level) for level in levels])
    for deviation in (1e-4, 0.03, 0.4, 20.0):
        widths = np.array([calibration.half_width_px(np.array([deviation]), level)[0] for level in levels])
        assert np.all(np.diff(widths) > 0)
        standard = calibration.standardize(widths, np.full(300, deviation))
        assert np.allclose(standard, gaussian, rtol=1e-6, atol=1e-9)
    assert np.array_equal(calibration.half_width_px(np.array([0.1, 0.0]), 0.0), [0.0, 0.0])


def test_constant_deviations_exact_estimates_and_broken_promises_can_be_fitted():
    rng = np.random.default_rng(4)
    scenes = {
        "constant": (np.abs(rng.standard_normal(5000)), np.ones(5000)),
        "exact": (np.zeros(5000), np.ones(5000)),
        "broken": (np.ones(5000), (rng.random(5000) < 0.9).astype(float)),  # one in ten deviations is 0
    }
    calibration = fit_calibration(scenes)
    assert np.isfinite(calibration.half_width_px(np.array([0.0, 0.5, 2.0]), 0.99)).all()


def test_promises_of_no_error_at_all():
    standard = Calibration().standardize(np.array([0.0, 1.0]), np.zeros(2))
    assert np.array_equal(standard, [0.0, np.inf])


def test_there_must_be_something_to_calibrate():
    with pytest.raises(FreqLFError, match="all deviations are 0"):
        fit_calibration({name: (np.ones(100), np.zeros(100)) for name in "ab"})


def test_written_and_read_again(tmp_path):
    calibration = fit_calibration(heavy_tailed_scenes())
    write_calibration(tmp_path / "calibration.json", calibration)
    assert read_calibration(tmp_path / "calibration.json") == calibration


def test_files_of_earlier_versions_are_read(tmp_path):
    path = tmp_path / "calibration.json"
    write_calibration(path, Calibration())
    older = json.loads(path.read_text()) | {"kind": "deviations", "ece_by_kind": {"none": 0.2, "deviations": 0.03}}
    path.write_text(json.dumps(older))
    assert read_calibration(path) == Calibration()


def test_few_scenes_are_not_enough():
    with pytest.raises(FreqLFError, match="2 scenes at least, not 1"):
        fit_calibration(gaussian_scenes(1.0, 1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"needed": [[1.0, 2.0]]}, "for each of"),
        ({"gaussian": [1.0, 0.5], "needed": [[1.0, 2.0]]}, "increasing"),
        ({"needed": [["wide"]]}, "must be a number, not wide"),
        ({"needed": [[-1.0]]}, "increasing from 0"),
        ({"needed": [[float("nan")]]}, "NaN is not a finite number"),
        ({"predicted_px": [1.0, 2.0]}, "for each of"),
        ({"predicted_px": [1.0, 2.0], "needed": [[3.0], [1.0]]}, "the widths they give"),
        ({"gaussian": [], "needed": [[]]}, "needs knots"),
        ({"colour": 3}, "unknown key 'colour'"),
        ({"held_out_coverage": {"a": [0.5]}}, f"{len(LEVELS)} values for each scene"),
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
    with pytest.raises(FreqLFError, match="does not exist"):
        read_calibration(tmp_path / "b.json")
