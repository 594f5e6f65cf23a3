"""`freqlf scaling`: how time and memory grow with the image."""

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from freqlf.cli.terminal import print_table, show_progress
from freqlf.errors import FreqLFError
from freqlf.evaluation.tables import Table, to_markdown, to_rich
from freqlf.io.files import replacing_directory, write_json, write_text
from freqlf.provenance import describe_run
from freqlf.threads import use_threads

if TYPE_CHECKING:
    from freqlf.studies.scaling import Growth

CONTENTS = {
    "tables.md": "time and memory by size, beside the paper's",
    "scaling.png": "the same as a plot",
    "scaling.json": "every run, with the versions and the machine that made it",
}


def run(
    presets: tuple[str, ...] = ("freqlf-small", "freqlf-plus-small"),
    sizes: tuple[int, ...] = (256, 512, 768, 1024),
    repeats: int = 10,
    whole: bool = False,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    threads: int | None = None,
    out: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Measure time and peak memory of estimates by the paper's protocol, and fit how they grow with the image.

    Each size runs in a fresh process: one pass to warm up, whose peak memory is measured, then the timed ones. The
    weights are untrained, as the cost does not depend on them.

    Args:
        presets: Models to measure; `freqlf` and `freqlf-plus` have the paper's sizes, `slope` is the learning-free one.
        sizes: Sides of the square images in pixels.
        repeats: The mean of so many runs counts.
        whole: Also measure every model in one piece, not only in tiles as `freqlf estimate` computes.
        device: Where to compute; auto takes CUDA if there is any.
        threads: CPU threads; one per physical core by default.
        out: Folder for the tables, the plot and the JSON.
        overwrite: Replace the files of an earlier measurement; other files in the folder stay.
    """
    if repeats < 1 or min(sizes, default=0) < 32:
        raise FreqLFError(f"--repeats must be at least 1 and --sizes at least 32, not {repeats} and {sizes}")
    import torch

    from freqlf.models.config import find_preset
    from freqlf.studies.benchmark import describe_hardware
    from freqlf.studies.scaling import make_tables
    from freqlf.training.distributed import join_processes
    from freqlf.weights.load import SLOPE

    for name in presets:
        if name != SLOPE:
            find_preset(name)
    use_threads(threads)
    with ExitStack() as stack:
        # Before any work: a folder that cannot be written should not cost the measurement.
        folder = None if out is None else stack.enter_context(replacing_directory(out, overwrite=overwrite))
        here = stack.enter_context(join_processes(device)).device.type
        hardware = describe_hardware(here)
        measured = measure(presets, sorted(set(sizes)), repeats, whole, here)
        tables = make_tables(measured, repeats, hardware)
        if folder is not None:
            facts = {"device": hardware, "threads": torch.get_num_threads(), "torch": torch.__version__}
            write_results(folder, measured, tables, repeats, facts)
    for table in tables:
        print_table(to_rich(table))
    if out is not None:
        for entry, meaning in CONTENTS.items():
            print(f"{out / entry}: {meaning}")


def measure(presets: tuple[str, ...], sizes_px: list[int], repeats: int, whole: bool, device: str) -> "list[Growth]":
    """The cost of every preset at every size, in tiles and, if asked for, in one piece."""
    from freqlf.studies.benchmark import run_in_fresh_process
    from freqlf.studies.scaling import Growth, measure_cost

    rows = [(name, in_one) for name in dict.fromkeys(presets) for in_one in ((False, True) if whole else (False,))]
    growths = {row: Growth(f"{row[0]}, {'in one piece' if row[1] else 'in tiles'}", {}) for row in rows}
    for size_px, (name, in_one) in show_progress([(size, row) for size in sizes_px for row in rows], "measuring"):
        cost = run_in_fresh_process(measure_cost, name, size_px, repeats, whole=in_one, device=device)
        growths[name, in_one].costs[size_px] = cost
    return list(growths.values())


def write_results(
    folder: Path, measured: "list[Growth]", tables: list[Table], repeats: int, facts: dict[str, Any]
) -> None:
    """Write tables.md, scaling.png and scaling.json."""
    from freqlf.evaluation.literature import read_reference
    from freqlf.outputs.canvas import PAPER_DPI, save_figure
    from freqlf.studies.scaling import read_published
    from freqlf.studies.scaling_figure import draw_scaling

    write_text(folder / "tables.md", "\n".join(map(to_markdown, tables)))
    save_figure(folder / "scaling.png", draw_scaling(measured, read_published()), PAPER_DPI)
    report = {
        "provenance": describe_run(command="scaling", **facts),
        "protocol": {
            "repeats": repeats,
            "warm_up": 1,
            "weights": "untrained: the cost does not depend on them",
            "time": "of the network, without reading the views, in seconds",
            "memory": "on CUDA the peak of what was allocated there; else the process's peak above Python, torch and "
            "the weights, in MB",
            "process": "a fresh one for every model and size",
        },
        "models": {
            growth.name: {
                "sizes": {
                    str(size_px): asdict(cost) | {"mean_s": cost.mean_s, "deviation_s": cost.deviation_s}
                    for size_px, cost in growth.costs.items()
                },
                "time_exponent": growth.time_exponent(),
                "memory_exponent": growth.memory_exponent(),
            }
            for growth in measured
        },
        "published_on_other_hardware": read_reference("scaling"),
    }
    write_json(folder / "scaling.json", report)
