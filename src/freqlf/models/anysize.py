"""The parts of the networks whose arithmetic depends on the image size, as tensor operations of that size.

Elsewhere sizes are plain numbers: modes are listed, windows counted. A graph that is exported for images of any size
must compute all of that itself. While a network is traced, these formulations take the place of `HalfLines.shrunk` and
the transforms of `SpectralConv2d`; they are the same functions, up to rounding, and the tests hold them to it.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from freqlf.models.halflines import HalfLines
    from freqlf.models.spectral import SpectralConv2d


def shrink(half_lines: "HalfLines", scale: int) -> "HalfLines":
    """`HalfLines.shrunk` by matrix products: pooling with windows of unequal sizes is not in ONNX."""
    H, W = half_lines.centre.shape[-2:]
    down, across = _average_areas(H, H // scale), _average_areas(W, W // scale).T
    centre, views = (down @ images @ across for images in (half_lines.centre, half_lines.views))
    return replace(half_lines, centre=centre, views=views)


def _average_areas(size_px: int, count: int) -> Tensor:
    """(count, size_px): the means over `count` windows that share out an axis, overlapping where it does not divide."""
    window, pixel = torch.arange(count)[:, None], torch.arange(size_px)
    start = window * size_px // count
    end = ((window + 1) * size_px + count - 1) // count
    return ((pixel >= start) & (pixel < end)).float() / (end - start)


def transform(layer: "SpectralConv2d", z: Tensor, onto: Tensor | None = None) -> Tensor:
    """`SpectralConv2d._transform` with the modes counted by the graph; its transforms are plain matrix products."""
    H, W = z.shape[-2:]
    lowest, highest, last = _count_modes(layer, H, W)
    n, m = torch.arange(-lowest, highest + 1), torch.arange(last + 1)
    # From products with waves of |n| cycles to the signed frequencies n, and (transposed) back: see `Band.unfolding`.
    even = (n.abs()[:, None] == torch.arange(lowest + 1)).float()
    odd = even * n.sign()[:, None]

    along_y, along_x = _waves(lowest + 1, H), _waves(last + 1, W)
    products = along_y @ z @ along_x.T / (H * W)  # B, C, cos/sin of y and |n|, cos/sin of x and m
    cosines, sines = products[:, :, : lowest + 1], products[:, :, lowest + 1 :]
    (cc, cs), (sc, ss) = ((part[..., : last + 1], part[..., last + 1 :]) for part in (cosines, sines))
    real, imaginary = even @ cc - odd @ ss, -(even @ cs) - odd @ sc
    real, imaginary = _multiply(real, imaginary, _find_weights(layer, H, W))

    pairs = 2.0 - (m == 0).float()  # every column but the first stands for its conjugate too
    real, imaginary = real * pairs, imaginary * pairs
    cosines = torch.cat((even.T @ real, -(even.T @ imaginary)), dim=3)
    sines = torch.cat((-(odd.T @ imaginary), -(odd.T @ real)), dim=3)
    result = along_y.T @ (torch.cat((cosines, sines), dim=2) @ along_x)
    return result if onto is None else onto + result


def _count_modes(layer: "SpectralConv2d", height: int, width: int) -> tuple[int, int, int]:
    """The rows of modes below and above frequency zero, and the columns above it, of a field of height x width."""
    k1, k2 = layer.modes
    rows_below, rows_above, columns_above = k1 // 2, (k1 - 1) // 2, k2 - 1
    if layer.field == "frequency" and layer.reference_px is not None:
        # The table of weights ends below the Nyquist frequency, so the modes in its range do.
        per_row, per_column = layer.reference_px
        return rows_below * height // per_row, rows_above * height // per_row, columns_above * width // per_column
    row_limit, column_limit = (height - 1) // 2, (width - 1) // 2
    return min(rows_below, row_limit), min(rows_above, row_limit), min(columns_above, column_limit)


def _find_weights(layer: "SpectralConv2d", height: int, width: int) -> Tensor:
    """The weights (n, m, 2, C in, C out) of the modes of a field of height x width."""
    (k1, k2), middle = layer.modes, layer.modes[0] // 2
    below, above, last = _count_modes(layer, height, width)
    if layer.field != "frequency" or layer.reference_px is None:
        return layer.weight[middle - below : middle + above + 1, : last + 1]
    n, m = torch.arange(-below, above + 1), torch.arange(last + 1)
    rows = _share(n * layer.reference_px[0] / height + middle, k1)
    columns = _share(m * layer.reference_px[1] / width, k2)
    count, channels = below + above + 1, layer.channels
    table = (rows @ layer.weight.reshape(k1, -1)).reshape(count, k2, 2 * channels**2)
    return (columns @ table).reshape(count, last + 1, 2, channels, channels)


def _share(positions: Tensor, entries: int) -> Tensor:
    """(positions, entries): the share of each entry of a table in the value between two of them (linear)."""
    return (1 - (positions[:, None] - torch.arange(entries)).abs()).clamp_min(0)


def _multiply(real: Tensor, imaginary: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Complex products mode by mode: (B, C in, n, m) by (n, m, 2, C in, C out) to (B, C out, n, m)."""
    real, imaginary = (part.permute(2, 3, 0, 1) for part in (real, imaginary))  # n, m, B, C
    weight_real, weight_imaginary = weight.unbind(2)
    products = (
        real @ weight_real - imaginary @ weight_imaginary,
        real @ weight_imaginary + imaginary @ weight_real,
    )
    return products[0].permute(2, 3, 0, 1), products[1].permute(2, 3, 0, 1)


def _waves(count: int, size_px: int) -> Tensor:
    """Cosines, then sines, of 0 .. count-1 cycles per `size_px` pixels at each of them: (2*count, size_px)."""
    cycles = torch.arange(count)[:, None] * torch.arange(size_px)
    angle = (cycles % size_px) * (2 * math.pi) / size_px  # whole turns are removed while the numbers are exact
    return torch.cat((angle.cos(), angle.sin()))
