"""One optimizer step in its parts: the loss, its weight among processes, the learning rate, the average of weights."""

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from freqlf.data.batches import Batch
from freqlf.data.samples import Sample
from freqlf.errors import FreqLFError
from freqlf.inference.denormals import flush_denormals
from freqlf.models.base import DisparityModel
from freqlf.models.decoder import MixtureDecoder
from freqlf.models.mixture import Mixture
from freqlf.models.paper import FieldModel
from freqlf.models.spectral import SpectralConv2d
from freqlf.models.tiles import Tiling
from freqlf.training import losses
from freqlf.training.distributed import Processes
from freqlf.training.muon import Muon
from freqlf.training.recipe import Recipe

_TILES = Tiling(192)  # a whole scene at once takes longer, and gigabytes


class Objective(nn.Module):
    """The model with its loss on top: one `forward`, so that wrappers (DDP, compile) see all of a step."""

    def __init__(self, model: DisparityModel[Any], recipe: Recipe) -> None:
        super().__init__()
        self.model = model
        self.recipe = recipe
        if isinstance(model, FieldModel):
            model.decodes_lift = recipe.encoder_loss

    def forward(
        self, stacks: dict[str, Tensor], disparity_px: Tensor, valid: Tensor, beliefs: Tensor | None = None
    ) -> Tensor:
        """Mean loss over the valid pixels; `disparity_px` and `valid` are (B, 1, H, W); beliefs as in `Batch`."""
        with self._autocast(disparity_px.device):
            mixtures = self.model.forward_passes(stacks, beliefs=beliefs)
        truth_px, known = disparity_px.squeeze(1), valid.squeeze(1)
        total = torch.zeros((), device=truth_px.device)
        for index, mixture in enumerate(mixtures):
            weight = 1.0 if index == len(mixtures) - 1 else self.recipe.early_weight
            if weight > 0:
                total = total + weight * self._compare(mixture, truth_px, known)
        return total

    @flush_denormals()
    @torch.no_grad()
    def believe(self, sample: Sample) -> Tensor:
        """What the frozen passes make of a scene of float views, (maps, H, W); see `DisparityModel.believe`.

        In threads that prepare batches, too, which denormal numbers would slow down.
        """
        device = next(self.model.parameters()).device
        stacks = {line: sample.stack(line).unsqueeze(0).to(device) for line in self.model.lines}
        with self._autocast(device):
            return self.model.believe(stacks, _TILES)[0].cpu()

    def _autocast(self, device: torch.device) -> AbstractContextManager[object]:
        precision = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(self.recipe.precision)
        return torch.autocast(device.type, precision) if precision else nullcontext()

    def _compare(self, mixture: Mixture, truth_px: Tensor, known: Tensor) -> Tensor:
        recipe = self.recipe
        mixture = Mixture(mixture.logits.float(), mixture.means.float(), mixture.deviations.float())
        loss = losses.nll(mixture, truth_px, known, recipe.background_density, recipe.truth_deviation_px)
        if recipe.l1_weight > 0:
            loss = loss + recipe.l1_weight * losses.l1(mixture, truth_px, known, recipe.l1_power, recipe.l1_scale_px)
        return loss


def weighted_loss(objective: nn.Module, batch: Batch, processes: Processes) -> Tensor:
    """The loss of this process's part of the batch.

    Processes may have different numbers of valid pixels; weighting makes the mean of their losses (and so of their
    gradients) that of one process with the whole batch.
    """
    loss = objective(batch.stacks, batch.disparity_px, batch.valid, batch.beliefs)
    count = batch.valid.sum().float()
    return loss * count / processes.mean(count).clamp_min(1)


def freeze(model: nn.Module, parts: str) -> None:
    """Leave the weights as they are whose names begin with one of the parts, which are separated by commas."""
    for part in filter(None, parts.split(",")):
        frozen = [weight for name, weight in model.named_parameters() if f"{name}.".startswith(f"{part}.")]
        if not frozen:
            names = ", ".join(sorted({name.split(".")[0] for name, _ in model.named_parameters()}))
            raise FreqLFError(f"the model has no part {part!r} to freeze; its parts begin with {names}")
        for weight in frozen:
            weight.requires_grad_(False)


def make_optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Adam, AdamW or Muon; learning rates are set anew before each step, times the `factor` of their group.

    A step shows a Fourier weight one coefficient per sample where a convolution's weight sees every pixel, so its
    gradient is much noisier: it has a group, and a factor, of its own.
    """
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "muon": Muon}[recipe.optimizer]
    fourier = {id(part.weight) for part in model.modules() if isinstance(part, SpectralConv2d)}
    layers = {id(part.weight) for part in model.modules() if isinstance(part, nn.Conv2d | nn.Linear)}
    hidden = layers - _find_outputs(model) if recipe.optimizer == "muon" else set()
    learned = [weight for weight in model.parameters() if weight.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [one for one in learned if id(one) not in fourier | hidden], "factor": 1.0},
        {"params": [one for one in learned if id(one) in fourier], "factor": recipe.fourier_rate},
        {"params": [one for one in learned if id(one) in hidden], "factor": 1.0, "orthogonal": True},
    ]
    return kind(
        [group for group in groups if group["params"]],
        lr=recipe.learning_rate,
        betas=(recipe.beta1, recipe.beta2),
        eps=recipe.epsilon,
        weight_decay=recipe.weight_decay,
    )


def _find_outputs(model: nn.Module) -> set[int]:
    """Weights whose outputs are the model's own: rows of a mixture's parameters are not alike enough to mix."""
    return {id(part.mlp.output.weight) for part in model.modules() if isinstance(part, MixtureDecoder)}


def learning_rate(recipe: Recipe, step: int, total_steps: int) -> float:
    """For the step number `step`, from 0: a linear rise, then constant or half a cosine down to `final_rate`."""
    rise = min(1.0, (step + 1) / recipe.warmup_steps) if recipe.warmup_steps else 1.0
    if recipe.schedule == "constant":
        return recipe.learning_rate * rise
    fall = 0.5 * (1 + math.cos(math.pi * step / total_steps))
    return recipe.learning_rate * rise * (recipe.final_rate + (1 - recipe.final_rate) * fall)


@torch.no_grad()
def update_average(average: nn.Module, model: nn.Module, decay: float, step: int) -> None:
    """Move the average towards the model. In the first steps faster, so that the initial weights are forgotten."""
    decay = min(decay, (step + 1) / (step + 20))
    get_ema_multi_avg_fn(decay)(list(average.parameters()), list(model.parameters()), 0)
    for averaged, current in zip(average.buffers(), model.buffers(), strict=True):
        averaged.copy_(current)
