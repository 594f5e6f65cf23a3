"""Network inputs made from light fields with known disparity."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from freqlf.lightfield import LINES, LightField


def stacks_of(light_field: LightField) -> dict[str, Tensor]:
    """All four lines as network input: name to (1, A, 3, H, W)."""
    return {
        name: torch.from_numpy(np.ascontiguousarray(light_field.stack(name).transpose(0, 3, 1, 2)))[None]
        for name in LINES
    }


@pytest.fixture(scope="session")
def plane_stacks(render_plane: Callable[..., NDArray[np.float32]]) -> Callable[..., dict[str, Tensor]]:
    """Stacks of a smooth texture at one disparity; the arguments are those of `render_plane`."""
    return lambda *args, **kwargs: stacks_of(LightField.from_array(render_plane(*args, **kwargs)))
