"""How time and memory of an estimate grow with the image: the paper's protocol, beside the paper's numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from freqlf.evaluation.literature import read_reference
from freqlf.evaluation.tables import Row, Table, format_number
from freqlf.inference.estimate import Estimator
from freqlf.inference.memory import held_memory_mb, peak_memory_mb
from freqlf.models.build import build_model
from freqlf.models.config import find_preset
from freqlf.studies.benchmark import random_light_field
from freqlf.weights.load import SLOPE

PUBLISHED = ("FreqLF", "FreqLF+")


@dataclass(frozen=True)
class Cost:
    """What one estimate takes.

    Attributes:
        seconds: of each repeat, after one to warm up; without reading the views.
        peak_mb: on CUDA, the most that was allocated there, weights and views included; else the process's peak
            above what Python, torch and the weights take.
    """

    seconds: tuple[float, ...]
    peak_mb: float

    @property
    def mean_s(self) -> float:
        """The mean over the repeats."""
        return float(np.mean(self.seconds))

    @property
    def deviation_s(self) -> float:
        """The standard deviation of the repeats."""
        return float(np.std(self.seconds))


@dataclass(frozen=True)
class Growth:
    """The cost of one model over square images.

    Attributes:
        name: the model, and how its images are computed.
        costs: by the image's side in pixels.
    """

    name: str
    costs: dict[int, Cost]

    def time_exponent(self) -> float | None:
        """a of time = constant * N^a, N the number of pixels."""
        return fit_exponent(list(self.costs), [cost.mean_s for cost in self.costs.values()])

    def memory_exponent(self) -> float | None:
        """The same for the peak memory."""
        return fit_exponent(list(self.costs), [cost.peak_mb for cost in self.costs.values()])


def fit_exponent(sizes_px: Sequence[int], values: Sequence[float]) -> float | None:
    """a of value = constant * N^a with N = size^2, by least squares of the logarithms; None if there is no line."""
    if len(set(sizes_px)) < 2 or min(values) <= 0:
        return None
    pixels = np.square(np.asarray(sizes_px, np.float64))
    return float(np.polyfit(np.log(pixels), np.log(values), 1)[0])


def measure_cost(model: str, size_px: int, repeats: int, *, whole: bool = False, device: str = "cpu") -> Cost:
    """One estimate to warm up, whose peak memory is measured, and `repeats` that are timed.

    All in this process: a peak is only true in a fresh one, see `run_in_fresh_process`.

    model: a preset, with untrained weights, or "slope": the cost depends neither on the weights nor on the picture.
    whole: in one piece, not in the tiles that the estimator chooses.
    """
    network = None if model == SLOPE else build_model(find_preset(model)).eval().to(device)
    estimator = Estimator(model, network)
    lines = estimator.lines
    estimator(random_light_field(lines, 32))  # loads the kernels' libraries
    is_cuda = torch.device(device).type == "cuda"
    before_mb = held_memory_mb()
    if is_cuda:
        torch.cuda.reset_peak_memory_stats()
    light_field = random_light_field(lines, size_px)
    tile_px = size_px if whole else None
    estimator(light_field, tile_px)
    peak_mb = torch.cuda.max_memory_allocated() / 1e6 if is_cuda else peak_memory_mb() - before_mb
    return Cost(tuple(estimator(light_field, tile_px).seconds for _ in range(repeats)), peak_mb)


def read_published() -> list[Growth]:
    """The paper's own numbers, which are of other hardware."""
    reference = read_reference("scaling")
    return [
        Growth(
            f"{name} (paper, A100 GPU)",
            {
                size_px: Cost((seconds,), peak_mb)
                for size_px, seconds, peak_mb in zip(
                    reference["size_px"], reference[name]["seconds"], reference[name]["peak_mb"], strict=True
                )
            },
        )
        for name in PUBLISHED
    ]


def make_tables(measured: Sequence[Growth], repeats: int, hardware: str) -> list[Table]:
    """Time and memory by size; the paper's numbers stand below a line."""
    sizes_px = sorted({size_px for growth in measured for size_px in growth.costs})
    published = read_published()
    headings = ("model", *(f"{size_px} x {size_px}" for size_px in sizes_px), "exponent")
    notes = (
        f"Here: {hardware}; untrained weights, on which the cost does not depend; reading the views is not included.",
        f"The paper's rows are of other hardware and do not compare: {read_reference('scaling')['hardware']}.",
        "Exponent: a of cost = constant * N^a, N = height * width.",
    )

    def time_row(growth: Growth) -> Row:
        cells = [_format_time(growth.costs.get(size_px)) for size_px in sizes_px]
        return growth.name, *cells, format_number(growth.time_exponent(), 2)

    def memory_row(growth: Growth) -> Row:
        costs = [growth.costs.get(size_px) for size_px in sizes_px]
        cells = ["-" if cost is None else f"{cost.peak_mb:,.0f}" for cost in costs]
        return growth.name, *cells, format_number(growth.memory_exponent(), 2)

    return [
        Table(
            f"time in seconds, one warm-up, mean of {repeats}",
            headings,
            tuple(map(time_row, measured)),
            tuple(map(time_row, published)),
            notes=notes,
        ),
        Table(
            "peak memory in MB",
            headings,
            tuple(map(memory_row, measured)),
            tuple(map(memory_row, published)),
            notes=(
                *notes,
                "Peak: on CUDA what was allocated there; on a CPU what the process held above Python, torch and the "
                "weights, with the views in it.",
            ),
        ),
    ]


def _format_time(cost: Cost | None) -> str:
    if cost is None:
        return "-"
    mean = format_number(cost.mean_s, 3)
    return mean if len(cost.seconds) == 1 else f"{mean} ± {format_number(cost.deviation_s, 3)}"
