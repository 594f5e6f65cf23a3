import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from freqlf.models.hybrid import gelu_of_normalised
from freqlf.models.kernels import can_normalise

WHOLE = (slice(None), slice(None))
WINDOWS = [WHOLE, (slice(2, 9), slice(3, 10)), (slice(4, 5), slice(0, 1))]


def make_field(channels: int, precision: torch.dtype) -> Tensor:
    field = 3 * torch.randn(2, channels, 11, 13, generator=torch.Generator().manual_seed(channels)) + 0.5
    return field.to(precision, memory_format=torch.channels_last)


def in_float64(field: Tensor) -> Tensor:
    return F.gelu(F.layer_norm(field.permute(0, 2, 3, 1), field.shape[1:2])).permute(0, 3, 1, 2)


@pytest.mark.parametrize("channels", [5, 64])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("precision", "error"), [("float32", 1e-5), ("bfloat16", 0.02)])
def test_value_and_gradient_are_those_of_torch(
    channels: int, window: tuple[slice, slice], precision: str, error: float
) -> None:
    field = make_field(channels, getattr(torch, precision))[..., *window].detach().requires_grad_()
    assert can_normalise(field)
    exact = field.detach().double().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
        activated = gelu_of_normalised(field)
    assert activated.dtype == field.dtype
    assert activated.is_contiguous(memory_format=torch.channels_last)
    expected = in_float64(exact)
    torch.testing.assert_close(activated.double(), expected, rtol=error, atol=error)
    slopes = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1))  # not in channels_last format
    activated.backward(slopes.to(activated.dtype))
    expected.backward(slopes.to(activated.dtype).double())
    assert field.grad is not None
    assert exact.grad is not None
    torch.testing.assert_close(field.grad.double(), exact.grad, rtol=error, atol=error)


def test_parts_of_fields_stay_as_they_are() -> None:
    field = make_field(16, torch.float32)
    kept = field.clone()
    with torch.no_grad():
        gelu_of_normalised(field[..., 2:9, 3:10])
    assert torch.equal(field, kept)


@pytest.mark.parametrize(
    "field",
    [
        torch.randn(1, 6, 5, 4),  # not in channels_last format
        make_field(6, torch.float32).double(),
    ],
)
def test_other_fields_are_left_to_torch(field: Tensor) -> None:
    assert not can_normalise(field)
    torch.testing.assert_close(gelu_of_normalised(field), in_float64(field), rtol=0, atol=1e-5)
