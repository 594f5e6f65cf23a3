"""What Fourier weights learned on crops should mean on whole scenes.

The options of `SpectralConv2d` are one function at the size of the crops and differ at any other, so one trained model
can be read by each of them. Which reading scores best is the answer.
"""

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from torch import nn

from freqlf.data.samples import Sample
from freqlf.errors import FreqLFError
from freqlf.evaluation.tables import Table, find_best, format_number
from freqlf.models.base import DisparityModel
from freqlf.models.hybrid import HybridLayer
from freqlf.models.spectral import Field, SpectralConv2d
from freqlf.studies.headings import ESTIMATES, METRICS
from freqlf.training.distributed import Processes
from freqlf.training.validation import Validation, validate

FIELDS: tuple[Field, ...] = ("index", "frequency")
OFF = "off"  # without the Fourier branch: what it is worth at all


def find_reference_px(model: nn.Module) -> int:
    """Side of the field that the model's Fourier weights were learned on, as its configuration says."""
    layers = _fourier_layers(model)
    if not layers:
        raise FreqLFError("the model has no Fourier branch, so there is nothing to compare; choose another")
    reference_px = layers[0].reference_px
    if reference_px is None:
        raise FreqLFError(
            "the model does not say what size it was trained on; give the side of its crops: --reference-px"
        )
    return reference_px[0]


def read_as(model: DisparityModel[Any], option: str, reference_px: int) -> DisparityModel[Any]:
    """A copy of the model whose Fourier weights are read by another option of `FIELDS`, or left `OFF`."""
    model = copy.deepcopy(model)
    for layer in model.modules():
        if not isinstance(layer, HybridLayer) or layer.fourier is None:
            continue
        old, layer.fourier = layer.fourier, None
        if option != OFF:
            size_px = (reference_px, reference_px)
            layer.fourier = SpectralConv2d(old.channels, old.modes, field=option, reference_px=size_px)  # type: ignore[arg-type]
            layer.fourier.load_state_dict(old.state_dict())
    return model


def compare_fields(
    model: DisparityModel[Any], reference_px: int, scenes: Sequence[Sample], processes: Processes
) -> Iterator[tuple[str, Validation]]:
    """Score the model on whole scenes under every option, and without its Fourier branch."""
    for option in (*FIELDS, OFF):
        yield option, validate(read_as(model, option, reference_px), scenes, processes)


def tabulate_fields(found: dict[str, Validation], estimate: str) -> Table:
    """MSE x100 / BadPix(0.07) of every scene and their means, a row per option; the lowest MSE is emphasised."""
    scenes = list(next(iter(found.values())).scores[estimate])
    summaries = {option: validation.summary()[estimate] for option, validation in found.items()}
    rows = tuple(
        (option, *(_format_scores(scores[scene]) for scene in [*scenes, "all"])) for option, scores in summaries.items()
    )
    errors = [[scores[scene]["mse_100"] for scene in [*scenes, "all"]] for scores in summaries.values()]
    best = find_best(errors, [METRICS["mse_100"][1]] * (len(scenes) + 1))
    title = f"{' / '.join(heading for heading, _ in METRICS.values())}, {ESTIMATES[estimate]}"
    return Table(title, ("field", *scenes, "mean"), rows, best=frozenset((row, column + 1) for row, column in best))


def _format_scores(scores: dict[str, float]) -> str:
    return " / ".join(format_number(scores[metric], digits) for metric, (_, digits) in METRICS.items())


def _fourier_layers(model: nn.Module) -> list[SpectralConv2d]:
    return [part for part in model.modules() if isinstance(part, SpectralConv2d)]
