"""A map as one picture to look at: robust colours, a colour bar with its unit."""

from collections.abc import Callable

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from freqlf.outputs.canvas import DISPARITY_COLOURS, ERROR_COLOURS, HIDDEN, label

_LONGER_SIDE_INCHES = 6.0
_GUESSED = (0.6, 0.6, 0.6)  # grey over what the views say nothing about
_OUTLIERS_PERCENT = 0.5  # of the pixels, at either end, do not stretch the colours


def preview_disparity(
    disparity_px: NDArray[np.floating],
    title: str,
    new_figure: Callable[..., Figure] = Figure,
    no_evidence: NDArray[np.floating] | None = None,
) -> Figure:
    """A disparity map (H, W); a few outliers get the colours at the ends of the bar.

    new_figure: makes the figure; pyplot's makes one that can be shown in a window.
    no_evidence: (H, W) in [0, 1]; where it is a half or more, the map is hatched.
    """
    bar_label = "disparity (px per view), larger is nearer"
    return _preview(disparity_px, title, bar_label, DISPARITY_COLOURS, None, new_figure, no_evidence)


def preview_deviation(deviation_px: NDArray[np.floating], title: str) -> Figure:
    """A map of standard deviations (H, W); dark is certain."""
    return _preview(deviation_px, title, "standard deviation (px per view)", ERROR_COLOURS, lowest=0.0)


def _preview(
    values: NDArray[np.floating],
    title: str,
    bar_label: str,
    colours: str,
    lowest: float | None,
    new_figure: Callable[..., Figure] = Figure,
    no_evidence: NDArray[np.floating] | None = None,
) -> Figure:
    guessed = np.zeros(values.shape, bool) if no_evidence is None else no_evidence >= 0.5
    seen = np.isfinite(values) & ~guessed
    known = values[seen if seen.any() else np.isfinite(values)]
    low, high = np.percentile(known, (_OUTLIERS_PERCENT, 100 - _OUTLIERS_PERCENT)) if known.size else (0.0, 1.0)
    low = low if lowest is None else lowest
    below, above = bool((known < low).any()), bool((known > high).any())
    height, width = values.shape
    inches = _LONGER_SIDE_INCHES / max(height, width)
    # Room for the axes' labels and the bar; a strip of an image still needs some.
    size = (max(width * inches, 2.0) + 1.7, max(height * inches, 2.0) + 0.9)
    figure = new_figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.set_facecolor(HIDDEN)
    shown = np.where(np.isfinite(values), values, np.nan)
    picture = axes.imshow(shown, cmap=colours, vmin=low, vmax=high, interpolation="nearest")
    extend = "both" if below and above else "min" if below else "max" if above else "neither"
    figure.colorbar(picture, ax=axes, label=bar_label, extend=extend)
    if guessed.any() and min(values.shape) > 1:
        shade = np.zeros((*values.shape, 4))
        shade[guessed] = (*_GUESSED, 0.6)
        axes.imshow(shade, interpolation="nearest")
        with matplotlib.rc_context({"hatch.linewidth": 0.6}):
            axes.contourf(guessed, levels=[0.5, 1.5], colors="none", hatches=["//"])
        title = f"{title}; hatched: no evidence" if title else "hatched: no evidence"
    label(axes, title, "x (px)", "y (px)")
    return figure
