import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from freqlf.errors import FreqLFError
from freqlf.models.mixture import Mixture


def make_mixture(K=5, size=(6, 7), seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits, means, raw = torch.randn(3, 2, K, *size, generator=generator)
    return Mixture(logits, 2 * means, torch.nn.functional.softplus(raw) + 0.01)


def two_surfaces(weights, means, deviations):
    def spread(values):
        return torch.tensor(values).view(1, -1, 1, 1)

    return Mixture(spread(weights).log(), spread(means), spread(deviations))


def test_density_integrates_to_the_cdf_and_the_mean():
    mixture = make_mixture()
    mixture = Mixture(mixture.logits, mixture.means, mixture.deviations + 0.2)  # smooth on the scale of a step
    d = torch.linspace(-15, 15, 3001)
    density = torch.stack([mixture.log_prob(torch.full((2, 6, 7), value)).exp() for value in d.tolist()])
    upper = torch.full((2, 6, 7), d[1540].item())
    below = torch.trapezoid(density[:1541], d[:1541], dim=0)
    torch.testing.assert_close(below, mixture.cdf(upper), rtol=0, atol=1e-3)
    mean = torch.trapezoid(density * d.view(-1, 1, 1, 1), d, dim=0)
    torch.testing.assert_close(mean, mixture.mean(), rtol=0, atol=1e-3)


def test_moments_match_samples():
    mixture = two_surfaces([0.2, 0.5, 0.3], [-1.0, 0.5, 2.0], [0.3, 0.1, 0.5])
    torch.manual_seed(0)
    component = torch.multinomial(mixture.weights.flatten(), 400_000, replacement=True)
    samples = mixture.means.flatten()[component] + mixture.deviations.flatten()[component] * torch.randn(400_000)
    assert mixture.mean().item() == pytest.approx(samples.mean().item(), abs=0.01)
    assert mixture.variance().item() == pytest.approx(samples.var().item(), abs=0.02)
    for p in (0.05, 0.5, 0.9):
        assert mixture.quantile(p).item() == pytest.approx(samples.quantile(p).item(), abs=0.02)


def test_point_estimates_of_two_surfaces():
    mixture = two_surfaces([0.35, 0.25, 0.4], [0.0, 0.2, 3.0], [0.1, 0.1, 0.1])
    assert mixture.local_mean().item() == pytest.approx(3.0)
    assert mixture.mean().item() == pytest.approx(1.25)
    mixture = two_surfaces([0.35, 0.25, 0.3], [0.0, 0.2, 3.0], [0.1, 0.1, 0.1])
    assert mixture.local_mean(0.3).item() == pytest.approx(0.2 * 0.25 / 0.6)
    assert mixture.local_mean(10.0).item() == pytest.approx(mixture.mean().item())


@settings(max_examples=30, deadline=None)
@given(st.floats(0.001, 0.999), st.integers(1, 5), st.integers(0, 1000))
def test_quantile_inverts_the_cdf(p, K, seed):
    mixture = make_mixture(K, seed=seed)
    torch.testing.assert_close(mixture.cdf(mixture.quantile(p)), torch.full((2, 6, 7), p), rtol=0, atol=2e-4)


def test_single_component_is_a_gaussian():
    mixture = make_mixture(K=1)
    normal = torch.distributions.Normal(mixture.means[:, 0], mixture.deviations[:, 0])
    d = torch.randn(2, 6, 7)
    torch.testing.assert_close(mixture.log_prob(d), normal.log_prob(d))
    torch.testing.assert_close(mixture.variance(), normal.variance)
    torch.testing.assert_close(mixture.cdf(d), normal.cdf(d))


def test_log_prob_is_finite_far_from_every_component():
    mixture = two_surfaces([0.999, 0.001], [0.0, 0.1], [1e-3, 1e-3])
    d = torch.full((1, 1, 1), 8.0)
    assert math.isfinite(mixture.log_prob(d).item())


def test_variance_of_agreeing_components_is_not_lost_to_rounding():
    mixture = two_surfaces([0.5, 0.5], [3.9, 3.9], [1e-3, 1e-3])
    assert mixture.variance().item() == pytest.approx(1e-6, rel=1e-3)


def test_shift_moves_every_estimate():
    mixture = make_mixture()
    shifted = mixture.shifted(0.7)
    for estimate in (Mixture.mean, Mixture.local_mean):
        torch.testing.assert_close(estimate(shifted), estimate(mixture) + 0.7)
    torch.testing.assert_close(shifted.variance(), mixture.variance())
    torch.testing.assert_close(shifted.quantile(0.3), mixture.quantile(0.3) + 0.7, rtol=0, atol=1e-4)


def test_queries_need_no_grid():
    mixture = make_mixture(size=(11,))
    assert mixture.components == 5
    assert mixture.mean().shape == mixture.quantile(0.5).shape == (2, 11)


def test_wrong_input_is_refused():
    mixture = make_mixture()
    with pytest.raises(FreqLFError, match="one shape"):
        Mixture(mixture.logits, mixture.means[:, :1], mixture.deviations)
    with pytest.raises(FreqLFError, match="between 0 and 1"):
        mixture.quantile(1.0)


def test_sharpening_goes_from_the_mean_to_the_heaviest_component():
    mixture = two_surfaces([0.9, 0.1], [0.0, 1.0], [0.1, 0.1])
    assert mixture.tempered_mean(1.0).item() == pytest.approx(mixture.mean().item())
    assert mixture.tempered_mean(3.0).item() == pytest.approx(0.1**3 / (0.9**3 + 0.1**3))
    assert mixture.tempered_mean(100.0).item() == pytest.approx(0.0, abs=1e-6)
    assert two_surfaces([0.5, 0.5], [0.0, 1.0], [0.1, 0.1]).tempered_mean().item() == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ((0.4, 0.35, 0.25), (0.4 * 0.0 + 0.35 * 0.1) / 0.75),  # two components, one surface of three quarters
        ((0.2, 0.2, 0.6), 0.2 * 0.1 + 0.6 * 2.0),  # no surface has two thirds
        ((0.15, 0.15, 0.7), 2.0),
    ],
)
def test_the_surface_mean_commits_to_a_majority(weights: tuple[float, ...], expected: float) -> None:
    parts = (torch.tensor(weights).log(), torch.tensor([0.0, 0.1, 2.0]), torch.full((3,), 0.05))
    mixture = Mixture(*(part.view(1, 3, 1) for part in parts))
    assert mixture.surface_mean().item() == pytest.approx(expected)
    assert mixture.summarise("surface").estimate.item() == pytest.approx(expected)
