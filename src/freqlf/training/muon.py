"""Muon: momentum that is made orthogonal (Jordan et al., 2024) for the weights of layers, AdamW for the rest.

A step of Adam mostly follows the few directions of a weight's gradient that all samples share. Made orthogonal, it
follows rare ones as far. Steps are scaled to be as large as Adam's (Liu et al., "Muon is scalable for LLM training",
2025), so the learning rates of the two mean the same. PyTorch has this for matrices only; here a convolution's weight
counts as one of its outputs by all of its inputs.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_MOMENTUM = 0.95
# Root mean square of a step, as a share of the learning rate: Adam's typical one.
_SCALE = 0.2
# Of the quintic Newton-Schulz iteration, which takes singular values to about 1 in five rounds.
_COEFFICIENTS, _ROUNDS = (3.4445, -4.7750, 2.0315), 5


class Muon(torch.optim.AdamW):
    """AdamW, and Muon for parameter groups that are `orthogonal`."""

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """One step; gradients of the orthogonal groups are gone afterwards."""
        for group in self.param_groups:
            if group.get("orthogonal"):
                for weight in group["params"]:
                    if weight.grad is not None:
                        self._move(weight, group["lr"], group["weight_decay"])
                        weight.grad = None  # AdamW leaves those without a gradient alone
        return super().step(closure)

    def _move(self, weight: Tensor, rate: float, decay: float) -> None:
        state = self.state[weight]
        if not state:
            state["step"] = torch.zeros(())  # AdamW expects one in every state that it loads
            state["momentum"] = torch.zeros_like(weight)
        state["step"] += 1
        assert weight.grad is not None
        momentum = state["momentum"].lerp_(weight.grad, 1 - _MOMENTUM)
        update = weight.grad.lerp(momentum, _MOMENTUM).flatten(1)
        size = _SCALE * max(update.shape) ** 0.5
        weight.mul_(1 - rate * decay).add_(orthogonalise(update).view_as(weight), alpha=-rate * size)


def orthogonalise(matrix: Tensor) -> Tensor:
    """The matrix with all of its singular values near 1 (0.7 to 1.2)."""
    a, b, c = _COEFFICIENTS
    is_tall = matrix.shape[0] > matrix.shape[1]
    one = matrix.T if is_tall else matrix
    one = one / (one.norm() + 1e-7)
    for _ in range(_ROUNDS):
        product = one @ one.T
        one = a * one + (b * product + c * product @ product) @ one
    return one.T if is_tall else one
