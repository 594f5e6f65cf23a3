"""The folder of an estimate as one HTML page: maps with their values, the light field itself, and points in space.

Everything is in the page, data included; it needs no network, no server and no other file. Its parts are in `assets`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freqlf.outputs.canvas import DISPARITY_COLOURS, ERROR_COLOURS
from freqlf.outputs.viewer.estimates import DISPARITY, EstimateFolder, Truth
from freqlf.outputs.viewer.payload import encode, pack_colours, pack_map, pack_mask, pack_picture

SCRIPTS = ("dom", "state", "payload", "gestures", "maps", "lightfield", "epi", "points", "compare", "downloads", "main")
_DIFFERENCE_COLOURS = "RdBu_r"
_OUTLIERS_PERCENT = 0.5  # of the pixels, at either end, do not stretch the colours


@dataclass(frozen=True)
class ScoreTable:
    """What there is to say about an estimate whose truth is known: names and values, as text."""

    caption: str
    rows: Sequence[tuple[str, str]]


def write_page(
    estimate: EstimateFolder,
    second: EstimateFolder | Truth | None = None,
    scores: ScoreTable | None = None,
    *,
    views: bool = True,
) -> str:
    """The whole page, of one estimate or of two maps; `views` False leaves the light field's views out."""
    parts = files("freqlf.outputs.viewer").joinpath("assets")
    content = json.dumps(pack_data(estimate, second, scores, views=views))
    subject = f"Estimate of {estimate.name}"
    if second is not None:
        subject = f"{estimate.name}: {' beside '.join(_name_both(estimate, second))}"
    return Template(parts.joinpath("page.html").read_text(encoding="utf-8")).substitute(
        title=escape(subject),
        summary=escape(summarise(estimate)),
        style=parts.joinpath("page.css").read_text(encoding="utf-8"),
        data=content.replace("<", "\\u003c"),  # or a text in it could end the element
        script="\n".join(parts.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS),
        footer=escape(_sign(estimate.record)),
    )


def pack_data(
    estimate: EstimateFolder, second: EstimateFolder | Truth | None, scores: ScoreTable | None, *, views: bool
) -> dict[str, Any]:
    """Everything that the page shows; see `freqlf.outputs.viewer.payload` for what is packed how."""
    disparity_px = estimate.disparity_px
    height, width = disparity_px.shape
    camera, tiles = estimate.camera, estimate.record.get("small_views")
    ranges = {"disparity": _find_range(disparity_px)}
    if "deviation" in estimate.maps:
        ranges["deviation"] = (0.0, _find_range(estimate.maps["deviation"])[1])
    results = [
        {
            "name": "disparity",
            "interval": _name_interval(estimate.record),
            "maps": {name: pack_map(values) for name, values in estimate.maps.items()},
        }
    ]
    if second is not None:
        other_px = second.disparity_px
        results[0]["name"], other_name = _name_both(estimate, second)
        results.append({"name": other_name, "maps": {DISPARITY: pack_map(other_px)}})
        largest = max(map(abs, _find_range(disparity_px - other_px)))
        ranges["difference"] = (-largest, largest)
    return {
        "name": estimate.name,
        "width": width,
        "height": height,
        "results": results,
        "ranges": ranges,
        "scores": None if scores is None else vars(scores),
        "colours": {
            "disparity": pack_colours(DISPARITY_COLOURS),
            "error": pack_colours(ERROR_COLOURS),
            "difference": pack_colours(_DIFFERENCE_COLOURS),
        },
        "view": None if estimate.view is None else pack_picture(estimate.view),
        "camera": None if camera is None else vars(camera),
        "points": None if estimate.points is None else pack_mask(estimate.points),
        "views": None
        if estimate.views is None or tiles is None or not views
        else {
            "picture": encode(estimate.views),
            "steps": tiles["steps"],
            "columns": tiles["columns"],
            "width": tiles["width_px"],
            "height": tiles["height_px"],
        },
    }


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


def _name_both(estimate: EstimateFolder, second: EstimateFolder | Truth) -> tuple[str, str]:
    """What tells two maps apart: their models, or else their folders."""
    if isinstance(second, Truth):
        return estimate.model, second.name
    if estimate.model != second.model:
        return estimate.model, second.model
    return str(estimate.directory), str(second.directory)


def summarise(estimate: EstimateFolder) -> str:
    """In a line, what made the estimate."""
    height, width = estimate.disparity_px.shape
    parts = [f"{width} x {height} px", f"model {estimate.model}"]
    views = estimate.record.get("views")
    if isinstance(views, dict):
        parts.insert(0, f"{views.get('rows')} x {views.get('columns')} views")
    low, high = _find_range(estimate.disparity_px)
    parts.append(f"disparity {low:.2f} to {high:.2f} px per view step, larger is nearer")
    return ", ".join(parts) + "."


def _sign(record: Mapping[str, Any]) -> str:
    return f"Made with freqlf {record.get('freqlf_version', '?')}, {record.get('created_utc', 'some time ago')}."
