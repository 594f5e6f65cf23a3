"""A study as a picture: the scores of every variant, with a point per seed."""

from matplotlib.figure import Figure

from freqlf.studies.headings import METRICS
from freqlf.studies.summary import Summary

_SHOWN = {"mean": "mixture mean", "tempered_mean": "tempered mean"}


def draw_study(summary: Summary, title: str) -> Figure:
    """A panel per metric; bars are means over seeds, points the seeds."""
    figure = Figure(figsize=(11, 1.6 + 0.55 * len(summary.variants)), layout="constrained")
    thickness = 0.8 / len(_SHOWN)
    for axes, (metric, (heading, digits)) in zip(
        figure.subplots(1, len(METRICS), sharey=True), METRICS.items(), strict=True
    ):
        for number, (estimate, label) in enumerate(_SHOWN.items()):
            for row, variant in enumerate(summary.variants):
                y = row + (number - (len(_SHOWN) - 1) / 2) * thickness
                spread = summary.spread(variant, estimate, metric)
                axes.barh(
                    y, spread.mean, 0.9 * thickness, color=f"C{number}", alpha=0.6, label=label if row == 0 else None
                )
                points = list(spread.by_seed.values())
                axes.plot(points, [y] * len(points), "o", color="black", markersize=3)
                axes.annotate(
                    spread.format(digits),
                    (max(points), y),
                    xytext=(6, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize="small",
                )
        axes.set_yticks(range(len(summary.variants)), summary.variants)
        axes.set_xlabel(f"{heading}, mean over {', '.join(summary.scenes)}")
        axes.margins(x=0.3)  # room for the numbers
        axes.set_xlim(left=0)
        axes.grid(axis="x", alpha=0.3)
    figure.axes[0].invert_yaxis()
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(_SHOWN))
    figure.suptitle(title)
    return figure
