from pathlib import Path

import pytest
import torch

from freqlf.checkpoint import Checkpoint, save_checkpoint
from freqlf.cli import main
from freqlf.config import AlignedConfig, PassConfig, config_to_dict
from freqlf.nn.build import build_model
from freqlf.weights.files import read_weights

CONFIG = AlignedConfig(passes=(PassConfig(channels=8, layers=1, modes=2, stem_channels=8, windows_px=(5,)),))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    average = build_model(CONFIG).state_dict()
    state = build_model(CONFIG).state_dict()
    path = tmp_path / "best.pt"
    save_checkpoint(path, Checkpoint("tiny", config_to_dict(CONFIG), {"seed": 0}, {}, 7, state, average, {}))
    return path


def test_the_average_is_packed(checkpoint: Path, tmp_path: Path) -> None:
    out = tmp_path / "weights.safetensors"
    assert main(["pack", str(checkpoint), "--out", str(out), "--no-half"]) == 0
    config, state, facts = read_weights(out)
    assert config == CONFIG
    assert facts["step"] == 7
    torch.manual_seed(0)
    for name, weight in build_model(CONFIG).state_dict().items():
        assert torch.equal(state[name], weight)


def test_refusals(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", str(checkpoint), "--out", str(tmp_path / "weights.bin")]) == 2
    assert main(["pack", str(tmp_path / "none.pt"), "--out", str(tmp_path / "weights.safetensors")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 2
    assert not list(tmp_path.glob("weights*"))
