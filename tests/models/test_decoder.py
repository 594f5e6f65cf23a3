import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.models.decoder import MixtureDecoder, RegressionDecoder, make_grid, sample_at

PARTS = ("logits", "means", "deviations")
DECODERS = {
    "mixture": lambda: MixtureDecoder(6, 10, 5),
    "regression": lambda: RegressionDecoder(6, 10),
}


def make_queries(height, width, like):
    """The pixels of an image as a list of queries, (1, H*W, 2), row by row."""
    return make_grid(height, width, like).flatten(1).T.unsqueeze(0)


def assert_equal_mixtures(a, b):
    for part in PARTS:
        torch.testing.assert_close(getattr(a, part), getattr(b, part), rtol=1e-4, atol=1e-5)


def test_corners_of_the_image():
    q = make_grid(3, 5, torch.zeros(1))
    assert q[:, 0, 0].tolist() == [-1, -1]
    assert q[:, 0, -1].tolist() == [1, -1]  # x first
    assert q[:, 1, 2].tolist() == [0, 0]


@pytest.mark.parametrize("size", [(8, 8), (7, 12), (1, 5)])
@pytest.mark.parametrize("kind", DECODERS)
def test_grid_equals_sampling_at_pixels(kind, size):
    torch.manual_seed(0)
    decoder, z = DECODERS[kind](), torch.randn(2, 6, *size)
    anchors = torch.randn(2, 1, *size)
    grid = decoder(z, anchors=anchors)
    sampled = decoder(z, make_queries(*size, z).expand(2, -1, -1), anchors=anchors)
    for part in PARTS:
        torch.testing.assert_close(getattr(grid, part).flatten(2), getattr(sampled, part), rtol=1e-4, atol=1e-4)


def test_perceptron_is_that_of_the_concatenation():
    torch.manual_seed(0)
    mlp, z = MixtureDecoder(6, 10, 5).mlp, torch.randn(1, 6, 4, 5)
    q = make_grid(4, 5, z)[None]
    first = torch.nn.Conv2d(8, 10, 1)
    first.weight.data = torch.cat((mlp.features.weight, mlp.coordinates.weight), 1)
    first.bias.data = mlp.features.bias
    gelu = torch.nn.functional.gelu
    expected = mlp.output(gelu(mlp.hidden(gelu(first(torch.cat((z, q), 1))))))
    torch.testing.assert_close(mlp(z, q), expected)


def test_coordinates_matter():
    z = torch.randn(1, 6, 1, 1).expand(1, 6, 4, 4)
    assert DECODERS["mixture"]()(z).mean().std() > 1e-4


def test_sampling_is_bilinear():
    field = make_grid(4, 6, torch.zeros(1))[None]  # its own coordinates
    queries = torch.rand(1, 9, 2) * 2 - 1
    torch.testing.assert_close(sample_at(field, queries), queries.transpose(1, 2))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_means_are_offsets_from_anchors(count):
    torch.manual_seed(0)
    decoder, z, anchors = DECODERS["mixture"](), torch.randn(2, 6, 4, 5), torch.randn(2, count, 4, 5)
    plain, anchored = decoder(z), decoder(z, anchors=anchors)
    for k in range(5):
        torch.testing.assert_close(anchored.means[:, k], plain.means[:, k] + anchors[:, k % count])
    torch.testing.assert_close(anchored.logits, plain.logits)


def test_start():
    torch.manual_seed(0)
    z = torch.randn(1, 64, 16, 16)
    decoder = MixtureDecoder(64, 64, 5, deviation_floor_px=0.01, initial_deviation_px=0.2, initial_spread_px=1.0)
    mixture = decoder(z)
    torch.testing.assert_close(mixture.deviations.mean(), torch.tensor(0.2), rtol=0, atol=0.05)
    torch.testing.assert_close(mixture.means.mean((0, 2, 3)), torch.linspace(-1, 1, 5), rtol=0, atol=0.3)
    assert mixture.deviations.min() > 0.01
    assert mixture.weights.max() < 0.5


def test_regression_is_a_mixture_of_one():
    mixture = DECODERS["regression"]()(torch.randn(1, 6, 4, 5))
    assert mixture.components == 1
    torch.testing.assert_close(mixture.mean(), mixture.means[:, 0])
    assert (mixture.variance() == 1).all()


def test_parameters():
    h, K = 10, 5
    expected = ((6 + 2) * h + h) + (h * h + h) + (h * 3 * K + 3 * K)
    assert sum(p.numel() for p in MixtureDecoder(6, h, K).parameters()) == expected


def test_wrong_input_is_refused():
    decoder, z = DECODERS["mixture"](), torch.randn(1, 6, 4, 5)
    with pytest.raises(FreqLFError, match="7 anchors for 5"):
        decoder(z, anchors=torch.zeros(1, 7, 4, 5))
    with pytest.raises(FreqLFError, match="floor"):
        MixtureDecoder(deviation_floor_px=0.0)
