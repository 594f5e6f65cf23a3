import json
from pathlib import Path

import pytest

from freqlf.errors import FreqLFError
from freqlf.io.files import replacing, replacing_directory, require_folder, write_json, write_text


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
        assert not (tmp_path / "a").exists()
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
