"""From runs to statements: mean and deviation over seeds, differences to the full model, tables, a chart, files."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from matplotlib.figure import Figure

from freqlf.evaluation.comparison import DIGITS, HEADINGS
from freqlf.evaluation.metrics import DEFAULT_BORDER_PX, describe_protocol
from freqlf.evaluation.tables import Row, Table, find_best, format_number, to_markdown
from freqlf.io.files import write_json, write_text
from freqlf.outputs.canvas import save_figure
from freqlf.provenance import describe_run
from freqlf.studies.runs import Cost, RunResult, Scenes, Study

ALL = "all"  # the mean over scenes
# Point estimate to title, and to what a chart calls it.
ESTIMATES = {
    "mean": "estimate: the mixture's mean, as in the paper",
    "tempered_mean": "estimate: the tempered mean",
}
_SHOWN = {"mean": "mixture mean", "tempered_mean": "tempered mean"}
# What studies report: metric to heading and digits after the point.
METRICS = {metric: (HEADINGS[metric], DIGITS[metric]) for metric in ("mse_100", "badpix_007")}


@dataclass(frozen=True)
class Spread:
    """One score over seeds."""

    by_seed: dict[int, float]

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return statistics.fmean(self.by_seed.values())

    @property
    def deviation(self) -> float | None:
        """Sample standard deviation; None for a single seed."""
        return statistics.stdev(self.by_seed.values()) if len(self.by_seed) > 1 else None

    def minus(self, other: "Spread") -> "Spread":
        """The differences of runs with the same seed, which saw the same samples."""
        common = [seed for seed in self.by_seed if seed in other.by_seed]
        return Spread({seed: self.by_seed[seed] - other.by_seed[seed] for seed in common})

    def format(self, digits: int) -> str:
        """As tables print it."""
        mean = format_number(self.mean, digits)
        return mean if self.deviation is None else f"{mean} ± {format_number(self.deviation, digits)}"

    def values(self) -> dict[str, Any]:
        """For JSON."""
        return {"mean": self.mean, "deviation": self.deviation, "by_seed": self.by_seed}


class Summary:
    """The runs of a study that are finished so far, by variant in the order of the study."""

    def __init__(self, results: Sequence[RunResult]) -> None:
        self.results = tuple(results)
        self.variants = tuple(dict.fromkeys(result.variant for result in results))
        scores = results[0].scores[next(iter(ESTIMATES))]
        self.scenes = tuple(name for name in scores if name != ALL)

    def runs(self, variant: str) -> list[RunResult]:
        """Of one variant, a run per seed."""
        return [result for result in self.results if result.variant == variant]

    def spread(self, variant: str, estimate: str, metric: str, scene: str = ALL) -> Spread:
        """One score of a variant over its seeds."""
        values = {run.seed: run.scores[estimate][scene][metric] for run in self.runs(variant)}
        return Spread({seed: math.nan if value is None else value for seed, value in values.items()})

    def values(self, baseline: str | None) -> dict[str, Any]:
        """Everything, as plain JSON; differences to the variant `baseline` if there is one."""
        described: dict[str, Any] = {}
        for variant in self.variants:
            described[variant] = {"parameters": self.runs(variant)[0].parameters, "steps": self.runs(variant)[0].steps}
            for estimate in self.results[0].scores:
                for metric in METRICS:
                    spreads = {scene: self.spread(variant, estimate, metric, scene) for scene in (*self.scenes, ALL)}
                    entry: dict[str, Any] = {scene: spread.values() for scene, spread in spreads.items()}
                    if baseline in self.variants and variant != baseline:
                        difference = spreads[ALL].minus(self.spread(str(baseline), estimate, metric))
                        entry["delta"] = difference.values() if difference.by_seed else None
                    described[variant].setdefault(estimate, {})[metric] = entry
        return described


def tabulate(summary: Summary, baseline: str | None) -> list[Table]:
    """For each estimate: variants against the baseline, or, if there is none, scene by scene."""
    if baseline is not None:
        return [tabulate_components(summary, estimate, baseline) for estimate in ESTIMATES]
    return [tabulate_scenes(summary, estimate, metric) for estimate in ESTIMATES for metric in METRICS]


def tabulate_components(summary: Summary, estimate: str, baseline: str) -> Table:
    """Means over scenes with their differences to the baseline, a row per variant."""
    headings = ["variant"]
    for heading, _ in METRICS.values():
        headings += [heading, "delta"]
    rows, values = [], []
    for variant in summary.variants:
        cells = []
        for metric, (_, digits) in METRICS.items():
            spread = summary.spread(variant, estimate, metric)
            cells += [spread.format(digits), _format_delta(summary, variant, estimate, metric, baseline)]
        values.append([summary.spread(variant, estimate, metric).mean for metric in METRICS])
        rows.append((variant, *cells, *_describe_cost(summary, variant)))
    best = find_best(values, [digits for _, digits in METRICS.values()])
    return Table(
        ESTIMATES[estimate],
        (*headings, *_COST_HEADINGS),
        tuple(rows),
        best=frozenset((row, 1 + 2 * column) for row, column in best),
        notes=_notes(summary),
    )


def tabulate_scenes(summary: Summary, estimate: str, metric: str) -> Table:
    """Every scene and the mean over them, a row per variant."""
    heading, digits = METRICS[metric]
    columns = (*summary.scenes, ALL)
    spreads = [[summary.spread(variant, estimate, metric, scene) for scene in columns] for variant in summary.variants]
    rows = tuple(
        (variant, *(spread.format(digits) for spread in row), *_describe_cost(summary, variant))
        for variant, row in zip(summary.variants, spreads, strict=True)
    )
    best = find_best([[spread.mean for spread in row] for row in spreads], [digits] * len(columns))
    return Table(
        f"{heading}, {ESTIMATES[estimate]}",
        ("variant", *summary.scenes, "mean", *_COST_HEADINGS),
        rows,
        best=frozenset((row, 1 + column) for row, column in best),
        notes=_notes(summary),
    )


_COST_HEADINGS = ("parameters", "steps", "minutes a run")


def _describe_cost(summary: Summary, variant: str) -> Row:
    runs = summary.runs(variant)
    minutes = [run.minutes for run in runs if run.minutes is not None]
    spent = format_number(statistics.fmean(minutes) if minutes else None, 1)
    return f"{runs[0].parameters:,}", f"{runs[0].steps:,}", spent


def _format_delta(summary: Summary, variant: str, estimate: str, metric: str, baseline: str) -> str:
    if variant == baseline or baseline not in summary.variants:
        return "-"
    difference = summary.spread(variant, estimate, metric).minus(summary.spread(baseline, estimate, metric))
    return f"{difference.mean:+.{METRICS[metric][1]}f}" if difference.by_seed else "-"


def _notes(summary: Summary) -> tuple[str, ...]:
    counts = {len(summary.runs(variant)) for variant in summary.variants}
    seeds = f"{min(counts)} to {max(counts)} seeds, unfinished" if len(counts) > 1 else f"{max(counts)} seeds"
    if counts == {1}:
        return ("One seed, so nothing is known about the deviation.",)
    return (f"Mean ± standard deviation over {seeds}.",)


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


def write_files(study: Study, costs: dict[str, Cost], scenes: Scenes, results: Sequence[RunResult]) -> list[Table]:
    """Write study.json, tables.md and study.png of the finished runs, and return their tables."""
    summary = Summary(results)
    budget = "equal steps" if study.minutes is None else f"{study.minutes:g} minutes a run"
    content = {
        "provenance": describe_run(
            command=f"study {study.kind}",
            preset=study.preset,
            recipe=study.recipe.values(),
            scenes=scenes.names() | {"scored": list(summary.scenes)},
            threads=torch.get_num_threads(),
            torch=torch.__version__,
        ),
        "protocol": describe_protocol(DEFAULT_BORDER_PX),
        "minutes": study.minutes,
        "weights": study.weights,
        "costs": {name: asdict(cost) for name, cost in costs.items()},
        "seeds": study.seeds,
        "is_complete": len(results) == len(study.variants) * len(study.seeds),
        "baseline": study.baseline,
        "variants": summary.values(study.baseline),
        "runs": [asdict(result) for result in results],
    }
    tables = tabulate(summary, study.baseline)
    write_json(study.directory / "study.json", content)
    write_text(study.directory / "tables.md", "\n".join(map(to_markdown, tables)))
    save_figure(study.directory / "study.png", draw_study(summary, f"{study.kind} of {study.preset}, {budget}"))
    return tables
