"""Maps side by side, sized for a paper: estimates beside the truth, masks, and spectra of the error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from freqlf.io.views import View
from freqlf.outputs.canvas import (
    COLUMN_INCHES,
    DISPARITY_COLOURS,
    ERROR_COLOURS,
    HIDDEN,
    PAGE_INCHES,
    hide_ticks,
    new_grid,
    paper_style,
)

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
    caption: str  # in the error's corner: its scores


def draw_qualitative(panels: Sequence[Panel]) -> Figure:
    """One row per scene: central view, ground truth, estimate, absolute error, predicted deviation."""
    deviations = [panel.deviation_px for panel in panels if panel.deviation_px is not None]
    uncertain = len(deviations) == len(panels)
    largest_px = _round_up(float(np.nanpercentile(np.stack(deviations), 99))) if uncertain else 1.0
    titles = ("central view", "ground truth", "estimate", "absolute error", "predicted deviation")
    columns = 5 if uncertain else 4
    with paper_style():
        page = _Page(len(panels), columns, np.shape(panels[0].ground_truth_px))
        for row, panel in enumerate(panels):
            low, high = np.nanmin(panel.ground_truth_px), np.nanmax(panel.ground_truth_px)
            axes = [page.add_panel(row, column) for column in range(columns)]
            axes[0].imshow(panel.view)
            axes[0].set_ylabel(panel.name)
            for one, pixels in ((axes[1], panel.ground_truth_px), (axes[2], panel.estimate_px)):
                disparity = one.imshow(pixels, cmap=DISPARITY_COLOURS, vmin=low, vmax=high, interpolation="nearest")
            bar = page.figure.colorbar(disparity, cax=page.add_side_bar(row))
            bar.ax.tick_params(labelsize=5.5, pad=1.5)
            error = axes[3].imshow(
                panel.error_px, cmap=ERROR_COLOURS, vmin=0, vmax=_LARGEST_ERROR_PX, interpolation="nearest"
            )
            axes[3].text(
                *(0.03, 0.04, panel.caption),
                transform=axes[3].transAxes,
                fontsize=5.5,
                color="white",
                bbox={"facecolor": "black", "alpha": 0.6, "linewidth": 0, "pad": 1},
            )
            if uncertain:
                deviation = axes[4].imshow(
                    deviations[row], cmap=ERROR_COLOURS, vmin=0, vmax=largest_px, interpolation="nearest"
                )
            if row == 0:
                for one, title in zip(axes, titles, strict=False):
                    one.set_title(title, pad=3)
        bars = [(error, 3, _LARGEST_ERROR_PX)] + ([(deviation, 4, largest_px)] if uncertain else [])
        for picture, column, end_px in bars:
            bar = page.figure.colorbar(
                picture, cax=page.add_bottom_bar(column), orientation="horizontal", label="px", extend="max"
            )
            bar.set_ticks([0, end_px / 2, end_px], labels=["0", f"{end_px / 2:g}", f"{end_px:g}"])
    return page.figure


class _Page:
    """Places panels by the inch, so that rows and columns are in line whatever bars stand beside them."""

    left, gap, bar, ticks, top, bottom = 0.2, 0.04, 0.07, 0.3, 0.18, 0.42

    def __init__(self, rows: int, columns: int, image_shape: tuple[int, ...]) -> None:
        free = PAGE_INCHES - self.left - (columns + 1) * self.gap - self.bar - self.ticks
        self.panel_width = free / columns
        self.panel_height = self.panel_width * image_shape[0] / image_shape[1]
        self.height = self.top + rows * (self.panel_height + self.gap) + self.bottom
        self.figure = Figure(figsize=(PAGE_INCHES, self.height))

    def add_panel(self, row: int, column: int) -> Axes:
        """A picture; grey shines through where it has no pixels."""
        axes = self._add(self._x(column), self._y(row), self.panel_width, self.panel_height)
        axes.set_facecolor(HIDDEN)
        hide_ticks(axes)
        return axes

    def add_side_bar(self, row: int) -> Axes:
        """Right of the estimate."""
        return self._add(self._x(2) + self.panel_width + self.gap, self._y(row), self.bar, self.panel_height)

    def add_bottom_bar(self, column: int) -> Axes:
        """Below the last row, a little shorter than the panel: the labels of two bars must not meet."""
        return self._add(self._x(column), self.bottom - self.bar - 0.03, 0.88 * self.panel_width, self.bar)

    def _x(self, column: int) -> float:
        beside_bar = self.bar + self.ticks if column > 2 else 0.0
        return self.left + column * (self.panel_width + self.gap) + beside_bar

    def _y(self, row: int) -> float:
        return self.height - self.top - (row + 1) * self.panel_height - row * self.gap

    def _add(self, x: float, y: float, width: float, height: float) -> Axes:
        inches = (x / PAGE_INCHES, y / self.height, width / PAGE_INCHES, height / self.height)
        return self.figure.add_axes(inches)


def draw_masks(views: Mapping[str, View], regions: Mapping[str, Mapping[str, NDArray[np.bool_]]]) -> Figure:
    """One row per scene: the central view, its boundary pixels, its textureless pixels."""
    with paper_style():
        figure, grid = new_grid(COLUMN_INCHES, 0.18 + 1.09 * len(views), len(views), 3)
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
    # Frequency zero outshines everything; the scale is for the rest.
    lowest_px, highest_px = np.percentile(np.concatenate([one.ravel() for one in spectra_px.values()]), (1, 99.9))
    highest_px = highest_px or 1.0
    lowest_px = max(lowest_px, 1e-4 * highest_px)
    with paper_style():
        height = 0.42 + rows * (0.2 + (COLUMN_INCHES - 0.95) / columns)
        figure, grid = new_grid(COLUMN_INCHES, height, rows, columns)
        scale = LogNorm(vmin=lowest_px, vmax=highest_px)
        for axes, (name, spectrum) in zip(grid.flat, spectra_px.items(), strict=False):
            picture = axes.imshow(
                np.maximum(spectrum, lowest_px), cmap="inferno", norm=scale, extent=(-0.5, 0.5, 0.5, -0.5)
            )
            axes.set_title(name, pad=3)
            axes.set_xticks([-0.4, 0, 0.4])
            axes.set_yticks([-0.4, 0, 0.4])
            axes.label_outer()
        for axes in list(grid.flat)[len(spectra_px) :]:
            axes.set_axis_off()
        figure.supxlabel("cycles per pixel", fontsize=7)
        figure.suptitle(title, fontsize=7)
        bar = figure.colorbar(picture, ax=grid, label="magnitude (px)", extend="max", aspect=25, pad=0.02)
        bar.ax.tick_params(labelsize=5.5)
    return figure


def _round_up(value: float) -> float:
    """To one digit, for the end of a scale."""
    if not value > 0:
        return 1.0
    unit = 10.0 ** np.floor(np.log10(value))
    return float(np.ceil(value / unit) * unit)
