"""Fits calibrations on scenes with ground truth: how wide a method's intervals must be to hold what they say."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from freqlf.errors import FreqLFError
from freqlf.evaluation.uncertainty import coverage_curve
from freqlf.weights.calibration import (
    KINDS,
    LEVELS,
    Calibration,
    Kind,
    Values,
    calibration_error,
    divide_errors,
    interval_factor,
)

Pixels = tuple[Values, Values]  # |error| and predicted deviation, (N,) each, in px
Samples = Mapping[str, Pixels]  # by scene

# The levels that coverage is judged at are knots themselves, so that nothing is interpolated there.
_KNOT_LEVELS = (0.02, *LEVELS, 0.975, 0.99, 0.995)
_DEVIATION_KNOTS = 12
_PIXELS_PER_SCENE = 20_000  # so that all scenes weigh the same, whatever their size
_SCALES = np.geomspace(0.01, 100.0, 921)  # 1 % apart
_MOST_FOLDS = 8
_SMALLEST_PX = 1e-6


def fit_calibration(pixels: Samples, kinds: Sequence[Kind] = KINDS) -> Calibration:
    """Fit the kind of calibration that does best on scenes left out of its fit.

    The best is the one whose intervals hold among certain and uncertain pixels alike. Choosing it by some scenes makes
    their errors look a little smaller than those of others. So what is recorded as held out is a choice and a
    fit without the scene, for each scene; or for eight groups, if there are more.
    """
    fewest = 2 if len(kinds) == 1 else 3
    if len(pixels) < fewest:
        raise FreqLFError(f"a calibration is fitted on {fewest} scenes at least, not {len(pixels)}")
    samples = {name: _take_sample(*one) for name, one in pixels.items()}
    held_out = _leave_out(samples, lambda others: _fit_best(others, kinds))
    coverage = {name: coverage_curve(one.standardize(*samples[name])) for name, one in held_out.items()}
    return replace(
        _fit_best(samples, kinds), held_out_coverage={name: tuple(one.tolist()) for name, one in coverage.items()}
    )


def _fit_best(samples: Samples, kinds: Sequence[Kind]) -> Calibration:
    """The kind with the least ECE on scenes left out; a single kind needs no comparison."""
    if len(kinds) == 1:
        return _FITS[kinds[0]](list(samples.values()))
    ece_by_kind: dict[str, float] = {}
    for kind in kinds:
        held_out = _leave_out(samples, lambda others, kind=kind: _fit_best(others, [kind]))  # type: ignore[misc]
        ece_by_kind[kind] = float(np.mean([_ece_in_quarters(one, *samples[name]) for name, one in held_out.items()]))
    best = min(kinds, key=lambda kind: ece_by_kind[kind])
    return replace(_fit_best(samples, [best]), ece_by_kind=ece_by_kind)


def _leave_out(samples: Samples, fit: Callable[[Samples], Calibration]) -> dict[str, Calibration]:
    """For every scene, a calibration fitted without it and the others of its group."""
    names = list(samples)
    folds = min(len(names), _MOST_FOLDS)
    fitted: dict[str, Calibration] = {}
    for fold in range(folds):
        left_out = names[fold::folds]
        fitted |= dict.fromkeys(left_out, fit({name: samples[name] for name in names if name not in left_out}))
    return {name: fitted[name] for name in names}


def _ece_in_quarters(calibration: Calibration, error_px: Values, deviation_px: Values) -> float:
    """Intervals too wide for certain pixels must not make up for those too narrow for uncertain ones."""
    standard = calibration.standardize(error_px, deviation_px)
    quarters = np.array_split(np.argsort(deviation_px, kind="stable"), 4)
    return float(np.mean([calibration_error(coverage_curve(standard[one])) for one in quarters if len(one)]))


def _take_sample(error_px: Values, deviation_px: Values) -> Pixels:
    """As many pixels of every scene, evenly from the most certain to the least."""
    order = np.argsort(deviation_px, kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, min(_PIXELS_PER_SCENE, len(order))).astype(int)]
    return error_px[chosen], deviation_px[chosen]


def _keep(samples: Sequence[Pixels]) -> Calibration:
    return Calibration()


def _fit_scale(samples: Sequence[Pixels]) -> Calibration:
    """The one scale with the least ECE, averaged over the scenes."""
    factors = np.array([interval_factor(level) for level in LEVELS])
    reached = np.outer(_SCALES, factors)  # (scales, levels), in predicted deviations
    covered = [np.searchsorted(np.sort(divide_errors(*one)), reached, side="right") / len(one[0]) for one in samples]
    ece = np.mean(np.abs(np.array(covered) - LEVELS), axis=(0, 2))
    return Calibration("scale", needed=((float(_SCALES[np.argmin(ece)]),),))


def _fit_levels(samples: Sequence[Pixels]) -> Calibration:
    """For each level the deviations that cover as much of all scenes together."""
    standard = np.concatenate([divide_errors(*one) for one in samples])
    needed = np.quantile(standard, _KNOT_LEVELS, method="nearest")
    finite = np.isfinite(needed)  # where a deviation is 0 and the error is not, nothing is enough
    if not finite[0]:
        raise FreqLFError(_NOTHING_TO_FIT)
    return _make_table("levels", np.ones(1), needed[None, finite])


def _fit_deviations(samples: Sequence[Pixels]) -> Calibration:
    """The same among pixels of about the same deviation."""
    error_px, deviation_px = (np.concatenate(parts) for parts in zip(*samples, strict=True))
    error_px, deviation_px = error_px[deviation_px > 0], deviation_px[deviation_px > 0]
    if not len(error_px):
        raise FreqLFError(_NOTHING_TO_FIT)
    # Between the same number of pixels each, but equal deviations stay together.
    edges = np.quantile(deviation_px, np.arange(1, _DEVIATION_KNOTS) / _DEVIATION_KNOTS)
    group = np.searchsorted(edges, deviation_px, side="right")
    members = [group == number for number in np.unique(group)]
    predicted_px = np.array([np.median(deviation_px[one]) for one in members])
    widths_px = np.array([np.quantile(error_px[one], _KNOT_LEVELS) for one in members])
    # More uncertain is never more certain: halfway between the least monotone table above and the greatest below.
    widths_px = (np.maximum.accumulate(widths_px) + np.minimum.accumulate(widths_px[::-1])[::-1]) / 2
    return _make_table("deviations", predicted_px, widths_px / predicted_px[:, None])


_NOTHING_TO_FIT = "nearly all deviations are 0 where the error is not; there is nothing to calibrate"


def _make_table(kind: Kind, predicted_px: Values, needed: Values) -> Calibration:
    """From widths that do not fall along either axis; exact or equal errors leave some alike, which are set apart."""
    gaussian = np.array([interval_factor(level) for level in _KNOT_LEVELS[: needed.shape[1]]])
    widths_px = np.maximum(needed * predicted_px[:, None], _SMALLEST_PX)
    apart = np.arange(len(predicted_px))[:, None] + np.arange(len(gaussian))
    needed = widths_px * (1 + 1e-9 * apart) / predicted_px[:, None]
    return Calibration(
        kind, tuple(predicted_px.tolist()), tuple(gaussian.tolist()), tuple(tuple(row) for row in needed.tolist())
    )


_FITS: dict[str, Callable[[Sequence[Pixels]], Calibration]] = {
    "none": _keep,
    "scale": _fit_scale,
    "levels": _fit_levels,
    "deviations": _fit_deviations,
}
