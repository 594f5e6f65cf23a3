"""Scenes in memory, and windows of them: the star of views around the centre with its ground truth."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from freqlf.data.hci import Scene
from freqlf.errors import FreqLFError
from freqlf.lightfield import LINES, LightField

Step = tuple[int, int]  # rows and columns of views away from the central one
_READERS = 8  # each needs about 100 MB while it reads a scene


@dataclass(frozen=True)
class Sample:
    """A whole scene or a window of it.

    Each view is kept once, with its place in the grid. Mirroring and transposing therefore only rename views,
    whatever lines are read later, and what is done to the central view is the same in every line.

    Attributes:
        name: the scene's name.
        views: (V, 3, H, W), uint8 as stored or float32 in [0, 1].
        steps: for each view, how many rows and columns of the grid it is away from the centre.
        disparity_px: (H, W), at the central view, in px per view step.
        valid: (H, W), bool; disparity_px is finite where it is True.
        beliefs: (maps, H, W), what the frozen passes of a model make of the whole scene, if they were asked.
    """

    name: str
    views: Tensor
    steps: tuple[Step, ...]
    disparity_px: Tensor
    valid: Tensor
    beliefs: Tensor | None = None

    @property
    def height(self) -> int:
        """Rows of pixels."""
        return self.views.shape[-2]

    @property
    def width(self) -> int:
        """Columns of pixels."""
        return self.views.shape[-1]

    def cut(self, y: int, x: int, height: int, width: int) -> "Sample":
        """The window whose top left pixel is (y, x). Nothing is copied."""
        rows, columns = slice(y, y + height), slice(x, x + width)
        return replace(
            self,
            views=self.views[..., rows, columns],
            disparity_px=self.disparity_px[rows, columns],
            valid=self.valid[rows, columns],
            beliefs=None if self.beliefs is None else self.beliefs[:, rows, columns],
        )

    def flipped_horizontally(self) -> "Sample":
        """Left and right exchanged, of pixels and views."""
        return self._turned(lambda pixels: pixels.flip(-1), lambda u, v: (u, -v))

    def flipped_vertically(self) -> "Sample":
        """Top and bottom exchanged, of pixels and views."""
        return self._turned(lambda pixels: pixels.flip(-2), lambda u, v: (-u, v))

    def transposed(self) -> "Sample":
        """Rows and columns exchanged, of pixels and views."""
        return self._turned(lambda pixels: pixels.transpose(-1, -2), lambda u, v: (v, u))

    def reversed(self) -> "Sample":
        """The views in reverse order, pixels as they are: nearer is farther, and occlusions would be wrong."""
        return replace(self, steps=tuple((-u, -v) for u, v in self.steps), disparity_px=-self.disparity_px)

    def _turned(self, turn_pixels: Callable[[Tensor], Tensor], turn_step: Callable[[int, int], Step]) -> "Sample":
        return replace(
            self,
            views=turn_pixels(self.views),
            steps=tuple(turn_step(u, v) for u, v in self.steps),
            disparity_px=turn_pixels(self.disparity_px),
            valid=turn_pixels(self.valid),
            beliefs=None if self.beliefs is None else turn_pixels(self.beliefs),
        )

    def stack(self, line: str) -> Tensor:
        """The views of a line in order, (A, 3, H, W)."""
        du, dv = LINES[line]
        places = {step: place for place, step in enumerate(self.steps)}
        reach = 0
        while (step := ((reach + 1) * du, (reach + 1) * dv)) in places and (-step[0], -step[1]) in places:
            reach += 1
        if reach == 0:
            raise FreqLFError(f"{self.name} was loaded without its {line} views")
        return self.views[[places[k * du, k * dv] for k in range(-reach, reach + 1)]]


def load_sample(scene: Scene, lines: Iterable[str]) -> Sample:
    """Read a scene with the views that its lines and their mirror images need; pixels are kept as 8 bits."""
    light_field = scene.light_field()
    disparity_px = scene.disparity_px()
    if disparity_px is None:
        raise FreqLFError(f"{scene.directory} has no ground truth (gt_disp_lowres.pfm), so it cannot be trained on")
    valid = scene.valid_mask() & np.isfinite(disparity_px)
    if disparity_px.shape != (light_field.height, light_field.width):
        raise FreqLFError(f"{scene.directory}: ground truth and views differ in size; run `freqlf data check`")
    if not valid.any():
        raise FreqLFError(f"{scene.directory} has no valid pixel, so nothing can be learned from it")
    centre_u, centre_v = light_field.centre
    grid = sorted({view for line in mirrored_lines(lines) for view in light_field.line(line)})
    views = torch.from_numpy(np.stack([_to_8bit(light_field, u, v) for u, v in grid]))  # (V, 3, H, W)
    return Sample(
        name=scene.name,
        views=views,
        steps=tuple((u - centre_u, v - centre_v) for u, v in grid),
        disparity_px=torch.from_numpy(np.where(valid, disparity_px, 0).astype(np.float32)),
        valid=torch.from_numpy(valid),
    )


def load_samples(scenes: Sequence[Scene], lines: Iterable[str]) -> Iterator[Sample]:
    """Read scenes, several at a time, since decoding their images takes long; yields them in order."""
    lines = tuple(lines)
    with ThreadPoolExecutor(max_workers=_READERS) as pool:
        yield from pool.map(lambda scene: load_sample(scene, lines), scenes)


def mirrored_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """The lines and those that they become by mirroring and transposing."""
    pairs = (("horizontal", "vertical"), ("diagonal", "antidiagonal"))
    wanted = set(lines)
    return tuple(line for pair in pairs for line in pair if wanted & set(pair))


def _to_8bit(light_field: LightField, u: int, v: int) -> np.ndarray:
    return np.round(255 * light_field.view(u, v)).astype(np.uint8).transpose(2, 0, 1)
