"""What `freqlf bench` and `freqlf scaling` share: options checked, costs measured, results written."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freqlf.cli.terminal import print_table, show_progress
from freqlf.errors import FreqLFError
from freqlf.evaluation.tables import Table, to_markdown, to_rich
from freqlf.inference.compute import Device, choose_device
from freqlf.io.files import replacing_directory, write_json, write_text
from freqlf.provenance import describe_run
from freqlf.threads import use_threads

if TYPE_CHECKING:
    from freqlf.studies.cost.measurement import Cost

# The model, the side of the square image in pixels, repeats, and whether the image is computed in one piece.
Piece = tuple[str, int, int, bool]
# From the costs and the hardware's name to the tables and what else belongs into the JSON; draws into the folder.
Report = Callable[["list[Cost]", str, Path | None], tuple[Sequence[Table], dict[str, Any]]]


def check_options(models: Iterable[str], sizes_px: Sequence[int], repeats: int) -> None:
    """Refuse what cannot be measured."""
    from freqlf.models.presets import find_preset
    from freqlf.weights.registry import SLOPE

    if repeats < 1 or min(sizes_px, default=0) < 32:
        raise FreqLFError(f"--repeats must be at least 1 and --sizes at least 32, not {repeats} and {sizes_px}")
    for name in models:
        if name != SLOPE:
            find_preset(name)


def measure_and_report(
    command: str,
    pieces: Sequence[Piece],
    report: Report,
    contents: Mapping[str, str],
    *,
    device: Device,
    threads: int | None,
    out: Path | None,
    overwrite: bool,
) -> None:
    """Measure every piece in a process of its own, print the tables, and write them and a JSON.

    contents: the files in `out` with their meaning; {command}.json and tables.md are among them.
    """
    import torch

    from freqlf.studies.cost.measurement import PROTOCOL, describe_hardware, measure_cost

    here: Device = "cuda" if choose_device(device).type == "cuda" else "cpu"
    use_threads(threads)
    with ExitStack() as stack:
        # Before any work: a folder that cannot be written should not cost the measurement.
        folder = None if out is None else stack.enter_context(replacing_directory(out, overwrite=overwrite))
        hardware = describe_hardware(here)
        costs = [
            measure_cost(model, size_px, repeats, whole=whole, device=here)
            for model, size_px, repeats, whole in show_progress(pieces, "measuring")
        ]
        tables, facts = report(costs, hardware, folder)
        if folder is not None:
            write_text(folder / "tables.md", "\n".join(map(to_markdown, tables)))
            machine = {"device": hardware, "threads": torch.get_num_threads(), "torch": torch.__version__}
            content = {
                "provenance": describe_run(command=command, **machine),
                "protocol": PROTOCOL,
                "costs": [cost.values() for cost in costs],
            }
            write_json(folder / f"{command}.json", content | facts)
    for table in tables:
        print_table(to_rich(table))
    if out is not None:
        for entry, meaning in contents.items():
            print(f"{out / entry}: {meaning}")
