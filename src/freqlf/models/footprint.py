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
# Of tiles that are computed side by side: two of them take as much memory as the largest one alone.
_SIDES_OF_MANY_PX = (128, 112, 96)

# Maps of one number a pixel, such as hypotheses and results, that are held for all of the image at most.
MAPS = 24
# Numbers per pixel and view while a half-line is warped and compared: grid, warped views, residuals, their magnitudes.
_WARP_NUMBERS = 16
# Freed memory is not always given back in pieces of the right size, and libraries keep buffers of their own.
_FRAGMENTATION = 1.1
_BUFFER_BYTES = 48_000_000
_MORE_BYTES = 30_000_000


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

    def total_bytes(self, height: int, width: int, tile_px: int, workers: int = 1) -> int:
        """For an image that is computed in tiles, `workers` at a time, its views packed already."""
        in_work = workers * self._bytes_of_tile(height, width, tile_px)
        held = self.image_bytes * height * width + max(in_work, self.fixed_bytes)
        return int(_BUFFER_BYTES + _FRAGMENTATION * held)

    def _bytes_of_tile(self, height: int, width: int, tile_px: int) -> int:
        return self.tile_bytes * math.prod(min(tile_px + 2 * self.margin_px, side) for side in (height, width))

    def choose_tiles(
        self, height: int, width: int, limit_bytes: int, held_bytes: int, threads: int = 1
    ) -> tuple[int, int]:
        """The side of the tiles, and how many at a time: as is useful, and as fits in beside what the process holds.

        Views are among that. Whether the smallest tile fits was for `require` to say.
        """
        if threads > 1:
            for side_px in _SIDES_OF_MANY_PX:
                if held_bytes + self.total_bytes(height, width, side_px, threads) <= limit_bytes:
                    return side_px, threads
        for side_px in range(_LARGEST_TILE_PX, _SMALLEST_TILE_PX, -_TILE_STEP_PX):
            fits = held_bytes + self.total_bytes(height, width, side_px) <= limit_bytes
            if fits and self._bytes_of_tile(height, width, side_px) <= _MOST_TILE_BYTES:
                return side_px, 1
        return _SMALLEST_TILE_PX, 1

    def require(self, height: int, width: int, limit_bytes: int, held_bytes: int) -> None:
        """Refuse an image that cannot fit beside what the process holds, before its views are read.

        What the refusal asks for is enough when it is granted: it is all that is needed, and some more for a process
        that holds a little more next time.
        """
        needed_bytes = held_bytes + self.view_bytes * height * width
        needed_bytes += self.total_bytes(height, width, _SMALLEST_TILE_PX)
        if needed_bytes > limit_bytes:
            asked_gb = math.ceil((needed_bytes + _MORE_BYTES) / 1e7) / 100
            raise FreqLFError(
                f"an image of {width} x {height} pixels needs {asked_gb:.2f} GB ({held_bytes / 1e9:.2f} GB of it for "
                f"the program itself) with this model, and {limit_bytes / 1e9:.2f} GB are allowed; allow more "
                "with --memory, or scale the light field down"
            )


def count_warp_numbers(views: int, lines: int) -> int:
    """Numbers per pixel while one half-line of so many views on so many lines is compared with the centre."""
    return _WARP_NUMBERS * math.ceil(views / (2 * lines))


def find_widest(module: nn.Module) -> int:
    """Channels that go into or come out of the widest convolution."""
    convolutions = [part for part in module.modules() if isinstance(part, (nn.Conv2d, nn.Conv3d))]
    return max(max(part.in_channels, part.out_channels) for part in convolutions)
