"""The Fourier branch: learned complex weights on the low modes of a field.

A real field z of H x W pixels is the sum of waves

    z(y, x) = sum over n, m of  Z[n, m] * exp(2*pi*i * (n*y/H + m*x/W)),
    Z[n, m] = 1/(H*W) * sum over y, x of  z(y, x) * exp(-2*pi*i * (n*y/H + m*x/W)).

The layer multiplies the channels of each retained Z[n, m] by a complex matrix, drops all other modes and
transforms back. Retained are k1 signed vertical frequencies n = -k1//2 .. (k1-1)//2 and k2 horizontal ones
m = 0 .. k2-1; the result is real because every mode with m > 0 counts together with its conjugate and of the
column m = 0 the real part is taken (this is what `irfft2` does). A mode exists in a field only strictly below
the Nyquist frequency, |n| < H/2 and m < W/2: at it a wave is its own conjugate and a complex weight has no
meaning. Fields too small for some of the modes therefore use the others only.

Since few modes are retained, the transforms are two small dense products each way instead of an FFT. Along y
they need only the frequencies 0 .. k1//2, as z is real: the large product has k1 + 2 rows, where starting
with x it would have 2*k2.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from freqlf.errors import FreqLFError
from freqlf.models import anysize
from freqlf.models.modes import Band, select_band, waves

Field = Literal["index", "frequency"]


def _in_full_precision(stage: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The stage of a transform, whose first argument is a tensor, without what autocast would do to its products."""

    @wraps(stage)
    def compute(layer: "SpectralConv2d", field: Tensor, *arguments: Any, **options: Any) -> Tensor:
        with torch.autocast(field.device.type, enabled=False):
            return stage(layer, field, *arguments, **options)

    return compute


class SpectralConv2d(nn.Module):
    """Mixes the channels of the retained Fourier modes; (B, C, H, W) -> (B, C, H, W) in float32.

    `field` says what the weights mean on a field of another size than the one they were learned on:

    - "index": weight (i, j) belongs to the i-th and j-th mode of whatever field comes in, as in the Fourier
      neural operator. The same weight is a longer wave in a larger field.
    - "frequency": the weights are a table over physical frequency, that of the modes of a field of
      `reference_px` = (height, width). Another field uses all of its modes inside the table's range with
      weights interpolated between the four nearest entries, so the layer is the same filter at any size.

    Both are the same function on a field of `reference_px`.

    The weights are initialised so that E|w|^2 = gain^2 / C: a field made of retained modes leaves with
    `gain` times its root mean square, any other field with less.
    """

    def __init__(
        self,
        channels: int,
        modes: tuple[int, int] = (16, 16),
        *,
        field: Field = "index",
        reference_px: tuple[int, int] | None = None,
        gain: float = 1.0,
    ) -> None:
        super().__init__()
        if channels < 1 or min(modes) < 1:
            raise FreqLFError(f"a Fourier branch needs channels and modes of at least 1, not {channels}, {modes}")
        if field not in ("index", "frequency"):
            raise FreqLFError(f"unknown field option {field!r}: choose index or frequency")
        if field != "index" and reference_px is None:
            raise FreqLFError(f"the field option {field!r} needs reference_px, the field size of the weights")
        if field == "frequency" and reference_px is not None:
            needed = (2 * (modes[0] // 2) + 1, 2 * modes[1] - 1)
            if reference_px[0] < needed[0] or reference_px[1] < needed[1]:
                raise FreqLFError(f"reference_px {reference_px} is too small for modes {modes}: use at least {needed}")
        self.channels, self.modes, self.field, self.reference_px = channels, modes, field, reference_px
        # C x C x k1 x k2 complex numbers (real, imaginary), the modes first: mixing is a batched product
        # without a copy, and optimisers and file formats see plain floats.
        self.weight = nn.Parameter(torch.empty(*modes, 2, channels, channels))  # k1, k2, 2, C in, C out
        nn.init.normal_(self.weight, std=gain * (0.5 / channels) ** 0.5)

    def extra_repr(self) -> str:
        """The settings, for printing."""
        reference = "" if self.reference_px is None else f", reference_px={self.reference_px}"
        return f"{self.channels}, modes={self.modes}, field={self.field!r}{reference}"

    def forward(self, z: Tensor, onto: Tensor | None = None) -> Tensor:
        """Apply the layer by truncated transforms; the memory format of `z` is kept.

        With `onto`, of the shape of z, the result is added to it in place: a pass over the memory less.
        """
        if onto is None or onto.dtype == self.weight.dtype:
            return self._on_field(z, lambda field: self._transform(field, onto))
        return onto + self._on_field(z, self._transform)

    def forward_fft(self, z: Tensor) -> Tensor:
        """The same by full FFTs: the reference for tests and timings."""
        return self._on_field(z, self._transform_by_fft)

    @_in_full_precision
    def analyse(self, z: Tensor, y0: int, x0: int, height: int, width: int) -> Tensor:
        """The retained coefficients of a tile at (y0, x0) of a field of height x width.

        Those of the whole field are the sum over tiles that cover it once. Returned is a real tensor
        (2, rows, columns, B, C), the first axis being real and imaginary part.
        """
        rows, columns = self.bands(height, width)
        batch, channels, tile_height, tile_width = z.shape
        along_y = waves(rows.highest + 1, height, y0, tile_height, like=z)
        if is_channels_last(z):
            stripes = z.permute(0, 2, 3, 1).reshape(batch, tile_height, tile_width * channels)
            stripes = torch.bmm(along_y.expand(batch, -1, -1), stripes)  # B, 2 rows, W*C
            along_x = waves(len(columns), width, x0, tile_width, like=z)
            products = along_x @ stripes.view(batch, -1, tile_width, channels)  # B, 2 rows, 2 columns, C
            products = products.permute(1, 2, 0, 3)
        else:
            stripes = torch.bmm(along_y.expand(batch * channels, -1, -1), z.flatten(0, 1))  # B*C, 2 rows, W
            along_x = waves(len(columns), width, x0, tile_width, like=z, pixels_first=True)
            products = (stripes @ along_x).unflatten(0, (batch, channels))  # B, C, 2 rows, 2 columns
            products = products.permute(2, 3, 0, 1)
        products = products.reshape(4 * (rows.highest + 1), -1)  # cos/sin of y, |n|, cos/sin of x; the rest
        coefficients = rows.unfolding(like=z) @ products / (height * width)
        return coefficients.view(2, len(rows), len(columns), batch, channels)

    @_in_full_precision
    def mix(self, coefficients: Tensor, height: int, width: int) -> Tensor:
        """Multiply the channels of each coefficient by its weights, for a field of height x width."""
        rows, columns = self.bands(height, width)
        if rows.is_direct and columns.is_direct:
            return _multiply(coefficients, self.weight[rows.entries, columns.entries])
        # Between the table's entries the weights are interpolated. As the product is linear in them, each
        # entry multiplies the modes around it, scaled by their share of it, and the products are added up:
        # no table of the size of the field's modes is ever made.
        (row_index, row_share), (column_index, column_share) = (
            rows.neighbours(coefficients),
            columns.neighbours(coefficients),
        )
        shares = row_share[:, :, None, None] * column_share  # k1, P, k2, Q
        near = coefficients[:, row_index][:, :, :, column_index] * shares[..., None, None]
        _, k1, P, k2, Q, batch, channels = near.shape
        near = near.permute(0, 1, 3, 2, 4, 5, 6).reshape(2, k1, k2, P * Q * batch, channels)
        mixed = _multiply(near, self.weight).view(2, k1, k2, P, Q, batch, channels)
        mixed = mixed.permute(0, 1, 3, 2, 4, 5, 6).reshape(2, k1 * P, k2 * Q, batch, channels)
        by_row = mixed.new_zeros(2, len(rows), *mixed.shape[2:]).index_add(1, row_index.flatten(), mixed)
        return torch.zeros_like(coefficients).index_add(2, column_index.flatten(), by_row)

    @_in_full_precision
    def synthesise(
        self,
        coefficients: Tensor,
        y0: int,
        x0: int,
        tile_height: int,
        tile_width: int,
        height: int,
        width: int,
        *,
        channels_last: bool = True,
        onto: Tensor | None = None,
    ) -> Tensor:
        """The tile at (y0, x0), (B, C, tile_height, tile_width), of the field with these coefficients.

        With `onto`, in the memory format that `channels_last` says, the tile is added to it in place.
        """
        rows, columns = self.bands(height, width)
        batch, channels = coefficients.shape[-2:]
        products = rows.unfolding(like=coefficients).T @ coefficients.flatten(0, 1).flatten(1)
        products = products.view(2 * (rows.highest + 1), 2 * len(columns), batch, channels)
        if channels_last:
            shape = (batch, tile_height, tile_width, channels)
            along_x = waves(len(columns), width, x0, tile_width, like=products, pixels_first=True, in_pairs=True)
            stripes = (along_x @ products.permute(2, 0, 1, 3)).flatten(2)  # B, 2 rows, W*C
        else:
            shape = (batch, channels, tile_height, tile_width)
            along_x = waves(len(columns), width, x0, tile_width, like=products, in_pairs=True)
            stripes = products.permute(2, 3, 0, 1).contiguous().flatten(0, 1) @ along_x  # B*C, 2 rows, W
        along_y = waves(rows.highest + 1, height, y0, tile_height, like=products, pixels_first=True)
        along_y = along_y.expand(len(stripes), -1, -1)
        if onto is not None:
            memory = onto.permute(0, 2, 3, 1) if channels_last else onto
            memory.view(len(stripes), tile_height, -1).baddbmm_(along_y, stripes)
            return onto
        tile = torch.bmm(along_y, stripes).view(shape)
        return tile.permute(0, 3, 1, 2) if channels_last else tile

    def bands(self, height: int, width: int) -> tuple[Band, Band]:
        """The rows and columns of modes that are used on a field of height x width."""
        k1, k2 = self.modes
        reference_height, reference_width = height, width
        if self.field == "frequency" and self.reference_px is not None:
            reference_height, reference_width = self.reference_px
        return (
            select_band(-(k1 // 2), (k1 - 1) // 2, height, reference_height),
            select_band(0, k2 - 1, width, reference_width),
        )

    def _on_field(self, z: Tensor, transform: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply `transform` to a field in full precision, whatever autocast says."""
        if z.ndim != 4 or z.shape[1] != self.channels:
            raise FreqLFError(f"the Fourier branch expects (B, {self.channels}, H, W), not {tuple(z.shape)}")
        with torch.autocast(z.device.type, enabled=False):
            return transform(z.to(self.weight.dtype))

    def _transform(self, z: Tensor, onto: Tensor | None = None) -> Tensor:
        if torch.jit.is_tracing():
            return anysize.transform(self, z, onto)
        height, width = z.shape[-2:]
        coefficients = self.mix(self.analyse(z, 0, 0, height, width), height, width)
        channels_last = is_channels_last(z if onto is None else onto)
        whole = (0, 0, height, width, height, width)
        return self.synthesise(coefficients, *whole, channels_last=channels_last, onto=onto)

    def _transform_by_fft(self, z: Tensor) -> Tensor:
        height, width = z.shape[-2:]
        rows, columns = self.bands(height, width)
        spectrum = torch.fft.rfft2(z, norm="forward")
        kept_rows = torch.tensor([n % height for n in rows.frequencies], device=z.device)
        table = torch.einsum("ri,cj,ijpab->rcpab", rows.interpolation(z), columns.interpolation(z), self.weight)
        weight = torch.complex(*table.unbind(2))  # rows, columns, C in, C out
        kept = torch.einsum("barc,rcao->borc", spectrum[:, :, kept_rows, : len(columns)], weight)
        result = torch.zeros_like(spectrum[:, :, :, : len(columns)]).index_copy(2, kept_rows, kept)
        result = F.pad(result, (0, spectrum.shape[-1] - len(columns)))
        return torch.fft.irfft2(result, s=(height, width), norm="forward")


def is_channels_last(z: Tensor) -> bool:
    """Whether the channels of a pixel lie side by side in memory."""
    return z.is_contiguous(memory_format=torch.channels_last) and not z.is_contiguous()


def _multiply(coefficients: Tensor, weight: Tensor) -> Tensor:
    """Complex products mode by mode: (2, k1, k2, N, C in) by (k1, k2, 2, C in, C out) as real matrix products."""
    _, k1, k2, count, channels = coefficients.shape
    # rows: the real parts, then the imaginary parts; each with the real and with the imaginary weights
    parts = coefficients.permute(1, 2, 0, 3, 4).reshape(k1, k2, 1, 2 * count, channels)
    products = (parts @ weight).view(k1, k2, 2, 2, count, -1)
    with_real, with_imaginary = products.unbind(2)
    real = with_real[:, :, 0] - with_imaginary[:, :, 1]
    imaginary = with_real[:, :, 1] + with_imaginary[:, :, 0]
    return torch.stack((real, imaginary))
