"""What a page shows: the folder of an estimate, and a second map to compare it with."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from freqlf.data.hci import Scene
from freqlf.errors import FreqLFError
from freqlf.io.image import read_image
from freqlf.io.intake import read_bytes, read_json
from freqlf.io.parameters import Count, Parameters
from freqlf.io.pfm import read_pfm
from freqlf.io.ply import read_ply
from freqlf.io.schema import Share, convert

RECORD = "estimate.json"
VIEWS = "views.webp"
PAGE = "view.html"
COMPARISON = "compare.html"  # a page with two maps
DISPARITY = "disparity"
MAPS = (DISPARITY, "deviation", "lower", "upper", "no-evidence")  # files *.pfm; only the first must be there


class _Interval(TypedDict, total=False):
    level: Share
    calibrated: bool


class _SmallViews(TypedDict):
    steps: list[tuple[int, int]]
    columns: Count
    width_px: Count
    height_px: Count


class _Grid(TypedDict, total=False):
    rows: int
    columns: int


class EstimateRecord(TypedDict, total=False):
    """What is read of estimate.json; there is more in it."""

    model: str
    input: str | None
    camera: Parameters | None
    views: _Grid
    interval: _Interval | None
    small_views: _SmallViews | None
    freqlf_version: str
    created_utc: str


@dataclass(frozen=True)
class Camera:
    """What turns disparity into points: depth is beta F / (d F sensor + beta), all in mm.

    `pixel` is the width of a pixel at a distance of 1.
    """

    beta: float
    focus_mm: float
    sensor_mm: float
    pixel: float


@dataclass(frozen=True)
class EstimateFolder:
    """What `freqlf estimate` left in a folder.

    Attributes:
        name: of the light field.
        directory: the folder.
        record: estimate.json.
        maps: those of `MAPS` that there are, (H, W); px per view step.
        view: the central view (H, W, 3), or None.
        camera: None if it is not known.
        points: (H, W), True for the pixels that are in the point cloud; None without one.
        views: the picture of small views (WebP), of which the record says where each is; None without one.
    """

    name: str
    directory: Path
    record: dict[str, Any]
    maps: dict[str, NDArray[np.float32]]
    view: NDArray[np.uint8] | None
    camera: Camera | None
    points: NDArray[np.bool_] | None
    views: bytes | None

    @property
    def disparity_px(self) -> NDArray[np.float32]:
        """The map (H, W) that is always there."""
        return self.maps[DISPARITY]

    @property
    def model(self) -> str:
        """The name of the weights."""
        return Path(str(self.record.get("model", "unknown"))).name


@dataclass(frozen=True)
class Truth:
    """A map (H, W) to score an estimate against, in px per view step, and which of its pixels count."""

    name: str
    disparity_px: NDArray[np.float32]
    valid_mask: NDArray[np.bool_] | None


def read_estimate(directory: Path) -> EstimateFolder:
    """Read the folder; maps that do not fit together are an error."""
    record = _read_record(directory)
    found = {name: directory / f"{name}.pfm" for name in MAPS}
    maps = {name: read_pfm(file) for name, file in found.items() if file.exists() or name == DISPARITY}
    shape = maps[DISPARITY].shape
    for name, values in maps.items():
        if values.ndim != 2 or values.shape != shape:
            raise FreqLFError(f"{found[name]} is {values.shape}, the disparity {shape}; estimate again")
    picture, cloud = directory / "centre-view.png", directory / "pointcloud.ply"
    view = np.rint(255 * read_image(picture)).astype(np.uint8) if picture.exists() else None
    if view is not None and view.shape != (*shape, 3):
        raise FreqLFError(f"{picture} is {view.shape[:2]}, the disparity {shape}; estimate again")
    camera = _find_camera(record, max(shape))
    points = None if camera is None or not cloud.exists() else _find_points(read_ply(cloud)[0], camera, shape)
    name = Path(str(record.get("input") or directory.resolve())).name
    views = _read_views(directory, record.get("small_views"))
    return EstimateFolder(name, directory, record, maps, view, camera, points, views)


def read_second(path: Path, estimate: EstimateFolder) -> EstimateFolder | Truth:
    """What the estimate is compared with: another one, the ground truth of a scene, or the map in a PFM file."""
    second = _read_any(path)
    sizes = [values.shape[::-1] for values in (estimate.disparity_px, second.disparity_px)]
    if sizes[0] != sizes[1]:
        raise FreqLFError(f"the estimate is {sizes[0]} pixels, the map of {path} {sizes[1]}; compare maps of one size")
    return second


def _read_any(path: Path) -> EstimateFolder | Truth:
    if path.is_file():
        return Truth(path.stem, read_pfm(path), None)
    if (path / RECORD).exists():
        return read_estimate(path)
    scene = Scene(path)
    disparity_px = scene.disparity_px() if path.is_dir() else None
    if disparity_px is None:
        raise FreqLFError(
            f"{path} is no folder of an estimate, no scene with ground truth and no PFM file; give one of these"
        )
    return Truth("ground truth", disparity_px, scene.valid_mask())


def _read_record(directory: Path) -> dict[str, Any]:
    path = directory / RECORD
    if not path.exists():
        raise FreqLFError(f"{directory} holds no {RECORD}; give a folder that `freqlf estimate` made")
    return dict(convert(read_json(path), EstimateRecord, str(path)))


def _find_camera(record: Mapping[str, Any], longer_side_px: int) -> Camera | None:
    camera: Parameters | None = record.get("camera")
    if camera is None:
        return None
    pixel = camera.sensor_mm / camera.focal_mm / longer_side_px
    beta = camera.baseline_mm * camera.focal_mm * longer_side_px
    return Camera(beta, 1000 * camera.focus_distance_m, camera.sensor_mm, pixel)


def _find_points(points_mm: NDArray[np.float32], camera: Camera, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """The pixels (H, W) at which the central camera sees the points (N, 3)."""
    selected = np.zeros(shape, bool)
    points_mm = points_mm[points_mm[:, 2] > 0]
    middle = (np.array(shape[::-1]) - 1) / 2  # x, y
    x, y = np.rint(points_mm[:, :2] / (camera.pixel * points_mm[:, 2:]) + middle).astype(np.intp).T
    inside = (x >= 0) & (y >= 0) & (x < shape[1]) & (y < shape[0])
    selected[y[inside], x[inside]] = True
    return selected


def _read_views(directory: Path, layout: _SmallViews | None) -> bytes | None:
    path = directory / VIEWS
    if layout is None or not path.exists():
        return None
    height, width = read_image(path).shape[:2]  # also says whether the picture is sound
    rows = -(-len(layout["steps"]) // layout["columns"])
    if layout["columns"] * layout["width_px"] > width or not 0 < rows * layout["height_px"] <= height:
        raise FreqLFError(f"{path} does not hold the views that {RECORD} says; estimate again, or leave the file out")
    return read_bytes(path)
