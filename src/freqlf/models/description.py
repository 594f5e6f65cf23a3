"""Configurations as plain values, in weight files and checkpoints, also those of earlier versions."""

from dataclasses import asdict
from typing import Any

from freqlf.errors import FreqLFError
from freqlf.io.schema import convert
from freqlf.models.config import AlignedConfig, EpiConfig, ModelConfig, OcclusionConfig


def config_to_dict(config: ModelConfig) -> dict[str, Any]:
    """As plain lists, numbers and strings, for JSON and checkpoints."""
    return asdict(config)


def config_from_dict(content: dict[str, Any], source: str = "the file") -> ModelConfig:
    """The inverse of `config_to_dict`; unknown keys and kinds are refused. `source` is for errors."""
    kinds: dict[str, type[ModelConfig]] = {"epi": EpiConfig, "occlusion": OcclusionConfig, "aligned": AlignedConfig}
    kind = kinds.get(str(content.get("kind"))) if isinstance(content, dict) else None
    if kind is None:
        raise FreqLFError(f"unknown kind of model in {source}: this version knows {', '.join(kinds)}")
    values = {"band": "literal", **content}  # the only one before bands could be chosen
    if isinstance(values.get("passes"), (list, tuple)):
        values["passes"] = [_drop_retired(one) if isinstance(one, dict) else one for one in values["passes"]]
    config: ModelConfig = convert(values, kind, f"the model in {source}")
    return config


# Settings of earlier versions that had to be these, or meant nothing beside them, in all weights that still fit.
_RETIRED: dict[str, tuple[Any, ...]] = {
    "encoder": ("half-lines",),
    "volume_channels": (8, 16, 32),
    "half_line_views": (4,),
    "dilations": ([], ()),
}
_RENAMED = {"swept": "second_opinion"}


def _drop_retired(values: dict[str, Any]) -> dict[str, Any]:
    values = {_RENAMED.get(key, key): value for key, value in values.items() if value not in _RETIRED.get(key, ())}
    retired = sorted(set(values) & set(_RETIRED))
    if retired:
        raise FreqLFError(f"{retired[0]} {values[retired[0]]!r} was dropped in version 0.2; use version 0.1 for it")
    return values
