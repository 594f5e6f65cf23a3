"""Estimators as ONNX graphs, for programs that run without PyTorch, and the proof that they say the same.

A graph takes one tensor (1, A, 3, H, W) per line of views, named after it, colours in [0, 1] and views in the order of
`LightField.line`, and gives the maps of an `Estimate`, each (1, H, W), under their names.
"""

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from freqlf import __version__
from freqlf.data.synthetic import SceneOptions, render_scene
from freqlf.errors import FreqLFError
from freqlf.inference.estimate import Estimator
from freqlf.inference.maps import MapReader
from freqlf.lightfield import LightField, list_views
from freqlf.models.spectral import SpectralConv2d
from freqlf.models.views import read_stacks
from freqlf.outputs.estimate import INTERVAL
from freqlf.provenance import describe_run
from freqlf.weights.registry import WEIGHTS

if TYPE_CHECKING:
    from onnx import ModelProto

# GridSample came with opset 16; PyTorch's exporter knows none after 20.
OPSETS = range(16, 21)
# The two estimates may differ by this much; the other maps are reported.
TOLERANCE_PX = 1e-3
CHECKED_OUTPUTS = ("disparity_px", "mean_px")

# Where a graph for any size is traced and where it is checked. All differ, and differ from the fields of weights, so
# that no number of one size can pass for another's.
_TRACED_SIZE = (44, 60)
_CHECKED_SIZES = ((88, 80), (67, 103))
_SEED = 6
# The slope field leaves out levels of fewer than four pixels, which a traced graph cannot decide: its coarsest
# level is 1/8 of the resolution.
_SMALLEST_SIDE_PX = 32
_AXES = {3: "height", 4: "width"}


@dataclass(frozen=True)
class Graph:
    """An ONNX graph and what it was made from.

    Attributes:
        content: the bytes of the file.
        views: per line of views.
        size: (height, width) of the images, or None for any.
        smallest_side_px: of the images that a graph for any size takes.
        opset: version of ONNX's operators.
    """

    content: bytes
    views: int
    size: tuple[int, int] | None
    smallest_side_px: int
    opset: int


@dataclass(frozen=True)
class Comparison:
    """How a graph differs from its estimator on one light field.

    Attributes:
        height, width: of the images.
        largest_px: name of each map to the largest difference.
        usual_px: to the difference that 99.9 % of the pixels stay below.
        onnx_s, torch_s: seconds that one run took; the estimator's without reading the views.
    """

    height: int
    width: int
    largest_px: dict[str, float]
    usual_px: dict[str, float]
    onnx_s: float
    torch_s: float


class Maps(nn.Module):
    """From stacks of views to the maps of an `Estimate`, as a function of tensors."""

    def __init__(self, estimator: Estimator) -> None:
        super().__init__()
        self.model = estimator.model
        self.read = MapReader(estimator.model, estimator.calibration)

    def forward(self, *stacks: Tensor) -> tuple[Tensor, ...]:
        """Maps (1, H, W), called `read.names`, from one stack (1, A, 3, H, W) per line."""
        return self.read(self.model(dict(zip(self.model.lines, stacks, strict=True)))).unbind(dim=1)


def require_onnx() -> None:
    """Fail with the command that installs what is missing."""
    missing = [name for name in ("onnx", "onnxruntime") if find_spec(name) is None]
    if missing:
        raise FreqLFError(f"an export needs the package {' and '.join(missing)}: pip install {' '.join(missing)}")


def export_graph(estimator: Estimator, views: int = 9, size: tuple[int, int] | None = None, opset: int = 17) -> Graph:
    """The estimator as a graph for `views` views per line of images of one (height, width), or of any size."""
    require_onnx()
    if opset not in OPSETS:
        raise FreqLFError(f"the opset must be {OPSETS[0]} to {OPSETS[-1]}, not {opset}")
    if not estimator.model.is_traceable:
        raise FreqLFError(
            f"{estimator.name} sweeps as many planes as a scene needs, which a graph cannot; "
            "export another model, such as freqlf-plus-small"
        )
    if estimator.model.is_sized and size is None:
        raise FreqLFError(f"a graph of {estimator.name} is for images of one size: give it with --size HEIGHT WIDTH")
    maps = Maps(estimator).eval()
    smallest_px = smallest_side_px(maps)
    traced = _choose_traced_size(size, smallest_px)
    stacks = read_stacks(make_light_field(views, traced, maps.model.lines), maps.model.lines)
    axes = dict.fromkeys(maps.model.lines, _AXES) | {name: {1: "height", 2: "width"} for name in maps.read.names}
    with TemporaryDirectory() as folder, _traceable(opset), warnings.catch_warnings():
        path = Path(folder, "graph.onnx")
        # The tracer warns of every decision that it cannot record; `compare` proves them harmless.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            maps,
            tuple(stacks[line] for line in maps.model.lines),
            path,
            input_names=list(maps.model.lines),
            output_names=list(maps.read.names),
            dynamic_axes=axes if size is None else None,
            opset_version=opset,
            # The newer exporter reasons about unknown sizes for minutes where tracing takes seconds.
            dynamo=False,
        )
        content = path.read_bytes()
    content = _describe(content, estimator, maps, size, smallest_px)
    return Graph(content, views, size, smallest_px, opset)


@contextmanager
def _traceable(opset: int) -> Iterator[None]:
    """Within, nothing is recorded for gradients, and the exporter knows three operators more."""

    def normal_cdf(graph: Any, x: Any) -> Any:
        half, scale = (graph.op("Constant", value_t=torch.tensor(value)) for value in (0.5, math.sqrt(0.5)))
        return graph.op("Add", half, graph.op("Mul", half, graph.op("Erf", graph.op("Mul", x, scale))))

    def copy(graph: Any, target: Any, source: Any, non_blocking: Any) -> Any:
        return graph.op("Expand", source, graph.op("Shape", target))

    def keep(graph: Any, x: Any, memory_format: Any) -> Any:
        return x  # graphs know nothing of memory

    operators: dict[str, Callable[..., Any]] = {
        "aten::special_ndtr": normal_cdf,
        "aten::copy": copy,
        "aten::contiguous": keep,
    }
    for name, function in operators.items():
        torch.onnx.register_custom_op_symbolic(name, function, opset)
    try:
        with torch.no_grad():
            yield
    finally:
        for name in operators:
            torch.onnx.unregister_custom_op_symbolic(name, opset)


def smallest_side_px(model: nn.Module) -> int:
    """The smallest height and width for which a graph traced at larger ones is the model."""
    sides = [_SMALLEST_SIDE_PX]
    for part in model.modules():
        if isinstance(part, SpectralConv2d) and part.field == "index":
            k1, k2 = part.modes
            sides += [2 * (k1 // 2) + 1, 2 * k2 - 1]  # all modes lie below the Nyquist frequency
    return max(sides)


def _choose_traced_size(size: tuple[int, int] | None, smallest_px: int) -> tuple[int, int]:
    if size is not None:
        if min(size) < 8:
            raise FreqLFError(f"--size needs a height and a width of at least 8 pixels, not {size[0]} x {size[1]}")
        return size
    return max(_TRACED_SIZE[0], smallest_px + 1), max(_TRACED_SIZE[1], smallest_px + 17)


def _describe(
    content: bytes, estimator: Estimator, maps: Maps, size: tuple[int, int] | None, smallest_px: int
) -> bytes:
    """The graph with exact shapes of its outputs and with notes for whoever finds the file without us."""
    import onnx

    model = onnx.load_from_string(content)
    for output in model.graph.output:
        for dimension, extent in zip(output.type.tensor_type.shape.dim, (1, *(size or _AXES.values())), strict=True):
            dimension.Clear()
            if isinstance(extent, int):
                dimension.dim_value = extent
            else:
                dimension.dim_param = extent
    model.producer_name, model.producer_version = "freqlf", __version__
    model.graph.name = "disparity"
    notes = {
        "model": estimator.name,
        "freqlf_version": __version__,
        "licence": find_licence(estimator.name),
        "inputs": f"{', '.join(maps.model.lines)}: (1, views, 3, height, width), RGB in [0, 1]; each a line of views "
        "through the central one, horizontal with v increasing, vertical with u increasing, diagonal with both "
        "increasing, antidiagonal with u increasing and v decreasing; u is the row of a view and v its column, from "
        "the top left",
        "outputs": f"{', '.join(maps.read.names)}: (1, height, width), the central view's disparity in pixels per view "
        "step",
        "convention": "what the central view shows at (y, x), the view du rows and dv columns away shows at "
        "(y - du * disparity, x - dv * disparity); positive is nearer than the focus plane",
    }
    if size is None:
        notes["smallest_side_px"] = str(smallest_px)
    if len(maps.read.names) > 1:
        kind = "as predicted" if estimator.calibration is None else "calibrated"
        notes["interval"] = f"lower_px to upper_px holds the true disparity with a chance of {INTERVAL} ({kind})"
    onnx.helper.set_model_props(model, notes)
    model = name_sizes(model)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def name_sizes(model: "ModelProto") -> "ModelProto":
    """The graph with the shapes of all values in it, as expressions of height and width.

    Without them ONNX Runtime invents a name for every size that it cannot tell while it loads a graph, in time that
    grows with the square of their number: 20 seconds for a network instead of two.
    """
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    with TemporaryDirectory() as folder, chdir(folder):  # it leaves files where it is if it cannot tell all shapes
        try:
            return SymbolicShapeInference.infer_shapes(model)
        except Exception:  # it raises nothing narrower; the graph is as right without, only slower to load
            return model


def find_licence(name: str) -> str:
    """The terms of a model's weights, as far as they are known."""
    if name in WEIGHTS:
        return f"{WEIGHTS[name].licence} (weights: {WEIGHTS[name].data})"
    return "MIT" if name == "slope" else "the terms of the data that the weights were trained on"


def check_graph(graph: Graph, estimator: Estimator) -> list[Comparison]:
    """Compare at the graph's size, or at two that it was not traced at; too large a difference is an error."""
    least_px = graph.smallest_side_px
    sizes = [(max(height, least_px), max(width, least_px)) for height, width in _CHECKED_SIZES]
    comparisons = compare(graph, estimator, sizes if graph.size is None else [graph.size])
    for one in comparisons:
        for name in CHECKED_OUTPUTS:
            if name in one.largest_px and not one.largest_px[name] <= TOLERANCE_PX:
                raise FreqLFError(
                    f"the exported graph is wrong: at {one.width} x {one.height} pixels {name} differs from the "
                    f"model's by up to {one.largest_px[name]:.2g} px, more than {TOLERANCE_PX} px; nothing was written"
                )
    return comparisons


def compare(graph: Graph, estimator: Estimator, sizes: Sequence[tuple[int, int]]) -> list[Comparison]:
    """Run the graph in ONNX Runtime beside the estimator, on generated light fields of these (height, width)."""
    require_onnx()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(graph.content, options, providers=["CPUExecutionProvider"])
    return [_compare_on(make_light_field(graph.views, size, estimator.lines), session, estimator) for size in sizes]


def _compare_on(light_field: LightField, session: Any, estimator: Estimator) -> Comparison:
    inputs = {line: stack.numpy() for line, stack in read_stacks(light_field, estimator.lines).items()}
    names = [output.name for output in session.get_outputs()]
    start = time.perf_counter()
    maps = session.run(names, inputs)
    onnx_s = time.perf_counter() - start
    estimate = estimator.run(light_field)
    differences = {
        name: np.abs(values[0].astype(np.float64) - getattr(estimate, name))
        for name, values in zip(names, maps, strict=True)
    }
    return Comparison(
        light_field.height,
        light_field.width,
        largest_px={name: _round(values.max()) for name, values in differences.items()},
        usual_px={name: _round(np.quantile(values, 0.999)) for name, values in differences.items()},
        onnx_s=round(onnx_s, 4),
        torch_s=round(estimate.seconds, 4),
    )


def _round(value: float) -> float:
    """Two digits are enough for a difference."""
    return float(f"{value:.2g}")


def make_light_field(views: int, size: tuple[int, int], lines: Sequence[str]) -> LightField:
    """A generated light field of views x views images, black where no line passes."""
    options = SceneOptions(*size, rows=views, columns=views, disparity_range_px=(-2.0, 2.0), highlights=False)
    array: NDArray[np.uint8] = np.zeros((views, views, *size, 3), np.uint8)
    for (u, v), pixels in render_scene(_SEED, options, list_views(views, views, lines)).views.items():
        array[u, v] = pixels
    return LightField.from_array(array)


def describe_export(graph: Graph, estimator: Estimator, comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """What was exported and how well it agrees, for JSON."""
    return {
        "bytes": len(graph.content),
        "model": estimator.name,
        "licence": find_licence(estimator.name),
        "inputs": {line: [1, graph.views, 3, *(graph.size or _AXES.values())] for line in estimator.lines},
        "outputs": list(comparisons[0].largest_px),
        "smallest_side_px": graph.smallest_side_px if graph.size is None else None,
        "opset": graph.opset,
        "tolerance_px": TOLERANCE_PX,
        "comparisons": [asdict(one) for one in comparisons],
        "provenance": describe_run(command="export", torch=torch.__version__, threads=torch.get_num_threads()),
    }
