"""Training recipes: everything that decides what a run learns, and nothing about where it runs.

Two runs with the same recipe, model and scenes see the same samples in the same order.
"""

from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal

from freqlf.errors import FreqLFError


def _setting(default: Any, meaning: str) -> Any:
    """A field with its one line of help; `freqlf train` makes a flag of it."""
    return field(default=default, metadata={"help": meaning})


def _check_range(options: Any, low: float, high: float, *names: str) -> None:
    for name in names:
        value = getattr(options, name)
        if not low <= value <= high:
            limits = f"between {low:g} and {high:g}" if high < float("inf") else f"at least {low:g}"
            raise FreqLFError(f"{name} must be {limits}, not {value}")


@dataclass(frozen=True)
class Cropping:
    """Which windows are cut from the scenes. S is the shorter side of a scene."""

    crop_size_px: int = _setting(0, "side of square crops; 0 draws sizes by the shares below")
    full_share: float = _setting(0.3, "share of steps that see whole scenes")
    large_share: float = _setting(0.35, "share of steps with width and height drawn from [0.7 S, S]")
    smallest_crop_px: int = _setting(128, "all other steps draw width and height from [this, 0.7 S]")
    valid_share: float = _setting(0.0, "crops with a smaller share of valid pixels are drawn again, ten times at most")
    edge_bias: float = _setting(0.0, "probability of taking, of four crops, the one with most disparity edges")
    synthetic_share: float = _setting(0.5, "share of samples from generated scenes, if there are others as well")

    def __post_init__(self) -> None:
        _check_range(self, 0, 1, "full_share", "large_share", "valid_share", "edge_bias", "synthetic_share")
        _check_range(self, 8, float("inf"), "smallest_crop_px")
        if self.crop_size_px != 0:
            _check_range(self, 8, float("inf"), "crop_size_px")
        if self.full_share + self.large_share > 1:
            raise FreqLFError(f"full_share + large_share must not exceed 1, not {self.full_share + self.large_share:g}")


@dataclass(frozen=True)
class Augmentation:
    """How samples are varied. Each change is applied to the views and to the ground truth alike; 0 turns it off."""

    flips: bool = _setting(False, "mirror and transpose at random, pixels and views together")
    swap_colours: bool = _setting(False, "permute red, green and blue")
    gamma: float = _setting(0.0, "brightness to the power of exp(U(-gamma, gamma))")
    gain_low: float = _setting(1.0, "each colour is multiplied by U(gain_low, gain_high)")
    gain_high: float = _setting(1.0, "see gain_low")
    exposure: float = _setting(0.0, "each view is multiplied by exp(U(-exposure, exposure))")
    noise: float = _setting(0.0, "sensor noise with a deviation of U(0, noise), white being 1")
    noise_probability: float = _setting(1.0, "share of samples that get noise")
    shear_px: float = _setting(
        0.0, "add U(-shear_px, shear_px) to all disparities, in half of the samples a whole number"
    )
    scale: float = _setting(1.0, "resize by a factor between 1 / scale and scale, disparities along")
    misalignment_px: float = _setting(0.0, "shift each view but the central one by up to this in x and y")
    blur_px: float = _setting(0.0, "Gaussian blur with a deviation of U(0, blur_px)")
    geometry_probability: float = _setting(1.0, "share of samples that get shear, scale, misalignment and blur")

    def __post_init__(self) -> None:
        amounts = ("gamma", "gain_low", "gain_high", "exposure", "noise", "shear_px", "misalignment_px", "blur_px")
        _check_range(self, 0, float("inf"), *amounts)
        _check_range(self, 0, 1, "noise_probability", "geometry_probability")
        _check_range(self, 1, 4, "scale")
        if self.gain_low > self.gain_high:
            raise FreqLFError(f"gain_low {self.gain_low} must not be above gain_high {self.gain_high}")


@dataclass(frozen=True)
class Recipe:
    """How a model is trained."""

    epochs: int = _setting(500, "how often every scene is seen, unless steps are given")
    steps: int = _setting(0, "optimizer steps in all; 0 takes epochs")
    batch_size: int = _setting(1, "samples per step, over all processes together")
    seed: int = _setting(0, "of the initial weights and of all samples")
    optimizer: Literal["adam", "adamw"] = _setting("adam", "Adam, or AdamW with decoupled weight decay")
    learning_rate: float = _setting(1e-4, "at its highest")
    fourier_rate: float = _setting(1.0, "the Fourier weights' share of the learning rate")
    beta1: float = _setting(0.9, "Adam's memory of the gradient")
    beta2: float = _setting(0.999, "Adam's memory of its square")
    epsilon: float = _setting(1e-8, "Adam's epsilon")
    weight_decay: float = _setting(0.0, "weight decay")
    warmup_steps: int = _setting(0, "the learning rate rises over as many steps")
    schedule: Literal["constant", "cosine"] = _setting("constant", "what the learning rate does after that")
    final_rate: float = _setting(0.02, "share of the learning rate that the cosine ends with")
    clip_norm: float = _setting(0.0, "gradients are scaled down to this norm; 0 leaves them")
    ema_decay: float = _setting(0.0, "validate and keep a moving average of the weights; 0 uses the weights themselves")
    l1_weight: float = _setting(0.0, "weight of the mixture mean's absolute error beside the likelihood")
    early_weight: float = _setting(0.5, "weight of the loss of all passes but the last, in models that have several")
    loss_border_px: int = _setting(0, "pixels along a crop's edge without a loss: other views see them outside")
    precision: Literal["fp32", "bf16", "fp16"] = _setting("fp32", "bf16 and fp16 use autocast and need CUDA")
    cropping: Cropping = field(default_factory=Cropping)
    augmentation: Augmentation = field(default_factory=Augmentation)

    def __post_init__(self) -> None:
        _check_range(self, 0, float("inf"), "steps", "epochs", "seed", "learning_rate", "weight_decay", "warmup_steps")
        _check_range(self, 0, float("inf"), "clip_norm", "l1_weight", "early_weight", "loss_border_px", "epsilon")
        _check_range(self, 1, float("inf"), "batch_size")
        _check_range(self, 0, 1, "fourier_rate", "beta1", "beta2", "ema_decay", "final_rate")
        if self.steps == 0 and self.epochs == 0:
            raise FreqLFError("a recipe needs steps or epochs; both are 0")
        size_px = self.cropping.crop_size_px or self.cropping.smallest_crop_px
        if 2 * self.loss_border_px >= size_px:
            raise FreqLFError(f"loss_border_px {self.loss_border_px} leaves nothing of a crop of {size_px} px")

    def total_steps(self, scenes: int) -> int:
        """Optimizer steps in all, with this number of scenes."""
        return self.steps or -(-self.epochs * scenes // self.batch_size)

    def changed(self, **changes: Any) -> "Recipe":
        """The recipe with other values; fields of `cropping` and `augmentation` are named like its own."""
        recipe = replace(self, **{name: value for name, value in changes.items() if name in _names(Recipe)})
        for part in ("cropping", "augmentation"):
            options = getattr(recipe, part)
            inner = {name: value for name, value in changes.items() if name in _names(type(options))}
            recipe = replace(recipe, **{part: replace(options, **inner)})
        unknown = set(changes) - set(settings())
        if unknown:
            raise FreqLFError(f"a recipe has no {sorted(unknown)[0]!r}; it has {', '.join(settings())}")
        return recipe

    def values(self) -> dict[str, Any]:
        """All settings by name, for checkpoints and reports."""
        values = asdict(self)
        cropping, augmentation = values.pop("cropping"), values.pop("augmentation")
        return values | cropping | augmentation


def _names(kind: type) -> set[str]:
    return {one.name for one in fields(kind) if not is_dataclass(one.type)}


def settings() -> dict[str, Any]:
    """Every setting of a recipe by name: its dataclass field, with the help in `metadata`."""
    parts = (Recipe, Cropping, Augmentation)
    return {one.name: one for part in parts for one in fields(part) if not is_dataclass(one.type)}


_SMALL_CROPS = Cropping(full_share=0.0, large_share=0.0, smallest_crop_px=64)

RECIPES: dict[str, Recipe] = {
    # As published: plain Adam, one light field a step, crops of many sizes, nothing else.
    "paper": Recipe(),
    # The published ablations: the same with small crops only.
    "ablation": Recipe(cropping=_SMALL_CROPS),
    # Learns much faster from few pixels, for the compact presets on a CPU. They are equivariant to shear.
    "cpu": Recipe(
        steps=12_000,
        batch_size=2,
        optimizer="adamw",
        learning_rate=2e-3,
        fourier_rate=0.1,
        beta2=0.98,
        weight_decay=1e-4,
        warmup_steps=100,
        schedule="cosine",
        clip_norm=1.0,
        ema_decay=0.998,
        loss_border_px=6,
        cropping=Cropping(crop_size_px=128, valid_share=0.6, edge_bias=0.5),
        augmentation=Augmentation(
            flips=True, swap_colours=True, gamma=0.4, gain_low=0.6, gain_high=1.1, noise=0.03, noise_probability=0.6
        ),
    ),
}


def find_recipe(name: str) -> Recipe:
    """The recipe of this name."""
    if name not in RECIPES:
        raise FreqLFError(f"unknown recipe {name!r}: choose one of {', '.join(RECIPES)}")
    return RECIPES[name]
