"""Encoders that read the aligned views themselves instead of costs of hypotheses: what presets are compared with."""

import torch
from torch import Tensor, nn

from freqlf.models.aligned import EvidenceCounts, HalfLineEncoder
from freqlf.models.evidence import gather_stacks
from freqlf.models.scale import scale_weights


class StackEncoder(HalfLineEncoder):
    """All views and colours of the aligned half-lines as channels."""

    gather = staticmethod(gather_stacks)


class VolumeEncoder(HalfLineEncoder):
    """The paper's EPI streams on aligned views: 3D kernels over (views, rows, columns) of each half-line.

    Half-lines are turned so that all of them lead to the right, through transposition and mirroring. Then they share
    one pair of kernels, or, with separate=True, each has its own. Only for horizontal and vertical lines.
    """

    gather = staticmethod(gather_stacks)
    reach_px = 2

    def __init__(
        self,
        counts: EvidenceCounts,
        stem_channels: int,
        channels: int,
        *,
        squeeze: bool,
        volume_channels: int,
        separate: bool = False,
    ) -> None:
        super().__init__(
            counts._replace(per_half_line=volume_channels), stem_channels, channels, squeeze=squeeze, shared_channels=0
        )
        self.streams = nn.ModuleList()
        for _ in range(counts.half_lines if separate else 1):
            first = nn.Conv3d(3, volume_channels, 3, padding=1)
            second = nn.Conv3d(volume_channels, volume_channels, (3, 1, 1), padding=(1, 0, 0))
            scale_weights(first, gain=2.0, after_gelu=False)
            scale_weights(second)
            self.streams.append(nn.Sequential(first, nn.GELU(), second, nn.GELU()))

    def measure(self, half_lines: Tensor) -> Tensor:
        """Volumes (B, J, views * 3, H, W) to (B, J, volume_channels, H, W)."""
        measured = []
        for index, volume in enumerate(half_lines.unbind(dim=1)):
            volume = volume.unflatten(1, (-1, 3)).transpose(1, 2)  # B, 3, views, H, W
            features = self.streams[index % len(self.streams)](_turn(volume, index))
            measured.append(_turn_back(features.mean(dim=2), index))
        return torch.stack(measured, dim=1)


def _turn(field: Tensor, index: int) -> Tensor:
    """The half-line leads left, right, up or down (0 to 3); turned, it leads to the right."""
    field = field.transpose(-1, -2) if index >= 2 else field
    return field.flip(-1) if index % 2 == 0 else field


def _turn_back(field: Tensor, index: int) -> Tensor:
    field = field.flip(-1) if index % 2 == 0 else field
    return field.transpose(-1, -2) if index >= 2 else field
