"""Lenslet images (ESLF): behind each microlens a square of `pitch` x `pitch` pixels, one for each view.

LF[t, s, y, x] = image[pitch * y + t, pitch * x + s]. Lytro's images have a pitch of 14.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.image import read_pixels, read_size
from freqlf.io.viewgrid import BYTES_PER_PIXEL, InputOptions, Promise, ViewGrid, admit, grid_of_array

_JUMP = 1.3  # of the differences between neighbours where a microlens begins, to those elsewhere


def read_lenslet(path: Path, options: InputOptions) -> ViewGrid:
    """The views of a lenslet image, the dark ones in the corners of the grid among them."""
    pitch = options.pitch_px
    height, width = read_size(path)
    if height % pitch or width % pitch:
        raise FreqLFError(
            f"{path} has {width} x {height} pixels, which is no multiple of the pitch of {pitch}; "
            "give its pitch in pixels with --pitch-px"
        )
    admit(path, Promise(pitch, pitch, height // pitch, width // pitch, BYTES_PER_PIXEL * height * width))
    return grid_of_array(path, _split(read_pixels(path), pitch))


def looks_like_lenslets(pixels: NDArray[Any], pitch: int) -> bool:
    """Whether the picture jumps, in both directions, wherever a microlens of that pitch would begin."""
    if pixels.shape[0] % pitch or pixels.shape[1] % pitch:
        return False
    grey = np.asarray(pixels if pixels.ndim == 2 else pixels[..., 1], np.float32)
    return all(_jump(view, pitch) > _JUMP for view in (grey, grey.T))


def _jump(grey: NDArray[np.float32], pitch: int) -> float:
    differences = np.abs(np.diff(grey, axis=0)).mean(axis=1)
    boundary = np.arange(1, len(grey)) % pitch == 0
    # Medians, because the tiles of another kind of image also jump, but only at a few of these places.
    return float(np.median(differences[boundary]) / max(float(np.median(differences[~boundary])), 1e-9))


def _split(pixels: NDArray[Any], pitch: int) -> NDArray[Any]:
    """(pitch * H, pitch * W, ...) to [t, s, y, x, ...], without copying."""
    height, width = pixels.shape[0] // pitch, pixels.shape[1] // pitch
    cut = pixels.reshape(height, pitch, width, pitch, *pixels.shape[2:])
    return np.moveaxis(cut, (1, 3), (0, 1))
