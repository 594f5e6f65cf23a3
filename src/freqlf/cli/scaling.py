"""`freqlf scaling`: how time and memory grow with the image."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from freqlf.cli.arguments import Repeats, SidePx, Threads
from freqlf.cli.costs import Piece, check_options, measure_and_report
from freqlf.evaluation.tables import Table
from freqlf.inference.compute import Device

if TYPE_CHECKING:
    from freqlf.studies.cost.measurement import Cost

CONTENTS = {
    "tables.md": "time and memory by size, beside the paper's",
    "scaling.png": "the same as a plot",
    "scaling.json": "every run, with the versions and the machine that made it",
}


def run(
    presets: tuple[str, ...] = ("freqlf-small", "freqlf-plus-small"),
    sizes: tuple[SidePx, ...] = (256, 512, 768, 1024),
    repeats: Repeats = 10,
    whole: bool = False,
    device: Device = "auto",
    threads: Threads | None = None,
    out: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Measure time and peak memory of estimates by the paper's protocol, and fit how they grow with the image.

    Each size runs in a fresh process: one pass to warm up, whose peak memory is measured, then the timed ones. The
    weights are untrained, as the cost does not depend on them.

    Args:
        presets: Models to measure; `freqlf` and `freqlf-plus` have the paper's sizes, `slope` is the learning-free one.
        sizes: Sides of the square images in pixels.
        repeats: Runs, of which the mean counts.
        whole: Also measure every model in one piece, not only in tiles as `freqlf estimate` computes.
        device: Where to compute; auto takes CUDA if there is any.
        threads: CPU threads; one per physical core by default.
        out: Folder for the tables, the plot and the JSON.
        overwrite: Replace the files of an earlier measurement; other files in the folder stay.
    """
    check_options(presets, sizes, repeats)
    pieces: list[Piece] = [
        (name, size_px, repeats, in_one)
        for size_px in sorted(set(sizes))
        for name in dict.fromkeys(presets)
        for in_one in ((False, True) if whole else (False,))
    ]
    measure_and_report(
        *("scaling", pieces, report_growth, CONTENTS), device=device, threads=threads, out=out, overwrite=overwrite
    )


def report_growth(costs: "list[Cost]", hardware: str, folder: Path | None) -> tuple[list[Table], dict[str, Any]]:
    """Tables and exponents, and the plot if there is a folder for it."""
    from freqlf.evaluation.literature import read_reference
    from freqlf.outputs.canvas import PAPER_DPI, save_figure
    from freqlf.studies.cost.growth import draw_growth, group_by_model, read_published
    from freqlf.studies.cost.tables import tabulate_growth

    measured = group_by_model(costs)
    if folder is not None:
        save_figure(folder / "scaling.png", draw_growth(measured, read_published()), PAPER_DPI)
    exponents = {
        growth.name: {"time": growth.time_exponent(), "memory": growth.memory_exponent()} for growth in measured
    }
    facts = {"exponents": exponents, "published_on_other_hardware": read_reference("scaling")}
    return tabulate_growth(measured, hardware), facts
