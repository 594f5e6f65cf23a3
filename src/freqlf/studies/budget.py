"""Equal cost for unequal models: how many steps of each variant fit into the same time.

A learning-rate schedule must know its last step from the start, so the time of a step is measured first and the number
of steps follows from it. Time is that of the CPU, summed over threads: other programs hardly disturb it. On a GPU,
which has no such clock, it is the wall clock's.
"""

import io
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path

import torch

from freqlf.data.batches import Batch, BatchSource
from freqlf.data.samples import Sample
from freqlf.models.build import build_model
from freqlf.models.description import config_to_dict
from freqlf.studies.variants import Variant
from freqlf.training.distributed import Processes
from freqlf.training.recipe import Recipe
from freqlf.training.train import RunOptions, train

WARM_UP_STEPS = 2  # memory is allocated, tables of waves are made
TIMED_STEPS = 6
ROUNDS = 2  # the variants take turns, and the better round counts
_STEPS_FOR_MEAN_SIZE = 1000

Clock = Callable[[], float]


def choose_clock(device: torch.device) -> Clock:
    """Seconds of CPU time of this process where it computes, of wall time where a GPU does."""
    return time.process_time if device.type == "cpu" else time.perf_counter


def measure_step_seconds(
    variants: Sequence[Variant],
    recipe: Recipe,
    scenes: Sequence[Sample],
    generated: Sequence[Sample],
    processes: Processes,
) -> dict[str, float]:
    """The seconds of a training step of each variant, batch preparation included."""
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for variant in variants:
            seconds = _time_training(variant, recipe, scenes, generated, processes)
            best[variant.name] = min(seconds, best.get(variant.name, seconds))
    return best


def count_steps(minutes: float, step_seconds: float) -> int:
    """Steps that fit into a budget; one at least."""
    return max(1, round(60 * minutes / step_seconds))


class _TimedSource(BatchSource):
    """Notes when batches are asked for: between two of them lies one whole step of the real training loop."""

    def __init__(self, clock: Clock, recipe: Recipe, lines: Sequence[str], *scenes: Sequence[Sample]) -> None:
        super().__init__(recipe, lines, *scenes)
        self.clock = clock
        self.marks: list[float] = []

    def batch(self, step: int, rank: int = 0, processes: int = 1) -> Batch:
        self.marks.append(self.clock())
        return super().batch(step, rank, processes)

    def seconds_per_step(self) -> float:
        """Of a step with a batch of mean size: recipes may draw sizes, and a few draws are not typical."""
        seconds = self.marks[-1] - self.marks[WARM_UP_STEPS]
        timed_px = sum(self._pixels(step) for step in range(WARM_UP_STEPS, len(self.marks) - 1))
        mean_px = sum(self._pixels(step) for step in range(_STEPS_FOR_MEAN_SIZE)) / _STEPS_FOR_MEAN_SIZE
        return seconds * mean_px / timed_px

    def _pixels(self, step: int) -> int:
        height, width = self.draw_size(step)
        return height * width


def _time_training(
    variant: Variant, recipe: Recipe, scenes: Sequence[Sample], generated: Sequence[Sample], processes: Processes
) -> float:
    recipe = recipe.changed(steps=WARM_UP_STEPS + TIMED_STEPS + 1)
    torch.manual_seed(recipe.seed)
    model = build_model(variant.config)
    source = _TimedSource(choose_clock(processes.device), recipe, model.lines, scenes, generated)
    with tempfile.TemporaryDirectory() as directory, redirect_stdout(io.StringIO()):  # this is not the run to report
        outcome = train(
            *(model, variant.name, config_to_dict(variant.config), recipe, source, ()),
            RunOptions(Path(directory)),
            processes,
        )
    if not outcome.is_complete:
        raise KeyboardInterrupt
    return source.seconds_per_step()
