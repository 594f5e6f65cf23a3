"""The layers that update a latent field: all at full resolution, or an hourglass of several resolutions."""

import itertools
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from freqlf.models.hybrid import HybridLayer, gelu_of_normalised, normalise_pixels
from freqlf.models.scale import scale_weights
from freqlf.models.streaming import update_field
from freqlf.models.tiles import WHOLE, Tile, Tiling


class FlatBackbone(nn.Sequential):
    """Hybrid layers at the field's own resolution, one after the other."""

    def update(self, field: Tensor, tiling: Tiling = WHOLE, stage: str = "layer") -> Tensor:
        """The field (B, C, H, W) after all layers; in tiles it is overwritten."""
        return update_field(self, field, tiling, stage)


class Hourglass(nn.Module):
    """Hybrid layers at full, half, quarter ... resolution on the way down, and again on the way up.

    What plain areas need to know is at their borders, so their layers should see far; edges need every pixel. A coarser
    level costs a quarter of the finer one at the same width. A field that has an odd side goes on as if there
    were zeros behind it.

    The result is normalised at every pixel, see `HybridLayer`.

    down: the layers of each level, fine to coarse.
    up: those of each level but the coarsest, fine to coarse.
    """

    def __init__(self, down: Sequence[Sequence[HybridLayer]], up: Sequence[Sequence[HybridLayer]]) -> None:
        super().__init__()
        self.down = nn.ModuleList(FlatBackbone(*layers) for layers in down)
        self.up = nn.ModuleList(FlatBackbone(*layers) for layers in up)
        widths = [layers[0].channels for layers in down]
        pairs = list(itertools.pairwise(widths))
        self.shrink = nn.ModuleList(nn.Conv2d(fine, coarse, 2, stride=2) for fine, coarse in pairs)
        self.widen = nn.ModuleList(nn.Conv2d(coarse, fine, 1) for fine, coarse in pairs)
        for layer in self.shrink:
            scale_weights(layer)
        for layer in self.widen:
            scale_weights(layer, gain=0.5)

    def update(self, field: Tensor, tiling: Tiling = WHOLE, stage: str = "layer") -> Tensor:
        """The field (B, C, H, W) after all layers; in tiles it is overwritten."""
        field = self._update_level(0, field, tiling, stage)
        H, W = field.shape[-2:]
        return tiling.fill(H, W, f"{stage} end", lambda tile: normalise_pixels(tile.of(field)), onto=field)

    def _update_level(self, level: int, field: Tensor, tiling: Tiling, stage: str) -> Tensor:
        place = f"{stage} 1/{2**level}"
        field = _as_backbone(self.down[level]).update(field, tiling, place)
        if level == len(self.shrink):
            return field
        coarse = self._update_level(level + 1, self._shrink(level, field, tiling, place), tiling, stage)
        field = self._add_coarse(level, field, coarse, tiling, place)
        return _as_backbone(self.up[level]).update(field, tiling, f"{place} again")

    def _shrink(self, level: int, field: Tensor, tiling: Tiling, stage: str) -> Tensor:
        H, W = field.shape[-2:]

        def compute(tile: Tile) -> Tensor:
            y, x = 2 * tile.y, 2 * tile.x
            part = Tile(y, x, min(2 * tile.height, H - y), min(2 * tile.width, W - x))
            missing = (0, 2 * tile.width - part.width, 0, 2 * tile.height - part.height)
            seen = gelu_of_normalised(part.of(field))
            return self.shrink[level](F.pad(seen, missing) if torch.jit.is_tracing() or any(missing) else seen)

        return tiling.fill((H + 1) // 2, (W + 1) // 2, f"{stage} down", compute)

    def _add_coarse(self, level: int, field: Tensor, coarse: Tensor, tiling: Tiling, stage: str) -> Tensor:
        H, W = field.shape[-2:]

        def compute(tile: Tile) -> Tensor:
            y, x = tile.y // 2, tile.x // 2
            part = Tile(y, x, (tile.y + tile.height + 1) // 2 - y, (tile.x + tile.width + 1) // 2 - x)
            wide = F.interpolate(
                self.widen[level](gelu_of_normalised(part.of(coarse))), scale_factor=2.0, mode="nearest"
            )
            return tile.of(field) + Tile(tile.y - 2 * y, tile.x - 2 * x, tile.height, tile.width).of(wide)

        return tiling.fill(H, W, f"{stage} up", compute, onto=field)


Backbone = FlatBackbone | Hourglass


def _as_backbone(module: nn.Module) -> FlatBackbone:
    assert isinstance(module, FlatBackbone)
    return module
