"""Making intervals hold what they say: how many predicted deviations an interval of a given level really needs.

A network's deviations rank the errors but are rarely of the right size. A calibration is fitted on scenes with ground
truth, is saved beside the weights, and is applied to intervals on demand; it never changes the disparity.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from freqlf.diagnostics import LEVELS, Values, calibration_error, coverage_curve, interval_factor
from freqlf.errors import FreqLFError
from freqlf.files import write_json

Kind = Literal["none", "scale", "levels"]
KINDS: tuple[Kind, ...] = ("none", "scale", "levels")

_KNOT_LEVELS = (*(round(0.01 * step, 2) for step in range(2, 100, 2)), 0.99, 0.995)
_QUANTILES = (np.arange(2000) + 0.5) / 2000  # a scene's errors in so few numbers, that all scenes weigh the same
_SCALES = np.geomspace(0.01, 100.0, 921)  # 1 % apart
_MOST_FOLDS = 8


@dataclass(frozen=True)
class Calibration:
    """A monotone map from the deviations a Gaussian interval has to those that it needs.

    The map goes through (0, 0) and the knots (gaussian, needed), straight in between and beyond the last.

    Attributes:
        kind: "none" leaves intervals alone, "scale" multiplies every deviation by one number, "levels" has a
            multiple of its own for every level.
        gaussian, needed: the knots, both increasing, in deviations.
        scenes: those that it was fitted on.
        held_out_ece: by kind, the mean coverage ECE on scenes that were left out of the fit.
    """

    kind: Kind = "none"
    gaussian: tuple[float, ...] = (1.0,)
    needed: tuple[float, ...] = (1.0,)
    scenes: tuple[str, ...] = ()
    held_out_ece: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise FreqLFError(f"a calibration is one of {', '.join(KINDS)}, not {self.kind!r}")
        for name, knots in (("gaussian", self.gaussian), ("needed", self.needed)):
            steps = np.diff((0.0, *knots))
            if len(knots) != len(self.gaussian) or not knots or not (np.isfinite(steps).all() and (steps > 0).all()):
                raise FreqLFError(f"the knots `{name}` of a calibration must be as many, finite, positive, increasing")

    def factor(self, level: float) -> float:
        """How many predicted deviations the interval of a level reaches to either side."""
        return float(_follow(np.array([interval_factor(level)]), self.gaussian, self.needed)[0])

    def half_width_px(self, deviation_px: NDArray[np.floating], level: float) -> NDArray[np.floating]:
        """Half the width of the interval around the estimate that holds the true disparity with a chance of `level`."""
        return deviation_px * self.factor(level)

    def deviation_px(self, deviation_px: NDArray[np.floating]) -> NDArray[np.floating]:
        """The deviation that holds 68.3 %, as that of a Gaussian does."""
        return deviation_px * float(_follow(np.ones(1), self.gaussian, self.needed)[0])

    def standardize(self, standard_errors: Values) -> Values:
        """Errors in predicted deviations to errors in calibrated ones, which should be distributed as a Gaussian's."""
        return _follow(standard_errors, self.needed, self.gaussian)


def fit_calibration(standard_errors: Mapping[str, Values], kinds: Sequence[Kind] = KINDS) -> Calibration:
    """Fit all `kinds` on scenes (name to |error| / deviation of its pixels) and return the best on left-out scenes.

    Scenes are left out one at a time, or in eight groups if there are more.
    """
    if len(standard_errors) < 2:
        raise FreqLFError(f"a calibration is fitted on two scenes at least, not {len(standard_errors)}")
    samples = {name: np.quantile(errors, _QUANTILES, method="nearest") for name, errors in standard_errors.items()}
    held_out: dict[str, float] = {kind: float(np.mean(list(cross_validate(samples, kind).values()))) for kind in kinds}
    best = min(kinds, key=lambda kind: held_out[kind])
    gaussian, needed = _FITS[best](list(samples.values()))
    return Calibration(best, gaussian, needed, tuple(samples), held_out)


def cross_validate(standard_errors: Mapping[str, Values], kind: Kind) -> dict[str, float]:
    """The coverage ECE of every scene, by a calibration fitted without its group of scenes."""
    names = list(standard_errors)
    folds = min(len(names), _MOST_FOLDS)
    ece = {}
    for fold in range(folds):
        left_out = names[fold::folds]
        knots = _FITS[kind]([standard_errors[name] for name in names if name not in left_out])
        calibration = Calibration(kind, *knots)
        for name in left_out:
            ece[name] = calibration_error(coverage_curve(calibration.standardize(standard_errors[name])))
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


Knots = tuple[tuple[float, ...], tuple[float, ...]]


def _keep(samples: Sequence[Values]) -> Knots:
    return (1.0,), (1.0,)


def _fit_scale(samples: Sequence[Values]) -> Knots:
    """The one scale with the least ECE, averaged over the scenes."""
    factors = np.array([interval_factor(level) for level in LEVELS])
    reached = np.outer(_SCALES, factors)  # (scales, levels), in predicted deviations
    covered = [np.searchsorted(np.sort(sample), reached, side="right") / len(sample) for sample in samples]
    ece = np.mean(np.abs(np.array(covered) - LEVELS), axis=(0, 2))
    return (1.0,), (float(_SCALES[np.argmin(ece)]),)


def _fit_levels(samples: Sequence[Values]) -> Knots:
    """For each level the deviations that cover as much of all scenes together."""
    gaussian = np.array([interval_factor(level) for level in _KNOT_LEVELS])
    needed = np.quantile(np.concatenate(samples), _KNOT_LEVELS, method="nearest")
    if not np.isfinite(needed[0]):
        raise FreqLFError("nearly all deviations are 0 where the error is not; there is nothing to calibrate")
    finite = np.isfinite(needed)
    gaussian, needed = gaussian[finite], needed[finite]
    # Strictly increasing, so that the map can be inverted: many errors may be exactly 0, or exactly alike.
    needed = np.maximum.accumulate(needed) + 1e-9 * gaussian
    return tuple(gaussian.tolist()), tuple(needed.tolist())


_FITS: dict[Kind, Callable[[Sequence[Values]], Knots]] = {"none": _keep, "scale": _fit_scale, "levels": _fit_levels}
