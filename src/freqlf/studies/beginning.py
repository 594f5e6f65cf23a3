"""Trained weights as the beginning of all runs of a study, alike for all variants."""

from collections.abc import Sequence
from typing import Any

import torch

from freqlf.errors import FreqLFError
from freqlf.models.base import DisparityModel
from freqlf.models.build import build_model
from freqlf.studies.variants import Variant
from freqlf.weights.load import find_weights, read_any_weights


def begin_with(model: DisparityModel[Any], source: str, variants: Sequence[Variant]) -> None:
    """Put those trained weights into the model that all variants have in common.

    What one of them lacks, or has in another shape, is left to learn for all of them: else a variant would be judged
    by how well it does without what the others were trained with.
    """
    with torch.device("meta"):
        states = [build_model(variant.config).state_dict() for variant in variants]
    path = find_weights(source)
    trained, own = read_any_weights(path).state, model.state_dict()
    shared = [
        name
        for name, values in trained.items()
        if name in own and all(name in state and state[name].shape == values.shape for state in states)
    ]
    if not shared:
        raise FreqLFError(f"{path} has no weights that all variants share; choose those of the study's preset")
    model.load_state_dict(own | {name: trained[name] for name in shared})
