"""Curves, sized for a paper's column: error by frequency, coverage by level, error by share of pixels removed."""

from collections.abc import Mapping

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from freqlf.diagnostics import LEVELS, Sparsification
from freqlf.figures.canvas import COLUMN_INCHES, label, paper_style
from freqlf.frequency import BANDS

Curve = NDArray[np.floating]


def draw_profiles(profiles: Mapping[str, tuple[Curve, Curve]], title: str) -> Figure:
    """Radial profiles of error spectra: by method, frequencies (cycles per pixel) and magnitudes (px)."""
    with paper_style():
        figure, axes = _new_axes(2.5)
        for name, (frequency, magnitude_px) in profiles.items():
            axes.plot(frequency[1:], np.maximum(magnitude_px[1:], 1e-12), label=name)
        axes.set_xscale("log")
        axes.set_yscale("log")
        for end in BANDS.values():
            if np.isfinite(end):
                axes.axvline(end, color="0.7", linewidth=0.6, linestyle=":")
        axes.grid(alpha=0.25, linewidth=0.4)
        label(axes, title, "frequency (cycles per pixel)", "mean magnitude of the error (px)")
        if len(profiles) > 1:
            axes.legend(frameon=False)
    return figure


def draw_coverage(curves: Mapping[str, Curve], calibrated: Mapping[str, Curve], title: str) -> Figure:
    """Which share of pixels lies in intervals of which level, by scene; dashed: calibrated intervals."""
    with paper_style():
        figure, axes = _new_axes(3.1)
        axes.plot([0, 1], [0, 1], color="0.5", linewidth=0.8, linestyle=":", label="ideal")
        for number, (name, covered) in enumerate(curves.items()):
            colour = _colour(number, len(curves))
            axes.plot(LEVELS, covered, color=colour, label=name)
            if name in calibrated:
                axes.plot(LEVELS, calibrated[name], color=colour, linestyle="--", linewidth=1.0)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_aspect("equal")
        axes.grid(alpha=0.25, linewidth=0.4)
        heading = f"{title}; dashed: calibrated" if calibrated else title
        label(axes, heading, "level of the interval", "share of pixels inside")
        _add_legend(figure, axes)
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
    labels = axes.get_legend_handles_labels()[1]
    if len(labels) <= 6:
        axes.legend(frameon=False)
        return
    columns = 3 if max(map(len, labels)) <= 12 else 2
    figure.set_figheight(figure.get_figheight() + 0.13 * -(-len(labels) // columns))
    figure.legend(loc="outside lower center", ncols=columns, frameon=False, columnspacing=1.0, handlelength=1.4)
