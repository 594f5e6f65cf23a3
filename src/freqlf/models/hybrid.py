"""The hybrid layer: a global Fourier update, a local convolution and a pointwise skip of the same field."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from freqlf.models.convolution import convolve
from freqlf.models.kernels import can_normalise
from freqlf.models.scale import GELU_POWER, gelu, gelu_of, scale_weights
from freqlf.models.spectral import Field, SpectralConv2d

# Variance that the branches contribute before the activation at initialisation. The two convolutions keep the
# scale of any field; the Fourier branch comes on top, since of noise it passes next to nothing.
SKIP_POWER, LOCAL_POWER, FOURIER_POWER = 1 / 3, 2 / 3, 1 / 4
RESIDUAL_POWER = 1 / 4  # of all branches together, beside a residual path


class HybridLayer(nn.Module):
    """GELU(K(z) + C(z) + W(z)), (B, C, H, W) -> (B, C, H, W): Fourier branch, 3x3 and 1x1 convolution.

    fourier, local: switch the branches K and C; the pointwise W always stays.
    residual: z + K(a) + C(a) + W(a) with a = GELU(z) instead, which suits short training; at
        initialisation each layer multiplies the variance by about 1 + RESIDUAL_POWER.
    normalised: with `residual`, a = GELU(N(z)), N taking mean and deviation out of the channels of every pixel. In deep
        stacks that keeps an optimizer from letting all layers grow.

    Parameters: 2*C*C*k1*k2 (Fourier, real numbers) + 9*C*C (local) + C*C + C (skip).
    """

    centre_tap: Tensor  # of a 3x3 kernel

    def __init__(
        self,
        channels: int,
        modes: tuple[int, int] = (16, 16),
        *,
        fourier: bool = True,
        local: bool = True,
        residual: bool = False,
        normalised: bool = False,
        field: Field = "index",
        reference_px: tuple[int, int] | None = None,
    ) -> None:
        super().__init__()
        self.channels, self.residual, self.normalised = channels, residual, normalised
        power = RESIDUAL_POWER if residual else 1.0
        self.skip = nn.Conv2d(channels, channels, 1)
        scale_weights(self.skip, gain=math.sqrt(power * (SKIP_POWER if local else 1.0)))
        self.local: nn.Conv2d | None = None
        if local:
            # The skip has a bias already.
            self.local = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.register_buffer("centre_tap", F.pad(torch.ones(1, 1, 1, 1), (1, 1, 1, 1)), persistent=False)
            scale_weights(self.local, gain=math.sqrt(power * LOCAL_POWER))
        self.fourier: SpectralConv2d | None = None
        if fourier:
            gain = math.sqrt(power * FOURIER_POWER / GELU_POWER)
            self.fourier = SpectralConv2d(channels, modes, field=field, reference_px=reference_px, gain=gain)

    def forward(self, z: Tensor) -> Tensor:
        """Update the field."""
        activated = self.activate(z)
        update = self.convolve(activated)
        if self.fourier is not None:
            update = self.fourier(activated, onto=update)
        return self.finish(z, update)

    def activate(self, z: Tensor) -> Tensor:
        """What the branches see of the field."""
        if self.normalised:
            return gelu_of_normalised(z)
        return gelu_of(z) if self.residual else z

    def convolve(self, activated: Tensor) -> Tensor:
        """C + W of an activated field, in memory of its own."""
        if self.local is None:
            return self.skip(activated)
        # The 1x1 kernel is the centre tap of a 3x3 one: one convolution for both.
        weight = self.local.weight + self.skip.weight * self.centre_tap
        return convolve(activated, weight, self.skip.bias)

    @property
    def reach_px(self) -> int:
        """How far the convolution sees."""
        return 0 if self.local is None else 1

    def finish(self, z: Tensor, update: Tensor) -> Tensor:
        """The layer's output from its input and the sum of its branches, whose memory it may take."""
        if not self.residual:
            return gelu(update)
        return update.add_(z) if update.dtype == z.dtype else z + update

    def finish_onto(self, z: Tensor, update: Tensor) -> None:
        """The same in the memory of the input, which may be a part of a larger field."""
        if self.residual:
            z.add_(update)
        else:
            z.copy_(gelu(update))


def gelu_of_normalised(field: Tensor) -> Tensor:
    """GELU(N(z)) of (B, C, H, W), which may be a part of a larger field; as short as convolutions want it."""
    if not can_normalise(field):
        return gelu_of(normalise_pixels(field))
    from freqlf.models.kernels.normalisation import activate_normalised

    is_short = torch.is_autocast_enabled("cpu")
    return activate_normalised(field, torch.get_autocast_dtype("cpu") if is_short else torch.float32)


def normalise_pixels(field: Tensor) -> Tensor:
    """Zero mean and unit variance over the channels of every pixel of (B, C, H, W), as in layer normalisation."""
    if torch.jit.is_tracing():  # a graph of any size does not know how many channels there are
        centred = field - field.mean(dim=1, keepdim=True)
        return centred * (centred.square().mean(dim=1, keepdim=True) + 1e-5).rsqrt()
    return F.layer_norm(field.permute(0, 2, 3, 1), field.shape[1:2]).permute(0, 3, 1, 2)
