"""Where the views were taken from, for tools that learn radiance fields: nerfstudio's and LLFF's files.

The views of a light field look in parallel, and their pictures are shifted so that one distance has disparity 0.
nerfstudio's `transforms.json` takes the shift as a principal point of each view. LLFF's `poses_bounds.npy` knows no
such thing, so its pictures are shifted back, and cut to what all of them show.
"""

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.arrays import write_npy
from freqlf.io.files import write_json
from freqlf.io.image import write_image
from freqlf.io.parameters import Parameters
from freqlf.lightfield import LightField
from freqlf.outputs.refocus import present_views

_SMALLEST_PX = 16  # of pictures for LLFF


def write_poses(folder: Path, light_field: LightField, camera: Parameters, depth_range_m: tuple[float, float]) -> None:
    """Write `transforms.json` with `images`, and `llff` with `poses_bounds.npy` and its own `images`; lengths in m.

    depth_range_m: of the nearest and farthest things.
    """
    write_nerfstudio(folder, light_field, camera)
    write_llff(folder / "llff", light_field, camera, depth_range_m)


def write_nerfstudio(folder: Path, light_field: LightField, camera: Parameters) -> None:
    """Axes as OpenGL's: x right, y up, the camera looks along -z. Pixel centres are at halves."""
    focal_px, shift_px = _focal_px(camera), _shift_px(camera)
    frames = []
    for u, v in present_views(light_field):
        du, dv = u - light_field.centre[0], v - light_field.centre[1]
        name = f"images/view_{u:02d}_{v:02d}.png"
        _write_view(folder / name, light_field, u, v)
        pose = np.eye(4)
        pose[:3, 3] = _position_m(camera, du, dv)
        principal = {"cx": camera.width_px / 2 + dv * shift_px, "cy": camera.height_px / 2 + du * shift_px}
        frames.append({"file_path": name, **principal, "transform_matrix": pose.tolist()})
    size = {"w": camera.width_px, "h": camera.height_px, "fl_x": focal_px, "fl_y": focal_px}
    write_json(folder / "transforms.json", {"camera_model": "OPENCV", **size, "frames": frames})


def write_llff(folder: Path, light_field: LightField, camera: Parameters, depth_range_m: tuple[float, float]) -> None:
    """An array (N, 17): of each view [R | t | (height, width, focal length)] row by row, nearest and farthest depth.

    The columns of R are down, right and backwards. Views are in the order of their pictures' names.
    """
    shift_px = _shift_px(camera)
    reach = max(light_field.rows, light_field.columns) // 2
    margin = math.ceil(reach * shift_px)
    height, width = camera.height_px - 2 * margin, camera.width_px - 2 * margin
    if min(height, width) < _SMALLEST_PX:
        raise FreqLFError(
            f"the views overlap by {max(width, 0)} x {max(height, 0)} pixels only when they look in parallel, too "
            "little for --poses; is the camera right? Or take fewer with --views"
        )
    # Infinity has disparity -shift; moved to 0 the cameras are parallel, and the middle is what all of them show.
    parallel = light_field.sheared(shift_px).crop(margin, margin, height, width)
    rotation = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    rows = []
    for u, v in present_views(light_field):
        _write_view(folder / "images" / f"view_{u:02d}_{v:02d}.png", parallel, u, v)
        position = _position_m(camera, u - light_field.centre[0], v - light_field.centre[1])
        pose = np.column_stack([rotation, position, [height, width, _focal_px(camera)]])  # 3, 5
        rows.append([*pose.ravel(), *depth_range_m])
    write_npy(folder / "poses_bounds.npy", np.array(rows))


def _focal_px(camera: Parameters) -> float:
    return camera.focal_mm / camera.sensor_mm * max(camera.width_px, camera.height_px)


def _shift_px(camera: Parameters) -> float:
    """By how much a picture is shifted per view step: minus the disparity of infinity."""
    return max(0.0, -float(camera.disparity_px(np.array(np.inf))))


def _position_m(camera: Parameters, du: int, dv: int) -> NDArray[np.float64]:
    """Of the view so many rows and columns from the centre, x right and y up."""
    return np.array([dv, -du, 0.0]) * camera.baseline_mm / 1000


def _write_view(path: Path, light_field: LightField, u: int, v: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_image(path, np.rint(255 * light_field.view(u, v)).astype(np.uint8))
    if (u, v) != light_field.centre:
        light_field.forget(u, v)
