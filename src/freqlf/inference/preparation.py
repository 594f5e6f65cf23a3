"""What is done to a light field before a model sees it: even brightness, a shear, and as many views as help."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from freqlf.inference.exposure import describe_gains, measure_gains
from freqlf.inference.opening import OpenedLightField
from freqlf.inference.shear import TOLERANCE_PX, Layout, choose_shear_px, find_layout
from freqlf.io.selection import can_use
from freqlf.lightfield import LightField

# Pixels that the outermost view may be off the centre. More views than usual helped on generated scenes of 17 x 17
# views as long as they stayed within this, by a factor of 2 to 3 in noise, and hurt beyond; see docs/own-data.md.
_FARTHEST_PX = 8.0


@dataclass(frozen=True)
class Prepared:
    """A light field for a model.

    Attributes:
        light_field: the views that are used, as they were read.
        for_model: the same evenly bright and sheared.
        shear_px: that was added to all disparities.
        notes: what the user should know of this.
    """

    light_field: LightField
    for_model: LightField
    shear_px: float
    notes: tuple[str, ...]


def prepare(
    opened: OpenedLightField,
    lines: Sequence[str],
    shear_px: float | None,
    allow: Callable[[int, int], bool],
) -> Prepared:
    """Get a light field ready for a model that reads the lines.

    shear_px: to be applied; None to find out.
    allow: whether there is memory for so many (rows, columns) of views.
    """
    light_field = opened.light_field
    lines = tuple(line for line in lines if line in light_field.lines)
    gains = measure_gains(light_field, lines, 0.0)
    layout = find_layout(light_field.with_gains(gains) if gains else light_field)
    shear_px = choose_shear_px(layout.middle_px) if shear_px is None else shear_px
    wide = _widen(opened, lines, layout, shear_px, allow)
    notes: list[str] = []
    if wide is not None:
        light_field = wide
        notes.append(f"used {wide.rows} x {wide.columns} of them: disparities are small, so more views help")
    if wide is not None or abs(layout.middle_px) > TOLERANCE_PX:
        gains = measure_gains(light_field, lines, layout.middle_px)
    if gains:
        notes.append(describe_gains(gains))
    for_model = light_field.with_gains(gains) if gains else light_field
    return Prepared(light_field, for_model if shear_px == 0 else for_model.sheared(shear_px), shear_px, tuple(notes))


def _widen(
    opened: OpenedLightField,
    lines: Sequence[str],
    layout: Layout,
    shear_px: float,
    allow: Callable[[int, int], bool],
) -> LightField | None:
    """More views than usual, where there are more that are neither dark nor missing, and disparities are small."""
    around, used = opened.surroundings, opened.light_field
    if around is None or not layout.is_known:
        return None
    farthest_px = layout.spread_px + abs(layout.middle_px + shear_px)
    reach = int(_FARTHEST_PX / max(farthest_px, 0.25))
    for count in range(min(max(around.rows, around.columns), 2 * reach + 1), max(used.rows, used.columns), -2):
        rows, columns = min(count, around.rows), min(count, around.columns)
        wider = around.subgrid(rows, columns)
        if allow(rows, columns) and can_use(wider, lines):
            return wider
    return None
