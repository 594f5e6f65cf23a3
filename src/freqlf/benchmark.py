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

import torch
from torch import Tensor

from freqlf.config import find_preset
from freqlf.errors import FreqLFError
from freqlf.memory import held_memory_mb, peak_memory_mb
from freqlf.nn.build import build_model
from freqlf.nn.complexity import count_multiply_adds
from freqlf.nn.spectral import SpectralConv2d

VIEWS = 9

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
    """One forward pass of a preset on a light field of random pixels."""

    preset: str
    size_px: int
    seconds: float
    multiply_adds: int
    peak_mb: float
    gemm_gflops: float

    @property
    def gflops(self) -> float:
        """Achieved rate in 10^9 operations per second, over all of the time, pointwise passes included."""
        return 2e-9 * self.multiply_adds / self.seconds

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
    """Time a preset's forward pass beside a matrix product, and measure its memory in a process of its own."""
    model = build_model(find_preset(preset)).eval()
    stacks = random_stacks(model.lines, size_px)
    left = torch.randn(2048, 2048)
    times = best_times({"model": lambda: model(stacks), "gemm": lambda: left @ left}, repeats)
    gemm_gflops = 2e-9 * 2048**3 / times["gemm"]
    multiply_adds = count_multiply_adds(model, stacks)
    peak_mb = measure_peak_mb(preset, size_px)
    return PresetTiming(preset, size_px, times["model"], multiply_adds, peak_mb, gemm_gflops)


def random_stacks(lines: Sequence[str], size_px: int) -> dict[str, Tensor]:
    """A light field of noise as network input: the cost does not depend on what is in the picture."""
    generator = torch.Generator().manual_seed(0)
    centre = torch.rand(1, 3, size_px, size_px, generator=generator)
    stacks = {line: torch.rand(1, VIEWS, 3, size_px, size_px, generator=generator) for line in lines}
    for stack in stacks.values():
        stack[:, VIEWS // 2] = centre
    return stacks


def measure_peak_mb(preset: str, size_px: int) -> float:
    """Peak memory of one forward pass in a fresh process, above what Python and torch take by themselves."""
    return run_in_fresh_process(_peak_of_forward_mb, preset, size_px)


def _peak_of_forward_mb(preset: str, size_px: int) -> float:
    model = build_model(find_preset(preset)).eval()
    with torch.inference_mode():
        model(random_stacks(model.lines, 32))  # loads the kernels' libraries
        before_mb = held_memory_mb()
        model(random_stacks(model.lines, size_px))
    return peak_memory_mb() - before_mb


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
