"""Weights of one model as the beginning of another: fine-tuning, also of a model that reads more than the old one."""

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor, nn

from freqlf.errors import FreqLFError
from freqlf.weights.load import find_weights, read_any_weights


def transfer_all(network: nn.Module, sources: Sequence[str | Path], parts: Sequence[str]) -> list[str]:
    """`transfer_weights` of one source after the other, each with its parts; none given takes all of each."""
    if parts and len(parts) != len(sources):
        raise FreqLFError(f"each of the weights needs its part, or none of them: {len(sources)} and {len(parts)} given")
    notes = []
    for source, part in zip(sources, parts or [""] * len(sources), strict=True):
        notes += transfer_weights(network, source, part)
    return notes


def transfer_weights(network: nn.Module, source: str | Path, part: str = "") -> list[str]:
    """Put packaged weights (by name), a .safetensors file or a checkpoint into a network; notes say what did not fit.

    part: only those whose names begin so, such as passes.0, the first pass; several with commas between.

    A layer that has more inputs in the network than in the source takes the source's for the first ones and ignores
    the others until it has learned about them. Layers that the source does not have keep their initial weights.
    Anything else is another model and is refused.
    """
    path = find_weights(source)
    beginnings = tuple(part.split(","))
    found = {name: one for name, one in read_any_weights(path).state.items() if name.startswith(beginnings)}
    wanted = network.state_dict()
    if not set(found) & set(wanted):
        what = f"no {part} that this model has, too" if part else "no layer of this model"
        raise FreqLFError(f"{path} has {what}; choose the preset that its weights were made with")
    notes = []
    for name, values in wanted.items():
        if name not in found and not name.startswith(beginnings):
            continue
        if name not in found:
            notes.append(f"{name} starts from random weights: {path.name} has none")
        elif found[name].shape != values.shape:
            _widen(values, found[name], name, path)
            notes.append(f"{name} takes {found[name].shape[1]} of its {values.shape[1]} inputs from {path.name}")
        else:
            values.copy_(found[name])
    missing = sorted(set(found) - set(wanted))
    if missing:
        raise FreqLFError(f"{path} has weights of another model: this one has no {missing[0]}; choose another --preset")
    network.load_state_dict(wanted)
    return notes


def _widen(values: Tensor, found: Tensor, name: str, path: Path) -> None:
    """Copy the weights (outputs, inputs, ...) of a layer into those of one with more inputs."""
    is_wider = (
        values.ndim == found.ndim >= 2
        and values.shape[0] == found.shape[0]
        and values.shape[1] > found.shape[1]
        and values.shape[2:] == found.shape[2:]
    )
    if not is_wider:
        shapes = " x ".join(map(str, found.shape)), " x ".join(map(str, values.shape))
        raise FreqLFError(f"{path} has weights of another model: {name} is {shapes[0]} there and {shapes[1]} here")
    values.zero_()
    values[:, : found.shape[1]].copy_(found)
