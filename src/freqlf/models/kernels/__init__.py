"""Fused loops for CPUs, compiled by Numba: what a GPU does with tensors, a CPU does row by row in its caches.

The tensor code beside this package is the reference, and what runs on other devices. Compiled loops are kept on disk;
Numba notices a change of the file that a loop is in, not of those that it calls, so remove `__pycache__` after one.
"""

import torch
from torch import Tensor


def can_fuse(*tensors: Tensor) -> bool:
    """Whether compiled loops can stand in: float32 on a CPU, no gradient wanted, and no graph being recorded."""
    if torch.jit.is_tracing() or torch.compiler.is_compiling():
        return False
    if torch.is_grad_enabled() and any(one.requires_grad for one in tensors):
        return False
    return all(one.device.type == "cpu" and one.dtype == torch.float32 for one in tensors)


def is_window(field: Tensor) -> bool:
    """Whether the pixels of a row follow each other in memory, channels first."""
    return field.numel() > 0 and field.stride(1) == 1 and field.stride(3) == field.shape[1]


def can_normalise(field: Tensor) -> bool:
    """Whether loops can normalise the pixels of a field (B, C, H, W), with a gradient if one is wanted."""
    if torch.jit.is_tracing() or torch.compiler.is_compiling():
        return False
    is_known = field.device.type == "cpu" and field.dtype in (torch.float32, torch.bfloat16)
    return is_known and is_window(field) and field.shape[1] > 1
