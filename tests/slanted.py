"""A light field of a slanted plane, sampled exactly: its disparity varies, so misplaced ground truth shows."""

import numpy as np
import torch
from scipy.ndimage import map_coordinates

from freqlf.data.samples import Sample, Step
from freqlf.lightfield import LINES, project_pixel


def disparity_at(x, start_px: float, slope: float):
    return start_px + slope * x


def render_view(step: Step, height: int, width: int, start_px: float, slope: float) -> np.ndarray:
    """(3, H, W) of the view that is `step` away from the centre."""
    u, v = step
    y, x = np.mgrid[:height, :width].astype(float)
    # Where the centre sees what this view sees at (y, x): the inverse of `project_pixel` for a plane.
    x0 = (x + v * start_px) / (1 - v * slope)
    y0 = y + u * disparity_at(x0, start_px, slope)
    waves = [0.5 + 0.2 * np.sin(0.4 * y0 + 1.1 * c) + 0.2 * np.sin(0.5 * x0 - 0.2 * y0 + c) for c in range(3)]
    return np.stack(waves)


def make_sample(
    height: int = 64,
    width: int = 72,
    reach: int = 2,
    start_px: float = -0.8,
    slope: float = 0.02,
    name: str = "slanted",
) -> Sample:
    """With all four lines of 2 reach + 1 views and 8-bit pixels; disparity start_px + slope x."""
    steps = sorted({(k * du, k * dv) for du, dv in LINES.values() for k in range(-reach, reach + 1)})
    views = np.stack([render_view(step, height, width, start_px, slope) for step in steps])
    return Sample(
        name=name,
        views=torch.from_numpy(np.round(255 * views).astype(np.uint8)),
        steps=tuple(steps),
        disparity_px=torch.from_numpy(disparity_at(np.arange(width), start_px, slope)).float().expand(height, -1),
        valid=torch.ones(height, width, dtype=torch.bool),
    )


def photometric_error(sample: Sample, border_px: int = 2) -> float:
    """The largest difference between the centre and any view, looked up where the ground truth says.

    Pixels that a view sees outside, or within `border_px` of the edge, are left out.
    """
    views = sample.views.double().numpy()
    if sample.views.dtype == torch.uint8:
        views = views / 255
    centre = views[sample.steps.index((0, 0))]
    y, x = np.mgrid[: sample.height, : sample.width].astype(float)
    worst = 0.0
    for step, view in zip(sample.steps, views, strict=True):
        there_y, there_x = project_pixel(y, x, sample.disparity_px.double().numpy(), step)
        inside = (there_y >= border_px) & (there_y <= sample.height - 1 - border_px) & sample.valid.numpy()
        inside &= (there_x >= border_px) & (there_x <= sample.width - 1 - border_px)
        assert inside.mean() > 0.3
        for c in range(3):
            seen = map_coordinates(view[c], (there_y, there_x), order=3, mode="nearest")
            worst = max(worst, float(np.abs(seen - centre[c])[inside].max()))
    return worst
