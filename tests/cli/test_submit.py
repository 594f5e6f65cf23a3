import zipfile

import numpy as np
import pytest

from freqlf.cli.main import main
from freqlf.data.splits import GROUPS
from freqlf.evaluation.results import write_result
from freqlf.evaluation.submission import SCENES
from freqlf.io.pfm import write_pfm


@pytest.fixture
def maps(tmp_path):
    """A folder with the maps of all twelve scenes."""
    for number, scene in enumerate(SCENES):
        write_result(tmp_path / "maps", scene, np.full((512, 512), 0.1 * number, np.float32), runtime_s=1.5)
    return tmp_path / "maps"


def submit(tmp_path, capsys, *options):
    out = tmp_path / "out" / "submission.zip"
    code = main(["submit", *(options or ("--from", str(tmp_path / "maps"), "--out", str(out)))])
    captured = capsys.readouterr()
    return code, captured.out, captured.err, out


def test_the_archive_has_the_layout_that_the_server_wants(maps, tmp_path, capsys):
    code, output, error, out = submit(tmp_path, capsys)
    assert (code, error) == (0, "")
    assert "12 maps" in output
    with zipfile.ZipFile(out) as archive:
        scenes = sorted(GROUPS["stratified"] + GROUPS["training"] + GROUPS["test"])
        assert sorted(archive.namelist()) == sorted(
            [f"disp_maps/{scene}.pfm" for scene in scenes] + [f"runtimes/{scene}.txt" for scene in scenes]
        )
        assert archive.read("disp_maps/boxes.pfm") == (maps / "disp_maps" / "boxes.pfm").read_bytes()
        assert float(archive.read("runtimes/boxes.txt")) == 1.5
    code, output, error, _ = submit(tmp_path, capsys, "--check", str(out))
    assert (code, error) == (0, "")
    assert "all 12 scenes are there" in output


def remove_two_maps(maps):
    (maps / "disp_maps" / "herbs.pfm").unlink()
    (maps / "disp_maps" / "bedroom.pfm").unlink()


def remove_a_runtime(maps):
    (maps / "runtimes" / "dots.txt").unlink()


def shrink_a_map(maps):
    write_pfm(maps / "disp_maps" / "dino.pfm", np.zeros((256, 512)))


def spoil_a_map(maps):
    pixels = np.zeros((512, 512), np.float32)
    pixels[3, 4] = np.nan
    write_pfm(maps / "disp_maps" / "dino.pfm", pixels)


def spoil_a_runtime(maps):
    (maps / "runtimes" / "dots.txt").write_text("fast\n")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove_two_maps, "has no map of bedroom, herbs; a submission takes all 12 scenes"),
        (remove_a_runtime, "has no runtimes/<scene>.txt for dots"),
        (shrink_a_map, "dino.pfm has the shape (256, 512); the server takes 512 x 512"),
        (spoil_a_map, "dino.pfm has 1 pixels that are not numbers"),
        (spoil_a_runtime, "dots.txt must begin with a line that holds a number of seconds"),
    ],
)
def test_incomplete_results_are_refused_and_nothing_is_written(maps, tmp_path, capsys, damage, message):
    damage(maps)
    code, output, error, out = submit(tmp_path, capsys)
    assert (code, output) == (2, "")
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_archives_made_otherwise_are_checked(maps, tmp_path, capsys):
    path = tmp_path / "other.zip"
    names = [name for scene in SCENES for name in (f"disp_maps/{scene}.pfm", f"runtimes/{scene}.txt")]

    def pack(prefix="", runtime=b"1", without=()):
        with zipfile.ZipFile(path, "w") as archive:
            for name in set(names) - set(without):
                content = (maps / name).read_bytes() if name.endswith(".pfm") else runtime
                archive.writestr(prefix + name, content)
        code, _, error, _ = submit(tmp_path, capsys, "--check", str(path))
        assert error.count("\n") == (0 if code == 0 else 1)
        return code, error

    assert pack() == (0, "")
    assert pack(runtime=b"2.5e-1 \nand more") == (0, "")
    code, error = pack(runtime=b"soon")
    assert code == 2
    assert "must begin with a line that holds a number of seconds, not 'soon'" in error
    code, error = pack(prefix="submission/")
    assert code == 2
    assert "both folders must be at its top" in error
    code, error = pack(without=("disp_maps/origami.pfm",))
    assert code == 2
    assert "lacks disp_maps/origami.pfm" in error
    path.write_bytes(b"PK but no archive")
    code, _, error, _ = submit(tmp_path, capsys, "--check", str(path))
    assert code == 2
    assert "is not a zip archive" in error


def test_options_must_make_sense(tmp_path, capsys):
    for options in (("--from", "x"), ("--check", "x", "--out", "y")):
        code, output, error, _ = submit(tmp_path, capsys, *options)
        assert (code, output) == (2, "")
        assert "--check" in error
