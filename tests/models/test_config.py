import json

import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.models.build import build_model
from freqlf.models.config import AlignedConfig, EpiConfig, OcclusionConfig, PassConfig, count_modes, without
from freqlf.models.description import config_from_dict, config_to_dict
from freqlf.models.presets import PRESETS, find_preset
from freqlf.models.spectral import SpectralConv2d


@pytest.mark.parametrize("name", PRESETS)
def test_configurations_survive_json(name: str) -> None:
    config = find_preset(name)
    assert config_from_dict(json.loads(json.dumps(config_to_dict(config)))) == config


def test_the_paper_presets_have_the_papers_sizes() -> None:
    assert PRESETS["freqlf"] == EpiConfig(channels=128, layers=4, modes=16, components=5, field="index")
    assert PRESETS["freqlf-plus"] == OcclusionConfig(channels=128, layers=4, modes=16, components=5, field="index")
    small = PRESETS["freqlf-paper-small"]
    assert isinstance(small, EpiConfig)
    assert (small.channels, small.layers, small.modes, small.components) == (48, 4, 16, 5)


def test_the_band_is_as_wide_vertically_as_horizontally() -> None:
    with torch.device("meta"):
        layer = SpectralConv2d(4, count_modes(16, "isotropic"))
        literal = SpectralConv2d(4, count_modes(16, "literal"))
    rows, columns = layer.bands(512, 512)
    assert (rows.frequencies[0], rows.frequencies[-1], columns.frequencies[-1]) == (-15, 15, 15)
    rows, columns = literal.bands(512, 512)
    assert (rows.frequencies[0], rows.frequencies[-1], columns.frequencies[-1]) == (-8, 7, 15)


def test_descriptions_without_a_band_are_of_the_literal_one() -> None:
    """Weights of earlier versions do not say which band they have, nor which floor."""
    for name, config in PRESETS.items():
        old = config_to_dict(config)
        del old["band"], old["deviation_floor_px"]
        found = config_from_dict(old)
        assert (found.band, found.deviation_floor_px) == ("literal", 0.01), name
        with torch.device("meta"):
            table = [weight.shape for key, weight in build_model(found).state_dict().items() if "fourier" in key]
        assert table
        assert all(shape[0] == shape[1] for shape in table)


def test_the_compact_base_preset_enumerates_nothing() -> None:
    small = PRESETS["freqlf-small"]
    assert isinstance(small, AlignedConfig)
    assert small.lines == ("horizontal", "vertical")
    assert all(one.relative_px == () for one in small.passes)


def test_components_can_be_removed() -> None:
    config = without(PRESETS["freqlf-small"], "fourier")
    assert not config.switches.fourier
    assert config.switches.local
    with pytest.raises(FreqLFError, match="unknown component 'decoder'"):
        without(config, "decoder")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": 1}, "an unknown key 'colour'"),
        ({"passes": [{"depth": 3}]}, "an unknown key 'depth'"),
        ({"kind": "volume"}, "unknown kind of model"),
        ({"lines": ["sideways"]}, "lines must be some of"),
        ({"passes": []}, "at least one pass"),
        ({"components": 0}, "components must be between 1 and 4096, not 0"),
    ],
)
def test_bad_configurations_are_refused(change: dict, message: str) -> None:
    with pytest.raises(FreqLFError, match=message):
        config_from_dict({**config_to_dict(PRESETS["freqlf-small"]), **change})


def test_settings_that_were_dropped_are_read_if_they_meant_nothing() -> None:
    config = PRESETS["freqlf-small"]
    first, second = config_to_dict(config)["passes"]
    old = {"dilations": [], "encoder": "half-lines", "volume_channels": 16, "half_line_views": 4}
    assert config_from_dict({**config_to_dict(config), "passes": [first | old, second | old]}) == config
    with pytest.raises(FreqLFError, match=r"encoder 'stack' was dropped in version 0\.2"):
        config_from_dict({**config_to_dict(config), "passes": [first, second | {"encoder": "stack"}]})


def test_values_are_checked() -> None:
    with pytest.raises(FreqLFError, match="windows_px must be odd numbers"):
        PassConfig(windows_px=(7, 8))
    with pytest.raises(FreqLFError, match=r"deviation_floor_px must be between 0\.0001 and 0\.1, not 0"):
        EpiConfig(deviation_floor_px=0)
    with pytest.raises(FreqLFError, match=r"planes from 1\.0 to -1\.0 px, 0\.25 px apart, are no sweep"):
        OcclusionConfig(lowest_px=1.0, highest_px=-1.0)
    with pytest.raises(FreqLFError, match="lines must be some of"):
        OcclusionConfig(lines=())
    with pytest.raises(FreqLFError, match="columns must be odd and at least 3, not 4"):
        EpiConfig(columns=4)
    with pytest.raises(FreqLFError, match="unknown preset 'freqlf-huge'"):
        find_preset("freqlf-huge")
