"""Refocusing: a light field is many small apertures, and their mean is a picture through one large aperture."""

import math

import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.views import View
from freqlf.lightfield import LightField

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
    return _average_views(light_field, map_px, None)


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
    return _average_views(light_field, np.asarray(disparity_px, dtype=np.float64), _OCCLUDER_PX)


def present_views(light_field: LightField) -> list[tuple[int, int]]:
    """(u, v) of the views that are there."""
    grid = [(u, v) for u in range(light_field.rows) for v in range(light_field.columns)]
    return [(u, v) for u, v in grid if light_field.has_view(u, v)]


def _average_views(light_field: LightField, map_px: Map, occluder_px: float | None) -> View:
    """The mean of the views, each looked up where the map (H, W) says, over those that see the point.

    occluder_px: from which difference on something in front hides a point; None if nothing does.
    """
    from freqlf.models.kernels.refocusing import ViewAverage  # imports torch and Numba

    average = ViewAverage(light_field.centre_view(), map_px, occluder_px)
    for u, v in present_views(light_field):
        if (u, v) != light_field.centre:
            average.add(light_field.view(u, v), (u - light_field.centre[0], v - light_field.centre[1]))
            light_field.forget(u, v)  # a grid of 9 x 9 large views would not fit into memory
    return average.mean()
