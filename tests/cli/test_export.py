import json
import sys
from pathlib import Path

import pytest

from freqlf.cli.main import main


def test_a_graph_is_written_with_a_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    out = tmp_path / "graphs" / "slope.onnx"
    arguments = ["export", "--model", "slope", "--out", str(out), "--size", "32", "40", "--views", "3"]
    assert main(arguments) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["bytes"] == out.stat().st_size
    assert summary["inputs"] == {"horizontal": [1, 3, 3, 32, 40], "vertical": [1, 3, 3, 32, 40]}
    assert summary["outputs"] == ["disparity_px"]
    assert summary["comparisons"][0]["largest_px"]["disparity_px"] <= summary["tolerance_px"] == 1e-3
    assert summary["provenance"]["command"] == "export"
    assert list(out.parent.iterdir()) == [out]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--out", "graph.pb"], "*.onnx"),
        (["--out", "graph.onnx", "--model", "nothing"], "unknown model"),
        (["--out", "graph.onnx", "--model", "slope", "--views", "8"], "odd"),
        (["--out", "graph.onnx", "--model", "slope", "--opset", "9"], "16 to 20"),
    ],
)
def test_refusals(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    assert main(["export", *arguments]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert complaint in line
    assert not list(tmp_path.iterdir())


def test_missing_packages_are_named_with_the_command_that_installs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # as if it were not installed
    assert main(["export", "--model", "slope", "--out", str(tmp_path / "slope.onnx")]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "pip install" in line
    assert "onnxruntime" in line


def test_a_place_that_cannot_be_written_is_found_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr("freqlf.inference.export.export_graph", lambda *_: pytest.fail("it was traced all the same"))
    (tmp_path / "file").write_text("")
    assert main(["export", "--model", "slope", "--out", str(tmp_path / "file" / "slope.onnx")]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "is a file" in line
