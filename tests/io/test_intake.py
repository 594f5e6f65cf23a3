import os
import re
from pathlib import Path

import pytest

import freqlf
from freqlf.errors import FreqLFError
from freqlf.io.intake import decoding, open_file, parse_json, read_bytes, read_text, require_inflation, require_name

SOURCE = Path(freqlf.__file__).parent
# What opens a file by its path. Files of the package itself, and of the system, may be opened anywhere.
OPENING = re.compile(r"\.read_text\(|\.read_bytes\(|Image\.open|h5py\.File\(|json\.loads\(|np\.load\(|torch\.load\(")
TRUSTED = re.compile(r"joinpath\(|/proc/|path\.read_text\(\)\.strip\(\)|decoding|open_file|json\.loads\(line")


def test_bytes_from_elsewhere_enter_in_one_place() -> None:
    strays = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.parent.name != "io"
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if OPENING.search(line) and not TRUSTED.search(line)
    ]
    # Of its own temporary files: the graph that was just exported, and the checkpoint, opened the line before.
    known = ("inference/export.py", "weights/checkpoint.py")
    assert [stray for stray in strays if not stray.startswith(known)] == []


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to("loop")
    reasons = {
        "pipe": "is a pipe",
        "zero": "is a device",
        ".": "is a folder",
        "none": "does not exist",
        "loop": "links",
    }
    for name, reason in reasons.items():
        with pytest.raises(FreqLFError, match=reason):
            open_file(tmp_path / name)
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("file")
    assert read_text(tmp_path / "link") == "abc"
    with pytest.raises(FreqLFError, match="larger than"):
        read_bytes(tmp_path / "file", most_bytes=2)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 100_000, "nested too deeply"),
        ("[" * 40 + "]" * 40, "nested too deeply"),
        ("1e999", "not a finite number"),
        ("NaN", "not a finite number"),
        ("1" + "0" * 400, "not a finite number"),
        ('"\\ud800"', "surrogates"),
        ("{", "not JSON"),
    ],
)
def test_json_is_finite_flat_and_text(text: str, reason: str) -> None:
    with pytest.raises(FreqLFError, match=reason) as caught:
        parse_json(text, "a.json")
    assert str(caught.value).startswith("a.json")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("error", [MemoryError(), RecursionError(), ValueError("a\nb"), AttributeError("x" * 10_000)])
def test_whatever_a_decoder_raises_is_one_short_line(error: Exception) -> None:
    with pytest.raises(FreqLFError) as caught, decoding(Path("a.npy"), "a NumPy file"):
        raise error
    assert "a.npy" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_names_and_promises() -> None:
    assert require_name(Path("data/scène 3.pfm")) == "scène 3"
    with pytest.raises(FreqLFError, match="cannot be shown"):
        require_name(Path("a\x1b[31m.pfm"))
    require_inflation(Path("a"), 1000, 10)
    with pytest.raises(FreqLFError, match="claims 729 MB of pixels and stores 1400 bytes"):
        require_inflation(Path("a"), 729_000_000, 1400)
