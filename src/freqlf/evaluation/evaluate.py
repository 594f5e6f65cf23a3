"""Everything that can be said about a method's maps on scenes with ground truth."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from freqlf.data.hci import Scene
from freqlf.errors import FreqLFError
from freqlf.evaluation.metrics import METRICS, Scores, mean_scores, score_map, score_officially, scored_region
from freqlf.evaluation.regions import find_regions
from freqlf.evaluation.results import Results
from freqlf.evaluation.spectrum import DEFAULT_LOW_END, band_shares, error_spectrum, place_bands, radial_profile
from freqlf.evaluation.uncertainty import (
    Sparsification,
    UncertaintyScores,
    check_uncertainty,
    correlate,
    coverage_curve,
    score_uncertainty,
    sparsify,
    standardize,
)
from freqlf.io.views import View
from freqlf.weights.calibration import Calibration, Values, calibration_error

Result = TypeVar("Result")
_ONE_DEVIATION = 0.683  # the level of an interval that reaches one deviation to either side


@dataclass(frozen=True)
class Truth:
    """What the maps of one scene are compared with, and where. Maps are (H, W)."""

    scene: Scene
    ground_truth_px: NDArray[np.float32]
    view: View  # the central one, (H, W, 3)
    valid: NDArray[np.bool_]  # as the scene's mask says
    scored: NDArray[np.bool_]  # valid, inside the border, with finite ground truth
    regions: dict[str, NDArray[np.bool_]]
    border_px: int

    @property
    def name(self) -> str:
        """The scene's name."""
        return self.scene.name

    def error_px(self, prediction_px: NDArray[np.floating]) -> NDArray[np.float64]:
        """The absolute error (H, W); 0 where nothing is scored."""
        return np.where(self.scored, np.abs(prediction_px.astype(np.float64) - self.ground_truth_px), 0.0)


@dataclass(frozen=True)
class Spectrum:
    """Where in frequency the error of a map lies; see `freqlf.evaluation.spectrum`."""

    magnitude_px: Values  # (h, w) of what is inside the border
    frequency: Values  # of the rings, in cycles per pixel
    profile_px: Values  # mean magnitude on the rings
    band_shares: dict[str, float]
    band_ends: dict[str, float]  # in cycles per pixel


@dataclass(frozen=True)
class Uncertainty:
    """How a predicted variance did, for one scene or for all their pixels together.

    Attributes:
        scores: by the variance as it was predicted.
        coverage: (levels,) of the intervals of `freqlf.evaluation.uncertainty.LEVELS`.
        calibrated: the same for calibrated intervals; None without a calibration.
    """

    scores: UncertaintyScores
    coverage: Values
    sparsification: Sparsification
    calibrated: "Calibrated | None" = None


@dataclass(frozen=True)
class Calibrated:
    """How intervals do once they are calibrated. Spearman's correlation and AUSE stay, as the order of pixels does.

    Attributes:
        coverage: (levels,), as of an uncertainty.
        pearson: correlation of the squared width and the absolute error.
        held_out_coverage: if the calibration was fitted on this very scene, the coverage by one that was not.
    """

    coverage: Values
    pearson: float
    held_out_coverage: Values | None

    @property
    def ece(self) -> float:
        """The coverage ECE."""
        return calibration_error(self.coverage)

    @property
    def held_out_ece(self) -> float | None:
        """The coverage ECE of intervals that do not know the scene."""
        return None if self.held_out_coverage is None else calibration_error(self.held_out_coverage)

    @property
    def honest_coverage(self) -> Values:
        """Of intervals that do not know the scene, in any case."""
        return self.coverage if self.held_out_coverage is None else self.held_out_coverage


@dataclass(frozen=True)
class SceneEvaluation:
    """A method's map of one scene.

    Attributes:
        scores: on the native ground truth.
        official: by the protocol of the benchmark's server; None where its ground truth is not at hand.
        regions: as `scores`, but within a region.
        spectrum: None if the map has pixels that are not numbers.
        uncertainty: None if the method predicts none.
    """

    scores: Scores
    official: Scores | None
    regions: dict[str, Scores]
    spectrum: Spectrum | None
    uncertainty: Uncertainty | None
    runtime_s: float | None
    peak_memory_mb: float | None


@dataclass(frozen=True)
class MethodEvaluation:
    """A method's maps of several scenes."""

    name: str
    scenes: dict[str, SceneEvaluation]
    pooled_uncertainty: Uncertainty | None

    def mean(self) -> dict[str, float]:
        """Every metric, averaged over the scenes."""
        return mean_scores([scene.scores for scene in self.scenes.values()])

    def official_mean(self) -> dict[str, float] | None:
        """The same by the server's protocol, if all scenes have it."""
        scores = [scene.official for scene in self.scenes.values() if scene.official is not None]
        return mean_scores(scores) if len(scores) == len(self.scenes) else None

    def region_mean(self, region: str) -> dict[str, float]:
        """The same within a region."""
        return mean_scores([scene.regions[region] for scene in self.scenes.values()])

    def value(self, scene: str, metric: str, *, official: bool = False) -> float | None:
        """One score."""
        found = self.scenes[scene]
        scores = found.official if official else found.scores
        return None if scores is None else float(getattr(scores, metric))


def score_scene(results: Results, scene: Scene, border_px: int) -> Scores:
    """The scores of one map on the native ground truth, and nothing else; errors name the map."""
    path = results.disparity_file(scene.name)
    prediction_px, ground_truth_px = results.disparity_px(scene.name), _read_truth_px(scene)
    return _naming(path, lambda: score_map(prediction_px, ground_truth_px, scene.valid_mask(), border_px))


def _read_truth_px(scene: Scene) -> NDArray[np.float32]:
    ground_truth_px = scene.disparity_px()
    if ground_truth_px is None:
        raise FreqLFError(f"{scene.directory} has no ground truth (gt_disp_lowres.pfm), so it cannot be evaluated")
    return ground_truth_px


def load_truth(scene: Scene, border_px: int) -> Truth:
    """Read what there is to compare with, and find the regions."""
    ground_truth_px = _read_truth_px(scene)
    valid = scene.valid_mask()
    scored = scored_region(ground_truth_px, valid, border_px) & np.isfinite(ground_truth_px)
    view = scene.light_field().centre_view()
    if view.shape[:2] != ground_truth_px.shape:
        raise FreqLFError(f"{scene.directory}: the central view is {view.shape[:2]}, the ground truth {scored.shape}")
    regions = find_regions(ground_truth_px, view, scored)
    return Truth(scene, ground_truth_px, view, valid, scored, regions, border_px)


def evaluate_method(
    name: str,
    results: Results,
    truths: Iterable[Truth],
    calibration: Calibration | None = None,
    low_end: float = DEFAULT_LOW_END,
) -> MethodEvaluation:
    """Evaluate a method on all scenes; each must have a map. `low_end` is that of `place_bands`."""
    scenes: dict[str, SceneEvaluation] = {}
    pooled: list[tuple[Values, Values]] = []  # errors and variances of the scenes
    for truth in truths:
        scenes[truth.name], pixels = evaluate_scene(results, truth, calibration, low_end)
        if pixels is not None:
            pooled.append(pixels)
    together = None
    if pooled and len(pooled) == len(scenes):
        errors, variances = (np.concatenate(parts) for parts in zip(*pooled, strict=True))
        together = evaluate_uncertainty(errors, variances, calibration, list(scenes))
    return MethodEvaluation(name, scenes, together)


def evaluate_scene(
    results: Results, truth: Truth, calibration: Calibration | None = None, low_end: float = DEFAULT_LOW_END
) -> tuple[SceneEvaluation, tuple[Values, Values] | None]:
    """Evaluate one map. With a variance, its scored pixels' errors and variances are returned too."""
    path = results.disparity_file(truth.name)
    prediction_px = results.disparity_px(truth.name)

    def score(mask: NDArray[np.bool_]) -> Scores:
        return score_map(prediction_px, truth.ground_truth_px, mask, truth.border_px)

    scores = _naming(path, lambda: score(truth.valid))
    pixels = read_uncertainty(results, truth)
    evaluation = SceneEvaluation(
        scores=scores,
        official=_naming(path, lambda: score_officially(truth.scene, prediction_px)),
        regions={region: score(mask) for region, mask in truth.regions.items()},
        spectrum=None if scores.non_finite else evaluate_spectrum(truth, prediction_px, low_end),
        uncertainty=None if pixels is None else evaluate_uncertainty(*pixels, calibration, [truth.name]),
        runtime_s=results.runtime_s(truth.name),
        peak_memory_mb=results.peak_memory_mb(truth.name),
    )
    return evaluation, pixels


def read_uncertainty(results: Results, truth: Truth) -> tuple[Values, Values] | None:
    """(error, variance) of the scored pixels, in px and px^2; None if the method predicts no variance."""
    variance_px2 = results.variance_px2(truth.name)
    if variance_px2 is None:
        return None
    path = results.variance_file(truth.name)
    if variance_px2.shape != truth.scored.shape:
        raise FreqLFError(f"{path} is {variance_px2.shape}, the ground truth {truth.scored.shape}; they must agree")
    error_px = truth.error_px(results.disparity_px(truth.name))[truth.scored]
    variances = variance_px2[truth.scored].astype(np.float64)
    _naming(path, lambda: check_uncertainty(error_px, variances))
    return error_px, variances


def evaluate_spectrum(truth: Truth, prediction_px: NDArray[np.floating], low_end: float) -> Spectrum:
    """The spectrum of the error inside the border; pixels that are not valid count as right."""
    border = truth.border_px
    height, width = truth.scored.shape
    magnitude_px = error_spectrum(truth.error_px(prediction_px)[border : height - border, border : width - border])
    ends = place_bands(low_end)
    return Spectrum(magnitude_px, *radial_profile(magnitude_px), band_shares(magnitude_px, ends), ends)


def evaluate_uncertainty(
    error_px: Values,
    variance_px2: Values,
    calibration: Calibration | None = None,
    scenes: Sequence[str] = (),
) -> Uncertainty:
    """All measures of an uncertainty over the pixels of some scenes."""
    return Uncertainty(
        scores=score_uncertainty(error_px, variance_px2),
        coverage=coverage_curve(standardize(error_px, variance_px2)),
        sparsification=sparsify(error_px, variance_px2),
        calibrated=None if calibration is None else _evaluate_calibrated(error_px, variance_px2, calibration, scenes),
    )


def _evaluate_calibrated(
    error_px: Values, variance_px2: Values, calibration: Calibration, scenes: Sequence[str]
) -> Calibrated:
    deviation_px = np.sqrt(variance_px2)
    known = [calibration.held_out_coverage[scene] for scene in scenes if scene in calibration.held_out_coverage]
    return Calibrated(
        coverage=coverage_curve(calibration.standardize(error_px, deviation_px)),
        pearson=correlate(calibration.half_width_px(deviation_px, _ONE_DEVIATION) ** 2, error_px),
        held_out_coverage=np.mean(known, axis=0) if known and len(known) == len(scenes) else None,
    )


def rank_methods(means: Sequence[float]) -> list[tuple[int, float]]:
    """(rank, gap in percent) of each: the lowest is first, and the gap is how much more than the lowest a mean is."""
    best = min(means)
    ranks = [1 + sum(other < mean for other in means) for mean in means]
    gaps = [0.0 if mean == best else 100 * (mean / best - 1) if best > 0 else np.inf for mean in means]
    return list(zip(ranks, gaps, strict=True))


def describe_method(method: MethodEvaluation) -> dict[str, object]:
    """All numbers of an evaluation as plain JSON, without the curves of its figures."""

    def describe(uncertainty: Uncertainty | None) -> dict[str, object] | None:
        if uncertainty is None:
            return None
        facts: dict[str, object] = {**asdict(uncertainty.scores), "coverage": uncertainty.coverage.tolist()}
        calibrated = uncertainty.calibrated
        if calibrated is not None:
            facts |= {"calibrated_ece": calibrated.ece, "calibrated_pearson": calibrated.pearson}
            facts["calibrated_coverage"] = calibrated.coverage.tolist()
            if calibrated.held_out_coverage is not None:
                facts["held_out_ece"] = calibrated.held_out_ece
                facts["held_out_coverage"] = calibrated.held_out_coverage.tolist()
        return facts

    scenes = {
        name: {
            "scores": asdict(scene.scores),
            "official": None if scene.official is None else asdict(scene.official),
            "regions": {region: asdict(scores) for region, scores in scene.regions.items()},
            "error_band_shares": None if scene.spectrum is None else scene.spectrum.band_shares,
            "uncertainty": describe(scene.uncertainty),
            "runtime_s": scene.runtime_s,
            "peak_memory_mb": scene.peak_memory_mb,
        }
        for name, scene in method.scenes.items()
    }
    regions = next(iter(method.scenes.values())).regions
    return {
        "scenes": scenes,
        "mean": method.mean(),
        "official_mean": method.official_mean(),
        "region_mean": {region: method.region_mean(region) for region in regions},
        "pooled_uncertainty": describe(method.pooled_uncertainty),
    }


def list_scores(methods: Sequence[MethodEvaluation]) -> list[list[object]]:
    """All scores as rows of a CSV file, the headings first: one row per method, scene, protocol and region."""
    rows: list[list[object]] = [["method", "scene", "protocol", "region", *METRICS, "pixels", "non_finite"]]

    def add(method: str, scene: str, protocol: str, region: str, scores: Scores) -> None:
        values = [getattr(scores, metric) for metric in METRICS]
        rows.append([method, scene, protocol, region, *values, scores.pixels, scores.non_finite])

    for method in methods:
        for name, scene in method.scenes.items():
            add(method.name, name, "native", "all", scene.scores)
            for region, scores in scene.regions.items():
                add(method.name, name, "native", region, scores)
            if scene.official is not None:
                add(method.name, name, "server", "all", scene.official)
    return rows


def _naming(path: object, compute: Callable[[], Result]) -> Result:
    """Compute, and name the file in errors that do not."""
    try:
        return compute()
    except FreqLFError as error:
        raise error if str(path) in str(error) else FreqLFError(f"{path}: {error}") from error
