"""Parts of an image where disparity is hard in different ways: at boundaries, and where there is no texture.

Both masks are the paper's diagnostics. The benchmark knows no such labels.
"""

import numpy as np
import scipy.ndimage
from numpy.typing import NDArray

from freqlf.io.views import View

BOUNDARY_SHARE = 0.10
TEXTURELESS_SHARE = 0.15
_WINDOW_PX = 7
_LUMA = np.array([0.299, 0.587, 0.114])  # ITU-R BT.601


def boundary_mask(ground_truth_px: NDArray[np.floating], scored: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The 10 % of the `scored` pixels (H, W) where the true disparity (H, W) changes fastest."""
    dy, dx = np.gradient(ground_truth_px.astype(np.float64))
    steepness = np.hypot(dy, dx)
    # Beside a pixel without ground truth the slope is unknown, which is no sign of a boundary.
    return _choose_lowest(-np.nan_to_num(steepness, nan=0.0, posinf=0.0), scored, BOUNDARY_SHARE)


def textureless_mask(view: View, scored: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The 15 % of the `scored` pixels (H, W) where the intensity of the view (H, W, 3) varies least within 7 x 7."""
    return _choose_lowest(_local_variance(view.astype(np.float64) @ _LUMA), scored, TEXTURELESS_SHARE)


def find_regions(
    ground_truth_px: NDArray[np.floating], view: View, scored: NDArray[np.bool_]
) -> dict[str, NDArray[np.bool_]]:
    """Both masks (H, W), by name."""
    return {"boundary": boundary_mask(ground_truth_px, scored), "textureless": textureless_mask(view, scored)}


def _local_variance(intensity: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = intensity - intensity.mean()  # the difference of squares below loses fewer digits
    mean = scipy.ndimage.uniform_filter(centred, _WINDOW_PX, mode="reflect")
    mean_square = scipy.ndimage.uniform_filter(centred**2, _WINDOW_PX, mode="reflect")
    # Rounded, so that areas of one colour are ties and not a matter of the last digit.
    return np.round(np.maximum(mean_square - mean**2, 0.0), 12)


def _choose_lowest(values: NDArray[np.float64], scored: NDArray[np.bool_], share: float) -> NDArray[np.bool_]:
    """Mark exactly `share` of the scored pixels, those with the lowest values.

    Among equals the choice is scattered over the image, and always the same: taking them in order would prefer the top.
    """
    candidates = np.flatnonzero(scored)
    scattered = (candidates.astype(np.uint64) * np.uint64(2654435761)) % np.uint64(2**32)  # Knuth's multiplicative hash
    order = np.lexsort((scattered, values.ravel()[candidates]))
    mask = np.zeros(scored.size, dtype=bool)
    mask[candidates[order[: round(share * len(candidates))]]] = True
    return mask.reshape(scored.shape)
