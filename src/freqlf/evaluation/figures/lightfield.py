"""Pictures of light fields and disparity maps, with axes, units and colour bars, and of an estimate at one glance."""

import numpy as np
import scipy.ndimage
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import Normal, Stroke
from numpy.typing import NDArray

from freqlf.io.views import View
from freqlf.lightfield import LightField, project_pixel
from freqlf.outputs.canvas import DISPARITY_COLOURS, ERROR_COLOURS, HIDDEN, hide_ticks, label, new_grid
from freqlf.outputs.pointcloud import PointCloud

_TURN_DEGREES = (-20.0, -16.0)  # around the vertical and the horizontal axis
_BACKGROUND = "0.1"


def draw_view(view: View, title: str) -> Figure:
    """One view (H, W, 3), with pixel coordinates."""
    figure = Figure(figsize=(6, 6), layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(view)
    label(axes, title, "x (px)", "y (px)")
    return figure


def draw_disparity(
    disparity_px: NDArray[np.floating], title: str, valid_mask: NDArray[np.bool_] | None = None
) -> Figure:
    """A disparity map (H, W) with its colour bar. What is invalid or not a number is left grey."""
    shown = np.where(np.isfinite(disparity_px) if valid_mask is None else valid_mask, disparity_px, np.nan)
    figure = Figure(figsize=(7, 6), layout="constrained")
    axes = figure.add_subplot()
    axes.set_facecolor(HIDDEN)
    picture = axes.imshow(shown, cmap=DISPARITY_COLOURS, interpolation="nearest")
    figure.colorbar(picture, ax=axes, label="disparity (px per view), larger is nearer")
    label(axes, title, "x (px)", "y (px)")
    return figure


def draw_epi(light_field: LightField, disparity_px: NDArray[np.floating], y: int) -> Figure:
    """The horizontal EPI of row `y`, below the view it cuts, with lines at the slope of `disparity_px` (H, W)."""
    figure = _draw_epi(light_field, disparity_px, y, names=("x", "y", "v"))
    figure.suptitle(f"horizontal EPI of row y = {y}: a point moves by minus its disparity from view to view")
    return figure


def draw_vertical_epi(light_field: LightField, disparity_px: NDArray[np.floating], x: int) -> Figure:
    """The vertical EPI of column `x`, drawn as the horizontal one of the transposed light field."""
    figure = _draw_epi(light_field.transposed(), disparity_px.T, x, names=("y", "x", "u"))
    figure.suptitle(f"vertical EPI of column x = {x} (the view is transposed)")
    return figure


def _draw_epi(
    light_field: LightField, disparity_px: NDArray[np.floating], row: int, names: tuple[str, str, str]
) -> Figure:
    along, across, views = names
    epi = light_field.epi_horizontal(row)  # (A, W, 3)
    line_px = disparity_px[row]
    _, centre = light_field.centre
    points = _clear_points(epi[centre], line_px)
    width = epi.shape[1]
    figure = Figure(figsize=(10, 8.5), layout="constrained")
    top, middle, bottom = figure.subplots(3, 1, sharex=True, height_ratios=(3.2, 2, 1.4))

    top.imshow(light_field.centre_view())
    top.axhline(row, color="red", linewidth=1)
    band = min(width / 3, light_field.height)  # a part of the view, as high as the panel is wide over three
    first = min(max(row - band / 2, 0), light_field.height - band)
    top.set_ylim(first + band - 0.5, first - 0.5)
    label(top, "a part of the central view; the red line is shown below", "", f"{across} (px)")

    middle.imshow(epi, aspect="auto", interpolation="nearest", extent=(-0.5, width - 0.5, len(epi) - 0.5, -0.5))
    outline = [Stroke(linewidth=2.6, foreground="black"), Normal()]
    for x in points:
        seen_at = [project_pixel(row, x, line_px[x], (0, v - centre))[1] for v in range(len(epi))]
        middle.plot(seen_at, range(len(epi)), color="yellow", linewidth=1.2, path_effects=outline)
    middle.set_xlim(-0.5, width - 0.5)
    label(middle, "EPI; the lines have the slope of the disparity", "", f"view {views}")

    bottom.plot(line_px, linewidth=1.5)
    bottom.plot(points, line_px[points], "o", color="black", markersize=4)
    bottom.grid(alpha=0.3)
    label(bottom, "disparity along the red line", f"{along} (px)", "px per view")
    return figure


def _clear_points(line: View, line_px: NDArray[np.floating], count: int = 12) -> NDArray[np.intp]:
    """Positions along a row (W, 3), one in each of `count` equal parts, where the brightness changes most.

    Where the disparity jumps as well, the edge is that of an occluder, and the point behind it is soon hidden.
    """
    change = np.abs(np.gradient(line.mean(axis=1)))
    jump_px = scipy.ndimage.maximum_filter1d(np.abs(np.gradient(line_px)), 7)
    change[~(jump_px < 0.1)] *= 1e-3
    parts = [part for part in np.array_split(np.arange(len(change)), count) if len(part)]
    return np.array([part[np.argmax(change[part])] for part in parts])


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
