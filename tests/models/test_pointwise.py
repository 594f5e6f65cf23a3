import pytest
import torch
import torch.nn.functional as F
from torch import nn

from freqlf.models.pointwise import mix_and_activate


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_parts_are_mixed_as_their_concatenation_is_convolved(bias: bool, memory_format: torch.memory_format) -> None:
    torch.manual_seed(0)
    layer = nn.Conv2d(3 + 5, 4, 1, bias=bias)
    parts = [torch.randn(2, count, 6, 7).to(memory_format=memory_format).requires_grad_() for count in (3, 5)]
    mixed, expected = mix_and_activate(layer, parts), F.gelu(layer(torch.cat(parts, dim=1)))
    assert mixed.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(mixed, expected)
    wanted = [*parts, *layer.parameters()]
    slopes = torch.randn_like(expected)
    for found, gradient in zip(
        torch.autograd.grad(mixed, wanted, slopes), torch.autograd.grad(expected, wanted, slopes), strict=True
    ):
        torch.testing.assert_close(found, gradient)


def test_windows_of_larger_fields() -> None:
    layer = nn.Conv2d(2, 3, 1)
    field = torch.randn(1, 2, 9, 8)
    mixed = mix_and_activate(layer, (field[..., 2:7, 1:5],))
    torch.testing.assert_close(mixed, F.gelu(layer(field))[..., 2:7, 1:5])
