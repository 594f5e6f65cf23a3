"""Layer normalisation of every pixel's channels and GELU, in one pass over the memory, of float32 or bf16 numbers.

bf16 numbers, which Numba does not know, are the upper halves of float32 ones: loops take them as int16.
"""

import math
from typing import Any

import numpy as np
import torch
from numba import njit, types
from numba.extending import overload
from torch import Tensor

from freqlf.models.kernels import is_window
from freqlf.models.kernels.functions import bits_of, differentiate_gelu, erf, float_of
from freqlf.models.kernels.running import LOOP, run_in_threads

Array = np.ndarray

EPSILON = 1e-5  # added to variances

_f32, _i32 = np.float32, np.int32
_HALF_ROOT = _f32(math.sqrt(0.5))


def activate_normalised(field: Tensor, precision: torch.dtype) -> Tensor:
    """GELU of the field with zero mean and unit variance over each pixel's channels, in this precision."""
    if torch.is_grad_enabled() and field.requires_grad:
        return NormalisedGelu.apply(field, precision)  # type: ignore[no-untyped-call]
    return _activate(field, precision)


class NormalisedGelu(torch.autograd.Function):
    """The same with its gradient."""

    @staticmethod
    def forward(context: Any, field: Tensor, precision: torch.dtype) -> Tensor:
        """Keep what goes in: means and variances are soon found again."""
        context.save_for_backward(field)
        return _activate(field, precision)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """That of the field."""
        (field,) = context.saved_tensors
        if not is_window(gradient):
            gradient = gradient.contiguous(memory_format=torch.channels_last)
        result = torch.empty_like(field, memory_format=torch.channels_last)
        B, C, H, W = field.shape
        run_in_threads(_differentiate_rows, B * H, H, W, C, *_open(field), *_open(gradient), _open(result)[0])
        return result, None


def _activate(field: Tensor, precision: torch.dtype) -> Tensor:
    B, C, H, W = field.shape
    result = torch.empty(B, C, H, W, dtype=precision, memory_format=torch.channels_last)
    run_in_threads(_activate_rows, B * H, H, W, C, *_open(field), _open(result)[0])
    return result


def _open(field: Tensor) -> tuple[Array, int, int]:
    """The memory from a window's first number on, and the distances of its images and of its rows."""
    last = sum((size - 1) * stride for size, stride in zip(field.shape, field.stride(), strict=True))
    numbers = field.detach().as_strided((last + 1,), (1,))
    if field.dtype == torch.bfloat16:
        numbers = numbers.view(torch.int16)
    return numbers.numpy(), field.stride(0), field.stride(2)


def _read(row: Any, x: Any, target: Any) -> None:
    """Pixel x of a row (W, C) as float32. A slice would take as long as what is done with it."""


def _write(source: Any, row: Any, x: Any) -> None:
    """float32 numbers to pixel x of a row (W, C), in its precision, rounded to the nearest."""


@overload(_read, strict=False)
def _choose_read(row: Any, x: Any, target: Any) -> Any:
    if row.dtype != types.int16:

        def copy(row: Array, x: int, target: Array) -> None:
            for i in range(len(target)):
                target[i] = row[x, i]

        return copy

    def widen(row: Array, x: int, target: Array) -> None:
        for i in range(len(target)):
            target[i] = float_of(_i32(_i32(row[x, i]) << _i32(16)))

    return widen


@overload(_write, strict=False)
def _choose_write(source: Any, row: Any, x: Any) -> Any:
    if row.dtype != types.int16:

        def copy(source: Array, row: Array, x: int) -> None:
            for i in range(len(source)):
                row[x, i] = source[i]

        return copy

    def shorten(source: Array, row: Array, x: int) -> None:
        for i in range(len(source)):
            bits = bits_of(source[i])
            row[x, i] = np.int16(_i32(bits + _i32(0x7FFF) + ((bits >> _i32(16)) & _i32(1))) >> _i32(16))

    return shorten


@njit(**LOOP)
def _normalise(numbers: Array) -> float:
    """Zero mean and unit variance in place; returns what they were divided by, inverted."""
    count = _f32(len(numbers))
    total = _f32(0)
    for i in range(len(numbers)):
        total += numbers[i]
    mean = total / count
    power = _f32(0)
    for i in range(len(numbers)):
        power += (numbers[i] - mean) * (numbers[i] - mean)
    scale = _f32(1) / np.sqrt(power / count + _f32(EPSILON))
    for i in range(len(numbers)):
        numbers[i] = (numbers[i] - mean) * scale
    return scale


@njit(**LOOP)
def _activate_rows(
    height: int,
    width: int,
    channels: int,
    field: Array,
    batch_stride: int,
    row_stride: int,
    result: Array,
    first_row: int,
    last_row: int,
) -> None:
    pixel = np.empty(channels, np.float32)
    for row in range(first_row, last_row):
        start = row // height * batch_stride + row % height * row_stride
        source = field[start : start + width * channels].reshape(width, channels)
        target = result[row * width * channels : (row + 1) * width * channels].reshape(width, channels)
        for x in range(width):
            _read(source, x, pixel)
            _normalise(pixel)
            for i in range(channels):
                pixel[i] = _f32(0.5) * pixel[i] * (_f32(1) + erf(_HALF_ROOT * pixel[i]))
            _write(pixel, target, x)


@njit(**LOOP)
def _differentiate_rows(
    height: int,
    width: int,
    channels: int,
    field: Array,
    batch_stride: int,
    row_stride: int,
    gradient: Array,
    gradient_batch_stride: int,
    gradient_row_stride: int,
    result: Array,
    first_row: int,
    last_row: int,
) -> None:
    pixel, slope = np.empty(channels, np.float32), np.empty(channels, np.float32)
    for row in range(first_row, last_row):
        start = row // height * batch_stride + row % height * row_stride
        arriving = row // height * gradient_batch_stride + row % height * gradient_row_stride
        source = field[start : start + width * channels].reshape(width, channels)
        slopes = gradient[arriving : arriving + width * channels].reshape(width, channels)
        target = result[row * width * channels : (row + 1) * width * channels].reshape(width, channels)
        for x in range(width):
            _read(source, x, pixel)
            _read(slopes, x, slope)
            scale = _normalise(pixel)
            total, along = _f32(0), _f32(0)
            for i in range(channels):
                slope[i] *= differentiate_gelu(pixel[i])
            for i in range(channels):
                total += slope[i]
                along += slope[i] * pixel[i]
            total, along = total / _f32(channels), along / _f32(channels)
            for i in range(channels):
                slope[i] = scale * (slope[i] - total - pixel[i] * along)
            _write(slope, target, x)
