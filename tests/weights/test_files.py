import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from freqlf.errors import FreqLFError
from freqlf.models.build import build_model
from freqlf.models.config import AlignedConfig, PassConfig
from freqlf.models.description import config_to_dict
from freqlf.weights.calibration import LEVELS, Calibration
from freqlf.weights.files import read_weights, write_weights
from freqlf.weights.load import load_calibrated, load_model

CONFIG = AlignedConfig(passes=(PassConfig(channels=8, layers=1, modes=2, stem_channels=8, windows_px=(5,)),))


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    path = tmp_path / "tiny.safetensors"
    write_weights(path, CONFIG, build_model(CONFIG).state_dict(), {"data": "none"}, half=False)
    return path


def test_round_trip(weights: Path) -> None:
    content = read_weights(weights)
    assert content.config == CONFIG
    assert content.facts == {"data": "none"}
    assert content.calibration is None
    state = content.state
    torch.manual_seed(0)
    for name, weight in build_model(CONFIG).state_dict().items():
        assert torch.equal(state[name], weight)
    loaded = load_model(weights)
    assert not loaded.training
    assert torch.equal(loaded.state_dict()["passes.0.encoder.read.weight"], state["passes.0.encoder.read.weight"])


def test_half_precision_halves_the_file(tmp_path: Path, weights: Path) -> None:
    half = tmp_path / "half.safetensors"
    state = read_weights(weights).state
    write_weights(half, CONFIG, state, {})
    assert half.stat().st_size < 0.7 * weights.stat().st_size
    for name, weight in read_weights(half).state.items():
        assert weight.dtype == torch.float32
        assert torch.allclose(weight, state[name], atol=1e-3, rtol=1e-3)
    with pytest.raises(FreqLFError, match="not finite"):
        write_weights(half, CONFIG, {"huge": torch.tensor([1e6])}, {})


def test_a_calibration_travels_with_the_weights(tmp_path: Path) -> None:
    path = tmp_path / "calibrated.safetensors"
    covered = tuple(level + 0.01 for level in LEVELS)
    calibration = Calibration(needed=((0.4,),), held_out_coverage={"a": covered, "b": LEVELS})
    write_weights(path, CONFIG, build_model(CONFIG).state_dict(), {}, calibration)
    assert read_weights(path).calibration == calibration
    assert load_calibrated(path)[1] == calibration
    header = {"format": "freqlf-weights-1", "config": json.dumps(config_to_dict(CONFIG)), "facts": "{}"}
    for content, message in (("{", "not JSON"), ("{}", f"the calibration in {path} is not a calibration")):
        save_file({"a": torch.zeros(1)}, path, metadata=header | {"calibration": content})
        with pytest.raises(FreqLFError, match=message):
            read_weights(path)


def test_other_files_are_refused(tmp_path: Path, weights: Path) -> None:
    with pytest.raises(FreqLFError, match="does not exist"):
        read_weights(tmp_path / "nothing.safetensors")
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(FreqLFError, match="damaged"):
        read_weights(damaged)
    foreign = tmp_path / "foreign.safetensors"
    save_file({"a": torch.zeros(1)}, foreign)
    with pytest.raises(FreqLFError, match="no weights of freqlf"):
        read_weights(foreign)
    header = {"format": "freqlf-weights-1", "config": json.dumps({"kind": "aligned", "colour": 1}), "facts": "{}"}
    save_file({"a": torch.zeros(1)}, foreign, metadata=header)
    with pytest.raises(FreqLFError, match="unknown key 'colour'"):
        read_weights(foreign)
    write_weights(foreign, CONFIG, {"a": torch.zeros(1)}, {})
    with pytest.raises(FreqLFError, match="are not those of the model"):
        load_model(foreign)
    with pytest.raises(FreqLFError, match="unknown model 'nobody'"):
        load_model("nobody")
