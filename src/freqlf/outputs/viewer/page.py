"""The folder of an estimate as one HTML page: maps with their values, and points to turn in space.

Everything is in the page itself, data included as base64; it needs no network, no server and no other file.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import matplotlib
import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.image import read_image
from freqlf.io.pfm import read_pfm
from freqlf.io.ply import read_ply
from freqlf.outputs.canvas import DISPARITY_COLOURS, ERROR_COLOURS

PAGE = "view.html"  # its name in the folder of the estimate
RECORD = "estimate.json"
MAPS = ("disparity", "deviation", "lower", "upper", "depth")  # files *.pfm; only the first must be there
_OUTLIERS_PERCENT = 0.5  # of the pixels, at either end, do not stretch the colours


@dataclass(frozen=True)
class Cloud:
    """Points (N, 3) in mm and their colours (N, 3); `pixel` is the width of a pixel at a distance of 1."""

    points_mm: NDArray[np.float32]
    colours: NDArray[np.uint8]
    pixel: float


@dataclass(frozen=True)
class EstimateFolder:
    """What `freqlf estimate` left in a folder.

    Attributes:
        name: of the light field.
        record: estimate.json.
        maps: those of `MAPS` that there are, (H, W); px per view step, depth in mm.
        view: the central view (H, W, 3), or None.
        cloud: the point cloud, or None.
    """

    name: str
    record: dict[str, Any]
    maps: dict[str, NDArray[np.float32]]
    view: NDArray[np.uint8] | None
    cloud: Cloud | None


def read_estimate(directory: Path) -> EstimateFolder:
    """Read the folder; maps that do not fit together are an error."""
    path = directory / RECORD
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FreqLFError(f"{directory} holds no {RECORD}; give a folder that `freqlf estimate` made") from None
    except OSError as error:
        raise FreqLFError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise FreqLFError(f"{path} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise FreqLFError(f"{path} is not the record of an estimate; estimate again")
    found = {name: directory / f"{name}.pfm" for name in MAPS}
    maps = {name: read_pfm(file) for name, file in found.items() if file.exists() or name == MAPS[0]}
    shape = maps[MAPS[0]].shape
    for name, values in maps.items():
        if values.ndim != 2 or values.shape != shape:
            raise FreqLFError(f"{found[name]} is {values.shape}, the disparity {shape}; estimate again")
    picture, points = directory / "centre-view.png", directory / "pointcloud.ply"
    view = np.rint(255 * read_image(picture)).astype(np.uint8) if picture.exists() else None
    if view is not None and view.shape != (*shape, 3):
        raise FreqLFError(f"{picture} is {view.shape[:2]}, the disparity {shape}; estimate again")
    pixel = _find_pixel(record, max(shape))
    cloud = Cloud(*read_ply(points), pixel) if points.exists() and pixel is not None else None
    if cloud is not None and not len(cloud.points_mm):
        cloud = None
    name = Path(str(record.get("input") or directory.resolve())).name
    return EstimateFolder(name, record, maps, view, cloud)


def _find_pixel(record: Mapping[str, Any], longer_side_px: int) -> float | None:
    """The width of a pixel at a distance of 1, by the camera in the record."""
    camera = record.get("camera") or {}
    try:
        pixel = float(camera["sensor_mm"]) / float(camera["focal_mm"]) / longer_side_px
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    return pixel if np.isfinite(pixel) and pixel > 0 else None


def write_page(estimate: EstimateFolder) -> str:
    """The whole page."""
    parts = files("freqlf.outputs.viewer")
    content = json.dumps(pack_data(estimate))
    return Template(parts.joinpath("page.html").read_text(encoding="utf-8")).substitute(
        title=escape(f"Estimate of {estimate.name}"),
        summary=escape(summarise(estimate)),
        style=parts.joinpath("page.css").read_text(encoding="utf-8"),
        data=content.replace("<", "\\u003c"),  # or a text in it could end the element
        script="\n".join(parts.joinpath(name).read_text(encoding="utf-8") for name in ("maps.js", "orbit.js")),
        footer=escape(_sign(estimate.record)),
    )


def pack_data(estimate: EstimateFolder) -> dict[str, Any]:
    """Everything that the page shows: arrays row by row as base64 of float32 or bytes."""
    height, width = estimate.maps["disparity"].shape
    colours = {"disparity": DISPARITY_COLOURS, "error": ERROR_COLOURS}
    ranges = {"disparity": _find_range(estimate.maps["disparity"])}
    if "deviation" in estimate.maps:
        ranges["deviation"] = (0.0, _find_range(estimate.maps["deviation"])[1])
    return {
        "width": width,
        "height": height,
        "maps": {name: _encode(values, "<f4") for name, values in estimate.maps.items()},
        "ranges": ranges,
        "interval": _name_interval(estimate.record),
        "colours": {name: _encode(_list_colours(table), "u1") for name, table in colours.items()},
        "view": None if estimate.view is None else _encode(estimate.view, "u1"),
        "cloud": None
        if estimate.cloud is None
        else {
            "points": _encode(estimate.cloud.points_mm, "<f4"),
            "colours": _encode(estimate.cloud.colours, "u1"),
            "pixel": estimate.cloud.pixel,
        },
    }


def _encode(values: NDArray[Any], dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode()


def _list_colours(table: str) -> NDArray[np.uint8]:
    """The 256 colours of a scale, (256, 3)."""
    return np.rint(255 * matplotlib.colormaps[table](np.arange(256))[:, :3]).astype(np.uint8)


def _find_range(values: NDArray[np.floating]) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    if not known.size:
        return 0.0, 1.0
    low, high = np.percentile(known, (_OUTLIERS_PERCENT, 100 - _OUTLIERS_PERCENT)).tolist()
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _name_interval(record: Mapping[str, Any]) -> str:
    """What stands before the two ends of the interval."""
    interval = record.get("interval")
    if not isinstance(interval, dict):
        return "interval"
    origin = "calibrated" if interval.get("calibrated") else "as predicted"
    return f"{100 * float(interval.get('level', 0.9)):.0f} % interval, {origin}"


def summarise(estimate: EstimateFolder) -> str:
    """In a line, what made the estimate."""
    height, width = estimate.maps["disparity"].shape
    parts = [f"{width} x {height} px", f"model {Path(str(estimate.record.get('model', 'unknown'))).name}"]
    views = estimate.record.get("views")
    if isinstance(views, dict):
        parts.insert(0, f"{views.get('rows')} x {views.get('columns')} views")
    low, high = _find_range(estimate.maps["disparity"])
    parts.append(f"disparity {low:.2f} to {high:.2f} px per view step, larger is nearer")
    return ", ".join(parts) + "."


def _sign(record: Mapping[str, Any]) -> str:
    return f"Made with freqlf {record.get('freqlf_version', '?')}, {record.get('created_utc', 'some time ago')}."
