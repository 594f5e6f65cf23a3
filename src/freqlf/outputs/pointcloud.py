"""From disparity to depth and to coloured points, in the frame of the central camera.

x points right, y down and z into the scene, in millimetres. Pixels are square and the principal point is the middle of
the image: pixel (y, x) of depth z lies at ((x - (W - 1) / 2) * z / f, (y - (H - 1) / 2) * z / f, z), where f is the
focal length in pixels.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.ndimage
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.parameters import Parameters
from freqlf.io.views import View

_OUTLIERS_PERCENT = 1.0  # of the pixels, at either end, say nothing about the scene's range
_LEAST_SPAN_PX = 1.0  # even of a flat scene


@dataclass(frozen=True)
class PointCloud:
    """Points (N, 3) float32 with their colours (N, 3) uint8.

    They are in mm, or have no unit if `has_unit` is False: then the size of the scene, and how deep it is, are guesses.
    """

    points_mm: NDArray[np.float32]
    colours: NDArray[np.uint8]
    has_unit: bool = True

    def __len__(self) -> int:
        return len(self.points_mm)


@dataclass(frozen=True)
class PointFilter:
    """Which pixels become points: limits that None lifts. Pixels without a finite depth never do.

    Attributes:
        max_interval: the largest width of the interval of the disparity, as a share of the scene's range of
            disparities: an error that is large for one scene is nothing for a deeper one.
        max_no_evidence: the largest lack of evidence, from 0 to 1.
        max_deviation_px: the largest standard deviation of the disparity. These three do nothing if that is not known.
        max_jump_px: the largest difference of disparities within 3 x 3 pixels: beyond it a pixel lies on the edge of an
            object, and if it mixes both sides its point hangs in the air between them.
        max_depth_mm: the largest depth.
    """

    max_interval: float | None = 0.25
    max_no_evidence: float | None = 0.5
    max_deviation_px: float | None = None
    max_jump_px: float | None = 0.5
    max_depth_mm: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_interval", "max_no_evidence", "max_deviation_px", "max_jump_px", "max_depth_mm"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise FreqLFError(f"{name} must be a positive number, or none for no limit, not {value}")


STANDARD_LIMITS = PointFilter()


def compute_depth_mm(disparity_px: NDArray[np.floating], parameters: Parameters) -> NDArray[np.float32]:
    """Depth (H, W) along the optical axis in mm; infinite where the disparity is that of infinity or beyond."""
    _check_size(disparity_px, parameters)
    return parameters.depth_m(disparity_px) * np.float32(1000)


def unproject(depth_mm: NDArray[np.floating], parameters: Parameters) -> NDArray[np.float32]:
    """The points (H, W, 3) that pixels of a depth (H, W) see, in mm; not finite where the depth is not."""
    _check_size(depth_mm, parameters)
    height, width = depth_mm.shape
    focal_px = parameters.focal_mm / parameters.sensor_mm * max(height, width)
    known_mm = np.where(np.isfinite(depth_mm), depth_mm, np.nan).astype(np.float64)  # 0 * infinity would warn
    x = (np.arange(width) - (width - 1) / 2)[None, :] / focal_px * known_mm
    y = (np.arange(height) - (height - 1) / 2)[:, None] / focal_px * known_mm
    return np.stack([x, y, known_mm], axis=-1).astype(np.float32)


def select_points(
    disparity_px: NDArray[np.floating],
    depth_mm: NDArray[np.floating],
    deviation_px: NDArray[np.floating] | None = None,
    limits: PointFilter = STANDARD_LIMITS,
    *,
    interval_px: NDArray[np.floating] | None = None,
    no_evidence: NDArray[np.floating] | None = None,
) -> NDArray[np.bool_]:
    """(H, W), True for the pixels that become points.

    interval_px: the width of the interval that holds the true disparity; no_evidence: in [0, 1].
    """
    selected = np.isfinite(depth_mm) & np.isfinite(disparity_px)
    if limits.max_depth_mm is not None:
        selected &= depth_mm <= limits.max_depth_mm
    if limits.max_deviation_px is not None and deviation_px is not None:
        selected &= deviation_px <= limits.max_deviation_px
    if limits.max_no_evidence is not None and no_evidence is not None:
        selected &= no_evidence < limits.max_no_evidence
    if limits.max_interval is not None and interval_px is not None:
        low_px, high_px = find_span_px(disparity_px, no_evidence)
        selected &= interval_px <= limits.max_interval * max(high_px - low_px, _LEAST_SPAN_PX)
    if limits.max_jump_px is not None:
        selected &= ~(_local_range(disparity_px) > limits.max_jump_px)
    return selected


def build_point_cloud(
    disparity_px: NDArray[np.floating],
    view: View,
    parameters: Parameters,
    deviation_px: NDArray[np.floating] | None = None,
    limits: PointFilter = STANDARD_LIMITS,
    **known: NDArray[np.floating] | None,
) -> PointCloud:
    """The points of a disparity map (H, W), coloured by the central view (H, W, 3), row by row from the top left.

    known: further arguments of `select_points`.
    """
    depth_mm = compute_depth_mm(disparity_px, parameters)
    selected = select_points(disparity_px, depth_mm, deviation_px, limits, **known)
    colours = np.rint(view[selected] * np.float32(255)).astype(np.uint8)
    return PointCloud(unproject(depth_mm, parameters)[selected], colours)


def find_span_px(
    disparity_px: NDArray[np.floating], no_evidence: NDArray[np.floating] | None = None
) -> tuple[float, float]:
    """Between which disparities a scene lies: of what has evidence, if anything has, without the outermost per cent."""
    known = np.isfinite(disparity_px)
    seen = known if no_evidence is None else known & (no_evidence < 0.5)
    values = disparity_px[seen if seen.any() else known]
    if not values.size:
        return 0.0, 0.0
    low_px, high_px = np.percentile(values, (_OUTLIERS_PERCENT, 100 - _OUTLIERS_PERCENT)).tolist()
    return low_px, high_px


def _local_range(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """Largest minus smallest finite value within 3 x 3 pixels."""
    known = np.isfinite(values)
    largest = scipy.ndimage.maximum_filter(np.where(known, values, -math.inf), 3)
    smallest = scipy.ndimage.minimum_filter(np.where(known, values, math.inf), 3)
    return largest - smallest


def _check_size(values: NDArray[np.floating], parameters: Parameters) -> None:
    if values.shape != (parameters.height_px, parameters.width_px):
        height, width = values.shape
        raise FreqLFError(
            f"the camera parameters are those of {parameters.width_px} x {parameters.height_px} pixels, but the views "
            f"have {width} x {height}; correct the image resolution in parameters.cfg or leave the file out"
        )
