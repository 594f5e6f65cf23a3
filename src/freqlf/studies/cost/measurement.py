"""Time and memory of one estimate, beside what the machine itself can do.

Times on a shared machine wander, so the estimates take turns with a large matrix product: the ratio counts.
"""

import multiprocessing
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ParamSpec, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from freqlf.errors import FreqLFError
from freqlf.inference.compute import ComputeOptions, Device
from freqlf.inference.estimate import Estimator
from freqlf.inference.memory import held_memory_mb, peak_memory_mb
from freqlf.lightfield import LightField, list_views
from freqlf.models.build import build_model
from freqlf.models.complexity import count_multiply_adds
from freqlf.models.presets import find_preset
from freqlf.models.slope import SlopeModel
from freqlf.models.spectral import SpectralConv2d
from freqlf.models.views import read_stacks
from freqlf.provenance import describe_run
from freqlf.weights.calibration import Calibration
from freqlf.weights.registry import SLOPE

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

VIEWS = 9
# What protocols say about every measurement.
PROTOCOL = {
    "warm_up": 1,
    "weights": "untrained: the cost does not depend on them; intervals by a calibration, as packaged weights have one",
    "time": "of the model, without reading the views, in seconds",
    "memory": "peak_mb: on CUDA the most that was allocated there; else the process's peak above Python, torch and "
    "the weights, with the views in it; process_mb: the process's whole peak",
    "process": "a fresh one for every model and size",
}
_GEMM_SIZE = 2048
_STREAM, _MERGED = 70, 280  # channels of the yardstick
_COUNTED_PX = 128  # multiply-adds are counted on a small image; they grow with the number of pixels


@dataclass(frozen=True)
class Cost:
    """What one estimate takes.

    Attributes:
        model: a preset, or "slope".
        size_px: side of the square image.
        whole: computed in one piece, not in the tiles that the estimator chooses.
        seconds: of each repeat, after one to warm up; without reading the views.
        peak_mb: on CUDA, the most that was allocated there, weights and views included; else the process's peak
            above what Python, torch and the weights take.
        process_mb: the process's peak, Python, torch and weights included.
        multiply_adds: of the network's convolutions and matrix products; 0 if there is no network.
        gemm_gflops: 10^9 operations per second of a large matrix product, measured in turns with the estimates.
        yardstick_s: of a network of EPINET's size on an image of this size, in turns as well, from a strip of it.
        stages_s: of each stage of one more estimate, all layers together; see `Estimator.time_stages`.
    """

    model: str
    size_px: int
    whole: bool
    seconds: tuple[float, ...]
    peak_mb: float
    process_mb: float | None = None
    multiply_adds: int = 0
    gemm_gflops: float | None = None
    yardstick_s: float | None = None
    stages_s: dict[str, float] = field(default_factory=dict)

    @property
    def mean_s(self) -> float | None:
        """The mean over the repeats; None if there were none."""
        return float(np.mean(self.seconds)) if self.seconds else None

    @property
    def deviation_s(self) -> float | None:
        """The standard deviation of the repeats."""
        return float(np.std(self.seconds)) if self.seconds else None

    @property
    def best_s(self) -> float | None:
        """The shortest repeat."""
        return min(self.seconds, default=None)

    @property
    def gflops(self) -> float | None:
        """10^9 operations per second of the best repeat, over all of its time, pointwise passes included."""
        return None if self.best_s is None or not self.multiply_adds else 2e-9 * self.multiply_adds / self.best_s

    @property
    def share_of_gemm(self) -> float | None:
        """The achieved rate as a share of the matrix product's."""
        return None if self.gflops is None or self.gemm_gflops is None else self.gflops / self.gemm_gflops

    @property
    def times_faster(self) -> float | None:
        """Than the network of EPINET's size."""
        return None if self.best_s is None or self.yardstick_s is None else self.yardstick_s / self.best_s

    def values(self) -> dict[str, object]:
        """Everything, for JSON."""
        derived = ("mean_s", "deviation_s", "best_s", "gflops", "share_of_gemm", "times_faster")
        return vars(self) | {name: getattr(self, name) for name in derived}


def measure_cost(model: str, size_px: int, repeats: int, *, whole: bool = False, device: Device = "cpu") -> Cost:
    """In a fresh process: one estimate to warm up, whose peak memory is measured, and `repeats` that are timed.

    model: a preset, with untrained weights, or "slope": the cost depends neither on the weights nor on the picture.
    """
    return run_in_fresh_process(_measure_here, model, size_px, repeats, whole, device)


def run_in_fresh_process(
    measure: Callable[Arguments, Result], *args: Arguments.args, **options: Arguments.kwargs
) -> Result:
    """What `measure` returns in a process with nothing in memory yet, and as many threads as here.

    A peak of memory is only true in a process that has done nothing else. `measure` must be a function of a module, for
    the process to find it.
    """
    context, threads = multiprocessing.get_context("spawn"), torch.get_num_threads()
    with ProcessPoolExecutor(1, context, torch.set_num_threads, (threads,)) as pool:
        try:
            return pool.submit(measure, *args, **options).result()
        except BrokenProcessPool:
            raise FreqLFError(
                "a measuring process ended without a result; if memory ran out, choose smaller images"
            ) from None
        except (FreqLFError, MemoryError, RuntimeError) as error:  # torch says with the last that memory ran out
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise FreqLFError(f"a measurement failed: {reason}") from error


def _measure_here(model: str, size_px: int, repeats: int, whole: bool, device: Device) -> Cost:
    network = SlopeModel() if model == SLOPE else build_model(find_preset(model)).eval()
    # As of trained weights: intervals of uncalibrated mixtures are found by bisection, which takes longer.
    estimator = Estimator(model, network, calibration=Calibration(), compute=ComputeOptions(device))
    lines = estimator.lines
    estimator.run(random_light_field(lines, 32))  # loads the kernels' libraries
    is_cuda = torch.device(device).type == "cuda"
    before_mb = held_memory_mb()
    if is_cuda:
        torch.cuda.reset_peak_memory_stats()
    light_field = random_light_field(lines, size_px)
    tile_px = size_px if whole else None
    estimator.run(light_field, tile_px)
    process_mb = peak_memory_mb()
    peak_mb = torch.cuda.max_memory_allocated() / 1e6 if is_cuda else process_mb - before_mb
    seconds, gemm_s, strip_s = [], [], []
    yardstick, strip = Yardstick().to(device), make_strip(size_px).to(device)
    factor = torch.randn(_GEMM_SIZE, _GEMM_SIZE, device=device)
    for _ in range(repeats):
        seconds.append(estimator.run(light_field, tile_px).seconds)
        gemm_s.append(best_times({"gemm": lambda: (factor @ factor)[0, 0].item()}, 2)["gemm"])
        strip_s.append(best_times({"strip": lambda: yardstick(strip)[0, 0, 0, 0].item()}, 1)["strip"])
    gemm_gflops = 2e-9 * _GEMM_SIZE**3 / min(gemm_s) if gemm_s else None
    multiply_adds, yardstick_s = 0, None
    stages_s: dict[str, float] = {}
    if repeats:
        yardstick_s = min(strip_s) * size_px / strip.shape[-2]
        for stage, spent_s in estimator.time_stages(light_field, tile_px).items():
            name = re.sub(r"layer [^,]+", "layers", stage)
            stages_s[name] = stages_s.get(name, 0.0) + spent_s
        stacks = read_stacks(random_light_field(lines, _COUNTED_PX), lines, estimator.device)
        multiply_adds = round(count_multiply_adds(network, stacks) * (size_px / _COUNTED_PX) ** 2)
    return Cost(
        *(model, size_px, whole, tuple(seconds), peak_mb, process_mb, multiply_adds, gemm_gflops, yardstick_s, stages_s)
    )


class Yardstick(nn.Module):
    """A network of EPINET's size (Shin et al., CVPR 2018), to measure others by: untrained, for its time only.

    Four stacks (B, 9, H, W) to a map (B, 1, H, W). As published, it has four streams of 9 grey views with three blocks
    of 70 channels and eight blocks of 280 after them; a block is two 2x2 convolutions with ReLU. Its normalisation
    is left out, as it can be folded into the weights.
    """

    def __init__(self) -> None:
        super().__init__()
        widths = (VIEWS, _STREAM, _STREAM, _STREAM)
        self.streams = nn.ModuleList(_chain(widths) for _ in range(4))
        self.merged = _chain((_MERGED,) * 8)
        self.last = nn.Sequential(_block(_MERGED, _MERGED)[:2], nn.Conv2d(_MERGED, 1, 2))

    def forward(self, stack: Tensor) -> Tensor:
        """All streams see the same stack: their time is that of four."""
        stack = stack.contiguous(memory_format=torch.channels_last)
        return self.last(self.merged(torch.cat([stream(stack) for stream in self.streams], dim=1)))


def make_strip(size_px: int) -> Tensor:
    """A sixteenth of the rows of a square image: the time grows with the pixels, and a whole image takes minutes."""
    return torch.rand(1, VIEWS, max(8, size_px // 16), size_px)


def _chain(widths: tuple[int, ...]) -> nn.Sequential:
    return nn.Sequential(*(_block(*pair) for pair in pairwise(widths)))


def _block(inputs: int, outputs: int) -> nn.Sequential:
    """Larger by a pixel after the first convolution, and of the same size again after the second."""
    first, second = nn.Conv2d(inputs, outputs, 2, padding=1), nn.Conv2d(outputs, outputs, 2)
    return nn.Sequential(first, nn.ReLU(inplace=True), second, nn.ReLU(inplace=True))


@dataclass(frozen=True)
class SpectralTiming:
    """The Fourier branch by truncated transforms against the same by FFTs, in seconds."""

    channels: int
    size_px: int
    truncated_s: float
    fft_s: float

    @property
    def speedup(self) -> float:
        """How many times faster the truncated transforms are."""
        return self.fft_s / self.truncated_s


def time_spectral(channels: int, size_px: int, repeats: int) -> SpectralTiming:
    """Compare the two ways through the Fourier branch."""
    layer = SpectralConv2d(channels)
    field = torch.randn(1, channels, size_px, size_px)
    fast = field.contiguous(memory_format=torch.channels_last)  # each path gets the layout it likes
    times = best_times({"truncated": lambda: layer(fast), "fft": lambda: layer.forward_fft(field)}, repeats)
    return SpectralTiming(channels, size_px, times["truncated"], times["fft"])


def best_times(calls: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Best of `repeats` times of each call in seconds, after one to warm up; the calls take turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    with torch.inference_mode():
        for turn in range(repeats + 1):
            for name, call in calls.items():
                start = time.perf_counter()
                call()
                if turn > 0:
                    times[name].append(time.perf_counter() - start)
    return {name: min(values) for name, values in times.items()}


def random_light_field(lines: Sequence[str], size_px: int) -> LightField:
    """9 x 9 views of noise, of which there are those on the lines."""
    generator = np.random.default_rng(0)
    size = (size_px, size_px, 3)
    pixels = {view: generator.integers(0, 256, size, np.uint8) for view in list_views(VIEWS, VIEWS, lines)}
    return LightField(VIEWS, VIEWS, pixels)


def describe_hardware(device: str = "cpu") -> str:
    """What computes, and with how many threads."""
    if device == "cuda":
        return str(torch.cuda.get_device_name())
    threads = torch.get_num_threads()
    return f"{describe_run()['cpu']}, {threads} thread{'s' if threads > 1 else ''}"
