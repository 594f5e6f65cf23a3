import stat
import zipfile
from pathlib import Path

import pytest

from freqlf.app.uploads import UploadLimits, find_light_field, place_file, receive_file, unpack_archive
from freqlf.errors import FreqLFError


@pytest.mark.parametrize("name", ["a.png", "views/a.PNG", "views\\a.png", "scene/parameters.cfg", "lf.npy"])
def test_names_stay_in_the_folder(tmp_path: Path, name: str) -> None:
    path = place_file(tmp_path, name)
    assert path.is_relative_to(tmp_path)
    assert path.name.lower() in ("a.png", "parameters.cfg", "lf.npy")


@pytest.mark.parametrize(
    "name",
    [
        *(
            "../a.png",
            "/etc/a.png",
            "a/../../b.png",
            "..\\a.png",
            "C:\\a.png",
            "",
            ".",
            ".bashrc",
            ".ssh/a.png",
            "a\0.png",
        ),
        *("run.exe", "page.html", "weights.pt", "a.pkl", "x" * 300 + ".png", "/".join("abcdefghij") + ".png"),
    ],
)
def test_other_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(FreqLFError):
        place_file(tmp_path, name)


def receive(path: Path, chunks: list[bytes], limit_bytes: int) -> None:
    async def stream():
        for chunk in chunks:
            yield chunk

    # Nothing in it waits, so one step runs it to its end; another loop may be running, of a browser's tests.
    with pytest.raises(StopIteration):
        receive_file(stream(), path, limit_bytes).send(None)


def test_files_arrive_whole_or_not_at_all(tmp_path: Path) -> None:
    receive(tmp_path / "views" / "a.png", [b"ab", b"c"], 3)
    assert (tmp_path / "views" / "a.png").read_bytes() == b"abc"
    with pytest.raises(FreqLFError, match="there already"):
        receive(tmp_path / "views" / "a.png", [b"x"], 3)
    assert (tmp_path / "views" / "a.png").read_bytes() == b"abc"
    with pytest.raises(FreqLFError, match="too large"):
        receive(tmp_path / "b.png", [b"ab", b"cd"], 3)
    assert not (tmp_path / "b.png").exists()


def pack(path: Path, entries: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def test_archives_are_unpacked_and_removed(tmp_path: Path) -> None:
    archive = pack(
        tmp_path / "a.zip",
        {"scene/a_0_0.png": b"1", "scene/a_0_1.png": b"2", "__MACOSX/._a.png": b"x", "scene/.DS_Store": b"x"},
    )
    unpack_archive(archive, tmp_path, UploadLimits())
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a_0_0.png", "a_0_1.png", "scene"]
    assert find_light_field(tmp_path) == tmp_path / "scene"


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"../a.png": b""}, "not a file name"),
        ({"run.sh": b""}, "no part of a light field"),
        ({"inner.zip": b""}, "another archive"),
        ({"a.png": bytes(10**6)}, "larger than"),  # a thousand times smaller when packed
        ({f"{n}.png": b"" for n in range(11)}, "11 files"),
    ],
)
def test_archives_that_could_do_harm_are_refused(tmp_path: Path, entries, message) -> None:
    folder = tmp_path / "upload"
    folder.mkdir()
    with pytest.raises(FreqLFError, match=message):
        unpack_archive(pack(folder / "a.zip", entries), folder, UploadLimits(bytes=10**5, files=10))
    assert not (folder / "a.zip").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["upload"]
    assert sum(path.stat().st_size for path in folder.rglob("*")) <= 10**5


def test_links_and_damage_are_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("a.png")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(FreqLFError, match="link"):
        unpack_archive(tmp_path / "a.zip", tmp_path, UploadLimits())
    (tmp_path / "b.zip").write_bytes(b"PK\3\4 broken")
    with pytest.raises(FreqLFError, match=r"cannot unpack b\.zip"):
        unpack_archive(tmp_path / "b.zip", tmp_path, UploadLimits())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FreqLFError, match="no file arrived"):
        find_light_field(tmp_path)
