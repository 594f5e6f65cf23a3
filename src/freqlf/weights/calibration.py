"""Calibrated intervals: how many predicted deviations an interval of a given level really needs.

A network's deviations rank the errors, but the errors are no Gaussians: most pixels are far better than their deviation
says, and a few at edges are far worse. A calibration travels with the weights and is applied to intervals on demand; it
never changes the disparity. `freqlf.evaluation.calibration` fits it.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.files import write_json
from freqlf.io.intake import read_json
from freqlf.io.schema import convert

Values = NDArray[np.float64]
LEVELS = tuple(round(0.05 * step, 2) for step in range(1, 20))  # 5 %, 10 %, ... 95 %


def interval_factor(level: float) -> float:
    """z_p: how many standard deviations around its mean hold a share `level` of a Gaussian."""
    if not 0.0 <= level < 1.0:
        raise FreqLFError(f"the level of an interval must be at least 0 and below 1, not {level}")
    return NormalDist().inv_cdf((1 + level) / 2)


def divide_errors(error_px: NDArray[np.floating], unit_px: NDArray[np.floating]) -> Values:
    """Absolute errors in units; infinite where a unit of 0 was promised and not kept."""
    standard = np.where(error_px == 0, 0.0, np.inf)
    np.divide(error_px, unit_px, out=standard, where=unit_px > 0)
    return standard


def calibration_error(covered: NDArray[np.floating]) -> float:
    """The coverage ECE: mean distance between coverage and level, over `LEVELS`."""
    return float(np.mean(np.abs(covered - np.array(LEVELS))))


@dataclass(frozen=True)
class Calibration:
    """How wide an interval around an estimate must be, by its level and the predicted deviation.

    A table: at a predicted deviation `predicted_px[k]`, the interval that would reach `gaussian[l]` deviations to
    either side if errors were Gaussian needs `needed[k][l]` of them. Between the knots widths are interpolated
    (logarithms along the deviation, straight lines from 0 along the level) and beyond the ends they stay proportional.

    Attributes:
        predicted_px: (K,), increasing.
        gaussian: (L,), increasing.
        needed: (K, L), increasing along the level; the width, predicted_px * needed, along the deviation too.
        held_out_coverage: for each scene that it was fitted on, the coverage at `LEVELS` by a calibration that did not
            know the scene.
    """

    predicted_px: tuple[float, ...] = (1.0,)
    gaussian: tuple[float, ...] = (1.0,)
    needed: tuple[tuple[float, ...], ...] = ((1.0,),)
    held_out_coverage: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
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
        parts = [share * self._interpolate(deviation_px, widths_px) for share, widths_px in self.widths_px(level)]
        return sum(parts, start=np.zeros_like(deviation_px)).astype(deviation_px.dtype)

    def widths_px(self, level: float) -> list[tuple[float, Values]]:
        """Of the knots around a level, the share of each in its width, and half the widths (K,) at `predicted_px`."""
        deviations = interval_factor(level)
        knots = (0.0, *self.gaussian)
        after = min(int(np.searchsorted(knots, deviations)) or 1, len(self.gaussian))
        share = (deviations - knots[after - 1]) / (knots[after] - knots[after - 1])
        # The interval of knot 0 has no width.
        shares = [(part, knot) for part, knot in ((1 - share, after - 1), (share, after)) if part and knot]
        return [(part, self._knot_px(knot)) for part, knot in shares]

    def standardize(self, error_px: Values, deviation_px: Values) -> Values:
        """Absolute errors in deviations that should be distributed as a Gaussian's; inverts `half_width_px`."""
        standard = divide_errors(error_px, np.zeros_like(error_px))  # infinite until an interval is found
        below = 0.0
        lower_px: NDArray[np.floating] = np.zeros_like(error_px)
        for knot, above in enumerate(self.gaussian, start=1):
            upper_px = self._interpolate(deviation_px, self._knot_px(knot))
            inside = (error_px > lower_px) & (upper_px > lower_px)
            if knot < len(self.gaussian):
                inside &= error_px <= upper_px
            share = (error_px[inside] - lower_px[inside]) / (upper_px[inside] - lower_px[inside])
            standard[inside] = below + (above - below) * share
            below, lower_px = above, upper_px
        return standard

    def _knot_px(self, knot: int) -> Values:
        """Half the widths (K,) at `gaussian[knot - 1]`."""
        return np.array(self.predicted_px) * np.array([row[knot - 1] for row in self.needed])

    def _interpolate(self, deviation_px: NDArray[np.floating], widths_px: Values) -> NDArray[np.floating]:
        predicted_px = np.array(self.predicted_px)
        inside_px = np.clip(deviation_px, predicted_px[0], predicted_px[-1])
        width_px = np.exp(np.interp(np.log(inside_px), np.log(predicted_px), np.log(widths_px)))
        return (width_px * (deviation_px / inside_px)).astype(deviation_px.dtype)


def _steps(knots: Values) -> Values:
    """From 0 to the first, and on to each next, along the first axis."""
    return np.diff(knots, axis=0, prepend=0.0)


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write as JSON."""
    write_json(path, describe_calibration(calibration))


def describe_calibration(calibration: Calibration) -> dict[str, Any]:
    """As plain numbers and text, to be stored with weights or scores."""
    return asdict(calibration)


# Files of version 0.1 say which of several kinds of table theirs is; all are read the same way.
_RETIRED = {"kind", "ece_by_kind"}


def parse_calibration(content: Any, source: str) -> Calibration:
    """The inverse of `describe_calibration`; `source` says in errors where the content comes from."""
    entries = content.items() if isinstance(content, dict) else ()
    known = {name: value for name, value in entries if name not in _RETIRED}
    missing = [name for name in Calibration.__dataclass_fields__ if name not in known]
    if missing:
        raise FreqLFError(f"{source} is not a calibration: it has no {missing[0]}")
    calibration: Calibration = convert(known, Calibration, source)
    return calibration


def read_calibration(path: Path) -> Calibration:
    """Read what `write_calibration` wrote."""
    return parse_calibration(read_json(path), str(path))
