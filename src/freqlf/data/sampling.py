"""How samples are cut from scenes and varied: the options, which need neither torch nor pixels."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from freqlf.errors import FreqLFError
from freqlf.io.schema import Range, convert


def setting(default: Any, meaning: str) -> Any:
    """A field with its one line of help; `freqlf train` makes a flag of it."""
    return field(default=default, metadata={"help": meaning})


def check_range(options: Any, low: float, high: float, *names: str) -> None:
    """Refuse an option of these names that is below `low` or above `high`, or no finite number."""
    for name in names:
        convert(getattr(options, name), Annotated[float, Range(low, high)], name)


@dataclass(frozen=True)
class Cropping:
    """Which windows are cut from the scenes. S is the shorter side of a scene."""

    crop_size_px: int = setting(0, "side of square crops; 0 draws sizes by the shares below")
    full_share: float = setting(0.3, "share of steps that see whole scenes")
    large_share: float = setting(0.35, "share of steps with width and height drawn from [0.7 S, S]")
    smallest_crop_px: int = setting(128, "all other steps draw width and height from [this, 0.7 S]")
    valid_share: float = setting(0.0, "crops with a smaller share of valid pixels are drawn again, ten times at most")
    edge_bias: float = setting(0.0, "probability of taking, of four crops, the one with most disparity edges")
    hard_bias: float = setting(
        0.0, "probability of taking, of four crops, the one that frozen passes get most wrong; for epochs_per_variation"
    )
    favoured: str = setting("", "scenes that come twice in every epoch, with commas between")
    synthetic_share: float = setting(0.5, "share of samples from generated scenes, if there are others as well")
    epochs_per_variation: int = setting(
        0, "vary whole scenes, anew after so many epochs, so that frozen passes see each once; 0 varies crops"
    )

    def __post_init__(self) -> None:
        check_range(self, 0, 1, "full_share", "large_share", "valid_share", "edge_bias", "hard_bias", "synthetic_share")
        check_range(self, 8, 30_000, "smallest_crop_px")
        check_range(self, 0, 1e9, "epochs_per_variation")
        if self.crop_size_px != 0:
            check_range(self, 8, 30_000, "crop_size_px")
        if self.edge_bias + self.hard_bias > 1:
            raise FreqLFError(f"edge_bias + hard_bias must not exceed 1, not {self.edge_bias + self.hard_bias:g}")
        if self.full_share + self.large_share > 1:
            raise FreqLFError(f"full_share + large_share must not exceed 1, not {self.full_share + self.large_share:g}")


@dataclass(frozen=True)
class Reliefs:
    """Textured planes and reliefs that are generated on the fly, see `freqlf.data.reliefs`: a curriculum."""

    relief_steps: int = setting(0, "so many steps see nothing but generated reliefs, whose disparities grow")
    relief_share: float = setting(0.0, "share of reliefs among the samples after that, if there are scenes")
    relief_first_px: float = setting(1.0, "disparities of the first reliefs lie within +- this")
    relief_last_px: float = setting(4.0, "and within +- this from half of relief_steps on, textures of all kinds")

    def __post_init__(self) -> None:
        check_range(self, 0, 1e9, "relief_steps")
        check_range(self, 0, 1, "relief_share")
        check_range(self, 0.01, 10, "relief_first_px", "relief_last_px")

    @property
    def are_used(self) -> bool:
        """Whether any sample is a relief, if there are scenes."""
        return self.relief_steps > 0 or self.relief_share > 0

    def variety(self, step: int) -> float:
        """From 0 at the first step, where textures are strong, to 1, where they may be anything."""
        return min(1.0, 2 * step / self.relief_steps) if self.relief_steps else 1.0

    def range_px(self, step: int) -> float:
        """What disparities of a step's reliefs lie within."""
        return self.relief_first_px + (self.relief_last_px - self.relief_first_px) * self.variety(step)


@dataclass(frozen=True)
class Augmentation:
    """How samples are varied. Each change is applied to the views and to the ground truth alike; 0 turns it off."""

    flips: bool = setting(False, "mirror and transpose at random, pixels and views together")
    swap_colours: bool = setting(False, "permute red, green and blue")
    gamma: float = setting(0.0, "brightness to the power of exp(U(-gamma, gamma))")
    gain_low: float = setting(1.0, "each colour is multiplied by U(gain_low, gain_high)")
    gain_high: float = setting(1.0, "see gain_low")
    exposure: float = setting(0.0, "each view is multiplied by exp(U(-exposure, exposure))")
    noise: float = setting(0.0, "sensor noise with a deviation of U(0, noise), white being 1")
    noise_probability: float = setting(1.0, "share of samples that get noise")
    shear_px: float = setting(
        0.0, "add U(-shear_px, shear_px) to all disparities, in half of the samples a whole number"
    )
    scale: float = setting(1.0, "resize by a factor between 1 / scale and scale, disparities along")
    misalignment_px: float = setting(0.0, "shift each view but the central one by up to this in x and y")
    blur_px: float = setting(0.0, "Gaussian blur with a deviation of U(0, blur_px)")
    geometry_probability: float = setting(1.0, "share of samples that get shear, scale, misalignment and blur")
    occluder_share: float = setting(0.0, "share of samples behind bars, grids or blobs")

    def __post_init__(self) -> None:
        amounts = ("gamma", "gain_low", "gain_high", "exposure", "noise", "shear_px", "misalignment_px", "blur_px")
        check_range(self, 0, 1e6, *amounts)
        check_range(self, 0, 1, "noise_probability", "geometry_probability", "occluder_share")
        check_range(self, 1, 4, "scale")
        if self.gain_low > self.gain_high:
            raise FreqLFError(f"gain_low {self.gain_low} must not be above gain_high {self.gain_high}")
