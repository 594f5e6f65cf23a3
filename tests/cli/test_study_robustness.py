import json

import pytest

from freqlf.cli.main import main
from freqlf.data.hci import write_scene


@pytest.fixture
def flags(scene, tmp_path):
    write_scene(tmp_path / "data" / "one", scene.views, scene.disparity_px, scene.parameters, scene.valid_mask)
    return ["study", "robustness", "--model", "slope", "--data", str(tmp_path / "data"), "--scenes", "one"]


def test_clean_and_degraded_scores(flags, tmp_path, capsys):
    out = tmp_path / "out"
    assert main([*flags, "--out", str(out), "--degradations", "noise,blur"]) == 0
    assert "noise, deviation" in capsys.readouterr().out
    outcomes = json.loads((out / "robustness.json").read_text())["outcomes"]
    clean, *degraded = ({"amount": (one["degradation"] or {}).get("amount"), **one["mean"]} for one in outcomes)
    bad = {one["amount"]: one["badpix_007"] for one in degraded}
    assert clean["badpix_007"] < bad[0.05] < bad[0.2]
    assert clean["badpix_007"] < bad[2.0]
    assert (out / "robustness.png").read_bytes().startswith(b"\x89PNG")
    assert "| noise, deviation" in (out / "tables.md").read_text()


@pytest.mark.parametrize(
    ("changes", "message"),
    [(["--degradations", "rain"], "unknown degradation 'rain'"), (["--scenes", "two"], "no scene two")],
)
def test_mistakes_are_one_line(flags, changes, message, tmp_path, capsys):
    assert main([*flags, "--out", str(tmp_path / "out"), *changes]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()
