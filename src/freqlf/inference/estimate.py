"""From a light field to disparity: arrays in, arrays out; memory and threads are looked after.

>>> from freqlf.inference.estimate import load_estimator
>>> estimator = load_estimator("slope")
>>> estimate = estimator(light_field)
>>> estimate.disparity_px  # (H, W), pixels per view step, positive nearer than the focus plane
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from freqlf.errors import FreqLFError
from freqlf.inference.compute import ComputeOptions, choose_device
from freqlf.inference.denormals import flush_denormals
from freqlf.inference.footprint import Footprint
from freqlf.inference.memory import default_limit_bytes, held_memory_mb
from freqlf.inference.streaming import stream_aligned, stream_epi
from freqlf.lightfield import LightField
from freqlf.models.aligned import AlignedFreqLF
from freqlf.models.compilation import compile_stages
from freqlf.models.config import EPI_LINES
from freqlf.models.halflines import HalfLines
from freqlf.models.mixture import Mixture
from freqlf.models.paper import FreqLF
from freqlf.models.slope import SlopeOptions, estimate_slope
from freqlf.models.views import read_half_lines, read_stacks
from freqlf.weights.calibration import Calibration
from freqlf.weights.load import SLOPE, load_calibrated
from freqlf.weights.registry import WEIGHTS

Map = NDArray[np.float32]

# The best packaged weights there are; without any, what needs none.
DEFAULT_MODEL = next((name for name in ("freqlf-plus-small", "freqlf-small") if name in WEIGHTS), SLOPE)

# The chance that the true disparity lies between the two ends of the interval that an estimate reports.
INTERVAL = 0.9


@dataclass(frozen=True)
class Estimate:
    """What is known about the central view's disparity, maps (H, W) in pixels per view step.

    Attributes:
        disparity_px: the sharpened mean of the mixture: commits to a surface, keeps sub-pixel precision.
        mean_px: the mixture's mean, the paper's estimate; it hedges where two surfaces compete.
        deviation_px: the mixture's standard deviation; None if the model knows none.
        lower_px, upper_px: bounds of an interval that holds the true disparity with a chance of 90 %; None likewise.
        model: name of the weights.
        seconds: time for the network, without reading the views.
        tile_px: side of the tiles it was computed in; None if in one piece.
        memory_bytes: what the process was allowed to hold; None if the tiles were given.
        calibration: what made the interval, which is then around `disparity_px`; None if it is the central 90 % of the
            mixture, as predicted.
    """

    disparity_px: Map
    mean_px: Map
    deviation_px: Map | None
    lower_px: Map | None
    upper_px: Map | None
    model: str
    seconds: float
    tile_px: int | None
    memory_bytes: int | None = None
    calibration: Calibration | None = None


class Estimator:
    """A network (or the learning-free slope field) ready to be called on light fields."""

    def __init__(
        self,
        name: str,
        model: AlignedFreqLF | FreqLF | None,
        memory_bytes: int | None = None,
        calibration: Calibration | None = None,
        device: torch.device | None = None,
        precision: str = "fp32",
    ) -> None:
        """`model` None is the slope field.

        device: where to compute; the model moves there. None leaves it where it is.
        precision: see `ComputeOptions`.
        memory_bytes: what the process may hold at most, all that it holds already included (on CUDA: what it may
            allocate there); None allows half of what is free. Tiles are made to fit, results stay the same.
        """
        self.name = name
        self.model = model
        self.lines: Sequence[str] = EPI_LINES if model is None else model.lines
        self.memory_bytes = memory_bytes
        self.calibration = calibration
        if device is not None and model is not None:
            model.to(device)
        elif device is None:
            device = torch.device("cpu") if model is None else next(model.parameters()).device
        self.device, self.precision = device, precision

    @flush_denormals()
    @torch.inference_mode()
    def __call__(self, light_field: LightField, tile_px: int | None = None) -> Estimate:
        """Estimate the central view's disparity; `tile_px` overrides what memory allows.

        The light field forgets its views, all but the central one: it reads them again if somebody asks.
        """
        height, width = light_field.height, light_field.width
        footprint = Footprint.of(self.model, sum(len(light_field.line(line)) for line in self.lines))
        limit_bytes = None if tile_px is not None else self._limit_bytes()
        if limit_bytes is not None:
            footprint.require(height, width, limit_bytes)
        views = self._read_views(light_field)
        start = time.perf_counter()
        if limit_bytes is not None:
            tile_px = footprint.choose_tile_px(height, width, limit_bytes, self._held_bytes())
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16"):
            maps = self._infer(views, tile_px)[0].cpu().numpy()  # maps, H, W
        seconds = time.perf_counter() - start
        tile = tile_px if tile_px is not None and tile_px < max(height, width) else None
        if len(maps) == 1:
            return Estimate(maps[0], maps[0], None, None, None, self.name, seconds, tile, limit_bytes)
        disparity, mean, deviation = maps[:3]
        if self.calibration is None:
            lower, upper = maps[3:]
        else:  # pixel by pixel, so tiles do not matter here either
            half_width = self.calibration.half_width_px(deviation, INTERVAL)
            lower, upper = disparity - half_width, disparity + half_width
        return Estimate(
            disparity, mean, deviation, lower, upper, self.name, seconds, tile, limit_bytes, self.calibration
        )

    def _limit_bytes(self) -> int:
        if self.memory_bytes is not None:
            return self.memory_bytes
        if self.device.type == "cuda":
            return self._held_bytes() + torch.cuda.mem_get_info(self.device)[0] // 2
        return default_limit_bytes()

    def _held_bytes(self) -> int:
        if self.device.type == "cuda":
            return torch.cuda.memory_allocated(self.device)
        return int(held_memory_mb() * 1e6)

    def _read_views(self, light_field: LightField) -> dict[str, Tensor] | HalfLines:
        """The views as the model wants them: stacks for the paper's, half-lines for the others."""
        if isinstance(self.model, FreqLF):
            stacks = read_stacks(light_field, self.lines, forget=True)
            return {line: stack.to(self.device) for line, stack in stacks.items()}
        half_lines = read_half_lines(light_field, self.lines, forget=True)
        return replace(half_lines, centre=half_lines.centre.to(self.device), views=half_lines.views.to(self.device))

    def _infer(self, views: dict[str, Tensor] | HalfLines, tile_px: int | None) -> Tensor:
        if isinstance(views, HalfLines):
            assert not isinstance(self.model, FreqLF)
            if self.model is None:
                return estimate_slope(views, SlopeOptions(), tile_px).slope_px
            return stream_aligned(self.model, views, self._read_maps, tile_px)
        assert isinstance(self.model, FreqLF)
        return stream_epi(self.model, views, self._read_maps, tile_px)

    def _read_maps(self, mixture: Mixture) -> Tensor:
        """The maps of an `Estimate`, in its order, (B, 5, h, w); (B, 3, h, w) if a calibration makes the interval."""
        maps = [mixture.sharpened_mean(), mixture.mean(), mixture.variance().sqrt()]
        if self.calibration is None:
            tail = (1 - INTERVAL) / 2
            maps += [mixture.quantile(tail), mixture.quantile(1 - tail)]
        return torch.stack(maps, dim=1)


def load_estimator(
    model: str | Path = DEFAULT_MODEL,
    memory_bytes: int | None = None,
    *,
    calibrated: bool = True,
    compute: ComputeOptions = ComputeOptions(),  # noqa: B008
) -> Estimator:
    """An estimator with packaged weights (by name), a weight file, a training checkpoint, or "slope".

    calibrated: apply the calibration that the weights carry, if any, to the intervals; else they are as predicted.
    """
    device = choose_device(compute.device)
    if str(model) == SLOPE:
        return Estimator(SLOPE, None, memory_bytes, device=device)
    network, calibration = load_calibrated(model)
    if compute.compile:
        compile_stages(network)
    return Estimator(str(model), network, memory_bytes, calibration if calibrated else None, device, compute.precision)


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


def parse_bytes(text: str) -> int:
    """2GB, 800 MB or a plain number of bytes."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?)i?b?\s*", text.lower())
    if match is None or float(match[1]) <= 0:
        raise FreqLFError(f"memory must be a size such as 2GB or 800MB, not {text!r}")
    return int(float(match[1]) * 1000 ** " kmgt".index(match[2] or " "))
