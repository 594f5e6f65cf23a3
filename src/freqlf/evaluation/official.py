"""Scores as the benchmark's server computes them, which is not how papers score on the native ground truth.

The server leaves out 15 pixels at the edge and, for backgammon, dots and stripes, compares at ten times the resolution:
there, pixels on an edge count by the part of them that is wrong.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from freqlf.data.hci import Scene
from freqlf.errors import FreqLFError
from freqlf.evaluation.metrics import Scores, describe_protocol, score_map
from freqlf.io.pfm import read_pfm

BORDER_PX = 15  # at native resolution
HIGH_RESOLUTION_SCENES = ("backgammon", "dots", "stripes")
HIGH_RESOLUTION_FILE = "gt_disp_highres.pfm"


def score_officially(scene: Scene, prediction_px: NDArray[np.floating]) -> Scores | None:
    """Score a map (H, W) by the server's protocol, or None where the ground truth that it takes is not there."""
    if scene.name not in HIGH_RESOLUTION_SCENES:
        ground_truth_px = scene.disparity_px()
        return None if ground_truth_px is None else score_map(prediction_px, ground_truth_px, None, BORDER_PX)
    path = scene.directory / HIGH_RESOLUTION_FILE
    if not path.exists():
        return None
    return score_enlarged(prediction_px, read_pfm(path))


def score_enlarged(prediction_px: NDArray[np.floating], ground_truth_px: NDArray[np.floating]) -> Scores:
    """Score a map (H, W) against ground truth (n H, n W): the map is enlarged, and the border with it."""
    height, width = prediction_px.shape
    factor = ground_truth_px.shape[0] // height
    if ground_truth_px.shape != (factor * height, factor * width):
        raise FreqLFError(
            f"the ground truth is {ground_truth_px.shape[1]} x {ground_truth_px.shape[0]} pixels; "
            f"it must be a whole multiple of the map's {width} x {height}"
        )
    return score_map(enlarge_nearest(prediction_px, factor), ground_truth_px, None, factor * BORDER_PX)


def enlarge_nearest(pixels: NDArray[Any], factor: int) -> NDArray[Any]:
    """(H, W) to (factor H, factor W), each pixel from the nearest one, the corner pixels' centres kept in the corners.

    So does the server (scipy's zoom of order 0). It is not the same as repeating every pixel `factor` times.
    """
    rows, columns = (_nearest_indices(length, factor) for length in pixels.shape)
    return pixels[rows[:, None], columns]


def _nearest_indices(length: int, factor: int) -> NDArray[np.intp]:
    large = factor * length
    if large == 1:
        return np.zeros(1, dtype=np.intp)
    # floor(i (length - 1) / (large - 1) + 1/2), in whole numbers
    return (2 * np.arange(large) * (length - 1) + large - 1) // (2 * (large - 1))


def describe_official_protocol() -> dict[str, Any]:
    """The protocol, to be stored beside the scores."""
    return describe_protocol(BORDER_PX) | {
        "resolution": f"{', '.join(HIGH_RESOLUTION_SCENES)}: highres ground truth, the map enlarged to it by nearest "
        "index floor(i (n - 1) / (N - 1) + 1/2), the border in proportion; other scenes: native (lowres ground truth)",
        "mask": "finite ground truth",
        "non_finite_predictions": "error counts as infinite (the server leaves these pixels out)",
    }
