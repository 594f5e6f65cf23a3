"""How fast the networks are on this machine, as ratios to what the machine itself can do.

Times on a shared machine wander, so everything compared is measured in one run, alternating, and the ratio of
the best times is what counts.
"""

import multiprocessing
import multiprocessing.connection
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

import numpy as np
import torch
from torch import Tensor

from freqlf.errors import FreqLFError
from freqlf.inference.estimate import Estimator
from freqlf.inference.memory import peak_memory_mb
from freqlf.lightfield import LightField
from freqlf.models.build import build_model
from freqlf.models.complexity import count_multiply_adds
from freqlf.models.config import find_preset
from freqlf.models.spectral import SpectralConv2d
from freqlf.provenance import describe_run

VIEWS = 9
_GEMM_SIZE = 2048

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


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


@dataclass(frozen=True)
class PresetTiming:
    """Estimates with a preset on a light field of noise, without reading the views.

    Attributes:
        repeats: how many times each was measured; the best time counts.
        tiled_s: in tiles, as `freqlf estimate` computes.
        whole_s: the image in one piece.
        multiply_adds: of convolutions and matrix products, for the image in one piece.
        gemm_gflops: what a large matrix product achieves here, measured in turns with the estimates.
    """

    preset: str
    size_px: int
    repeats: int
    tiled_s: float
    whole_s: float
    multiply_adds: int
    gemm_gflops: float

    @property
    def gflops(self) -> float:
        """Achieved rate in tiles, 10^9 operations per second over all of the time, pointwise passes included."""
        return 2e-9 * self.multiply_adds / self.tiled_s

    @property
    def share_of_gemm(self) -> float:
        """The achieved rate as a share of what a large matrix product achieves here."""
        return self.gflops / self.gemm_gflops


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


def time_spectral(channels: int, size_px: int, repeats: int) -> SpectralTiming:
    """Compare the two ways through the Fourier branch."""
    layer = SpectralConv2d(channels)
    field = torch.randn(1, channels, size_px, size_px)
    fast = field.contiguous(memory_format=torch.channels_last)  # each path gets the layout it likes
    times = best_times({"truncated": lambda: layer(fast), "fft": lambda: layer.forward_fft(field)}, repeats)
    return SpectralTiming(channels, size_px, times["truncated"], times["fft"])


def time_preset(preset: str, size_px: int, repeats: int) -> PresetTiming:
    """Time a preset's estimates in tiles and in one piece, beside a matrix product, all taking turns."""
    model = build_model(find_preset(preset)).eval()
    multiply_adds = count_multiply_adds(model, random_stacks(model.lines, size_px))  # warms everything up as well
    estimator, light_field = Estimator(preset, model), random_light_field(model.lines, size_px)
    left = torch.randn(_GEMM_SIZE, _GEMM_SIZE)
    tiled_s, whole_s, gemm_s = [], [], []
    for _ in range(repeats):
        tiled_s.append(estimator(light_field).seconds)
        whole_s.append(estimator(light_field, tile_px=size_px).seconds)
        gemm_s.append(best_times({"gemm": lambda: left @ left}, 2)["gemm"])
    gemm_gflops = 2e-9 * _GEMM_SIZE**3 / min(gemm_s)
    return PresetTiming(preset, size_px, repeats, min(tiled_s), min(whole_s), multiply_adds, gemm_gflops)


def choose_repeats(repeats: int, size_px: int) -> int:
    """So many up to 512 x 512 pixels, and of larger images as many as take about as long; at least two if asked."""
    fewer = round(repeats * min(1.0, (512 / size_px) ** 2))
    return max(fewer, min(repeats, 2))


def describe_hardware(device: str = "cpu") -> str:
    """What computes, and with how many threads."""
    if device == "cuda":
        return str(torch.cuda.get_device_name())
    threads = torch.get_num_threads()
    return f"{describe_run()['cpu']}, {threads} thread{'s' if threads > 1 else ''}"


def random_stacks(lines: Sequence[str], size_px: int) -> dict[str, Tensor]:
    """A light field of noise as network input: the cost does not depend on what is in the picture."""
    generator = torch.Generator().manual_seed(0)
    centre = torch.rand(1, 3, size_px, size_px, generator=generator)
    stacks = {line: torch.rand(1, VIEWS, 3, size_px, size_px, generator=generator) for line in lines}
    for stack in stacks.values():
        stack[:, VIEWS // 2] = centre
    return stacks


def random_light_field(lines: Sequence[str], size_px: int) -> LightField:
    """9 x 9 views of noise, of which there are those on the lines."""
    generator = np.random.default_rng(0)
    grid = LightField(VIEWS, VIEWS, {})
    views = {view for line in lines for view in grid.line(line)}
    pixels = {view: generator.integers(0, 256, (size_px, size_px, 3), np.uint8) for view in sorted(views)}
    return LightField(VIEWS, VIEWS, pixels)


def measure_peak_mb(preset: str, size_px: int, *, whole: bool = False) -> float:
    """Peak memory of a fresh process that makes one estimate: Python, torch, weights and views included."""
    return run_in_fresh_process(_peak_of_estimate_mb, preset, size_px, whole)


def _peak_of_estimate_mb(preset: str, size_px: int, whole: bool) -> float:
    model = build_model(find_preset(preset)).eval()
    Estimator(preset, model)(random_light_field(model.lines, size_px), size_px if whole else None)
    return peak_memory_mb()


def run_in_fresh_process(
    measure: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Result:
    """What `measure` returns in a process with nothing in memory yet, and as many threads as here.

    `measure` must be a function of a module, for the process to find it.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_result, args=(sender, torch.get_num_threads(), measure, args, kwargs))
    process.start()
    sender.close()
    try:
        result, mistake = receiver.recv()
    except EOFError:
        process.join()
        raise FreqLFError(
            f"a process that measured memory ended without a result (code {process.exitcode}); "
            "if memory ran out, choose smaller images"
        ) from None
    process.join()
    if mistake is not None:
        raise FreqLFError(f"a measurement failed: {mistake}")
    return result


def _send_result(
    sender: multiprocessing.connection.Connection,
    threads: int,
    measure: Callable[..., object],
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> None:
    torch.set_num_threads(threads)
    try:
        sender.send((measure(*args, **kwargs), None))
    except (FreqLFError, MemoryError, RuntimeError) as error:  # torch says with the last that memory ran out
        sender.send((None, (str(error) or type(error).__name__).splitlines()[0]))
