"""A near square before a far plane, seen from all sides."""

import torch

from freqlf.lightfield import LINES
from freqlf.models.halflines import HalfLines
from freqlf.models.visibility import NOTHING_PX, draw_nearest, find_seen

NEAR_PX, FAR_PX = 2.0, -1.0


def square() -> torch.Tensor:
    disparity_px = torch.full((1, 1, 40, 40), FAR_PX)
    disparity_px[..., 15:25, 15:25] = NEAR_PX
    return disparity_px


def views_of(disparity_px: torch.Tensor) -> HalfLines:
    H, W = disparity_px.shape[-2:]
    return HalfLines.from_stacks({line: torch.zeros(1, 5, 3, H, W) for line in LINES}, list(LINES))


def test_the_nearest_surface_is_where_the_views_see_it() -> None:
    half_lines = views_of(square())
    nearest_px = draw_nearest(half_lines, square())
    for view, (down, right) in enumerate(half_lines.offsets):
        expected = torch.full((40, 40), FAR_PX)
        for disparity_px, value in ((FAR_PX, NOTHING_PX), (NEAR_PX, NEAR_PX)):  # behind the square nothing is known
            top, left = 15 - down * int(disparity_px), 15 - right * int(disparity_px)
            expected[top : top + 10, left : left + 10] = value
        assert torch.equal(nearest_px[0, view, 2:-2, 2:-2], expected[2:-2, 2:-2])
    to_the_right = half_lines.offsets.index((0, 2))
    assert torch.all(nearest_px[0, to_the_right, :, :2] == NOTHING_PX)  # the centre does not see what comes in there


def test_between_pixels_there_are_no_holes() -> None:
    y, x = torch.meshgrid(torch.arange(40.0), torch.arange(40.0), indexing="ij")
    slanted_px = (0.37 + 0.03 * x - 0.02 * y).view(1, 1, 40, 40)
    nearest_px = draw_nearest(views_of(slanted_px), slanted_px)
    assert torch.all(nearest_px[..., 8:-8, 8:-8] > NOTHING_PX)


def test_a_surface_hides_what_is_behind_it_and_nothing_else() -> None:
    believed_px = square()
    half_lines = views_of(believed_px)
    nearest_px = draw_nearest(half_lines, believed_px)

    def count_seen(hypothesis_px: float) -> torch.Tensor:
        hypotheses_px = torch.full_like(believed_px, hypothesis_px)
        return torch.cat(list(find_seen(half_lines, nearest_px, hypotheses_px)), dim=1)[0]

    assert torch.all(count_seen(NEAR_PX) == 1)
    behind = count_seen(FAR_PX)
    assert torch.all(behind[:, 5, 5] == 1)
    # A pixel left of the square is hidden where the square moves over it, in views to its right, by 3 px a step.
    hidden = {half_lines.offsets[view] for view in torch.nonzero(behind[:, 20, 13] == 0).flatten().tolist()}
    assert hidden == {(0, 1), (0, 2), (1, 1), (-1, 1)}
    # What lies behind the middle of the square is seen by the outer views only, which look past it.
    assert behind[:, 20, 20].tolist() == [float(max(map(abs, one)) == 2) for one in half_lines.offsets]


def test_windows_look_up_the_same_places() -> None:
    believed_px = square()
    half_lines = views_of(believed_px)
    nearest_px = draw_nearest(half_lines, believed_px)
    far_px = torch.full_like(believed_px, FAR_PX)
    whole = torch.cat(list(find_seen(half_lines, nearest_px, far_px)), dim=1)
    window = half_lines.window(10, 7, 15, 20)
    part = torch.cat(list(find_seen(window, nearest_px, far_px[..., 10:25, 7:27])), dim=1)
    assert torch.equal(part, whole[..., 10:25, 7:27])
