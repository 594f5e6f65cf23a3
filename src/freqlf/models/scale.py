"""Signal scale: initial weights by variance, and the activation that goes with them.

Without normalisation layers or residual paths the scale of a signal is multiplied at every layer, so it must be
right at the start: PyTorch's default weights shrink it to nothing within a few layers.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

# E[GELU(x)^2] of x ~ N(0, 1): what a layer of unit variance hands to the next one.
GELU_POWER = 0.425


def scale_weights(layer: nn.Module, *, gain: float = 1.0, after_gelu: bool = True) -> None:
    """Draw weights that turn inputs of unit power (or GELU's of unit variance) into `gain` times unit variance.

    Works for linear and convolution layers; the bias becomes zero.
    """
    weight = layer.weight
    assert isinstance(weight, Tensor)
    fan_in = weight[0].numel()
    power = GELU_POWER if after_gelu else 1.0
    nn.init.normal_(weight, std=gain / math.sqrt(fan_in * power))
    if isinstance(layer.bias, Tensor):
        nn.init.zeros_(layer.bias)


def gelu(x: Tensor) -> Tensor:
    """GELU of a tensor that nobody else needs: in its own memory when no gradient is recorded.

    Fresh memory costs as much as the function itself on a CPU.
    """
    return F.gelu(x) if torch.is_grad_enabled() else torch.ops.aten.gelu_(x)
