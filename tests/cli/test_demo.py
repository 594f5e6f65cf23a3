import json

import pytest

from freqlf.cli.demo import CONTENTS
from freqlf.cli.main import main
from freqlf.data.hci import find_scene
from freqlf.io.image import read_pixels

SMALL = ["--size", "48", "--views", "3"]


def test_the_demo_leaves_pictures_and_a_sound_scene(tmp_path, capsys):
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out), *SMALL, "--seed", "7"]) == 0
    output = capsys.readouterr().out
    for name, meaning in CONTENTS.items():
        assert (out / name).exists()
        assert f"{out / name}: {meaning}" in output
    for name in CONTENTS:
        if name.endswith(".png"):
            pixels = read_pixels(out / name)
            assert min(pixels.shape[:2]) > 300
            assert pixels.std() > 10  # it is not blank
    assert json.loads((out / "demo.json").read_text())["seed"] == 7
    field = find_scene(out, "scene").light_field()
    assert (field.rows, field.height, field.width) == (3, 48, 48)
    assert main(["data", "check", str(out)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]


def test_a_second_demo_needs_overwrite(tmp_path, capsys):
    out = tmp_path / "demo"
    arguments = ["demo", "--out", str(out), *SMALL]
    assert main(arguments) == 0
    (out / "notes.txt").write_text("mine")
    assert main([*arguments, "--seed", "9"]) == 2
    assert "already exists" in capsys.readouterr().err
    assert main([*arguments, "--seed", "9", "--overwrite"]) == 0
    assert json.loads((out / "demo.json").read_text())["seed"] == 9
    assert (out / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--views", "4"], "odd"),
        (["--views", "1"], "between 3 and"),
        (["--size", "1"], "between 2 and"),
        (["--size", "0"], "between 2 and"),
        (["--seed", "-1"], "seed"),
    ],
)
def test_impossible_demos_are_one_line_and_leave_nothing(tmp_path, capsys, options, message):
    assert main(["demo", "--out", str(tmp_path / "demo"), *SMALL, *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
