"""What Fourier weights learned on crops should mean on whole scenes.

The options of `SpectralConv2d` are one function at the size of the crops and differ at any other, so one trained model
can be read by each of them. Which reading scores best is the answer.
"""

import copy
from collections.abc import Iterator, Sequence

from torch import nn

from freqlf.data.samples import Sample
from freqlf.distributed import Processes
from freqlf.errors import FreqLFError
from freqlf.nn.hybrid import HybridLayer
from freqlf.nn.spectral import Field, SpectralConv2d
from freqlf.studies.headings import ESTIMATES, METRICS
from freqlf.tables import Table, find_best, format_number
from freqlf.validation import Validation, validate

FIELDS: tuple[Field, ...] = ("index", "frequency", "window")
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


def read_as(model: nn.Module, option: str, reference_px: int) -> nn.Module:
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
    model: nn.Module, reference_px: int, scenes: Sequence[Sample], processes: Processes
) -> Iterator[tuple[str, Validation]]:
    """Score the model on whole scenes under every option, and without its Fourier branch."""
    for option in (*FIELDS, OFF):
        yield option, validate(read_as(model, option, reference_px), scenes, processes)


def tabulate_fields(found: dict[str, Validation], estimate: str) -> Table:
    """MSE x100 and BadPix(0.07) of every scene and their means, a row per option."""
    scenes = list(next(iter(found.values())).scores[estimate])
    digits = tuple(count for _, count in METRICS.values())
    values = []
    for validation in found.values():
        mean, scores = validation.mean(estimate), validation.scores[estimate]
        row = [getattr(scores[scene], metric) for scene in scenes for metric in METRICS]
        values.append([*row, *(mean[metric] for metric in METRICS)])
    places = digits * (len(scenes) + 1)
    rows = tuple(
        (option, *(format_number(value, count) for value, count in zip(row, places, strict=True)))
        for option, row in zip(found, values, strict=True)
    )
    headings = [f"{name} {heading}" for name in [*scenes, "mean"] for heading, _ in METRICS.values()]
    best = frozenset((row, column + 1) for row, column in find_best(values, places))
    return Table(ESTIMATES[estimate], ("field", *headings), rows, best=best)


def _fourier_layers(model: nn.Module) -> list[SpectralConv2d]:
    return [part for part in model.modules() if isinstance(part, SpectralConv2d)]
