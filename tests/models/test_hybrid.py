import pytest
import torch
from torch.nn import functional as F

from freqlf.models.hybrid import HybridLayer

VARIANTS = {
    "full": {},
    "no fourier": {"fourier": False},
    "no local": {"local": False},
    "residual": {"residual": True},
    "residual, no fourier": {"residual": True, "fourier": False},
}


def make_field(kind, channels, size=48):
    if kind == "noise":
        z = torch.randn(1, channels, size, size)
    else:
        z = F.interpolate(torch.randn(1, channels, 8, 8), (size, size), mode="bicubic")
        z = z / z.std()
    return z.contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("variant", VARIANTS)
def test_equals_the_sum_of_its_branches(variant):
    torch.manual_seed(0)
    layer = HybridLayer(6, (4, 4), **VARIANTS[variant])
    torch.nn.init.normal_(layer.skip.bias)
    z = make_field("noise", 6, size=13)
    a = F.gelu(z) if layer.residual else z
    expected = layer.skip(a)
    if layer.local is not None:
        expected = expected + layer.local(a)
    if layer.fourier is not None:
        expected = expected + layer.fourier.forward_fft(a)
    expected = z + expected if layer.residual else F.gelu(expected)
    torch.testing.assert_close(layer(z), expected, rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        before = z.clone()
        torch.testing.assert_close(layer(z), expected, rtol=1e-4, atol=1e-5)
        assert torch.equal(z, before)


@pytest.mark.parametrize("variant", VARIANTS)
def test_parameters_and_gradients(variant):
    C, k1, k2 = 8, 6, 4
    options = VARIANTS[variant]
    layer = HybridLayer(C, (k1, k2), **options)
    expected = C * C + C
    expected += 9 * C * C if options.get("local", True) else 0
    expected += 2 * C * C * k1 * k2 if options.get("fourier", True) else 0
    assert sum(p.numel() for p in layer.parameters()) == expected
    layer(make_field("noise", C, size=16)).square().mean().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in layer.parameters())


@pytest.mark.parametrize("channels", [16, 48, 128])
@pytest.mark.parametrize("kind", ["noise", "smooth"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_scale_is_kept_through_layers(variant, kind, channels):
    torch.manual_seed(0)
    z = make_field(kind, channels)
    with torch.no_grad():
        for _ in range(5):
            z = HybridLayer(channels, (8, 8), **VARIANTS[variant])(z)
            assert 0.3 < z.std() < 3


def test_memory_format_and_precision():
    layer, z = HybridLayer(8, (4, 4)), make_field("noise", 8, size=12)
    assert layer(z).is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(layer(z.contiguous()), layer(z))
    expected = layer(z)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (layer(z) - expected).abs().max() < 0.1
