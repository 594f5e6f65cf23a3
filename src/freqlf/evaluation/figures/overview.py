"""An estimate at one glance: what was seen, what was found, how sure that is, and the points in space."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from freqlf.io.views import View
from freqlf.outputs.canvas import DISPARITY_COLOURS, ERROR_COLOURS, hide_ticks, new_grid
from freqlf.outputs.pointcloud import PointCloud

_TURN_DEGREES = (-20.0, -16.0)  # around the vertical and the horizontal axis
_BACKGROUND = "0.1"


def draw_overview(
    view: View, disparity_px: NDArray[np.floating], deviation_px: NDArray[np.floating] | None, cloud: PointCloud
) -> Figure:
    """Central view, disparity, standard deviation (H, W) where it is known, and the points seen from the side."""
    maps = [("disparity", disparity_px, DISPARITY_COLOURS, (1, 99))]
    if deviation_px is not None:
        maps.append(("standard deviation", deviation_px, ERROR_COLOURS, (0, 98)))
    figure, grid = new_grid(2.5 * (2 + len(maps)), 2.9, 1, 2 + len(maps))
    first, *between, last = grid[0]
    first.imshow(view)
    for axes, (_, values, colours, percent) in zip(between, maps, strict=True):
        low, high = np.nanpercentile(values, percent)
        axes.imshow(values, cmap=colours, vmin=low, vmax=high, interpolation="nearest")
    _draw_points(last, cloud)
    titles = ("central view", *(name for name, *_ in maps), "point cloud")
    for axes, title in zip(grid[0], titles, strict=True):
        hide_ticks(axes)
        axes.set_title(title, fontsize=9)
    return figure


def _draw_points(axes: Axes, cloud: PointCloud) -> None:
    """A perspective view of the points, turned around their middle; far points are drawn first."""
    points, colours = cloud.points_mm.astype(np.float64), cloud.colours
    near = points[:, 2] <= 1.5 * np.median(points[:, 2])  # a far wall would shrink the rest
    points, colours = points[near], colours[near]
    middle = np.median(points, axis=0)
    around_y, around_x = np.radians(_TURN_DEGREES)
    turn_y = np.array([[np.cos(around_y), 0, np.sin(around_y)], [0, 1, 0], [-np.sin(around_y), 0, np.cos(around_y)]])
    turn_x = np.array([[1, 0, 0], [0, np.cos(around_x), np.sin(around_x)], [0, -np.sin(around_x), np.cos(around_x)]])
    x, y, z = turn_x @ turn_y @ (points - middle).T + [[0], [0], [middle[2]]]
    order = np.argsort(-z)
    x, y = (x / z)[order], (y / z)[order]
    axes.scatter(x, y, s=1.6, c=colours[order] / 255, marker="s", linewidths=0)
    axes.set_facecolor(_BACKGROUND)
    centre_x, centre_y = ((np.percentile(one, 1) + np.percentile(one, 99)) / 2 for one in (x, y))
    half = 0.52 * max(np.ptp(np.percentile(one, (1, 99))) for one in (x, y))
    axes.set(xlim=(centre_x - half, centre_x + half), ylim=(centre_y + half, centre_y - half), aspect="equal")
