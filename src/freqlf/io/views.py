"""Single views: where they come from, and what is done to their pixels."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from freqlf.errors import FreqLFError
from freqlf.io.image import read_image, read_size, to_float_rgb

View = NDArray[np.float32]  # (H, W, 3) in [0, 1]


class ViewSource(Protocol):
    """Where a light field's views come from."""

    def has(self, u: int, v: int) -> bool:
        """Whether the view can be read."""

    def name(self, u: int, v: int) -> str:
        """What to call the view in an error message: its file, if it has one."""

    def size(self, u: int, v: int) -> tuple[int, int]:
        """The view's (height, width), without reading its pixels."""

    def read(self, u: int, v: int) -> View:
        """The view's pixels."""


class StoredViews:
    """Views from files or arrays: a `ViewSource`. `name_view` says in errors where a missing view belongs."""

    def __init__(
        self,
        views: Mapping[tuple[int, int], Path | NDArray[Any]],
        name_view: Callable[[int, int], str] | None = None,
    ) -> None:
        self._stored = dict(views)
        self._sizes: dict[tuple[int, int], tuple[int, int]] = {}
        self._name_view = name_view

    def has(self, u: int, v: int) -> bool:
        """Whether the view can be read."""
        return (u, v) in self._stored

    def name(self, u: int, v: int) -> str:
        """The view's file, or whatever `name_view` calls it."""
        stored = self._stored.get((u, v))
        if isinstance(stored, Path):
            return str(stored)
        return self._name_view(u, v) if self._name_view else f"view ({u}, {v})"

    def read(self, u: int, v: int) -> View:
        """The view's pixels."""
        stored = self._stored[u, v]
        return read_image(stored) if isinstance(stored, Path) else to_float_rgb(stored, name=self.name(u, v))

    def size(self, u: int, v: int) -> tuple[int, int]:
        """The view's (height, width), of a file by its header."""
        stored = self._stored.get((u, v))
        if stored is None:
            raise FreqLFError(f"view ({u}, {v}) is missing: {self.name(u, v)} is not there")
        if isinstance(stored, Path):
            if (u, v) not in self._sizes:
                self._sizes[u, v] = read_size(stored)
            return self._sizes[u, v]
        return stored.shape[0], stored.shape[1]


def shift_view(view: View, down_px: float, right_px: float) -> View:
    """Move the picture by a fraction of pixels; whole pixels are moved exactly."""
    import scipy.ndimage  # as long to load as all else of a command that finds its input missing

    order = 0 if float(down_px).is_integer() and float(right_px).is_integer() else 3
    shifted = np.empty(view.shape, np.float32)
    for c in range(3):
        scipy.ndimage.shift(view[..., c], (down_px, right_px), output=shifted[..., c], order=order, mode="nearest")
    return np.clip(shifted, 0, 1, out=shifted)  # splines overshoot at edges


def find_scaled_size(height: int, width: int, factor: float) -> tuple[int, int]:
    """(height, width) of a picture that is scaled by the factor, rounded down."""
    return int(height * factor + 1e-9), int(width * factor + 1e-9)


def scale_view(view: View, factor: float) -> View:
    """Resize by exactly `factor` in both directions, though the result's size is rounded down."""
    height, width = find_scaled_size(view.shape[0], view.shape[1], factor)
    # The part of the picture that the rounded size covers; without it the two axes would scale differently.
    box = (0, 0, min(width / factor, view.shape[1]), min(height / factor, view.shape[0]))
    channels = [
        np.asarray(
            Image.fromarray(np.ascontiguousarray(view[..., c])).resize((width, height), Image.Resampling.BICUBIC, box)
        )
        for c in range(3)
    ]
    return np.clip(np.stack(channels, axis=2), 0, 1)
