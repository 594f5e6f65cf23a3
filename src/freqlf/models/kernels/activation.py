"""GELU in one pass over the memory, together with the bias before it."""

import math
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from freqlf.models.kernels.functions import differentiate_gelu, erf
from freqlf.models.kernels.running import LOOP, run_in_threads

Array = np.ndarray

_f32 = np.float32
_PIECE = 2048  # numbers at a time, which a processor's innermost cache holds several times
_HALF_ROOT = _f32(math.sqrt(0.5))


def activate(x: Tensor, bias: Tensor | None, result: Tensor) -> Tensor:
    """GELU(x + bias) into a tensor of the same layout, which may be x. All are dense; the bias is of the last axis."""
    run_in_threads(_activate, _count(x), _flatten(x), *_spread(bias), _flatten(result))
    return result


def activate_window(field: Tensor) -> Tensor:
    """GELU of a window (B, C, H, W) of a field in channels_last format, in memory of its own and the same format."""
    B, C, H, W = field.shape
    result = torch.empty(B, C, H, W, memory_format=torch.channels_last)
    last = sum((size - 1) * stride for size, stride in zip(field.shape, field.stride(), strict=True))
    numbers = field.as_strided((last + 1,), (1,)).numpy()
    run_in_threads(
        _activate_rows, B * H, numbers, field.stride(0), field.stride(2), H, _flatten(result).reshape(B * H, W * C)
    )
    return result


class Gelu(torch.autograd.Function):
    """GELU(x + bias) with its gradient."""

    @staticmethod
    def forward(context: Any, x: Tensor, bias: Tensor | None) -> Tensor:
        """Keep what goes in: nothing else is needed for the gradient."""
        context.save_for_backward(x, bias)
        return activate(x, bias, torch.empty_like(x))

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None]:
        """Those of x and of the bias."""
        x, bias = context.saved_tensors
        gradient = torch.empty_like(x).copy_(gradient) if gradient.stride() != x.stride() else gradient
        result = torch.empty_like(x)
        run_in_threads(_differentiate, _count(x), _flatten(x), *_spread(bias), _flatten(gradient), _flatten(result))
        return result, None if bias is None else result.view(-1, len(bias)).sum(dim=0)


def _count(x: Tensor) -> int:
    return -(-x.numel() // _PIECE)


def _flatten(x: Tensor) -> Array:
    return x.detach().as_strided((x.numel(),), (1,)).numpy()


def _spread(bias: Tensor | None) -> tuple[Array, int]:
    """The bias over and over again, as long as a piece from any channel on, and the number of channels."""
    if bias is None:
        return np.zeros(2 * _PIECE, np.float32), 1
    return bias.detach().repeat(_PIECE // len(bias) + 2).numpy(), len(bias)


@njit(**LOOP)
def _activate(x: Array, bias: Array, channels: int, result: Array, first_piece: int, last_piece: int) -> None:
    # Where x and result may be the same memory, a compiler does one number at a time; here it knows they are not.
    activated = np.empty(_PIECE, np.float32)
    for piece in range(first_piece, last_piece):
        first = piece * _PIECE
        count = min(_PIECE, len(x) - first)
        source, added, target = x[first : first + count], bias[first % channels :], result[first : first + count]
        for i in range(count):
            value = source[i] + added[i]
            activated[i] = _f32(0.5) * value * (_f32(1) + erf(_HALF_ROOT * value))
        target[:] = activated[:count]


@njit(**LOOP)
def _activate_rows(
    x: Array, batch_stride: int, row_stride: int, height: int, result: Array, first_row: int, last_row: int
) -> None:
    """Rows of windows with so many, which begin at these distances in memory, to those of (B * height, numbers)."""
    count = result.shape[1]
    for row in range(first_row, last_row):
        first = row // height * batch_stride + row % height * row_stride
        source, target = x[first : first + count], result[row]
        for i in range(count):
            target[i] = _f32(0.5) * source[i] * (_f32(1) + erf(_HALF_ROOT * source[i]))


@njit(**LOOP)
def _differentiate(
    x: Array, bias: Array, channels: int, gradient: Array, result: Array, first_piece: int, last_piece: int
) -> None:
    for piece in range(first_piece, last_piece):
        first = piece * _PIECE
        count = min(_PIECE, len(x) - first)
        source, added, target = x[first : first + count], bias[first % channels :], result[first : first + count]
        arriving = gradient[first : first + count]
        for i in range(count):
            target[i] = arriving[i] * differentiate_gelu(source[i] + added[i])
