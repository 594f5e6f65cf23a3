import numpy as np
import pytest

from freqlf.cli.main import main
from freqlf.data.hci import find_scenes
from freqlf.data.synthetic import SceneOptions, render_scene

SMALL = ["--size", "32", "--views", "3"]


def test_scenes_are_written_in_the_benchmark_layout(tmp_path, capsys):
    out = tmp_path / "made"
    assert main(["data", "synth", str(out), "--scenes", "2", "--seed", "7", *SMALL]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{out}: wrote 2 scenes of 3 x 3 views\n"
    assert captured.err == ""  # no progress bar where there is no terminal
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    scenes = find_scenes(out)
    assert [scene.name for scene in scenes] == ["synth_000007", "synth_000008"]
    expected = render_scene(7, SceneOptions(height_px=32, width_px=32, rows=3, columns=3))
    np.testing.assert_array_equal(scenes[0].disparity_px(), expected.disparity_px)
    assert len(scenes[0].view_files()) == 9
    assert main(["data", "check", str(out)]) == 0


def test_existing_scenes_are_kept_unless_told_otherwise(tmp_path, capsys):
    arguments = ["data", "synth", str(tmp_path), *SMALL]
    assert main([*arguments, "--scenes", "1"]) == 0
    view = tmp_path / "synth_000000" / "input_Cam004.png"
    before, stamp = view.read_bytes(), view.stat().st_mtime_ns
    (tmp_path / "notes.txt").write_text("mine")
    assert main([*arguments, "--scenes", "2", "--noise", "0.05"]) == 0
    assert "wrote 1 scenes of 3 x 3 views, kept 1 that were there" in capsys.readouterr().out
    assert view.stat().st_mtime_ns == stamp
    assert main([*arguments, "--scenes", "1", "--noise", "0.01", "0.05", "--overwrite"]) == 0
    assert view.read_bytes() != before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", "synth_000000", "synth_000001"]


def test_scenes_of_another_size_are_not_mixed(tmp_path, capsys):
    assert main(["data", "synth", str(tmp_path), "--scenes", "1", *SMALL]) == 0
    assert main(["data", "synth", str(tmp_path), "--scenes", "2", "--size", "24", "--views", "3"]) == 2
    error = capsys.readouterr().err
    assert "32 x 32 pixels and 3 x 3 views, not 24 x 24" in error
    assert len(error.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["synth_000000"]


@pytest.mark.parametrize(
    "flags",
    [
        ["--views", "4"],
        ["--size", "0"],
        ["--scenes", "0"],
        ["--seed", "-3"],
        ["--noise", "-1"],
        ["--bits", "12"],
        ["--layout", "sea"],
        ["--disparity-range", "1", "-1"],
    ],
)
def test_wrong_flags_are_one_line_and_nothing_is_written(tmp_path, capsys, flags):
    out = tmp_path / "made"
    assert main(["data", "synth", str(out), *flags]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("freqlf: ")
    assert len(captured.err.splitlines()) == 1
    assert captured.out == ""
    assert not out.exists()


def test_a_place_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["data", "synth", str(tmp_path / "file" / "made"), "--scenes", "1", *SMALL]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_non_square_views_of_16_bits(tmp_path):
    flags = ["--scenes", "1", "--size", "40", "--height", "24", "--views", "3", "--bits", "16"]
    assert main(["data", "synth", str(tmp_path), *flags]) == 0
    (scene,) = find_scenes(tmp_path)
    assert scene.light_field().view(0, 2).shape == (24, 40, 3)
