from pathlib import Path

import numpy as np
import pytest
import torch

from freqlf.data.hci import Scene
from freqlf.evaluation.prediction import predict_scenes
from freqlf.evaluation.results import Results
from freqlf.inference.estimate import Estimator, load_estimator
from freqlf.models.build import build_model
from freqlf.models.config import AlignedConfig, PassConfig

CONFIG = AlignedConfig(passes=(PassConfig(channels=8, layers=1, modes=2, stem_channels=8, windows_px=(5,)),))


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
