"""Windows of an image: the pieces in which large images are processed."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from freqlf.models.sidebyside import Item, Result, run_side_by_side

# Told of every tile that is done: the name of the stage, tiles done, tiles in all.
Progress = Callable[[str, int, int], None]


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
        if self.height == field.shape[-2] and self.width == field.shape[-1]:
            return field  # as it is: a tracer would lose what is written into a slice
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


@dataclass(frozen=True)
class Tiling:
    """How images are divided, and who is told how far the work is.

    Attributes:
        side_px: of the tiles; None takes the image as one.
        progress: called when a stage begins, and with every tile that is done.
        workers: tiles that are computed side by side, by a thread each. One tile by many threads is slower: they wait
            for each other at every operation.
    """

    side_px: int | None = None
    progress: Progress | None = None
    workers: int = 1

    def is_whole(self, height: int, width: int) -> bool:
        """Whether one tile holds the image."""
        return self.side_px is None or self.side_px >= max(height, width)

    def report(self, stage: str, done: int, total: int) -> None:
        """Tell whoever wants to know."""
        if self.progress is not None:
            self.progress(stage, done, total)

    def split(self, height: int, width: int, least_px: int = 1) -> list[Tile]:
        """The tiles, none smaller than `least_px` but the last ones."""
        side_px = None if self.side_px is None else max(self.side_px, least_px)
        return list(split_into_tiles(height, width, side_px))

    def run(self, stage: str, items: Iterable[Item], total: int, work: Callable[[Item], Result]) -> Iterator[Result]:
        """What `work` makes of the items of a stage, `total` in all, in their order."""
        self.report(stage, 0, total)
        for done, result in enumerate(run_side_by_side(items, work, self.workers), start=1):
            yield result
            self.report(stage, done, total)

    def fill(
        self,
        height: int,
        width: int,
        stage: str,
        compute: Callable[[Tile], Tensor],
        onto: Tensor | None = None,
    ) -> Tensor:
        """What `compute` makes of the tiles, (B, C, h, w) each, put together to (B, C, height, width), channels last.

        Of one tile that holds the image it is the result itself, through which gradients flow and graphs are traced.

        onto: memory for the result, which `compute` no longer needs where it has been.
        """
        if self.is_whole(height, width):
            self.report(stage, 0, 1)
            part = compute(Tile(0, 0, height, width))
            self.report(stage, 1, 1)
            return part if torch.is_grad_enabled() else part.float()
        tiles = self.split(height, width)
        for tile, part in zip(tiles, self.run(stage, tiles, len(tiles), compute), strict=True):
            if onto is None:  # in full precision, whatever autocast made of the part
                shape = (*part.shape[:2], height, width)
                onto = torch.empty(shape, device=part.device, memory_format=torch.channels_last)
            tile.of(onto).copy_(part)
        assert onto is not None  # there is at least one tile
        return onto


WHOLE = Tiling()
