from dataclasses import replace

import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.models.build import build_model
from freqlf.models.config import (
    EPI_LINES,
    STAR_LINES,
    AlignedConfig,
    EpiConfig,
    PassConfig,
    SweepConfig,
    without,
)
from freqlf.models.convolution import short_convolutions
from freqlf.models.halflines import HalfLines
from freqlf.models.hybrid import HybridLayer
from freqlf.models.mixture import Mixture
from freqlf.models.slope import SlopeModel
from freqlf.models.streaming import update_layer
from freqlf.models.tiles import Tiling

SMALL = AlignedConfig(
    lines=STAR_LINES,
    passes=(
        PassConfig(channels=16, layers=1, modes=4, stem_channels=16, shared_channels=8),
        PassConfig(
            channels=16,
            layers=2,
            modes=4,
            stem_channels=16,
            windows_px=(7, 21),
            relative_px=(-0.2, 0.2),
        ),
    ),
    components=7,
    reference_px=32,
)


SWEPT = replace(
    SMALL,
    passes=(
        SMALL.passes[0],
        replace(SMALL.passes[1], layers=1, modes=2, coarse_channels=(8, 12), second_opinion=True, spacings_px=(2, 6)),
    ),
    sweep=SweepConfig(wide_windows_px=(13,)),
)
HIDDEN = replace(
    SWEPT,
    passes=(SWEPT.passes[0], replace(SWEPT.passes[1], tilted=True, occlusion=True, stream_channels=4)),
    sweep=SweepConfig(wide_windows_px=(13,), tilts=(-0.05, 0.05), tilted_window_px=13),
    repeats=1,
)


def read(mixture: Mixture) -> torch.Tensor:
    return torch.stack((mixture.mean(), mixture.variance().sqrt()), dim=1)


@pytest.mark.parametrize("tile_px", [None, 11, 32, 64])
@pytest.mark.parametrize("config", [SMALL, without(SMALL, "squeeze"), without(SMALL, "probabilistic"), SWEPT, HIDDEN])
def test_tiles_give_what_the_whole_image_gives(plane_stacks, config: AlignedConfig, tile_px: int | None) -> None:
    torch.manual_seed(0)
    model = build_model(config)
    stacks = plane_stacks(0.6, rows=5, columns=5, height=61, width=74)
    with torch.inference_mode():
        whole = read(model(stacks))
    maps = model.stream(HalfLines.from_stacks(stacks, model.lines), read, Tiling(tile_px))
    assert maps.shape == (1, 2, 61, 74)
    assert (maps - whole).abs().max() < 1e-4


@pytest.mark.parametrize("config", [SMALL, SWEPT])
def test_tiles_side_by_side_give_what_one_after_the_other_does(plane_stacks, config: AlignedConfig) -> None:
    torch.manual_seed(0)
    model = build_model(config)
    views = HalfLines.from_stacks(plane_stacks(0.6, rows=5, columns=5, height=61, width=74), model.lines)
    reports: list[tuple[str, int, int]] = []
    alone = model.stream(views, read, Tiling(16))
    together = model.stream(views, read, Tiling(16, lambda *report: reports.append(report), workers=3))
    assert torch.equal(together, alone)
    by_stage = {stage: [done for name, done, _ in reports if name == stage] for stage, *_ in reports}
    assert all(done == list(range(len(done))) for done in by_stage.values())
    with short_convolutions():  # a setting of the caller's that workers must know
        assert torch.equal(model.stream(views, read, Tiling(16, workers=3)), model.stream(views, read, Tiling(16)))


@pytest.mark.parametrize("tile_px", [None, 17, 40])
@pytest.mark.parametrize("component", [None, "squeeze", "fourier", "local"])
def test_the_papers_model_is_the_same_in_tiles(plane_stacks, component: str | None, tile_px: int | None) -> None:
    torch.manual_seed(0)
    config = EpiConfig(rows=5, columns=7, channels=16, layers=2, modes=6, stream_channels=8)
    model = build_model(config if component is None else without(config, component))
    stacks = plane_stacks(0.6, rows=5, columns=7, height=45, width=52)
    with torch.inference_mode():
        whole = read(model(stacks))
    assert (model.stream(stacks, read, Tiling(tile_px)) - whole).abs().max() < 1e-4


@pytest.mark.parametrize("field", ["index", "frequency"])
@pytest.mark.parametrize("residual", [False, True])
def test_layers_are_the_same_in_tiles(field: str, residual: bool) -> None:
    torch.manual_seed(0)
    layer = HybridLayer(8, (6, 6), residual=residual, field=field, reference_px=(24, 24))
    z = torch.randn(2, 8, 45, 38).contiguous(memory_format=torch.channels_last)
    with torch.inference_mode():
        whole = layer(z)
        for tile_px in (1, 7, 16, 50, None):
            # In place, though neighbouring tiles need each other's input.
            updated = update_layer(layer, z.clone(memory_format=torch.channels_last), Tiling(tile_px), "layer")
            assert (updated - whole).abs().max() < 1e-5


@pytest.mark.parametrize(
    "config", [SMALL, EpiConfig(rows=5, columns=5, channels=8, layers=1, modes=4, stream_channels=4)]
)
def test_progress_counts_the_tiles_of_every_stage(plane_stacks, config) -> None:
    model, stacks = build_model(config), plane_stacks(0.6, height=40, width=50)
    seen: dict[str, list[tuple[int, int]]] = {}
    tiling = Tiling(20, lambda stage, done, total: seen.setdefault(stage, []).append((done, total)))
    views = stacks if isinstance(config, EpiConfig) else HalfLines.from_stacks(stacks, model.lines)
    model.stream(views, read, tiling)
    assert seen.pop("slope", [(0, 1), (1, 1)]) == [(0, 1), (1, 1)]
    assert any("mixture" in stage for stage in seen)
    assert all(counts == [(done, 6) for done in range(7)] for counts in seen.values())


def test_the_slope_field_is_a_model(plane_stacks) -> None:
    model, stacks = SlopeModel(), plane_stacks(0.6, height=40, width=50)
    half_lines = HalfLines.from_stacks(stacks, model.lines)
    whole = model(stacks).mean()
    assert (whole - 0.6).abs().median() < 0.01
    for tile_px in (None, 16):
        maps = model.stream(half_lines, lambda mixture: mixture.mean().unsqueeze(1), Tiling(tile_px))
        assert torch.equal(maps[:, 0], whole)


def test_lines_can_be_left_out(plane_stacks) -> None:
    stacks = plane_stacks(0.3)
    star = HalfLines.from_stacks(stacks, STAR_LINES)
    straight = star.of_lines(EPI_LINES)
    assert torch.equal(straight.views, HalfLines.from_stacks(stacks, EPI_LINES).views)
    assert straight.steps == star.steps[:8]
    with pytest.raises(FreqLFError, match="must be packed first"):
        star.of_lines(["diagonal"])
