import json

import pytest
from tiny import CONFIG, make_model

from freqlf.cli.main import main
from freqlf.weights.files import write_weights


@pytest.fixture
def flags(make_scene, tmp_path):
    make_scene("one")
    make_scene("two", disparity_px=-0.3)
    write_weights(tmp_path / "tiny.safetensors", CONFIG, make_model().state_dict(), {})
    flags = ["--model", str(tmp_path / "tiny.safetensors"), "--data", str(tmp_path / "data"), "--threads", "1"]
    return ["study", "field", *flags, "--scenes", "one,two"]


def test_a_weight_file_read_by_every_option(flags, tmp_path, capsys):
    assert main([*flags, "--out", str(tmp_path / "field.json")]) == 0
    printed = capsys.readouterr().out
    assert "tempered mean" in printed
    report = json.loads((tmp_path / "field.json").read_text())
    assert list(report["fields"]) == ["index", "frequency", "off"]
    assert report["provenance"]["reference_px"] == 24
    for option, scores in report["fields"].items():
        assert f"{scores['mean']['all']['mse_100']:.3f}" in printed, option
        assert set(scores["tempered_mean"]) == {"one", "two", "all"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--model", "unknown"], "unknown model 'unknown'"),
        (["--scenes", "three"], "no scene three"),
        (["--scenes", ","], "--scenes names no scene"),
        (["--reference-px", "1"], "--reference-px must be between 2 and"),
    ],
)
def test_mistakes_are_one_line(flags, changes, message, capsys):
    assert main([*flags, *changes]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
