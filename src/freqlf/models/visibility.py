"""Which views see a pixel, if the surfaces are where they are believed to be: depth buffers (Catmull, 1974) of views.

Behind a grid or beside a foreground most views show something else. What the others cost tells of a surface there, and
which ones these are follows from what stands in front. Nothing here is learned.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from freqlf.models.halflines import HalfLines
from freqlf.models.kernels import can_fuse

# A pixel of a surface covers the pixels of a view that are so near along both axes: its neighbours leave no holes.
COVERED_PX = 0.7
# A surface that is nearer by less does not hide a hypothesis: it is the same one, seen at a slant.
HIDING_PX = 0.15
# Where a view shows nothing that the central one sees.
NOTHING_PX = -math.inf


@torch.no_grad()
def draw_nearest(half_lines: HalfLines, disparity_px: Tensor) -> Tensor:
    """Disparities (B, V, H, W) of the nearest surface at the pixels of every view.

    disparity_px: (B, 1, H, W), of the surfaces that the whole central view is believed to show.
    """
    B, _, H, W = disparity_px.shape
    nearest_px = disparity_px.new_full((B, len(half_lines.offsets), H, W), NOTHING_PX)
    if can_fuse(disparity_px, half_lines.views):
        from freqlf.models.kernels.visibility import draw_views

        draw_views(disparity_px, nearest_px, half_lines.offsets, COVERED_PX)
        return nearest_px
    y = torch.arange(H, device=disparity_px.device).unsqueeze(1)
    x = torch.arange(W, device=disparity_px.device).unsqueeze(0)
    values = disparity_px[:, 0]
    for view, (down, right) in enumerate(half_lines.offsets):
        at_y, at_x = y - down * values, x - right * values  # B, H, W
        for row, column in ((row, column) for row in (0, 1) for column in (0, 1)):
            to_y, to_x = at_y.floor() + row, at_x.floor() + column
            is_near = ((at_y - to_y).abs() < COVERED_PX) & ((at_x - to_x).abs() < COVERED_PX)
            is_drawn = is_near & (to_y >= 0) & (to_y < H) & (to_x >= 0) & (to_x < W)
            place = torch.where(is_drawn, to_y * W + to_x, 0).long().flatten(1)
            drawn = torch.where(is_drawn, values, NOTHING_PX).flatten(1)
            nearest_px[:, view].view(B, -1).scatter_reduce_(1, place, drawn, "amax")
    return nearest_px


def find_seen(half_lines: HalfLines, nearest_px: Tensor, disparity_px: Tensor) -> Iterator[Tensor]:
    """By half-line, whether nothing nearer hides what has these disparities (B, 1, H, W): (B, views, H, W), 1 or 0.

    nearest_px: by `draw_nearest`. Places outside of a view's frame are looked up at its border.
    """
    H, W = disparity_px.shape[-2:]
    height, width = nearest_px.shape[-2:]
    y = torch.arange(H, device=disparity_px.device).unsqueeze(1) + half_lines.origin[0]
    x = torch.arange(W, device=disparity_px.device).unsqueeze(0) + half_lines.origin[1]
    for part in half_lines.slices:
        down, right = disparity_px.new_tensor(half_lines.offsets[part]).T.reshape(2, 1, -1, 1, 1)
        at_y = (y - down * disparity_px).clamp(0, height - 1).add(0.5).floor()  # B, views, H, W
        at_x = (x - right * disparity_px).clamp(0, width - 1).add(0.5).floor()
        place = (at_y * width + at_x).long().flatten(2)
        found_px = nearest_px[:, part].flatten(2).gather(2, place).view_as(at_y)
        yield (found_px <= disparity_px + HIDING_PX).to(disparity_px.dtype)
