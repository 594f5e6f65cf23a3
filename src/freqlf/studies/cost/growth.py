"""How cost grows with the image: fitted exponents, and the paper's own numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from freqlf.evaluation.literature import read_reference
from freqlf.studies.cost.measurement import Cost

_PUBLISHED = ("FreqLF", "FreqLF+")


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
        return fit_exponent(list(self.costs), [cost.mean_s or 0.0 for cost in self.costs.values()])

    def memory_exponent(self) -> float | None:
        """The same for the peak memory."""
        return fit_exponent(list(self.costs), [cost.peak_mb for cost in self.costs.values()])


def group_by_model(costs: Iterable[Cost]) -> list[Growth]:
    """A growth for each model in tiles, and in one piece."""
    growths: dict[str, Growth] = {}
    for cost in costs:
        name = f"{cost.model}, {'in one piece' if cost.whole else 'in tiles'}"
        growths.setdefault(name, Growth(name, {})).costs[cost.size_px] = cost
    return list(growths.values())


def fit_exponent(sizes_px: Sequence[int], values: Sequence[float]) -> float | None:
    """a of value = constant * N^a with N = size^2, by least squares of the logarithms; None if there is no line."""
    if len(set(sizes_px)) < 2 or min(values) <= 0:
        return None
    pixels = np.square(np.asarray(sizes_px, np.float64))
    return float(np.polyfit(np.log(pixels), np.log(values), 1)[0])


def read_published() -> list[Growth]:
    """The paper's own numbers, which are of other hardware."""
    reference = read_reference("scaling")
    growths = []
    for name in _PUBLISHED:
        columns = zip(reference["size_px"], reference[name]["seconds"], reference[name]["peak_mb"], strict=True)
        costs = {size_px: Cost(name, size_px, True, (seconds,), peak_mb) for size_px, seconds, peak_mb in columns}
        growths.append(Growth(f"{name} (paper, A100 GPU)", costs))
    return growths
