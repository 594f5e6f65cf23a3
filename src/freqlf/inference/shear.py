"""Finding the one disparity around which a light field lies, so that it can be moved to where models are best."""

import torch
from torch import Tensor

from freqlf.models.halflines import HalfLines

# Models were trained on disparities of a few pixels; light fields whose middle is within this need no shear.
TOLERANCE_PX = 2.0
_SCALE = 8
_STEP_PX = 0.5
_STRONGEST_SHARE = 0.25


@torch.inference_mode()
def find_middle_disparity_px(half_lines: HalfLines, reach_px: float = 32.0) -> float:
    """The median disparity of the best textured places, to half a pixel, between -reach_px and reach_px.

    At an eighth of the resolution each place takes the candidate at which the views differ least.
    """
    height, width = half_lines.centre.shape[-2:]
    scale = max(1, min(_SCALE, height // 16, width // 16))
    level = half_lines.shrunk(scale)
    candidates_px = torch.arange(-reach_px, reach_px + _STEP_PX / 2, _STEP_PX)
    costs = torch.cat([_cost(level, float(disparity_px) / scale) for disparity_px in candidates_px], dim=1)
    best = costs.argmin(dim=1).flatten()
    # How much worse the average candidate is tells how much a place has to say.
    contrast = (costs.mean(dim=1) - costs.amin(dim=1)).flatten()
    strongest = contrast.topk(max(1, int(_STRONGEST_SHARE * contrast.numel()))).indices
    return float(candidates_px[best[strongest]].median())


def _cost(level: HalfLines, disparity: float) -> Tensor:
    """Mean absolute residual (B, 1, h, w) at one disparity in the level's pixels."""
    everywhere = torch.full_like(level.centre[:, :1], disparity)
    return level.costs(everywhere).mean(dim=1, keepdim=True)


def choose_shear_px(middle_px: float, tolerance_px: float = TOLERANCE_PX) -> float:
    """The whole number of pixels to shear by: zero if the middle is within the tolerance.

    Whole pixels move views without interpolation, so the shear costs no sharpness.
    """
    return 0.0 if abs(middle_px) <= tolerance_px else -float(round(middle_px))
