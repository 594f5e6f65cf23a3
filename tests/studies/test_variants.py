import pytest

from freqlf.errors import FreqLFError
from freqlf.models.config import without
from freqlf.models.presets import PRESETS
from freqlf.studies.variants import ablate, vary_modes


def test_an_ablation_removes_one_component_at_a_time():
    config = PRESETS["freqlf-small"]
    full, *reduced = ablate(config)
    assert (full.name, full.config) == ("full", config)
    assert [variant.name for variant in reduced] == ["no Fourier", "no local", "no SE", "no probabilistic head"]
    assert [variant.config for variant in reduced] == [
        without(config, component) for component in ("fourier", "local", "squeeze", "probabilistic")
    ]
    assert reduced[-1].folder == "no-probabilistic-head"
    with pytest.raises(FreqLFError, match="has 'no SE' already"):
        ablate(without(config, "squeeze"))


@pytest.mark.parametrize("preset", ["freqlf", "freqlf-small"])
def test_other_numbers_of_modes(preset):
    config = PRESETS[preset]
    few, many = vary_modes(config, (4, 32))
    assert (few.name, many.name) == ("4 modes", "32 modes")
    layers = getattr(many.config, "passes", (many.config,))
    assert {layer.modes for layer in layers} == {32}
    (same,) = vary_modes(PRESETS["freqlf"], (16,))
    assert same.config == PRESETS["freqlf"]
    with pytest.raises(FreqLFError, match="different numbers of modes"):
        vary_modes(config, (8, 8))
    with pytest.raises(FreqLFError, match="between 1 and 4096, not 0"):
        vary_modes(config, (0,))
