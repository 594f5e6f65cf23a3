"""Losses of a predicted mixture against known disparity, as means over the valid pixels.

All take disparity_px (B, ...) and valid (B, ...), boolean, or None if every pixel is valid. What invalid pixels hold
(often NaN or infinity) has no influence, not even on gradients. Without any valid pixel the loss is zero.
"""

import torch
from torch import Tensor

from freqlf.models.mixture import Mixture


def nll(mixture: Mixture, disparity_px: Tensor, valid: Tensor | None = None) -> Tensor:
    """Negative log-likelihood, in nats: the paper's loss."""
    return -mean_over(mixture.log_prob(_known(disparity_px, valid)), valid)


def l1(mixture: Mixture, disparity_px: Tensor, valid: Tensor | None = None) -> Tensor:
    """Mean absolute error of the mixture's mean, in px."""
    return mean_over((mixture.mean() - _known(disparity_px, valid)).abs(), valid)


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
