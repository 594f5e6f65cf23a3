import json
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from freqlf.errors import FreqLFError
from freqlf.io import files
from freqlf.io.files import locking_folder, replacing, replacing_directory, require_folder, write_json, write_text


def fail_half_way(path: Path) -> None:
    path.write_text("half")
    raise KeyError


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    with pytest.raises(KeyError), replacing(path) as temporary:
        fail_half_way(temporary)
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "old"


def test_json_has_null_where_a_number_is_not_finite(tmp_path):
    write_json(tmp_path / "a.json", {"a": [float("nan"), float("inf"), 1.5], "b": {"c": (1, "x")}})
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": [None, None, 1.5], "b": {"c": [1, "x"]}}


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FreqLFError, match="cannot write"):
        write_text(tmp_path / "file" / "a.txt", "x")


def test_a_directory_appears_whole_or_not_at_all(tmp_path):
    with pytest.raises(KeyError), replacing_directory(tmp_path / "a") as temporary:
        fail_half_way(temporary / "x")
    assert list(tmp_path.iterdir()) == []
    with replacing_directory(tmp_path / "a") as temporary:
        (temporary / "x").write_text("whole")
        assert list((tmp_path / "a").iterdir()) == []
    assert (tmp_path / "a" / "x").read_text() == "whole"


def test_a_directory_in_use_is_refused_unless_overwriting_and_then_strangers_stay(tmp_path: Path):
    target = tmp_path / "a"
    target.mkdir()
    (target / "mine").write_text("keep")
    (target / "x").write_text("old")
    (target / "sub").mkdir()
    (target / "sub" / "stale").write_text("old")
    with pytest.raises(FreqLFError, match="already exists"), replacing_directory(target):
        pass
    with replacing_directory(target, overwrite=True) as temporary:
        (temporary / "sub").mkdir()
        (temporary / "sub" / "y").write_text("new")
        (temporary / "x").write_text("new")
    assert (target / "mine").read_text() == "keep"
    assert [p.name for p in (target / "sub").iterdir()] == ["y"]
    assert (target / "x").read_text() == (target / "sub" / "y").read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_folder_that_could_not_be_filled_is_found_by_trying(tmp_path: Path):
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("keep")
    for path in (tmp_path / "new", tmp_path / "new" / "deeper"):
        require_folder(path)
    require_folder(tmp_path / "full", overwrite=True)
    for path, message in (
        (tmp_path / "full", "add --overwrite"),
        (tmp_path / "file", "is a file"),
        (tmp_path / "file" / "a" / "b", "cannot write .*: Not a directory"),
    ):
        with pytest.raises(FreqLFError, match=message):
            require_folder(path)
    assert sorted(entry.name for entry in tmp_path.rglob("*")) == ["file", "full", "mine"]


def leave_part(folder: Path, code: str) -> Path:
    """What a process leaves in a folder when it is killed while it writes."""
    script = f"import os, signal; from pathlib import Path; from freqlf.io.files import *; here = Path({str(folder)!r})"
    killed = subprocess.run([sys.executable, "-c", f"{script}\n{code}"], timeout=60)
    assert killed.returncode == -signal.SIGKILL
    (part,) = folder.glob(".freqlf-*.part")
    return part


@pytest.mark.parametrize("what", ["replacing(here / 'a')", "replacing_directory(here / 'b')"])
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path, what: str):
    part = leave_part(tmp_path, f"with {what}:\n    os.kill(os.getpid(), signal.SIGKILL)")
    with replacing(tmp_path / "c") as living:  # this process's own stays
        assert not part.exists()
        assert living.exists()
        with replacing(tmp_path / "d") as other:
            other.write_text("x")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "b") == ["c", "d"]


def test_temporary_names_cannot_be_foreseen_nor_written_through(tmp_path: Path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    tokens = iter(["planted", "free"])
    monkeypatch.setattr(files.secrets, "token_hex", lambda _: next(tokens))
    (tmp_path / ".freqlf-planted.part").symlink_to(victim)
    with pytest.raises(FreqLFError, match="File exists"):
        write_text(tmp_path / "a", "mine")
    assert victim.read_text() == "precious"
    monkeypatch.undo()
    names = set()
    for _ in range(2):
        with replacing(tmp_path / "a") as temporary:
            names.add(temporary.name)
    assert len(names) == 2


def test_a_folder_belongs_to_one_process_at_a_time(tmp_path: Path):
    code = f"from pathlib import Path; from freqlf.io.files import *; require_folder(Path({str(tmp_path / 'out')!r}))"
    with locking_folder(tmp_path / "out"):
        with locking_folder(tmp_path / "out"):  # the same process may do so twice
            pass
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert "is being written to by another freqlf" in other.stderr
    assert list(tmp_path.iterdir()) == []
    require_folder(tmp_path / "out")


def test_a_mount_point_can_be_the_folder(tmp_path: Path):
    """Nothing can be renamed from beside a mount point into it."""
    if not Path("/dev/shm").is_dir() or Path("/dev/shm").stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system here")
    with TemporaryDirectory(dir="/dev/shm") as elsewhere:
        link = tmp_path / "out"
        link.symlink_to(elsewhere)  # as a mount point: its parent is on another device
        for overwrite in (False, True):
            with replacing_directory(link, overwrite=overwrite) as temporary:
                (temporary / "x").write_text(str(overwrite))
        assert [path.name for path in Path(elsewhere).iterdir()] == ["x"]
        assert (link / "x").read_text() == "True"
    shared = Path("/dev/shm")
    assert not files._can_replace(shared)
