"""`freqlf study ablation` and `freqlf study bandwidth`."""

import json

import pytest
from tiny import CONFIG

from freqlf.cli.main import main
from freqlf.models import presets
from freqlf.studies import budget


@pytest.fixture
def flags(make_scene, tmp_path, monkeypatch):
    monkeypatch.setitem(presets.PRESETS, "freqlf-small", CONFIG)
    monkeypatch.setattr(budget, "TIMED_STEPS", 1)
    monkeypatch.setattr(budget, "ROUNDS", 1)
    for name in ("one", "two"):
        make_scene(name)
    places = ["--data", str(tmp_path / "data"), "--out", str(tmp_path / "study")]
    split = ["--train-split", "one", "--validation-split", "two"]
    return [*places, *split, "--crop-size-px", "24", "--threads", "1", "--device", "cpu"]


def test_an_ablation_at_equal_cpu_time(flags, tmp_path, capsys):
    command = ["study", "ablation", *flags, "--seeds", "0", "--minutes", "0.002"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "no probabilistic head" in printed
    assert "tempered mean" in printed
    report = json.loads((tmp_path / "study" / "study.json").read_text())
    assert report["is_complete"]
    assert list(report["variants"]) == ["full", "no Fourier", "no local", "no SE", "no probabilistic head"]
    for name, cost in report["costs"].items():
        assert cost["steps"] == max(1, round(0.12 / cost["step_seconds"]))
        assert report["variants"][name]["steps"] == cost["steps"]
    single = report["variants"]["no probabilistic head"]
    assert single["mean"]["mse_100"]["all"] == single["tempered_mean"]["mse_100"]["all"]  # nothing to sharpen
    assert report["provenance"]["recipe"]["optimizer"] == "adamw"
    assert (tmp_path / "study" / "study.png").read_bytes().startswith(b"\x89PNG")
    assert "| full |" in (tmp_path / "study" / "tables.md").read_text()

    assert main(command) == 2
    assert "already holds a study; add --resume" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 0
    assert json.loads((tmp_path / "study" / "study.json").read_text())["runs"] == report["runs"]


def test_a_bandwidth_study_lists_scenes(flags, tmp_path, capsys):
    assert main(["study", "bandwidth", *flags, "--seeds", "0", "1", "--steps", "1", "--modes", "1", "2"]) == 0
    report = json.loads((tmp_path / "study" / "study.json").read_text())
    assert list(report["variants"]) == ["1 modes", "2 modes"]
    one = report["variants"]["1 modes"]["mean"]["mse_100"]
    assert one["two"] == one["all"]
    assert f"{one['two']['mean']:.3f} ± {one['two']['deviation']:.3f}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--seed", "1"], "use --seeds instead of --seed"),
        (["--minutes", "1", "--steps", "5"], "--minutes decides the number of steps"),
        (["--seeds", "1", "1"], "different seeds"),
        (["--minutes", "-1"], "--minutes must be between 0 and"),
        (["--validation-split", "none"], "no scene to score the runs on"),
        (["--validation-split", "one"], "one is in --train-split and in --validation-split"),
        (["--preset", "freqlf-huge"], "unknown preset"),
        (["--weights", "freqlf-small", "--steps", "1"], "no weights that all variants share"),
        (["--weights", "/nowhere.pt", "--steps", "1"], "/nowhere.pt does not exist"),
        (["--out", "/proc/study", "--steps", "1"], "cannot write /proc/study"),
    ],
)
def test_mistakes_are_one_line(flags, changes, message, tmp_path, capsys):
    assert main(["study", "ablation", *flags, *changes]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "study" / "plan.json").exists()
