"""PLY, the format of point clouds: a short text header, then one binary record per point."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freqlf.errors import FreqLFError
from freqlf.io.files import write_bytes
from freqlf.io.image import MOST_PIXELS
from freqlf.io.intake import read_bytes

_RECORD = np.dtype([(name, "<f4") for name in ("x", "y", "z")] + [(name, "u1") for name in ("red", "green", "blue")])
_PLY_TYPES = {"<f4": "float", "|u1": "uchar"}
_HEADER = re.compile(rb"ply\r?\n(.*?\n|)end_header\r?\n", re.DOTALL)
_HEADER_BYTES = 65536  # far more than any header needs
_MOST_BYTES = _HEADER_BYTES + MOST_PIXELS * _RECORD.itemsize  # a point for each pixel


def write_ply(path: Path, points: ArrayLike, colours: ArrayLike, comments: Sequence[str] = ()) -> None:
    """Write points (N, 3) with colours (N, 3) uint8 as binary little-endian PLY, atomically; N may be 0."""
    points, colours = np.asarray(points), np.asarray(colours)
    if points.ndim != 2 or points.shape[1] != 3 or colours.shape != points.shape or colours.dtype != np.uint8:
        raise FreqLFError(
            f"a point cloud is (N, 3) points and (N, 3) uint8 colours, not {points.shape} and "
            f"{colours.shape} {colours.dtype}"
        )
    records = np.empty(len(points), _RECORD)
    for axis, name in enumerate(("x", "y", "z")):
        records[name] = points[:, axis]
    for channel, name in enumerate(("red", "green", "blue")):
        records[name] = colours[:, channel]
    lines = ["ply", "format binary_little_endian 1.0"]
    lines += [f"comment {' '.join(comment.split())}" for comment in comments]
    lines += [f"element vertex {len(records)}", *_property_lines(), "end_header", ""]
    write_bytes(Path(path), "\n".join(lines).encode("ascii", errors="replace") + records.tobytes())


def read_ply(path: Path) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Read points (N, 3) and colours (N, 3) from a file as `write_ply` writes it."""
    content = read_bytes(Path(path), _MOST_BYTES)
    header = _HEADER.match(content[:_HEADER_BYTES])
    if header is None:
        raise FreqLFError(f"{path} is not a PLY file: it does not begin with ply and a header")
    lines = [
        line for line in header[1].decode("ascii", errors="replace").splitlines() if line.split()[:1] != ["comment"]
    ]
    count = re.fullmatch(r"element vertex (\d{1,15})", lines[1]) if len(lines) > 1 else None
    if lines[:1] != ["format binary_little_endian 1.0"] or count is None or lines[2:] != _property_lines():
        raise FreqLFError(
            f"{path} holds something else than coloured points: only binary little-endian files of "
            f"vertices with {', '.join(_RECORD.names or ())} are read"
        )
    record_bytes = len(content) - header.end()
    if record_bytes != int(count[1]) * _RECORD.itemsize:
        raise FreqLFError(f"{path} is damaged: its header says {count[1]} points, but {record_bytes} bytes follow")
    records = np.frombuffer(content, _RECORD, offset=header.end())
    points = np.stack([records[name] for name in ("x", "y", "z")], axis=1)
    colours = np.stack([records[name] for name in ("red", "green", "blue")], axis=1)
    return points.astype(np.float32), colours


def _property_lines() -> list[str]:
    return [f"property {_PLY_TYPES[_RECORD[name].str]} {name}" for name in _RECORD.names or ()]
