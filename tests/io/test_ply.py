import numpy as np
import pytest

from freqlf.errors import FreqLFError
from freqlf.io.ply import read_ply, write_ply


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_what_is_written_is_read_back_bit_by_bit(tmp_path, count):
    rng = np.random.default_rng(count)
    points = rng.normal(0, 1000, (count, 3)).astype(np.float32)
    colours = rng.integers(0, 256, (count, 3), dtype=np.uint8)
    write_ply(tmp_path / "a.ply", points, colours, comments=["two\nlines", "end_header", "Äpfel"])
    again_points, again_colours = read_ply(tmp_path / "a.ply")
    assert (again_points.dtype, again_colours.dtype) == (np.float32, np.uint8)
    assert np.array_equal(again_points, points)
    assert np.array_equal(again_colours, colours)


def test_the_file_is_what_the_format_says(tmp_path):
    write_ply(tmp_path / "a.ply", [[1.0, -2.0, 3.5]], np.array([[255, 0, 7]], np.uint8), comments=["millimetres"])
    header = (
        "ply\nformat binary_little_endian 1.0\ncomment millimetres\nelement vertex 1\n"
        "property float x\nproperty float y\nproperty float z\n"
        "property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n"
    )
    record = np.array([1.0, -2.0, 3.5], "<f4").tobytes() + bytes([255, 0, 7])
    assert (tmp_path / "a.ply").read_bytes() == header.encode() + record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: b"", "is not a PLY file"),
        (lambda content: content.replace(b"end_header", b"header"), "is not a PLY file"),
        (lambda content: content[:-1], "header says 2 points, but 29 bytes follow"),
        (lambda content: content.replace(b"vertex 2", b"vertex 999999999999"), "is damaged"),
        (lambda content: content.replace(b"vertex 2", b"face 2"), "something else than coloured points"),
        (lambda content: content.replace(b"uchar red", b"float red"), "something else"),
        (lambda content: content.replace(b"binary_little_endian", b"ascii"), "something else"),
        (lambda content: b"ply\nend_header\n", "something else"),
        (lambda content: b"ply\n\nend_header\n", "something else"),
    ],
)
def test_damaged_and_foreign_files_get_one_line(tmp_path, change, message):
    path = tmp_path / "a.ply"
    write_ply(path, np.zeros((2, 3)), np.zeros((2, 3), np.uint8))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(FreqLFError, match=message) as caught:
        read_ply(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(FreqLFError, match="does not exist"):
        read_ply(tmp_path / "absent.ply")


@pytest.mark.parametrize(
    ("points", "colours"),
    [
        (np.zeros((2, 2)), np.zeros((2, 2), np.uint8)),
        (np.zeros((2, 3)), np.zeros((3, 3), np.uint8)),
        (np.zeros((2, 3)), np.zeros((2, 3))),
    ],
)
def test_what_is_no_cloud_is_not_written(tmp_path, points, colours):
    with pytest.raises(FreqLFError, match="a point cloud is"):
        write_ply(tmp_path / "a.ply", points, colours)
    assert list(tmp_path.iterdir()) == []
