"""Normalised image coordinates q = (x, y) in [-1, 1]^2: the corner pixels' centres lie at the corners."""

import torch
from torch import Tensor
from torch.nn import functional as F


def make_grid(height: int, width: int, like: Tensor) -> Tensor:
    """The coordinates of the pixels of an image, (2, H, W), x first."""
    x = torch.linspace(-1, 1, width, dtype=like.dtype, device=like.device)
    y = torch.linspace(-1, 1, height, dtype=like.dtype, device=like.device)
    return torch.stack(torch.meshgrid(x, y, indexing="xy"))


def sample_at(field: Tensor, queries: Tensor) -> Tensor:
    """Bilinear samples (B, C, N) of a field (B, C, H, W) at queries (B, N, 2); outside, the nearest border value."""
    sampled = F.grid_sample(field, queries.unsqueeze(2), padding_mode="border", align_corners=True)
    return sampled.squeeze(3)


def resize_to(field: Tensor, height: int, width: int) -> Tensor:
    """Bilinear samples at the pixels of a height x width grid over the same image."""
    if field.shape[-2:] == (height, width):
        return field
    return F.interpolate(field, (height, width), mode="bilinear", align_corners=True)
