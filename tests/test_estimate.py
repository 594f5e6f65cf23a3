from pathlib import Path

import numpy as np
import pytest
import torch

from freqlf.config import STAR_LINES, AlignedConfig, EpiConfig, PassConfig
from freqlf.errors import FreqLFError
from freqlf.estimate import Estimator, choose_tile_px, estimate, load_estimator, read_stacks, shift_estimate
from freqlf.lightfield import LightField
from freqlf.nn.build import build_model
from freqlf.weights.files import write_weights

TINY = AlignedConfig(
    lines=STAR_LINES, passes=(PassConfig(channels=8, layers=1, modes=2, stem_channels=8, windows_px=(5,)),)
)


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


@pytest.mark.parametrize("config", [TINY, EpiConfig(rows=5, columns=5, channels=8, stream_channels=4, modes=4)])
def test_networks_give_all_maps_whole_or_in_tiles(light_field: LightField, config) -> None:
    torch.manual_seed(0)
    estimator = Estimator("tiny", build_model(config).eval())
    whole, tiled = estimator(light_field), estimator(light_field, tile_px=20)  # a tile of 256 px holds all of it
    assert whole.tile_px is None
    assert tiled.tile_px == 20
    for name in ("disparity_px", "mean_px", "deviation_px", "lower_px", "upper_px"):
        assert getattr(whole, name).shape == (48, 60)
        assert np.abs(getattr(whole, name) - getattr(tiled, name)).max() < 1e-4, name
    assert np.all(whole.deviation_px > 0)
    assert np.all(whole.lower_px < whole.upper_px)


def test_shifting_moves_disparities_only(light_field: LightField) -> None:
    before = Estimator("tiny", build_model(TINY).eval())(light_field)
    after = shift_estimate(before, 2.0)
    for name in ("disparity_px", "mean_px", "lower_px", "upper_px"):
        assert np.allclose(getattr(after, name), getattr(before, name) + 2, atol=1e-6)
    assert np.array_equal(after.deviation_px, before.deviation_px)
    assert shift_estimate(estimate(light_field, "slope"), 1.0).lower_px is None


def test_weight_files_and_memory(light_field: LightField, tmp_path: Path) -> None:
    path = tmp_path / "tiny.safetensors"
    write_weights(path, TINY, build_model(TINY).state_dict(), {})
    free = load_estimator(path)(light_field)
    bound = load_estimator(path, memory_bytes=30_000_000)(light_field)
    assert np.abs(free.disparity_px - bound.disparity_px).max() < 1e-4


def test_less_memory_means_smaller_tiles() -> None:
    model = build_model(TINY)
    assert choose_tile_px(model, 2000, 2000, None) == choose_tile_px(model, 2000, 2000, 10**10)
    large, small = (choose_tile_px(model, 2000, 2000, megabytes * 10**6) for megabytes in (700, 600))
    assert large > small >= 64
    with pytest.raises(FreqLFError, match="needs at least"):
        choose_tile_px(model, 20_000, 20_000, 10**9)


def test_stacks_are_read_once_and_missing_views_are_named(render_plane) -> None:
    array = render_plane(0.3)
    views = {(u, v): array[u, v] for u in range(5) for v in range(5) if (u, v) != (0, 0)}
    field = LightField(5, 5, views)
    stacks = read_stacks(field, ["horizontal", "vertical"])
    assert stacks["vertical"].shape == (1, 5, 3, 32, 40)
    assert np.array_equal(stacks["vertical"][0, 1].numpy(), array[1, 2].transpose(2, 0, 1))
    with pytest.raises(FreqLFError, match=r"view \(0, 0\) is missing"):
        read_stacks(field, STAR_LINES)
