"""A real model, as small as they get, and what it is trained with in tests."""

import torch
from slanted import make_sample
from torch import nn

from freqlf.data.batches import BatchSource
from freqlf.models.build import build_model
from freqlf.models.config import AlignedConfig, PassConfig
from freqlf.training.distributed import Processes
from freqlf.training.recipe import RECIPES, Recipe

CONFIG = AlignedConfig(
    passes=(
        PassConfig(channels=8, layers=1, modes=2, stem_channels=8, windows_px=(5,)),
        PassConfig(channels=8, layers=1, modes=2, stem_channels=8, windows_px=(5,)),
    ),
    components=3,
    reference_px=24,
)
RECIPE = RECIPES["cpu"].changed(
    steps=6, crop_size_px=24, batch_size=2, warmup_steps=2, learning_rate=1e-3, l1_weight=0.1
)
ALONE = Processes(0, 1, torch.device("cpu"))


def make_model(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return build_model(CONFIG)


def make_source(recipe: Recipe = RECIPE) -> BatchSource:
    scenes = [make_sample(40, 44, start_px=start_px, name=f"scene{start_px}") for start_px in (-1.0, 0.0, 0.5)]
    return BatchSource(recipe, CONFIG.lines, scenes)
