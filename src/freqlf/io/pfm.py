"""PFM, the format of disparity maps: a short text header, then float32 pixels from the bottom row up."""

import re
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freqlf.errors import FreqLFError
from freqlf.io.files import write_bytes
from freqlf.io.image import MOST_PIXELS
from freqlf.io.intake import decoding, open_file

_HEADER = re.compile(rb"(Pf|PF)\s+(\d{1,10})\s+(\d{1,10})\s+([-+]?[0-9][0-9.eE+-]*)(?:\r?\n|[ \t])")
_HEADER_BYTES = 256  # far more than any header needs


def read_pfm(path: Path) -> NDArray[np.float32]:
    """Read a PFM file: (H, W) for `Pf`, (H, W, 3) for `PF`; the first row is the top one.

    The sign of the header's scale gives the byte order; its magnitude is ignored, as every light-field tool does.
    """
    path = Path(path)
    with open_file(path) as file, decoding(path, "a PFM file"):
        file_bytes = file.seek(0, 2)
        file.seek(0)
        head = file.read(_HEADER_BYTES)
        header = _HEADER.match(head)
        if header is None:
            raise FreqLFError(f"{path} is not a PFM file: it does not begin with Pf or PF, width, height, scale")
        width, height = int(header[2]), int(header[3])
        channels = 3 if header[1] == b"PF" else 1
        # The header is only believed once the file is as long as it says: nothing is allocated before.
        expected_bytes = 4 * width * height * channels
        pixel_bytes = file_bytes - header.end()
        if width == 0 or height == 0 or pixel_bytes != expected_bytes:
            raise FreqLFError(
                f"{path} is damaged: its header says {width} x {height} pixels ({expected_bytes} bytes), "
                f"but {pixel_bytes} bytes follow; write or download it again"
            )
        if width * height > MOST_PIXELS:
            raise FreqLFError(f"{path} claims {width} x {height} pixels; it is damaged or not a map")
        file.seek(header.end())
        content = file.read(expected_bytes)
    byte_order = "<" if _parse_scale(path, header[4]) < 0 else ">"
    pixels = np.frombuffer(content, dtype=f"{byte_order}f4").astype(np.float32)
    rows = pixels.reshape((height, width) if channels == 1 else (height, width, 3))
    return np.ascontiguousarray(rows[::-1])


def _parse_scale(path: Path, text: bytes) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if scale == 0.0:
        raise FreqLFError(f"{path} has the scale {text.decode()!r} in its header; it must be a number other than 0")
    return scale


def write_pfm(path: Path, pixels: ArrayLike) -> None:
    """Write (H, W) as `Pf` or (H, W, 3) as `PF`, atomically, as float32; the first row is the top one."""
    array = np.asarray(pixels)
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] != 3) or array.size == 0:
        raise FreqLFError(f"a PFM file holds (H, W) or (H, W, 3) pixels, not the shape {array.shape}")
    magic = "Pf" if array.ndim == 2 else "PF"
    header = f"{magic}\n{array.shape[1]} {array.shape[0]}\n-1.0\n".encode()
    write_bytes(Path(path), header + array[::-1].astype("<f4").tobytes())
