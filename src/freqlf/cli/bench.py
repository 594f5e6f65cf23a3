"""`freqlf bench`: how fast the models are here, and how much memory they take."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from freqlf.cli.arguments import Repeats, SidePx, Threads
from freqlf.cli.costs import Piece, check_options, measure_and_report
from freqlf.evaluation.tables import Table
from freqlf.inference.compute import Device

if TYPE_CHECKING:
    from freqlf.studies.cost.measurement import Cost

CONTENTS = {
    "tables.md": "times and memory, to paste into a log",
    "bench.json": "the same in full, with the versions and the machine that made it",
}


def run(
    presets: tuple[str, ...] = ("slope", "freqlf-small", "freqlf-plus-small"),
    sizes: tuple[SidePx, ...] = (512, 1024),
    memory_presets: tuple[str, ...] = ("freqlf",),
    repeats: Repeats = 5,
    device: Device = "cpu",
    threads: Threads | None = None,
    out: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Time estimates beside the machine's own matrix product and a network of EPINET's size, and measure their memory.

    The weights are untrained, as the cost does not depend on them. Each model and size runs in a fresh process, in
    turns with the matrix product, and the best times count. Takes some minutes.

    Args:
        presets: Models to time; `slope` is the learning-free one.
        sizes: Sides of the square images in pixels.
        memory_presets: Presets of which only the memory in tiles is measured, at the largest size.
        repeats: Runs, of which the best counts; fewer for images larger than 512 x 512.
        device: Where to compute; auto takes CUDA if there is any.
        threads: CPU threads; one per physical core by default.
        out: Folder for the tables and the JSON.
        overwrite: Replace the files of an earlier measurement; other files in the folder stay.
    """
    check_options((*presets, *memory_presets), sizes, repeats)
    pieces: list[Piece] = [
        (name, size_px, choose_repeats(repeats, size_px), whole)
        for size_px in sorted(set(sizes))
        for name in dict.fromkeys(presets)
        for whole in (False, True)
    ]
    pieces += [(name, max(sizes), 0, False) for name in dict.fromkeys(memory_presets) if name not in presets]

    def report(costs: "list[Cost]", hardware: str, folder: Path | None) -> tuple[list[Table], dict[str, Any]]:
        from freqlf.studies.cost.measurement import time_spectral
        from freqlf.studies.cost.tables import tabulate_speed, tabulate_stages

        spectral = time_spectral(channels=128, size_px=512, repeats=repeats)
        facts = {"spectral": vars(spectral) | {"speedup": spectral.speedup}}
        return [tabulate_speed(costs, spectral, hardware), tabulate_stages(costs)], facts

    measure_and_report(
        *("bench", pieces, report, CONTENTS), device=device, threads=threads, out=out, overwrite=overwrite
    )


def choose_repeats(repeats: Repeats, size_px: int) -> int:
    """So many up to 512 x 512 pixels, and of larger images as many as take about as long; at least two if asked."""
    fewer = round(repeats * min(1.0, (512 / size_px) ** 2))
    return max(fewer, min(repeats, 2))
