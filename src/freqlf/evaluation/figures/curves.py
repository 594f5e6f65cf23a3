"""Curves, sized for a paper's column: error by frequency, coverage by level, error by share of pixels removed."""

from collections.abc import Iterable, Mapping

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from freqlf.evaluation.uncertainty import Sparsification
from freqlf.outputs.canvas import COLUMN_INCHES, PAGE_INCHES, label, paper_style
from freqlf.weights.calibration import LEVELS, calibration_error

Curve = NDArray[np.floating]
_MOST_INSIDE = 6  # entries of a legend inside the axes


def draw_profiles(profiles: Mapping[str, tuple[Curve, Curve]], title: str, ends: Iterable[float] = ()) -> Figure:
    """Radial profiles of error spectra: by method, frequencies (cycles per pixel) and magnitudes (px).

    ends: of bands of frequencies, to be marked.
    """
    with paper_style():
        figure, axes = _new_axes(2.5)
        for name, (frequency, magnitude_px) in profiles.items():
            axes.plot(frequency[1:], np.maximum(magnitude_px[1:], 1e-12), label=name)
        axes.set_xscale("log")
        axes.set_yscale("log")
        for end in ends:
            if np.isfinite(end):
                axes.axvline(end, color="0.7", linewidth=0.6, linestyle=":")
        axes.grid(alpha=0.25, linewidth=0.4)
        label(axes, title, "frequency (cycles per pixel)", "mean magnitude of the error (px)")
        if len(profiles) > 1:
            axes.legend(frameon=False)
    return figure


def draw_coverage(predicted: Mapping[str, Curve], calibrated: Mapping[str, Curve]) -> Figure:
    """Which share of pixels lies in intervals of which level, by scene: as predicted and, beside it, calibrated."""
    panels = {"intervals as predicted": predicted} | ({"calibrated intervals": calibrated} if calibrated else {})
    with paper_style():
        figure = Figure(figsize=(PAGE_INCHES, 2.75) if calibrated else (COLUMN_INCHES, 3.2), layout="constrained")
        grid = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (title, curves) in zip(grid, panels.items(), strict=True):
            axes.plot([0, 1], [0, 1], color="0.5", linewidth=0.8, linestyle=":", label="ideal")
            for number, name in enumerate(predicted):
                if name in curves:
                    # Many scenes share a legend, which cannot tell an ECE of either panel.
                    ece = "" if len(predicted) >= _MOST_INSIDE else f", ECE {calibration_error(curves[name]):.3f}"
                    axes.plot(LEVELS, curves[name], color=_colour(number, len(predicted)), label=f"{name}{ece}")
            axes.set_xlim(0, 1)
            axes.set_ylim(0, 1)
            axes.set_aspect("equal")
            axes.grid(alpha=0.25, linewidth=0.4)
            label(axes, title, "level of the interval", "share of pixels inside")
        if len(predicted) < _MOST_INSIDE:
            for axes in grid:
                axes.legend(frameon=False)
        else:
            _add_legend(figure, grid[0])
    return figure


def draw_sparsification(curves: Mapping[str, Sparsification], title: str) -> Figure:
    """The error that is left when the most uncertain pixels are removed, by scene; dashed: by the true error."""
    with paper_style():
        figure, axes = _new_axes(2.6)
        for number, (name, curve) in enumerate(curves.items()):
            colour = _colour(number, len(curves))
            axes.plot(curve.removed, curve.by_variance, color=colour, label=f"{name}, AUSE {curve.ause():.3f}")
            axes.plot(curve.removed, curve.oracle, color=colour, linestyle="--", linewidth=0.8)
        axes.set_xlim(0, 1)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.25, linewidth=0.4)
        label(axes, f"{title}; dashed: oracle", "share of pixels removed", "mean error, relative to all")
        _add_legend(figure, axes)
    return figure


def _new_axes(height_inches: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(COLUMN_INCHES, height_inches), layout="constrained")
    return figure, figure.add_subplot()


def _colour(number: int, count: int) -> tuple[float, ...]:
    """Of curve `number` of `count`; up to twenty are told apart."""
    palette = matplotlib.colormaps["tab10" if count <= 10 else "tab20"]
    return palette(number % palette.N)


def _add_legend(figure: Figure, axes: Axes) -> None:
    """Inside where few curves leave room, else below in as many columns as fit."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) <= _MOST_INSIDE:
        axes.legend(frameon=False)
        return
    columns = int((3 if max(map(len, labels)) <= 12 else 2) * figure.get_figwidth() / COLUMN_INCHES)
    figure.set_figheight(figure.get_figheight() + 0.15 + 0.13 * -(-len(labels) // columns))
    style = {"frameon": False, "columnspacing": 1.0, "handlelength": 1.4}
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, **style)
