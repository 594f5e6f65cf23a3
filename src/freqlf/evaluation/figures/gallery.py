"""All figures of an evaluation."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from freqlf.evaluation.evaluate import MethodEvaluation, Truth
from freqlf.evaluation.figures.curves import draw_coverage, draw_profiles, draw_sparsification
from freqlf.evaluation.figures.maps import Panel, draw_masks, draw_qualitative, draw_spectra
from freqlf.evaluation.results import Results
from freqlf.evaluation.spectrum import place_bands
from freqlf.outputs.canvas import PAPER_DPI, save_figure

_SCENES_PER_FIGURE = 4


Item = TypeVar("Item")


class Track(Protocol):
    """Passes on items, and may show how many are done."""

    def __call__(self, items: Sequence[Item], description: str) -> Iterable[Item]:
        """The items in their order."""


def _pass_on(items: Sequence[Item], description: str) -> Iterable[Item]:
    return items


def draw_evaluation(
    folder: Path,
    methods: Sequence[MethodEvaluation],
    results: Results,
    truths: Sequence[Truth],
    track: Track = _pass_on,
) -> None:
    """Draw everything into a folder. The first method, whose maps are `results`, is the one it is about.

    track: passes on what is drawn, one by one, to show how far that is; see `freqlf.cli.terminal.show_progress`.
    """
    ours = methods[0]
    groups = [truths[first : first + _SCENES_PER_FIGURE] for first in range(0, len(truths), _SCENES_PER_FIGURE)]
    for number, group in enumerate(track(groups, "drawing maps"), start=1):
        suffix = f"_{number}" if len(groups) > 1 else ""
        panels = [make_panel(ours, results, truth) for truth in group]
        save_figure(folder / f"qualitative{suffix}.png", draw_qualitative(panels), PAPER_DPI)
        masks = draw_masks({truth.name: truth.view for truth in group}, {truth.name: truth.regions for truth in group})
        save_figure(folder / f"masks{suffix}.png", masks, PAPER_DPI)
    _draw_frequencies(folder, methods, track)
    _draw_uncertainty(folder, ours)


def make_panel(method: MethodEvaluation, results: Results, truth: Truth) -> Panel:
    """One scene of the qualitative figure: shown everywhere but where the ground truth is not valid."""
    scores = method.scenes[truth.name].scores
    known = truth.valid & np.isfinite(truth.ground_truth_px)

    def hide(pixels: NDArray[np.floating]) -> NDArray[np.floating]:
        return np.where(known & np.isfinite(pixels), pixels, np.nan)

    estimate_px = results.disparity_px(truth.name)
    variance_px2 = results.variance_px2(truth.name)
    deviation_px = None if variance_px2 is None else np.sqrt(variance_px2)
    return Panel(
        name=truth.name,
        view=truth.view,
        ground_truth_px=hide(truth.ground_truth_px),
        estimate_px=np.where(np.isfinite(estimate_px), estimate_px, np.nan),
        error_px=hide(np.abs(hide(estimate_px) - truth.ground_truth_px)),
        deviation_px=deviation_px,
        caption=f"MSE x100 {scores.mse_100:.2f}\nBadPix(0.07) {scores.badpix_007:.1f} %",
    )


def _draw_frequencies(folder: Path, methods: Sequence[MethodEvaluation], track: Track) -> None:
    """Spectra per scene, and profiles averaged over the scenes of one size; maps with holes have none."""
    complete = [method for method in methods if all(scene.spectrum is not None for scene in method.scenes.values())]
    if not complete:
        return
    for scene in track(list(complete[0].scenes), "drawing spectra"):
        spectra = {method.name: method.scenes[scene].spectrum for method in complete}
        magnitudes = {name: one.magnitude_px for name, one in spectra.items() if one is not None}
        save_figure(folder / f"spectrum_{scene}.png", draw_spectra(magnitudes, f"error spectrum, {scene}"), PAPER_DPI)
    profiles, ends = {}, place_bands()
    for method in complete:
        found = [scene.spectrum for scene in method.scenes.values() if scene.spectrum is not None]
        frequency, ends = found[0].frequency, found[0].band_ends
        # Scenes of other sizes have other rings; on a common axis they can be averaged.
        means = np.mean([np.interp(frequency, one.frequency, one.profile_px) for one in found], axis=0)
        profiles[method.name] = (frequency, means)
    figure = draw_profiles(profiles, "error by frequency, mean over scenes", ends.values())
    save_figure(folder / "profiles.png", figure, PAPER_DPI)


def _draw_uncertainty(folder: Path, method: MethodEvaluation) -> None:
    found = {name: scene.uncertainty for name, scene in method.scenes.items() if scene.uncertainty is not None}
    if not found:
        return
    coverage = {name: one.coverage for name, one in found.items()}
    calibrated = {name: one.calibrated.honest_coverage for name, one in found.items() if one.calibrated is not None}
    save_figure(folder / "coverage.png", draw_coverage(coverage, calibrated), PAPER_DPI)
    curves = {name: one.sparsification for name, one in found.items()}
    save_figure(folder / "sparsification.png", draw_sparsification(curves, "sparsification"), PAPER_DPI)
