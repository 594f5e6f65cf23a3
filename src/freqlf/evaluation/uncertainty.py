"""Whether a predicted uncertainty means something: does it rank the errors, and do its intervals hold what they say?

Everything here is about pixels in a row: `error_px` (N,) is the absolute error, `variance_px2` (N,) what was predicted.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.weights.calibration import LEVELS, Values, calibration_error, divide_errors, interval_factor

_SPARSIFICATION_STEPS = 100


@dataclass(frozen=True)
class UncertaintyScores:
    """The numbers of the paper's uncertainty tables, and AUSE.

    Attributes:
        spearman, pearson: correlation of variance and absolute error; NaN if either is constant.
        ece: mean distance between coverage and level, over `LEVELS`: 0 is perfect, 0.5 as bad as it gets.
        bias: mean of coverage minus level: above 0 the intervals are too wide (underconfident), below too narrow.
        ause: area between the sparsification curves, see `sparsify`: 0 is perfect.
        pixels: how many were looked at.
    """

    spearman: float
    pearson: float
    ece: float
    bias: float
    ause: float
    pixels: int


def check_uncertainty(error_px: NDArray[np.floating], variance_px2: NDArray[np.floating]) -> tuple[Values, Values]:
    """Both as double precision, after refusing what no uncertainty can be."""
    error, variance = error_px.astype(np.float64), variance_px2.astype(np.float64)
    if error.shape != variance.shape or error.size == 0:
        raise FreqLFError(f"errors and variances must be as many, and some: not {error.shape} and {variance.shape}")
    wrong = int((~np.isfinite(error)).sum())
    if wrong:
        raise FreqLFError(f"{wrong} of {error.size} errors are not finite; uncertainty needs a number at every pixel")
    wrong = int((~(np.isfinite(variance) & (variance >= 0))).sum())
    if wrong:
        raise FreqLFError(f"{wrong} of {variance.size} variances are negative or not finite; they must be px^2")
    return error, variance


def standardize(error_px: NDArray[np.floating], variance_px2: NDArray[np.floating]) -> Values:
    """|error| in predicted standard deviations."""
    error, variance = check_uncertainty(error_px, variance_px2)
    return divide_errors(np.abs(error), np.sqrt(variance))


def coverage_curve(standard_errors: Values) -> Values:
    """For each of `LEVELS`, the share of pixels whose true disparity lies in the Gaussian interval of that level."""
    factors = [interval_factor(level) for level in LEVELS]
    return np.searchsorted(np.sort(standard_errors), factors, side="right") / len(standard_errors)


@dataclass(frozen=True)
class Sparsification:
    """How the mean absolute error falls as pixels are removed, most uncertain first. All (M,).

    Errors are relative to that of all pixels, so both curves begin at 1. `oracle` removes by the true error.
    """

    removed: Values
    by_variance: Values
    oracle: Values

    def ause(self) -> float:
        """The area between the two curves."""
        between = self.by_variance - self.oracle
        return float(np.sum((between[1:] + between[:-1]) / 2 * np.diff(self.removed)))


def sparsify(error_px: NDArray[np.floating], variance_px2: NDArray[np.floating]) -> Sparsification:
    """Remove 0 %, 1 %, ... 99 % of the pixels by predicted variance, and by true error."""
    error, variance = check_uncertainty(error_px, variance_px2)
    error = np.abs(error)
    removed = np.arange(_SPARSIFICATION_STEPS) / _SPARSIFICATION_STEPS
    kept = np.maximum(len(error) - np.floor(removed * len(error)).astype(int), 1)
    total = error.mean()

    def mean_of_kept(order: NDArray[np.intp]) -> Values:
        means = np.cumsum(error[order])[kept - 1] / kept
        return means / total if total > 0 else np.ones_like(means)

    # Stable: equally uncertain pixels keep their order in the image, which knows nothing of the error.
    by_variance = mean_of_kept(np.argsort(variance, kind="stable"))
    return Sparsification(removed, by_variance, mean_of_kept(np.argsort(error)))


def score_uncertainty(error_px: NDArray[np.floating], variance_px2: NDArray[np.floating]) -> UncertaintyScores:
    """All measures at once."""
    from scipy.stats import rankdata  # takes a second

    error, variance = check_uncertainty(error_px, variance_px2)
    error = np.abs(error)
    covered = coverage_curve(standardize(error, variance))
    return UncertaintyScores(
        spearman=correlate(rankdata(variance), rankdata(error)),
        pearson=correlate(variance, error),
        ece=calibration_error(covered),
        bias=float(np.mean(covered - np.array(LEVELS))),
        ause=sparsify(error, variance).ause(),
        pixels=len(error),
    )


def correlate(one: NDArray[np.floating], other: NDArray[np.floating]) -> float:
    """Pearson's correlation; NaN if either is constant."""
    one, other = one - one.mean(), other - other.mean()
    scale = np.sqrt(np.sum(one**2) * np.sum(other**2))
    return float(np.sum(one * other) / scale) if scale > 0 else float("nan")
