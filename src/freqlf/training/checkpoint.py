"""Writing and resuming checkpoints: all of a training run in one file, written atomically."""

from dataclasses import fields, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from freqlf.errors import FreqLFError
from freqlf.io.files import write_bytes
from freqlf.io.intake import decoding
from freqlf.models.description import config_from_dict, config_to_dict
from freqlf.training.recipe import Recipe
from freqlf.weights.checkpoint import FORMAT, Checkpoint, first_difference


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint: all of it or, if that fails, the previous one stays."""
    content = BytesIO()
    parts = {one.name: getattr(checkpoint, one.name) for one in fields(Checkpoint)}
    torch.save({"format": FORMAT, **parts}, content)
    write_bytes(path, content.getvalue(), durable=True)


def restore_optimizer(optimizer: torch.optim.Optimizer, state: dict[str, Any], path: Path) -> None:
    """Continue an optimizer from a checkpoint, whose settings and sizes must be those that it has."""
    settings = _list_settings(optimizer)
    with decoding(path, "the state of this run's optimizer"):
        optimizer.load_state_dict(state)
        difference = first_difference(_list_settings(optimizer), settings)
        if difference is not None:
            raise ValueError(f"{difference[0]} is {difference[1]} and should be {difference[2]}")
        for parameter, moments in optimizer.state.items():
            for name, moment in moments.items():
                if not isinstance(moment, Tensor) or moment.shape not in ((), parameter.shape):
                    raise ValueError(f"{name} does not have the size of its weights")
                if not moment.isfinite().all():
                    raise ValueError(f"{name} is not finite")


def _list_settings(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """What a recipe decides; the learning rate changes from step to step."""
    groups = enumerate(optimizer.param_groups)
    return {
        str(i): {name: value for name, value in group.items() if name not in ("params", "lr")} for i, group in groups
    }


def require_same_run(path: Path, found: Checkpoint, wanted: Checkpoint) -> None:
    """Refuse to continue a run as something else, and name the first difference."""
    if found.freqlf_version != wanted.freqlf_version:
        raise FreqLFError(
            f"{path} was made by freqlf {found.freqlf_version}, this is {wanted.freqlf_version}, which may compute "
            "differently; continue with that version, or start a new run from it with --weights"
        )
    if found.preset != wanted.preset:
        raise FreqLFError(
            f"{path} is a run of the preset {found.preset}, not {wanted.preset}; name that one or another --out"
        )
    found, wanted = _complete(found, path, like=wanted), _complete(wanted, path, like=wanted)
    for part, what in (("model_config", "model"), ("recipe", "recipe"), ("scenes", "choice of scenes")):
        difference = first_difference(getattr(found, part), getattr(wanted, part))
        if difference is not None:
            name, old, new = difference
            raise FreqLFError(
                f"{path} is a run with another {what}: {name} is {old} there and {new} here; "
                "repeat its flags, or start a new run with another --out"
            )


def _complete(run: Checkpoint, path: Path, like: Checkpoint) -> Checkpoint:
    """With settings that are newer than the run, at the values that change nothing."""
    model_config = config_to_dict(config_from_dict(run.model_config, str(path)))
    newer = {name: value for name, value in Recipe().values().items() if name in like.recipe}
    return replace(run, model_config=model_config, recipe=newer | run.recipe)
