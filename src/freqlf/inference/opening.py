"""Open a light field in whatever form it comes, put its views in order, and say what was done."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.inference.consistency import Ordering, check_consistency
from freqlf.io.arrays import grid_of_pixels
from freqlf.io.detect import read_views
from freqlf.io.parameters import Parameters
from freqlf.io.viewgrid import InputOptions
from freqlf.lightfield import LightField

Source = str | Path | NDArray[Any] | LightField


@dataclass(frozen=True)
class OpenedLightField:
    """A light field and what is known about it.

    Attributes:
        light_field: reads views when they are asked for.
        format: the name of the reader, a key of `READERS`; "array" or "light field" if it came from Python.
        notes: how the file was read, and what about its order is known or assumed.
        warnings: why the result will be poor.
        parameters: the camera of the views that were taken, where the file knows it.
        order_is_certain: the format, or the user, leaves no doubt about the order of views.
    """

    light_field: LightField
    format: str
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    parameters: Parameters | None = None
    order_is_certain: bool = False


def open_light_field(
    source: Source, format: str | None = None, options: InputOptions | None = None
) -> OpenedLightField:
    """Open a file or folder, pixels [u, v, y, x(, c)] or a light field, with its views put in order by the parallax.

    format: of a file or folder, a key of `READERS`, or None to find it out.
    """
    options = options or InputOptions()
    opened = open_unchecked(source, format, options)
    return put_in_order(opened) if options.check_order else opened


def open_unchecked(source: Source, format: str | None, options: InputOptions) -> OpenedLightField:
    """The same with the views in the order that the format documents and the options correct."""
    if isinstance(source, LightField):
        opened = OpenedLightField(_take_views(source, options), "light field")
    else:
        if isinstance(source, str | Path):
            path, format, grid = read_views(Path(source), format, options)
        elif hasattr(source, "__array__"):
            path, format = Path("the array"), "array"
            grid = grid_of_pixels(path, np.asarray(source), options).central(options, path)
        else:
            raise FreqLFError(
                f"a light field is a path, an array [u, v, y, x] or [u, v, y, x, c] or a LightField, "
                f"not {type(source).__name__}"
            )
        light_field = grid.light_field(path)
        opened = OpenedLightField(light_field, format, grid.notes, (), grid.parameters, grid.order_is_certain)
    return _apply_given_order(opened, options) if options.order_is_given else opened


def _take_views(light_field: LightField, options: InputOptions) -> LightField:
    """The views that the options ask for."""
    if options.views is None and options.stride == 1:
        return light_field
    largest = [(count // 2 // options.stride) * 2 + 1 for count in (light_field.rows, light_field.columns)]
    rows, columns = (options.views, options.views) if options.views else largest
    return light_field.subgrid(rows, columns, options.stride)


def _apply_given_order(opened: OpenedLightField, options: InputOptions) -> OpenedLightField:
    reordered = opened.light_field.reordered(
        reverse_rows=options.reverse_rows, reverse_columns=options.reverse_columns, swap=options.column_major
    )
    parameters = opened.parameters
    if parameters is not None and options.column_major:
        parameters = replace(parameters, num_cams_x=reordered.columns, num_cams_y=reordered.rows)
    return replace(opened, light_field=reordered, parameters=parameters, order_is_certain=True)


def put_in_order(opened: OpenedLightField) -> OpenedLightField:
    """Find the order of views by the parallax, and change it if it is wrong; if it is certain, only warn."""
    found = check_consistency(opened.light_field, settle_sign=not opened.order_is_certain)
    if found.warning is not None:
        return replace(opened, warnings=(*opened.warnings, found.warning))
    if opened.order_is_certain:
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
