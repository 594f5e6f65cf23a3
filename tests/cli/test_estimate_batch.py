"""Many light fields, cameras and pages: what the command line adds, and that Python gives the same."""

import json
import webbrowser
from pathlib import Path

import numpy as np
import pytest
import writers
from numpy.testing import assert_array_equal

import freqlf
from freqlf.cli.estimate import choose_shard
from freqlf.cli.main import main
from freqlf.errors import FreqLFError
from freqlf.io.pfm import read_pfm


@pytest.fixture
def captures(tmp_path: Path, array) -> Path:
    root = tmp_path / "captures"
    writers.write_numbered(root / "monday" / "views", array)
    writers.write_numbered(root / "tuesday" / "views", array)
    writers.write_array(root / "lf.npy", array)
    (root / "notes").mkdir()
    (root / "notes" / "read.txt").write_text("nothing")
    return root


def estimate(*arguments: object) -> int:
    return main(["estimate", *map(str, arguments), "--model", "slope"])


def results(out: Path) -> list[str]:
    return sorted(str(path.parent.relative_to(out)) for path in out.rglob("estimate.json"))


def test_a_folder_of_light_fields(captures: Path, tmp_path: Path) -> None:
    assert estimate(captures, "--recursive", "--out", tmp_path / "out") == 0
    assert results(tmp_path / "out") == ["lf", "monday/views", "tuesday/views"]


def test_shards_share_the_work_and_a_folder(captures: Path, tmp_path: Path, capsys) -> None:
    done: list[str] = []
    for part in range(1, 5):
        assert estimate(captures, "--recursive", "--out", tmp_path / "out", "--shard", f"{part}/4") == 0
        new = [name for name in results(tmp_path / "out") if name not in done]
        assert len(new) == (1 if part < 4 else 0)
        done += new
    assert "nothing to do" in capsys.readouterr().out
    before = (tmp_path / "out" / "lf" / "estimate.json").stat().st_mtime_ns
    assert estimate(captures, "--recursive", "--out", tmp_path / "out", "--shard", "1/4") == 2  # it is there
    assert (tmp_path / "out" / "lf" / "estimate.json").stat().st_mtime_ns == before


def test_every_input_is_in_one_shard() -> None:
    folders = {Path(f"{n}"): Path(f"out/{n}") for n in range(10)}
    parts = [choose_shard(folders, f"{part}/3") for part in (1, 2, 3)]
    assert sorted(path for part in parts for path in part) == sorted(folders)
    for wrong in ("0/3", "4/3", "3", "a/b", "1/0", "-1/3"):
        with pytest.raises(FreqLFError, match="--shard takes a part and the number of parts"):
            choose_shard(folders, wrong)


def test_a_result_can_be_opened(captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: shown.append(address) or True)
    assert estimate(captures / "lf.npy", "--out", tmp_path / "out", "--open") == 0
    assert shown == [(tmp_path / "out" / "view.html").resolve().as_uri()]
    assert "</html>" in (tmp_path / "out" / "view.html").read_text()
    assert estimate(captures, "--recursive", "--out", tmp_path / "all", "--open") == 2


def test_cameras_from_the_command_line_and_from_python(captures: Path, tmp_path: Path) -> None:
    path, out = captures / "lf.npy", tmp_path / "out"
    (tmp_path / "camera.json").write_text('{"baseline_mm": 8, "focal_mm": 50, "sensor_mm": 30, "focus_m": 2}')
    for number, (flags, options, source) in enumerate(
        (
            (["--near-m", "1", "--far-m", "3"], {"near_m": 1.0, "far_m": 3.0}, "two distances"),
            (["--camera", tmp_path / "camera.json"], {"camera": str(tmp_path / "camera.json")}, "a file"),
            (
                ["--baseline-mm", "8", "--focal-mm", "50", "--sensor-mm", "30"],
                {"baseline_mm": 8.0, "focal_mm": 50.0, "sensor_mm": 30.0},
                "options",
            ),
        )
    ):
        assert estimate(path, "--out", out / str(number), *flags) == 0
        result = freqlf.estimate(path, "slope", **options)
        record = json.loads((out / str(number) / "estimate.json").read_text())
        assert record["camera_source"] == result.camera_source == source
        assert record["camera"]["baseline_mm"] == pytest.approx(result.parameters.baseline_mm)
        assert record["points_unit"] == "mm"
        assert_array_equal(read_pfm(out / str(number) / "depth.pfm"), result.depth_mm)
    low, high = np.percentile(read_pfm(out / "0" / "depth.pfm"), (1, 99))
    assert (low, high) == pytest.approx((1000, 3000), rel=0.05)


def test_notes_are_printed_and_cameras_checked_first(captures: Path, tmp_path: Path, capsys, array) -> None:
    even = writers.write_numbered(tmp_path / "even", array[:4, :4])
    assert estimate(even, "--out", tmp_path / "out") == 0
    printed = capsys.readouterr().out
    assert "  took the central 3 x 3 of 4 x 4 views: an even number has no central one" in printed
    assert "(98 % of the pixels)" in printed
    assert estimate(even, "--out", tmp_path / "none", "--camera", tmp_path / "no.json") == 2
    assert "does not exist" in capsys.readouterr().err
    assert estimate(even, "--out", tmp_path / "none", "--near-m", "1") == 2
    assert "only of use together" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
