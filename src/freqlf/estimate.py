"""From a light field to disparity: arrays in, arrays out; memory and threads are looked after.

>>> from freqlf.estimate import load_estimator
>>> estimator = load_estimator("slope")
>>> estimate = estimator(light_field)
>>> estimate.disparity_px  # (H, W), pixels per view step, positive nearer than the focus plane
"""

import math
import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from freqlf.config import EPI_LINES
from freqlf.errors import FreqLFError
from freqlf.lightfield import LightField
from freqlf.nn.aligned import AlignedFreqLF
from freqlf.nn.denormals import flush_denormals
from freqlf.nn.halflines import HalfLines
from freqlf.nn.hybrid import HybridLayer
from freqlf.nn.mixture import Mixture
from freqlf.nn.model import FreqLF
from freqlf.nn.slope import SlopeOptions, estimate_slope
from freqlf.nn.streaming import stream_aligned, stream_epi
from freqlf.weights.load import SLOPE, load_model
from freqlf.weights.registry import WEIGHTS

Map = NDArray[np.float32]

# The best packaged weights there are; without any, what needs none.
DEFAULT_MODEL = next((name for name in ("freqlf-plus-small", "freqlf-small") if name in WEIGHTS), SLOPE)

# The share of the mixture between the two ends of the interval that an estimate reports.
INTERVAL = 0.9


@dataclass(frozen=True)
class Estimate:
    """What is known about the central view's disparity, maps (H, W) in pixels per view step.

    Attributes:
        disparity_px: the sharpened mean of the mixture: commits to a surface, keeps sub-pixel precision.
        mean_px: the mixture's mean, the paper's estimate; it hedges where two surfaces compete.
        deviation_px: the mixture's standard deviation; None if the model knows none.
        lower_px, upper_px: bounds of the central 90 % of the mixture; None likewise.
        model: name of the weights.
        seconds: time for the network, without reading the views.
        tile_px: side of the tiles it was computed in; None if in one piece.
    """

    disparity_px: Map
    mean_px: Map
    deviation_px: Map | None
    lower_px: Map | None
    upper_px: Map | None
    model: str
    seconds: float
    tile_px: int | None


class Estimator:
    """A network (or the learning-free slope field) ready to be called on light fields."""

    def __init__(self, name: str, model: AlignedFreqLF | FreqLF | None, memory_bytes: int | None = None) -> None:
        """`model` None is the slope field; `memory_bytes` limits what an estimate takes beside the views."""
        self.name = name
        self.model = model
        self.lines: Sequence[str] = EPI_LINES if model is None else model.lines
        self.memory_bytes = memory_bytes

    @property
    def device(self) -> torch.device:
        """Where the estimate is computed: where the model's weights are."""
        return torch.device("cpu") if self.model is None else next(self.model.parameters()).device

    @flush_denormals()
    @torch.inference_mode()
    def __call__(self, light_field: LightField, tile_px: int | None = None) -> Estimate:
        """Estimate the central view's disparity; `tile_px` overrides what memory allows."""
        stacks = {line: stack.to(self.device) for line, stack in read_stacks(light_field, self.lines).items()}
        start = time.perf_counter()
        height, width = light_field.height, light_field.width
        if tile_px is None:
            tile_px = choose_tile_px(self.model, height, width, self.memory_bytes)
        maps = self._infer(stacks, tile_px)[0].cpu().numpy()  # maps, H, W
        seconds = time.perf_counter() - start
        tile = tile_px if tile_px is not None and tile_px < max(height, width) else None
        if len(maps) == 1:
            return Estimate(maps[0], maps[0], None, None, None, self.name, seconds, tile)
        disparity, mean, deviation, lower, upper = maps
        return Estimate(disparity, mean, deviation, lower, upper, self.name, seconds, tile)

    def _infer(self, stacks: dict[str, Tensor], tile_px: int | None) -> Tensor:
        if isinstance(self.model, FreqLF):
            return stream_epi(self.model, stacks, _read_maps, tile_px)
        half_lines = HalfLines.from_stacks(stacks, self.lines)
        stacks.clear()  # the views are packed now; do not hold them twice
        if self.model is None:
            return estimate_slope(half_lines, SlopeOptions(), tile_px).slope_px
        return stream_aligned(self.model, half_lines, _read_maps, tile_px)


def _read_maps(mixture: Mixture) -> Tensor:
    """The maps of an `Estimate`, in its order, (B, 5, h, w)."""
    tail = (1 - INTERVAL) / 2
    maps = (
        mixture.sharpened_mean(),
        mixture.mean(),
        mixture.variance().sqrt(),
        mixture.quantile(tail),
        mixture.quantile(1 - tail),
    )
    return torch.stack(maps, dim=1)


def load_estimator(model: str | Path = DEFAULT_MODEL, memory_bytes: int | None = None) -> Estimator:
    """An estimator with packaged weights (by name), a weight file, a training checkpoint, or "slope"."""
    if str(model) == SLOPE:
        return Estimator(SLOPE, None, memory_bytes)
    return Estimator(str(model), load_model(model), memory_bytes)


def shift_estimate(estimate: Estimate, by_px: float) -> Estimate:
    """The estimate of the light field sheared by as much: all disparities move, deviations stay."""

    def shift(values: Map | None) -> Map | None:
        return None if values is None else values + np.float32(by_px)

    return replace(
        estimate,
        disparity_px=estimate.disparity_px + np.float32(by_px),
        mean_px=estimate.mean_px + np.float32(by_px),
        lower_px=shift(estimate.lower_px),
        upper_px=shift(estimate.upper_px),
    )


def estimate(light_field: LightField, model: str | Path = DEFAULT_MODEL, memory_bytes: int | None = None) -> Estimate:
    """Estimate the disparity of one light field; for several, keep the estimator."""
    return load_estimator(model, memory_bytes)(light_field)


def read_stacks(light_field: LightField, lines: Sequence[str]) -> dict[str, Tensor]:
    """Network input: the name of each line to (1, A, 3, H, W) in [0, 1]. Views are decoded in parallel."""
    missing = [(u, v) for line in lines for u, v in light_field.line(line) if not light_field.has_view(u, v)]
    if missing:
        raise FreqLFError(
            f"the model needs the views of the {', '.join(lines)} line; view {missing[0]} is missing"
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
        )
    wanted = list(dict.fromkeys(view for line in lines for view in light_field.line(line)))
    light_field.centre_view()  # the first view sets the size that the others are checked against
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda view: light_field.view(*view), wanted))
    stacks: dict[str, Tensor] = {}
    for line in lines:
        views = light_field.line(line)
        stack = torch.empty(1, len(views), 3, light_field.height, light_field.width)
        for index, (u, v) in enumerate(views):
            stack[0, index] = torch.from_numpy(light_field.view(u, v).transpose(2, 0, 1).copy())
        stacks[line] = stack
    return stacks


# Bytes per pixel of a tile that its intermediate results take: the growth of the measured peak from 128- to
# 384-pixel tiles was 1,200 for freqlf-small, 2,200 for freqlf-plus-small and 3,600 for freqlf.
_TILE_BYTES_PER_PX = 4_000
_SMALLEST_TILE_PX = 64
# Larger tiles are no faster: their intermediate results no longer fit into a CPU's caches.
_LARGEST_TILE_PX = 256


def choose_tile_px(model: AlignedFreqLF | FreqLF | None, height: int, width: int, memory_bytes: int | None) -> int:
    """The side of the tiles: as large as is useful, and as fits into the memory beside the image's own fields."""
    if memory_bytes is None:
        return _LARGEST_TILE_PX
    layers = [] if model is None else [part for part in model.modules() if isinstance(part, HybridLayer)]
    channels = max((layer.channels for layer in layers), default=1)
    whole = 4 * height * width * (2 * channels + 16)  # two latent fields and a few maps
    side_px = math.isqrt(max(memory_bytes - whole, 0) // _TILE_BYTES_PER_PX)
    if side_px < _SMALLEST_TILE_PX:
        needed = whole + _TILE_BYTES_PER_PX * _SMALLEST_TILE_PX**2
        raise FreqLFError(
            f"an image of {width} x {height} pixels needs at least {needed / 1e9:.1f} GB with this model, "
            f"not {memory_bytes / 1e9:.1f} GB; allow more memory or scale the light field down"
        )
    return min(side_px, _LARGEST_TILE_PX)


def parse_bytes(text: str) -> int:
    """2GB, 800 MB or a plain number of bytes."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?)i?b?\s*", text.lower())
    if match is None or float(match[1]) <= 0:
        raise FreqLFError(f"memory must be a size such as 2GB or 800MB, not {text!r}")
    return int(float(match[1]) * 1000 ** " kmgt".index(match[2] or " "))
