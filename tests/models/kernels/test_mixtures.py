import pytest
import torch
import torch.nn.functional as F

from freqlf.models.mixture import Mixture


def make_mixture(components: int, size: tuple[int, ...]) -> tuple[Mixture, Mixture]:
    """In float32, for which the loops compute, and in float64, for which tensors do."""
    generator = torch.Generator().manual_seed(components)
    logits, means, raw = torch.randn(3, 2, components, *size, generator=generator)
    parts = 3 * logits, means, F.softplus(2 * raw - 2) + 0.01
    return Mixture(*parts), Mixture(*(part.double() for part in parts))


@pytest.mark.parametrize("components", [1, 2, 7, 40])
@pytest.mark.parametrize("size", [(1,), (11, 13), (40, 61)])
def test_maps_are_those_of_the_tensor_code(components: int, size: tuple[int, ...]) -> None:
    mixture, exact = make_mixture(components, size)
    for found, expected in zip(mixture.summarise(), exact.summarise(), strict=True):
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-5)
    differences = (mixture.summarise("surface").estimate.double() - exact.summarise("surface").estimate).abs()
    # Where a share is the majority but for rounding, either answer is right.
    assert (differences < 1e-5).double().mean() > 0.998
    for found, expected in zip(mixture.split(), exact.split(), strict=True):
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("probability", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("components", [1, 7])
def test_quantiles_are_those_of_the_tensor_code(probability: float, components: int) -> None:
    mixture, exact = make_mixture(components, (40, 61))
    found, expected = mixture.quantile(probability).double(), exact.quantile(probability)
    # Between surfaces, where next to nothing is, the probability says next to nothing about the place.
    is_close = (found - expected).abs() < 1e-5
    assert is_close.double().mean() > 0.99
    assert ((exact.cdf(found) - probability).abs() < 1e-6)[~is_close].all()


def test_components_without_weight_do_no_harm() -> None:
    logits, means = torch.tensor([0.0, -1e4, -torch.inf]), torch.tensor([0.5, 9.0, 9.0])
    mixture = Mixture(*(part.view(1, 3, 1) for part in (logits, means, torch.full((3,), 0.1))))
    assert [one.item() for one in mixture.summarise()] == pytest.approx([0.5, 0.5, 0.1])
    assert [one.item() for one in mixture.split()] == pytest.approx([0.5, 0.5])
    assert mixture.quantile(0.5).item() == pytest.approx(0.5, abs=1e-5)


def test_what_is_no_number_stays_none() -> None:
    mixture, _ = make_mixture(3, (4, 5))
    mixture.logits[0, 1, 2, 3] = torch.nan
    for one in (*mixture.summarise(), mixture.summarise("surface").estimate):
        assert one.isnan().sum() == one[0, 2, 3].isnan()
        assert one[0, 2, 3].isnan()
