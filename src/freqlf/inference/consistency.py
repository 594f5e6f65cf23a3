"""Is the order of views what the parallax says? A self-check that needs neither ground truth nor a model.

A row of views moves the picture sideways, a column of views moves it up or down, and both by the same disparity. So
the slopes that the row shows must also explain the column, and the other way round. If they do so only with the
opposite sign, rows or columns are reversed; if a row moves the picture up or down, the two are swapped.

Reversing both leaves everything consistent but negates all disparities. That is settled at occlusion edges: the farther
surface is the one that some views do not see, and they are those towards the nearer one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from freqlf.inference.shear import choose_shear_px, sweep_layout
from freqlf.lightfield import LINES, LightField
from freqlf.models.config import EPI_LINES
from freqlf.models.filters import box_mean, local_maximum, local_minimum
from freqlf.models.halflines import HalfLines
from freqlf.models.slope import SlopeOptions, estimate_slope
from freqlf.models.views import read_half_lines, read_stacks

_SIDE_PX = 192  # of the shrunk views, which is enough to tell and takes a fraction of a second
_REACH = 4  # views on each side of the centre
_COARSE_SIDE_PX = 64  # of the views in which it is found around which disparity they lie

# On the twenty public scenes of the HCI benchmark at this size, slopes of one line leave 0.20 to 0.57 of the other
# line's differences in the right order, and 1.07 to 2.7 of them in any wrong one. Both lines must be explained: before
# stripes, along which nothing moves, slopes of the column explained half of the row's by chance, and the row's nothing.
_EXPLAINED = 0.8
_CLEARLY_BETTER = 0.8
_LEAST_MOTION_PX = 0.05  # per view step, of the shrunk views: below, noise decides

# Evidence for the sign. Of the same scenes 17 are decided, all correctly; so are 31 of 40 sheared versions of them,
# whose disparities are far from zero.
_EDGE_PX = 0.3
_EDGE_WINDOW_PX = 7
_LEAST_EDGE_PIXELS = 200
_LEAST_ASYMMETRY = 0.08
# Views that are consistent as they come are taken for reversed in both directions only by more than that: the 42 scenes
# (HCI's and generated ones) on which edges tell have 0.096 to 0.51, and reflections in a dark one had -0.084.
_LEAST_CONTRADICTION = 0.12
_LEAST_SIGNIFICANCE = 8.0


@dataclass(frozen=True)
class Ordering:
    """What must be changed in the order of views, as arguments of `LightField.reordered`."""

    reverse_rows: bool = False
    reverse_columns: bool = False
    swap: bool = False

    def __str__(self) -> str:
        changes = ["rows and columns of views swapped"] * self.swap
        changes += ["rows of views reversed"] * self.reverse_rows
        changes += ["columns of views reversed"] * self.reverse_columns
        return ", ".join(changes) or "the views are in order"


@dataclass(frozen=True)
class Consistency:
    """The outcome of the check.

    Attributes:
        ordering: the order that explains the parallax; no change where the check cannot tell.
        unexplained: the part of the differences between views that parallax in this order leaves, at best near 0.
        sign_is_sure: occlusion edges show which sign disparities have; else it is the file format's.
        warning: why the result will be poor, or None.
    """

    ordering: Ordering
    unexplained: float
    sign_is_sure: bool
    warning: str | None = None


def check_consistency(light_field: LightField, settle_sign: bool = True) -> Consistency:
    """Find the order of views that explains the parallax.

    If one direction must be reversed, it is the rows', unless occlusions say that it is the columns'; `settle_sign`
    False keeps the columns' direction in any case. Uses the central row and column of views only, near the disparity
    around which each of them lies. A single row or column can be told to be reversed by occlusions only.
    """
    near, scale = _shrink(light_field)
    if min(light_field.rows, light_field.columns) == 1:
        return _check_line(near, scale, settle_sign)
    row, column = read_stacks(near, EPI_LINES).values()
    lines = {False: _line_pair(row, column), True: _line_pair(column, row)}  # by whether they are swapped
    still = _difference(lines[False][0], 0.0) + _difference(lines[False][1], 0.0)
    if _motion_px(lines[False], still) < _LEAST_MOTION_PX:
        return _still()

    found = _compare_orders(lines, still, lambda line: 0.0)
    if not found.is_clear:  # far from the focus plane, slopes are found only if they are looked for there
        far = _compare_orders(lines, still, partial(find_start_px, scale=scale))
        found = far if far.is_clear else found
    unexplained, swapped, opposed = found.unexplained, found.swapped, found.opposed
    if not found.is_clear:
        return Consistency(Ordering(), unexplained, False, _inconsistent(unexplained))

    row, column = (column, row) if swapped else (row, column)
    column = column.flip(1) if opposed else column
    both = HalfLines.from_stacks({"horizontal": row, "vertical": column}, EPI_LINES)
    doubtful = _LEAST_ASYMMETRY if opposed else _LEAST_CONTRADICTION
    sign = _sign_of_occlusions(both, found.start_px, doubtful) if settle_sign else 0
    negate = sign < 0
    ordering = Ordering(reverse_rows=opposed != negate, reverse_columns=negate, swap=swapped)
    return Consistency(ordering, unexplained, sign != 0)


class _Explanation(NamedTuple):
    """How well the best order explains the parallax, and whether it does so clearly better than the others."""

    unexplained: float
    is_clear: bool
    swapped: bool
    opposed: bool
    start_px: float


def _compare_orders(
    lines: dict[bool, tuple[HalfLines, HalfLines]], still: float, find_start: Callable[[HalfLines], float]
) -> _Explanation:
    """The lines by whether they are swapped; `find_start` says around which disparity a line is looked at."""
    errors: dict[tuple[bool, bool], float] = {}  # (swapped, opposed) to the unexplained part
    worst: dict[tuple[bool, bool], float] = {}  # that of the line that is explained less
    starts_px: dict[bool, float] = {}  # of the line across
    for swapped, (across, down) in lines.items():
        starts = find_start(across), find_start(down)
        starts_px[swapped] = starts[0]
        slope_across, slope_down = (
            estimate_slope(line, SlopeOptions(), start_px=start).slope_px
            for line, start in zip((across, down), starts, strict=True)
        )
        still_parts = [max(_difference(line, 0.0), 1e-9) for line in (across, down)]
        for opposed, sign in ((False, 1.0), (True, -1.0)):
            left = _difference(across, sign * slope_down), _difference(down, sign * slope_across)
            errors[swapped, opposed] = sum(left) / still
            worst[swapped, opposed] = max(part / whole for part, whole in zip(left, still_parts, strict=True))
    best = min(errors, key=errors.__getitem__)
    others = [error for key, error in errors.items() if key != best]
    is_clear = worst[best] <= _EXPLAINED and errors[best] <= _CLEARLY_BETTER * min(others)
    return _Explanation(errors[best], is_clear, *best, starts_px[best[0]])


def _check_line(near: LightField, scale: float, settle_sign: bool) -> Consistency:
    """Of a single row or column of views."""
    (name,) = near.lines
    line = read_half_lines(near, [name])
    still = _difference(line, 0.0)
    if _motion_px((line,), still) < _LEAST_MOTION_PX:
        return _still()
    errors = {}
    for start_px in (0.0, find_start_px(line, scale)):
        slope_px = estimate_slope(line, SlopeOptions(), start_px=start_px).slope_px
        errors[start_px] = _difference(line, slope_px) / still
    start_px = min(errors, key=errors.__getitem__)
    unexplained = errors[start_px]
    if unexplained > _EXPLAINED:
        return Consistency(Ordering(), unexplained, False, _inconsistent(unexplained))
    sign = _sign_of_occlusions(line, start_px, _LEAST_CONTRADICTION) if settle_sign else 0
    ordering = Ordering(reverse_rows=sign < 0 and name == "vertical", reverse_columns=sign < 0 and name == "horizontal")
    return Consistency(ordering, unexplained, sign != 0)


def find_start_px(line: HalfLines, scale: float) -> float:
    """Where the slopes of views shrunk to `scale` are looked for, in their pixels: 0 if that is near enough."""
    coarser = max(1, round(min(line.centre.shape[-2:]) / _COARSE_SIDE_PX))
    layout = sweep_layout(line.shrunk(coarser), scale / coarser)
    return -scale * choose_shear_px(layout.middle_px)


def _still() -> Consistency:
    warning = "the views hardly differ, so neither their order nor a disparity can be found with confidence"
    return Consistency(Ordering(), 1.0, False, warning)


def _inconsistent(unexplained: float) -> str:
    return (
        f"no order of the views explains their parallax ({unexplained:.0%} of their differences remain), so the "
        "disparity may be poor: they may not be rectified, not lie on an even planar grid, differ in exposure, or "
        "be read with a wrong pitch or grid"
    )


def _shrink(light_field: LightField) -> tuple[LightField, float]:
    """The views near the centre, shrunk, and by how much."""
    rows, columns = (2 * min(_REACH, count // 2) + 1 for count in (light_field.rows, light_field.columns))
    reach = min(count for count in (rows, columns) if count > 1)
    near = light_field.subgrid(min(rows, reach), min(columns, reach))
    scale = min(1.0, _SIDE_PX / min(near.height, near.width))
    return (near if scale == 1 else near.scaled(scale)), scale


def _line_pair(across: Tensor, down: Tensor) -> tuple[HalfLines, HalfLines]:
    return (
        HalfLines.from_stacks({"horizontal": across}, ["horizontal"]),
        HalfLines.from_stacks({"vertical": down}, ["vertical"]),
    )


def _difference(line: HalfLines, disparity_px: Tensor | float) -> float:
    """Mean absolute difference between the centre and the views warped to it."""
    if isinstance(disparity_px, float):
        return float((line.views - line.centre[:, None]).abs().mean())
    return float(line.costs(disparity_px).mean())


def _motion_px(lines: tuple[HalfLines, ...], still: float) -> float:
    """How far the picture must move per view step, about, to differ by `still` (of all lines together)."""
    centre = lines[0].centre
    slope = (centre[..., 1:] - centre[..., :-1]).abs().mean() + (centre[..., 1:, :] - centre[..., :-1, :]).abs().mean()
    steps = sum(map(abs, lines[0].steps)) / len(lines[0].steps)
    return still / max(float(slope) * steps, 1e-9)


def _sign_of_occlusions(lines: HalfLines, start_px: float, least_contrary: float) -> int:
    """1 if the surface with the smaller disparity is the hidden one, as it should be; -1 for the contrary; 0 unknown.

    least_contrary: the asymmetry that the contrary needs.

    Near an edge of the disparity, each pixel belongs to the surface that explains it better in the better half of the
    views. For a hidden surface the other half does worse, and that half lies towards the surface that hides it.
    """
    slope_px = estimate_slope(lines, SlopeOptions(), start_px=start_px).slope_px
    largest_px, smallest_px = local_maximum(slope_px, _EDGE_WINDOW_PX), local_minimum(slope_px, _EDGE_WINDOW_PX)
    farthest_px = torch.maximum(largest_px.abs(), smallest_px.abs()) * max(map(abs, lines.steps))
    near_edge = ((largest_px - smallest_px) > _EDGE_PX)[:, 0] & _is_inside(farthest_px)[:, 0]
    costs = {True: box_mean(lines.costs(largest_px), 3)}  # by whether of the larger disparity
    costs[False] = box_mean(lines.costs(smallest_px), 3)
    rise_x, rise_y = _rise(box_mean(slope_px, _EDGE_WINDOW_PX))

    asymmetry = {}
    for larger, cost in costs.items():
        belongs = near_edge & (_better_halves(cost) < 0.7 * _better_halves(costs[not larger]))
        samples = []
        for number, direction in enumerate(lines.directions[::2]):
            before, after = 2 * number, 2 * number + 1
            rise, other_rise = (rise_x, rise_y) if direction == LINES["horizontal"] else (rise_y, rise_x)
            # How much worse the views towards the larger disparity do than those away from it, from -1 to 1.
            towards = (cost[:, after] - cost[:, before]) / (cost[:, after] + cost[:, before] + 0.01) * rise.sign()
            samples.append(towards[belongs & (rise.abs() > other_rise.abs())])
        asymmetry[larger] = torch.cat(samples)
    if min(len(samples) for samples in asymmetry.values()) < _LEAST_EDGE_PIXELS:
        return 0
    excess = float(asymmetry[False].mean() - asymmetry[True].mean())
    uncertainty = math.sqrt(sum(float(samples.var()) / len(samples) for samples in asymmetry.values()))
    least = _LEAST_ASYMMETRY if excess > 0 else least_contrary
    if abs(excess) < max(least, _LEAST_SIGNIFICANCE * uncertainty):
        return 0
    return 1 if excess > 0 else -1


def _is_inside(margin_px: Tensor) -> Tensor:
    """Where the picture's border is at least that far away: beyond it, views see nothing that could be compared."""
    H, W = margin_px.shape[-2:]
    y, x = torch.arange(H)[:, None], torch.arange(W)[None, :]
    return margin_px <= torch.minimum(torch.minimum(y, H - 1 - y), torch.minimum(x, W - 1 - x))


def _better_halves(costs: Tensor) -> Tensor:
    """(B, half-lines, H, W) costs, both halves of a line side by side, to (B, H, W)."""
    return torch.minimum(costs[:, ::2], costs[:, 1::2]).sum(dim=1)


def _rise(image: Tensor) -> tuple[Tensor, Tensor]:
    """Central differences (B, H, W) to the right and downwards; zero at the border."""
    across = F.pad(image[..., 2:] - image[..., :-2], (1, 1))
    down = F.pad(image[..., 2:, :] - image[..., :-2, :], (0, 0, 1, 1))
    return across[:, 0], down[:, 0]
