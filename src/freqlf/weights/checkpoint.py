"""Checkpoints of training runs as weights: read without executing anything in them."""

import json
from dataclasses import dataclass, field, fields
from numbers import Real
from pathlib import Path
from typing import Any, TypedDict

import torch
from torch import Tensor, nn

from freqlf import __version__
from freqlf.errors import FreqLFError
from freqlf.io.intake import decoding, open_file
from freqlf.io.schema import Amount, Count, convert
from freqlf.weights.files import require_finite

FORMAT = 1  # to be raised when the meaning of the contents changes

State = dict[str, Tensor]


@dataclass(frozen=True)
class Checkpoint:
    """A run after `step` optimizer steps.

    Attributes:
        preset: name of the model's preset.
        model_config: the model's configuration, as plain values.
        recipe: all settings of the recipe by name.
        scenes: names of the scenes trained on, and under `generated` and `validation` of the others.
        step: optimizer steps done.
        model: weights.
        ema: their moving average, which is what is validated; equal to `model` if the recipe has none.
        optimizer: its state.
        scaler: state of the gradient scaler (fp16), else empty.
        best: the validation with the least error so far, else empty.
        seconds: time spent in training.
        freqlf_version: the version that made it.
    """

    preset: str
    model_config: dict[str, Any]
    recipe: dict[str, Any]
    scenes: dict[str, list[str]]
    step: Count
    model: State
    ema: State
    optimizer: dict[str, Any]
    scaler: dict[str, Any] = field(default_factory=dict)
    best: dict[str, Any] = field(default_factory=dict)
    seconds: Amount = 0.0
    freqlf_version: str = __version__


class _Best(TypedDict):
    step: int
    mse_100: Real  # infinite if a validation had pixels without a number


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint onto the CPU. Files of another format or with anything but plain values are refused."""
    with open_file(path) as file, decoding(path, "a checkpoint of freqlf", advice=None):
        content = torch.load(file, map_location="cpu", weights_only=True)
    if not isinstance(content, dict) or "freqlf_version" not in content:
        raise FreqLFError(f"{path} is not a checkpoint of freqlf; give a last.pt or best.pt of a training run")
    version, made_as = content["freqlf_version"], content.pop("format", None)
    if made_as != FORMAT:
        raise FreqLFError(
            f"{path} has format {made_as} of freqlf {version}; freqlf {__version__} reads format {FORMAT}: "
            "use that version, or train again"
        )
    odd = sorted({one.name for one in fields(Checkpoint)} - set(content)) or sorted(
        str(name) for name in set(content) - {one.name for one in fields(Checkpoint)}
    )
    if odd:
        raise FreqLFError(f"{path}, made by freqlf {version}, differs in {odd[0]!r} from checkpoints of {__version__}")
    checkpoint: Checkpoint = convert(content, Checkpoint, str(path))
    with decoding(path, "a checkpoint of freqlf"):  # what is compared and written again must be plain values
        json.dumps([checkpoint.model_config, checkpoint.recipe, checkpoint.best])
    if checkpoint.best:
        convert(checkpoint.best, _Best, f"{path}.best")
    require_finite(checkpoint.model, path)
    require_finite(checkpoint.ema, path)
    return checkpoint


def load_state(network: nn.Module, state: State, path: Path) -> None:
    """Give a network the weights of a file, if they are all there and fit."""
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise FreqLFError(f"the weights in {path} do not fit the model; it is damaged, or of another model") from error


def first_difference(old: Any, new: Any, name: str = "") -> tuple[str, Any, Any] | None:
    """Name and both values of the first entry that differs; lists and tuples are the same."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            path = f"{name}.{key}" if name else str(key)
            difference = first_difference(old.get(key, "missing"), new.get(key, "missing"), path)
            if difference is not None:
                return difference
        return None
    if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)) and len(old) == len(new):
        parts = (first_difference(a, b, f"{name}[{i}]") for i, (a, b) in enumerate(zip(old, new, strict=True)))
        return next((part for part in parts if part is not None), None)
    return None if old == new else (name, old, new)
