import math

import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.models.modes import select_band
from freqlf.models.spectral import SpectralConv2d, is_channels_last

SIZES = [(32, 32), (33, 47), (48, 31), (8, 64), (9, 9), (16, 16), (2, 2), (1, 5)]
OPTIONS = {
    "index": {},
    "frequency": {"field": "frequency", "reference_px": (32, 33)},
}


def relative_error(a, b):
    return ((a - b).norm() / b.norm()).item()


def make_field(*shape, channels_last=False):
    z = torch.randn(*shape)
    return z.contiguous(memory_format=torch.channels_last) if channels_last else z


def sum_waves(layer, z):
    """The definition in the module's docstring, term by term."""
    batch, channels, height, width = z.shape
    weight = torch.complex(*layer.weight.unbind(2)).permute(3, 2, 0, 1)  # C out, C in, k1, k2
    y, x = torch.arange(height)[:, None], torch.arange(width)
    result = torch.zeros(batch, channels, height, width)
    k1, k2 = layer.modes
    for i, n in enumerate(range(-(k1 // 2), (k1 + 1) // 2)):
        for m in range(k2):
            if abs(n) >= height / 2 or m >= width / 2:
                continue
            wave = torch.exp(2j * math.pi * (n * y / height + m * x / width))
            coefficient = (z * wave.conj()).sum((2, 3)) / (height * width)
            mixed = coefficient @ weight[:, :, i, m].T
            result += (mixed[:, :, None, None] * wave).real * (1 if m == 0 else 2)
    return result


@pytest.mark.parametrize("modes", [(4, 4), (5, 3)])
@pytest.mark.parametrize("size", [(8, 8), (7, 10), (3, 12)])
def test_both_paths_follow_the_definition(size, modes):
    torch.manual_seed(0)
    layer, z = SpectralConv2d(3, modes), torch.randn(2, 3, *size)
    expected = sum_waves(layer, z)
    assert relative_error(layer(z), expected) < 1e-5
    assert relative_error(layer.forward_fft(z), expected) < 1e-5


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("size", SIZES)
def test_fast_path_equals_fft_path(size, option, channels_last):
    torch.manual_seed(0)
    layer = SpectralConv2d(5, (16, 16), **OPTIONS[option])
    z = make_field(2, 5, *size, channels_last=channels_last).requires_grad_()
    fast, dense = layer(z), layer.forward_fft(z)
    assert relative_error(fast, dense) < 1e-5
    assert is_channels_last(fast) == is_channels_last(z)
    direction = torch.randn_like(fast)
    fast_gradients = torch.autograd.grad(fast, (z, layer.weight), direction)
    dense_gradients = torch.autograd.grad(dense, (z, layer.weight), direction)
    for a, b in zip(fast_gradients, dense_gradients, strict=True):
        assert relative_error(a, b) < 1e-5


def test_gradients_are_those_of_finite_differences():
    torch.manual_seed(0)
    layer = SpectralConv2d(2, (4, 3), field="frequency", reference_px=(5, 5)).double()
    z = torch.randn(1, 2, 7, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(layer, (z,))


def test_weights_are_exactly_the_retained_modes():
    layer = SpectralConv2d(6, (16, 10))
    assert sum(p.numel() for p in layer.parameters()) == 2 * 6 * 6 * 16 * 10


def test_other_modes_are_zero():
    layer = SpectralConv2d(2, (4, 3))
    spectrum = torch.fft.rfft2(layer(torch.randn(1, 2, 20, 22)))
    spectrum[:, :, [0, 1, 2, -2, -1], :3] = 0  # row 2 mirrors row -2 in column 0, where the real part is taken
    assert spectrum.abs().max() < 1e-3


@pytest.mark.parametrize("option", ["index", "frequency"])
@pytest.mark.parametrize("channels_last", [False, True])
def test_tiles_add_up(option, channels_last):
    torch.manual_seed(0)
    height, width = 40, 51
    layer = SpectralConv2d(4, (16, 16), **OPTIONS[option])
    z = make_field(2, 4, height, width, channels_last=channels_last)
    tiles = [(y, x, min(17, height - y), min(20, width - x)) for y in range(0, height, 17) for x in range(0, width, 20)]
    coefficients = sum(layer.analyse(z[:, :, y : y + h, x : x + w], y, x, height, width) for y, x, h, w in tiles)
    coefficients = layer.mix(coefficients, height, width)
    result, added = torch.full_like(z, math.nan), torch.empty_like(z)
    for y, x, h, w in tiles:
        place = (slice(None), slice(None), slice(y, y + h), slice(x, x + w))
        tile = layer.synthesise(coefficients, y, x, h, w, height, width, channels_last=channels_last)
        base = torch.ones_like(tile)
        layer.synthesise(coefficients, y, x, h, w, height, width, channels_last=channels_last, onto=base)
        result[place], added[place] = tile, base
    assert relative_error(result, layer(z)) < 1e-5
    assert relative_error(added, 1 + layer(z)) < 1e-5


@pytest.mark.parametrize("reference_px", [(31, 32), (36, 40)])
def test_options_agree_at_the_reference_size(reference_px):
    layer = SpectralConv2d(3, (16, 16), field="frequency", reference_px=reference_px)
    by_index = SpectralConv2d(3, (16, 16))
    by_index.load_state_dict(layer.state_dict())
    z = torch.randn(1, 3, *reference_px)
    torch.testing.assert_close(layer(z), by_index(z))


def test_frequency_option_is_one_filter_at_any_size():
    """A wave leaves with the same amplitude and phase, whatever the field around it."""
    torch.manual_seed(0)
    layer = SpectralConv2d(1, (8, 8), field="frequency", reference_px=(32, 32))

    def respond(size):
        y, x = torch.arange(size)[:, None], torch.arange(size)
        return layer(torch.cos(2 * math.pi * (2 * y + 3 * x) / 32)[None, None])

    torch.testing.assert_close(respond(128)[..., :32, :32], respond(32), rtol=1e-4, atol=1e-5)


def test_frequency_option_uses_every_mode_of_the_band():
    layer = SpectralConv2d(1, (16, 16), field="frequency", reference_px=(128, 128))
    rows, columns = layer.bands(512, 512)
    assert (rows.frequencies[0], rows.frequencies[-1], len(rows)) == (-32, 28, 61)
    assert (columns.frequencies[0], columns.frequencies[-1], len(columns)) == (0, 60, 61)
    assert not rows.is_direct
    assert layer.bands(128, 128)[0].is_direct


@pytest.mark.parametrize(
    ("size", "expected"), [(16, range(-7, 8)), (9, range(-4, 5)), (1, range(1)), (64, range(-8, 8))]
)
def test_modes_at_or_above_nyquist_do_not_exist(size, expected):
    assert select_band(-8, 7, size, size).frequencies == tuple(expected)


def test_result_is_added_in_place():
    layer, z = SpectralConv2d(3, (4, 4)), torch.randn(2, 3, 12, 14, requires_grad=True)
    base = 2 * z
    result = layer(z, onto=base)
    assert result is base
    torch.testing.assert_close(result, 2 * z + layer(z))
    (gradient,) = torch.autograd.grad(result.square().sum(), z)
    (expected,) = torch.autograd.grad((2 * z + layer(z)).square().sum(), z)
    torch.testing.assert_close(gradient, expected)


def test_full_precision_inside_autocast():
    layer, z = SpectralConv2d(3, (8, 8)), torch.randn(1, 3, 20, 20)
    expected = layer(z)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = layer(z)
        added = layer(z, onto=torch.zeros(1, 3, 20, 20, dtype=torch.bfloat16))
    assert result.dtype == added.dtype == torch.float32
    assert torch.equal(result, expected)


def test_bases_made_during_inference_serve_training():
    layer = SpectralConv2d(2, (4, 4))
    with torch.inference_mode():
        layer(torch.randn(1, 2, 27, 29))
    layer(torch.randn(1, 2, 27, 29)).sum().backward()
    assert layer.weight.grad.abs().sum() > 0


def test_initial_scale_of_a_low_frequency_field_is_the_gain():
    torch.manual_seed(0)
    smooth = torch.nn.functional.interpolate(torch.randn(1, 64, 6, 6), (64, 64), mode="bicubic")
    for gain in (0.5, 1.0):
        ratio = SpectralConv2d(64, gain=gain)(smooth).square().mean().sqrt() / smooth.square().mean().sqrt()
        assert 0.7 * gain < ratio < 1.2 * gain


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"field": "frequency"}, "reference_px"),
        ({"field": "frequency", "reference_px": (16, 64)}, "at least"),
        ({"field": "physical"}, "choose index"),
        ({"modes": (0, 4)}, "at least 1"),
    ],
)
def test_wrong_settings_are_refused(arguments, message):
    with pytest.raises(FreqLFError, match=message):
        SpectralConv2d(4, **arguments)


def test_wrong_channels_are_refused():
    with pytest.raises(FreqLFError, match="expects"):
        SpectralConv2d(4)(torch.zeros(1, 3, 8, 8))
