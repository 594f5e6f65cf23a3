import json
from pathlib import Path

import numpy as np
import pytest
import torch

from freqlf.cli.main import main
from freqlf.errors import FreqLFError
from freqlf.inference.estimate import DEFAULT_MODEL, FAST_MODEL, estimate, parse_bytes
from freqlf.io.pfm import read_pfm
from freqlf.models.build import build_model
from freqlf.models.config import AlignedConfig, PassConfig
from freqlf.weights.calibration import LEVELS, Calibration, interval_factor
from freqlf.weights.files import write_weights


def error_line(capsys: pytest.CaptureFixture[str]) -> str:
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line


def test_estimates_a_scene_without_weights(make_scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene, out = make_scene(), tmp_path / "result"
    assert main(["estimate", str(scene), "--out", str(out), "--model", "slope"]) == 0
    assert "5 x 5 views of 40 x 32 px" in capsys.readouterr().out
    disparity = read_pfm(out / "disparity.pfm")
    assert np.median(np.abs(disparity - 0.5)) < 0.02
    record = json.loads((out / "estimate.json").read_text())
    assert record["model"] == "slope"
    assert record["format"] == "hci"
    assert record["shear_px"] == 0
    assert {"depth.pfm", "pointcloud.ply", "disparity-preview.png"} <= {path.name for path in out.iterdir()}


def test_fast_is_the_same_from_python(make_scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene, out = make_scene(), tmp_path / "result"
    assert main(["estimate", str(scene), "--out", str(out), "--fast"]) == 0
    found = estimate(scene, fast=True)
    assert json.loads((out / "estimate.json").read_text())["model"] == found.model == FAST_MODEL != DEFAULT_MODEL
    np.testing.assert_array_equal(read_pfm(out / "disparity.pfm"), found.disparity_px)
    capsys.readouterr()
    assert main(["estimate", str(scene), "--out", str(tmp_path / "other"), "--fast", "--model", "slope"]) == 2
    assert "both choose weights" in error_line(capsys)


def test_shear_is_undone(make_scene, tmp_path: Path) -> None:
    for shear in ("0", "1"):
        assert (
            main(["estimate", str(make_scene(f"plane{shear}")), "--out", str(tmp_path / shear), "--shear", shear]) == 0
        )
    before, after = (read_pfm(tmp_path / shear / "disparity.pfm")[8:-8, 8:-8] for shear in ("0", "1"))
    assert np.abs(before - after).max() < 0.05


def test_a_weight_file_gives_uncertainty(make_scene, tmp_path: Path) -> None:
    config = AlignedConfig(passes=(PassConfig(channels=8, layers=1, modes=2, stem_channels=8, windows_px=(5,)),))
    weights, out = tmp_path / "tiny.safetensors", tmp_path / "result"
    calibration = Calibration(needed=((0.1,),), held_out_coverage={"a": LEVELS, "b": LEVELS})
    write_weights(weights, config, build_model(config).state_dict(), {}, calibration)
    command = ["estimate", str(make_scene()), "--out", str(out), "--model", str(weights), "--memory", "9GB"]
    assert main(command) == 0
    lower, upper, deviation = (read_pfm(out / f"{name}.pfm") for name in ("lower", "upper", "deviation"))
    assert np.allclose(upper - lower, 2 * 0.1 * interval_factor(0.9) * deviation, atol=1e-4)
    record = json.loads((out / "estimate.json").read_text())
    fitted = {"fitted_on": ["a", "b"], "held_out_ece": 0.0}
    assert record["interval"] == {"level": 0.9, "calibrated": True, "calibration": fitted}
    assert record["files"]["upper.pfm"].endswith("calibrated on scenes with ground truth")
    assert main([*command, "--overwrite", "--raw-intervals"]) == 0
    record = json.loads((out / "estimate.json").read_text())
    assert record["interval"] == {"level": 0.9, "calibrated": False}
    assert np.all(read_pfm(out / "upper.pfm") > read_pfm(out / "lower.pfm"))
    assert np.mean(read_pfm(out / "upper.pfm") - read_pfm(out / "lower.pfm")) > 3 * np.mean(upper - lower)
    assert (record["device"], record["precision"]) == ("cpu", "fp32")
    assert main([*command, "--overwrite", "--device", "cpu", "--precision", "bf16"]) == 0
    record = json.loads((out / "estimate.json").read_text())
    assert record["precision"] == "bf16"
    assert record["compiled"] is False


def test_a_batch_goes_on_past_a_bad_input(make_scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, out = make_scene("good"), tmp_path / "results"
    code = main(["estimate", str(tmp_path / "missing"), str(good), "--out", str(out), "--model", "slope"])
    assert code == 2
    assert "1 of 2 light fields failed" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == ["good"]


def test_bad_requests_get_one_line(
    make_scene, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    scene, out = str(make_scene()), tmp_path / "result"
    for arguments, message in (
        ([scene, "--model", "nobody"], "unknown model 'nobody'"),
        ([scene, "--shear", "much"], "shear takes a number"),
        ([scene, "--memory", "lots"], "memory must be a size"),
        ([scene, scene], "two inputs are called"),
        ([str(tmp_path / "nowhere")], "does not exist"),
        ([scene, "--device", "cuda"], "no CUDA device here"),
        ([], "no light field given"),
    ):
        assert main(["estimate", *arguments, "--out", str(out)]) == 2
        assert message in error_line(capsys)
        assert not out.exists()


def test_results_are_not_replaced_unasked(make_scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["estimate", str(make_scene()), "--out", str(tmp_path / "result"), "--model", "slope"]
    assert main(command) == 0
    assert main(command) == 2
    assert "add --overwrite" in error_line(capsys)
    assert main([*command, "--overwrite"]) == 0


def test_sizes_of_memory() -> None:
    assert parse_bytes("2GB") == 2_000_000_000
    assert parse_bytes("1.5 mb") == 1_500_000
    assert parse_bytes("512") == 512
    for text in ("", "GB", "-1GB", "0"):
        with pytest.raises(FreqLFError, match="memory must be a size"):
            parse_bytes(text)
