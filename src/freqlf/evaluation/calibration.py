"""Fits calibrations on scenes with ground truth: how wide a method's intervals must be to hold what they say."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from freqlf.errors import FreqLFError
from freqlf.evaluation.uncertainty import coverage_curve
from freqlf.weights.calibration import LEVELS, Calibration, Values, interval_factor

Pixels = tuple[Values, Values]  # |error| and predicted deviation, (N,) each, in px
Samples = Mapping[str, Pixels]  # by scene

# The levels that coverage is judged at are knots themselves, so that nothing is interpolated there.
_KNOT_LEVELS = (0.02, *LEVELS, 0.975, 0.99, 0.995)
_DEVIATION_KNOTS = 12
_PIXELS_PER_SCENE = 20_000  # so that all scenes weigh the same, whatever their size
_MOST_FOLDS = 32
_SMALLEST_PX = 1e-6


def fit_calibration(pixels: Samples) -> Calibration:
    """For each level and deviation the width that holds as many of the errors, over all scenes together.

    What is recorded as held out is, for each scene, a fit without it; or for each of 32 groups, if there are more.
    """
    if len(pixels) < 2:
        raise FreqLFError(f"a calibration is fitted on 2 scenes at least, not {len(pixels)}")
    samples = {name: _take_sample(*one) for name, one in pixels.items()}
    held_out = _leave_out(samples)
    coverage = {name: coverage_curve(one.standardize(*samples[name])) for name, one in held_out.items()}
    return replace(_fit(samples), held_out_coverage={name: tuple(one.tolist()) for name, one in coverage.items()})


def _leave_out(samples: Samples) -> dict[str, Calibration]:
    """For every scene, a calibration fitted without it and the others of its group."""
    names = list(samples)
    folds = min(len(names), _MOST_FOLDS)
    fitted: dict[str, Calibration] = {}
    for fold in range(folds):
        left_out = names[fold::folds]
        fitted |= dict.fromkeys(left_out, _fit({name: samples[name] for name in names if name not in left_out}))
    return {name: fitted[name] for name in names}


def _take_sample(error_px: Values, deviation_px: Values) -> Pixels:
    """As many pixels of every scene, evenly from the most certain to the least."""
    order = np.argsort(deviation_px, kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, min(_PIXELS_PER_SCENE, len(order))).astype(int)]
    return error_px[chosen], deviation_px[chosen]


def _fit(samples: Samples) -> Calibration:
    """The quantiles of the errors among pixels of about the same deviation."""
    error_px, deviation_px = (np.concatenate(parts) for parts in zip(*samples.values(), strict=True))
    error_px, deviation_px = error_px[deviation_px > 0], deviation_px[deviation_px > 0]
    if not len(error_px):
        raise FreqLFError("all deviations are 0; there is nothing to calibrate")
    # Between the same number of pixels each, but equal deviations stay together.
    edges = np.quantile(deviation_px, np.arange(1, _DEVIATION_KNOTS) / _DEVIATION_KNOTS)
    group = np.searchsorted(edges, deviation_px, side="right")
    members = [group == number for number in np.unique(group)]
    predicted_px = np.array([np.median(deviation_px[one]) for one in members])
    widths_px = np.array([np.quantile(error_px[one], _KNOT_LEVELS) for one in members])
    # More uncertain is never more certain: halfway between the least monotone table above and the greatest below.
    widths_px = (np.maximum.accumulate(widths_px) + np.minimum.accumulate(widths_px[::-1])[::-1]) / 2
    return _make_table(predicted_px, widths_px / predicted_px[:, None])


def _make_table(predicted_px: Values, needed: Values) -> Calibration:
    """From widths that do not fall along either axis; exact or equal errors leave some alike, which are set apart."""
    gaussian = np.array([interval_factor(level) for level in _KNOT_LEVELS])
    widths_px = np.maximum(needed * predicted_px[:, None], _SMALLEST_PX)
    apart = np.arange(len(predicted_px))[:, None] + np.arange(len(gaussian))
    needed = widths_px * (1 + 1e-9 * apart) / predicted_px[:, None]
    return Calibration(
        tuple(predicted_px.tolist()), tuple(gaussian.tolist()), tuple(tuple(row) for row in needed.tolist())
    )
