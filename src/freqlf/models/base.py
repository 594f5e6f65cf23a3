"""What all models have in common, so that nobody needs to know which one they are given."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from freqlf.lightfield import LightField
from freqlf.models.footprint import Footprint
from freqlf.models.mixture import Mixture, Reading
from freqlf.models.tiles import WHOLE, Tiling

Views = TypeVar("Views")  # the views of a light field, packed as a model likes them
# Turns the mixture of a tile (B, K, h, w) into the maps to keep of it, (B, maps, h, w).
Reader = Callable[[Mixture], Tensor]


class DisparityModel(nn.Module, ABC, Generic[Views]):
    """From lines of views through the centre to the central view's disparity.

    Attributes:
        lines: the lines of views that it needs, keys of `freqlf.lightfield.LINES`.
        is_probabilistic: whether its mixtures say how sure it is; else their means are all it knows.
        is_traceable: whether its operations are the same for all light fields of a size, so that a graph can hold them.
        is_sized: whether such a graph is for images of one size only.
        reading: which disparity of its mixtures is the estimate.
    """

    lines: tuple[str, ...]
    is_probabilistic = True
    is_traceable = True
    is_sized = False
    reading: Reading = "tempered"

    def forward(self, stacks: Mapping[str, Tensor], queries: Tensor | None = None) -> Mixture:
        """The mixture of the last pass at every pixel, or at `queries` (B, N, 2) = (x, y) in [-1, 1].

        stacks: line name to its views (B, A, 3, H, W) in [0, 1], in the order of `LightField.line`.
        """
        return self.forward_passes(stacks, queries)[-1]

    @abstractmethod
    def forward_passes(
        self, stacks: Mapping[str, Tensor], queries: Tensor | None = None, beliefs: Tensor | None = None
    ) -> list[Mixture]:
        """The mixtures of all passes, for training; only the last one is asked at `queries`.

        beliefs: of frozen passes, which are then left out; see `believe`.
        """

    @property
    def frozen_passes(self) -> int:
        """How many of the first passes no longer learn; 0 in models that have none."""
        return 0

    def believe(self, stacks: Mapping[str, Tensor], tiling: Tiling = WHOLE) -> Tensor:
        """What the passes that learn begin with, (B, maps, H, W), in models with frozen ones."""
        raise NotImplementedError("this model has no passes to freeze")

    @abstractmethod
    def read_views(self, light_field: LightField, device: torch.device, *, forget: bool = False) -> Views:
        """The views that `stream` wants; see `freqlf.models.views` about `forget`."""

    @abstractmethod
    def stream(self, views: Views, read: Reader, tiling: Tiling = WHOLE) -> Tensor:
        """The maps (B, maps, H, W) that `read` takes from the last mixture, tile by tile: the same for any tiling."""

    def name_channels(self) -> dict[str, list[str]]:
        """Weights whose inputs, or outputs in the last layers, a model may have more of: what these are, in order."""
        return {}

    @abstractmethod
    def footprint(self, views: int) -> Footprint:
        """The memory that `stream` takes if it reads so many views."""
