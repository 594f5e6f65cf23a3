"""The maps of an estimate, read off mixtures: written once, for estimates and for exported graphs."""

import numpy as np
import torch
from torch import Tensor

from freqlf.models.base import DisparityModel
from freqlf.models.mixture import Mixture
from freqlf.outputs.estimate import INTERVAL
from freqlf.weights.calibration import Calibration, Values

MAPS = ("disparity_px", "mean_px", "deviation_px", "lower_px", "upper_px")


class MapReader:
    """Mixtures (B, K, h, w) to maps (B, maps, h, w), called `names` in this order, pixel by pixel.

    A calibration makes the interval around the disparity; without one it is the mixture's central interval. A model
    that is not probabilistic has its disparity only.
    """

    def __init__(self, model: DisparityModel[object], calibration: Calibration | None = None) -> None:
        self.names = MAPS if model.is_probabilistic else MAPS[:1]
        self.calibration = calibration
        self.reading = model.reading

    def __call__(self, mixture: Mixture) -> Tensor:
        """The maps of the mixture's pixels."""
        if len(self.names) == 1:
            return mixture.tempered_mean().unsqueeze(1)
        disparity_px, mean_px, deviation_px = mixture.summarise(self.reading)
        if self.calibration is None:
            tail = (1 - INTERVAL) / 2
            bounds = mixture.quantile(tail), mixture.quantile(1 - tail)
        else:
            half_width_px = find_half_width(self.calibration, deviation_px)
            bounds = disparity_px - half_width_px, disparity_px + half_width_px
        return torch.stack((disparity_px, mean_px, deviation_px, *bounds), dim=1)


def find_half_width(calibration: Calibration, deviation_px: Tensor) -> Tensor:
    """`Calibration.half_width_px` at the level of estimates, as operations that a graph can hold."""
    knots_px = np.array(calibration.predicted_px)
    inside_px = deviation_px.clamp(float(knots_px[0]), float(knots_px[-1]))
    scale = deviation_px / inside_px  # beyond the ends, in proportion
    shares = calibration.widths_px(INTERVAL)
    places, x = inside_px.log(), np.log(knots_px)
    parts = [share * _interpolate(places, x, np.log(widths_px)).exp() for share, widths_px in shares]
    return scale * torch.stack(parts).sum(dim=0)


def _interpolate(places: Tensor, x: Values, y: Values) -> Tensor:
    """Straight lines between the knots (x, y), of which the first is at or below all places, as `np.interp`."""
    value = torch.full_like(places, float(y[0]))
    for start, length, rise in zip(x[:-1], np.diff(x), np.diff(y), strict=True):
        value = value + float(rise / length) * (places - float(start)).clamp(0.0, float(length))
    return value
