"""How cost grows with the image: fitted exponents, the paper's own numbers, and a plot of both."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from freqlf.evaluation.literature import read_reference
from freqlf.outputs.canvas import PAGE_INCHES, label, paper_style
from freqlf.studies.cost.measurement import Cost

_PUBLISHED = ("FreqLF", "FreqLF+")


@dataclass(frozen=True)
class Growth:
    """The cost of one model over square images.

    Attributes:
        name: the model, and how its images are computed.
        costs: by the image's side in pixels.
    """

    name: str
    costs: dict[int, Cost]

    def time_exponent(self) -> float | None:
        """a of time = constant * N^a, N the number of pixels."""
        return fit_exponent(list(self.costs), [cost.mean_s or 0.0 for cost in self.costs.values()])

    def memory_exponent(self) -> float | None:
        """The same for the peak memory."""
        return fit_exponent(list(self.costs), [cost.peak_mb for cost in self.costs.values()])


def group_by_model(costs: Iterable[Cost]) -> list[Growth]:
    """A growth for each model in tiles, and in one piece."""
    growths: dict[str, Growth] = {}
    for cost in costs:
        name = f"{cost.model}, {'in one piece' if cost.whole else 'in tiles'}"
        growths.setdefault(name, Growth(name, {})).costs[cost.size_px] = cost
    return list(growths.values())


def fit_exponent(sizes_px: Sequence[int], values: Sequence[float]) -> float | None:
    """a of value = constant * N^a with N = size^2, by least squares of the logarithms; None if there is no line."""
    if len(set(sizes_px)) < 2 or min(values) <= 0:
        return None
    pixels = np.square(np.asarray(sizes_px, np.float64))
    return float(np.polyfit(np.log(pixels), np.log(values), 1)[0])


def read_published() -> list[Growth]:
    """The paper's own numbers, which are of other hardware."""
    reference = read_reference("scaling")
    growths = []
    for name in _PUBLISHED:
        columns = zip(reference["size_px"], reference[name]["seconds"], reference[name]["peak_mb"], strict=True)
        costs = {size_px: Cost(name, size_px, True, (seconds,), peak_mb) for size_px, seconds, peak_mb in columns}
        growths.append(Growth(f"{name} (paper, A100 GPU)", costs))
    return growths


def draw_growth(measured: Sequence[Growth], published: Sequence[Growth]) -> Figure:
    """Both axes logarithmic, so that a power of N is a line; dashed: published, of other hardware."""
    rows = -(-(len(measured) + len(published)) // 2)
    with paper_style():
        figure = Figure(figsize=(PAGE_INCHES, 2.5 + 0.13 * rows), layout="constrained")
        time_axes, memory_axes = figure.subplots(1, 2)
        _draw_panel(time_axes, measured, published, lambda cost: cost.mean_s or 0.0)
        _draw_panel(memory_axes, measured, published, lambda cost: cost.peak_mb)
        label(time_axes, "time", "pixels N", "seconds")
        label(memory_axes, "peak memory", "pixels N", "MB")
        handles, names = time_axes.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _draw_panel(
    axes: Axes, measured: Sequence[Growth], published: Sequence[Growth], read: Callable[[Cost], float]
) -> None:
    for number, growth in enumerate([*measured, *published]):
        is_measured = number < len(measured)
        axes.plot(
            [size_px**2 for size_px in growth.costs],
            [read(cost) for cost in growth.costs.values()],
            color=f"C{number % 10}" if is_measured else ("0.35", "0.6")[(number - len(measured)) % 2],
            linestyle="-" if is_measured else "--",
            marker="o",
            markersize=3,
            label=growth.name,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    sizes_px = sorted({size_px for growth in [*measured, *published] for size_px in growth.costs})
    axes.set_xticks([size_px**2 for size_px in sizes_px], [f"{size_px}²" for size_px in sizes_px])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.25, linewidth=0.4)
