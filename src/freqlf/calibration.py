"""Making intervals hold what they say: how many predicted deviations an interval of a given level really needs.

A network's deviations rank the errors, but the errors are no Gaussians: most pixels are far better than their deviation
says, and a few at edges are far worse. A calibration is fitted on scenes with ground truth, travels with the weights,
and is applied to intervals on demand; it never changes the disparity.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from freqlf.diagnostics import LEVELS, Values, calibration_error, coverage_curve, divide_errors, interval_factor
from freqlf.errors import FreqLFError
from freqlf.files import write_json

Kind = Literal["none", "scale", "levels", "deviations"]
KINDS: tuple[Kind, ...] = ("none", "scale", "levels", "deviations")
Pixels = tuple[Values, Values]  # |error| and predicted deviation, (N,) each, in px
Samples = Mapping[str, Pixels]  # by scene

# The levels that coverage is judged at are knots themselves, so that nothing is interpolated there.
_KNOT_LEVELS = (0.02, *LEVELS, 0.975, 0.99, 0.995)
_DEVIATION_KNOTS = 12
_PIXELS_PER_SCENE = 20_000  # so that all scenes weigh the same, whatever their size
_SCALES = np.geomspace(0.01, 100.0, 921)  # 1 % apart
_MOST_FOLDS = 8
_SMALLEST_PX = 1e-6


@dataclass(frozen=True)
class Calibration:
    """How wide an interval around an estimate must be, by its level and the predicted deviation.

    A table: at a predicted deviation `predicted_px[k]`, the interval that would reach `gaussian[l]` deviations to
    either side if errors were Gaussian needs `needed[k][l]` of them. Between the knots widths are interpolated
    (logarithms along the deviation, straight lines from 0 along the level) and beyond the ends they stay proportional.

    Attributes:
        kind: "none" leaves intervals alone; "scale" multiplies every deviation by one number; "levels" has a multiple
            of its own for every level; "deviations" has one for every level and deviation.
        predicted_px: (K,), increasing.
        gaussian: (L,), increasing.
        needed: (K, L), increasing along the level; the width, predicted_px * needed, along the deviation too.
        ece_by_kind: what the choice was made by: the mean coverage ECE within quarters of a scene's pixels, from the
            most certain to the least, on scenes left out of the fit.
        held_out_coverage: for each scene that it was fitted on, the coverage at `LEVELS` by a calibration that did not
            know the scene, not even to choose its kind.
    """

    kind: Kind = "none"
    predicted_px: tuple[float, ...] = (1.0,)
    gaussian: tuple[float, ...] = (1.0,)
    needed: tuple[tuple[float, ...], ...] = ((1.0,),)
    ece_by_kind: dict[str, float] = field(default_factory=dict)
    held_out_coverage: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise FreqLFError(f"a calibration is one of {', '.join(KINDS)}, not {self.kind!r}")
        shape = (len(self.predicted_px), len(self.gaussian))
        if 0 in shape or [len(row) for row in self.needed] != [shape[1]] * shape[0]:
            raise FreqLFError("a calibration needs knots, and a `needed` for each of `predicted_px` and `gaussian`")
        levels = np.array([self.gaussian, *self.needed])
        widths_px = np.array(self.needed) * np.array(self.predicted_px)[:, None]
        steps = (_steps(np.array(self.predicted_px)), _steps(levels.T), _steps(widths_px))
        if not all(np.isfinite(one).all() and (one > 0).all() for one in steps):
            raise FreqLFError("the knots of a calibration must be increasing from 0, and so must the widths they give")
        if any(len(covered) != len(LEVELS) for covered in self.held_out_coverage.values()):
            raise FreqLFError(f"the held_out_coverage of a calibration must have {len(LEVELS)} values for each scene")

    @property
    def scenes(self) -> tuple[str, ...]:
        """The scenes that it was fitted on."""
        return tuple(self.held_out_coverage)

    @property
    def held_out_ece(self) -> float | None:
        """The mean coverage ECE to expect on scenes that it does not know; None if it was not fitted."""
        known = [calibration_error(np.array(covered)) for covered in self.held_out_coverage.values()]
        return float(np.mean(known)) if known else None

    def half_width_px(self, deviation_px: NDArray[np.floating], level: float) -> NDArray[np.floating]:
        """Half the width of the interval around the estimate that holds the true disparity with a chance of `level`."""
        deviations = interval_factor(level)
        knots = (0.0, *self.gaussian)
        after = min(int(np.searchsorted(knots, deviations)) or 1, len(self.gaussian))
        lower_px, upper_px = self._width_px(deviation_px, after - 1), self._width_px(deviation_px, after)
        return lower_px + (upper_px - lower_px) * (deviations - knots[after - 1]) / (knots[after] - knots[after - 1])

    def standardize(self, error_px: Values, deviation_px: Values) -> Values:
        """Absolute errors in deviations that should be distributed as a Gaussian's; inverts `half_width_px`."""
        standard = divide_errors(error_px, np.zeros_like(error_px))  # infinite until an interval is found
        below = 0.0
        lower_px: NDArray[np.floating] = np.zeros_like(error_px)
        for knot, above in enumerate(self.gaussian, start=1):
            upper_px = self._width_px(deviation_px, knot)
            inside = (error_px > lower_px) & (upper_px > lower_px)
            if knot < len(self.gaussian):
                inside &= error_px <= upper_px
            share = (error_px[inside] - lower_px[inside]) / (upper_px[inside] - lower_px[inside])
            standard[inside] = below + (above - below) * share
            below, lower_px = above, upper_px
        return standard

    def _width_px(self, deviation_px: NDArray[np.floating], knot: int) -> NDArray[np.floating]:
        """Half the width at `gaussian[knot - 1]`; knot 0 is the interval of no width."""
        if knot == 0:
            return np.zeros_like(deviation_px)
        predicted_px = np.array(self.predicted_px)
        needed = np.array([row[knot - 1] for row in self.needed])
        inside_px = np.clip(deviation_px, predicted_px[0], predicted_px[-1])
        width_px = np.exp(np.interp(np.log(inside_px), np.log(predicted_px), np.log(predicted_px * needed)))
        return (width_px * (deviation_px / inside_px)).astype(deviation_px.dtype)


def _steps(knots: Values) -> Values:
    """From 0 to the first, and on to each next, along the first axis."""
    return np.diff(knots, axis=0, prepend=0.0)


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


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write as JSON."""
    write_json(path, describe_calibration(calibration))


def describe_calibration(calibration: Calibration) -> dict[str, Any]:
    """As plain numbers and text, to be stored with weights or scores."""
    return asdict(calibration)


def parse_calibration(content: Any, source: str) -> Calibration:
    """The inverse of `describe_calibration`; `source` says in errors where the content comes from."""
    expected = set(Calibration.__dataclass_fields__)
    if not isinstance(content, dict) or set(content) != expected:
        raise FreqLFError(f"{source} is not a calibration: it must hold {', '.join(sorted(expected))} and nothing else")
    try:
        return Calibration(
            kind=content["kind"],
            predicted_px=tuple(map(float, content["predicted_px"])),
            gaussian=tuple(map(float, content["gaussian"])),
            needed=tuple(tuple(map(float, row)) for row in content["needed"]),
            ece_by_kind={str(kind): float(ece) for kind, ece in content["ece_by_kind"].items()},
            held_out_coverage={
                str(scene): tuple(map(float, covered)) for scene, covered in content["held_out_coverage"].items()
            },
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise FreqLFError(f"{source} is not a calibration: {error}") from error
    except FreqLFError as error:
        raise FreqLFError(f"{source}: {error}") from error


def read_calibration(path: Path) -> Calibration:
    """Read what `write_calibration` wrote."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FreqLFError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise FreqLFError(f"{path} is not JSON: {error}") from error
    return parse_calibration(content, str(path))


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
