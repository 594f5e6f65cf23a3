"""Weight files: safetensors with the model's configuration in the header. Nothing in them is ever executed."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from freqlf.errors import FreqLFError
from freqlf.io.files import write_bytes
from freqlf.io.intake import decoding, parse_json, require_file
from freqlf.io.schema import convert
from freqlf.models.config import ModelConfig
from freqlf.models.description import config_from_dict, config_to_dict
from freqlf.weights.calibration import Calibration, describe_calibration, parse_calibration

FORMAT = "freqlf-weights-1"


@dataclass(frozen=True)
class WeightFile:
    """What a weight file holds.

    Attributes:
        config: of the model.
        state: its weights by name, as float32.
        facts: what made them.
        calibration: of its intervals; None if nobody fitted one.
    """

    config: ModelConfig
    state: dict[str, Tensor]
    facts: dict[str, Any]
    calibration: Calibration | None = None


def write_weights(
    path: Path,
    config: ModelConfig,
    state: dict[str, Tensor],
    facts: dict[str, Any],
    calibration: Calibration | None = None,
    *,
    half: bool = True,
) -> None:
    """Write a model's weights atomically; all but the tensors goes into the header as JSON.

    half: store 16-bit floats, which halves the file; they are computed with as 32-bit floats all the same.
    """
    dtype = torch.float16 if half else torch.float32
    tensors = {name: weight.detach().to("cpu", dtype).contiguous() for name, weight in state.items()}
    overflown = [name for name, weight in tensors.items() if not weight.isfinite().all()]
    if overflown:
        raise FreqLFError(f"{overflown[0]} has values that are not finite as {dtype}; store full precision instead")
    header = {"format": FORMAT, "config": json.dumps(config_to_dict(config)), "facts": json.dumps(facts)}
    if calibration is not None:
        header["calibration"] = json.dumps(describe_calibration(calibration))
    write_bytes(path, save(tensors, metadata=header))


def read_weights(path: Path) -> WeightFile:
    """Read what `write_weights` wrote."""
    with (
        decoding(path, "a weight file of freqlf", advice=None),
        safe_open(require_file(path), framework="pt") as content,
    ):
        header = content.metadata() or {}
        if header.get("format") != FORMAT:
            raise FreqLFError(f"{path} holds no weights of freqlf (its format is {header.get('format')!r})")
        state = {name: content.get_tensor(name).float() for name in content.keys()}  # noqa: SIM118
    require_finite(state, path)
    parts = {name: parse_json(header[name], f"the {name} in {path}") for name in ("config", "facts") if name in header}
    if len(parts) < 2:
        raise FreqLFError(f"{path} is not a weight file of freqlf: its header lacks config or facts")
    calibration = None
    if "calibration" in header:
        where = f"the calibration in {path}"
        calibration = parse_calibration(parse_json(header["calibration"], where), where)
    facts = convert(parts["facts"], dict[str, Any], f"the facts in {path}")
    return WeightFile(config_from_dict(parts["config"], str(path)), state, facts, calibration)


def require_finite(state: dict[str, Tensor], path: Path) -> None:
    """Refuse weights that can only give an estimate without any number in it."""
    for name, weight in state.items():
        if not weight.isfinite().all():
            raise FreqLFError(f"{path} has weights that are not finite numbers, in {name}; it is damaged or diverged")
