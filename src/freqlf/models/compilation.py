"""Layers compiled one by one: they are alike, and most of the time that compilers can save is spent in them.

The geometry around them (warps, coarse-to-fine steps) would make graphs that take longer to compile than to run.
"""

import torch
from torch import nn

from freqlf.models.decoder import CoordinateMlp
from freqlf.models.hybrid import HybridLayer


def compile_layers(model: nn.Module) -> None:
    """Compile the hybrid layers as a whole, for training."""
    for layer in model.modules():
        if isinstance(layer, HybridLayer):
            layer.compile()


def compile_stages(model: nn.Module) -> None:
    """Compile what `freqlf.models.streaming` calls of layers and decoders, for tiles of any size."""
    for part in model.modules():
        if isinstance(part, CoordinateMlp):
            part.compile(dynamic=True)
        elif isinstance(part, HybridLayer):
            for stage in ("activate", "convolve", "finish"):
                setattr(part, stage, torch.compile(getattr(part, stage), dynamic=True))
