"""Windows of an image: the pieces in which large images are processed."""

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Tile:
    """A window of an image: top left pixel and size."""

    y: int
    x: int
    height: int
    width: int

    def grown(self, margin_px: int, height: int, width: int) -> "Tile":
        """With a margin on all sides, cut off at the border of the height x width image."""
        top, left = max(self.y - margin_px, 0), max(self.x - margin_px, 0)
        bottom = min(self.y + self.height + margin_px, height)
        right = min(self.x + self.width + margin_px, width)
        return Tile(top, left, bottom - top, right - left)

    def of(self, field: Tensor) -> Tensor:
        """This window of a field (..., H, W); a view, so it can be written to."""
        return field[..., self.y : self.y + self.height, self.x : self.x + self.width]

    def inside(self, outer: "Tile") -> "Tile":
        """The same window counted from the top left pixel of a larger one."""
        return Tile(self.y - outer.y, self.x - outer.x, self.height, self.width)


def split_into_tiles(height: int, width: int, side_px: int | None) -> Iterator[Tile]:
    """Tiles of at most side_px x side_px pixels that cover the image once, row by row; None is one tile."""
    if side_px is None:
        yield Tile(0, 0, height, width)
        return
    for y in range(0, height, side_px):
        for x in range(0, width, side_px):
            yield Tile(y, x, min(side_px, height - y), min(side_px, width - x))
