"""Compilers take their time, so these tests are slow ones."""

import shutil

import pytest
import torch

from freqlf.models.base import DisparityModel
from freqlf.models.build import build_model
from freqlf.models.compilation import compile_layers, compile_stages
from freqlf.models.config import AlignedConfig, PassConfig
from freqlf.models.halflines import HalfLines
from freqlf.models.tiles import Tiling

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")]

CONFIG = AlignedConfig(passes=(PassConfig(channels=8, layers=2, modes=4, stem_channels=8, windows_px=(5,)),))


def make_model() -> DisparityModel:
    torch.manual_seed(0)
    return build_model(CONFIG)


def make_stacks(height: int, width: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return {line: torch.rand(1, 5, 3, height, width, generator=generator) for line in CONFIG.lines}


def test_compiled_layers_have_the_same_gradients() -> None:
    def compute(*, compiled: bool) -> dict[str, torch.Tensor]:
        model = make_model()
        if compiled:
            compile_layers(model)
        model(make_stacks(32, 32)).mean().square().mean().backward()
        return {name: one.grad for name, one in model.named_parameters() if one.grad is not None}

    plain, fast = compute(compiled=False), compute(compiled=True)
    for name, gradient in plain.items():
        assert torch.allclose(fast[name], gradient, rtol=1e-3, atol=1e-5 * float(gradient.abs().max())), name


def test_compiled_stages_give_the_same_estimate_in_tiles_of_any_size() -> None:
    half_lines = HalfLines.from_stacks(make_stacks(40, 52), CONFIG.lines)

    def compute(model: DisparityModel, tile_px: int | None) -> torch.Tensor:
        return model.stream(half_lines, lambda mixture: mixture.mean().unsqueeze(1), Tiling(tile_px))

    model = make_model().eval()
    expected = compute(model, None)
    compile_stages(model)
    for tile_px in (None, 24, 17):
        torch.testing.assert_close(compute(model, tile_px), expected, rtol=0, atol=1e-4)
