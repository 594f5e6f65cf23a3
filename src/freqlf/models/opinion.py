"""A second opinion on the disparity: what views say when faint texture counts as much as any other.

Shadowed walls and floors have texture of a few grey levels, which a slope field on intensities drowns in its damping.
Nothing here is learned.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from freqlf.models.halflines import HalfLines
from freqlf.models.kernels import can_fuse
from freqlf.models.kernels.contrast import normalise_views
from freqlf.models.slope import SlopeOptions, estimate_slope

# Local contrast normalisation: side of the window, and the deviation that counts as no contrast at all.
_CONTRAST_WINDOW_PX = 15
_CONTRAST_FLOOR = 0.005

# Of least squares on normalised views, whose differences are of order 1: see `HalfLines.normal_equations`.
CONTRAST_ROBUSTNESS = 0.3
_DAMPING = 0.03  # of slope fields on them
# Of slope fields in noise, which differences there are of.
_NOISY_ROBUSTNESS = 0.1


class SecondOpinion(NamedTuple):
    """What the views say of a pixel when faint texture counts as much as any other.

    normalised: the views by their local contrast.
    surfaces_px: (B, windows, H, W), the disparities at which they agree best.
    wide_px: (B, n, H, W), disparities for noise and the faintest texture that are too blurred for edges, if any.
    doubts: (B, n, H, W), the cost of these over that of all planes on average, if planes were tried: 0 if they are the
        only ones that may be right, 1 if any plane is as good.
    """

    normalised: HalfLines
    surfaces_px: Tensor
    wide_px: Tensor | None = None
    doubts: Tensor | None = None

    @property
    def hypotheses_px(self) -> Tensor:
        """All surfaces, (B, windows + n, H, W)."""
        return self.surfaces_px if self.wide_px is None else torch.cat((self.surfaces_px, self.wide_px), dim=1)

    def only(self, wide: int) -> "SecondOpinion":
        """With so many of its wide surfaces, the first ones."""
        if self.wide_px is None or self.wide_px.shape[1] == wide:
            return self
        return self._replace(
            wide_px=self.wide_px[:, :wide], doubts=None if self.doubts is None else self.doubts[:, :wide]
        )


@torch.no_grad()
def find_other_slopes(
    half_lines: HalfLines,
    lines: Sequence[str],
    windows_px: Sequence[int],
    mean_windows_px: Sequence[int],
    options: SlopeOptions,
    tile_px: int | None = None,
) -> SecondOpinion:
    """Slope fields of the normalised views on these lines, one for each window.

    And for each of the `mean_windows_px` one by which the views agree with their mean, for noise.
    """
    normalised = normalise_contrast(half_lines)
    by_contrast = replace(options, robustness=CONTRAST_ROBUSTNESS, damping=_DAMPING)
    # Surroundings would spread what noise has made wrong.
    by_mean = replace(options, robustness=_NOISY_ROBUSTNESS, reference="mean", support_scales=())

    def find(views: HalfLines, options: SlopeOptions, windows_px: Sequence[int]) -> Tensor:
        chosen = views.of_lines(lines)
        fields = [estimate_slope(chosen, replace(options, window_px=one), tile_px).slope_px for one in windows_px]
        return torch.cat(fields, dim=1)

    wide_px = find(half_lines, by_mean, mean_windows_px) if mean_windows_px else None
    return SecondOpinion(normalised, find(normalised, by_contrast, windows_px), wide_px)


@torch.no_grad()
def normalise_contrast(half_lines: HalfLines) -> HalfLines:
    """Views without their local mean, over the local deviation of their grey image.

    Faint texture in the shade counts as much as any other there.
    """

    def normalise(views: Tensor) -> Tensor:  # B, V, 3, H, W
        if can_fuse(views):
            return normalise_views(views, _CONTRAST_WINDOW_PX, _CONTRAST_FLOOR)
        grey = views.mean(dim=2)
        deviation = (_window_mean(grey.square()) - _window_mean(grey).square()).clamp_min_(0).sqrt_()
        means = _window_mean(views.flatten(1, 2)).view_as(views)
        return (views - means).div_(deviation.add_(_CONTRAST_FLOOR).unsqueeze(2))

    centre = normalise(half_lines.centre.unsqueeze(1)).squeeze(1)
    return replace(half_lines, centre=centre, views=normalise(half_lines.views))


def _window_mean(images: Tensor) -> Tensor:
    window, reach = _CONTRAST_WINDOW_PX, _CONTRAST_WINDOW_PX // 2
    along_x = F.avg_pool2d(images, (1, window), stride=1, padding=(0, reach), count_include_pad=False)
    return F.avg_pool2d(along_x, (window, 1), stride=1, padding=(reach, 0), count_include_pad=False)
