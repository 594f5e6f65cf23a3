"""Decoding and encoding one picture: whatever its depth and colours, it becomes float32 RGB in [0, 1]."""

import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFile, UnidentifiedImageError

from freqlf.errors import FreqLFError
from freqlf.io.files import replacing, write_bytes
from freqlf.io.intake import decoding, open_file, require_inflation, silence_libraries

MOST_PIXELS = 90_000_000  # of a picture: real ones stay below, a damaged or hostile header does not
_MODEST = ("PNG", "JPEG", "BMP", "PPM")  # cannot make anything a thousand times smaller
_FORMATS = ("PNG", "WEBP", "JPEG", "TIFF", "BMP", "PPM")  # not those that start other programs


def read_image(path: Path) -> NDArray[np.float32]:
    """Read an 8- or 16-bit grey, RGB or RGBA image as (H, W, 3) float32 in [0, 1]. Alpha is ignored."""
    return to_float_rgb(read_pixels(path), name=str(path))


def read_pixels(path: Path) -> NDArray[Any]:
    """Read an image as stored: uint8 or uint16, (H, W) or (H, W, 3) or (H, W, 4)."""
    with open_image(path) as image:
        if image.format != "TIFF":
            return _decode(image, path)
        with silence_libraries():
            return _decode(image, path)


def read_size(path: Path) -> tuple[int, int]:
    """(height, width) by the header alone."""
    with open_image(path) as image:
        return image.height, image.width


@contextmanager
def open_image(path: Path) -> Iterator[ImageFile.ImageFile]:
    """An image whose header has been read and found believable; its pixels are decoded when they are asked for."""
    with open_file(path) as file, decoding(path, "an image", "replace the file"):
        try:
            image = Image.open(file, formats=_FORMATS)
        except UnidentifiedImageError as error:
            raise FreqLFError(f"{path} is not an image, or its beginning is damaged; replace the file") from error
        except Image.DecompressionBombError as error:
            raise _too_many_pixels(path) from error
        with image:
            if image.width * image.height > MOST_PIXELS:
                raise _too_many_pixels(path)
            if image.format in _MODEST:
                pixel_bytes = image.width * image.height * len(image.getbands())
                require_inflation(path, pixel_bytes, path.stat().st_size)
            yield image


def _too_many_pixels(path: Path) -> FreqLFError:
    return FreqLFError(f"{path} claims more pixels than a view can have; it is damaged or not a view")


def _decode(image: ImageFile.ImageFile, path: Path) -> NDArray[Any]:
    colour = _decode_16bit_colour(image, path)
    if colour is not None:
        return colour
    if image.mode in ("I;16", "I;16L", "I;16B", "I;16N", "I"):
        grey = np.asarray(image)
        if grey.dtype.itemsize > 2 and (grey.min() < 0 or grey.max() > 65535):
            raise ValueError("it has more than 16 bits per channel")
        return grey.astype(np.uint16)
    if image.mode == "F":
        raise ValueError("it holds floating point pixels; convert it to 8 or 16 bits")
    return np.asarray(image.convert("L" if image.mode in ("1", "L", "LA") else "RGB"))


def _decode_16bit_colour(image: ImageFile.ImageFile, path: Path) -> NDArray[np.uint16] | None:
    """16-bit RGB(A), or None if the image is something else.

    Pillow keeps only the upper byte of such pixels. Decoding once for each byte order yields both bytes.
    """
    rawmodes = {_raw_mode(tile) for tile in image.tile}
    rawmode = rawmodes.pop() if len(rawmodes) == 1 else ""
    colours, _, order = rawmode.partition(";16")
    if colours not in ("RGB", "RGBA", "RGBX") or order not in ("B", "L", "N"):
        return None
    first = _decode_as(path, f"{colours};16B")  # takes each pixel's first byte for the upper one
    second = _decode_as(path, f"{colours};16L")
    big_endian = order == "B" or (order == "N" and sys.byteorder == "big")
    upper, lower = (first, second) if big_endian else (second, first)
    return (upper.astype(np.uint16) * np.uint16(256) + lower)[..., :3]


def _raw_mode(tile: Any) -> str:
    """How the pixels of one of Pillow's tiles are laid out in the file: `RGB;16B` is big-endian 16-bit RGB."""
    arguments = tile[3]
    return str(arguments[0] if isinstance(arguments, tuple) else arguments)


def _decode_as(path: Path, rawmode: str) -> NDArray[np.uint8]:
    """Decode a file as if its pixels were laid out as `rawmode` says."""
    with open_image(path) as image:
        image.tile = [
            type(tile)(*tile[:3], (rawmode, *tile[3][1:]) if isinstance(tile[3], tuple) else rawmode)
            for tile in image.tile
        ]
        return np.asarray(image)


def to_float_rgb(pixels: NDArray[Any], name: str = "image") -> NDArray[np.float32]:
    """Turn (H, W), (H, W, 1), (H, W, 3) or (H, W, 4) pixels into (H, W, 3) float32 in [0, 1].

    uint8 and uint16 are divided by their maximum; floats must lie in [0, 1] already.
    """
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3, 4):
        raise FreqLFError(f"{name} must be (H, W) or (H, W, 1, 3 or 4), not the shape {pixels.shape}")
    if pixels.dtype in (np.uint8, np.uint16):
        scaled = pixels.astype(np.float32) / np.float32(np.iinfo(pixels.dtype).max)
    elif np.issubdtype(pixels.dtype, np.floating):
        scaled = pixels.astype(np.float32)
        if not (np.isfinite(scaled).all() and scaled.min() >= 0 and scaled.max() <= 1):
            raise FreqLFError(f"{name} has float pixels outside [0, 1]; divide by the largest value first")
    else:
        raise FreqLFError(f"{name} has pixels of type {pixels.dtype}; give uint8, uint16 or floats in [0, 1]")
    if scaled.shape[2] == 1:
        return np.repeat(scaled, 3, axis=2)
    return np.ascontiguousarray(scaled[..., :3])


def write_image(path: Path, pixels: NDArray[Any]) -> None:
    """Write uint8 (H, W) or (H, W, 3), or uint16 (H, W, 3) as PNG, without loss and atomically."""
    path = Path(path)
    if pixels.dtype == np.uint16:
        if path.suffix != ".png" or pixels.ndim != 3 or pixels.shape[2] != 3:
            raise FreqLFError(f"16-bit images are written as RGB PNG only, not {path.name} of shape {pixels.shape}")
        write_bytes(path, _encode_png_16bit(pixels))
        return
    if pixels.dtype != np.uint8:
        raise FreqLFError(f"images are written from uint8 or uint16 pixels, not {pixels.dtype}")
    # Views are noisy and barely compress: a low level is several times faster and hardly larger.
    options: dict[str, dict[str, Any]] = {
        ".png": {"format": "png", "compress_level": 1},
        ".webp": {"format": "webp", "lossless": True, "quality": 20, "method": 2},
        ".tif": {"format": "tiff"},
    }
    if path.suffix not in options:
        raise FreqLFError(f"cannot write {path.name}: choose one of {', '.join(options)}")
    with replacing(path) as temporary:
        Image.fromarray(pixels).save(temporary, **options[path.suffix])


def _encode_png_16bit(pixels: NDArray[np.uint16]) -> bytes:
    """(H, W, 3) uint16 as PNG: Pillow cannot write this."""
    height, width, _ = pixels.shape
    rows = pixels.astype(">u2").reshape(height, -1).view(np.uint8)
    unfiltered = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1)  # each row begins with its filter
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(unfiltered.tobytes(), 1)),
        (b"IEND", b""),
    ]
    body = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)
