"""The views around the centre, half-line by half-line, warped to the centre by a disparity map.

A half-line is the views on one side of the centre along one line. At an occlusion edge the views of one
side see a surface while those of the other side see its occluder, so evidence is kept apart by half-line.
Nothing here is learned and nothing depends on absolute disparity: a sheared light field with sheared
disparities gives the same residuals.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from freqlf.errors import FreqLFError
from freqlf.lightfield import LINES
from freqlf.models import anysize
from freqlf.models.kernels import can_fuse

if TYPE_CHECKING:
    from freqlf.models.kernels.packing import PackedViews

# A pixel's centre may lie so far outside of a view and still be compared with the view's border.
_BORDER_PX = 0.5


class Residuals(NamedTuple):
    """The views of one half-line warped to the centre, minus the central view, and where they could be compared.

    values: (B, views, 3, H, W), zero where a view does not show the pixel because it lies outside of its frame.
    visible: (B, views, H, W), 1 where it is inside and 0 elsewhere.
    """

    values: Tensor
    visible: Tensor


class Room(NamedTuple):
    """Steps of view, along rows or along columns, for which pixels stay inside of the frame, (B, H, W) each.

    ahead: towards views of larger index, behind: towards those of smaller index.
    """

    ahead: Tensor
    behind: Tensor


@dataclass(frozen=True)
class HalfLines:
    """All views but the central one, packed so that one call warps them.

    Attributes:
        centre: (B, 3, H, W) the central view.
        views: (B, V, 3, H, W) the other views, half-line by half-line.
        offsets: V pairs (rows, columns) of view steps from the centre.
        slices: where each half-line lies in `views`.
        directions: (rows, columns) of view steps along each half-line's line.
        steps: V signed numbers of steps from the centre along the line.
        origin: (y, x) of the centre's top left pixel in the views; the centre may be a window of the image.
    """

    centre: Tensor
    views: Tensor
    offsets: tuple[tuple[int, int], ...]
    slices: tuple[slice, ...]
    directions: tuple[tuple[int, int], ...]
    steps: tuple[int, ...]
    origin: tuple[int, int] = (0, 0)

    @classmethod
    def from_stacks(cls, stacks: Mapping[str, Tensor], lines: Sequence[str]) -> "HalfLines":
        """Pack the stacks (B, A, 3, H, W) of the named lines (keys of `LINES`), each with A odd, at least 3."""
        missing = [name for name in lines if name not in stacks]
        if missing:
            raise FreqLFError(f"the model needs the {' and '.join(missing)} views; got {', '.join(stacks)}")
        parts: list[Tensor] = []
        offsets: list[tuple[int, int]] = []
        steps: list[int] = []
        slices: list[slice] = []
        directions: list[tuple[int, int]] = []
        for name in lines:
            half = stacks[name].shape[1] // 2
            du, dv = LINES[name]
            for first, side in ((0, range(-half, 0)), (half + 1, range(1, half + 1))):
                parts.append(stacks[name][:, first : first + half])
                slices.append(slice(len(steps), len(steps) + half))
                directions.append((du, dv))
                steps += side
                offsets += [(k * du, k * dv) for k in side]
        first_stack = stacks[lines[0]]
        return cls(
            centre=first_stack[:, first_stack.shape[1] // 2],
            views=_join(parts),
            offsets=tuple(offsets),
            slices=tuple(slices),
            directions=tuple(directions),
            steps=tuple(steps),
        )

    def of_lines(self, lines: Sequence[str]) -> "HalfLines":
        """Those of the named lines only; without a copy if they were packed first."""
        wanted = [LINES[name] for name in lines]
        kept = [index for index, direction in enumerate(self.directions) if direction in wanted]
        count = sum(self.slices[index].stop - self.slices[index].start for index in kept)
        if kept != list(range(len(kept))):
            raise FreqLFError(f"the lines {', '.join(lines)} must be packed first, in this order")
        return replace(
            self,
            views=self.views[:, :count],
            offsets=self.offsets[:count],
            slices=self.slices[: len(kept)],
            directions=self.directions[: len(kept)],
            steps=self.steps[:count],
        )

    def window(self, y: int, x: int, height: int, width: int) -> "HalfLines":
        """A window of the central view; the other views stay whole, for its pixels may be seen anywhere in them."""
        centre = self.centre[:, :, y : y + height, x : x + width]
        return replace(self, centre=centre, origin=(self.origin[0] + y, self.origin[1] + x))

    def shrunk(self, scale: int) -> "HalfLines":
        """The same at 1/scale of the resolution (area averages), where disparities are `scale` times smaller."""
        if scale == 1:
            return self
        if torch.jit.is_tracing():
            return anysize.shrink(self, scale)
        B, V, C, H, W = self.views.shape
        size = (max(H // scale, 1), max(W // scale, 1))
        if can_fuse(self.views):
            from freqlf.models.kernels.packing import shrink_views

            views = shrink_views(self.views, *size)
        else:
            views = F.interpolate(self.views.reshape(B, V * C, H, W), size=size, mode="area").view(B, V, C, *size)
        centre = F.interpolate(self.centre, size=size, mode="area")
        return replace(self, centre=centre, views=views)

    def residuals(self, disparity_px: Tensor) -> Iterator[Residuals]:
        """Compare each half-line with the centre, given the disparity (B, 1, H, W) of its pixels.

        One half-line after the other: what is done with a few views fits into a processor's cache, all views do not.
        """
        rooms = self._rooms(disparity_px)
        for index, part in enumerate(self.slices):
            visible = self._visible(index, rooms)
            values = self._warped(part, disparity_px).sub_(self.centre[:, None])
            yield Residuals(values.mul_(visible.unsqueeze(2)), visible)

    def refocused(self, disparity_px: Tensor) -> "HalfLines":
        """With a mean in place of the centre: of all views that show a pixel, aligned by its disparity (B, 1, H, W)."""
        if can_fuse(disparity_px, self.views):
            from freqlf.models.kernels.alignment import average_aligned

            return replace(self, centre=average_aligned(self.packed(), disparity_px))
        total, count = torch.zeros_like(self.centre), torch.ones_like(disparity_px)
        for values, visible in self.residuals(disparity_px):
            total += values.sum(dim=1)
            count += visible.sum(dim=1, keepdim=True)
        return replace(self, centre=self.centre + total / count)

    def costs(self, disparity_px: Tensor) -> Tensor:
        """Mean absolute residual of each half-line over the views that show a pixel, (B, half-lines, H, W)."""
        if can_fuse(disparity_px, self.views):
            from freqlf.models.kernels.costs import measure_costs

            return measure_costs(self.packed(), disparity_px)
        return average_parts(
            [
                (values.abs_().mean(dim=2).sum(dim=1), visible.sum(dim=1))
                for values, visible in self.residuals(disparity_px)
            ]
        )

    def normal_equations(self, disparity_px: Tensor, robustness: float = 0.02) -> tuple[Tensor, Tensor]:
        """Least squares of each half-line for the disparity that is left, pixel by pixel.

        A view `k` steps away differs from the centre by `k * delta * G`, G being the image gradient along the
        line, if the disparity is off by delta. With robust weights w = 1 / (robustness + |residual|) the
        solution over any set of pixels and half-lines is the quotient of the sums of the two results,
        `sum w k G e` and `sum w k^2 G^2`, both (B, half-lines, H, W). Views that do not show a pixel have no weight.
        """
        if can_fuse(disparity_px, self.views):
            from freqlf.models.kernels.equations import make_equations

            return make_equations(self.packed(), disparity_px, robustness, together=False)
        numerators, denominators = [], []
        for index, (values, visible) in enumerate(self.residuals(disparity_px)):
            steps = self.centre.new_tensor(self.steps[self.slices[index]]).view(1, -1, 1, 1, 1)
            # The gradient of what is being compared: the centre and the aligned views together.
            gradient = spatial_gradient(self.centre + 0.5 * values.mean(dim=1), self.directions[index])
            weight = values.abs().add_(robustness).reciprocal_().mul_(steps * visible.unsqueeze(2))
            numerators.append((values.mul_(weight).sum(dim=1) * gradient).sum(dim=1))
            denominators.append((weight.mul_(steps).sum(dim=1) * gradient.square()).sum(dim=1))
        return torch.stack(numerators, dim=1), torch.stack(denominators, dim=1)

    def packed(self) -> "PackedViews":
        """As the compiled loops read them; without a copy of views that have their memory layout."""
        from freqlf.models.kernels.packing import pack

        return pack(self.views, self.offsets, self.slices, self.centre, self.origin)

    def _warped(self, part: slice, disparity_px: Tensor) -> Tensor:
        """Some views, sampled where the centre's pixels are seen in them, (B, views, 3, H, W).

        Bilinear; what falls outside of a view takes its nearest border pixel.
        """
        views = self.views[:, part]
        B, count, C, view_height, view_width = views.shape
        y, x = self._pixels(*disparity_px.shape[-2:])
        down, right = disparity_px.new_tensor(self.offsets[part]).T.reshape(2, 1, count, 1, 1)
        # align_corners: pixel centres 0 .. W-1 map to -1 .. 1
        y = (y - down * disparity_px) * (2 / max(view_height - 1, 1)) - 1  # B, views, H, W
        x = (x - right * disparity_px) * (2 / max(view_width - 1, 1)) - 1
        grid = torch.stack((x, y), dim=-1).flatten(0, 1)
        warped = F.grid_sample(views.flatten(0, 1), grid, mode="bilinear", padding_mode="border", align_corners=True)
        return warped.view(B, count, C, *disparity_px.shape[-2:])

    def _visible(self, index: int, rooms: tuple[Room, Room]) -> Tensor:
        """Which views of a half-line show which pixels inside of their frame, (B, views, H, W), 1 or 0."""
        steps = self.steps[self.slices[index]]
        outwards = 1 if steps[0] > 0 else -1
        towards = [
            room.ahead if direction * outwards > 0 else room.behind
            for direction, room in zip(self.directions[index], rooms, strict=True)
            if direction
        ]
        room = towards[0] if len(towards) == 1 else torch.minimum(*towards)
        distances = room.new_tensor(steps).abs_().view(1, -1, 1, 1)
        return (distances <= room.unsqueeze(1)).to(room.dtype)

    def _rooms(self, disparity_px: Tensor) -> tuple[Room, Room]:
        """How far pixels of this disparity (B, 1, H, W) stay inside of the frame, by rows and by columns."""
        disparity = disparity_px[:, 0]
        is_near, steps_per_px = disparity > 0, disparity.abs().clamp_min_(1e-6).reciprocal_()
        rooms = []
        for pixels, size in zip(self._pixels(*disparity.shape[-2:]), self.views.shape[-2:], strict=True):
            before, after = pixels + _BORDER_PX, size - (pixels + _BORDER_PX)
            # Near pixels move towards smaller coordinates in views of larger index.
            ahead, behind = torch.where(is_near, before, after), torch.where(is_near, after, before)
            rooms.append(Room(ahead.mul_(steps_per_px), behind.mul_(steps_per_px)))
        return rooms[0], rooms[1]

    def _pixels(self, height: int, width: int) -> tuple[Tensor, Tensor]:
        """Rows (height, 1) and columns (1, width) of the centre's pixels in the views."""
        device = self.centre.device
        y = torch.arange(self.origin[0], self.origin[0] + height, device=device).unsqueeze(1)
        return y, torch.arange(self.origin[1], self.origin[1] + width, device=device).unsqueeze(0)


def _join(parts: Sequence[Tensor]) -> Tensor:
    """Views (B, ., 3, H, W) side by side; on a CPU in the memory layout of the compiled loops."""
    if not can_fuse(*parts):
        return torch.cat(list(parts), dim=1)
    from freqlf.models.kernels.packing import join

    return join(parts)


def average_parts(parts: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """Sums and counts (B, H, W) of several parts to their means (B, parts, H, W).

    A part that counts nothing has no opinion: it takes the mean over all parts.
    """
    sums, counts = (torch.stack(one, dim=1) for one in zip(*parts, strict=True))
    overall = sums.sum(dim=1, keepdim=True) / counts.sum(dim=1, keepdim=True).clamp_min(1)
    return torch.where(counts > 0, sums / counts.clamp_min(1), overall)


def spatial_gradient(image: Tensor, direction: tuple[int, int]) -> Tensor:
    """Central differences of (B, C, H, W) along (rows, columns) = `direction`, per pixel."""
    padded = F.pad(image, (1, 1, 1, 1), mode="replicate")
    du, dv = direction
    gradient = torch.zeros_like(image)
    if dv:
        gradient += (0.5 * dv) * (padded[..., 1:-1, 2:] - padded[..., 1:-1, :-2])
    if du:
        gradient += (0.5 * du) * (padded[..., 2:, 1:-1] - padded[..., :-2, 1:-1])
    return gradient
