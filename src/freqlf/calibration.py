"""Making intervals hold what they say: how many predicted deviations an interval of a given level really needs.

A network's deviations rank the errors but are rarely of the right size. A calibration is fitted on scenes with ground
truth, is saved beside the weights, and is applied to intervals on demand; it never changes the disparity.
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

_KNOT_LEVELS = (*(round(0.01 * step, 2) for step in range(2, 100, 2)), 0.99, 0.995)
_DEVIATION_KNOTS = 40
_PIXELS_PER_SCENE = 20_000  # so that all scenes weigh the same, whatever their size
_SCALES = np.geomspace(0.01, 100.0, 921)  # 1 % apart
_MOST_FOLDS = 8
_SMALLEST_PX = 1e-6


@dataclass(frozen=True)
class Calibration:
    """How wide an interval around an estimate must be, by its level and the predicted deviation.

    The predicted deviation is first turned into a unit, the error that is typical of it; without knots it is its own.
    Then a monotone map says how many units an interval needs where a Gaussian's would have so many deviations: through
    (0, 0) and the knots (gaussian, needed), straight in between and beyond the last.

    Attributes:
        kind: "none" leaves intervals alone; "scale" multiplies every deviation by one number; "levels" has a multiple
            of its own for every level; "deviations" has that too, after a unit of its own for every deviation.
        predicted_px, typical_px: knots of the units, both increasing; proportional beyond the ends.
        gaussian, needed: knots of the levels, both increasing.
        scenes: those that it was fitted on.
        held_out_ece: by kind, the mean coverage ECE on scenes that were left out of the fit.
    """

    kind: Kind = "none"
    predicted_px: tuple[float, ...] = ()
    typical_px: tuple[float, ...] = ()
    gaussian: tuple[float, ...] = (1.0,)
    needed: tuple[float, ...] = (1.0,)
    scenes: tuple[str, ...] = ()
    held_out_ece: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise FreqLFError(f"a calibration is one of {', '.join(KINDS)}, not {self.kind!r}")
        for names in (("predicted_px", "typical_px"), ("gaussian", "needed")):
            one, other = (getattr(self, name) for name in names)
            steps = np.diff([(0.0, *one), (0.0, *other)]) if len(one) == len(other) else np.array([np.nan])
            if not (steps > 0).all() or not np.isfinite(steps).all():
                raise FreqLFError(
                    f"the knots {' and '.join(names)} of a calibration must be as many, and increasing from 0"
                )
        if not self.gaussian:
            raise FreqLFError("a calibration needs one knot `gaussian` at least")

    def factor(self, level: float) -> float:
        """How many units the interval of a level reaches to either side."""
        return float(_follow(np.array([interval_factor(level)]), self.gaussian, self.needed)[0])

    def half_width_px(self, deviation_px: NDArray[np.floating], level: float) -> NDArray[np.floating]:
        """Half the width of the interval around the estimate that holds the true disparity with a chance of `level`."""
        return self._unit_px(deviation_px) * self.factor(level)

    def deviation_px(self, deviation_px: NDArray[np.floating]) -> NDArray[np.floating]:
        """The deviation that holds 68.3 %, as that of a Gaussian does."""
        return self._unit_px(deviation_px) * float(_follow(np.ones(1), self.gaussian, self.needed)[0])

    def standardize(self, error_px: Values, deviation_px: Values) -> Values:
        """Absolute errors in calibrated deviations, which should be distributed as a Gaussian's are in its own."""
        return _follow(divide_errors(error_px, self._unit_px(deviation_px)), self.needed, self.gaussian)

    def _unit_px(self, deviation_px: NDArray[np.floating]) -> NDArray[np.floating]:
        if not self.predicted_px:
            return deviation_px
        # Straight lines between logarithms, and beyond the ends the ratio of the last knot.
        inside = np.clip(deviation_px, self.predicted_px[0], self.predicted_px[-1])
        unit = np.exp(np.interp(np.log(inside), np.log(self.predicted_px), np.log(self.typical_px)))
        return unit * (deviation_px / inside)


def fit_calibration(pixels: Mapping[str, Pixels], kinds: Sequence[Kind] = KINDS) -> Calibration:
    """Fit all `kinds` on scenes, and return the one that does best on scenes left out of its fit.

    Scenes are left out one at a time, or in eight groups if there are more.
    """
    if len(pixels) < 2:
        raise FreqLFError(f"a calibration is fitted on two scenes at least, not {len(pixels)}")
    samples = {name: _take_sample(*one) for name, one in pixels.items()}
    held_out: dict[str, float] = {kind: float(np.mean(list(cross_validate(samples, kind).values()))) for kind in kinds}
    best = min(kinds, key=lambda kind: held_out[kind])
    return replace(_FITS[best](list(samples.values())), scenes=tuple(samples), held_out_ece=held_out)


def cross_validate(pixels: Mapping[str, Pixels], kind: Kind) -> dict[str, float]:
    """The coverage ECE of every scene, by a calibration fitted without its group of scenes."""
    names = list(pixels)
    folds = min(len(names), _MOST_FOLDS)
    ece = {}
    for fold in range(folds):
        left_out = names[fold::folds]
        calibration = _FITS[kind]([pixels[name] for name in names if name not in left_out])
        for name in left_out:
            ece[name] = calibration_error(coverage_curve(calibration.standardize(*pixels[name])))
    return {name: ece[name] for name in names}


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write as JSON."""
    write_json(path, describe_calibration(calibration))


def describe_calibration(calibration: Calibration) -> dict[str, Any]:
    """As plain numbers and text, to be stored beside weights or scores."""
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
            typical_px=tuple(map(float, content["typical_px"])),
            gaussian=tuple(map(float, content["gaussian"])),
            needed=tuple(map(float, content["needed"])),
            scenes=tuple(map(str, content["scenes"])),
            held_out_ece={str(kind): float(ece) for kind, ece in content["held_out_ece"].items()},
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


def _follow(values: Values, start: tuple[float, ...], end: tuple[float, ...]) -> Values:
    """The map through (0, 0) and the knots (start, end), straight on beyond the last."""
    x, y = np.array((0.0, *start)), np.array((0.0, *end))
    slope = (y[-1] - y[-2]) / (x[-1] - x[-2])
    return np.where(values <= x[-1], np.interp(values, x, y), y[-1] + slope * (values - x[-1]))


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
    return Calibration("scale", gaussian=(1.0,), needed=(float(_SCALES[np.argmin(ece)]),))


def _fit_levels(samples: Sequence[Pixels]) -> Calibration:
    """For each level the deviations that cover as much of all scenes together."""
    return replace(_add_levels(Calibration(), samples), kind="levels")


def _fit_deviations(samples: Sequence[Pixels]) -> Calibration:
    """The typical error of pixels of about the same deviation, then levels in that unit."""
    error_px, deviation_px = (np.concatenate(parts) for parts in zip(*samples, strict=True))
    order = np.argsort(deviation_px, kind="stable")
    groups = [group for group in np.array_split(order, _DEVIATION_KNOTS) if len(group)]
    predicted = np.array([np.median(deviation_px[group]) for group in groups])
    typical = np.array([np.median(error_px[group]) for group in groups])
    # More uncertain is never more certain: halfway between the least monotone curve above and the greatest below.
    typical = (np.maximum.accumulate(typical) + np.minimum.accumulate(typical[::-1])[::-1]) / 2
    predicted, first = np.unique(predicted, return_index=True)
    typical = np.maximum(typical[first], _SMALLEST_PX) * (1 + 1e-9 * np.arange(len(first)))
    knots = Calibration(
        predicted_px=tuple(predicted[predicted > 0].tolist()), typical_px=tuple(typical[predicted > 0].tolist())
    )
    return replace(_add_levels(knots, samples), kind="deviations")


def _add_levels(calibration: Calibration, samples: Sequence[Pixels]) -> Calibration:
    standard = np.concatenate([calibration.standardize(*one) for one in samples])
    gaussian = np.array([interval_factor(level) for level in _KNOT_LEVELS])
    needed = np.quantile(standard, _KNOT_LEVELS, method="nearest")
    if not np.isfinite(needed[0]):
        raise FreqLFError("nearly all deviations are 0 where the error is not; there is nothing to calibrate")
    finite = np.isfinite(needed)
    gaussian, needed = gaussian[finite], needed[finite]
    # Strictly increasing, so that the map can be inverted: many errors may be exactly 0, or exactly alike.
    needed = np.maximum.accumulate(needed) + 1e-9 * gaussian
    return replace(calibration, gaussian=tuple(gaussian.tolist()), needed=tuple(needed.tolist()))


_FITS: dict[Kind, Callable[[Sequence[Pixels]], Calibration]] = {
    "none": _keep,
    "scale": _fit_scale,
    "levels": _fit_levels,
    "deviations": _fit_deviations,
}
