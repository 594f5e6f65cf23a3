"""Whatever is wrong with the input or with the disk: one line, exit code 2, and nothing left behind."""

import errno
import os
from pathlib import Path

import faults
import numpy as np
import pytest
import writers
from numpy.typing import NDArray

from freqlf.cli.main import main
from freqlf.io.image import write_image


@pytest.fixture
def array(render_plane) -> NDArray[np.uint8]:
    return np.round(255 * render_plane(0.5)).astype(np.uint8)


def write_mixed_sizes(root: Path, array: NDArray[np.uint8]) -> Path:
    folder = writers.write_numbered(root / "views", array)
    write_image(folder / "view_1_3.png", array[1, 3, :-1])
    return folder


def write_two_rows(root: Path, array: NDArray[np.uint8]) -> Path:
    return writers.write_numbered(root / "views", array[:2])


def write_odd_lenslets(root: Path, array: NDArray[np.uint8]) -> Path:
    return writers.write_lenslet(root / "photo_eslf.png", array)  # 200 x 160 pixels


def write_truncated_hdf5(root: Path, array: NDArray[np.uint8]) -> Path:
    path = writers.write_scene_hdf5(root / "scene.h5", array)
    path.write_bytes(path.read_bytes()[:3000])
    return path


def write_damaged_view(root: Path, array: NDArray[np.uint8]) -> Path:
    folder = writers.write_numbered(root / "views", array)
    (folder / "view_2_4.png").write_bytes((folder / "view_2_4.png").read_bytes()[:500])
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run `freqlf estimate`, which must fail, and return its one line."""
    assert main(["estimate", *map(str, arguments), "--model", "slope"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.strip().splitlines()
    return line


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (write_mixed_sizes, "all views must have one size, but "),
        (write_two_rows, "has 2 x 5 views; a light field needs at least 3 x 3 views, or a single row"),
        (write_odd_lenslets, "200 x 160 pixels, which is no multiple of the pitch of 14"),
        (write_truncated_hdf5, "scene.h5 as HDF5"),
        (write_damaged_view, "view_2_4.png as an image"),
    ],
)
def test_bad_inputs(tmp_path: Path, array, write, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "input", array)
    assert message in run(capsys, path, "--out", tmp_path / "result")
    assert [entry.name for entry in tmp_path.iterdir()] == ["input"]


def test_places_that_cannot_be_written_are_found_before_the_work(tmp_path: Path, capsys) -> None:
    (tmp_path / "file").write_text("mine")
    shut = tmp_path / "shut"
    shut.mkdir()
    for parent in [tmp_path, *tmp_path.parents[:3]]:
        parent.chmod(parent.stat().st_mode | 0o011)  # others may pass, so that only `shut` is shut
    # There is no such input, but nobody gets as far as to notice.
    nothing = tmp_path / "nothing"
    for out, reason in ((tmp_path / "file" / "out", "Not a directory"), (tmp_path / "file", "is a file")):
        line = run(capsys, nothing, "--out", out)
        assert str(out) in line
        assert reason in line
    for inputs in ([nothing], [nothing, tmp_path / "file"]):
        with faults.read_only(shut):
            assert (
                run(capsys, *inputs, "--out", shut / "out") == f"freqlf: cannot write {shut / 'out'}: Permission denied"
            )
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "shut"]
    assert list(shut.iterdir()) == []
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("size_bytes", [0, 4000])
def test_a_disk_that_fills_up_half_way(make_scene, tmp_path: Path, capsys, size_bytes: int) -> None:
    scene, place = make_scene(), tmp_path / "place"
    place.mkdir()
    with faults.no_file_larger_than(size_bytes):
        assert run(capsys, scene, "--out", place / "out") == f"freqlf: cannot write {place / 'out'}: File too large"
    assert list(place.iterdir()) == []


def test_no_space_left_when_files_get_their_names(make_scene, tmp_path: Path, capsys, monkeypatch) -> None:
    def refuse(source: object, target: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    scene, place = make_scene(), tmp_path / "place"
    place.mkdir()
    monkeypatch.setattr(os, "replace", refuse)
    line = run(capsys, scene, "--out", place / "out")
    assert line == f"freqlf: cannot write {place / 'out'}: No space left on device"
    assert list(place.iterdir()) == []
