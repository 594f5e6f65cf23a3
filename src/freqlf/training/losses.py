"""Losses of a predicted mixture against known disparity, as means over the valid pixels.

All take disparity_px (B, ...) and valid (B, ...), boolean, or None if every pixel is valid. What invalid pixels hold
(often NaN or infinity) has no influence, not even on gradients. Without any valid pixel the loss is zero.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from freqlf.models.mixture import Mixture


def nll(
    mixture: Mixture,
    disparity_px: Tensor,
    valid: Tensor | None = None,
    background_density: float = 0.0,
    truth_deviation_px: float = 0.0,
) -> Tensor:
    """Negative log-likelihood, in nats: the paper's loss.

    background_density: of a uniform distribution that is added to the mixture, in 1/px. It bounds what a pixel
    far from all components costs; without it a few such pixels have most of the gradient.
    truth_deviation_px: how uncertain the truth is taken to be. The loss curves with the inverse square of deviations,
    so very small ones make it unstable.
    """
    if truth_deviation_px > 0:
        mixture = replace(mixture, deviations=(mixture.deviations.square() + truth_deviation_px**2).sqrt())
    log_density = mixture.log_prob(_known(disparity_px, valid))
    if background_density > 0:
        log_density = torch.logaddexp(log_density, log_density.new_tensor(math.log(background_density)))
    return -mean_over(log_density, valid)


def l1(
    mixture: Mixture, disparity_px: Tensor, valid: Tensor | None = None, power: float = 1.0, scale_px: float = 0.0
) -> Tensor:
    """Mean absolute error of the mixture's mean, in px; with a power of the tempered mean.

    scale_px: errors beyond it count by their logarithm: s log(1 + error / s). Pixels that are right or wrong by a
    little then decide, as in BadPix, not those on the wrong surface. 0 leaves errors as they are.
    """
    error_px = (mixture.tempered_mean(power) - _known(disparity_px, valid)).abs()
    return mean_over(scale_px * torch.log1p(error_px / scale_px) if scale_px > 0 else error_px, valid)


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
