import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from freqlf.errors import FreqLFError
from freqlf.io.image import read_image, read_pixels, write_image

random = np.random.default_rng(0)


def make_png(pixels: np.ndarray, colour_type: int, row_filter: int) -> bytes:
    """A 16-bit PNG whose rows use the filter `sub` (1) or `up` (2), as other programs write them."""
    height, width, channels = pixels.shape
    rows = pixels.astype(">u2").reshape(height, -1).view(np.uint8)
    pixel_bytes = 2 * channels
    before = np.zeros_like(rows)
    if row_filter == 1:
        before[:, pixel_bytes:] = rows[:, :-pixel_bytes]
    else:
        before[1:] = rows[:-1]
    content = np.concatenate([np.full((height, 1), row_filter, np.uint8), rows - before], axis=1).tobytes()
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 16, colour_type, 0, 0, 0)),
        (b"IDAT", zlib.compress(content)),
        (b"IEND", b""),
    ]
    parts = [struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize(("colour_type", "channels"), [(2, 3), (6, 4)])
@pytest.mark.parametrize("row_filter", [1, 2])
def test_16_bit_colour_keeps_all_its_bits(tmp_path, colour_type, channels, row_filter):
    pixels = random.integers(0, 65536, (7, 5, channels)).astype(np.uint16)
    (tmp_path / "a.png").write_bytes(make_png(pixels, colour_type, row_filter))
    assert np.array_equal(read_pixels(tmp_path / "a.png"), pixels[..., :3])
    assert np.array_equal(read_image(tmp_path / "a.png"), pixels[..., :3].astype(np.float32) / np.float32(65535))


def make_tiff(pixels: np.ndarray, byte_order: str) -> bytes:
    """An uncompressed 16-bit RGB TIFF in one strip; `byte_order` is < or >."""
    height, width, _ = pixels.shape
    content = pixels.astype(f"{byte_order}u2").tobytes()
    bits_at = 8 + len(content)
    short, long = 3, 4
    tags = [
        *((256, long, 1, width), (257, long, 1, height), (258, short, 3, bits_at), (259, short, 1, 1)),
        *((262, short, 1, 2), (273, long, 1, 8), (277, short, 1, 3), (278, long, 1, height)),
        *((279, long, 1, len(content)), (284, short, 1, 1)),
    ]

    def pack(layout: str, *values: int) -> bytes:
        return struct.pack(byte_order + layout, *values)

    directory = pack("H", len(tags))
    for tag, kind, count, value in tags:
        inline = pack("HH", value, 0) if kind == short and count == 1 else pack("I", value)
        directory += pack("HHI", tag, kind, count) + inline
    head = (b"II" if byte_order == "<" else b"MM") + pack("HI", 42, bits_at + 6)
    return head + content + pack("HHH", 16, 16, 16) + directory + pack("I", 0)


@pytest.mark.parametrize("byte_order", ["<", ">"])
def test_16_bit_colour_tiff_keeps_all_its_bits(tmp_path, byte_order):
    pixels = random.integers(0, 65536, (7, 5, 3)).astype(np.uint16)
    (tmp_path / "a.tif").write_bytes(make_tiff(pixels, byte_order))
    assert np.array_equal(read_pixels(tmp_path / "a.tif"), pixels)


def test_16_bit_colour_is_written_and_read_back(tmp_path):
    pixels = random.integers(0, 65536, (6, 9, 3)).astype(np.uint16)
    write_image(tmp_path / "a.png", pixels)
    assert np.array_equal(read_pixels(tmp_path / "a.png"), pixels)


@pytest.mark.parametrize("suffix", [".png", ".webp", ".tif"])
def test_8_bit_colour_is_written_without_loss(tmp_path, suffix):
    pixels = random.integers(0, 256, (6, 9, 3)).astype(np.uint8)
    write_image(tmp_path / f"a{suffix}", pixels)
    assert np.array_equal(read_pixels(tmp_path / f"a{suffix}"), pixels)
    assert [path.name for path in tmp_path.iterdir()] == [f"a{suffix}"]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("1", (1, 1, 1)),
        ("L", (0.2, 0.2, 0.2)),
        ("LA", (0.2, 0.2, 0.2)),
        ("I;16", (0.2, 0.2, 0.2)),
        ("P", (0.2, 0.4, 0.6)),
        ("RGB", (0.2, 0.4, 0.6)),
        ("RGBA", (0.2, 0.4, 0.6)),
    ],
)
def test_all_colour_modes_become_float_rgb(tmp_path, mode, expected):
    colour = {"1": 1, "L": 51, "LA": (51, 9), "RGBA": (51, 102, 153, 9), "I;16": 13107}.get(mode, (51, 102, 153))
    picture = Image.new("RGB" if mode == "P" else mode, (5, 4), colour)
    (picture.convert("P", palette=Image.Palette.ADAPTIVE) if mode == "P" else picture).save(tmp_path / "a.png")
    image = read_image(tmp_path / "a.png")
    assert image.dtype == np.float32
    assert image.shape == (4, 5, 3)
    assert np.allclose(image, expected, atol=1e-6)


def test_damaged_files_get_one_line(tmp_path):
    path = tmp_path / "a.png"
    write_image(path, random.integers(0, 256, (64, 64, 3)).astype(np.uint8))
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:30], whole[:9], b"", b"hello", whole[:60] + bytes(200)):
        path.write_bytes(content)
        with pytest.raises(FreqLFError, match=r"a\.png") as caught:
            read_image(path)
        assert "\n" not in str(caught.value)


def test_absent_files_directories_and_float_pixels_are_refused(tmp_path):
    Image.fromarray(np.zeros((4, 4), np.float32)).save(tmp_path / "float.tif")
    for name, message in (("none.png", "does not exist"), ("", "is a folder"), ("float.tif", "floating point")):
        with pytest.raises(FreqLFError, match=message):
            read_image(tmp_path / name)


def test_a_header_with_a_billion_pixels_is_refused_before_decoding(tmp_path):
    honest = make_png(np.zeros((2, 2, 3), np.uint16), 2, 1)
    header = struct.pack(">IIBBBBB", 40000, 40000, 16, 2, 0, 0, 0)
    (tmp_path / "a.png").write_bytes(
        honest[:16] + header + struct.pack(">I", zlib.crc32(b"IHDR" + header)) + honest[33:]
    )
    with pytest.raises(FreqLFError, match="more pixels than a view can have"):
        read_image(tmp_path / "a.png")


@pytest.mark.parametrize(
    ("name", "pixels"),
    [
        ("a.bmp", np.zeros((2, 2, 3), np.uint8)),
        ("a.png", np.zeros((2, 2, 3))),
        ("a.tif", np.zeros((2, 2, 3), np.uint16)),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, name, pixels):
    with pytest.raises(FreqLFError):
        write_image(tmp_path / name, pixels)
    assert list(tmp_path.iterdir()) == []
