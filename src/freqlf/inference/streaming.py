"""Exact inference in bounded memory: every stage of a network runs over tiles, one stage after the other.

Convolutions and warps need a margin around a tile. The Fourier branch needs a few coefficients of the whole
field, and those of tiles add up to them; channel reweighting needs sums over the field. So nothing is
approximated or blended: tiles give what the whole image gives, up to rounding. What is held for all of the image
is one latent field, the views and a few maps.
"""

from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

from freqlf.errors import FreqLFError
from freqlf.models.aligned import AlignedFreqLF, HalfLineEncoder, RefinementPass, split_surfaces
from freqlf.models.coordinates import make_grid
from freqlf.models.decoder import Decoder
from freqlf.models.epi import SqueezeExcitation
from freqlf.models.evidence import EVIDENCE_REACH_PX, surround
from freqlf.models.halflines import HalfLines
from freqlf.models.hybrid import HybridLayer
from freqlf.models.mixture import Mixture
from freqlf.models.paper import FreqLF
from freqlf.models.scale import gelu_of
from freqlf.models.slope import estimate_slope
from freqlf.models.tiles import Tile, split_into_tiles

# Turns the mixture of a tile (B, K, h, w) into the maps to keep of it, (B, maps, h, w).
Reader = Callable[[Mixture], Tensor]


@torch.inference_mode()
def stream_aligned(model: AlignedFreqLF, half_lines: HalfLines, read: Reader, tile_px: int | None) -> Tensor:
    """The maps (B, maps, H, W) that `read` takes from the model's last mixture.

    tile_px: side of the tiles; None takes the image as one.
    """
    estimate_px, alternative_px = estimate_slope(half_lines.of_lines(model.slope_lines), model.slope, tile_px)
    maps = estimate_px
    for index, refine in enumerate(model.passes):
        assert isinstance(refine, RefinementPass)
        is_last = index == len(model.passes) - 1
        reader = read if is_last else _read_surfaces
        maps = _stream_pass(refine, half_lines, estimate_px, alternative_px, reader, tile_px)
        if not is_last:
            estimate_px, alternative_px = maps.split(1, dim=1)
    return maps


@torch.inference_mode()
def stream_epi(model: FreqLF, stacks: Mapping[str, Tensor], read: Reader, tile_px: int | None) -> Tensor:
    """The same for the paper's model: its streams see `reach_px` pixels around a tile."""
    horizontal, vertical = (stacks[line] for line in model.lines)
    H, W = horizontal.shape[-2:]
    encoder = model.encoder
    features = new_field(horizontal[:, 0], encoder.channels)
    for tile in split_into_tiles(H, W, tile_px):
        outer = tile.grown(encoder.reach_px, H, W)
        projected = encoder.project_streams(outer.of(horizontal), outer.of(vertical))
        tile.of(features).copy_(tile.inside(outer).of(projected))
    if isinstance(encoder.reweight, SqueezeExcitation):
        features.mul_(encoder.reweight.factors(features.mean(dim=(2, 3)))[:, :, None, None])
    # The lift is pointwise: of as many channels as the features have, its result can take their place.
    is_wider = model.lift.out_channels != encoder.channels
    field = new_field(features, model.lift.out_channels) if is_wider else features
    for tile in split_into_tiles(H, W, tile_px):
        tile.of(field).copy_(model.lift(tile.of(features)))
    del features
    for layer in model.layers:
        assert isinstance(layer, HybridLayer)
        stream_layer(layer, field, tile_px)
    return stream_decoder(model.decoder, field, None, read, tile_px)


def _read_surfaces(mixture: Mixture) -> Tensor:
    return torch.cat(split_surfaces(mixture), dim=1)


def _stream_pass(
    refine: RefinementPass,
    half_lines: HalfLines,
    estimate_px: Tensor,
    alternative_px: Tensor,
    read: Reader,
    tile_px: int | None,
) -> Tensor:
    hypotheses_px = surround(estimate_px, alternative_px, refine.windows_px)
    field = _stream_encoder(refine.encoder, half_lines, hypotheses_px, refine.relative_px, tile_px)
    for layer in refine.layers:
        assert isinstance(layer, HybridLayer)
        stream_layer(layer, field, tile_px)
    anchors_px = hypotheses_px[:, : refine.decoder.components]
    return stream_decoder(refine.decoder, field, anchors_px, read, tile_px, activation=gelu_of)


def _stream_encoder(
    encoder: HalfLineEncoder,
    half_lines: HalfLines,
    hypotheses_px: Tensor,
    relative_px: tuple[float, ...],
    tile_px: int | None,
) -> Tensor:
    H, W = hypotheses_px.shape[-2:]
    field = new_field(hypotheses_px, encoder.look.out_channels)
    for tile in split_into_tiles(H, W, tile_px):
        # First the pixels that the convolutions see, around them those that the evidence sees.
        seen = tile.grown(encoder.reach_px, H, W)
        outer = seen.grown(EVIDENCE_REACH_PX, H, W)
        window = half_lines.window(outer.y, outer.x, outer.height, outer.width)
        evidence = encoder.gather(window, outer.of(hypotheses_px), relative_px)
        features = encoder.features(evidence, seen.inside(outer))
        tile.of(field).copy_(tile.inside(seen).of(features))
    if encoder.squeeze is not None:
        # The mean over the field and the products, channel by channel: no second field is needed.
        field.mul_(encoder.squeeze.factors(field.mean(dim=(2, 3)))[:, :, None, None])
    return field


def stream_layer(layer: HybridLayer, field: Tensor, tile_px: int | None) -> None:
    """Put the layer's output for the whole field in the field's place."""
    H, W = field.shape[-2:]
    fourier = layer.fourier
    coefficients = None
    if fourier is not None:
        if fourier.field == "window":
            raise FreqLFError("the field option 'window' cannot be run in tiles; use 'index' or 'frequency'")
        for tile in split_into_tiles(H, W, tile_px):
            part = fourier.analyse(_contiguous(layer.activate(tile.of(field))), tile.y, tile.x, H, W)
            coefficients = part if coefficients is None else coefficients.add_(part)
        assert coefficients is not None
        coefficients = fourier.mix(coefficients, H, W)
    for tile, activated in _activate_before_writing(layer, field, tile_px):
        inner = tile.inside(tile.grown(layer.reach_px, H, W))
        update = _contiguous(inner.of(layer.convolve(activated))).to(field.dtype)  # autocast may have made it shorter
        if fourier is not None and coefficients is not None:
            fourier.synthesise(
                coefficients, tile.y, tile.x, tile.height, tile.width, H, W, channels_last=True, onto=update
            )
        tile.of(field).copy_(layer.finish(tile.of(field), update))


def _activate_before_writing(layer: HybridLayer, field: Tensor, tile_px: int | None) -> Iterator[tuple[Tile, Tensor]]:
    """Tiles to overwrite one after the other, each with what the layer's branches see of it and of pixels around it.

    A tile's neighbours above and to its left have been overwritten when it is its turn; the rows and the columns of
    theirs that it needs are kept aside.
    """
    H, W = field.shape[-2:]
    reach = layer.reach_px
    side_px = tile_px if tile_px is None else max(tile_px, reach)  # so that only direct neighbours are needed
    above = below = torch.empty_like(field[..., :reach, :])  # last rows of the tiles above, and of those that come next
    left = field[..., :reach]
    for tile in split_into_tiles(H, W, side_px):
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


def stream_decoder(
    decoder: Decoder,
    field: Tensor,
    anchors_px: Tensor | None,
    read: Reader,
    tile_px: int | None,
    activation: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """The maps that `read` takes from the decoder's mixtures, for the whole field."""
    H, W = field.shape[-2:]
    coordinates = make_grid(H, W, field).unsqueeze(0)
    maps: Tensor | None = None
    for tile in split_into_tiles(H, W, tile_px):
        features = tile.of(field) if activation is None else activation(tile.of(field))
        anchors = None if anchors_px is None else tile.of(anchors_px)
        values = read(decoder.decode(features, tile.of(coordinates), anchors))
        if maps is None:
            maps = values.new_empty(values.shape[0], values.shape[1], H, W)
        tile.of(maps).copy_(values)
    assert maps is not None
    return maps


def new_field(like: Tensor, channels: int) -> Tensor:
    """An uninitialised field (B, channels, H, W) of the height and width of `like`, in channels_last format."""
    B, _, H, W = like.shape
    return torch.empty(B, channels, H, W, dtype=like.dtype, device=like.device, memory_format=torch.channels_last)


def _contiguous(tile: Tensor) -> Tensor:
    return tile.contiguous(memory_format=torch.channels_last)
