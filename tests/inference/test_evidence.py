"""Honesty where nothing can be known, on scenes that nothing here was fitted to."""

import json
import warnings

import numpy as np
import pytest
import torch
from plain import render_plain

import freqlf
from freqlf.inference.evidence import find_range_px, measure_no_evidence
from freqlf.io.pfm import read_pfm

STEPS = [(0, -1), (0, 1), (-1, 0), (1, 0)]


@pytest.mark.parametrize("is_grey", [True, False])
@pytest.mark.parametrize("level", [0.0, 0.005, 0.05])
def test_noise_is_no_evidence_and_texture_is(level, is_grey):
    rng = np.random.default_rng(1)
    y, x = np.mgrid[:96, :128]
    noise = rng.normal(0, level, (5, 1 if is_grey else 3, 96, 128))
    plain = np.broadcast_to(0.5 + noise, (5, 3, 96, 128)).copy()
    waves = 0.5 + 0.2 * np.sin(0.9 * x + 0.3 * y) * np.cos(0.7 * y)
    for pixels, is_known in ((plain, False), (plain - 0.5 + waves, True)):
        views = torch.from_numpy(np.round(255 * pixels.clip(0, 1)) / 255).float()
        near = [(step, views[i + 1 : i + 2]) for i, step in enumerate(STEPS)]
        nothing = measure_no_evidence(views[:1], near, torch.zeros(96, 128)).numpy()
        assert nothing.shape == (96, 128)
        assert np.mean(nothing < 0.5 if is_known else nothing >= 0.5) > 0.995


def test_intervals_hold_on_plain_backgrounds(tmp_path):
    estimator = freqlf.load_estimator("freqlf-plus-small")
    held, predicted, shares = [], [], []
    for seed in range(100, 106):
        array, truth_px = render_plain(seed)
        result = estimator(array)
        raw = estimator.run(freqlf.LightField.from_array(array).sheared(result.shear_px)).shifted(-result.shear_px)
        for kept, one in ((held, result), (predicted, raw)):
            kept.append(np.mean((one.lower_px <= truth_px) & (truth_px <= one.upper_px)))
        plain = truth_px == truth_px.min()
        shares.append((np.mean(result.no_evidence[plain] >= 0.5), np.mean(result.no_evidence[~plain] >= 0.5)))
        assert np.array_equal(result.disparity_px, raw.disparity_px)  # only intervals know of this
    assert np.mean(predicted) < 0.4  # what the network says alone
    assert np.mean(held) > 0.9
    assert min(held) > 0.85
    assert np.mean(shares, axis=0) == pytest.approx((0.93, 0.01), abs=0.04)
    result.save(tmp_path / "out")
    record = json.loads((tmp_path / "out" / "estimate.json").read_text())
    assert record["no_evidence"]["share"] == pytest.approx(result.no_evidence_share)
    assert record["no_evidence"]["range_px"] == pytest.approx(result.range_px)
    assert np.array_equal(read_pfm(tmp_path / "out" / "no-evidence.pfm"), result.no_evidence)
    assert any("no evidence for" in note for note in record["notes"])


def test_no_point_stands_where_nothing_is_known():
    array, truth_px = render_plain(100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        cloud = freqlf.estimate(array, "freqlf-plus-small").points()
    assert not cloud.has_unit
    objects = np.sum(truth_px > truth_px.min())
    assert 0.7 * objects < len(cloud) < 1.4 * objects
    low, high = np.percentile(cloud.points_mm[:, 2], (2, 98))
    assert 950 < low < 1100
    assert 1800 < high < 2100


def test_the_range_of_a_scene(scene):
    disparity_px = np.linspace(0, 2, 200, dtype=np.float32).reshape(10, 20)
    nothing = np.zeros((10, 20), np.float32)
    low, high = find_range_px(disparity_px, nothing, None)
    assert (low, high) == pytest.approx((-1.94, 3.94), abs=0.01)
    assert find_range_px(disparity_px, nothing + 1, None) == (-32.0, 32.0)
    camera = scene.parameters
    beyond = float(camera.disparity_px(np.array(np.inf)))
    assert find_range_px(disparity_px - 50, nothing, camera)[0] == pytest.approx(beyond, abs=1e-4)
