"""The folder of an estimate: maps, pictures and points to use, and a record of how they came about.

Everything is written, or nothing: files appear in the folder only once all of them are complete.
"""

import math
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.arrays import write_npy
from freqlf.io.files import replacing_directory, write_json
from freqlf.io.image import write_image
from freqlf.io.pfm import write_pfm
from freqlf.io.ply import write_ply
from freqlf.io.png16 import write_png16
from freqlf.io.views import View
from freqlf.outputs.canvas import save_figure
from freqlf.outputs.estimate import INTERVAL, Estimate
from freqlf.outputs.pointcloud import PointCloud, PointFilter, find_span_px
from freqlf.outputs.poses import write_poses
from freqlf.outputs.previews import preview_deviation, preview_disparity
from freqlf.outputs.refocus import present_views, refocus, render_all_in_focus
from freqlf.outputs.smallviews import shrink_views, write_small_views
from freqlf.outputs.viewer.estimates import COMPARISON, PAGE, RECORD, VIEWS
from freqlf.provenance import describe_run
from freqlf.weights.calibration import Calibration

Writer = Callable[[Path], None]

POSES = "poses"
_PERCENT = round(100 * INTERVAL)

# All files there can be, and what they hold.
CONTENTS = {
    "disparity.pfm": "disparity of the central view, px per view step, positive is nearer than the focus plane",
    "disparity.png": "the same in 16 bits; scale and offset are in its text metadata",
    "disparity.npy": "the same as a NumPy array (height, width) of float32",
    "deviation.pfm": "standard deviation of the disparity, px per view step",
    "lower.pfm": f"lower end of an interval that holds the true disparity with a chance of {_PERCENT} %",
    "upper.pfm": "its upper end",
    "no-evidence.pfm": "1 where the views say nothing about the disparity, whatever the model says, 0 where they do",
    "depth.pfm": "depth along the optical axis, mm; infinite where the disparity is beyond infinity",
    "pointcloud.ply": "coloured points in the central camera's frame, mm; x right, y down, z into the scene",
    "centre-view.png": "the view that the maps belong to",
    VIEWS: "views on the lines through the centre, small and side by side, for `freqlf view`",
    "disparity-preview.png": "the disparity in colours, to look at",
    "deviation-preview.png": "its standard deviation in colours, to look at",
    "refocused.png": "all views averaged, sharp at one disparity",
    "all-in-focus.png": "all views averaged, each pixel sharp at its own disparity",
    POSES: "the views, and where they were taken from: transforms.json for nerfstudio, poses_bounds.npy for LLFF",
    RECORD: "what made these files",
}

UNITLESS = (
    "coloured points without a unit, for the camera is not known: the nearest at about 1000, the farthest at about "
    "2000; x right, y down, z into the scene"
)


@dataclass(frozen=True)
class OutputOptions:
    """What is written beside the maps.

    Attributes:
        previews: colour pictures of the maps, the central view, and small ones of others.
        points: which pixels become points; None for no point cloud. Without a camera, points have no unit.
        refocus_px: disparity at which `refocused.png` is sharp; None for no such picture.
        all_in_focus: whether to write `all-in-focus.png`.
        poses: whether to write where the views were taken from, with the views, for radiance fields; needs a camera.
    """

    previews: bool = True
    points: PointFilter | None = field(default_factory=PointFilter)
    refocus_px: float | None = None
    all_in_focus: bool = False
    poses: bool = False


STANDARD_OUTPUTS = OutputOptions()


def write_estimate(
    directory: Path,
    estimate: Estimate,
    options: OutputOptions = STANDARD_OUTPUTS,
    *,
    overwrite: bool = False,
) -> dict[Path, str]:
    """Write all there is to an estimate into a folder, and return the files with what they hold.

    Depth needs the camera. A folder that holds something already is an error unless `overwrite`; other
    people's files in it stay even then.
    """
    start = time.perf_counter()
    directory = Path(directory)
    if directory.name in ("", ".."):
        directory = directory.resolve()  # the temporary folder beside it needs a name
    _check_shapes(estimate)
    with replacing_directory(directory, overwrite=overwrite) as folder:
        cloud = None
        if options.points is not None:
            cloud = estimate.points(options.points)
        writers = _prepare_files(estimate, cloud, options)
        views = shrink_views(estimate.light_field) if options.previews else None
        if views is not None:
            writers[VIEWS] = partial(write_small_views, views=views)
        files = {name: meaning for name, meaning in CONTENTS.items() if name in writers or name == RECORD}
        files |= {name: f"{files[name]}, {_origin(estimate)}" for name in ("lower.pfm", "upper.pfm") if name in files}
        if cloud is not None and not cloud.has_unit:
            files["pointcloud.ply"] = UNITLESS
        with _naming(directory):
            for name, write in writers.items():
                write(folder / name)
            record = _describe(estimate, cloud, options)
            record["small_views"] = None if views is None else views.describe()
            record |= {"output_seconds": time.perf_counter() - start, "files": files, **estimate.facts}
            write_json(folder / RECORD, describe_run(**record))
        stale = _find_stale(directory, set(files))
    with _naming(directory):
        for path in stale:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return {directory / name: meaning for name, meaning in files.items()}


def _prepare_files(estimate: Estimate, cloud: PointCloud | None, options: OutputOptions) -> dict[str, Writer]:
    """What writes each file but the record. Whatever can go wrong with the views does so here, before writing."""
    model = Path(estimate.model).name  # weights may be a file
    maps = {
        "disparity": estimate.disparity_px,
        "deviation": estimate.deviation_px,
        "lower": estimate.lower_px,
        "upper": estimate.upper_px,
        "no-evidence": estimate.no_evidence,
        "depth": None if estimate.parameters is None else estimate.depth_mm,
    }
    writers: dict[str, Writer] = {
        f"{name}.pfm": partial(write_pfm, pixels=values) for name, values in maps.items() if values is not None
    }
    writers["disparity.png"] = partial(write_png16, values=estimate.disparity_px)
    writers["disparity.npy"] = partial(write_npy, array=np.asarray(estimate.disparity_px, np.float32))
    if cloud is not None:
        meaning = CONTENTS["pointcloud.ply"] if cloud.has_unit else UNITLESS
        comments = (f"freqlf, model {model}", meaning)
        writers["pointcloud.ply"] = partial(write_ply, points=cloud.points_mm, colours=cloud.colours, comments=comments)
    if options.previews:
        drawn = preview_disparity(estimate.disparity_px, f"disparity, {model}", no_evidence=estimate.no_evidence)
        figures = {"disparity-preview.png": drawn}
        if estimate.deviation_px is not None:
            figures["deviation-preview.png"] = preview_deviation(estimate.deviation_px, f"uncertainty, {model}")
        writers |= {name: partial(save_figure, figure=figure) for name, figure in figures.items()}
    light_field = estimate.light_field
    if options.poses:
        depth_m = estimate.depth_mm / 1000  # says so if there is no camera
        low, high = find_span_px(-1 / depth_m[np.isfinite(depth_m)])
        camera = estimate.parameters
        assert camera is not None
        writers[POSES] = partial(
            write_poses, light_field=light_field, camera=camera, depth_range_m=(-1 / low, -1 / high)
        )
    pictures: dict[str, View] = {}
    if options.previews:
        pictures["centre-view.png"] = light_field.centre_view()
    if options.refocus_px is not None:
        pictures["refocused.png"] = refocus(light_field, options.refocus_px)
    if options.all_in_focus:
        pictures["all-in-focus.png"] = render_all_in_focus(light_field, estimate.disparity_px)
    return writers | {name: partial(_write_picture, view=view) for name, view in pictures.items()}


def _origin(estimate: Estimate) -> str:
    """Where the interval comes from, in words."""
    return "as predicted by the network" if estimate.calibration is None else "calibrated on scenes with ground truth"


def _write_picture(path: Path, view: View) -> None:
    write_image(path, np.rint(view * np.float32(255)).astype(np.uint8))


def _describe(estimate: Estimate, cloud: PointCloud | None, options: OutputOptions) -> dict[str, Any]:
    """What the record says about the estimate and its light field."""
    light_field = estimate.light_field
    return {
        "model": estimate.model,
        "image": {"width_px": light_field.width, "height_px": light_field.height},
        "views": {
            "rows": light_field.rows,
            "columns": light_field.columns,
            "present": len(present_views(light_field)),
        },
        "disparity_px": _summarise(estimate.disparity_px),
        "deviation_px": None if estimate.deviation_px is None else _summarise(estimate.deviation_px),
        "interval": None if estimate.lower_px is None else _describe_interval(estimate.calibration),
        "no_evidence": None
        if estimate.no_evidence is None
        else {"share": estimate.no_evidence_share, "range_px": estimate.range_px},
        "tile_px": estimate.tile_px,
        "memory_limit_bytes": estimate.memory_bytes,
        "network_seconds": estimate.seconds,
        "camera": None if estimate.parameters is None else asdict(estimate.parameters),
        "camera_source": estimate.camera_source,
        "points": None if cloud is None else len(cloud),
        "points_unit": None if cloud is None else "mm" if cloud.has_unit else "none",
        "output_options": asdict(options),
    }


def _describe_interval(calibration: Calibration | None) -> dict[str, Any]:
    """Its level, and whether it can be trusted to hold as often; the table behind it stays with the weights."""
    record: dict[str, Any] = {"level": INTERVAL, "calibrated": calibration is not None}
    if calibration is not None:
        record["calibration"] = {"fitted_on": list(calibration.scenes), "held_out_ece": calibration.held_out_ece}
    return record


def _summarise(values: NDArray[np.floating]) -> dict[str, float | int]:
    known = values[np.isfinite(values)].astype(np.float64)
    shares = (0, 0.01, 0.5, 0.99, 1)
    low, first, median, last, high = np.quantile(known, shares).tolist() if known.size else (math.nan,) * 5
    percentiles = {"percentile_1": first, "percentile_99": last}
    return {"min": low, **percentiles, "median": median, "max": high, "not_finite": int(values.size - known.size)}


def _check_shapes(estimate: Estimate) -> None:
    expected = (estimate.light_field.height, estimate.light_field.width)
    for name in ("disparity_px", "deviation_px", "lower_px", "upper_px", "no_evidence"):
        values = getattr(estimate, name)
        if values is not None and values.shape != expected:
            raise FreqLFError(
                f"{name} of the estimate has the shape {values.shape}, but the light field's views {expected}; "
                "an estimate belongs to the light field that it was made from"
            )


def _find_stale(directory: Path, written: set[str]) -> list[Path]:
    """Files of an earlier estimate that this one does not replace: old points beside a new map would mislead."""
    if not (directory / RECORD).is_file():
        return []  # no estimate was here, so the files are somebody else's
    return [directory / name for name in (*CONTENTS, PAGE, COMPARISON) if name not in written]


@contextmanager
def _naming(directory: Path) -> Iterator[None]:
    """Let errors of writing name the folder the user asked for, not the temporary one beside it."""
    try:
        yield
    except FreqLFError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        raise FreqLFError(f"cannot write {directory}: {error.__cause__.strerror or error.__cause__}") from error
    except OSError as error:
        raise FreqLFError(f"cannot write {directory}: {error.strerror or error}") from error
