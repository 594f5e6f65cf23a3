"""Training recipes: everything that decides what a run learns, and nothing about where it runs.

Two runs with the same recipe, model and scenes see the same samples in the same order.
"""

from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal

from freqlf.data.sampling import Augmentation, Cropping, Reliefs, check_range, setting
from freqlf.errors import FreqLFError


@dataclass(frozen=True)
class Recipe:
    """How a model is trained."""

    epochs: int = setting(500, "how often every scene is seen, unless steps are given")
    steps: int = setting(0, "optimizer steps in all; 0 takes epochs")
    batch_size: int = setting(1, "samples per step, over all processes together")
    seed: int = setting(0, "of the initial weights and of all samples")
    optimizer: Literal["adam", "adamw", "muon"] = setting(
        "adam", "Adam, AdamW with decoupled weight decay, or Muon for the weights of layers and AdamW for the rest"
    )
    learning_rate: float = setting(1e-4, "at its highest")
    fourier_rate: float = setting(1.0, "the Fourier weights' share of the learning rate")
    beta1: float = setting(0.9, "Adam's memory of the gradient")
    beta2: float = setting(0.999, "Adam's memory of its square")
    epsilon: float = setting(1e-8, "Adam's epsilon")
    weight_decay: float = setting(0.0, "weight decay")
    warmup_steps: int = setting(0, "the learning rate rises over as many steps")
    schedule: Literal["constant", "cosine"] = setting("constant", "what the learning rate does after that")
    final_rate: float = setting(0.02, "share of the learning rate that the cosine ends with")
    clip_norm: float = setting(0.0, "gradients are scaled down to this norm; 0 leaves them")
    ema_decay: float = setting(0.0, "validate and keep a moving average of the weights; 0 uses the weights themselves")
    background_density: float = setting(0.0, "uniform density added to the mixture in the loss, in 1/px; 0 adds none")
    truth_deviation_px: float = setting(0.0, "uncertainty of the truth in the likelihood: smaller errors do not count")
    l1_weight: float = setting(0.0, "weight of the mixture mean's absolute error beside the likelihood")
    l1_power: float = setting(1.0, "that mean is tempered by this power")
    l1_scale_px: float = setting(0.0, "larger errors of it count by their logarithm; 0 counts all as they are")
    encoder_loss: bool = setting(False, "the paper's models: early_weight times a loss before the layers")
    early_weight: float = setting(0.5, "weight of the loss of all passes but the last, in models that have several")
    loss_border_px: int = setting(0, "pixels along a crop's edge without a loss: other views see them outside")
    precision: Literal["fp32", "bf16", "fp16"] = setting("fp32", "bf16 and fp16 use autocast; fp16 needs CUDA")
    frozen: str = setting("", "parts of the model that stay as they are, with commas between, such as passes.0")
    cropping: Cropping = field(default_factory=Cropping)
    augmentation: Augmentation = field(default_factory=Augmentation)
    reliefs: Reliefs = field(default_factory=Reliefs)

    def __post_init__(self) -> None:
        check_range(self, 0, 1e9, "steps", "epochs", "learning_rate", "weight_decay", "warmup_steps")
        check_range(
            self, 0, 1e9, "clip_norm", "l1_weight", "background_density", "early_weight", "loss_border_px", "epsilon"
        )
        check_range(self, 0, 10, "truth_deviation_px", "l1_scale_px")
        check_range(self, 1, 100, "l1_power")
        check_range(self, 0, 2**31 - 1, "seed")
        check_range(self, 1, 4096, "batch_size")
        check_range(self, 0, 1, "fourier_rate", "ema_decay", "final_rate")
        check_range(self, 0, 0.999999, "beta1", "beta2")
        if self.steps == 0 and self.epochs == 0:
            raise FreqLFError("a recipe needs steps or epochs; both are 0")
        if self.cropping.epochs_per_variation and (self.reliefs.are_used or not self.cropping.crop_size_px):
            raise FreqLFError(
                "epochs_per_variation is for crops of one size from scenes: set crop_size_px, leave out reliefs"
            )
        size_px = self.cropping.crop_size_px or self.cropping.smallest_crop_px
        if 2 * self.loss_border_px >= size_px:
            raise FreqLFError(f"loss_border_px {self.loss_border_px} leaves nothing of a crop of {size_px} px")

    def total_steps(self, scenes: int) -> int:
        """Optimizer steps in all, with this number of scenes."""
        return self.steps or -(-self.epochs * scenes // self.batch_size)

    def changed(self, **changes: Any) -> "Recipe":
        """The recipe with other values; fields of its parts are named like its own."""
        recipe = replace(self, **{name: value for name, value in changes.items() if name in _names(Recipe)})
        for part in _PARTS:
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
        for part in _PARTS:
            values |= values.pop(part)
        return values


_PARTS = ("cropping", "augmentation", "reliefs")


def _names(kind: type) -> set[str]:
    return {one.name for one in fields(kind) if not is_dataclass(one.type)}


def settings() -> dict[str, Any]:
    """Every setting of a recipe by name: its dataclass field, with the help in `metadata`."""
    parts = (Recipe, Cropping, Augmentation, Reliefs)
    return {one.name: one for part in parts for one in fields(part) if not is_dataclass(one.type)}


_SMALL_CROPS = Cropping(full_share=0.0, large_share=0.0, smallest_crop_px=64)

# What learns fast from few pixels.
_FAST = Recipe(
    steps=12_000,
    optimizer="adamw",
    fourier_rate=0.1,
    beta2=0.98,
    weight_decay=1e-4,
    warmup_steps=100,
    schedule="cosine",
    clip_norm=1.0,
    ema_decay=0.998,
    loss_border_px=6,
)

RECIPES: dict[str, Recipe] = {
    # As published: plain Adam, one light field a step, crops of many sizes, nothing else.
    "paper": Recipe(),
    # The published ablations: the same with small crops only.
    "ablation": Recipe(cropping=_SMALL_CROPS),
    # For the compact presets on a CPU. They are equivariant to shear.
    "cpu": replace(
        _FAST,
        batch_size=2,
        learning_rate=2e-3,
        cropping=Cropping(crop_size_px=128, valid_share=0.6, edge_bias=0.5),
        augmentation=Augmentation(
            flips=True, swap_colours=True, gamma=0.4, gain_low=0.6, gain_high=1.1, noise=0.03, noise_probability=0.6
        ),
    ),
    # For the paper's models, which read raw stacks of views and otherwise predict a constant for a long time: textured
    # reliefs of small disparity first, then crops of scenes. Its last stage is the paper's recipe, see docs/paper.md.
    "curriculum": replace(
        _FAST,
        batch_size=8,
        learning_rate=1e-3,
        truth_deviation_px=0.1,
        l1_weight=1.0,
        encoder_loss=True,
        cropping=Cropping(crop_size_px=48, valid_share=0.6),
        augmentation=Augmentation(flips=True, swap_colours=True),
        reliefs=Reliefs(relief_steps=3_000, relief_share=0.25),
    ),
}


def find_recipe(name: str) -> Recipe:
    """The recipe of this name."""
    if name not in RECIPES:
        raise FreqLFError(f"unknown recipe {name!r}: choose one of {', '.join(RECIPES)}")
    return RECIPES[name]
