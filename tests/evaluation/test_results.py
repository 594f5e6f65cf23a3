from pathlib import Path

import numpy as np
import pytest
import torch

from freqlf.data.hci import Scene
from freqlf.errors import FreqLFError
from freqlf.evaluation.results import Results, predict_scenes, write_result
from freqlf.inference.estimate import Estimator, load_estimator
from freqlf.io.pfm import write_pfm
from freqlf.models.build import build_model
from freqlf.models.config import AlignedConfig, PassConfig

CONFIG = AlignedConfig(passes=(PassConfig(channels=8, layers=1, modes=2, stem_channels=8, windows_px=(5,)),))


def test_what_was_written_is_read(tmp_path):
    disparity, variance = np.full((4, 5), 0.5, np.float32), np.full((4, 5), 0.01, np.float32)
    write_result(tmp_path, "dots", disparity, variance_px2=variance, runtime_s=1.25, peak_memory_mb=300)
    write_result(tmp_path, "boxes", disparity)
    results = Results(tmp_path)
    assert results.scenes() == ["boxes", "dots"]
    assert np.array_equal(results.disparity_px("dots"), disparity)
    assert np.array_equal(results.variance_px2("dots"), variance)
    assert (results.runtime_s("dots"), results.peak_memory_mb("dots")) == (1.25, 300.0)
    assert (results.variance_px2("boxes"), results.runtime_s("boxes")) == (None, None)


def test_plain_folders_of_maps_do_too(tmp_path):
    write_pfm(tmp_path / "boxes.pfm", np.zeros((2, 2)))
    assert Results(tmp_path).scenes() == ["boxes"]
    assert Results(tmp_path).disparity_px("boxes").shape == (2, 2)


@pytest.mark.parametrize("text", ["", "soon", "nan", "-1", "inf"])
def test_a_runtime_is_a_number(tmp_path, text):
    write_result(tmp_path, "boxes", np.zeros((2, 2)), runtime_s=1.0)
    (tmp_path / "runtimes" / "boxes.txt").write_text(text)
    with pytest.raises(FreqLFError, match=r"runtimes/boxes.txt"):
        Results(tmp_path).runtime_s("boxes")


def test_missing_and_colour_maps_are_errors(tmp_path):
    write_pfm(tmp_path / "boxes.pfm", np.zeros((2, 2, 3)))
    with pytest.raises(FreqLFError, match="colour PFM"):
        Results(tmp_path).disparity_px("boxes")
    with pytest.raises(FreqLFError, match=r"has no dots.pfm"):
        Results(tmp_path).disparity_px("dots")
    with pytest.raises(FreqLFError, match="is not a directory"):
        Results(tmp_path / "x").scenes()


def test_maps_runtimes_and_memory_are_kept(make_scene, tmp_path: Path) -> None:
    scenes = [Scene(make_scene(name)) for name in ("one", "two")]
    predict_scenes(load_estimator("slope"), scenes, tmp_path / "maps", "mean")
    results = Results(tmp_path / "maps")
    assert results.scenes() == ["one", "two"]
    assert np.median(np.abs(results.disparity_px("one") - 0.5)) < 0.02
    assert results.variance_px2("one") is None
    assert results.runtime_s("two") > 0
    assert results.peak_memory_mb("two") > 50


@pytest.mark.parametrize("reading", ["mean", "estimate"])
def test_the_reading_decides_which_estimate_is_kept(make_scene, tmp_path: Path, reading: str) -> None:
    torch.manual_seed(0)
    estimator, scene = Estimator("tiny", build_model(CONFIG).eval()), Scene(make_scene())
    predict_scenes(estimator, [scene], tmp_path / "maps", reading)
    estimate, results = estimator(scene.directory), Results(tmp_path / "maps")
    expected = estimate.mean_px if reading == "mean" else estimate.disparity_px
    assert np.array_equal(results.disparity_px("plane"), expected)
    assert np.allclose(np.sqrt(results.variance_px2("plane")), estimate.deviation_px)
