import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.inference.streaming import stream_aligned, stream_epi, stream_layer
from freqlf.models.build import build_model
from freqlf.models.config import EPI_LINES, STAR_LINES, AlignedConfig, EpiConfig, PassConfig, without
from freqlf.models.halflines import HalfLines
from freqlf.models.hybrid import HybridLayer
from freqlf.models.mixture import Mixture

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


def read(mixture: Mixture) -> torch.Tensor:
    return torch.stack((mixture.mean(), mixture.variance().sqrt()), dim=1)


@pytest.mark.parametrize("tile_px", [None, 11, 32, 64])
@pytest.mark.parametrize("config", [SMALL, without(SMALL, "squeeze"), without(SMALL, "probabilistic")])
def test_tiles_give_what_the_whole_image_gives(plane_stacks, config: AlignedConfig, tile_px: int | None) -> None:
    torch.manual_seed(0)
    model = build_model(config)
    stacks = plane_stacks(0.6, rows=5, columns=5, height=61, width=74)
    with torch.inference_mode():
        whole = read(model(stacks))
    maps = stream_aligned(model, HalfLines.from_stacks(stacks, model.lines), read, tile_px)
    assert maps.shape == (1, 2, 61, 74)
    assert (maps - whole).abs().max() < 1e-4


@pytest.mark.parametrize("tile_px", [None, 17, 40])
@pytest.mark.parametrize("component", [None, "squeeze", "fourier", "local"])
def test_the_papers_model_is_the_same_in_tiles(plane_stacks, component: str | None, tile_px: int | None) -> None:
    torch.manual_seed(0)
    config = EpiConfig(rows=5, columns=7, channels=16, layers=2, modes=6, stream_channels=8)
    model = build_model(config if component is None else without(config, component))
    stacks = plane_stacks(0.6, rows=5, columns=7, height=45, width=52)
    with torch.inference_mode():
        whole = read(model(stacks))
    assert (stream_epi(model, stacks, read, tile_px) - whole).abs().max() < 1e-4


@pytest.mark.parametrize("field", ["index", "frequency"])
@pytest.mark.parametrize(("residual", "dilation"), [(False, 1), (True, 1), (True, 3)])
def test_layers_are_the_same_in_tiles(field: str, residual: bool, dilation: int) -> None:
    torch.manual_seed(0)
    layer = HybridLayer(8, (6, 6), residual=residual, field=field, reference_px=(24, 24), dilation=dilation)
    z = torch.randn(2, 8, 45, 38).contiguous(memory_format=torch.channels_last)
    with torch.inference_mode():
        whole = layer(z)
        for tile_px in (1, 7, 16, 50, None):
            field = z.clone(memory_format=torch.channels_last)
            stream_layer(layer, field, tile_px)  # in place, though neighbouring tiles need each other's input
            assert (field - whole).abs().max() < 1e-5


def test_windows_are_refused() -> None:
    layer = HybridLayer(4, (2, 2), field="window", reference_px=(8, 8))
    with pytest.raises(FreqLFError, match="cannot be run in tiles"):
        stream_layer(layer, torch.zeros(1, 4, 16, 16), 8)


def test_lines_can_be_left_out(plane_stacks) -> None:
    stacks = plane_stacks(0.3)
    star = HalfLines.from_stacks(stacks, STAR_LINES)
    straight = star.of_lines(EPI_LINES)
    assert torch.equal(straight.views, HalfLines.from_stacks(stacks, EPI_LINES).views)
    assert straight.steps == star.steps[:8]
    with pytest.raises(FreqLFError, match="must be packed first"):
        star.of_lines(["diagonal"])
