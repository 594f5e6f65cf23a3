from dataclasses import replace

import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.models import swept
from freqlf.models.build import build_model
from freqlf.models.config import (
    PRESETS,
    STAR_LINES,
    AlignedConfig,
    PassConfig,
    SweepConfig,
    config_from_dict,
    config_to_dict,
)
from freqlf.models.halflines import HalfLines
from freqlf.models.mixture import Mixture
from freqlf.models.swept import SweptFreqLF, rate_hypotheses
from freqlf.models.tiles import Tiling

TINY = AlignedConfig(
    lines=STAR_LINES,
    passes=(PassConfig(channels=16, layers=1, modes=4, stem_channels=16, windows_px=(7,), shared_channels=8),),
    sweep=SweepConfig(channels=(8, 8, 8), context_channels=(8, 8, 8)),
    reference_px=32,
)


def build(config: AlignedConfig = TINY) -> SweptFreqLF:
    torch.manual_seed(0)
    model = build_model(config)
    assert isinstance(model, SweptFreqLF)
    return model.eval()


def read(mixture: Mixture) -> torch.Tensor:
    return torch.stack((mixture.tempered_mean(), mixture.mean()), dim=1)


@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (5, 5), (9, 7)])
def test_any_number_of_views(plane_stacks, rows: int, columns: int) -> None:
    model = build()
    stacks = plane_stacks(0.5, rows=rows, columns=columns)
    with torch.inference_mode():
        first, last = model.forward_passes({line: stacks[line] for line in model.lines})
    assert first.means.shape[2:] == last.means.shape[2:] == (32, 40)
    assert last.components == TINY.components
    assert last.mean().isfinite().all()


def test_tiles_give_what_the_whole_image_gives(monkeypatch) -> None:
    model = build()
    generator = torch.Generator().manual_seed(0)
    stacks = {line: torch.rand(1, 3, 3, 150, 190, generator=generator) for line in STAR_LINES}
    views = HalfLines.from_stacks(stacks, STAR_LINES)
    whole = model.stream(views, read)
    monkeypatch.setattr(SweptFreqLF, "_choose_side_px", lambda *_: 76)  # not a multiple of the volume's cells
    stages: list[tuple[str, int]] = []
    tiled = model.stream(views, read, Tiling(52, lambda stage, done, total: stages.append((stage, total))))
    assert dict(stages)["planes"] > 1
    torch.testing.assert_close(tiled, whole, rtol=0, atol=2e-5)
    torch.testing.assert_close(whole, read(model(stacks)), rtol=0, atol=2e-5)


def test_a_sheared_light_field_gives_the_sheared_estimate(plane_stacks) -> None:
    model = build()
    with torch.inference_mode():
        here, there = (model(plane_stacks(disparity_px, height=48, width=48)) for disparity_px in (0.0, 1.0))
    inner = (..., slice(12, -12), slice(12, -12))
    difference = there.mean()[inner] - here.mean()[inner]
    assert difference.median() == pytest.approx(1.0, abs=0.05)


def test_tiles_of_the_sweep_fit_its_memory() -> None:
    model = build()
    per_pixel = 20 * model.sweep.bytes_per_plane
    assert model._choose_side_px(512, 512, 20, 74, Tiling(None)) is None
    assert model._choose_side_px(64, 64, 20, 74, Tiling(64)) is None  # small enough as a whole
    side_px = model._choose_side_px(5000, 5000, 20, 74, Tiling(64))
    assert side_px is not None
    assert 0.9 * swept._SWEEP_BYTES < per_pixel * (side_px + 2 * 74) ** 2 <= swept._SWEEP_BYTES


def test_configurations_survive_a_file() -> None:
    config = PRESETS["freqlf-plus-sweep"]
    assert config_from_dict(config_to_dict(config)) == config
    assert config.enumerates_disparities
    with pytest.raises(FreqLFError, match="followed by one pass, not by 2"):
        replace(TINY, passes=TINY.passes * 2)
    with pytest.raises(FreqLFError, match="layers must be three numbers"):
        SweepConfig(layers=(1, 0, 1))


def test_hypotheses_are_rated_by_density_within_limits() -> None:
    mixture = Mixture(torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2), torch.full((1, 1, 2, 2), 0.5))
    ratings = rate_hypotheses(mixture, torch.tensor([0.0, 0.5, 20.0]).view(1, 3, 1, 1).expand(1, 3, 2, 2))
    at_mean = -0.5 * torch.log(torch.tensor(2 * torch.pi)) - torch.log(torch.tensor(0.5))
    torch.testing.assert_close(ratings[0, :, 0, 0], torch.stack((at_mean, at_mean - 0.5, torch.tensor(-4.0))))
