"""From a name or a file to a model that can be used."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from freqlf.errors import FreqLFError
from freqlf.io.intake import decoding
from freqlf.models.base import DisparityModel
from freqlf.models.build import build_model
from freqlf.models.description import config_from_dict
from freqlf.models.slope import SlopeModel
from freqlf.weights.calibration import Calibration
from freqlf.weights.checkpoint import load_checkpoint, load_state
from freqlf.weights.files import WeightFile, read_weights
from freqlf.weights.registry import SLOPE, WEIGHTS


def load_model(model: str | Path) -> DisparityModel[Any]:
    """Packaged weights (by name), a weight file (.safetensors), a training checkpoint (.pt), or "slope"."""
    return load_calibrated(model)[0]


def load_calibrated(model: str | Path) -> tuple[DisparityModel[Any], Calibration | None]:
    """The same with the calibration of its intervals, if the weights carry one; checkpoints never do."""
    if str(model) == SLOPE:
        return SlopeModel(), None
    path = find_weights(model)
    weights = read_any_weights(path)
    network = build_model(weights.config)
    load_state(network, weights.state, path)
    return network.eval(), weights.calibration


def find_weights(model: str | Path) -> Path:
    """The file of packaged weights of this name, or the file itself."""
    if str(model) in WEIGHTS:
        return WEIGHTS[str(model)].path
    path = Path(model)
    if path.suffix not in (".safetensors", ".pt"):
        known = ", ".join([SLOPE, *WEIGHTS])
        raise FreqLFError(f"unknown model {str(model)!r}: choose {known}, or give a .safetensors or .pt file")
    return path


def read_any_weights(path: Path) -> WeightFile:
    """A weight file, or the averaged weights of a training checkpoint (.pt): those of the model that it describes."""
    weights = _read_checkpoint(path) if path.suffix == ".pt" else read_weights(path)
    with decoding(path, "the description of a model"), torch.device("meta"):  # where tensors have no memory
        outline = build_model(weights.config).state_dict()
    shapes = [{name: one.shape for name, one in state.items()} for state in (outline, weights.state)]
    if shapes[0] != shapes[1]:
        raise FreqLFError(f"the weights in {path} are not those of the model that it describes; it is damaged")
    return weights


def average_weights(paths: Sequence[Path]) -> WeightFile:
    """The mean of the weights of several runs of one model, which other samples led away from the same beginning.

    That costs nothing when it is used and is most often better than each of them (Wortsman et al., ICML 2022). A
    calibration belongs to one file, so that of a single one is kept.
    """
    if not paths:
        raise FreqLFError("no weights are given: name at least one checkpoint or weight file")
    first, *others = files = [read_any_weights(path) for path in paths]
    for path, other in zip(paths[1:], others, strict=True):
        if other.config != first.config:
            raise FreqLFError(f"{path} holds another model than {paths[0]}; only runs of one model have a mean")
    if not others:
        return first
    state = {name: torch.stack([one.state[name] for one in files]).mean(dim=0) for name in first.state}
    scenes: dict[str, list[str]] = {}  # all that any of them has seen
    for one in files:
        for group, names in one.facts.get("scenes", {}).items():
            scenes[group] = sorted({*scenes.get(group, []), *names})
    facts = {"preset": first.facts.get("preset"), "scenes": scenes, "averaged": [one.facts for one in files]}
    return WeightFile(first.config, state, facts)


def _read_checkpoint(path: Path) -> WeightFile:
    content = load_checkpoint(path)
    facts = {
        "preset": content.preset,
        "recipe": content.recipe,
        "scenes": content.scenes,
        "step": content.step,
        "training_seconds": content.seconds,
        "validation": content.best,
        "freqlf_version": content.freqlf_version,
    }
    return WeightFile(config_from_dict(content.model_config, str(path)), content.ema, facts)
