"""Half-lines of smooth random views, and the same in float64, for which the tensor code computes."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from freqlf.lightfield import LINES
from freqlf.models.halflines import HalfLines


def make_half_lines(
    height: int, width: int, views: int = 9, batch: int = 1, lines: Sequence[str] = tuple(LINES)
) -> HalfLines:
    generator = torch.Generator().manual_seed(views)
    shape = (batch, views, 3, height, width)
    noise = {line: torch.rand(shape, generator=generator) for line in lines}
    smooth = {line: F.avg_pool2d(one.flatten(0, 1), 3, 1, 1).view(shape) for line, one in noise.items()}
    return HalfLines.from_stacks(smooth, lines)


def in_float64(half_lines: HalfLines) -> HalfLines:
    return replace(half_lines, centre=half_lines.centre.double(), views=half_lines.views.double())


@pytest.fixture
def half_lines_of() -> Callable[..., HalfLines]:
    return make_half_lines


@pytest.fixture
def reference_of() -> Callable[[HalfLines], HalfLines]:
    return in_float64
