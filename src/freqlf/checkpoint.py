"""Checkpoints: all of a training run in one file, written atomically and read without executing anything in it."""

import pickle
import zipfile
from dataclasses import dataclass, field, fields
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from freqlf import __version__
from freqlf.config import config_from_dict, config_to_dict
from freqlf.errors import FreqLFError
from freqlf.files import write_bytes

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
    step: int
    model: State
    ema: State
    optimizer: dict[str, Any]
    scaler: dict[str, Any] = field(default_factory=dict)
    best: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    freqlf_version: str = __version__


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint: all of it or, if that fails, the previous one stays."""
    content = BytesIO()
    parts = {one.name: getattr(checkpoint, one.name) for one in fields(Checkpoint)}
    torch.save({"format": FORMAT, **parts}, content)
    write_bytes(path, content.getvalue())


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint onto the CPU. Files of another format or with anything but plain values are refused."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise FreqLFError(f"cannot read {path}: {error.strerror or error}") from error
    except (RuntimeError, EOFError, ValueError, KeyError, pickle.UnpicklingError, zipfile.BadZipFile) as error:
        raise FreqLFError(f"{path} is not a checkpoint of freqlf, or it is damaged") from error
    if not isinstance(content, dict) or "freqlf_version" not in content:
        raise FreqLFError(f"{path} is not a checkpoint of freqlf; give a last.pt or best.pt of a training run")
    version, made_as = content["freqlf_version"], content.pop("format", None)
    if made_as != FORMAT:
        raise FreqLFError(
            f"{path} has format {made_as} of freqlf {version}; freqlf {__version__} reads format {FORMAT}: "
            "use that version, or train again"
        )
    odd = sorted(set(content) ^ {one.name for one in fields(Checkpoint)})
    if odd:
        raise FreqLFError(f"{path}, made by freqlf {version}, differs in {odd[0]!r} from checkpoints of {__version__}")
    return Checkpoint(**content)


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
    for part, what in (("model_config", "model"), ("recipe", "recipe"), ("scenes", "choice of scenes")):
        difference = first_difference(getattr(found, part), getattr(wanted, part))
        if difference is not None:
            name, old, new = difference
            raise FreqLFError(
                f"{path} is a run with another {what}: {name} is {old} there and {new} here; "
                "repeat its flags, or start a new run with another --out"
            )


def load_weights(path: Path, model_config: dict[str, Any] | None = None) -> State:
    """The averaged weights of a checkpoint; with a `model_config`, only of a model like that."""
    checkpoint = load_checkpoint(path)
    if model_config is not None:
        # Settings that came after the checkpoint have their defaults, which is what its model did.
        found = config_to_dict(config_from_dict(checkpoint.model_config))
        difference = first_difference(found, model_config)
        if difference is not None:
            name, old, new = difference
            raise FreqLFError(f"{path} has weights of another model: {name} is {old} there and {new} here")
    return checkpoint.ema


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
