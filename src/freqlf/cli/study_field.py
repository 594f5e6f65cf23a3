"""`freqlf study field`: what Fourier weights should mean on whole scenes."""

from pathlib import Path
from typing import Literal

from freqlf.cli.arguments import SidePx, Workers
from freqlf.cli.terminal import make_progress, print_table
from freqlf.cli.train import load
from freqlf.data.hci import choose_scenes
from freqlf.evaluation.metrics import DEFAULT_BORDER_PX, describe_protocol
from freqlf.io.files import write_json
from freqlf.provenance import describe_run


def run(
    model: str,
    data: Path,
    scenes: str = "training",
    reference_px: SidePx | None = None,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    threads: Workers = 0,
    out: Path | None = None,
) -> None:
    """Score a model that was trained on crops of one size on whole scenes, by every reading of its Fourier weights.

    index: weights belong to the modes of whatever field comes in. frequency: to waves of a length in pixels. off:
    without the Fourier branch. On a crop, the first two are the same.

    Args:
        model: A weight file (.safetensors), a checkpoint (.pt) or the name of packaged weights.
        data: Folder of the benchmark, or any folder with scenes in its layout.
        scenes: Scenes or groups to score on, separated by commas. None that it was trained on.
        reference_px: Side of the crops that it was trained on; by default what the model says.
        device: Where to compute; auto takes CUDA if there is any.
        threads: CPU threads; 0 leaves it to PyTorch.
        out: Where to write the scores as JSON.
    """
    chosen = choose_scenes(data, scenes, "--scenes")

    import torch

    from freqlf.evaluation.tables import to_rich
    from freqlf.studies.field import FIELDS, compare_fields, find_reference_px, tabulate_fields
    from freqlf.studies.headings import ESTIMATES
    from freqlf.training.distributed import join_processes
    from freqlf.weights.load import load_model

    if threads > 0:
        torch.set_num_threads(threads)
    network = load_model(model)
    if reference_px is None:
        reference_px = find_reference_px(network)
    samples = load(chosen, network.lines)
    with join_processes(device) as processes, make_progress() as progress:
        comparison = compare_fields(network.to(processes.device), reference_px, samples, processes)
        found = dict(progress.track(comparison, total=len(FIELDS) + 1, description="scoring"))
    for estimate in ESTIMATES:
        print_table(to_rich(tabulate_fields(found, estimate)))
    if out is not None:
        report = {
            "provenance": describe_run(
                command="study field",
                model=model,
                reference_px=reference_px,
                data=str(data),
                scenes=[scene.name for scene in chosen],
                torch=torch.__version__,
            ),
            "protocol": describe_protocol(DEFAULT_BORDER_PX),
            "fields": {option: validation.summary() for option, validation in found.items()},
        }
        write_json(out, report)
        print(f"wrote {out}")
