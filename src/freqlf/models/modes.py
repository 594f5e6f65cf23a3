"""Which Fourier modes of a field a layer uses, and the waves they stand for."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Band:
    """The modes along one axis of a field, in the order of their frequency.

    frequencies: signed, in cycles per field, consecutive.
    positions: where each lies in the layer's table of `entries_total` weights; whole numbers if the field has the
        table's own size, anything between them otherwise.
    """

    frequencies: tuple[int, ...]
    positions: tuple[float, ...]
    entries_total: int

    def __len__(self) -> int:
        return len(self.frequencies)

    @cached_property
    def highest(self) -> int:
        """The highest frequency regardless of sign."""
        return max(abs(self.frequencies[0]), abs(self.frequencies[-1]))

    @cached_property
    def is_direct(self) -> bool:
        """Whether consecutive modes have consecutive entries of the table, so that nothing is interpolated."""
        first = self.positions[0]
        return first.is_integer() and self.positions == tuple(first + i for i in range(len(self)))

    @property
    def entries(self) -> slice:
        """The table's entries of a direct band."""
        first = int(self.positions[0])
        return slice(first, first + len(self))

    def unfolding(self, like: Tensor) -> Tensor:
        """From products with cosines and sines to coefficients of signed frequencies.

        A real field's products with cos and sin of |n|*y and of m*x, the columns (cos/sin of y, |n|, cos/sin
        of x), give the coefficient of exp(-i*(n*y + m*x)), the rows (real/imaginary, n). The transpose leads back
        from coefficients to the amplitudes of those products.
        """
        arguments = (self.frequencies, like.dtype, like.device)
        return _make_unfolding(*arguments) if torch.compiler.is_compiling() else _cached_unfolding(*arguments)

    def neighbours(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """For each entry of the table the modes within one step of it, and their shares of it (bilinear).

        Both are (entries, most modes of any entry); unused places hold mode 0 with share 0.
        """
        near = [
            [(mode, 1 - abs(p - entry)) for mode, p in enumerate(self.positions) if abs(p - entry) < 1]
            for entry in range(self.entries_total)
        ]
        most = max(map(len, near))
        padded = [found + [(0, 0.0)] * (most - len(found)) for found in near]
        index = torch.tensor([[mode for mode, _ in found] for found in padded], device=like.device)
        share = torch.tensor([[s for _, s in found] for found in padded], dtype=like.dtype, device=like.device)
        return index, share

    def interpolation(self, like: Tensor) -> Tensor:
        """The same as a dense matrix, (modes, entries)."""
        positions = torch.tensor(self.positions, dtype=like.dtype, device=like.device)
        entries = torch.arange(self.entries_total, dtype=like.dtype, device=like.device)
        return (1 - (positions[:, None] - entries).abs()).clamp_min(0)


@lru_cache(maxsize=256)
def select_band(lowest: int, highest: int, size_px: int, reference_px: int) -> Band:
    """The modes of a field of `size_px` pixels within the frequencies lowest/reference_px .. highest/reference_px.

    Frequencies are in cycles per pixel, both ends included; only modes strictly below the field's Nyquist
    frequency exist.
    """
    limit = (size_px - 1) // 2
    inside = [n for n in range(-limit, limit + 1) if lowest * size_px <= n * reference_px <= highest * size_px]
    positions = tuple(n * reference_px / size_px - lowest for n in inside)
    return Band(tuple(inside), positions, highest - lowest + 1)


def waves(
    count: int,
    size_px: int,
    start_px: int,
    length_px: int,
    *,
    like: Tensor,
    pixels_first: bool = False,
    in_pairs: bool = False,
) -> Tensor:
    """Cosines, then sines, of 0 .. count-1 cycles per `size_px` pixels at `length_px` pixels from `start_px`.

    Shape (2*count, length_px), or the transpose with `pixels_first`; data type and device of `like`. With
    `in_pairs` all but frequency 0 are doubled: a wave together with its conjugate.
    """
    arguments = (count, size_px, start_px, length_px, pixels_first, in_pairs, like.dtype, like.device)
    # A tensor made while tracing belongs to the trace and must not be kept.
    return _make_waves(*arguments) if torch.compiler.is_compiling() else _cached_waves(*arguments)


def _make_waves(
    count: int,
    size_px: int,
    start_px: int,
    length_px: int,
    pixels_first: bool,
    in_pairs: bool,
    dtype: torch.dtype,
    device: torch.device,
) -> Tensor:
    cycles = torch.arange(count)[:, None] * torch.arange(start_px, start_px + length_px)
    # Whole turns are removed while the numbers are exact.
    angle = (cycles % size_px).double() * (2 * torch.pi / size_px)
    result = torch.stack((angle.cos(), angle.sin()))
    if in_pairs:
        result[:, 1:] *= 2
    result = result.flatten(0, 1).to(device, dtype)
    return result.T.contiguous() if pixels_first else result


def _make_unfolding(frequencies: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    signed = torch.tensor(frequencies)
    matrix = torch.zeros(2, len(frequencies), 2, int(signed.abs().max()) + 1, 2, dtype=torch.float64)
    rows, sign = torch.arange(len(frequencies)), signed.sign().double()
    matrix[0, rows, 0, signed.abs(), 0] = 1.0  # real part: cos cos - sign * sin sin
    matrix[0, rows, 1, signed.abs(), 1] = -sign
    matrix[1, rows, 0, signed.abs(), 1] = -1.0  # imaginary part: -cos sin - sign * sin cos
    matrix[1, rows, 1, signed.abs(), 0] = -sign
    return matrix.flatten(2).flatten(0, 1).to(device, dtype)


@lru_cache(maxsize=256)
def _cached_waves(*arguments: Any) -> Tensor:
    with torch.inference_mode(False):  # the same tensor may serve training later
        return _make_waves(*arguments)


@lru_cache(maxsize=64)
def _cached_unfolding(*arguments: Any) -> Tensor:
    with torch.inference_mode(False):
        return _make_unfolding(*arguments)
