"""1x1 convolutions as matrix products of parts, so that nothing is concatenated or copied into another layout first."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from freqlf.models.scale import gelu


def mix_and_activate(layer: nn.Conv2d, parts: Sequence[Tensor]) -> Tensor:
    """GELU of what the 1x1 convolution makes of the concatenation of the parts (B, C_i, H, W), which is never made.

    The result (B, channels, H, W) is in channels_last format.
    """
    height, width = parts[0].shape[-2:]
    weights = layer.weight.flatten(1).split([part.shape[1] for part in parts], dim=1)
    pixels = gelu(multiply_pixels(weights, parts), layer.bias)
    return pixels.transpose(1, 2).view(-1, layer.out_channels, height, width)


def multiply_pixels(weights: Sequence[Tensor], parts: Sequence[Tensor]) -> Tensor:
    """The sum of the products of matrices (channels, C_i) with parts (B, C_i, H, W), (B, H*W, channels)."""
    mixed: Tensor | None = None
    for weight, part in zip(weights, parts, strict=True):
        pixels = part.flatten(2).transpose(1, 2)  # B, H*W, C_i
        factors = weight.T.expand(part.shape[0], -1, -1)
        if mixed is None:
            mixed = torch.bmm(pixels, factors)
        elif torch.is_autocast_enabled(part.device.type):  # autocast does not know products in place
            mixed = torch.baddbmm(mixed, pixels, factors)
        else:
            mixed.baddbmm_(pixels, factors)
    assert mixed is not None
    return mixed
