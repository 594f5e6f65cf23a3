"""Running an estimator over scenes, and keeping what it said in the layout that evaluations read."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from freqlf.data.hci import Scene
from freqlf.evaluation.results import write_result
from freqlf.inference.estimate import Estimator
from freqlf.inference.memory import peak_memory_mb

# Which of an estimate's maps is scored: the estimate that users get, or the mean that the paper scores.
ScoredMap = Literal["estimate", "mean"]


def predict_scenes(estimator: Estimator, scenes: Iterable[Scene], directory: Path, reading: ScoredMap) -> None:
    """Estimate every scene once and write its maps, runtime and the process's peak memory so far.

    One pass per scene, one model, nothing averaged or post-processed.
    """
    for scene in scenes:
        estimate = estimator(scene.directory, format="hci", check_order=False)  # a benchmark defines it
        write_result(
            directory,
            scene.name,
            estimate.disparity_px if reading == "estimate" else estimate.mean_px,
            variance_px2=None if estimate.deviation_px is None else estimate.deviation_px**2,
            runtime_s=estimate.seconds,
            peak_memory_mb=peak_memory_mb(),
        )
