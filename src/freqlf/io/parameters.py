"""The camera of a light field, as `parameters.cfg` of the HCI benchmark gives it."""

import configparser
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.intake import decoding, read_text
from freqlf.io.schema import Range, check_fields

_MOST_BYTES = 2**20  # of parameters.cfg

Length = Annotated[float, Range(1e-6, 1e9)]  # in mm or m
Count = Annotated[int, Range(1, 1_000_000)]


@dataclass(frozen=True)
class Parameters:
    """A grid of `num_cams_y` x `num_cams_x` parallel cameras, `baseline_mm` apart, sheared to a focus distance.

    Disparity is in pixels per view step at the central view, positive in front of the focus plane.
    """

    focal_mm: Length
    sensor_mm: Length  # of the longer image side
    baseline_mm: Length
    focus_distance_m: Length
    width_px: Count
    height_px: Count
    num_cams_x: Count
    num_cams_y: Count
    disp_min_px: Annotated[float, Range(-1e6, 1e6)]
    disp_max_px: Annotated[float, Range(-1e6, 1e6)]
    scene: str = ""
    category: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
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

    def strided(self, stride: int, rows: int, columns: int) -> "Parameters":
        """The camera of rows x columns of the views, every stride-th: steps are longer, and depths stay."""
        return replace(
            self,
            baseline_mm=self.baseline_mm * stride,
            disp_min_px=self.disp_min_px * stride,
            disp_max_px=self.disp_max_px * stride,
            num_cams_y=rows,
            num_cams_x=columns,
        )

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
    text = read_text(path, _MOST_BYTES)
    with decoding(path, "camera parameters"):
        config.read_string(text, source=path.name)
    values: dict[str, float | int | str] = {}
    for section, keys in _SECTIONS.items():
        for field, key in keys.items():
            if not config.has_option(section, key):
                if field in _TEXTS:
                    continue
                raise FreqLFError(f"{path} lacks {key} in its section [{section}]")
            values[field] = _parse_value(path, field, key, config.get(section, key))
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
