"""The EPI-guided encoder: the centre view's appearance and two stacks of views, fused into one feature field."""

from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn

from freqlf.errors import FreqLFError
from freqlf.models.scale import gelu, scale_weights
from freqlf.models.tiles import WHOLE, Tile, Tiling


def centre_values(images: Tensor) -> Tensor:
    """Colours in [0, 1] to about zero mean and unit deviation; grey, not black, lies outside the image.

    The centre views of the HCI benchmark have a mean of 0.38 and a deviation of 0.16 on average.
    """
    return (images - 0.4) * 6.0


def centre_view(stack: Tensor) -> Tensor:
    """The middle view of a stack (B, A, 3, H, W)."""
    return stack[:, stack.shape[1] // 2]


class SpatialStream(nn.Module):
    """Appearance of the centre view by three 3x3 convolutions: (B, 3, H, W) -> (B, C, H, W)."""

    def __init__(self, channels: int = 64) -> None:
        super().__init__()
        widths = (3, channels, channels, channels)
        self.layers = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in pairwise(widths))
        for i, layer in enumerate(self.layers):
            scale_weights(layer, after_gelu=i > 0)

    def forward(self, image: Tensor) -> Tensor:
        """Features of an image of centred values."""
        z = image.contiguous(memory_format=torch.channels_last)
        for layer in self.layers:
            z = gelu(layer(z))
        return z


class EpiStream(nn.Module):
    """Line slopes of a stack of views by 3D convolutions over (view, y, x): (B, A, 3, H, W) -> (B, C, H, W).

    No convolution pads the angular axis, so each one shortens it until a single plane is left; the image plane
    keeps its size. The first one takes triplets of neighbouring views, two views apart, and a longer kernel
    along `axis`, in which the views differ: of 9 views 4 planes of C features are held, not 9.
    """

    def __init__(self, views: int, axis: Literal["x", "y"], channels: int = 64) -> None:
        super().__init__()
        self.views = views
        layers = []
        for i, kernel in enumerate(plan_angular_kernels(views)):
            along, across = (7, 3) if i == 0 else (3, 3)
            size = (kernel, across, along) if axis == "x" else (kernel, along, across)
            layers.append(
                nn.Conv3d(
                    channels if i else 3,
                    channels,
                    size,
                    stride=1 if i else (2, 1, 1),
                    padding=(0, size[1] // 2, size[2] // 2),
                )
            )
            scale_weights(layers[-1], after_gelu=i > 0)
        self.layers = nn.ModuleList(layers)

    def forward(self, stack: Tensor) -> Tensor:
        """Features of a stack of centred values."""
        if stack.shape[1] != self.views:
            raise FreqLFError(
                f"this model was built for {self.views} views in a stack, not {stack.shape[1]}: "
                "give the views it expects or build it for the views there are"
            )
        z = stack.transpose(1, 2)  # B, 3, A, H, W
        for layer in self.layers:
            z = gelu(layer(z.contiguous(memory_format=torch.channels_last_3d)))
        return z.squeeze(2)


def plan_angular_kernels(views: int) -> list[int]:
    """The angular kernel sizes that leave one plane of `views`: the first with stride 2, at least three layers."""
    if views < 3 or views % 2 == 0:
        raise FreqLFError(
            f"an EPI stream needs an odd number of views, at least 3, not {views}: there is a centre view"
        )
    kernels, planes = [3], (views - 1) // 2
    while planes > 1 or len(kernels) < 3:
        kernels.append(min(3, planes))
        planes -= kernels[-1] - 1
    return kernels


class SqueezeExcitation(nn.Module):
    """Reweights channels by what their means over the field say: (B, C, H, W) -> (B, C, H, W)."""

    def __init__(self, channels: int, reduction: int = 8) -> None:
        super().__init__()
        hidden = max(1, channels // reduction)
        self.squeeze, self.excite = nn.Linear(channels, hidden), nn.Linear(hidden, channels)
        scale_weights(self.squeeze, after_gelu=False)
        scale_weights(self.excite)

    def forward(self, z: Tensor) -> Tensor:
        """The field with each channel multiplied by a factor in (0, 1); without gradients in its own memory."""
        factors = self.excite(gelu(self.squeeze(z.mean((2, 3))))).sigmoid()[:, :, None, None]
        return z * factors if torch.is_grad_enabled() else z.mul_(factors)


class EpiEncoder(nn.Module):
    """Spatial stream, horizontal and vertical EPI stream, concatenated, projected and reweighted.

    (B, A_h, 3, H, W) and (B, A_v, 3, H, W) -> (B, channels, H, W). `squeeze` switches the reweighting.

    Parameters at the paper's size, 9 + 9 views: spatial stream 75,648, each EPI stream 196,608, projection
    24,704, squeeze-and-excitation 4,240; 497,808 in all.
    """

    def __init__(
        self,
        horizontal_views: int = 9,
        vertical_views: int = 9,
        channels: int = 128,
        stream_channels: int = 64,
        *,
        squeeze: bool = True,
    ) -> None:
        super().__init__()
        self.channels = channels
        self.spatial = SpatialStream(stream_channels)
        self.horizontal = EpiStream(horizontal_views, "x", stream_channels)
        self.vertical = EpiStream(vertical_views, "y", stream_channels)
        self.project = nn.Conv2d(3 * stream_channels, channels, 1)
        # The reweighting starts around one half.
        scale_weights(self.project, gain=2.0 if squeeze else 1.0)
        self.reweight = SqueezeExcitation(channels) if squeeze else nn.Identity()

    def forward(self, horizontal: Tensor, vertical: Tensor, tiling: Tiling = WHOLE) -> Tensor:
        """Features of the two stacks; the centre view is the middle of the horizontal one."""
        H, W = horizontal.shape[-2:]

        def project(tile: Tile) -> Tensor:
            outer = tile.grown(self.reach_px, H, W)
            across, down = centre_values(outer.of(horizontal)), centre_values(outer.of(vertical))
            streams = (self.spatial(centre_view(across)), self.horizontal(across), self.vertical(down))
            return tile.inside(outer).of(self.project(torch.cat(streams, dim=1)))

        # The reweighting is the only part that sees the whole field.
        return self.reweight(tiling.fill(H, W, "streams", project))

    @property
    def reach_px(self) -> int:
        """How far away pixels may be that a feature depends on."""
        chains = [
            [part for part in stream.modules() if isinstance(part, (nn.Conv2d, nn.Conv3d))]
            for stream in (self.spatial, self.horizontal, self.vertical)
        ]
        return max(sum(max(part.kernel_size[-2:]) // 2 for part in chain) for chain in chains)
