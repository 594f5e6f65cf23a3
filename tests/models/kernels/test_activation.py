import pytest
import torch
import torch.nn.functional as F

from freqlf.models.scale import gelu, gelu_of


@pytest.mark.parametrize("shape", [(3,), (7, 5), (2, 400, 16), (1, 5000, 3)])
@pytest.mark.parametrize("with_bias", [True, False])
def test_value_and_gradients_are_those_of_torch(shape: tuple[int, ...], with_bias: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    x = (4 * torch.randn(shape, generator=generator)).requires_grad_()
    bias = torch.randn(shape[-1], generator=generator).requires_grad_() if with_bias else None
    exact = [None if one is None else one.detach().double().requires_grad_() for one in (x, bias)]
    expected = F.gelu(exact[0] if exact[1] is None else exact[0] + exact[1])
    activated = gelu(x, bias)
    torch.testing.assert_close(activated.double(), expected, rtol=0, atol=3e-6)
    slopes = torch.randn(shape, generator=generator)
    activated.backward(slopes)
    expected.backward(slopes.double())
    torch.testing.assert_close(x.grad.double(), exact[0].grad, rtol=0, atol=1e-5)
    if bias is not None:
        torch.testing.assert_close(bias.grad.double(), exact[1].grad, rtol=1e-5, atol=1e-4)


def test_memory_is_taken_over_only_without_gradients() -> None:
    x = torch.randn(40, 8)
    kept = x.clone()
    assert gelu(x).data_ptr() != x.data_ptr()
    assert torch.equal(x, kept)
    with torch.no_grad():
        assert gelu(x).data_ptr() == x.data_ptr()
    torch.testing.assert_close(x, F.gelu(kept))


@pytest.mark.parametrize(
    "window",
    [(slice(None), slice(None)), (slice(2, 9), slice(3, 11)), (slice(4, 5), slice(0, 1))],
)
def test_parts_of_fields_stay_as_they_are(window: tuple[slice, slice]) -> None:
    field = torch.randn(2, 6, 10, 12).to(memory_format=torch.channels_last)
    kept = field.clone()
    with torch.no_grad():
        activated = gelu_of(field[..., *window])
    assert torch.equal(field, kept)
    assert activated.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(activated, F.gelu(kept)[..., *window])
