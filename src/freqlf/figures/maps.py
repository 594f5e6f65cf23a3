"""Maps side by side, sized for a paper: estimates beside the truth, masks, and spectra of the error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from freqlf.figures.canvas import (
    COLUMN_INCHES,
    DISPARITY_COLOURS,
    ERROR_COLOURS,
    HIDDEN,
    PAGE_INCHES,
    hide_ticks,
    new_grid,
    paper_style,
)
from freqlf.lightfield import View

_LARGEST_ERROR_PX = 0.3
_BOUNDARY_COLOUR = (1.0, 0.25, 0.1)
_TEXTURELESS_COLOUR = (0.1, 0.6, 1.0)


@dataclass(frozen=True)
class Panel:
    """One scene of the qualitative figure. Maps are (H, W), NaN where there is nothing to show."""

    name: str
    view: View
    ground_truth_px: NDArray[np.floating]
    estimate_px: NDArray[np.floating]
    error_px: NDArray[np.floating]
    deviation_px: NDArray[np.floating] | None
    caption: str  # below the error: its scores


def draw_qualitative(panels: Sequence[Panel]) -> Figure:
    """One row per scene: central view, ground truth, estimate, absolute error, predicted deviation."""
    deviations = [panel.deviation_px for panel in panels if panel.deviation_px is not None]
    uncertain = len(deviations) == len(panels)
    columns = 5 if uncertain else 4
    titles = ("central view", "ground truth", "estimate", "absolute error", "predicted deviation")
    with paper_style():
        figure, grid = new_grid(PAGE_INCHES, 0.55 + 1.12 * len(panels) * 5 / columns, len(panels), columns)
        for row, panel in zip(grid, panels, strict=True):
            low, high = np.nanmin(panel.ground_truth_px), np.nanmax(panel.ground_truth_px)
            row[0].imshow(panel.view)
            row[0].set_ylabel(panel.name)
            for axes, pixels in zip(row[1:3], (panel.ground_truth_px, panel.estimate_px), strict=True):
                axes.set_facecolor(HIDDEN)
                disparity = axes.imshow(pixels, cmap=DISPARITY_COLOURS, vmin=low, vmax=high, interpolation="nearest")
            bar = figure.colorbar(disparity, ax=list(row[1:3]), aspect=14, pad=0.02)
            bar.ax.tick_params(labelsize=5.5, pad=1.5)
            row[3].set_facecolor(HIDDEN)
            error = row[3].imshow(
                panel.error_px, cmap=ERROR_COLOURS, vmin=0, vmax=_LARGEST_ERROR_PX, interpolation="nearest"
            )
            row[3].set_xlabel(panel.caption, fontsize=6, labelpad=2)
            for axes in row:
                hide_ticks(axes)
        for axes, title in zip(grid[0], titles, strict=False):
            axes.set_title(title, pad=3)
        bars = [(error, 3)]
        if uncertain:
            largest_px = _round_up(max(float(np.nanpercentile(pixels, 99)) for pixels in deviations))
            for row, pixels in zip(grid, deviations, strict=True):
                row[4].set_facecolor(HIDDEN)
                deviation = row[4].imshow(pixels, cmap=ERROR_COLOURS, vmin=0, vmax=largest_px, interpolation="nearest")
            bars.append((deviation, 4))
        for picture, column in bars:
            bar = figure.colorbar(
                picture, ax=list(grid[:, column]), location="bottom", label="px", extend="max", aspect=16, pad=0.02
            )
            bar.ax.tick_params(labelsize=5.5)
    return figure


def draw_masks(views: Mapping[str, View], regions: Mapping[str, Mapping[str, NDArray[np.bool_]]]) -> Figure:
    """One row per scene: the central view, its boundary pixels, its textureless pixels."""
    with paper_style():
        figure, grid = new_grid(COLUMN_INCHES, 0.25 + 1.1 * len(views), len(views), 3)
        for row, (name, view) in zip(grid, views.items(), strict=True):
            row[0].imshow(view)
            row[0].set_ylabel(name)
            for axes, region, colour in zip(
                row[1:], ("boundary", "textureless"), (_BOUNDARY_COLOUR, _TEXTURELESS_COLOUR), strict=True
            ):
                pale = 0.35 + 0.45 * view.mean(axis=2, keepdims=True).repeat(3, axis=2)
                axes.imshow(np.where(regions[name][region][..., None], colour, pale), interpolation="nearest")
            for axes in row:
                hide_ticks(axes)
        for axes, title in zip(grid[0], ("central view", "boundary, 10 %", "textureless, 15 %"), strict=True):
            axes.set_title(title, pad=3)
    return figure


def draw_spectra(spectra_px: Mapping[str, NDArray[np.floating]], title: str) -> Figure:
    """The Fourier magnitude of the error, one panel per method, all in one scale; frequency zero in the middle."""
    columns = min(len(spectra_px), 3)
    rows = -(-len(spectra_px) // columns)
    highest_px = max(float(spectrum.max()) for spectrum in spectra_px.values()) or 1.0
    lowest_px = 1e-4 * highest_px
    with paper_style():
        height = 0.5 + rows * (0.2 + (COLUMN_INCHES - 0.75) / columns)
        figure, grid = new_grid(COLUMN_INCHES, height, rows, columns)
        scale = LogNorm(vmin=lowest_px, vmax=highest_px)
        for axes, (name, spectrum) in zip(grid.flat, spectra_px.items(), strict=False):
            picture = axes.imshow(
                np.maximum(spectrum, lowest_px), cmap="inferno", norm=scale, extent=(-0.5, 0.5, 0.5, -0.5)
            )
            axes.set_title(name, pad=3)
            axes.set_xticks([-0.5, 0, 0.5], ["-½", "0", "½"])
            axes.set_yticks([-0.5, 0, 0.5], ["-½", "0", "½"])
            axes.label_outer()
        for axes in list(grid.flat)[len(spectra_px) :]:
            axes.set_axis_off()
        figure.supxlabel("cycles per pixel", fontsize=7)
        figure.suptitle(title, fontsize=7)
        bar = figure.colorbar(picture, ax=grid, label="magnitude (px)", aspect=25, pad=0.02, shrink=0.9)
        bar.ax.tick_params(labelsize=5.5)
    return figure


def _round_up(value: float) -> float:
    """To one digit, for the end of a scale."""
    if not value > 0:
        return 1.0
    unit = 10.0 ** np.floor(np.log10(value))
    return float(np.ceil(value / unit) * unit)
