"""The camera of a light field, as `parameters.cfg` of the HCI benchmark gives it."""

import configparser
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError


@dataclass(frozen=True)
class Parameters:
    """A grid of `num_cams_y` x `num_cams_x` parallel cameras, `baseline_mm` apart, sheared to a focus distance.

    Disparity is in pixels per view step at the central view, positive in front of the focus plane.
    """

    focal_mm: float
    sensor_mm: float  # of the longer image side
    baseline_mm: float
    focus_distance_m: float
    width_px: int
    height_px: int
    num_cams_x: int
    num_cams_y: int
    disp_min_px: float
    disp_max_px: float
    scene: str = ""
    category: str = ""

    def __post_init__(self) -> None:
        for field in ("focal_mm", "sensor_mm", "baseline_mm", "focus_distance_m"):
            value = getattr(self, field)
            if not (math.isfinite(value) and value > 0):
                raise FreqLFError(f"camera parameter {field} must be a positive number, not {value}")
        for field in ("width_px", "height_px", "num_cams_x", "num_cams_y"):
            if getattr(self, field) < 1:
                raise FreqLFError(f"camera parameter {field} must be at least 1, not {getattr(self, field)}")
        if not self.disp_min_px <= self.disp_max_px:
            raise FreqLFError(f"disparity range [{self.disp_min_px}, {self.disp_max_px}] is not in order")

    def depth_m(self, disparity_px: NDArray[np.floating]) -> NDArray[np.float32]:
        """Depth in metres, measured from the camera plane; infinite where the disparity is beyond infinity."""
        beta, focus_mm = self._beta_and_focus()
        denominator = np.asarray(disparity_px, dtype=np.float64) * focus_mm * self.sensor_mm + beta
        with np.errstate(divide="ignore"):
            depth_mm = np.where(denominator > 0, beta * focus_mm / denominator, np.inf)
        return np.where(np.isnan(denominator), np.nan, depth_mm / 1000).astype(np.float32)

    def disparity_px(self, depth_m: NDArray[np.floating]) -> NDArray[np.float32]:
        """Disparity of a depth in metres: the inverse of `depth_m`."""
        beta, focus_mm = self._beta_and_focus()
        depth_mm = np.asarray(depth_m, dtype=np.float64) * 1000
        with np.errstate(divide="ignore"):
            disparity_px = beta * (1 / depth_mm - 1 / focus_mm) / self.sensor_mm
        return disparity_px.astype(np.float32)

    def _beta_and_focus(self) -> tuple[float, float]:
        beta = self.baseline_mm * self.focal_mm * max(self.width_px, self.height_px)
        return beta, self.focus_distance_m * 1000


# Where each parameter stands in the file: (section, key).
_INTRINSICS = {
    "focal_mm": "focal_length_mm",
    "width_px": "image_resolution_x_px",
    "height_px": "image_resolution_y_px",
    "sensor_mm": "sensor_size_mm",
}
_EXTRINSICS = {
    "num_cams_x": "num_cams_x",
    "num_cams_y": "num_cams_y",
    "baseline_mm": "baseline_mm",
    "focus_distance_m": "focus_distance_m",
}
_META = {"scene": "scene", "category": "category", "disp_min_px": "disp_min", "disp_max_px": "disp_max"}
_SECTIONS = {"intrinsics": _INTRINSICS, "extrinsics": _EXTRINSICS, "meta": _META}
_INTEGERS = {"width_px", "height_px", "num_cams_x", "num_cams_y"}
_TEXTS = {"scene", "category"}


def read_parameters(path: Path) -> Parameters:
    """Read `parameters.cfg`. Keys that freqlf has no use for are allowed: the benchmark's files have many."""
    config = configparser.ConfigParser(interpolation=None)
    try:
        config.read_string(path.read_text(encoding="utf-8"), source=path.name)
    except FileNotFoundError as error:
        raise FreqLFError(f"{path} does not exist; it is part of every scene of the benchmark") from error
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise FreqLFError(f"cannot read {path}: {' '.join(str(error).split())}") from error
    values: dict[str, float | int | str] = {}
    for section, keys in _SECTIONS.items():
        for field, key in keys.items():
            text = config.get(section, key, fallback=None)
            if text is None:
                if field in _TEXTS:
                    continue
                raise FreqLFError(f"{path} lacks {key} in its section [{section}]")
            values[field] = _parse_value(path, field, key, text)
    try:
        return Parameters(**values)  # type: ignore[arg-type]
    except FreqLFError as error:
        raise FreqLFError(f"{path}: {error}") from error


def _parse_value(path: Path, field: str, key: str, text: str) -> float | int | str:
    if field in _TEXTS:
        return text
    try:
        return int(text) if field in _INTEGERS else float(text)
    except ValueError as error:
        raise FreqLFError(f"{path}: {key} must be a number, not {text!r}") from error


def format_parameters(parameters: Parameters) -> str:
    """The text of `parameters.cfg`."""
    lines: list[str] = []
    for section, keys in _SECTIONS.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {getattr(parameters, field)}" for field, key in keys.items()]
        lines.append("")
    return "\n".join(lines)
