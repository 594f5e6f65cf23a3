import json

import pytest

from freqlf.errors import FreqLFError
from freqlf.models.config import (
    PRESETS,
    AlignedConfig,
    EpiConfig,
    PassConfig,
    config_from_dict,
    config_to_dict,
    find_preset,
    without,
)


@pytest.mark.parametrize("name", PRESETS)
def test_configurations_survive_json(name: str) -> None:
    config = find_preset(name)
    assert config_from_dict(json.loads(json.dumps(config_to_dict(config)))) == config


def test_the_paper_presets_have_the_papers_sizes() -> None:
    assert PRESETS["freqlf"] == EpiConfig(channels=128, layers=4, modes=16, components=5, field="index")
    plus = PRESETS["freqlf-plus"]
    assert isinstance(plus, AlignedConfig)
    assert {(one.channels, one.layers, one.modes) for one in plus.passes} == {(128, 4, 16)}
    assert plus.components == 5


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
    with pytest.raises(FreqLFError, match="columns must be odd and at least 3, not 4"):
        EpiConfig(columns=4)
    with pytest.raises(FreqLFError, match="unknown preset 'freqlf-huge'"):
        find_preset("freqlf-huge")
