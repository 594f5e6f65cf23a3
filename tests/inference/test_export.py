"""Graphs of small untrained models of both kinds, and of packaged weights, against PyTorch."""

from dataclasses import replace

import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.inference.estimate import Estimator, load_estimator
from freqlf.inference.export import TOLERANCE_PX, Graph, check_graph, compare, export_graph, smallest_side_px
from freqlf.inference.maps import MAPS
from freqlf.models.aligned import AlignedFreqLF
from freqlf.models.base import DisparityModel
from freqlf.models.build import build_model
from freqlf.models.config import EpiConfig, ModelConfig, OcclusionConfig
from freqlf.models.presets import PRESETS
from freqlf.models.slope import SlopeOptions
from freqlf.models.spectral import SpectralConv2d
from freqlf.weights.calibration import Calibration
from freqlf.weights.registry import WEIGHTS

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

CALIBRATION = Calibration(
    predicted_px=(0.05, 0.3, 1.0), gaussian=(1.0, 2.0), needed=((0.5, 1.5), (0.4, 1.0), (0.6, 1.1))
)


def shrink(config: ModelConfig) -> ModelConfig:
    """All that a preset is made of, once: the time of tests grows faster than the nodes of a graph."""
    if isinstance(config, EpiConfig):
        return replace(config, rows=3, columns=3, channels=8, layers=1, modes=4, stream_channels=4)
    if isinstance(config, OcclusionConfig):
        return replace(config, channels=8, layers=1, modes=4, stream_channels=4, lowest_px=-1.0, highest_px=1.0)
    last = replace(config.passes[-1], spacings_px=())  # a first pass has no surroundings to look at
    few = {
        "windows_px": (5,),
        "relative_px": last.relative_px[:1],
        "coarse_channels": (8,) if last.coarse_channels else (),
    }
    return replace(config, passes=(replace(last, channels=8, layers=1, modes=4, stem_channels=8, **few),))


def hurry(model: DisparityModel[object]) -> None:
    """Fewer steps of the slope field make a smaller graph; one with all of them is exported in `tests/cli`."""
    if isinstance(model, AlignedFreqLF):
        model.slope = SlopeOptions(scales=(8, 1), steps=(1, 1))


def make_estimator(preset: str, seed: int = 0, calibration: Calibration | None = None) -> Estimator:
    """An untrained model."""
    torch.manual_seed(seed)
    model = build_model(shrink(PRESETS[preset])).eval()
    hurry(model)
    return Estimator(preset, model, calibration=calibration)


@pytest.fixture(scope="module")
def aligned() -> Graph:
    return export_graph(make_estimator("freqlf-plus-small"), views=5)


def test_a_graph_for_any_size_is_right_at_other_sizes(aligned: Graph) -> None:
    estimator = make_estimator("freqlf-plus-small")
    comparisons = check_graph(aligned, estimator) + compare(aligned, estimator, [(aligned.smallest_side_px, 150)])
    assert len({(one.height, one.width) for one in comparisons}) == 3
    for one in comparisons:
        assert tuple(one.largest_px) == MAPS
        assert max(one.largest_px.values()) <= TOLERANCE_PX
        assert all(one.usual_px[name] <= one.largest_px[name] for name in MAPS)


def test_a_graph_says_what_it_is(aligned: Graph) -> None:
    model = onnx.load_from_string(aligned.content)
    assert [value.name for value in model.graph.input] == ["horizontal", "vertical", "diagonal", "antidiagonal"]
    assert [value.name for value in model.graph.output] == list(MAPS)
    for value in model.graph.input:
        assert shape_of(value) == [1, 5, 3, "height", "width"]
    for value in model.graph.output:
        assert shape_of(value) == [1, "height", "width"]
    assert model.opset_import[0].version == aligned.opset == 17
    notes = {entry.key: entry.value for entry in model.metadata_props}
    assert notes["model"] == "freqlf-plus-small"
    assert notes["smallest_side_px"] == "32"
    assert "v increasing" in notes["inputs"]
    assert "as predicted" in notes["interval"]


def shape_of(value: object) -> list[int | str]:
    return [one.dim_param or one.dim_value for one in value.type.tensor_type.shape.dim]


def test_sizes_inside_the_graph_are_named(aligned: Graph) -> None:
    """Otherwise ONNX Runtime takes long to load it."""
    inside = onnx.load_from_string(aligned.content).graph.value_info
    named = {name for value in inside for name in shape_of(value) if isinstance(name, str)}
    assert {"height", "width", "floor(height/8)"} <= named
    assert not any(name.startswith("unk__") for name in named)


def test_another_model_does_not_pass(aligned: Graph) -> None:
    with pytest.raises(FreqLFError, match=r"differs from the model's by up to .* nothing was written"):
        check_graph(aligned, make_estimator("freqlf-plus-small", seed=1))


@pytest.mark.parametrize("preset", ["freqlf-plus", "freqlf-plus-sweep"])
def test_a_plane_sweep_has_no_graph(preset: str) -> None:
    with pytest.raises(FreqLFError, match="sweeps as many planes as a scene needs"):
        export_graph(make_estimator(preset), views=3)


@pytest.mark.parametrize("preset", ["freqlf"])
def test_every_preset_at_any_size_with_calibrated_intervals(preset: str) -> None:
    estimator = make_estimator(preset, calibration=CALIBRATION)
    for one in check_graph(export_graph(estimator, views=3, opset=20), estimator):
        assert max(one.largest_px.values()) <= TOLERANCE_PX


def test_one_size_may_be_small() -> None:
    estimator = make_estimator("freqlf-small")
    graph = export_graph(estimator, views=3, size=(25, 30), opset=16)
    (comparison,) = check_graph(graph, estimator)
    assert (comparison.height, comparison.width) == (25, 30)
    (output, *_) = onnx.load_from_string(graph.content).graph.output
    assert shape_of(output) == [1, 25, 30]


def test_an_hourglass_is_for_one_size() -> None:
    with pytest.raises(FreqLFError, match=r"freqlf-small is for images of one size: give it with --size"):
        export_graph(make_estimator("freqlf-small"), views=3)


def test_packaged_weights() -> None:
    name = "freqlf-plus-small"  # the smallest graph
    estimator = load_estimator(name)
    hurry(estimator.model)
    graph = export_graph(estimator, views=3, size=(40, 48))
    (comparison,) = check_graph(graph, estimator)
    assert max(comparison.largest_px.values()) <= TOLERANCE_PX  # intervals too: the calibration knows their level
    notes = {entry.key: entry.value for entry in onnx.load_from_string(graph.content).metadata_props}
    assert notes["licence"].startswith(WEIGHTS[name].licence)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["slope", *WEIGHTS])
def test_all_packaged_weights_at_any_size(name: str) -> None:
    estimator = load_estimator(name)
    if not estimator.model.is_traceable:
        pytest.skip("how many planes it sweeps depends on the scene")
    check_graph(export_graph(estimator, size=(75, 86) if estimator.model.is_sized else None), estimator)


def test_the_smallest_side_holds_all_modes() -> None:
    assert smallest_side_px(make_estimator("freqlf-plus-small").model) == 32
    assert smallest_side_px(SpectralConv2d(2, (64, 20))) == 65
    assert smallest_side_px(SpectralConv2d(2, (16, 40))) == 79


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"views": 4}, "odd"),
        ({"opset": 12}, "16 to 20"),
        ({"size": (4, 60)}, "at least 8"),
    ],
)
def test_refusals(arguments: dict, complaint: str) -> None:
    with pytest.raises(FreqLFError, match=complaint):
        export_graph(load_estimator("slope"), **arguments)
