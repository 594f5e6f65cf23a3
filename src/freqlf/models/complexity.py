"""How large and how costly a network is, counted rather than measured."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from freqlf.models.backbone import Hourglass
from freqlf.models.spectral import SpectralConv2d
from freqlf.models.viewstream import ViewStream


def count_parameters(model: nn.Module) -> int:
    """Learned numbers; a complex weight counts twice."""
    return sum(parameter.numel() for parameter in model.parameters())


def count_multiply_adds(model: nn.Module, stacks: Mapping[str, Tensor]) -> int:
    """Multiply-adds of convolutions and matrix products in one forward pass; pointwise passes are not counted."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(stacks)
    return counter.get_total_flops() // 2


def measure_band(model: nn.Module, height: int, width: int) -> float | None:
    """The frequency, in cycles per pixel, up to which a model's widest Fourier branch retains waves of every direction.

    On an image of height x width; None without such a branch.
    """
    hourglasses = [part for part in model.modules() if isinstance(part, Hourglass)]
    levels = {
        id(one): 2**level for part in hourglasses for level, flat in enumerate(part.down) for one in flat.modules()
    }
    ends = []
    for layer in model.modules():
        if isinstance(layer, SpectralConv2d):
            shrunk_by = levels.get(id(layer), 1)
            H, W = height // shrunk_by, width // shrunk_by
            rows, columns = layer.bands(H, W)
            lowest, highest = rows.frequencies[0], rows.frequencies[-1]
            ends.append(min(-lowest / H, highest / H, columns.highest / W) / shrunk_by)
    return max(ends, default=None)


def measure_local_reach_px(model: nn.Module) -> int:
    """Side of the square of pixels that the convolutions in a row can see, Fourier branch and SE left aside.

    For a model of several passes, that of all passes together.
    """
    rounds = getattr(model, "rounds", [model])
    return 1 + sum(_reach_of(one) for one in rounds)


def _reach_of(module: nn.Module) -> int:
    # Streams run side by side, so of each encoder the longest chain of convolutions counts.
    encoder = getattr(module, "encoder", module)
    streams = [_chain(stream) for stream in encoder.children()] if len(list(encoder.children())) else [0]
    is_parallel = any(name in ("spatial", "horizontal", "vertical") for name, _ in encoder.named_children())
    encoded = max(streams) if is_parallel else sum(streams)
    return encoded + _chain(getattr(module, "layers", nn.Sequential()))


def _chain(module: nn.Module) -> int:
    if isinstance(module, ViewStream):  # half-lines side by side
        return 2 * module.reach_px
    if isinstance(module, Hourglass):
        levels = range(len(module.down))
        layers = [_chain(module.down[i]) + (_chain(module.up[i]) if i < len(module.up) else 0) for i in levels]
        # A pixel of a coarser level is two of the finer one, on the way down and on the way up.
        return sum(2**i * layers[i] for i in levels) + sum(2**i for i in levels[1:])
    reach = 0
    for part in module.modules():
        if isinstance(part, (nn.Conv2d, nn.Conv3d)):
            reach += max(part.kernel_size[-2:]) - 1
    return reach
