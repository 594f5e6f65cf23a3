import hashlib
from pathlib import Path

import pytest

from freqlf.data.hci import find_scene
from freqlf.evaluation.metrics import score_map
from freqlf.inference.estimate import load_estimator
from freqlf.models.complexity import count_parameters
from freqlf.models.presets import PRESETS
from freqlf.weights.files import read_weights
from freqlf.weights.load import load_model
from freqlf.weights.registry import WEIGHTS

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("name", WEIGHTS)
def test_files_are_what_the_registry_says(name: str) -> None:
    entry = WEIGHTS[name]
    content = entry.path.read_bytes()
    assert hashlib.sha256(content).hexdigest() == entry.sha256
    assert len(content) < 20e6
    weights = read_weights(entry.path)
    assert weights.config == PRESETS[entry.preset]
    assert weights.facts["preset"] == entry.preset
    assert sum(weight.numel() for weight in weights.state.values()) == count_parameters(load_model(name))
    # The scores were measured on scenes that it was not trained on.
    trained_on = set(weights.facts["scenes"]["training"])
    assert not set(entry.scores) & trained_on
    assert not {"backgammon", "dots", "pyramids", "stripes"} & trained_on


@pytest.mark.parametrize("name", WEIGHTS)
def test_calibrations_are_what_the_registry_says(name: str) -> None:
    entry = WEIGHTS[name]
    weights = read_weights(entry.path)
    calibration = weights.calibration
    assert calibration is not None
    assert calibration.scenes == entry.calibration.scenes
    assert calibration.held_out_ece == pytest.approx(entry.calibration.held_out_ece, abs=0.0005)
    # The promise to users; generated scenes differ more from each other than those of the benchmark.
    assert entry.calibration.held_out_ece <= (0.05 if "HCI" in entry.data else 0.1)
    # Errors on scenes that a network was trained on are too small to calibrate by.
    assert not set(calibration.scenes) & set(weights.facts["scenes"]["training"])
    card = (REPOSITORY / "docs" / "models" / f"{name}.md").read_text()
    assert f"{entry.calibration.held_out_ece:.3f}" in card
    assert ", ".join(entry.calibration.scenes) in card


@pytest.mark.parametrize("name", WEIGHTS)
def test_scores_average_to_their_mean(name: str) -> None:
    scores = dict(WEIGHTS[name].scores)
    mean = scores.pop("mean")
    for index in range(2):
        values = [score[index] for score in scores.values()]
        assert sum(values) / len(values) == pytest.approx(mean[index], abs=0.006)


@pytest.mark.parametrize("name", WEIGHTS)
def test_every_weight_has_a_card_and_a_recipe(name: str) -> None:
    card = (REPOSITORY / "docs" / "models" / f"{name}.md").read_text()
    recipe = (REPOSITORY / WEIGHTS[name].recipe).read_text()
    assert WEIGHTS[name].recipe in card
    assert f"freqlf train --preset {WEIGHTS[name].preset} " in recipe
    assert f"{name}.safetensors" in recipe
    assert WEIGHTS[name].sha256 in card
    assert WEIGHTS[name].licence in card


@pytest.mark.slow
@pytest.mark.hci
@pytest.mark.parametrize("name", WEIGHTS)
def test_a_scene_scores_what_the_registry_says(name: str, hci_root: Path) -> None:
    scene = find_scene(hci_root, "dino")
    estimate = load_estimator(name)(scene.light_field())
    scores = score_map(estimate.disparity_px, scene.disparity_px(), scene.valid_mask())
    assert (scores.mse_100, scores.badpix_007) == pytest.approx(WEIGHTS[name].scores["dino"], abs=0.02)
