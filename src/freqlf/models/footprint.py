"""How much memory an estimate takes, and the tiles with which it stays within a limit."""

import math
from dataclasses import dataclass

from torch import nn

from freqlf.errors import FreqLFError

_SMALLEST_TILE_PX = 64
# Larger tiles, or ones with more intermediate results, are no faster: they are far larger than a CPU's caches, and
# buffers of more than 32 MB are given back to the system after every use (a seventh of the time with 256 px).
_LARGEST_TILE_PX = 192
_MOST_TILE_BYTES = 200_000_000
_TILE_STEP_PX = 16

# Maps of one number a pixel, such as hypotheses and results, that are held for all of the image at most.
MAPS = 24
# Numbers per pixel and view while a half-line is warped and compared: grid, warped views, residuals, their magnitudes.
_WARP_NUMBERS = 16
# Freed memory is not always given back in pieces of the right size, and libraries keep buffers of their own.
_FRAGMENTATION = 1.1
_BUFFER_BYTES = 48_000_000


@dataclass(frozen=True)
class Footprint:
    """Bytes that an estimate takes beside what the process holds anyway.

    Attributes:
        view_bytes: of all packed views, per pixel of the image.
        image_bytes: of latent field and maps, per pixel of the image.
        tile_bytes: of intermediate results, per pixel of a tile and of the margin around it.
        margin_px: width of that margin.
        fixed_bytes: of what limits itself, whatever the tiles.
    """

    view_bytes: int
    image_bytes: int
    tile_bytes: int
    margin_px: int
    fixed_bytes: int = 0

    def total_bytes(self, height: int, width: int, tile_px: int) -> int:
        """For an image that is computed in tiles, its views packed already."""
        held = self.image_bytes * height * width + max(self._bytes_of_tile(height, width, tile_px), self.fixed_bytes)
        return int(_BUFFER_BYTES + _FRAGMENTATION * held)

    def _bytes_of_tile(self, height: int, width: int, tile_px: int) -> int:
        return self.tile_bytes * math.prod(min(tile_px + 2 * self.margin_px, side) for side in (height, width))

    def choose_tile_px(self, height: int, width: int, limit_bytes: int, held_bytes: int) -> int:
        """The side of the tiles: as large as is useful, and as fits in beside what the process holds, views included.

        held_bytes: what the process holds, with the views.
        """
        for side_px in range(_LARGEST_TILE_PX, _SMALLEST_TILE_PX - 1, -_TILE_STEP_PX):
            fits = held_bytes + self.total_bytes(height, width, side_px) <= limit_bytes
            is_useful = self._bytes_of_tile(height, width, side_px) <= _MOST_TILE_BYTES or side_px == _SMALLEST_TILE_PX
            if fits and is_useful:
                return side_px
        needed_bytes = held_bytes + self.total_bytes(height, width, _SMALLEST_TILE_PX)
        raise _too_large(height, width, needed_bytes, limit_bytes, held_bytes - self.view_bytes * height * width)

    def require(self, height: int, width: int, limit_bytes: int) -> None:
        """Refuse an image that cannot fit, before its views are read."""
        needed = self.view_bytes * height * width + self.total_bytes(height, width, _SMALLEST_TILE_PX)
        if needed > limit_bytes:
            raise _too_large(height, width, needed, limit_bytes)


def count_warp_numbers(views: int, lines: int) -> int:
    """Numbers per pixel while one half-line of so many views on so many lines is compared with the centre."""
    return _WARP_NUMBERS * math.ceil(views / (2 * lines))


def find_widest(module: nn.Module) -> int:
    """Channels that go into or come out of the widest convolution."""
    convolutions = [part for part in module.modules() if isinstance(part, (nn.Conv2d, nn.Conv3d))]
    return max(max(part.in_channels, part.out_channels) for part in convolutions)


def _too_large(height: int, width: int, needed_bytes: int, limit_bytes: int, own_bytes: int = 0) -> FreqLFError:
    """own_bytes: what the program itself holds, if that is part of what is needed."""
    own = f" ({own_bytes / 1e9:.1f} GB of it for the program itself)" if own_bytes > 0 else ""
    return FreqLFError(
        f"an image of {width} x {height} pixels needs at least {math.ceil(needed_bytes / 1e7) / 100:.2f} GB{own} with "
        f"this model, and {limit_bytes / 1e9:.2f} GB are allowed; allow more memory or scale the light field down"
    )
