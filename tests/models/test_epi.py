import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.models.epi import EpiEncoder, EpiStream, SqueezeExcitation, centre_view, plan_angular_kernels


@pytest.mark.parametrize(
    ("views", "kernels"),
    [(3, [3, 1, 1]), (5, [3, 2, 1]), (7, [3, 3, 1]), (9, [3, 3, 2]), (11, [3, 3, 3]), (13, [3, 3, 3, 2])],
)
def test_angular_kernels_leave_one_plane(views, kernels):
    assert plan_angular_kernels(views) == kernels
    stream = EpiStream(views, "x", channels=4)
    assert stream(torch.rand(2, views, 3, 6, 9)).shape == (2, 4, 6, 9)


@pytest.mark.parametrize("views", [1, 2, 8])
def test_views_without_a_centre_are_refused(views):
    with pytest.raises(FreqLFError, match="odd number of views"):
        EpiStream(views, "x")


def test_every_view_reaches_the_features():
    torch.manual_seed(0)
    stream, stack = EpiStream(9, "y", channels=8), torch.randn(1, 9, 3, 12, 12)
    features = stream(stack)
    for view in range(9):
        changed = stack.clone()
        changed[:, view, :, 6, 6] += 1
        assert (stream(changed) - features).abs().max() > 1e-4


def test_kernels_lie_along_the_parallax():
    """What a stream sees of a point: further along its own axis than across it."""
    for axis, expected in (("x", (7, 11)), ("y", (11, 7))):
        torch.manual_seed(0)
        stack = torch.zeros(1, 9, 3, 21, 21, requires_grad=True)
        EpiStream(9, axis, channels=8)(stack)[0, :, 10, 10].sum().backward()
        seen = stack.grad.abs().sum((0, 1, 2)) > 0
        assert (seen.any(1).sum().item(), seen.any(0).sum().item()) == expected


def test_axes_are_transposes_of_each_other():
    horizontal, vertical = EpiStream(5, "x", channels=4), EpiStream(5, "y", channels=4)
    vertical.load_state_dict(
        {name: p.transpose(-1, -2) if p.ndim == 5 else p for name, p in horizontal.state_dict().items()}
    )
    stack = torch.randn(1, 5, 3, 10, 14)
    torch.testing.assert_close(vertical(stack.transpose(-1, -2)), horizontal(stack).transpose(-1, -2))


def test_squeeze_and_excitation_scales_channels():
    z = torch.randn(2, 16, 5, 6)
    factors = SqueezeExcitation(16)(z) / z
    assert ((factors > 0) & (factors < 1)).all()
    torch.testing.assert_close(factors, factors[:, :, :1, :1].expand_as(factors))


@pytest.mark.parametrize("squeeze", [True, False])
def test_encoder(squeeze):
    torch.manual_seed(0)
    encoder = EpiEncoder(5, 7, channels=24, stream_channels=8, squeeze=squeeze)
    horizontal, vertical = torch.rand(2, 5, 3, 12, 15), torch.rand(2, 7, 3, 12, 15)
    features = encoder(horizontal, vertical)
    assert features.shape == (2, 24, 12, 15)
    features.square().mean().backward()
    assert all(p.grad.abs().sum() > 0 for p in encoder.parameters())


def test_centre_view_is_the_middle():
    stack = torch.arange(9.0).view(1, 9, 1, 1, 1).expand(1, 9, 3, 2, 2)
    assert (centre_view(stack) == 4).all()
