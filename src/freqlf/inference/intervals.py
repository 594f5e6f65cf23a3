"""Intervals where nothing can be known: as wide as the scene is deep, for any disparity in it would look the same."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from freqlf.inference.shear import REACH_PX
from freqlf.io.parameters import Parameters
from freqlf.outputs.estimate import Estimate
from freqlf.outputs.pointcloud import find_span_px

Map = NDArray[np.float32]

_LEAST_SHARE = 0.001  # of the pixels must have evidence, to say anything
_LEAST_DEPTH_PX = 1.0


def find_range_px(disparity_px: Map, no_evidence: Map, camera: Parameters | None) -> tuple[float, float]:
    """Between which disparities the scene lies, as far as can be told.

    What has no evidence may lie behind all that has, or before it: the range of what has is extended by itself to both
    sides. A camera that says more is believed. If nothing has evidence, it is all that was searched.
    """
    if np.mean(no_evidence < 0.5) < _LEAST_SHARE:
        low, high = -REACH_PX, REACH_PX
    else:
        low, high = find_span_px(disparity_px, no_evidence)
        depth = max(high - low, _LEAST_DEPTH_PX)
        low, high = low - depth, high + depth
    if camera is not None:
        low, high = min(low, camera.disp_min_px), max(high, camera.disp_max_px)
        low = max(low, min(float(camera.disparity_px(np.array(np.inf))), high))  # nothing is beyond infinity
    return low, high


def widen_intervals(estimate: Estimate) -> Estimate:
    """Let the interval of pixels without evidence reach over the scene's range, and others in proportion."""
    nothing = estimate.no_evidence
    if nothing is None:
        return estimate
    low, high = find_range_px(estimate.disparity_px, nothing, estimate.parameters)
    lower_px, upper_px = estimate.lower_px, estimate.upper_px
    if lower_px is not None and upper_px is not None:
        lower_px = (lower_px + nothing * (np.minimum(lower_px, low) - lower_px)).astype(np.float32)
        upper_px = (upper_px + nothing * (np.maximum(upper_px, high) - upper_px)).astype(np.float32)
    return replace(estimate, lower_px=lower_px, upper_px=upper_px, range_px=(low, high))
