from pathlib import Path

import numpy as np
import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.inference.compute import ComputeOptions
from freqlf.inference.estimate import Estimator, estimate, load_estimator
from freqlf.inference.memory import free_memory_bytes, held_memory_mb
from freqlf.lightfield import LightField
from freqlf.models.build import build_model
from freqlf.models.config import STAR_LINES, AlignedConfig, EpiConfig, OcclusionConfig, PassConfig
from freqlf.outputs.estimate import INTERVAL
from freqlf.weights.calibration import LEVELS, Calibration
from freqlf.weights.files import write_weights

TINY = AlignedConfig(
    lines=STAR_LINES, passes=(PassConfig(channels=8, layers=1, modes=2, stem_channels=8, windows_px=(5,)),)
)
CONFIGS = [
    TINY,
    EpiConfig(rows=5, columns=5, channels=8, stream_channels=4, modes=4),
    OcclusionConfig(channels=8, stream_channels=4, modes=4, lowest_px=-1.0, highest_px=1.0),
]


@pytest.fixture
def light_field(render_plane) -> LightField:
    return LightField.from_array(render_plane(0.7, rows=5, columns=5, height=48, width=60))


def test_the_slope_needs_no_weights(light_field: LightField) -> None:
    result = estimate(light_field, "slope")
    assert result.disparity_px.shape == (48, 60)
    assert result.disparity_px.dtype == np.float32
    assert np.median(np.abs(result.disparity_px - 0.7)) < 0.01
    assert result.deviation_px is None
    assert result.model == "slope"


@pytest.mark.parametrize("config", CONFIGS)
def test_networks_give_all_maps_whole_or_in_tiles(light_field: LightField, config) -> None:
    torch.manual_seed(0)
    estimator = Estimator("tiny", build_model(config).eval())
    whole, tiled = (
        estimator.run(light_field),
        estimator.run(light_field, tile_px=20),
    )  # a tile of 256 px holds all of it
    assert whole.tile_px is None
    assert tiled.tile_px == 20
    for name in ("disparity_px", "mean_px", "deviation_px", "lower_px", "upper_px"):
        assert getattr(whole, name).shape == (48, 60)
        assert np.abs(getattr(whole, name) - getattr(tiled, name)).max() < 1e-4, name
    assert np.all(whole.deviation_px > 0)
    assert np.all(whole.lower_px < whole.upper_px)


@pytest.mark.parametrize("config", CONFIGS)
def test_half_precision_is_close_whole_or_in_tiles(light_field: LightField, config) -> None:
    torch.manual_seed(0)
    model = build_model(config).eval()
    exact = Estimator("tiny", model).run(light_field)
    for tile_px in (None, 20):
        short = Estimator("tiny", model, compute=ComputeOptions("cpu", "bf16")).run(light_field, tile_px)
        assert short.disparity_px.dtype == np.float32
        error = np.abs(short.mean_px - exact.mean_px).max()
        assert 0 < error < 0.03, error  # bf16 has three digits; a difference of zero would mean that it was not used


def test_shifting_moves_disparities_only(light_field: LightField) -> None:
    before = Estimator("tiny", build_model(TINY).eval()).run(light_field)
    after = before.shifted(2.0)
    for name in ("disparity_px", "mean_px", "lower_px", "upper_px"):
        assert np.allclose(getattr(after, name), getattr(before, name) + 2, atol=1e-6)
    assert np.array_equal(after.deviation_px, before.deviation_px)
    assert estimate(light_field, "slope").shifted(1.0).lower_px is None


def test_weight_files_and_memory(light_field: LightField, tmp_path: Path) -> None:
    path = tmp_path / "tiny.safetensors"
    write_weights(path, TINY, build_model(TINY).state_dict(), {})
    free = load_estimator(path)(light_field)
    bound = load_estimator(path, memory=int(held_memory_mb() * 1e6) + 100_000_000)(light_field)
    assert np.abs(free.disparity_px - bound.disparity_px).max() < 1e-4


def test_intervals_are_calibrated_if_the_weights_know_how(light_field: LightField, tmp_path: Path) -> None:
    path = tmp_path / "tiny.safetensors"
    torch.manual_seed(0)
    rows = ((0.3, 0.5), (0.4, 0.7))
    calibration = Calibration((0.05, 0.5), (1.0, 2.0), rows, held_out_coverage={"a": LEVELS})
    write_weights(path, TINY, build_model(TINY).state_dict(), {}, calibration)
    whole = load_estimator(path)(light_field)
    tiled = load_estimator(path)(light_field, tile_px=20)
    raw = load_estimator(path, calibrated=False)(light_field)
    assert whole.calibration == calibration
    assert raw.calibration is None
    half_width_px = calibration.half_width_px(raw.deviation_px, INTERVAL)
    assert np.allclose(whole.upper_px - whole.disparity_px, half_width_px, atol=1e-5)
    assert np.allclose(whole.disparity_px - whole.lower_px, half_width_px, atol=1e-5)
    for name in ("disparity_px", "mean_px", "deviation_px"):  # the calibration touches nothing else
        assert np.array_equal(getattr(whole, name), getattr(raw, name))
    for name in ("lower_px", "upper_px"):
        assert getattr(whole, name).dtype == np.float32
        assert np.abs(getattr(whole, name) - getattr(tiled, name)).max() < 1e-4
    moved = whole.shifted(1.0)
    assert moved.calibration == calibration
    assert np.allclose(moved.upper_px - whole.upper_px, 1.0)


def test_half_of_what_is_free_is_the_default(light_field: LightField) -> None:
    held, free = held_memory_mb() * 1e6, free_memory_bytes()
    result = estimate(light_field, "slope")
    assert result.memory_bytes == pytest.approx(held + free / 2, rel=0.2)  # others are at work on the machine as well
    assert load_estimator("slope")(light_field, tile_px=20).memory_bytes is None


def test_too_little_memory_is_an_error_that_says_how_much_is_needed(light_field: LightField) -> None:
    with pytest.raises(FreqLFError, match=r"60 x 48 pixels needs .* for the program itself.* 0\.10 GB are"):
        estimate(light_field, "slope", memory="100MB")


def test_views_are_held_once(light_field: LightField) -> None:
    before = light_field.view(2, 0)
    estimate(light_field, "slope")
    assert light_field.view(2, 0) is not before
    assert np.array_equal(light_field.view(2, 0), before)
