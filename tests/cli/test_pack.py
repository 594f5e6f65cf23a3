from dataclasses import replace
from pathlib import Path

import pytest
import torch

from freqlf.cli.main import main
from freqlf.models.build import build_model
from freqlf.models.config import AlignedConfig, PassConfig
from freqlf.models.description import config_to_dict
from freqlf.training.checkpoint import save_checkpoint
from freqlf.weights.calibration import LEVELS, Calibration, write_calibration
from freqlf.weights.checkpoint import Checkpoint
from freqlf.weights.files import read_weights

CONFIG = AlignedConfig(passes=(PassConfig(channels=8, layers=1, modes=2, stem_channels=8, windows_px=(5,)),))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    average = build_model(CONFIG).state_dict()
    state = build_model(CONFIG).state_dict()
    path = tmp_path / "best.pt"
    save_checkpoint(
        path, Checkpoint("tiny", config_to_dict(CONFIG), {"seed": 0}, {"training": ["a"]}, 7, state, average, {})
    )
    return path


def test_the_average_is_packed(checkpoint: Path, tmp_path: Path) -> None:
    out = tmp_path / "weights.safetensors"
    assert main(["pack", str(checkpoint), "--out", str(out), "--no-half"]) == 0
    weights = read_weights(out)
    assert weights.config == CONFIG
    assert weights.facts["step"] == 7
    assert weights.calibration is None
    torch.manual_seed(0)
    for name, weight in build_model(CONFIG).state_dict().items():
        assert torch.equal(weights.state[name], weight)


def test_the_mean_of_several_runs_is_packed(checkpoint: Path, tmp_path: Path, capsys) -> None:
    other = build_model(CONFIG).state_dict()
    content = Checkpoint("tiny", config_to_dict(CONFIG), {"seed": 1}, {"training": ["z"]}, 9, other, other, {})
    save_checkpoint(tmp_path / "other.pt", content)
    out = tmp_path / "weights.safetensors"
    assert main(["pack", str(checkpoint), str(tmp_path / "other.pt"), "--out", str(out), "--no-half"]) == 0
    assert "after step 7 and 9" in capsys.readouterr().out
    weights = read_weights(out)
    assert [facts["recipe"]["seed"] for facts in weights.facts["averaged"]] == [0, 1]
    assert weights.facts["scenes"] == {"training": ["a", "z"]}
    torch.manual_seed(0)
    for name, weight in build_model(CONFIG).state_dict().items():
        torch.testing.assert_close(weights.state[name], (weight + other[name]) / 2)


def test_runs_of_different_models_have_no_mean(checkpoint: Path, tmp_path: Path, capsys) -> None:
    config = replace(CONFIG, components=3)
    state = build_model(config).state_dict()
    save_checkpoint(tmp_path / "other.pt", Checkpoint("tiny", config_to_dict(config), {}, {}, 9, state, state, {}))
    out = tmp_path / "weights.safetensors"
    assert main(["pack", str(checkpoint), str(tmp_path / "other.pt"), "--out", str(out)]) == 2
    assert "another model" in capsys.readouterr().err
    assert not out.exists()


def test_a_calibration_is_added_replaced_and_kept(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fitted = [Calibration(needed=((scale,),), held_out_coverage={"a": LEVELS}) for scale in (0.3, 0.5)]
    for number, calibration in enumerate(fitted):
        write_calibration(tmp_path / f"{number}.json", calibration)
    first, second, third = (tmp_path / f"{number}.safetensors" for number in range(3))
    assert main(["pack", str(checkpoint), "--out", str(first), "--calibration", str(tmp_path / "0.json")]) == 0
    assert "calibrated on a; coverage ECE on scenes left out: 0.000" in capsys.readouterr().out
    assert main(["pack", str(first), "--out", str(second), "--calibration", str(tmp_path / "1.json")]) == 0
    assert main(["pack", str(second), "--out", str(third)]) == 0
    assert [read_weights(path).calibration for path in (first, second, third)] == [fitted[0], fitted[1], fitted[1]]
    states = [read_weights(path).state for path in (first, third)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert read_weights(third).facts == read_weights(first).facts


def test_a_calibration_that_nobody_fitted_is_refused(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_calibration(tmp_path / "c.json", Calibration())
    command = ["pack", str(checkpoint), "--out", str(tmp_path / "weights.safetensors")]
    assert main([*command, "--calibration", str(tmp_path / "c.json")]) == 2
    assert "was not fitted" in capsys.readouterr().err
    assert not list(tmp_path.glob("weights*"))


def test_refusals(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", str(checkpoint), "--out", str(tmp_path / "weights.bin")]) == 2
    assert main(["pack", str(tmp_path / "none.pt"), "--out", str(tmp_path / "weights.safetensors")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 2
    assert not list(tmp_path.glob("weights*"))
