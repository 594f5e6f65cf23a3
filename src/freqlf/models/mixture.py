"""What the networks predict: a mixture of Gaussians over disparity at every pixel or query."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from freqlf.errors import FreqLFError
from freqlf.models.kernels import can_fuse

# Which disparity is the estimate: `tempered_mean`, or `surface_mean`.
Reading = Literal["tempered", "surface"]
# Components that lie so near to each other are one surface, and a surface with so much of the weight is the estimate.
_SURFACE_PX, _MAJORITY = 0.15, 2 / 3
_POWER = 3.0  # of the tempered mean


class Summary(NamedTuple):
    """In px, (B, ...) each: the estimate, the mean and the root of the variance of a `Mixture`."""

    estimate: Tensor
    mean: Tensor
    deviation: Tensor


@dataclass(frozen=True)
class Mixture:
    """A mixture of K Gaussians over disparity, at the places (...): pixels (H, W) or queries (N).

    logits: (B, K, ...), unnormalised log weights.
    means: (B, K, ...), in px per view step.
    deviations: (B, K, ...), standard deviations in px, positive.

    Point estimates, quantiles and densities are (B, ...).
    """

    logits: Tensor
    means: Tensor
    deviations: Tensor

    def __post_init__(self) -> None:
        shapes = [tuple(part.shape) for part in (self.logits, self.means, self.deviations)]
        if not shapes[0] == shapes[1] == shapes[2] or self.means.ndim < 2:
            raise FreqLFError(f"a mixture needs three tensors of one shape (B, K, ...), not {shapes}")

    @property
    def components(self) -> int:
        """K, the number of components."""
        return self.means.shape[1]

    @property
    def weights(self) -> Tensor:
        """(B, K, ...), summing to one over K."""
        return self.logits.softmax(dim=1)

    def mean(self) -> Tensor:
        """The expected disparity: least squared error, but between the surfaces where two of them compete."""
        return (self.weights * self.means).sum(dim=1)

    def variance(self) -> Tensor:
        """Within the components plus between them (the law of total variance), in px^2."""
        weights = self.weights
        # Around the mean rather than E[d^2] - E[d]^2, which loses all digits when the components agree.
        spread = self.means - (weights * self.means).sum(dim=1, keepdim=True)
        return (weights * (self.deviations.square() + spread.square())).sum(dim=1)

    def local_mean(self, radius_px: float = 0.3) -> Tensor:
        """The mean over the components whose means lie within `radius_px` of the heaviest one's.

        Commits to one surface, but keeps the precision of components that agree.
        """
        heaviest = self.means.gather(1, self.logits.argmax(dim=1, keepdim=True))
        near = (self.means - heaviest).abs() <= radius_px
        weights = self.logits.masked_fill(~near, -math.inf).softmax(dim=1)
        return (weights * self.means).sum(dim=1)

    def tempered_mean(self, power: float = _POWER) -> Tensor:
        """The mean under the weights raised to a power: between the mean (1) and that of the heaviest component.

        Small stray weights no longer pull the estimate off its surface, yet two equal surfaces still average.
        """
        return ((power * self.logits).softmax(dim=1) * self.means).sum(dim=1)

    def surface_mean(self) -> Tensor:
        """The mean of the surface that has two thirds of the weight; where no surface has, the mean of all.

        Where one surface is likely enough, nothing pulls the estimate off it, however its weight is shared among
        components; where it is not, the error of the mean is the least.
        """
        weights = self.weights
        surfaces = [weights * ((self.means - one).abs() <= _SURFACE_PX) for one in self.means.split(1, dim=1)]
        shares = torch.stack([one.sum(dim=1) for one in surfaces], dim=1)  # B, K, ...: those around each component
        share, index = shares.max(dim=1, keepdim=True)
        nearest = self.means.gather(1, index)
        chosen = weights * ((self.means - nearest).abs() <= _SURFACE_PX)
        surface = (chosen * self.means).sum(dim=1) / chosen.sum(dim=1)
        return torch.where(share.squeeze(1) > _MAJORITY, surface, (weights * self.means).sum(dim=1))

    def summarise(self, reading: Reading = "tempered") -> Summary:
        """The estimate by this reading, the mean and the deviation; on a CPU in one pass."""
        if self._can_fuse():
            from freqlf.models.kernels.mixtures import summarise_mixture

            surface = (_SURFACE_PX, _MAJORITY) if reading == "surface" else None
            return Summary(*summarise_mixture(self.logits, self.means, self.deviations, _POWER, surface).unbind(1))
        estimate = self.surface_mean() if reading == "surface" else self.tempered_mean()
        return Summary(estimate, self.mean(), self.variance().sqrt())

    def split(self, radius_px: float = 0.3) -> tuple[Tensor, Tensor]:
        """The local mean, and the mean of the components that are farther than the radius from it.

        The second fades into the first as there is less weight elsewhere.
        """
        if self._can_fuse():
            from freqlf.models.kernels.mixtures import split_mixture

            near, elsewhere = split_mixture(self.logits, self.means, radius_px).unbind(1)
            return near, elsewhere
        near = self.local_mean(radius_px)
        distances = self.means - near.unsqueeze(1)
        weights = self.weights * (distances.abs() > radius_px)
        return near, near + (weights * distances).sum(dim=1) / (weights.sum(dim=1) + 1e-3)

    def log_prob(self, disparity_px: Tensor) -> Tensor:
        """Log density at disparity_px (B, ...), in 1/px."""
        standard = (disparity_px.unsqueeze(1) - self.means) / self.deviations
        log_densities = -0.5 * standard.square() - self.deviations.log() - 0.5 * math.log(2 * math.pi)
        return torch.logsumexp(self.logits.log_softmax(dim=1) + log_densities, dim=1)

    def cdf(self, disparity_px: Tensor) -> Tensor:
        """The probability of a disparity of at most disparity_px (B, ...)."""
        return self._cdf(disparity_px, self.weights)

    def quantile(self, probability: float, steps: int = 32) -> Tensor:
        """The disparity below which `probability` of the mixture lies; 0.5 is the median.

        By bisection: the quantile of a mixture lies between the least and the greatest of its components' ones.
        """
        if not 0.0 < probability < 1.0:
            raise FreqLFError(f"a quantile needs a probability between 0 and 1, not {probability}")
        level = torch.special.ndtri(torch.tensor(probability, dtype=torch.float64)).item()
        if self._can_fuse():
            from freqlf.models.kernels.mixtures import find_quantile

            return find_quantile(self.logits, self.means, self.deviations, probability, level)
        weights = self.weights
        quantiles = self.means + level * self.deviations
        low, high = quantiles.amin(dim=1), quantiles.amax(dim=1)
        for _ in range(steps):
            middle = 0.5 * (low + high)
            below = self._cdf(middle, weights) < probability
            low, high = torch.where(below, middle, low), torch.where(below, high, middle)
        return 0.5 * (low + high)

    def shifted(self, by_px: float | Tensor) -> "Mixture":
        """The mixture of disparity + by_px: that of the light field sheared by as much."""
        return Mixture(self.logits, self.means + by_px, self.deviations)

    def _can_fuse(self) -> bool:
        return can_fuse(self.logits, self.means, self.deviations)

    def _cdf(self, disparity_px: Tensor, weights: Tensor) -> Tensor:
        standard = (disparity_px.unsqueeze(1) - self.means) / self.deviations
        return (weights * torch.special.ndtr(standard)).sum(dim=1)
