"""Open a light field in whatever form it comes, put its views in order, and say what was done."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.inference.consistency import Ordering, check_consistency
from freqlf.inference.exposure import measure_gains
from freqlf.io.arrays import grid_of_pixels
from freqlf.io.detect import read_views
from freqlf.io.parameters import Parameters
from freqlf.io.selection import centre_grid, choose_subgrid
from freqlf.io.viewgrid import InputOptions
from freqlf.lightfield import LINES, LightField
from freqlf.models.config import EPI_LINES

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
        surroundings: all views around the same centre, if there are more than are used; some may be dark or missing.
    """

    light_field: LightField
    format: str
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    parameters: Parameters | None = None
    order_is_certain: bool = False
    surroundings: LightField | None = None

    def reordered(self, **changes: bool) -> "OpenedLightField":
        """The same with its views in another order; the changes are arguments of `LightField.reordered`."""
        if self.surroundings is None:
            return replace(self, light_field=self.light_field.reordered(**changes))
        around = self.surroundings.reordered(**changes)
        size = self.light_field.rows, self.light_field.columns
        rows, columns = size[::-1] if changes.get("swap") else size
        return replace(self, light_field=around.subgrid(rows, columns), surroundings=around)


def open_light_field(
    source: Source, format: str | None = None, options: InputOptions | None = None
) -> OpenedLightField:
    """Open a file or folder, pixels [u, v, y, x(, c)] or a light field, with its views put in order by the parallax.

    format: of a file or folder, a key of `READERS`, or None to find it out.
    """
    options = options or InputOptions()
    opened = open_unchecked(source, format, options)
    return put_in_order(opened) if options.check_order else opened


def open_unchecked(
    source: Source, format: str | None, options: InputOptions, lines: Sequence[str] = tuple(LINES)
) -> OpenedLightField:
    """The same with the views in the order that the format documents and the options correct.

    lines: those of which no view may be dark or missing.
    """
    if isinstance(source, LightField):
        around, size, note = choose_subgrid(source, options, lines)
        opened = OpenedLightField(around, "light field", () if note is None else (note,))
    else:
        if isinstance(source, str | Path):
            path, format, grid = read_views(Path(source), format, options)
        elif hasattr(source, "__array__"):
            path, format = Path("the array"), "array"
            grid = grid_of_pixels(path, np.asarray(source), options)
        else:
            raise FreqLFError(
                f"a light field is a path, an array [u, v, y, x] or [u, v, y, x, c] or a LightField, "
                f"not {type(source).__name__}"
            )
        grid, size = centre_grid(grid, options, lines, path)
        around = grid.light_field(path)
        opened = OpenedLightField(around, format, grid.notes, (), grid.parameters, grid.order_is_certain)
    if size != (around.rows, around.columns):
        opened = replace(opened, light_field=around.subgrid(*size), surroundings=around)
    return _apply_given_order(opened, options) if options.order_is_given else opened


def _apply_given_order(opened: OpenedLightField, options: InputOptions) -> OpenedLightField:
    reordered = opened.reordered(
        reverse_rows=options.reverse_rows, reverse_columns=options.reverse_columns, swap=options.column_major
    )
    parameters = opened.parameters
    if parameters is not None and options.column_major:
        light_field = reordered.light_field
        parameters = replace(parameters, num_cams_x=light_field.columns, num_cams_y=light_field.rows)
    return replace(reordered, parameters=parameters, order_is_certain=True)


def put_in_order(opened: OpenedLightField) -> OpenedLightField:
    """Find the order of views by the parallax, and change it if it is wrong; if it is certain, only warn."""
    light_field = opened.light_field
    gains = measure_gains(light_field, tuple(line for line in EPI_LINES if line in light_field.lines), 0.0)
    even = light_field.with_gains(gains) if gains else light_field
    found = check_consistency(even, settle_sign=not opened.order_is_certain)
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
            "no occlusion edges tell the sign of disparity; if near and far are exchanged, add --reverse-rows "
            "--reverse-columns"
        )
    if found.ordering != Ordering():
        opened = opened.reordered(**asdict(found.ordering))
    return replace(opened, notes=(*opened.notes, *notes))
