"""Some views of a light field, small and side by side in one picture: enough to look around in, and to refocus.

They are the views on the lines through the centre, at most nine per line.
"""

import math
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from freqlf.io.files import write_bytes
from freqlf.lightfield import LINES, LightField

LONGER_SIDE_PX = 512
_PER_SIDE = 4  # views on either side of the centre, per line
_COLUMNS = 6  # of tiles in the picture
_QUALITY = 82  # of WebP, whose artefacts are smaller than what matching would see


@dataclass(frozen=True)
class SmallViews:
    """Tiles of one picture, row by row from the top left.

    Attributes:
        picture: all tiles, (columns of them to a row).
        steps: (u - uc, v - vc) of each tile's view.
        columns: tiles in a row of the picture.
        width_px, height_px: of a tile.
    """

    picture: Image.Image
    steps: tuple[tuple[int, int], ...]
    columns: int
    width_px: int
    height_px: int

    def describe(self) -> dict[str, Any]:
        """Where each view is in the picture, for the record of an estimate."""
        layout = {"columns": self.columns, "width_px": self.width_px, "height_px": self.height_px}
        return layout | {"steps": [list(step) for step in self.steps]}


def shrink_views(light_field: LightField) -> SmallViews:
    """The views of the star that there are, the central one first; the light field forgets the others again."""
    scale = min(1.0, LONGER_SIDE_PX / max(light_field.height, light_field.width))
    size = max(1, round(light_field.width * scale)), max(1, round(light_field.height * scale))
    steps = choose_steps(light_field)
    picture = Image.new("RGB", (_COLUMNS * size[0], math.ceil(len(steps) / _COLUMNS) * size[1]))
    centre_u, centre_v = light_field.centre
    for n, (du, dv) in enumerate(steps):
        view = light_field.view(centre_u + du, centre_v + dv)
        tile = Image.fromarray(np.rint(255 * view).astype(np.uint8)).resize(size, Image.Resampling.BICUBIC)
        picture.paste(tile, (n % _COLUMNS * size[0], n // _COLUMNS * size[1]))
        if (du, dv) != (0, 0):
            light_field.forget(centre_u + du, centre_v + dv)
    return SmallViews(picture, steps, _COLUMNS, *size)


def choose_steps(light_field: LightField) -> tuple[tuple[int, int], ...]:
    """Steps (u - uc, v - vc) from the centre to the views that are kept, nearest first."""
    centre_u, centre_v = light_field.centre
    steps = {(0, 0)}
    for direction in LINES:
        line = light_field.line(direction)
        middle = len(line) // 2
        stride = max(1, math.ceil(middle / _PER_SIDE))
        kept = line[middle % stride :: stride]
        steps |= {(u - centre_u, v - centre_v) for u, v in kept if light_field.has_view(u, v)}
    return tuple(sorted(steps, key=lambda step: (max(abs(step[0]), abs(step[1])), step)))


def write_small_views(path: Path, views: SmallViews) -> None:
    """Write the picture as WebP."""
    content = BytesIO()
    views.picture.save(content, "WEBP", quality=_QUALITY, method=2)
    write_bytes(path, content.getvalue())
