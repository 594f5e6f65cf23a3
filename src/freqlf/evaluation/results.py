"""The folder that holds a method's results, laid out as the benchmark wants submissions, and read the same way.

disp_maps/<scene>.pfm         disparity in px per view step; <scene>.pfm in the folder itself is accepted too
runtimes/<scene>.txt          seconds per light field
variance_maps/<scene>.pfm     predicted variance in px^2, for methods that have one
peak_memory_mb/<scene>.txt    memory at its highest, if it was measured
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from freqlf.data.hci import Scene
from freqlf.errors import FreqLFError
from freqlf.inference.memory import peak_memory_mb as measure_peak_mb
from freqlf.io.files import write_text
from freqlf.io.intake import open_file, require_name
from freqlf.io.pfm import read_pfm, write_pfm

if TYPE_CHECKING:
    from freqlf.inference.estimate import Estimator  # imports torch

DISPARITIES = "disp_maps"
RUNTIMES = "runtimes"
VARIANCES = "variance_maps"
PEAK_MEMORY = "peak_memory_mb"

# Which of an estimate's maps is scored: the estimate that users get, or the mean that the paper scores.
ScoredMap = Literal["estimate", "mean"]


def find_maps(directory: Path) -> dict[str, Path]:
    """The disparity maps in a folder, by scene name: the folder itself first, then its `disp_maps`."""
    if not directory.is_dir():
        raise FreqLFError(f"{directory} is not a directory; give the folder that holds <scene>.pfm")
    paths = [*directory.glob(f"{DISPARITIES}/*.pfm"), *directory.glob("*.pfm")]
    return {require_name(path): path for path in paths}


@dataclass(frozen=True)
class Results:
    """One method's results. Files are read when they are asked for."""

    directory: Path

    def scenes(self) -> list[str]:
        """The names of the scenes with a disparity map."""
        return sorted(find_maps(self.directory))

    def disparity_file(self, scene: str) -> Path:
        """Where the disparity map of a scene is; it must be there."""
        path = find_maps(self.directory).get(scene)
        if path is None:
            raise FreqLFError(f"{self.directory} has no {scene}.pfm, nor has its {DISPARITIES}")
        return path

    def disparity_px(self, scene: str) -> NDArray[np.float32]:
        """(H, W), in px per view step."""
        return _read_map(self.disparity_file(scene))

    def variance_file(self, scene: str) -> Path:
        """Where the variance map of a scene is, if there is one."""
        return self.directory / VARIANCES / f"{scene}.pfm"

    def variance_px2(self, scene: str) -> NDArray[np.float32] | None:
        """(H, W), in px^2; None if the method predicts none."""
        path = self.variance_file(scene)
        return _read_map(path) if path.exists() else None

    def runtime_s(self, scene: str) -> float | None:
        """Seconds for one light field; None if nobody measured."""
        return _read_number(self.directory / RUNTIMES / f"{scene}.txt", "seconds")

    def peak_memory_mb(self, scene: str) -> float | None:
        """Memory at its highest, in MB; None if nobody measured."""
        return _read_number(self.directory / PEAK_MEMORY / f"{scene}.txt", "MB")


def write_result(
    directory: Path,
    scene: str,
    disparity_px: NDArray[np.floating],
    *,
    variance_px2: NDArray[np.floating] | None = None,
    runtime_s: float | None = None,
    peak_memory_mb: float | None = None,
) -> None:
    """Add a scene's results to a folder, in the layout that `Results` reads."""
    write_pfm(directory / DISPARITIES / f"{scene}.pfm", disparity_px)
    if variance_px2 is not None:
        write_pfm(directory / VARIANCES / f"{scene}.pfm", variance_px2)
    if runtime_s is not None:
        write_text(directory / RUNTIMES / f"{scene}.txt", f"{runtime_s:.6f}\n")
    if peak_memory_mb is not None:
        write_text(directory / PEAK_MEMORY / f"{scene}.txt", f"{peak_memory_mb:.1f}\n")


def predict_scenes(estimator: "Estimator", scenes: Iterable[Scene], directory: Path, reading: ScoredMap) -> None:
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
            peak_memory_mb=measure_peak_mb(),
        )


def _read_map(path: Path) -> NDArray[np.float32]:
    pixels = read_pfm(path)
    if pixels.ndim != 2:
        raise FreqLFError(f"{path} is a colour PFM; a map has one channel (Pf)")
    return pixels


def _read_number(path: Path, unit: str) -> float | None:
    if not path.exists():
        return None
    with open_file(path) as file:
        return parse_measure(file.readline(100), f"{path}", unit)  # a number is short; what follows is not ours


def parse_measure(line: bytes, source: str, unit: str) -> float:
    """A number of seconds or MB, as text; `source` is for errors."""
    text = line.decode(errors="replace").strip()
    try:
        number = float(text)
    except ValueError as error:
        raise FreqLFError(
            f"{source} must begin with a line that holds a number of {unit}, not {text[:20]!r}"
        ) from error
    if not math.isfinite(number) or number < 0:
        raise FreqLFError(f"{source} says {number} {unit}; it must be a finite number, not below 0")
    return number
