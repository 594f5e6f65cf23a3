import pytest
import torch
import torch.nn.functional as F

from freqlf.models import convolution
from freqlf.models.convolution import convolve, short_convolutions


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("size", [(9, 12), (1, 5), (2, 1)])
def test_gradients_are_those_of_the_library(
    size: tuple[int, int], memory_format: torch.memory_format, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convolution, "_LEARNS_BY_PRODUCTS", True)  # also on a CPU whose library is fast
    torch.manual_seed(0)
    field = torch.randn(2, 5, *size).to(memory_format=memory_format).requires_grad_()
    weight, bias = torch.randn(4, 5, 3, 3, requires_grad=True), torch.randn(4, requires_grad=True)
    exact = [one.detach().double().requires_grad_() for one in (field, weight, bias)]
    result = convolve(field, weight, bias)
    expected = F.conv2d(*exact, padding=1)
    torch.testing.assert_close(result.double(), expected, rtol=0, atol=1e-5)
    slopes = torch.randn_like(result)
    found = torch.autograd.grad(result, (field, weight, bias), slopes)
    for one, reference in zip(found, torch.autograd.grad(expected, exact, slopes.double()), strict=True):
        torch.testing.assert_close(one.double(), reference, rtol=0, atol=2e-5)


def test_short_convolutions_have_three_digits_and_end() -> None:
    torch.manual_seed(0)
    field, weight = torch.randn(1, 5, 9, 12), torch.randn(4, 5, 3, 3, requires_grad=True)
    exact = convolve(field, weight, None)
    (expected,) = torch.autograd.grad(exact.sum(), weight)
    with short_convolutions():
        short = convolve(field, weight, None)
        (found,) = torch.autograd.grad(short.sum(), weight)
        with torch.no_grad():
            assert convolve(field, weight, None).dtype == torch.bfloat16
    assert short.dtype == found.dtype == torch.float32
    for one, reference in ((short, exact), (found, expected)):
        assert 0 < (one - reference).abs().max() < 0.02 * reference.abs().max()
    assert torch.equal(convolve(field, weight, None), exact)
