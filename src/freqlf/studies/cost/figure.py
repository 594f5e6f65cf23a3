"""Time and memory by the number of pixels, as a plot."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from freqlf.outputs.canvas import PAGE_INCHES, label, paper_style
from freqlf.studies.cost.growth import Growth
from freqlf.studies.cost.measurement import Cost


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
