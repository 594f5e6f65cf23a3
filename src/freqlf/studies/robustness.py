"""How a model stands what real captures do to light fields: noise, views out of place, exposure, blur, few views.

The paper leaves this as future work. Every degradation is applied to clean scenes with known ground truth, and the
model's estimates are scored as ever.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import ndimage

from freqlf.data.hci import Scene
from freqlf.errors import FreqLFError
from freqlf.evaluation.metrics import DEFAULT_BORDER_PX, Scores, mean_scores, score_map
from freqlf.evaluation.tables import Table, format_number
from freqlf.inference.estimate import Estimator
from freqlf.io.views import View
from freqlf.lightfield import LightField, list_views
from freqlf.studies.summary import METRICS

ChangeView = Callable[[View, np.random.Generator], NDArray[np.floating]]


@dataclass(frozen=True)
class Degradation:
    """One way to make a light field worse.

    Attributes:
        kind: a key of `KINDS`.
        amount: how much of it, in the unit of its kind.
    """

    kind: str
    amount: float

    @property
    def label(self) -> str:
        """The amount with its unit, for tables."""
        return KINDS[self.kind].label.format(self.amount)

    def apply(self, light_field: LightField) -> LightField:
        """The light field, degraded; always in the same way."""
        kind = KINDS[self.kind]
        if kind.change_grid is not None:
            return kind.change_grid(light_field, self.amount)
        assert kind.change_view is not None
        change = kind.change_view(self.amount)
        views = {}
        for u, v in list_views(light_field.rows, light_field.columns):
            rng = np.random.default_rng([zlib.crc32(self.kind.encode()), u, v])
            is_kept = kind.keeps_centre and (u, v) == light_field.centre
            pixels = light_field.view(u, v)
            views[u, v] = pixels if is_kept else np.clip(change(pixels, rng), 0, 1).astype(np.float32)
        return LightField(light_field.rows, light_field.columns, views)

    @property
    def shear_px(self) -> float:
        """What it adds to all disparities."""
        return self.amount if self.kind == "shear" else 0.0


@dataclass(frozen=True)
class Kind:
    """A kind of degradation: either views change one by one, or the grid does."""

    heading: str
    label: str
    amounts: tuple[float, ...]
    change_view: Callable[[float], ChangeView] | None = None
    change_grid: Callable[[LightField, float], LightField] | None = None
    keeps_centre: bool = False


def _add_noise(deviation: float) -> ChangeView:
    return lambda view, rng: view + rng.normal(0, deviation, view.shape)


def _misalign(most_px: float) -> ChangeView:
    def shift(view: View, rng: np.random.Generator) -> NDArray[np.floating]:
        down_px, right_px = rng.uniform(-most_px, most_px, 2)
        return ndimage.shift(view, (down_px, right_px, 0), order=3, mode="nearest")

    return shift


def _expose(percent: float) -> ChangeView:
    return lambda view, rng: view * (1 + rng.uniform(-percent, percent) / 100)


def _blur(deviation_px: float) -> ChangeView:
    return lambda view, _: ndimage.gaussian_filter(view, (deviation_px, deviation_px, 0), mode="nearest")


def _take_views(light_field: LightField, count: float) -> LightField:
    return light_field.subgrid(int(count), int(count))


KINDS: dict[str, Kind] = {
    "noise": Kind("noise, deviation (white is 1)", "{:g}", (0.01, 0.02, 0.05, 0.1, 0.2), _add_noise),
    "misalignment": Kind("views out of place by up to", "{:g} px", (0.1, 0.3, 0.5), _misalign, keeps_centre=True),
    "exposure": Kind("exposure of each view differs by up to", "{:g} %", (5, 10, 20), _expose, keeps_centre=True),
    "blur": Kind("blur, deviation", "{:g} px", (0.5, 1.0, 2.0), _blur),
    "views": Kind("views per axis", "{:g}", (7, 5, 3), change_grid=_take_views),
    "shear": Kind("shear by", "{:+g} px", (-8, 8), change_grid=LightField.sheared),
}


def list_degradations(kinds: Sequence[str]) -> list[Degradation]:
    """All amounts of these kinds."""
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise FreqLFError(f"unknown degradation {', '.join(unknown)!r}: choose some of {', '.join(KINDS)}")
    return [Degradation(kind, amount) for kind in kinds for amount in KINDS[kind].amounts]


@dataclass(frozen=True)
class Outcome:
    """The scores of one degradation by scene; without one, of the clean scenes."""

    degradation: Degradation | None
    scenes: dict[str, Scores]

    def mean(self) -> dict[str, float]:
        """Every metric over the scenes."""
        return mean_scores(list(self.scenes.values()))


def measure_robustness(
    estimator: Estimator, scenes: Sequence[Scene], degradations: Sequence[Degradation]
) -> Iterator[Outcome]:
    """Scores of the clean scenes, then of every degradation."""
    for degradation in (None, *degradations):
        yield Outcome(degradation, {scene.name: _score(estimator, scene, degradation) for scene in scenes})


def _score(estimator: Estimator, scene: Scene, degradation: Degradation | None) -> Scores:
    truth_px = scene.disparity_px()
    if truth_px is None:
        raise FreqLFError(f"{scene.directory} has no ground truth (gt_disp_lowres.pfm), so nothing can be scored")
    light_field, shear_px = scene.light_field(), 0.0
    if degradation is not None:
        light_field, shear_px = degradation.apply(light_field), degradation.shear_px
    found_px = estimator(light_field, check_order=False).disparity_px
    border_px = min(DEFAULT_BORDER_PX, (min(truth_px.shape) - 1) // 2)
    return score_map(found_px, truth_px + shear_px, scene.valid_mask(), border_px)


def tabulate_robustness(outcomes: Sequence[Outcome]) -> Table:
    """A row per degradation, with MSE x100 / BadPix(0.07) of every scene and their means."""
    names = list(outcomes[0].scenes)
    rows = []
    for outcome in outcomes:
        kind = "clean" if outcome.degradation is None else KINDS[outcome.degradation.kind].heading
        amount = "" if outcome.degradation is None else outcome.degradation.label
        scores = [outcome.scenes[name] for name in names]
        cells = [{metric: getattr(one, metric) for metric in METRICS} for one in scores]
        rows.append((kind, amount, *map(_format, cells), _format(outcome.mean())))
    title = " / ".join(heading for heading, _ in METRICS.values())
    return Table(title, ("degradation", "amount", *names, "mean"), tuple(rows))


def _format(scores: dict[str, float]) -> str:
    return " / ".join(format_number(scores[metric], digits) for metric, (_, digits) in METRICS.items())


def draw_robustness(outcomes: Sequence[Outcome], title: str) -> Figure:
    """A panel per kind and metric: means over the scenes, the clean ones as a line across."""
    kinds = list(dict.fromkeys(one.degradation.kind for one in outcomes if one.degradation is not None))
    clean = outcomes[0].mean()
    figure = Figure(figsize=(2.3 * len(kinds) + 0.5, 5), layout="constrained")
    panels = figure.subplots(len(METRICS), len(kinds), squeeze=False, sharey="row")
    for row, (metric, (heading, _)) in zip(panels, METRICS.items(), strict=True):
        for axes, kind in zip(row, kinds, strict=True):
            chosen = [one for one in outcomes if one.degradation is not None and one.degradation.kind == kind]
            labels = [one.degradation.label for one in chosen if one.degradation is not None]
            axes.plot(labels, [one.mean()[metric] for one in chosen], "o-")
            axes.axhline(clean[metric], color="0.5", linestyle="--")
            axes.set_yscale("log")
            axes.set_xlabel(KINDS[kind].heading, fontsize="small")
            axes.grid(alpha=0.3)
        row[0].set_ylabel(heading)
    figure.suptitle(f"{title} (dashed: clean)")
    return figure
