"""The models that a study compares: one configuration each, alike but for what is studied."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from freqlf.errors import FreqLFError
from freqlf.models.config import MOST, AlignedConfig, ModelConfig, without

FULL = "full"
COMPONENTS = {  # as tables call a model without it: the field of `Switches`
    "no Fourier": "fourier",
    "no local": "local",
    "no SE": "squeeze",
    "no probabilistic head": "probabilistic",
}


@dataclass(frozen=True)
class Variant:
    """A model under a name for tables."""

    name: str
    config: ModelConfig

    @property
    def folder(self) -> str:
        """The name, fit for a path."""
        return self.name.lower().replace(" ", "-")


def ablate(config: ModelConfig) -> tuple[Variant, ...]:
    """The model as it is, and without each of its components."""
    removed = [name for name, component in COMPONENTS.items() if not getattr(config.switches, component)]
    if removed:
        raise FreqLFError(f"the model has {removed[0]!r} already; ablate one that has all components")
    reduced = (Variant(name, without(config, component)) for name, component in COMPONENTS.items())
    return (Variant(FULL, config), *reduced)


def vary_modes(config: ModelConfig, modes: Iterable[int]) -> tuple[Variant, ...]:
    """The model with other numbers of retained Fourier modes per axis."""
    counts = tuple(modes)
    if not counts or len(set(counts)) < len(counts):
        raise FreqLFError(f"a bandwidth study needs different numbers of modes, not {counts}")
    for count in counts:
        if not 1 <= count <= MOST:
            raise FreqLFError(f"modes must be between 1 and {MOST}, not {count}")
    return tuple(Variant(f"{count} modes", with_modes(config, count)) for count in counts)


def with_modes(config: ModelConfig, modes: int) -> ModelConfig:
    """The configuration with as many Fourier modes per axis in all layers."""
    if isinstance(config, AlignedConfig):
        return replace(config, passes=tuple(replace(one, modes=modes) if one.modes else one for one in config.passes))
    return replace(config, modes=modes)
