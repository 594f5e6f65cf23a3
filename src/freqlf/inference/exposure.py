"""Views that are darker than the central one, or of another tint: how much, and only where it is certain.

Lenses darken the views at the edge of the aperture, and cameras of an array differ. Matching takes either for a
difference of what is seen.
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray

from freqlf.inference.shear import choose_shear_px
from freqlf.lightfield import LightField, project_pixel
from freqlf.models.config import EPI_LINES
from freqlf.models.halflines import HalfLines
from freqlf.models.slope import SlopeOptions, estimate_slope

Gains = dict[tuple[int, int], NDArray[np.float32]]  # view (u, v) to its gains (3,)

_SCALE = 8
_DARK, _WHITE = 0.03, 0.97  # beyond, ratios are noise or say nothing
_LEAST_PLACES = 16
# Evenly exposed views seem to differ a little by what they see: by 1.6 % at most on the twenty public scenes of the HCI
# benchmark, which must stay as they are.
_SIGNIFICANT = 0.03
_SURE = 3.0  # standard errors
_REFINEMENTS = 2
_SIDE_PX = 256  # of the views that gains are refined with


def measure_gains(light_field: LightField, lines: tuple[str, ...], middle_px: float) -> Gains:
    """What to multiply views on the lines with so that they are as bright as the centre; empty if they are already.

    middle_px: the disparity at which the views are laid over each other at first.

    Estimates are sensitive: on four generated scenes with vignetting of 28 % the mean error was 0.2 to 1.3 px without
    gains and up to 0.2 px with gains that were off by 0.7 %. So gains that are needed are measured again with the views
    laid over each other pixel by pixel: then it was at most 0.03 px, instead of 0.02 without vignetting.
    """
    gains = _measure_roughly(light_field, lines, middle_px)
    for _ in range(_REFINEMENTS if gains else 0):
        gains = _refine(light_field, lines, gains, middle_px)
    return gains


def _measure_roughly(light_field: LightField, lines: tuple[str, ...], middle_px: float) -> Gains:
    """By the median ratio of places, the views laid over each other at one disparity."""
    scale = max(1, min(_SCALE, light_field.height // 16, light_field.width // 16))
    centre = _shrink(light_field.centre_view(), scale)
    views = dict.fromkeys(view for line in lines for view in light_field.line(line) if view != light_field.centre)
    gains: Gains = {}
    for u, v in views:
        moved = project_pixel(0.0, 0.0, middle_px / scale, (u - light_field.centre[0], v - light_field.centre[1]))
        gains[u, v] = _compare(centre, _shrink(light_field.view(u, v), scale), (-round(moved[0]), -round(moved[1])))
    differs = any(np.abs(gain - 1).max() > _SIGNIFICANT for gain in gains.values())
    return gains if differs else {}


@torch.inference_mode()
def _refine(light_field: LightField, lines: tuple[str, ...], gains: Gains, middle_px: float) -> Gains:
    """By the median ratio of pixels, the views laid over each other by the slopes that they have with these gains."""
    scale = max(1, round(min(light_field.height, light_field.width) / _SIDE_PX))
    even = light_field.with_gains(gains)
    order = (*(line for line in EPI_LINES if line in lines), *(line for line in lines if line not in EPI_LINES))
    stacks = {
        line: torch.from_numpy(np.stack([_shrink(even.view(*view), scale) for view in even.line(line)])).float()
        for line in order
    }
    half_lines = HalfLines.from_stacks({line: stack.permute(0, 3, 1, 2)[None] for line, stack in stacks.items()}, order)
    epi = half_lines.of_lines([line for line in EPI_LINES if line in lines])
    slope_px = estimate_slope(epi, SlopeOptions(), start_px=-choose_shear_px(middle_px) / scale).slope_px
    centre = half_lines.centre[0].numpy()  # 3, h, w
    refined = dict(gains)
    for part, (values, visible) in zip(half_lines.slices, half_lines.residuals(slope_px), strict=True):
        for i, (du, dv) in enumerate(half_lines.offsets[part]):
            view = light_field.centre[0] + du, light_field.centre[1] + dv
            seen = visible[0, i].numpy() > 0
            correction = [
                _median_ratio(here[seen], here[seen] + off[seen])
                for here, off in zip(centre, values[0, i].numpy(), strict=True)
            ]
            refined[view] = gains[view] * np.array([ratio or 1.0 for ratio in correction], np.float32)
    return refined


def describe_gains(gains: Gains) -> str:
    """In one line, for the user."""
    largest = max(float(gain.max()) for gain in gains.values())
    smallest = min(float(gain.min()) for gain in gains.values())
    return f"made the views as bright as the central one: factors of {smallest:.2f} to {largest:.2f}"


def _shrink(view: NDArray[np.float32], scale: int) -> NDArray[np.float64]:
    """Means of squares of scale x scale pixels, (h, w, 3)."""
    height, width = view.shape[0] // scale, view.shape[1] // scale
    cut = view[: height * scale, : width * scale].reshape(height, scale, width, scale, 3)
    return cut.mean(axis=(1, 3), dtype=np.float64)


def _compare(centre: NDArray[np.float64], view: NDArray[np.float64], shift: tuple[int, int]) -> NDArray[np.float32]:
    """The median ratio (3,) of the centre to a view that shows it shifted down and right; 1 where nothing is sure."""
    (down, right), (height, width) = shift, centre.shape[:2]
    gain = np.ones(3, np.float32)
    if abs(down) >= height or abs(right) >= width:
        return gain
    here = centre[max(down, 0) : height + min(down, 0), max(right, 0) : width + min(right, 0)]
    there = view[max(-down, 0) : height + min(-down, 0), max(-right, 0) : width + min(-right, 0)]
    for channel in range(3):
        one, other = here[..., channel].ravel(), there[..., channel].ravel()
        gain[channel] = _median_ratio(one, other) or 1.0
    return gain


def _median_ratio(one: NDArray[np.floating], other: NDArray[np.floating]) -> float | None:
    """The median of one / other where both are neither dark nor white; None if it may as well be 1."""
    known = (np.minimum(one, other) > _DARK) & (np.maximum(one, other) < _WHITE)
    if known.sum() < _LEAST_PLACES:
        return None
    ratios = one[known] / other[known]
    median = float(np.median(ratios))
    error = 1.86 * float(np.median(np.abs(ratios - median))) / math.sqrt(len(ratios))  # of a median, if normal
    return median if abs(median - 1) > _SURE * error else None
