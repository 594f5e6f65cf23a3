"""A network of EPINET's size (Shin et al., CVPR 2018), to measure others by: untrained, for its time only.

As published, it has four streams of 9 grey views with three blocks of 70 channels and eight blocks of 280 after them;
a block is two 2x2 convolutions with ReLU. Its batch normalisation is left out, as it can be folded into the weights.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn

_VIEWS, _STREAM, _MERGED = 9, 70, 280


class Yardstick(nn.Module):
    """Four stacks (B, 9, H, W) to a map (B, 1, H, W)."""

    def __init__(self) -> None:
        super().__init__()
        widths = (_VIEWS, _STREAM, _STREAM, _STREAM)
        self.streams = nn.ModuleList(_chain(widths) for _ in range(4))
        self.merged = _chain((_MERGED,) * 8)
        self.last = nn.Sequential(_block(_MERGED, _MERGED)[:2], nn.Conv2d(_MERGED, 1, 2))

    def forward(self, stack: Tensor) -> Tensor:
        """All streams see the same stack: their time is that of four."""
        stack = stack.contiguous(memory_format=torch.channels_last)
        return self.last(self.merged(torch.cat([stream(stack) for stream in self.streams], dim=1)))


def make_strip(size_px: int) -> Tensor:
    """A sixteenth of the rows of a square image: the time grows with the pixels, and a whole image takes minutes."""
    return torch.rand(1, _VIEWS, max(8, size_px // 16), size_px)


def _chain(widths: tuple[int, ...]) -> nn.Sequential:
    return nn.Sequential(*(_block(*pair) for pair in pairwise(widths)))


def _block(inputs: int, outputs: int) -> nn.Sequential:
    """Larger by a pixel after the first convolution, and of the same size again after the second."""
    first, second = nn.Conv2d(inputs, outputs, 2, padding=1), nn.Conv2d(outputs, outputs, 2)
    return nn.Sequential(first, nn.ReLU(inplace=True), second, nn.ReLU(inplace=True))
