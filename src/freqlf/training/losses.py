"""Losses of a predicted mixture against known disparity, as means over the valid pixels.

All take disparity_px (B, ...) and valid (B, ...), boolean, or None if every pixel is valid. What invalid pixels hold
(often NaN or infinity) has no influence, not even on gradients. Without any valid pixel the loss is zero.
"""

import math

import torch
from torch import Tensor

from freqlf.models.mixture import Mixture

# Scale of the Laplace distributions that are a component's tails.
_TAIL_PX = 0.3


def nll(
    mixture: Mixture,
    disparity_px: Tensor,
    valid: Tensor | None = None,
    background_density: float = 0.0,
    tail_share: float = 0.0,
) -> Tensor:
    """Negative log-likelihood, in nats: the paper's loss.

    A pixel far from all components costs the square of its distance in deviations, so a few such pixels can have
    most of the gradient. Two ways to bound that:

    background_density: of a uniform distribution that is added to the mixture, in 1/px. Such pixels are given up.
    tail_share: of a Laplace distribution around the mean of each component, with its weight. They still pull, but
        all with the same force.
    """
    known_px = _known(disparity_px, valid)
    log_density = mixture.log_prob(known_px)
    if tail_share > 0:
        distance = (known_px.unsqueeze(1) - mixture.means).abs() / _TAIL_PX
        tails = torch.logsumexp(mixture.logits.log_softmax(dim=1) - distance, dim=1) - math.log(2 * _TAIL_PX)
        log_density = torch.logaddexp(math.log(1 - tail_share) + log_density, math.log(tail_share) + tails)
    if background_density > 0:
        log_density = torch.logaddexp(log_density, log_density.new_tensor(math.log(background_density)))
    return -mean_over(log_density, valid)


def l1(mixture: Mixture, disparity_px: Tensor, valid: Tensor | None = None, power: float = 1.0) -> Tensor:
    """Mean absolute error of the mixture's mean, in px; with a power of the tempered mean."""
    return mean_over((mixture.tempered_mean(power) - _known(disparity_px, valid)).abs(), valid)


def mse(mixture: Mixture, disparity_px: Tensor, valid: Tensor | None = None) -> Tensor:
    """Mean squared error of the mixture's mean, in px^2."""
    return mean_over((mixture.mean() - _known(disparity_px, valid)).square(), valid)


def mean_over(values: Tensor, valid: Tensor | None) -> Tensor:
    """The mean of the values at valid places."""
    if valid is None:
        return values.mean()
    return torch.where(valid, values, 0.0).sum() / valid.sum().clamp_min(1)


def _known(disparity_px: Tensor, valid: Tensor | None) -> Tensor:
    """The disparity with zero where it is invalid: NaN times zero would still be NaN in a gradient."""
    return disparity_px if valid is None else torch.where(valid, disparity_px, 0.0)
