"""The coordinate-conditioned decoder: from the latent field to a mixture at every pixel or query."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from freqlf.errors import FreqLFError
from freqlf.models.mixture import Mixture
from freqlf.models.pointwise import multiply_pixels
from freqlf.models.scale import gelu, scale_weights


class CoordinateMlp(nn.Module):
    """A perceptron with two hidden layers on [feature; q], applied to each place by itself.

    (B, C, H, W) -> (B, outputs, H, W), as 1x1 convolutions. The first layer's matrix is kept in two parts, for the
    features and for q: their products are added, so nothing is concatenated.

    Parameters: (C + 2)*h + h + h*h + h + h*outputs + outputs.
    """

    def __init__(self, channels: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.features = nn.Conv2d(channels, hidden, 1)
        self.coordinates = nn.Conv2d(2, hidden, 1, bias=False)
        self.hidden = nn.Conv2d(hidden, hidden, 1)
        self.output = nn.Conv2d(hidden, outputs, 1)
        # The field arrives with a scale near one, whatever made it.
        scale_weights(self.features, after_gelu=False)
        scale_weights(self.coordinates, after_gelu=False)
        scale_weights(self.hidden)
        scale_weights(self.output, gain=0.1)

    def forward(self, z: Tensor, q: Tensor) -> Tensor:
        """Outputs for features z (B, C, H, W) at coordinates q (B or 1, 2, H, W)."""
        height, width = z.shape[-2:]
        layers = (self.features, self.coordinates, self.hidden, self.output)
        *first, second, last = (layer.weight.flatten(1) for layer in layers)
        hidden = multiply_pixels(first, [z, q.expand(len(z), -1, -1, -1)])  # B, H*W, hidden
        hidden = gelu(hidden, self.features.bias)
        hidden = gelu(hidden @ second.T, self.hidden.bias)
        # Outputs one map after the other in memory, as what is computed of them takes them.
        assert self.output.bias is not None
        outputs = torch.baddbmm(self.output.bias[:, None], last.expand(len(z), -1, -1), hidden.transpose(1, 2))
        return outputs.view(-1, self.output.out_channels, height, width)


class Decoder(nn.Module):
    """Reads the latent field at pixels or at queries; subclasses interpret the outputs."""

    def __init__(self, channels: int, hidden: int, outputs: int, components: int) -> None:
        super().__init__()
        self.components = components
        self.mlp = CoordinateMlp(channels, hidden, outputs)

    def forward(
        self,
        z: Tensor,
        queries: Tensor | None = None,
        *,
        anchors: Tensor | None = None,
    ) -> Mixture:
        """A mixture (B, K, ...) from the latent field z (B, C, H, W).

        queries: (B, N, 2), normalised (x, y): the field is sampled there and the mixture is (B, K, N).
            None is the field's own grid, where sampling changes nothing and is left out: (B, K, H, W).
        anchors: (B, a, H, W), disparities in px to which the means are offsets. Component k belongs to anchor
            k modulo a, so any number of anchors up to K serves.
        """
        if anchors is not None and anchors.shape[1] > self.components:
            raise FreqLFError(f"{anchors.shape[1]} anchors for {self.components} components: use at most as many")
        if queries is None:
            height, width = z.shape[-2:]
            return self.decode(z, make_grid(height, width, z).unsqueeze(0), anchors)
        z = sample_at(z, queries).unsqueeze(3)  # B, C, N, 1: the queries as a column of pixels
        anchors = None if anchors is None else sample_at(anchors, queries).unsqueeze(3)
        mixture = self.decode(z, queries.transpose(1, 2).unsqueeze(3), anchors)
        return Mixture(mixture.logits.squeeze(3), mixture.means.squeeze(3), mixture.deviations.squeeze(3))

    def decode(self, z: Tensor, q: Tensor, anchors: Tensor | None = None) -> Mixture:
        """The mixture (B, K, h, w) of features z (B, C, h, w) at coordinates q (B or 1, 2, h, w)."""
        mixture = self.interpret(self.mlp(z, q).float())
        return mixture if anchors is None else mixture.shifted(self._spread(anchors))

    def interpret(self, outputs: Tensor) -> Mixture:
        """The mixture that the perceptron's outputs (B, outputs, ...) stand for."""
        raise NotImplementedError

    def _spread(self, anchors: Tensor) -> Tensor:
        """One anchor for each component."""
        index = torch.arange(self.components, device=anchors.device) % anchors.shape[1]
        return anchors[:, index]


class MixtureDecoder(Decoder):
    """Weights by softmax, means as they are, deviations by softplus plus a floor.

    The floor bounds the gradients of the likelihood, which grow as 1/deviation^2 (norms in the thousands were seen
    with a floor of 0.001 px). Trained models reach it at most pixels, yet one of 0.002 px brought nothing to
    BadPix(0.01) (docs/log.md).

    offset_px is what an output of 1 means for a mean. An optimizer's steps are of one size for all weights: with small
    units they do not throw means off by several of their deviations.

    At the start the means are spread evenly over +-initial_spread_px (zero for anchored components, which differ by
    their anchors) and all deviations are initial_deviation_px.
    """

    def __init__(
        self,
        channels: int = 128,
        hidden: int = 128,
        components: int = 5,
        *,
        deviation_floor_px: float = 0.01,
        initial_spread_px: float = 1.5,
        initial_deviation_px: float = 1.0,
        offset_px: float = 1.0,
    ) -> None:
        super().__init__(channels, hidden, 3 * components, components)
        if not 0 < deviation_floor_px < initial_deviation_px:
            raise FreqLFError(
                f"deviations start at {initial_deviation_px} px, which must exceed their floor, "
                f"{deviation_floor_px} px, and that must exceed zero"
            )
        self.deviation_floor_px, self.offset_px = deviation_floor_px, offset_px
        bias = self.mlp.output.bias
        assert bias is not None
        with torch.no_grad():
            if components > 1:
                bias[components : 2 * components] = torch.linspace(-1, 1, components) * initial_spread_px / offset_px
            bias[2 * components :] = math.log(math.expm1(initial_deviation_px - deviation_floor_px))

    def interpret(self, outputs: Tensor) -> Mixture:
        """Logits, means and raw deviations, in this order."""
        logits, means, raw = outputs.chunk(3, dim=1)
        if self.offset_px != 1:
            means = means * self.offset_px
        return Mixture(logits, means, F.softplus(raw) + self.deviation_floor_px)


class RegressionDecoder(Decoder):
    """One disparity without a distribution: a mixture of a single component with a deviation of 1 px.

    Its mean is the regression; its negative log-likelihood is half the squared error plus a constant.
    """

    def __init__(self, channels: int = 128, hidden: int = 128) -> None:
        super().__init__(channels, hidden, 1, 1)

    def interpret(self, outputs: Tensor) -> Mixture:
        """The output is the mean."""
        return Mixture(torch.zeros_like(outputs), outputs, torch.ones_like(outputs))


def make_grid(height: int, width: int, like: Tensor) -> Tensor:
    """Normalised coordinates q = (x, y) of an image's pixels, (2, H, W): the corner pixels' centres are at -1 and 1."""
    x = torch.linspace(-1, 1, width, dtype=like.dtype, device=like.device)
    y = torch.linspace(-1, 1, height, dtype=like.dtype, device=like.device)
    return torch.stack(torch.meshgrid(x, y, indexing="xy"))


def sample_at(field: Tensor, queries: Tensor) -> Tensor:
    """Bilinear samples (B, C, N) of a field (B, C, H, W) at queries (B, N, 2); outside, the nearest border value."""
    sampled = F.grid_sample(field, queries.unsqueeze(2), padding_mode="border", align_corners=True)
    return sampled.squeeze(3)
