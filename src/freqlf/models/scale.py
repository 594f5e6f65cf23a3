"""Signal scale: initial weights by variance, and the activation that goes with them.

Without normalisation layers or residual paths the scale of a signal is multiplied at every layer, so it must be
right at the start: PyTorch's default weights shrink it to nothing within a few layers.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from freqlf.models.kernels import can_fuse, is_window

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


def gelu(x: Tensor, bias: Tensor | None = None) -> Tensor:
    """GELU(x + bias) of a tensor that nobody else needs: in its own memory when no gradient is recorded.

    bias: of the last axis. Fresh memory costs as much as the function itself on a CPU.
    """
    if can_fuse(x.detach()) and _is_dense(x):
        from freqlf.models.kernels.activation import Gelu, activate

        if torch.is_grad_enabled():
            return Gelu.apply(x, bias)  # type: ignore[no-untyped-call]
        return activate(x, bias, x)
    x = x if bias is None else x + bias
    return F.gelu(x) if torch.is_grad_enabled() else torch.ops.aten.gelu_(x)


def gelu_of(z: Tensor) -> Tensor:
    """GELU in memory of its own, where that may be a part of a larger field (B, C, H, W), in channels_last format."""
    if not can_fuse(z.detach()):
        return F.gelu(z)
    from freqlf.models.kernels.activation import Gelu, activate, activate_window

    if is_window(z) and not torch.is_grad_enabled():
        return activate_window(z)
    dense = z if _is_dense(z) else z.contiguous(memory_format=torch.channels_last)
    if torch.is_grad_enabled():
        return Gelu.apply(dense, None)  # type: ignore[no-untyped-call]
    return activate(dense, None, torch.empty_like(dense) if dense is z else dense)


def _is_dense(x: Tensor) -> bool:
    """Whether its numbers fill a piece of memory, in one of the usual orders."""
    return x.is_contiguous() or (x.ndim == 4 and x.is_contiguous(memory_format=torch.channels_last))
