"""`freqlf export`: a model for programs that run without PyTorch."""

import json
from pathlib import Path
from typing import Annotated

from freqlf.cli.arguments import SidePx, Threads, Views
from freqlf.cli.terminal import make_progress
from freqlf.errors import FreqLFError
from freqlf.io.files import require_folder, write_bytes
from freqlf.io.schema import Range
from freqlf.threads import use_threads


def run(
    out: Path,
    model: str | None = None,
    size: tuple[SidePx, SidePx] | None = None,
    views: Views = 9,
    opset: Annotated[int, Range(1, 100)] = 17,
    raw_intervals: bool = False,
    threads: Threads | None = None,
) -> None:
    """Export a model as an ONNX graph, and check it against PyTorch in ONNX Runtime before it is written.

    Inputs are one tensor per line of views (horizontal, vertical and for FreqLF+ diagonal, antidiagonal), each
    (1, views, 3, height, width) in [0, 1]. Outputs are disparity_px, mean_px, deviation_px, lower_px and upper_px, each
    (1, height, width), as `freqlf estimate` reports them. Both estimates must agree within 0.001 px everywhere on
    generated light fields, for graphs of any size at two sizes that they were not traced at. A summary is
    printed as JSON.

    Args:
        out: The file to write, *.onnx.
        model: Packaged weights, a .safetensors or .pt file, or "slope", which needs no weights. See `freqlf models`.
        size: Height and width of the images; any size by default.
        views: Views per line, odd. The paper's model takes the number that it was built for.
        opset: Version of ONNX's operators, 16 to 20.
        raw_intervals: Give the intervals as the network predicts them, without the calibration of its weights.
        threads: CPU threads; one per physical core by default.
    """
    if out.suffix != ".onnx":
        raise FreqLFError(f"ONNX graphs are called *.onnx, not {out.name}")
    from freqlf.inference.estimate import FAST_MODEL, load_estimator
    from freqlf.inference.export import check_graph, describe_export, export_graph, require_onnx

    require_onnx()
    require_folder(out.parent, overwrite=True)  # before a minute of tracing
    use_threads(threads)
    estimator = load_estimator(model or FAST_MODEL, calibrated=not raw_intervals, device="cpu")
    with make_progress() as progress:
        task = progress.add_task("tracing", total=3)
        graph = export_graph(estimator, views, size, opset)
        progress.update(task, advance=2, description="checking")
        comparisons = check_graph(graph, estimator)
    write_bytes(out, graph.content)
    print(json.dumps({"file": str(out), **describe_export(graph, estimator, comparisons)}, indent=2))
