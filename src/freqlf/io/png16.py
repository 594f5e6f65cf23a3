"""Maps as 16-bit grey PNG, which any viewer shows; scale and offset in its text metadata restore the numbers.

value = offset + scale * pixel; a pixel of 0 has no value.
"""

import math
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, PngImagePlugin

from freqlf.errors import FreqLFError
from freqlf.io.files import write_bytes
from freqlf.io.image import open_image, read_pixels

_LARGEST = 65535
_FORMULA = "value = offset + scale * pixel; a pixel of 0 has no value"


def write_png16(path: Path, values: ArrayLike, unit: str = "px per view step") -> None:
    """Write a map (H, W), atomically. Its range fills the 16 bits; what is not finite becomes 0.

    The error is at most half a step, and a step is the map's range / 65534.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.size == 0:
        raise FreqLFError(f"a 16-bit PNG holds a map (H, W), not the shape {array.shape}")
    known = np.isfinite(array)
    smallest, largest = (float(array[known].min()), float(array[known].max())) if known.any() else (0.0, 0.0)
    scale = (largest - smallest) / (_LARGEST - 1)  # 0 if the map is constant
    offset = smallest - scale  # so that the smallest value is pixel 1
    pixels = np.where(known, np.rint((np.where(known, array, smallest) - smallest) / (scale or 1.0)) + 1, 0)
    metadata = PngImagePlugin.PngInfo()
    for key, text in {"scale": repr(scale), "offset": repr(offset), "unit": unit, "formula": _FORMULA}.items():
        metadata.add_text(key, text)
    content = BytesIO()
    Image.fromarray(pixels.astype(np.uint16)).save(content, format="png", pnginfo=metadata)
    write_bytes(Path(path), content.getvalue())


def read_png16(path: Path) -> NDArray[np.float32]:
    """Restore a map (H, W) that `write_png16` wrote; NaN where it has no value."""
    pixels = read_pixels(path)
    with open_image(path) as image:
        scale, offset = (_parse_number(path, key, image.info.get(key)) for key in ("scale", "offset"))
    if pixels.dtype != np.uint16 or pixels.ndim != 2:
        raise FreqLFError(f"{path} is not a 16-bit grey image; give a map that freqlf wrote")
    values = offset + scale * pixels.astype(np.float64)
    return np.where(pixels == 0, np.nan, values).astype(np.float32)


def _parse_number(path: Path, key: str, text: object) -> float:
    try:
        number = float(str(text))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise FreqLFError(
            f"{path} does not say the {key} of its values in its text metadata; was it edited or converted?"
        )
    return number
