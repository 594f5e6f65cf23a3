"""Views out of a light field, into the tensors that networks read: decoded in parallel, and held once."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from freqlf.errors import FreqLFError
from freqlf.lightfield import LightField
from freqlf.models.halflines import HalfLines
from freqlf.models.kernels.packing import new_views
from freqlf.threads import count_cores

Stacks = Mapping[str, Tensor]  # the name of each line to its views (B, A, 3, H, W)
CPU = torch.device("cpu")


def read_stacks(
    light_field: LightField, lines: Sequence[str], device: torch.device = CPU, *, forget: bool = False
) -> dict[str, Tensor]:
    """The name of each line to its views (1, A, 3, H, W) in [0, 1].

    forget: let the light field forget the views, all but the central one: a large image should not be held twice.
    """
    _require_views(light_field, lines)
    size = light_field.height, light_field.width
    stacks = {line: torch.empty(1, len(light_field.line(line)), 3, *size) for line in lines}
    places = [(view, stacks[line][0, i]) for line in lines for i, view in enumerate(light_field.line(line))]
    _copy_views(light_field, places, forget)
    return {line: stack.to(device) for line, stack in stacks.items()}


def read_half_lines(
    light_field: LightField, lines: Sequence[str], device: torch.device = CPU, *, forget: bool = False
) -> HalfLines:
    """The same views packed by half-lines, without stacks on the way."""
    _require_views(light_field, lines)
    size = light_field.height, light_field.width
    # Stacks of no pixels tell where each view has its place.
    empty = {line: torch.empty(1, len(light_field.line(line)), 3, 0, 0) for line in lines}
    layout = HalfLines.from_stacks(empty, lines)
    centre, views = torch.empty(1, 3, *size), new_views(1, len(layout.offsets), *size)
    u, v = light_field.centre
    places = [((u + du, v + dv), views[0, i]) for i, (du, dv) in enumerate(layout.offsets)]
    _copy_views(light_field, [(light_field.centre, centre[0]), *places], forget)
    return replace(layout, centre=centre.to(device), views=views.to(device))


def _require_views(light_field: LightField, lines: Sequence[str]) -> None:
    missing = [(u, v) for line in lines for u, v in light_field.line(line) if not light_field.has_view(u, v)]
    if missing:
        raise FreqLFError(
            f"the model needs the views of the {', '.join(lines)} line; view {missing[0]} is missing"
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
        )


def _copy_views(light_field: LightField, places: Sequence[tuple[tuple[int, int], Tensor]], forget: bool) -> None:
    """Copy each view (u, v) to its place (3, H, W)."""
    light_field.centre_view()  # the first view sets the size that the others are checked against

    def copy(item: tuple[tuple[int, int], Tensor]) -> None:
        view, place = item
        np.copyto(place.numpy(), light_field.view(*view).transpose(2, 0, 1))
        if forget and view != light_field.centre:
            light_field.forget(*view)

    with ThreadPoolExecutor(count_cores()) as pool:
        list(pool.map(copy, places))
