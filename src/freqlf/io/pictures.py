"""One picture that holds all views: behind microlenses, or side by side.

A lenslet image (ESLF) has a square of `pitch` x `pitch` pixels behind each microlens, one for each view:
LF[t, s, y, x] = image[pitch * y + t, pitch * x + s]. Lytro's images have a pitch of 14. A tiled image has rows and
columns of views without gaps.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.image import read_pixels, read_size
from freqlf.io.viewgrid import BYTES_PER_PIXEL, InputOptions, Promise, ViewGrid, admit, grid_of_array

_JUMP = 1.3  # of the differences between neighbours where a microlens begins, to those elsewhere
_SMALLEST_TILE_PX = 16
_MOST_TILES = 25
_ALIKE = 0.6  # neighbouring tiles differ by less than this, relative to what is as far apart otherwise


def read_lenslet(path: Path, options: InputOptions) -> ViewGrid:
    """The views of a lenslet image, the dark ones in the corners of the grid among them."""
    pitch = options.pitch_px
    height, width = read_size(path)
    if height % pitch or width % pitch:
        raise FreqLFError(
            f"{path} has {width} x {height} pixels, which is no multiple of the pitch of {pitch}; "
            "give its pitch in pixels with --pitch-px"
        )
    admit_picture(path, height, width, (pitch, pitch))
    pixels = read_pixels(path)
    cut = pixels.reshape(height // pitch, pitch, width // pitch, pitch, *pixels.shape[2:])
    return grid_of_array(path, np.moveaxis(cut, (1, 3), (0, 1)))


def read_tiled(path: Path, options: InputOptions) -> ViewGrid:
    """The views of a tiled image; the grid is given by the options, or found where the picture repeats."""
    height, width = read_size(path)
    admit_picture(path, height, width, options.grid)
    pixels = read_pixels(path)
    found = options.grid or find_tiles(pixels)
    if found is None:
        raise FreqLFError(f"cannot tell how many views {path} has; give rows and columns with --grid")
    rows, columns = found
    if height % rows or width % columns:
        raise FreqLFError(
            f"{path} has {width} x {height} pixels, which cannot be cut into {rows} rows and {columns} columns of views"
        )
    cut = pixels.reshape(rows, height // rows, columns, width // columns, *pixels.shape[2:])
    grid = grid_of_array(path, cut.swapaxes(1, 2))
    return grid if options.grid else grid.noted(f"found {rows} x {columns} views, by where the picture repeats")


def admit_picture(path: Path, height: int, width: int, grid: tuple[int, int] | None) -> None:
    """Ask for the memory that a picture of views takes; as long as nobody knows how many, of the usual number."""
    rows, columns = grid or (9, 9)
    admit(path, Promise(rows, columns, height // rows, width // columns, BYTES_PER_PIXEL * height * width))


def looks_like_lenslets(pixels: NDArray[Any], pitch: int) -> bool:
    """Whether the picture jumps, in both directions, wherever a microlens of that pitch would begin."""
    if pixels.shape[0] % pitch or pixels.shape[1] % pitch:
        return False
    return all(_measure_jump(view, pitch) > _JUMP for view in _look_both_ways(pixels))


def find_tiles(pixels: NDArray[Any]) -> tuple[int, int] | None:
    """Rows and columns of tiles: the numbers for which neighbouring tiles are most alike. None if none stands out."""
    rows, columns = (_count_tiles(view) for view in _look_both_ways(pixels))
    return (rows, columns) if rows and columns else None


def _look_both_ways(pixels: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The picture in grey, from the top down and from left to right."""
    grey = np.asarray(pixels if pixels.ndim == 2 else pixels[..., 1], np.float32)
    return grey, grey.T


def _measure_jump(grey: NDArray[np.float32], pitch: int) -> float:
    differences = np.abs(np.diff(grey, axis=0)).mean(axis=1)
    boundary = np.arange(1, len(grey)) % pitch == 0
    # Medians, because the tiles of another kind of image also jump, but only at a few of these places.
    return float(np.median(differences[boundary]) / max(float(np.median(differences[~boundary])), 1e-9))


def _count_tiles(grey: NDArray[np.float32]) -> int | None:
    length = len(grey)
    candidates = [n for n in range(3, _MOST_TILES + 1) if length % n == 0 and length // n >= _SMALLEST_TILE_PX]
    if not candidates:
        return None
    thin = grey[:, :: max(grey.shape[1] // 256, 1)]
    differences = {n: _difference(thin, length // n) for n in candidates}
    best = min(differences, key=differences.__getitem__)
    # A quarter of a tile further, the same picture shows something else.
    beside = _difference(thin, length // best + max(length // best // 4, 4))
    return best if differences[best] < _ALIKE * beside else None


def _difference(grey: NDArray[np.float32], lag: int) -> float:
    return float(np.abs(grey[lag:] - grey[:-lag]).mean())
