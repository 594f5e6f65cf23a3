"""Open a light field in whatever format it comes, put its views in order, and say what was done."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from freqlf.inference.consistency import Ordering, check_consistency
from freqlf.io.detect import read_views
from freqlf.io.parameters import Parameters
from freqlf.io.viewgrid import InputOptions, ViewGrid
from freqlf.lightfield import LightField


@dataclass(frozen=True)
class OpenedLightField:
    """A light field with its views in order.

    Attributes:
        light_field: reads views when they are asked for.
        format: the name of the reader, a key of `READERS`.
        notes: how the file was read, and what about its order is known or assumed.
        warnings: why the result will be poor.
        parameters: the camera of the views that were taken, where the file knows it.
    """

    light_field: LightField
    format: str
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    parameters: Parameters | None = None


def open_light_field(path: Path, format: str | None = None, options: InputOptions | None = None) -> OpenedLightField:
    """Open a file or folder; `format` is a key of `READERS`, or None to find it out."""
    options = options or InputOptions()
    path, format, grid = read_views(Path(path), format, options)
    return _put_in_order(
        OpenedLightField(grid.light_field(path), format, grid.notes, (), grid.parameters), grid, options
    )


def _put_in_order(opened: OpenedLightField, grid: ViewGrid, options: InputOptions) -> OpenedLightField:
    if options.order_is_given:
        reordered = opened.light_field.reordered(
            reverse_rows=options.reverse_rows, reverse_columns=options.reverse_columns, swap=options.column_major
        )
        parameters = opened.parameters
        if parameters is not None and options.column_major:
            parameters = replace(parameters, num_cams_x=reordered.columns, num_cams_y=reordered.rows)
        opened = replace(opened, light_field=reordered, parameters=parameters)
    if not options.check_order:
        return opened

    may_change = not (grid.order_is_certain or options.order_is_given)
    found = check_consistency(opened.light_field, settle_sign=may_change)
    if found.warning is not None:
        return replace(opened, warnings=(*opened.warnings, found.warning))
    if not may_change:
        if found.ordering == Ordering():
            return opened
        warning = f"the parallax contradicts the order of views: it fits with {found.ordering}"
        return replace(opened, warnings=(*opened.warnings, warning))
    notes = [f"order by parallax: {found.ordering}"]
    if not found.sign_is_sure:
        notes.append(
            "no occlusion edges tell the sign of disparity; if near and far are exchanged, reverse rows and columns"
        )
    light_field = opened.light_field
    if found.ordering != Ordering():
        light_field = light_field.reordered(**asdict(found.ordering))
    return replace(opened, light_field=light_field, notes=(*opened.notes, *notes))
