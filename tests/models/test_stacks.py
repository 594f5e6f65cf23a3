from dataclasses import replace

import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.inference.streaming import stream_aligned
from freqlf.lightfield import LightField
from freqlf.models.build import build_model
from freqlf.models.config import EPI_LINES, STAR_LINES, AlignedConfig, PassConfig
from freqlf.models.evidence import gather_stacks
from freqlf.models.halflines import HalfLines

PASS = PassConfig(channels=16, layers=1, modes=4, stem_channels=16, volume_channels=8)
CONFIG = AlignedConfig(lines=EPI_LINES, passes=(PASS,), components=3, reference_px=32)


def build(encoder: str):
    torch.manual_seed(0)
    return build_model(replace(CONFIG, passes=(replace(PASS, encoder=encoder),)))


def test_stacks_lead_outwards(plane_stacks) -> None:
    stacks = plane_stacks(0.0, rows=9, columns=9)
    for line in EPI_LINES:
        for place in range(9):
            stacks[line][:, place] = 0.01 * abs(place - 4)  # each view as bright as it is far away
    half_lines = HalfLines.from_stacks(stacks, EPI_LINES)
    evidence = gather_stacks(half_lines, torch.zeros(1, 4, 32, 40))
    assert evidence.half_lines.shape == (1, 4, 12, 32, 40)
    expected = 0.04 * torch.arange(1.0, 5).repeat_interleave(3)
    assert torch.allclose(evidence.half_lines[0, :, :, 16, 20], expected.expand(4, 12), atol=1e-6)


@pytest.mark.parametrize("encoder", ["stack", "volume", "volumes"])
def test_every_parameter_learns_and_tiles_change_nothing(plane_stacks, encoder: str) -> None:
    model, stacks = build(encoder), plane_stacks(0.5, rows=9, columns=9)
    (-model(stacks).log_prob(torch.full((1, 32, 40), 0.6)).mean()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name
    with torch.inference_mode():
        whole = model(stacks).mean().unsqueeze(1)
    half_lines = HalfLines.from_stacks(stacks, model.lines)
    tiled = stream_aligned(model, half_lines, lambda mixture: mixture.mean().unsqueeze(1), 13)
    assert (tiled - whole).abs().max() < 1e-4


def test_shared_kernels_read_all_directions_alike(render_plane, stacks_of) -> None:
    light_field = LightField.from_array(render_plane(0.4, rows=9, columns=9, height=40, width=40))
    encoder = build("volume").passes[0].encoder
    measured = []
    for turned in (light_field, light_field.transposed()):
        half_lines = HalfLines.from_stacks(stacks_of(turned), EPI_LINES)
        measured.append(encoder.measure(encoder.gather(half_lines, torch.full((1, 4, 40, 40), 0.3)).half_lines))
    across, down = measured[0].split(2, dim=1)
    assert torch.allclose(measured[1], torch.cat((down, across), dim=1).transpose(-1, -2), atol=1e-4)


def test_stacks_need_as_many_views_as_they_were_built_for(plane_stacks) -> None:
    with pytest.raises(FreqLFError, match="horizontal and vertical lines only"):
        replace(CONFIG, lines=STAR_LINES, passes=(replace(PASS, encoder="volume"),))
    with pytest.raises(FreqLFError, match="an encoder is one of half-lines, stack"):
        replace(PASS, encoder="wide")
