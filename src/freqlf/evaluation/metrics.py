"""Scores of a disparity map against the ground truth, as the paper, the HCI benchmark and its server define them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freqlf.data.hci import Scene
from freqlf.errors import FreqLFError
from freqlf.io.pfm import read_pfm

DEFAULT_BORDER_PX = 11  # the paper's
# The benchmark's server does not score as papers do on the native ground truth: it leaves out more pixels at the edge
# and, for some scenes, compares at ten times the resolution, where pixels on an edge count by the part that is wrong.
SERVER_BORDER_PX = 15  # at native resolution
HIGH_RESOLUTION_SCENES = ("backgammon", "dots", "stripes")
HIGH_RESOLUTION_FILE = "gt_disp_highres.pfm"


@dataclass(frozen=True)
class Scores:
    """How far a map is off. Lower is better everywhere.

    The error of a predicted pixel that is not a finite number counts as infinite: it is bad at every BadPix threshold,
    comes last in Q25, and makes the MSE infinite. Such pixels are counted in `non_finite`, never left out.
    """

    mse_100: float  # mean squared error, px^2, times 100
    badpix_001: float  # percent of pixels whose error is more than 0.01 px
    badpix_003: float
    badpix_007: float
    q25: float  # 25th percentile of the absolute error, px, times 100
    pixels: int  # scored: inside the border, valid, with finite ground truth
    non_finite: int  # of these, predicted as NaN or infinity
    no_ground_truth: int  # inside the border and valid, but left out because the ground truth is not finite


METRICS = ("mse_100", "badpix_001", "badpix_003", "badpix_007", "q25")


def score_map(
    prediction: NDArray[np.floating],
    ground_truth: NDArray[np.floating],
    valid_mask: NDArray[np.bool_] | None = None,
    border: int = DEFAULT_BORDER_PX,
) -> Scores:
    """Score a disparity map (H, W), in pixels per view step, over the valid pixels inside a `border`."""
    region = scored_region(ground_truth, valid_mask, border)
    if prediction.shape != ground_truth.shape:
        raise FreqLFError(
            f"the prediction is {_size(prediction)}, the ground truth {_size(ground_truth)}; they must agree"
        )
    has_ground_truth = np.isfinite(ground_truth)
    scored = region & has_ground_truth
    pixels = int(scored.sum())
    if pixels == 0:
        raise FreqLFError("no pixel to score: none inside the border is valid and has a finite ground truth")
    # In double precision: a float32 sum over a quarter of a million pixels would disturb the last digit.
    predicted = prediction[scored].astype(np.float64)
    finite = np.isfinite(predicted)
    error_px = np.full(pixels, np.inf)
    error_px[finite] = np.abs(predicted[finite] - ground_truth[scored][finite])
    return Scores(
        mse_100=float(100 * np.mean(error_px**2)),
        badpix_001=_percent_above(error_px, 0.01),
        badpix_003=_percent_above(error_px, 0.03),
        badpix_007=_percent_above(error_px, 0.07),
        q25=float(100 * np.partition(error_px, pixels // 4)[pixels // 4]),
        pixels=pixels,
        non_finite=int((~finite).sum()),
        no_ground_truth=int((region & ~has_ground_truth).sum()),
    )


def scored_region(
    ground_truth: NDArray[np.floating], valid_mask: NDArray[np.bool_] | None, border: int
) -> NDArray[np.bool_]:
    """(H, W), True for the valid pixels that are at least `border` pixels away from the image's edge."""
    if ground_truth.ndim != 2:
        raise FreqLFError(f"a disparity map is (H, W), not the shape {ground_truth.shape}")
    height, width = ground_truth.shape
    if border < 0 or 2 * border >= min(height, width):
        raise FreqLFError(f"a border of {border} pixels leaves nothing of a {_size(ground_truth)} map; choose another")
    if valid_mask is not None and valid_mask.shape != ground_truth.shape:
        raise FreqLFError(
            f"the valid mask is {_size(valid_mask)}, the ground truth {_size(ground_truth)}; they must agree"
        )
    region = np.zeros((height, width), dtype=bool)
    region[border : height - border, border : width - border] = True
    return region if valid_mask is None else region & valid_mask


def mean_scores(scores: Sequence[Scores]) -> dict[str, float]:
    """The unweighted mean of every metric over scenes, as all published tables give it."""
    return {metric: float(np.mean([getattr(score, metric) for score in scores])) for metric in METRICS}


def describe_protocol(border: int) -> dict[str, Any]:
    """What a score was computed over and how, to be stored beside it: numbers of two protocols do not compare."""
    return {
        "resolution": "native (lowres ground truth)",
        "border_px": border,
        "mask": "valid_mask.png where present, finite ground truth",
        "badpix": "strictly greater than the threshold, percent",
        "mse": "times 100",
        "q25": "25th percentile of the absolute error, times 100",
        "non_finite_predictions": "error counts as infinite",
        "mean": "unweighted over scenes",
    }


def _percent_above(error_px: NDArray[np.float64], threshold_px: float) -> float:
    return float(100 * np.mean(error_px > threshold_px))


def _size(pixels: NDArray[Any]) -> str:
    return " x ".join(str(length) for length in pixels.shape[1::-1]) + " pixels"


def score_officially(scene: Scene, prediction_px: NDArray[np.floating]) -> Scores | None:
    """Score a map (H, W) by the server's protocol, or None where the ground truth that it takes is not there."""
    if scene.name not in HIGH_RESOLUTION_SCENES:
        ground_truth_px = scene.disparity_px()
        return None if ground_truth_px is None else score_map(prediction_px, ground_truth_px, None, SERVER_BORDER_PX)
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
    return score_map(enlarge_nearest(prediction_px, factor), ground_truth_px, None, factor * SERVER_BORDER_PX)


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
    return describe_protocol(SERVER_BORDER_PX) | {
        "resolution": f"{', '.join(HIGH_RESOLUTION_SCENES)}: highres ground truth, the map enlarged to it by nearest "
        "index floor(i (n - 1) / (N - 1) + 1/2), the border in proportion; other scenes: native (lowres ground truth)",
        "mask": "finite ground truth",
        "non_finite_predictions": "error counts as infinite (the server leaves these pixels out)",
    }
