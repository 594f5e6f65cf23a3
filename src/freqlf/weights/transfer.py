"""Weights of one model as the beginning of another: fine-tuning, also of a model that reads more than the old one."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from freqlf.errors import FreqLFError
from freqlf.models.base import DisparityModel
from freqlf.models.build import build_model
from freqlf.weights.load import find_weights, read_any_weights

# Layers of further levels of an hourglass, which add to what the others make of a field.
_ADDS_TO_FIELD = re.compile(r"\.layers\.(down|up|widen)\.")


def transfer_all(network: DisparityModel[Any], sources: Sequence[str | Path], parts: Sequence[str]) -> list[str]:
    """`transfer_weights` of one source after the other, each with its parts; none given takes all of each."""
    if parts and len(parts) != len(sources):
        raise FreqLFError(f"each of the weights needs its part, or none of them: {len(sources)} and {len(parts)} given")
    notes = []
    for source, part in zip(sources, parts or [""] * len(sources), strict=True):
        notes += transfer_weights(network, source, part)
    return notes


def transfer_weights(network: DisparityModel[Any], source: str | Path, part: str = "") -> list[str]:
    """Put packaged weights (by name), a .safetensors file or a checkpoint into a network; notes say what did not fit.

    part: only those whose names begin so, such as passes.0, the first pass; several with commas between.

    A layer that has more inputs in the network than in the source ignores the others until it has learned about them;
    one that has more outputs, and layers that the source does not have, keep the initial weights of these. But further
    passes begin as the source's last one, as does the last one of a network that has fewer, and further levels of an
    hourglass with zeros, which change nothing. Which inputs and outputs are the same is known by their names, see
    `DisparityModel.name_channels`. Fourier branches that the network does without are left out: a layer adds them to
    others. Anything else is another model and is refused.
    """
    path = find_weights(source)
    beginnings = tuple(part.split(","))
    weights = read_any_weights(path)
    found = {name: one for name, one in weights.state.items() if name.startswith(beginnings)}
    with torch.device("meta"):
        old_names = build_model(weights.config).name_channels()
    for named in (found, old_names):
        _match_passes(named, len(getattr(weights.config, "passes", ())), network)
    new_names = network.name_channels()
    wanted = network.state_dict()
    if not set(found) & set(wanted):
        what = f"no {part} that this model has, too" if part else "no layer of this model"
        raise FreqLFError(f"{path} has {what}; choose the preset that its weights were made with")
    notes = []
    for name, values in wanted.items():
        if name not in found and not name.startswith(beginnings):
            continue
        if name not in found and _ADDS_TO_FIELD.search(name):
            values.zero_()
            notes.append(f"{name} starts from zero, so that it changes nothing: {path.name} has none")
        elif name not in found:
            notes.append(f"{name} starts from random weights: {path.name} has none")
        elif found[name].shape != values.shape:
            axis, places = _find_places(found[name], values, old_names.get(name), new_names.get(name), name, path)
            if axis == 1:
                values.zero_()
            values.index_copy_(axis, places, found[name])
            kind = "inputs" if axis == 1 else "outputs"
            notes.append(f"{name} takes {len(places)} of its {values.shape[axis]} {kind} from {path.name}")
        else:
            values.copy_(found[name])
    unwanted = sorted(set(found) - set(wanted))
    missing = [name for name in unwanted if not name.endswith(".fourier.weight")]
    notes += [f"{name} of {path.name} is left out: the model has no such branch" for name in unwanted]
    if missing:
        raise FreqLFError(f"{path} has weights of another model: this one has no {missing[0]}; choose another --preset")
    network.load_state_dict(wanted)
    return notes


def _match_passes(named: dict[str, Any], passes: int, network: DisparityModel[Any]) -> None:
    """Of what is named of so many passes, let the last one's be that of the network's further passes.

    Or of its last one, if it has fewer: what was between them is left out.
    """
    count = len(getattr(network, "passes", ()))
    last = {name: one for name, one in named.items() if name.startswith(f"passes.{passes - 1}.")}
    if 0 < count < passes:
        skipped = tuple(f"passes.{number}." for number in range(count - 1, passes))
        for name in [name for name in named if name.startswith(skipped)]:
            del named[name]
    wanted = network.state_dict()
    for number in range(passes, count) if count >= passes else [count - 1]:
        copies = {name.replace(f"passes.{passes - 1}.", f"passes.{number}.", 1): one for name, one in last.items()}
        named |= {name: one for name, one in copies.items() if name in wanted}


def _find_places(
    old: Tensor, new: Tensor, old_names: list[str] | None, new_names: list[str] | None, name: str, path: Path
) -> tuple[int, Tensor]:
    """Along which axis a layer (outputs, inputs, ...) is larger, and where the old inputs or outputs are in it."""
    axes = [axis for axis, (a, b) in enumerate(zip(old.shape, new.shape, strict=False)) if a != b]
    is_larger = old.ndim == new.ndim and len(axes) == 1 and old.shape[axes[0]] < new.shape[axes[0]]
    if is_larger and old_names and new_names and set(old_names) <= set(new_names):
        return axes[0], torch.tensor([new_names.index(one) for one in old_names])
    shapes = " x ".join(map(str, old.shape)), " x ".join(map(str, new.shape))
    raise FreqLFError(f"{path} has weights of another model: {name} is {shapes[0]} there and {shapes[1]} here")
