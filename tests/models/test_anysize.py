import pytest
import torch
from tiny import CONFIG as ALIGNED

from freqlf.models import anysize
from freqlf.models.build import build_model
from freqlf.models.config import EpiConfig, ModelConfig
from freqlf.models.halflines import HalfLines
from freqlf.models.spectral import SpectralConv2d

EPI = EpiConfig(rows=5, columns=5, channels=8, layers=1, modes=4, stream_channels=4)


def make_half_lines(height: int, width: int) -> HalfLines:
    torch.manual_seed(0)
    lines = ("horizontal", "vertical", "antidiagonal")
    return HalfLines.from_stacks({line: torch.rand(2, 5, 3, height, width) for line in lines}, lines)


@pytest.mark.parametrize("scale", [2, 8])
@pytest.mark.parametrize(("height", "width"), [(32, 40), (45, 39)])
def test_views_are_shrunk_alike(height: int, width: int, scale: int) -> None:
    half_lines = make_half_lines(height, width)
    expected, shrunk = half_lines.shrunk(scale), anysize.shrink(half_lines, scale)
    torch.testing.assert_close(shrunk.views, expected.views, atol=1e-6, rtol=0)
    torch.testing.assert_close(shrunk.centre, expected.centre, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("field", "reference_px"), [("index", None), ("frequency", (32, 24)), ("frequency", (48, 48))])
@pytest.mark.parametrize(("height", "width"), [(32, 24), (33, 47), (10, 9), (80, 64)])
@pytest.mark.parametrize("modes", [(8, 7), (5, 4)])
def test_the_fourier_branch_is_the_same(
    field: str, reference_px: tuple[int, int] | None, height: int, width: int, modes: tuple[int, int]
) -> None:
    torch.manual_seed(0)
    layer = SpectralConv2d(3, modes, field=field, reference_px=reference_px)
    z = torch.randn(2, 3, height, width)
    with torch.no_grad():
        expected = layer(z)
        torch.testing.assert_close(anysize.transform(layer, z), expected, atol=2e-6, rtol=0)
        torch.testing.assert_close(anysize.transform(layer, z, onto=z.clone()), z + expected, atol=2e-6, rtol=0)


@pytest.mark.parametrize("config", [ALIGNED, EPI], ids=["aligned", "epi"])
def test_models_are_the_same_while_they_are_traced(config: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = build_model(config).eval()
    views = torch.nn.functional.avg_pool2d(torch.rand(5, 3, 41, 54), 5, stride=1, padding=2)[None]
    stacks = dict.fromkeys(model.lines, views)
    with torch.no_grad():
        expected = model(stacks).mean()
        monkeypatch.setattr(torch.jit, "is_tracing", lambda: True)
        traced = model(stacks).mean()
    assert not torch.equal(traced, expected)  # it was another way
    torch.testing.assert_close(traced, expected, atol=1e-3, rtol=0)
