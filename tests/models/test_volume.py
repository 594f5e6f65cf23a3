from dataclasses import asdict

import torch

from freqlf.models.config import SweepConfig
from freqlf.models.halflines import HalfLines
from freqlf.models.sweep import Planes, normalise_contrast
from freqlf.models.tiles import Tile
from freqlf.models.volume import COARSEST_CELL_PX, SweepPass

LINES = ("horizontal", "vertical")
TINY = SweepConfig(channels=(8, 8, 8), context_channels=(8, 8, 8), most_planes=12)


def build(seed: int = 0) -> SweepPass:
    torch.manual_seed(seed)
    return SweepPass(2 * len(LINES), **asdict(TINY))


def random_half_lines(height: int, width: int, batch: int = 1) -> HalfLines:
    generator = torch.Generator().manual_seed(1)
    stacks = {line: torch.rand(batch, 3, 3, height, width, generator=generator) for line in LINES}
    return HalfLines.from_stacks(stacks, LINES)


def test_any_size_and_a_component_per_plane() -> None:
    sweep = build()
    half_lines = random_half_lines(33, 50, batch=2)
    slope_px = torch.linspace(-1, 1, 50).expand(2, 1, 33, 50)
    finding = sweep(half_lines, slope_px)
    planes = sweep.place_planes(slope_px, half_lines.centre)
    assert finding.mixture.means.shape == (2, planes.count, 33, 50)
    assert finding.knowledge.shape == (2, sweep.knowledge_channels, 33, 50)
    distance = (finding.mixture.means - planes.disparities_px[:, :, None, None]).abs()
    assert distance.max() <= 1.2 * TINY.step_px
    finding.mixture.mean().sum().backward()
    assert all(parameter.grad is not None for parameter in sweep.parameters())


def test_a_window_with_its_reach_gives_what_the_whole_image_gives() -> None:
    sweep = build().eval()
    half_lines = random_half_lines(200, 232)
    normalised = normalise_contrast(half_lines)
    planes = Planes(torch.tensor([[-0.5, 0.0, 0.5]]))
    with torch.inference_mode():
        whole = sweep.decide(half_lines, normalised, planes)
        tile = Tile(72, 80, 24, 40)
        outer = tile.grown(sweep.reach_px, 200, 232)
        assert outer.y % COARSEST_CELL_PX == 0
        assert outer.x % COARSEST_CELL_PX == 0
        place = (outer.y, outer.x, outer.height, outer.width)
        part = sweep.decide(half_lines.window(*place), normalised.window(*place), planes)
    inner = tile.inside(outer)
    for found, expected in (
        (part.mixture.logits, whole.mixture.logits),
        (part.mixture.means, whole.mixture.means),
        (part.knowledge, whole.knowledge),
    ):
        torch.testing.assert_close(inner.of(found), tile.of(expected), rtol=1e-4, atol=1e-4)


def test_disparities_enter_as_differences_only() -> None:
    sweep = build().eval()
    half_lines = random_half_lines(32, 40)
    zeros = HalfLines.from_stacks({line: torch.full((1, 3, 3, 32, 40), 0.5) for line in LINES}, LINES)
    with torch.inference_mode():
        # Without texture all planes look the same, wherever they are.
        here = sweep.decide(zeros, normalise_contrast(zeros), Planes(torch.tensor([[0.0, 0.25, 0.5]])))
        there = sweep.decide(zeros, normalise_contrast(zeros), Planes(torch.tensor([[5.0, 5.25, 5.5]])))
        other = sweep.decide(half_lines, normalise_contrast(half_lines), Planes(torch.tensor([[0.0, 0.25, 0.5]])))
    torch.testing.assert_close(there.mixture.means, here.mixture.means + 5)
    torch.testing.assert_close(there.mixture.logits, here.mixture.logits)
    assert (other.mixture.logits - here.mixture.logits).abs().max() > 0.01
