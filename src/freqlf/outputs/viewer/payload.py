"""The data of a page, small: maps in 16 bits, deflated; pictures as they are; all of it base64 in JSON.

`assets/payload.js` is the other half.
"""

import base64
import zlib
from io import BytesIO
from typing import Any

import matplotlib
import numpy as np
from numpy.typing import NDArray
from PIL import Image

STEP_PX = 0.0002  # between values of a map; coarser only if 16 bits would not reach from the smallest to the largest
_MOST_STEPS = 2**16 - 2  # one code is for values that are not known
_QUALITY = 90  # of the central view, as WebP


def pack_map(values: NDArray[np.floating]) -> dict[str, Any]:
    """A map (H, W) as 16-bit codes: 0 is not known, c is offset + step * (c - 1)."""
    known = np.isfinite(values)
    low, high = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 0.0)
    step = max(STEP_PX, (high - low) / _MOST_STEPS)
    codes = np.zeros(values.shape, np.uint16)
    codes[known] = np.rint((values[known].astype(np.float64) - low) / step).astype(np.uint16) + 1
    # Neighbours are alike: their differences are small, and the sign in the last bit keeps their high bytes zero.
    change = np.diff(codes.ravel(), prepend=np.uint16(0)).view(np.int16)
    folded = ((change << 1) ^ (change >> 15)).view(np.uint16)
    return {"offset": low, "step": step, "data": deflate(np.concatenate([folded & 255, folded >> 8]).astype(np.uint8))}


def pack_mask(mask: NDArray[np.bool_]) -> str:
    """One bit per pixel, the first in the highest bit."""
    return deflate(np.packbits(mask))


def pack_picture(pixels: NDArray[np.uint8]) -> str:
    """RGB (H, W, 3) as WebP."""
    content = BytesIO()
    Image.fromarray(pixels).save(content, "WEBP", quality=_QUALITY, method=2)
    return encode(content.getvalue())


def pack_colours(table: str) -> str:
    """The 256 colours of a scale of matplotlib's, RGB."""
    colours = np.rint(255 * matplotlib.colormaps[table](np.arange(256))[:, :3]).astype(np.uint8)
    return encode(colours.tobytes())


def deflate(values: NDArray[np.uint8]) -> str:
    """Bytes, deflated, as base64."""
    return encode(zlib.compress(values.tobytes(), 9))


def encode(content: bytes) -> str:
    """Bytes as base64."""
    return base64.b64encode(content).decode()
