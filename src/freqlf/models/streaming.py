"""Exact inference in bounded memory: every stage of a network runs over tiles, one stage after the other.

Convolutions and warps need a margin around a tile. The Fourier branch needs a few coefficients of the whole
field, and those of tiles add up to them; channel reweighting needs sums over the field. So nothing is
approximated or blended: tiles give what the whole image gives, up to rounding. What is held for all of the image
is one latent field, the views and a few maps.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
from torch import Tensor, nn

from freqlf.models.base import Reader
from freqlf.models.decoder import Decoder, make_grid
from freqlf.models.hybrid import HybridLayer
from freqlf.models.tiles import Tile, Tiling


def update_field(layers: Iterable[nn.Module], field: Tensor, tiling: Tiling, stage: str) -> Tensor:
    """The field (B, C, H, W) after all hybrid layers, one after the other; in tiles they overwrite it."""
    for number, layer in enumerate(layers, start=1):
        assert isinstance(layer, HybridLayer)
        field = update_layer(layer, field, tiling, f"{stage} {number}")
    return field


def update_layer(layer: HybridLayer, field: Tensor, tiling: Tiling, stage: str) -> Tensor:
    """The layer's output; in tiles it takes the field's place."""
    if tiling.is_whole(*field.shape[-2:]):
        tiling.report(stage, 0, 1)
        field = layer(field)
        tiling.report(stage, 1, 1)
    else:
        _overwrite(layer, field, tiling, stage)
    return field


def _overwrite(layer: HybridLayer, field: Tensor, tiling: Tiling, stage: str) -> None:
    H, W = field.shape[-2:]
    fourier = layer.fourier
    coefficients = None
    if fourier is not None:

        def analyse(tile: Tile) -> Tensor:
            return fourier.analyse(_contiguous(layer.activate(tile.of(field))), tile.y, tile.x, H, W)

        tiles = tiling.split(H, W)
        for part in tiling.run(f"{stage}, spectrum", tiles, len(tiles), analyse):
            coefficients = part if coefficients is None else coefficients.add_(part)
        assert coefficients is not None
        coefficients = fourier.mix(coefficients, H, W)

    def write(item: tuple[Tile, Tensor]) -> None:
        tile, activated = item
        inner = tile.inside(tile.grown(layer.reach_px, H, W))
        update = _contiguous(inner.of(layer.convolve(activated))).to(field.dtype)  # autocast may have made it shorter
        if fourier is not None and coefficients is not None:
            fourier.synthesise(
                coefficients, tile.y, tile.x, tile.height, tile.width, H, W, channels_last=True, onto=update
            )
        layer.finish_onto(tile.of(field), update)

    tiles = tiling.split(H, W, least_px=layer.reach_px)  # so that only direct neighbours are needed
    for _ in tiling.run(stage, _activate_before_writing(layer, field, tiles), len(tiles), write):
        pass


def _activate_before_writing(layer: HybridLayer, field: Tensor, tiles: Sequence[Tile]) -> Iterator[tuple[Tile, Tensor]]:
    """Tiles to overwrite in this order, each with what the layer's branches see of it and of pixels around it.

    A tile's neighbours above and to its left may have been overwritten when it is its turn, or are being; the rows and
    the columns of theirs that it needs are kept aside.
    """
    H, W = field.shape[-2:]
    reach = layer.reach_px
    above = below = torch.empty_like(field[..., :reach, :])  # last rows of the tiles above, and of those that come next
    left = field[..., :reach]
    for tile in tiles:
        outer = tile.grown(reach, H, W)
        inner = tile.inside(outer)
        activated = layer.activate(outer.of(field))
        if not layer.residual:  # it is the field itself then
            activated = activated.clone(memory_format=torch.channels_last)
        if tile.x == 0:
            above, below = below, torch.empty_like(above)
        if tile.y > 0:
            activated[..., :reach, :] = above[..., outer.x : outer.x + outer.width]
        if tile.x > 0:
            activated[..., inner.y : inner.y + tile.height, :reach] = left
        own = inner.of(activated)
        # The last tiles may be lower or narrower than the reach, but nothing comes after them.
        rows, columns = min(reach, tile.height), min(reach, tile.width)
        below[..., :rows, tile.x : tile.x + tile.width] = own[..., tile.height - rows :, :]
        left = own[..., tile.width - columns :].clone()
        yield tile, activated


def read_field(
    decoder: Decoder,
    field: Tensor,
    read: Reader,
    tiling: Tiling,
    stage: str,
    anchors_px: Tensor | None = None,
    activation: Callable[[Tensor], Tensor] = lambda part: part,
) -> Tensor:
    """The maps that `read` takes from the decoder's mixtures, for the whole field."""
    H, W = field.shape[-2:]
    coordinates = make_grid(H, W, field).unsqueeze(0)

    def read_tile(tile: Tile) -> Tensor:
        anchors = None if anchors_px is None else tile.of(anchors_px)
        return read(decoder.decode(activation(tile.of(field)), tile.of(coordinates), anchors))

    return tiling.fill(H, W, stage, read_tile)


def _contiguous(tile: Tensor) -> Tensor:
    return tile.contiguous(memory_format=torch.channels_last)
