"""Convolutions to the same size, whose weights learn faster on CPUs without AVX-512, and which may have fewer digits.

There the library takes three times as long for the gradient of 3x3 weights as for the convolution itself. It is nine
products of two matrices, pixels by channels, one for each tap: with a border of zeros around both fields, a tap is a
shift along the pixels.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from freqlf.models.kernels import can_fuse

# 18 ms by the library and 25 ms by products with AVX-512, 38 and 27 ms with AVX2 (48 channels, two crops of 128 px).
_LEARNS_BY_PRODUCTS = torch.backends.cpu.get_cpu_capability() != "AVX512"
_IS_SHORT = ContextVar("whether convolutions are computed in bf16", default=False)


@contextmanager
def short_convolutions() -> Iterator[None]:
    """Within, `convolve` rounds fields and weights to bf16, and so it does with its result; sums are in float32."""
    token = _IS_SHORT.set(True)
    try:
        yield
    finally:
        _IS_SHORT.reset(token)


def convolve(field: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """A field (B, C, H, W) by a weight (channels, C, 3, 3) or (channels, C, 1, 1), to the same size."""
    margin = weight.shape[-1] // 2
    if _IS_SHORT.get():
        bias = None if bias is None else bias.bfloat16()
        result = F.conv2d(field.bfloat16(), weight.bfloat16(), bias, padding=margin)
        return result.to(field.dtype) if torch.is_grad_enabled() else result
    is_learning = torch.is_grad_enabled() and weight.requires_grad and not torch.is_autocast_enabled(field.device.type)
    if _LEARNS_BY_PRODUCTS and is_learning and margin and can_fuse(field.detach(), weight.detach()):
        return _Convolution.apply(field, weight, bias)  # type: ignore[no-untyped-call]
    return F.conv2d(field, weight, bias, padding=margin)


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, field: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        context.save_for_backward(field, weight)
        return F.conv2d(field, weight, bias, padding=1)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor | None]:
        field, weight = context.saved_tensors
        wants_field, _, wants_bias = context.needs_input_grad
        of_field: Tensor | None = None
        if wants_field:
            mask = [True, False, False]
            of_field, _, _ = torch.ops.aten.convolution_backward(
                gradient, field, weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, mask
            )
        of_bias = gradient.sum(dim=(0, 2, 3)) if wants_bias else None
        return of_field, correlate_taps(gradient, field), of_bias


def correlate_taps(gradient: Tensor, field: Tensor) -> Tensor:
    """The gradient (channels, C, 3, 3) of the weight, from that of the result and the field that was convolved."""
    line = field.shape[-1] + 2
    pixels, slopes = _surround_with_zeros(field), _surround_with_zeros(gradient)
    # The first and the last pixels of the border see no tap inside of memory, and have no gradient anyway.
    reach = line + 1
    inner = slopes[reach : len(slopes) - reach].T
    shifts = [dy * line + dx for dy, dx in product((-1, 0, 1), repeat=2)]
    taps = [inner @ pixels[reach + shift : len(pixels) - reach + shift] for shift in shifts]
    return torch.stack(taps, dim=-1).unflatten(-1, (3, 3))


def _surround_with_zeros(field: Tensor) -> Tensor:
    """The pixels (B * (H + border) * (W + border), C) of a field with a border."""
    return F.pad(field.permute(0, 2, 3, 1), (0, 0, 1, 1, 1, 1)).flatten(0, 2)
