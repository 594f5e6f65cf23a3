"""Finding the one disparity around which a light field lies, so that it can be moved to where models are best."""

import torch
import torch.nn.functional as F
from torch import Tensor

from freqlf.lightfield import LightField
from freqlf.models.config import EPI_LINES
from freqlf.models.halflines import HalfLines

# Models were trained on disparities of a few pixels; light fields whose middle is within this need no shear.
TOLERANCE_PX = 2.0
_SCALE = 8
_STEP_PX = 0.5
_STRONGEST_SHARE = 0.25


def find_shear_px(light_field: LightField) -> float:
    """The shear that brings the light field to where models were trained."""
    return choose_shear_px(find_middle_disparity_px(light_field))


@torch.inference_mode()
def find_middle_disparity_px(light_field: LightField, reach_px: float = 32.0) -> float:
    """The median disparity of the best textured places, to half a pixel, between -reach_px and reach_px.

    A plane sweep at an eighth of the resolution: each place takes the candidate at which the views differ least.
    """
    scale = max(1, min(_SCALE, light_field.height // 16, light_field.width // 16))
    # Views are shrunk one by one: all of them at full size would be held twice.
    stacks = {
        line: torch.stack([_shrink(light_field, u, v, scale) for u, v in light_field.line(line)], dim=1)
        for line in EPI_LINES
    }
    level = HalfLines.from_stacks(stacks, EPI_LINES)
    candidates_px = torch.arange(-reach_px, reach_px + _STEP_PX / 2, _STEP_PX)
    costs = torch.cat([_cost(level, float(disparity_px) / scale) for disparity_px in candidates_px], dim=1)
    best = costs.argmin(dim=1).flatten()
    # How much worse the average candidate is tells how much a place has to say.
    contrast = (costs.mean(dim=1) - costs.amin(dim=1)).flatten()
    strongest = contrast.topk(max(1, int(_STRONGEST_SHARE * contrast.numel()))).indices
    return float(candidates_px[best[strongest]].median())


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


def choose_shear_px(middle_px: float, tolerance_px: float = TOLERANCE_PX) -> float:
    """The whole number of pixels to shear by: zero if the middle is within the tolerance.

    Whole pixels move views without interpolation, so the shear costs no sharpness.
    """
    return 0.0 if abs(middle_px) <= tolerance_px else -float(round(middle_px))
