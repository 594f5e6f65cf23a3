import pytest
import torch
from torch import nn

from freqlf.models.build import build_model
from freqlf.models.complexity import count_multiply_adds, count_parameters, measure_local_reach_px
from freqlf.models.presets import PRESETS


class Chain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 4, 1), nn.Conv2d(4, 8, 3, padding=1))
        self.layers = nn.Sequential(nn.Conv2d(8, 8, 5, padding=2))

    def forward(self, stacks: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.layers(self.encoder(stacks["horizontal"][:, 0]))


def test_counts_of_a_chain_of_convolutions() -> None:
    model = Chain()
    assert count_parameters(model) == (3 * 4 + 4) + (9 * 4 * 8 + 8) + (25 * 8 * 8 + 8)
    stacks = {"horizontal": torch.zeros(1, 1, 3, 10, 12)}
    assert count_multiply_adds(model, stacks) == 120 * (3 * 4 + 9 * 4 * 8 + 25 * 8 * 8)
    assert measure_local_reach_px(model) == 1 + 2 + 4


@pytest.mark.parametrize("name", PRESETS)
def test_reach_of_the_presets(name: str) -> None:
    config = PRESETS[name]
    if config.kind == "epi":
        expected = 1 + (6 + 2 + 2) + 2 * config.layers  # the EPI streams' 7-, 3- and 3-pixel kernels
    elif config.kind == "occlusion":
        expected = 1 + 3 * 2 + 2 * config.layers  # the spatial stream's three kernels of 3 pixels
    else:
        expected = 1
        for one in (*config.passes, *config.repeats * config.passes[-1:]):
            levels = len(one.coarse_channels)
            both_ways = sum(2**level * 4 * one.layers for level in range(levels))  # down and up
            expected += 2 + both_ways + 2**levels * 2 * one.layers + sum(2**level for level in range(1, levels + 1))
            expected += 4 if one.stream_channels else 0
    assert measure_local_reach_px(build_model(config)) == expected
