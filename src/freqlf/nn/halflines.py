"""The views around the centre, half-line by half-line, warped to the centre by a disparity map.

A half-line is the views on one side of the centre along one line. At an occlusion edge the views of one
side see a surface while those of the other side see its occluder, so evidence is kept apart by half-line.
Nothing here is learned and nothing depends on absolute disparity: a sheared light field with sheared
disparities gives the same residuals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from freqlf.errors import FreqLFError
from freqlf.lightfield import LINES


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
            views=torch.cat(parts, dim=1),
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
        B, V, C, H, W = self.views.shape
        size = (max(H // scale, 1), max(W // scale, 1))
        views = F.interpolate(self.views.reshape(B, V * C, H, W), size=size, mode="area").view(B, V, C, *size)
        centre = F.interpolate(self.centre, size=size, mode="area")
        return replace(self, centre=centre, views=views)

    def warped(self, disparity_px: Tensor) -> Tensor:
        """Every view sampled where the centre's pixels are seen in it, given their disparity (B, 1, H, W).

        Returns (B, V, 3, H, W), bilinear; what falls outside of a view takes its nearest border pixel.
        """
        B, V, C, view_height, view_width = self.views.shape
        H, W = disparity_px.shape[-2:]
        # align_corners: pixel centres 0 .. W-1 map to -1 .. 1
        scale_y, scale_x = 2 / max(view_height - 1, 1), 2 / max(view_width - 1, 1)
        device = self.views.device
        y = torch.arange(self.origin[0], self.origin[0] + H, device=device)[:, None] * scale_y - 1
        x = torch.arange(self.origin[1], self.origin[1] + W, device=device)[None, :] * scale_x - 1
        disparity = disparity_px[:, 0]
        grid = disparity.new_empty(B, V, H, W, 2)
        for view, (du, dv) in enumerate(self.offsets):
            grid[:, view, :, :, 0] = torch.sub(x, disparity, alpha=dv * scale_x)
            grid[:, view, :, :, 1] = torch.sub(y, disparity, alpha=du * scale_y)
        warped = F.grid_sample(
            self.views.flatten(0, 1),
            grid.view(B * V, H, W, 2),
            mode="bilinear",
            padding_mode="border",
            align_corners=True,
        )
        return warped.view(B, V, C, H, W)

    def residuals(self, disparity_px: Tensor) -> Tensor:
        """Warped views minus the central view, (B, V, 3, H, W)."""
        return self.warped(disparity_px) - self.centre[:, None]

    def costs(self, residuals: Tensor) -> Tensor:
        """Mean absolute residual of each half-line, (B, half-lines, H, W)."""
        magnitude = residuals.abs()
        return torch.stack([magnitude[:, part].flatten(1, 2).mean(dim=1) for part in self.slices], dim=1)

    def normal_equations(self, residuals: Tensor, robustness: float = 0.02) -> tuple[Tensor, Tensor]:
        """Least squares of each half-line for the disparity that is left, pixel by pixel.

        A view `k` steps away differs from the centre by `k * delta * G`, G being the image gradient along the
        line, if the disparity is off by delta. With robust weights w = 1 / (robustness + |residual|) the
        solution over any set of pixels and half-lines is the quotient of the sums of the two results,
        `sum w k G e` and `sum w k^2 G^2`, both (B, half-lines, H, W).
        """
        numerators, denominators = [], []
        for part, direction in zip(self.slices, self.directions, strict=True):
            residual = residuals[:, part]  # B, views, 3, H, W
            steps = torch.tensor(self.steps[part], dtype=residual.dtype, device=residual.device).view(1, -1, 1, 1, 1)
            weight = steps / (residual.abs() + robustness)
            # The gradient of what is being compared: the centre and the aligned views together.
            gradient = spatial_gradient(self.centre + 0.5 * residual.mean(dim=1), direction)
            numerators.append(((weight * residual).sum(dim=1) * gradient).sum(dim=1))
            denominators.append(((weight * steps).sum(dim=1) * gradient.square()).sum(dim=1))
        return torch.stack(numerators, dim=1), torch.stack(denominators, dim=1)


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
