"""Where a light field lies on the whole: the disparity in its middle, and how far others are from it.

By the middle it is moved to where models are best; by the spread more views than usual are used, or not.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from freqlf.lightfield import LightField
from freqlf.models.config import EPI_LINES
from freqlf.models.halflines import HalfLines

# Models were trained on disparities of a few pixels; light fields whose middle is within this need no shear.
TOLERANCE_PX = 2.0
REACH_PX = 32.0  # on both sides of zero, disparities are looked for
_SCALE = 8
_STEP_PX = 0.5
_BESIDE_PX = 2.0  # from a minimum: how much worse views fit there tells how much a place has to say
_MOST = 0.95


@dataclass(frozen=True)
class Layout:
    """Disparities on the whole, in px per view step.

    Attributes:
        middle_px: the median of all places, by how much they have to say; 0 if none has anything to say.
        spread_px: how far from the middle 95 % of them are at most.
        is_known: whether any place has something to say.
    """

    middle_px: float
    spread_px: float
    is_known: bool


def find_layout(light_field: LightField) -> Layout:
    """By a plane sweep over the central row and column at an eighth of the resolution."""
    scale = max(1, min(_SCALE, light_field.height // 16, light_field.width // 16))
    lines = [line for line in EPI_LINES if line in light_field.lines]
    # Views are shrunk one by one: all of them at full size would be held twice.
    stacks = {
        line: torch.stack([_shrink(light_field, u, v, scale) for u, v in light_field.line(line)], dim=1)
        for line in lines
    }
    return sweep_layout(HalfLines.from_stacks(stacks, lines), 1 / scale)


@torch.inference_mode()
def sweep_layout(level: HalfLines, scale: float) -> Layout:
    """The same of views that were shrunk to `scale`: each place takes the plane at which they fit best."""
    candidates_px = torch.arange(-REACH_PX, REACH_PX + _STEP_PX / 2, _STEP_PX)
    costs = torch.cat([_cost(level, float(disparity_px) * scale) for disparity_px in candidates_px], dim=1)
    costs = costs.flatten(2)[0]  # candidates, places
    lowest, best = costs.min(dim=0)
    # Beside a true minimum views fit worse on both sides. Next to an object, a plain surface fits anywhere but there.
    beside = round(_BESIDE_PX / _STEP_PX)
    sides = [costs.gather(0, (best + step).clamp(0, len(costs) - 1)[None])[0] for step in (-beside, beside)]
    weights = torch.minimum(*sides) - lowest
    if not float(weights.sum()) > 0:
        return Layout(0.0, 0.0, is_known=False)
    disparities_px = candidates_px[best]
    middle_px = _weighted_quantile(disparities_px, weights, 0.5)
    spread_px = _weighted_quantile((disparities_px - middle_px).abs(), weights, _MOST)
    return Layout(middle_px, spread_px, is_known=True)


def choose_shear_px(middle_px: float) -> float:
    """The whole number of pixels to shear by: zero if the middle is within `TOLERANCE_PX`.

    Whole pixels move views without interpolation, so the shear costs no sharpness.
    """
    return 0.0 if abs(middle_px) <= TOLERANCE_PX else -float(round(middle_px))


def _weighted_quantile(values: Tensor, weights: Tensor, share: float) -> float:
    order = values.argsort()
    passed = weights[order].double().cumsum(0)
    place = int(torch.searchsorted(passed, share * passed[-1]))
    return float(values[order[min(place, len(values) - 1)]])


def _shrink(light_field: LightField, u: int, v: int, scale: int) -> Tensor:
    """View (u, v) at 1/scale of the resolution, (1, 3, h, w)."""
    pixels = light_field.view(u, v)
    size = (pixels.shape[0] // scale, pixels.shape[1] // scale)
    view = torch.from_numpy(pixels.transpose(2, 0, 1).copy())[None]
    return view if scale == 1 else F.interpolate(view, size=size, mode="area")


def _cost(level: HalfLines, disparity: float) -> Tensor:
    """Mean absolute residual (B, 1, h, w) at one disparity in the level's pixels."""
    everywhere = torch.full_like(level.centre[:, :1], disparity)
    return level.costs(everywhere).mean(dim=1, keepdim=True)
