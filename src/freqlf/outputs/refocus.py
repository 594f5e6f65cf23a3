"""Refocusing: a light field is many small apertures, and their mean is a picture through one large aperture."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.ndimage
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.lightfield import LightField, View, project_pixel

Map = NDArray[np.float64]  # (H, W)

# Something in front counts as an occluder from this difference on; less moves it by less than a pixel or two in the
# outermost view, and steep surfaces must not hide themselves.
_OCCLUDER_PX = 0.25


def refocus(light_field: LightField, disparity_px: float) -> View:
    """The picture (H, W, 3) in [0, 1] that is sharp at one disparity: all views there are, shifted and averaged.

    Each pixel is the mean of those views that contain its point.
    """
    if not math.isfinite(disparity_px):
        raise FreqLFError(f"the disparity to focus on must be a finite number, not {disparity_px}")
    map_px = np.full((light_field.height, light_field.width), float(disparity_px))
    return _average_views(light_field, map_px, lambda there_y, there_x: np.True_)


def render_all_in_focus(light_field: LightField, disparity_px: NDArray[np.floating]) -> View:
    """The picture (H, W, 3) in [0, 1] that is sharp everywhere: each pixel refocused at its own disparity (H, W).

    It is the central view with the noise of many. Views to which something hides a point, as far as the map knows, do
    not count for it: they would veil it with the occluder's colour. Where the map is not finite, the central
    view is kept.
    """
    if disparity_px.shape != (light_field.height, light_field.width):
        raise FreqLFError(
            f"the disparity map has the shape {disparity_px.shape}, but the views are "
            f"{light_field.width} x {light_field.height} pixels; give the map of this light field"
        )
    map_px = np.asarray(disparity_px, dtype=np.float64)

    def sees(there_y: Map, there_x: Map) -> NDArray[np.bool_]:
        nearest_px = _nearest_disparity(map_px, there_y, there_x)
        return map_px >= nearest_px - _OCCLUDER_PX

    return _average_views(light_field, map_px, sees)


def present_views(light_field: LightField) -> list[tuple[int, int]]:
    """(u, v) of the views that are there."""
    grid = [(u, v) for u in range(light_field.rows) for v in range(light_field.columns)]
    return [(u, v) for u, v in grid if light_field.has_view(u, v)]


def _average_views(
    light_field: LightField, map_px: Map, sees: Callable[[Map, Map], NDArray[np.bool_] | np.bool_]
) -> View:
    """The mean of the views, each looked up where the map (H, W) says, over those that see the point.

    `sees` is told where a view would see each pixel's point (y, x) and says whether nothing hides it.
    """
    centre = light_field.centre_view()
    height, width = centre.shape[:2]
    known = np.isfinite(map_px)
    map_px = np.where(known, map_px, 0)
    y, x = np.mgrid[:height, :width].astype(np.float64)
    centre_u, centre_v = light_field.centre
    total = centre.astype(np.float64)  # H, W, 3
    count = np.ones((height, width, 1))
    with ThreadPoolExecutor(max_workers=3) as pool:
        for u, v in present_views(light_field):
            step = (u - centre_u, v - centre_v)
            if step == (0, 0):
                continue
            there_y, there_x = project_pixel(y, x, map_px, step)
            seen = known & (there_y >= 0) & (there_y <= height - 1) & (there_x >= 0) & (there_x <= width - 1)
            seen &= sees(there_y, there_x)
            total += _look_up(light_field.view(u, v), there_y, there_x, pool) * seen[..., None]
            count += seen[..., None]
            light_field.forget(u, v)  # a grid of 9 x 9 large views would not fit into memory
    return np.clip(total / count, 0, 1).astype(np.float32)  # splines overshoot at edges


def _look_up(view: View, y: Map, x: Map, pool: ThreadPoolExecutor) -> View:
    """The view's colours (H, W, 3) at fractional positions, by cubic splines: linear interpolation would blur."""

    def look_up(channel: NDArray[np.float32]) -> NDArray[np.float32]:
        return scipy.ndimage.map_coordinates(channel, (y, x), order=3, mode="mirror", output=np.float32)

    return np.stack(list(pool.map(look_up, np.moveaxis(view, -1, 0))), axis=-1)


def _nearest_disparity(map_px: Map, there_y: Map, there_x: Map) -> Map:
    """The largest disparity (H, W) that a view sees within a pixel of where it would see each point.

    `there_y` and `there_x` are where the view would see the points of the map, if nothing hid them.
    """
    height, width = map_px.shape
    row, column = np.rint(there_y).astype(np.intp), np.rint(there_x).astype(np.intp)
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width) & np.isfinite(map_px)
    seen_px = np.full((height, width), -np.inf)
    np.maximum.at(seen_px, (row[inside], column[inside]), map_px[inside])
    seen_px = scipy.ndimage.maximum_filter(seen_px, 3)  # interpolation reaches that far, and slanted surfaces gape
    return seen_px[row.clip(0, height - 1), column.clip(0, width - 1)]
