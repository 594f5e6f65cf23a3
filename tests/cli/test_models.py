import pytest

from freqlf.cli.main import main
from freqlf.models.presets import PRESETS
from freqlf.weights.registry import WEIGHTS


def test_models_lists_every_preset_and_all_weights(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    presets, _, weights = capsys.readouterr().out.partition("see the whole field.")
    for name in PRESETS:
        (row,) = [line for line in presets.splitlines() if f" {name} " in line]
        assert row.rstrip(" │|").endswith("yes" if "plus" in name else "no")
    for name, entry in WEIGHTS.items():
        (row,) = [line for line in weights.splitlines() if f" {name} " in line]
        assert f"{entry.scores['mean'][0]:.2f}" in row
        assert f"ECE {entry.calibration.held_out_ece:.3f} on a scene left out" in row
        assert entry.licence in row
