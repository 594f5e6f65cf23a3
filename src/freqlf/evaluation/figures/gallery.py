"""All figures of an evaluation."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from freqlf.evaluation.evaluate import MethodEvaluation, Truth
from freqlf.evaluation.figures.curves import draw_coverage, draw_profiles, draw_sparsification
from freqlf.evaluation.figures.maps import Panel, draw_masks, draw_qualitative, draw_spectra
from freqlf.evaluation.results import Results
from freqlf.evaluation.spectrum import place_bands

Drawing = tuple[str, Callable[[], Figure]]  # the name of a figure, and what draws it

_SCENES_PER_FIGURE = 4


def list_figures(methods: Sequence[MethodEvaluation], results: Results, truths: Sequence[Truth]) -> list[Drawing]:
    """What there is to draw. The first method, whose maps are `results`, is the one it is about."""
    ours = methods[0]
    groups = [truths[first : first + _SCENES_PER_FIGURE] for first in range(0, len(truths), _SCENES_PER_FIGURE)]
    drawings: list[Drawing] = []
    for number, group in enumerate(groups, start=1):
        suffix = f"_{number}" if len(groups) > 1 else ""
        views, regions = {one.name: one.view for one in group}, {one.name: one.regions for one in group}
        drawings.append((f"qualitative{suffix}", partial(_draw_maps, ours, results, group)))
        drawings.append((f"masks{suffix}", partial(draw_masks, views, regions)))
    return [*drawings, *_list_frequencies(methods), *_list_uncertainty(ours)]


def _draw_maps(method: MethodEvaluation, results: Results, truths: Sequence[Truth]) -> Figure:
    return draw_qualitative([make_panel(method, results, truth) for truth in truths])


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


def _list_frequencies(methods: Sequence[MethodEvaluation]) -> list[Drawing]:
    """Spectra per scene, and profiles averaged over the scenes of one size; maps with holes have none."""
    complete = [method for method in methods if all(scene.spectrum is not None for scene in method.scenes.values())]
    if not complete:
        return []
    drawings: list[Drawing] = []
    for scene in complete[0].scenes:
        spectra = {method.name: method.scenes[scene].spectrum for method in complete}
        magnitudes = {name: one.magnitude_px for name, one in spectra.items() if one is not None}
        drawings.append((f"spectrum_{scene}", partial(draw_spectra, magnitudes, f"error spectrum, {scene}")))
    profiles, ends = {}, place_bands()
    for method in complete:
        found = [scene.spectrum for scene in method.scenes.values() if scene.spectrum is not None]
        frequency, ends = found[0].frequency, found[0].band_ends
        # Scenes of other sizes have other rings; on a common axis they can be averaged.
        means = np.mean([np.interp(frequency, one.frequency, one.profile_px) for one in found], axis=0)
        profiles[method.name] = (frequency, means)
    title = "error by frequency, mean over scenes"
    return [*drawings, ("profiles", partial(draw_profiles, profiles, title, ends.values()))]


def _list_uncertainty(method: MethodEvaluation) -> list[Drawing]:
    found = {name: scene.uncertainty for name, scene in method.scenes.items() if scene.uncertainty is not None}
    if not found:
        return []
    coverage = {name: one.coverage for name, one in found.items()}
    calibrated = {name: one.calibrated.honest_coverage for name, one in found.items() if one.calibrated is not None}
    curves = {name: one.sparsification for name, one in found.items()}
    return [
        ("coverage", partial(draw_coverage, coverage, calibrated)),
        ("sparsification", partial(draw_sparsification, curves, "sparsification")),
    ]
