from statistics import NormalDist

import numpy as np
import pytest

from freqlf.errors import FreqLFError
from freqlf.evaluation.uncertainty import coverage_curve, score_uncertainty, sparsify, standardize
from freqlf.weights.calibration import LEVELS, calibration_error, interval_factor

CDF = NormalDist().cdf


def gaussian_errors(count: int = 100_000, seed: int = 0):
    """Deviations between 0.01 and 1 px, and errors that are distributed accordingly."""
    rng = np.random.default_rng(seed)
    deviation = np.exp(rng.uniform(np.log(0.01), 0.0, count))
    return np.abs(deviation * rng.standard_normal(count)), deviation**2


def test_interval_factors_are_those_of_a_gaussian():
    assert interval_factor(0.0) == 0.0
    assert interval_factor(0.682689492) == pytest.approx(1.0)
    assert interval_factor(0.95) == pytest.approx(1.959964)
    with pytest.raises(FreqLFError, match="below 1, not 1"):
        interval_factor(1)


def test_a_calibrated_gaussian_has_no_calibration_error():
    error, variance = gaussian_errors()
    scores = score_uncertainty(error, variance)
    assert scores.ece < 0.005
    assert abs(scores.bias) < 0.005
    assert scores.pixels == 100_000


@pytest.mark.parametrize("factor", [0.5, 2.0, 1e6])
def test_a_wrong_deviation_has_the_calibration_error_that_the_normal_distribution_says(factor):
    error, variance = gaussian_errors()
    scores = score_uncertainty(error, factor**2 * variance)
    covered = np.array([2 * CDF(factor * interval_factor(level)) - 1 for level in LEVELS])
    assert scores.ece == pytest.approx(np.mean(np.abs(covered - LEVELS)), abs=0.003)
    assert scores.bias == pytest.approx(np.mean(covered - LEVELS), abs=0.003)
    assert scores.bias > 0 if factor > 1 else scores.bias < 0
    if factor == 1e6:
        assert scores.ece == pytest.approx(0.5)  # every interval covers everything: as far off as it gets


def test_coverage_counts_the_ends_of_an_interval():
    z = interval_factor(0.5)
    covered = coverage_curve(np.array([0.0, z, z, 100.0]))
    assert covered[LEVELS.index(0.45)] == 0.25
    assert covered[LEVELS.index(0.5)] == 0.75
    assert calibration_error(np.array(LEVELS)) == 0.0


def test_correlations_of_known_pairs():
    error = np.linspace(0.01, 1, 500)
    rising = score_uncertainty(error, error**3)
    assert rising.spearman == pytest.approx(1.0)
    assert 0.8 < rising.pearson < 1.0
    falling = score_uncertainty(error, 2.0 - error)
    assert falling.spearman == pytest.approx(-1.0)
    assert falling.pearson == pytest.approx(-1.0)
    constant = score_uncertainty(error, np.ones(500))
    assert np.isnan(constant.spearman)
    assert np.isnan(constant.pearson)


def test_ties_share_their_rank():
    scores = score_uncertainty(np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 5.0, 5.0, 9.0]))
    assert scores.spearman == pytest.approx(1.0)


def test_sparsification_of_evenly_spread_errors():
    error = (np.arange(10_000) + 0.5) / 10_000
    shuffled = np.random.default_rng(0).permutation(10_000)
    # Without the largest share f the mean is (1 - f) / 2 of 1/2; without the smallest it is (1 + f) / 2.
    best = sparsify(error, error**2)
    assert np.allclose(best.by_variance, 1 - best.removed, atol=1e-3)
    assert best.ause() == pytest.approx(0.0, abs=1e-12)
    worst = sparsify(error, 1 - error)
    assert np.allclose(worst.by_variance, 1 + worst.removed, atol=1e-3)
    assert worst.ause() == pytest.approx(0.99**2, abs=0.01)
    blind = sparsify(error[shuffled], np.ones(10_000))
    assert blind.ause() == pytest.approx(0.99**2 / 2, abs=0.02)


def test_deviations_of_zero():
    standard = standardize(np.array([0.0, 0.1, 0.2]), np.array([0.0, 0.0, 0.04]))
    assert standard.tolist() == [0.0, np.inf, 1.0]
    assert sparsify(np.zeros(10), np.ones(10)).ause() == 0.0


@pytest.mark.parametrize(
    ("error", "variance", "message"),
    [
        ([0.1, np.nan], [1.0, 1.0], "1 of 2 errors are not finite"),
        ([0.1, 0.2], [1.0, -1.0], "1 of 2 variances are negative or not finite"),
        ([0.1, 0.2], [1.0, np.inf], "1 of 2 variances"),
        ([0.1], [1.0, 1.0], "must be as many"),
        ([], [], "must be as many, and some"),
    ],
)
def test_what_is_no_uncertainty_is_refused(error, variance, message):
    with pytest.raises(FreqLFError, match=message):
        score_uncertainty(np.array(error), np.array(variance))
