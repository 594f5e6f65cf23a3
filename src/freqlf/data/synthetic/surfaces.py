"""Textured surfaces in front of a grid of cameras, and which of them each camera sees.

A surface is given in the pixel coordinates (y, x) of the central view. Its point (y, x) with disparity d is seen
`s` view rows and `t` view columns away from the centre at (y - s*d, x - t*d).
"""

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

TEXELS_PER_PX = 2
STEEPEST = 0.7  # of the slope at which a surface starts to hide itself
_EDGE_ON = 0.05
_TOLERANCE_PX = 1e-5


@dataclass(frozen=True)
class Patch:
    """A grid of texels over the central view; texel (0, 0) lies at pixel (y_px, x_px)."""

    y_px: float
    x_px: float
    rows: int
    columns: int

    @classmethod
    def around(cls, top: float, left: float, bottom: float, right: float) -> "Patch":
        """The patch that covers the given bounds in pixels."""
        top, left = math.floor(top), math.floor(left)
        rows = math.ceil((bottom - top) * TEXELS_PER_PX) + 1
        columns = math.ceil((right - left) * TEXELS_PER_PX) + 1
        return cls(top, left, max(rows, 2), max(columns, 2))

    @property
    def bottom_px(self) -> float:
        """Row of the last texels."""
        return self.y_px + (self.rows - 1) / TEXELS_PER_PX

    @property
    def right_px(self) -> float:
        """Column of the last texels."""
        return self.x_px + (self.columns - 1) / TEXELS_PER_PX

    def cropped(self, top: int, left: int, bottom: int, right: int) -> "Patch":
        """The texels from (top, left) to (bottom, right), without the latter."""
        y_px, x_px = self.y_px + top / TEXELS_PER_PX, self.x_px + left / TEXELS_PER_PX
        return Patch(y_px, x_px, bottom - top, right - left)

    def pixels(self) -> tuple[Tensor, Tensor]:
        """Pixel coordinates of the texels: y (rows, 1) and x (1, columns)."""
        y = self.y_px + torch.arange(self.rows, dtype=torch.float32) / TEXELS_PER_PX
        x = self.x_px + torch.arange(self.columns, dtype=torch.float32) / TEXELS_PER_PX
        return y[:, None], x[None, :]

    def locate(self, rays: "Rays", disparity_px: Tensor) -> Tensor:
        """Where rays pass at a disparity (S, h, w): (S, h, w, 2) for `grid_sample` (x first, all texels in [-1, 1])."""
        scale_y, scale_x = 2 * TEXELS_PER_PX / (self.rows - 1), 2 * TEXELS_PER_PX / (self.columns - 1)
        grid = torch.empty((*disparity_px.shape, 2))
        y = (rays.y_px - self.y_px) * scale_y - 1
        x = (rays.x_px - self.x_px) * scale_x - 1
        torch.add(x, disparity_px, alpha=rays.t * scale_x, out=grid[..., 0])
        torch.add(y, disparity_px, alpha=rays.s * scale_y, out=grid[..., 1])
        return grid


@dataclass(frozen=True)
class Rays:
    """S rays through each pixel of a part of the view that is `s` rows and `t` columns away from the centre."""

    s: float
    t: float
    y_px: Tensor  # (S, h, 1)
    x_px: Tensor  # (S, 1, w)

    @classmethod
    def through(cls, s: float, t: float, rows: range, columns: range, offsets_px: Tensor) -> "Rays":
        """Rays through some rows and columns of pixels; `offsets_px` (S, 2) are their (y, x) from the pixel centre."""
        y = torch.arange(rows.start, rows.stop)[None, :, None] + offsets_px[:, 0, None, None]
        x = torch.arange(columns.start, columns.stop)[None, None, :] + offsets_px[:, 1, None, None]
        return cls(s, t, y, x)

    def part(self, rows: slice, columns: slice) -> "Rays":
        """Those of some rows and columns, counted from the first."""
        return Rays(self.s, self.t, self.y_px[:, rows], self.x_px[:, :, columns])


@dataclass(frozen=True)
class Surface:
    """Disparity a + b*x + c*y (`plane`), plus `relief` where curved; seen where `inside` is positive.

    `relief` and `inside` are (rows, columns) and `colour` is (3, rows, columns) on the texels of `patch`.
    Between texels all are interpolated linearly: that is the surface, so its ground truth is exact.
    A surface without `inside` is a background: it goes on for ever.
    """

    patch: Patch
    plane: tuple[float, float, float]
    colour: Tensor
    inside: Tensor | None = None
    relief: Tensor | None = None

    def disparity_range(self) -> tuple[float, float]:
        """Bounds of the disparity over the patch."""
        a, b, c = self.plane
        corners = [
            a + b * x + c * y
            for y in (self.patch.y_px, self.patch.bottom_px)
            for x in (self.patch.x_px, self.patch.right_px)
        ]
        low, high = (0.0, 0.0) if self.relief is None else (float(self.relief.min()), float(self.relief.max()))
        return min(corners) + low, max(corners) + high

    def rescaled(self, factor: float, shift: float) -> "Surface":
        """The surface with disparity factor*d + shift: other distances between the cameras, another focus."""
        a, b, c = self.plane
        relief = None if self.relief is None else self.relief * factor
        return replace(self, plane=(a * factor + shift, b * factor, c * factor), relief=relief)

    def steepness(self, max_s: float, max_t: float) -> float:
        """How near the surface comes to hiding itself in some view: at 1 a camera looks along it.

        Planes with an outline count as 0: they may turn away, and are then not drawn.
        """
        _, b, c = self.plane
        if self.relief is None:
            return 0.0 if self.inside is not None else max_t * abs(b) + max_s * abs(c)
        along_y, along_x = torch.zeros_like(self.relief), torch.zeros_like(self.relief)
        along_y[1:] = torch.diff(self.relief, dim=0) * TEXELS_PER_PX
        along_x[:, 1:] = torch.diff(self.relief, dim=1) * TEXELS_PER_PX
        return float((max_t * (along_x + b).abs() + max_s * (along_y + c).abs()).max())


def limit_factor(surfaces: Sequence[Surface], max_s: float, max_t: float) -> float:
    """The largest factor for `Surface.rescaled` with which no curved surface or background hides itself."""
    steepest = max((surface.steepness(max_s, max_t) for surface in surfaces), default=0.0)
    return STEEPEST / steepest if steepest > 0 else math.inf


class SurfaceStack:
    """Surfaces that hide one another, with all their colours in one picture (the atlas)."""

    def __init__(self, surfaces: Sequence[Surface]) -> None:
        self._atlas, corners = _pack([surface.colour for surface in surfaces])
        height, width = self._atlas.shape[2:]
        # Normalised atlas coordinates are pixel coordinates * scale + origin[surface], x first.
        self._scale = 2 * TEXELS_PER_PX / (width - 1), 2 * TEXELS_PER_PX / (height - 1)
        origins = [
            (
                2 * left / (width - 1) - 1 - surface.patch.x_px * self._scale[0],
                2 * top / (height - 1) - 1 - surface.patch.y_px * self._scale[1],
            )
            for surface, (top, left) in zip(surfaces, corners, strict=True)
        ]
        self._origins = torch.tensor(origins)
        self._set_surfaces(surfaces)

    def _set_surfaces(self, surfaces: Sequence[Surface]) -> None:
        self.surfaces = list(surfaces)
        self._ranges = [surface.disparity_range() for surface in self.surfaces]

    def rescaled(self, factor: float, shift: float) -> "SurfaceStack":
        """All surfaces with disparity factor*d + shift; colours are shared."""
        stack = copy(self)
        stack._set_surfaces([surface.rescaled(factor, shift) for surface in self.surfaces])
        return stack

    def trace(self, rays: Rays) -> tuple[Tensor, Tensor]:
        """The foremost surface along each ray: its disparity and its number, both (S, h, w)."""
        shape = (len(rays.y_px), rays.y_px.shape[1], rays.x_px.shape[2])
        nearest = torch.full(shape, -math.inf)
        number = torch.zeros(shape, dtype=torch.int32)
        for index, surface in enumerate(self.surfaces):
            a, b, c = surface.plane
            facing = 1 - rays.t * b - rays.s * c
            if facing < _EDGE_ON:
                continue  # seen from behind
            area = self._bounds(index, rays)
            if any(part.start >= part.stop for part in area):
                continue
            part = rays.part(*area)
            disparity = (part.y_px * (c / facing) + a / facing) + part.x_px * (b / facing)  # (S, h, w)
            if surface.relief is not None:
                disparity = _meet_relief(surface, disparity, facing, part)
            behind = nearest[:, area[0], area[1]]
            seen = disparity > behind
            if surface.inside is not None:
                seen &= _sample(surface.inside, surface.patch.locate(part, disparity), "zeros") > 0
            behind.copy_(torch.where(seen, disparity, behind))
            number[:, area[0], area[1]].masked_fill_(seen, index)
        return nearest, number

    def look_up(self, rays: Rays, disparity_px: Tensor, number: Tensor) -> Tensor:
        """(S, 3, h, w) colours of what was hit."""
        grid = self._origins[number]  # (S, h, w, 2)
        scale_x, scale_y = self._scale
        grid[..., 0].add_(rays.x_px * scale_x).add_(disparity_px, alpha=rays.t * scale_x)
        grid[..., 1].add_(rays.y_px * scale_y).add_(disparity_px, alpha=rays.s * scale_y)
        atlas = self._atlas.expand(len(grid), -1, -1, -1)
        return F.grid_sample(atlas, grid, align_corners=True, padding_mode="border")

    def _bounds(self, index: int, rays: Rays) -> tuple[slice, slice]:
        """The rows and columns of the rays' pixels where the surface can be seen."""
        surface, patch = self.surfaces[index], self.surfaces[index].patch
        rows, columns = rays.y_px.shape[1], rays.x_px.shape[2]
        if surface.inside is None:
            return slice(0, rows), slice(0, columns)
        first_row, first_column = round(float(rays.y_px[0, 0, 0])), round(float(rays.x_px[0, 0, 0]))
        shift_y = [rays.s * disparity for disparity in self._ranges[index]]
        shift_x = [rays.t * disparity for disparity in self._ranges[index]]
        top, bottom = patch.y_px - max(shift_y) - first_row, patch.bottom_px - min(shift_y) - first_row
        left, right = patch.x_px - max(shift_x) - first_column, patch.right_px - min(shift_x) - first_column
        return (
            slice(max(0, math.floor(top - 1)), min(rows, math.ceil(bottom + 2))),
            slice(max(0, math.floor(left - 1)), min(columns, math.ceil(right + 2))),
        )


def _meet_relief(surface: Surface, plane: Tensor, facing: float, rays: Rays) -> Tensor:
    """Disparity (S, h, w) where the rays meet plane plus relief, by the secant method to within `_TOLERANCE_PX`.

    A ray passes the surface coordinates (y + s*d, x + t*d), so d is the root of one equation.
    """
    relief = surface.relief
    assert relief is not None

    def improve(guess: Tensor) -> Tensor:
        return plane + _sample(relief, surface.patch.locate(rays, guess), "border") / facing

    guess = improve(plane)
    if rays.s == rays.t == 0:
        return guess
    error_before, slope = guess - plane, torch.ones(())
    for _ in range(30):
        error = improve(guess) - guess
        if float(error.abs().max()) < _TOLERANCE_PX:
            break
        # The error falls by `slope` per unit of d; `limit_factor` keeps that within these bounds.
        change = torch.where(error_before.abs() > 1e-6, 1 - error / error_before, 1.0)
        slope = (slope * change).clamp_(0.25, 2.0)
        guess, error_before = guess + error / slope, error
    return guess


def _sample(values: Tensor, grid: Tensor, padding: str) -> Tensor:
    """Linear interpolation of (rows, columns) at normalised (S, h, w, 2): (S, h, w)."""
    images = values.expand(len(grid), 1, *values.shape)
    return F.grid_sample(images, grid, align_corners=True, padding_mode=padding)[:, 0]


def _pack(tiles: Sequence[Tensor]) -> tuple[Tensor, list[tuple[int, int]]]:
    """Put (3, h, w) tiles on the shelves of one (1, 3, H, W) atlas; also returns the tiles' (top, left)."""
    width = max(max(tile.shape[2] for tile in tiles), math.isqrt(sum(t.shape[1] * t.shape[2] for t in tiles)))
    corners = [(0, 0)] * len(tiles)
    top = left = shelf = 0
    for number in sorted(range(len(tiles)), key=lambda number: -tiles[number].shape[1]):
        rows, columns = tiles[number].shape[1:]
        if left + columns > width:
            top, left, shelf = top + shelf, 0, 0
        corners[number] = (top, left)
        left += columns
        shelf = max(shelf, rows)
    atlas = torch.zeros((1, 3, top + shelf, width))
    for tile, (top, left) in zip(tiles, corners, strict=True):
        atlas[0, :, top : top + tile.shape[1], left : left + tile.shape[2]] = tile
    return atlas, corners
