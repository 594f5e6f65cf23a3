import json
from pathlib import Path

import pytest

from freqlf.cli import main
from freqlf.config import PRESETS
from freqlf.weights.registry import WEIGHTS


def test_models_lists_every_preset_and_all_weights(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    presets, _, weights = capsys.readouterr().out.partition("see the whole field.")
    for name in PRESETS:
        (row,) = [line for line in presets.splitlines() if f" {name} " in line]
        assert row.rstrip(" │|").endswith("yes" if "plus" in name else "no")
    for name, entry in WEIGHTS.items():
        (row,) = [line for line in weights.splitlines() if f" {name} " in line]
        assert f"{entry.scores['mean'][0]:.2f}" in row
        assert f"ECE {entry.calibration.held_out_ece:.3f} on a scene left out" in row
        assert entry.licence in row


def test_bench_prints_ratios_and_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "bench.json"
    code = main(["bench", "--presets", "freqlf-small", "--sizes", "64", "--repeats", "1", "--out", str(out)])
    assert code == 0
    assert "times faster" in capsys.readouterr().out
    report = json.loads(out.read_text())
    assert report["presets"][0]["preset"] == "freqlf-small"
    assert report["spectral"]["speedup"] > 0
    assert report["provenance"]["command"] == "bench"


@pytest.mark.parametrize("arguments", [["--presets", "nothing"], ["--sizes", "8"], ["--repeats", "0"]])
def test_bench_refuses_bad_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
