import math

import pytest
import torch

from freqlf.models.mixture import Mixture
from freqlf.training.losses import l1, mse, nll


def make_mixture(requires_grad=False):
    torch.manual_seed(0)
    parts = [torch.randn(1, 3, 4, 5), torch.randn(1, 3, 4, 5), torch.rand(1, 3, 4, 5) + 0.1]
    return Mixture(*(part.requires_grad_(requires_grad) for part in parts))


def test_values():
    mixture, disparity = make_mixture(), torch.randn(1, 4, 5)
    error = mixture.mean() - disparity
    torch.testing.assert_close(l1(mixture, disparity), error.abs().mean())
    torch.testing.assert_close(mse(mixture, disparity), error.square().mean())
    normal = torch.distributions.Normal(mixture.means, mixture.deviations)
    density = (mixture.weights * normal.log_prob(disparity[:, None]).exp()).sum(1)
    torch.testing.assert_close(nll(mixture, disparity), -density.log().mean())


def test_likelihood_of_a_regression_is_half_the_squared_error():
    means, disparity = torch.randn(1, 1, 4, 5), torch.randn(1, 4, 5)
    mixture = Mixture(torch.zeros_like(means), means, torch.ones_like(means))
    expected = 0.5 * mse(mixture, disparity) + 0.5 * math.log(2 * math.pi)
    torch.testing.assert_close(nll(mixture, disparity), expected)


@pytest.mark.parametrize("loss", [nll, l1, mse])
@pytest.mark.parametrize("junk", [math.nan, math.inf])
def test_invalid_pixels_have_no_influence(loss, junk):
    mixture, disparity = make_mixture(requires_grad=True), torch.randn(1, 4, 5)
    valid = torch.rand(1, 4, 5) > 0.4
    value = loss(mixture, torch.where(valid, disparity, junk), valid)
    few = Mixture(
        *(part.transpose(0, 1)[:, valid][None] for part in (mixture.logits, mixture.means, mixture.deviations))
    )
    torch.testing.assert_close(value, loss(few, disparity[valid][None]))
    value.backward()
    gradient = mixture.means.grad
    assert gradient.isfinite().all()
    assert (gradient[:, :, ~valid[0]] == 0).all()
    assert (gradient[:, :, valid[0]] != 0).any()


@pytest.mark.parametrize("loss", [nll, l1, mse])
def test_no_valid_pixel_gives_zero(loss):
    mixture = make_mixture(requires_grad=True)
    value = loss(mixture, torch.full((1, 4, 5), math.nan), torch.zeros(1, 4, 5, dtype=torch.bool))
    value.backward()
    assert value == 0
    assert (mixture.means.grad == 0).all()


def test_errors_below_the_uncertainty_of_the_truth_hardly_count():
    means = torch.tensor([0.0, 0.01]).view(1, 1, 1, 2)
    mixture = Mixture(torch.zeros_like(means), means, torch.full_like(means, 0.01))
    exact, off = (nll(mixture, torch.full((1, 1, 2), one), truth_deviation_px=0.1) for one in (0.0, 0.01))
    assert float(off) == pytest.approx(float(exact), abs=0.01)
    wider = Mixture(torch.zeros_like(means), means, torch.full_like(means, (0.01**2 + 0.1**2) ** 0.5))
    torch.testing.assert_close(exact, nll(wider, torch.zeros(1, 1, 2)))


def test_the_error_can_be_that_of_the_tempered_mean():
    mixture, disparity = make_mixture(), torch.randn(1, 4, 5)
    expected = (mixture.tempered_mean(3.0) - disparity).abs().mean()
    torch.testing.assert_close(l1(mixture, disparity, power=3.0), expected)


def test_large_errors_count_by_their_logarithm():
    mixture = Mixture(torch.zeros(1, 1, 3), torch.zeros(1, 1, 3), torch.ones(1, 1, 3))
    truth_px = torch.tensor([[0.0007, 0.07, 3.0]])
    small, middle, large = (0.07 * math.log1p(error / 0.07) for error in (0.0007, 0.07, 3.0))
    found = l1(mixture, truth_px, scale_px=0.07)
    assert found.item() == pytest.approx((small + middle + large) / 3)
    assert small == pytest.approx(0.0007, rel=0.01)  # small errors count as they are
    assert large < 0.3
