"""Textured discs in front of a plain background: light fields whose pixels mostly say nothing about disparity."""

import numpy as np
import scipy.ndimage
from numpy.typing import NDArray

from freqlf.lightfield import LINES, LightField


def render_plain(
    seed: int, size_px: int = 128, views: int = 9, range_px: tuple[float, float] = (-3.0, 3.0), noise: float = 0.01
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """[u, v, y, x, c], only views on the lines through the centre, others black; and the true disparity (H, W).

    Discs and background have random disparities, the background the lowest of them.
    """
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 6))
    disparities_px = np.sort(rng.uniform(*range_px, count + 1))
    colour = rng.uniform(0.25, 0.75, 3)
    centres, radii = rng.uniform(0.2, 0.8, (count, 2)) * size_px, rng.uniform(0.08, 0.14, count) * size_px
    textures = scipy.ndimage.gaussian_filter(rng.random((count, size_px * 2, size_px * 2, 3)), (0, 1.3, 1.3, 0))
    textures = (textures - textures.min()) / np.ptp(textures)
    y, x = np.mgrid[:size_px, :size_px].astype(float)

    def render(du: int, dv: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        picture = np.broadcast_to(colour, (size_px, size_px, 3)).copy()
        truth = np.full((size_px, size_px), disparities_px[0])
        for i in range(count):
            there_y, there_x = y + du * disparities_px[i + 1], x + dv * disparities_px[i + 1]  # in the central view
            inside = np.hypot(there_y - centres[i, 0], there_x - centres[i, 1]) < radii[i]
            place = [(there_y + size_px / 2)[inside], (there_x + size_px / 2)[inside]]
            for c in range(3):
                picture[inside, c] = scipy.ndimage.map_coordinates(textures[i, ..., c], place, order=3, mode="nearest")
            truth[inside] = disparities_px[i + 1]
        return picture, truth

    grid = LightField(views, views, {})
    array = np.zeros((views, views, size_px, size_px, 3), np.uint8)
    for u, v in {view for line in LINES for view in grid.line(line)}:
        picture = render(u - views // 2, v - views // 2)[0] + rng.normal(0, noise, (size_px, size_px, 3))
        array[u, v] = np.round(255 * np.clip(picture, 0, 1)).astype(np.uint8)
    return array, render(0, 0)[1].astype(np.float32)
