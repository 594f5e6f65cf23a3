"""What is there of a scene, and what is wrong with it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from freqlf.data.hci import DISPARITY_FILE, MASK_FILE, Scene, read_mask
from freqlf.data.splits import GROUPS
from freqlf.errors import FreqLFError
from freqlf.io.hci import PARAMETERS_FILE
from freqlf.lightfield import LightField

Result = TypeVar("Result")


@dataclass
class SceneCheck:
    """What was found in one scene. `problems` are what to fix, each with the way to do it."""

    name: str
    category: str
    views: int = 0
    grid: tuple[int, int] | None = None
    size_px: tuple[int, int] | None = None  # width, height
    disparity_range_px: tuple[float, float] | None = None  # of the ground truth; None without
    valid_percent: float | None = None  # of the mask; None without
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # what is unusual, and how it is understood

    def attempt(self, step: Callable[[], Result]) -> Result | None:
        """The step's result, or None with its error noted, so that one broken file does not hide the next."""
        try:
            return step()
        except FreqLFError as error:
            self.problems.append(str(error))
            return None


def check_scene(scene: Scene) -> SceneCheck:
    """Read every file of a scene, as the models would, and report what is there and what is wrong."""
    report = SceneCheck(scene.name, scene.category)
    if not scene.has_parameters:
        report.problems.append(f"{PARAMETERS_FILE} is missing: copy it from the benchmark; depth needs it")
    report.grid = report.attempt(lambda: scene.grid)
    light_field = report.attempt(scene.light_field) if report.grid else None
    if light_field is not None:
        _check_views(scene, light_field, report)
    _check_ground_truth(scene, report)
    return report


def _check_views(scene: Scene, light_field: LightField, report: SceneCheck) -> None:
    views = scene.view_files()
    report.views = len(views)
    if report.attempt(light_field.centre_view) is None:
        return
    report.size_px = (light_field.width, light_field.height)
    for u, v in sorted(views):
        report.attempt(lambda u=u, v=v: light_field.view(u, v))  # type: ignore[misc]
    needed = [*light_field.line("horizontal"), *light_field.line("vertical")]
    missing = sorted({view for view in needed if view not in views})
    if missing:
        numbers = ", ".join(f"{light_field.columns * u + v:03d}" for u, v in missing)
        report.problems.append(f"the central row and column lack input_Cam {numbers}: copy them from the benchmark")
    if scene.has_parameters:
        declared = (scene.parameters.width_px, scene.parameters.height_px)
        if declared != report.size_px:
            report.problems.append(f"{PARAMETERS_FILE} says {_size(declared)}, the views have {_size(report.size_px)}")


def _check_ground_truth(scene: Scene, report: SceneCheck) -> None:
    disparity_px = report.attempt(scene.disparity_px)
    path = scene.directory / MASK_FILE
    mask = report.attempt(lambda: read_mask(path)) if path.exists() else None
    if disparity_px is not None:
        finite = np.isfinite(disparity_px)
        if not finite.all():
            count = int((~finite).sum())
            report.problems.append(f"{DISPARITY_FILE} has {count} pixels that are not numbers: they cannot be scored")
        if finite.any():
            report.disparity_range_px = (float(disparity_px[finite].min()), float(disparity_px[finite].max()))
    if mask is not None:
        report.valid_percent = float(100 * mask.mean())
        if not mask.any():
            report.remarks.append(
                f"{MASK_FILE} is all black, as in a copy of the benchmark that others pass on; not 0 means valid, so "
                "it is taken as no mask: all pixels count. Remove it, or copy the original one, to have no remark"
            )
            report.valid_percent = 100.0
    for name, pixels in ((DISPARITY_FILE, disparity_px), (MASK_FILE, mask)):
        if pixels is not None and report.size_px is not None:
            size = (pixels.shape[1], pixels.shape[0])
            if size != report.size_px:
                report.problems.append(f"{name} has {_size(size)}, the views have {_size(report.size_px)}")


def missing_scenes(names: set[str]) -> dict[str, list[str]]:
    """The benchmark's scenes that are not among `names`, by group; groups that are complete are left out."""
    missing = {group: [scene for scene in scenes if scene not in names] for group, scenes in GROUPS.items()}
    return {group: scenes for group, scenes in missing.items() if scenes}


def _size(size_px: tuple[int, int]) -> str:
    return f"{size_px[0]} x {size_px[1]} pixels"
