"""`freqlf bench`: how fast the networks are here, and how much memory they take."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from freqlf.cli.terminal import make_progress, print_table
from freqlf.errors import FreqLFError
from freqlf.evaluation.tables import Row, Table, format_number, to_markdown, to_rich
from freqlf.io.files import replacing_directory, write_json, write_text
from freqlf.provenance import describe_run
from freqlf.threads import use_threads

if TYPE_CHECKING:
    from freqlf.studies.benchmark import PresetTiming, SpectralTiming

CONTENTS = {
    "tables.md": "times and memory, to paste into a log",
    "bench.json": "the same in full, with the versions and the machine that made it",
}

# (preset, side of the image in px, whether in one piece) to the peak in MB of a process that makes one estimate
Peaks = dict[tuple[str, int, bool], float]


def run(
    presets: tuple[str, ...] = ("freqlf-small", "freqlf-plus-small"),
    sizes: tuple[int, ...] = (512, 1024),
    memory_presets: tuple[str, ...] = ("freqlf",),
    repeats: int = 5,
    threads: int | None = None,
    out: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Time estimates in tiles and in one piece beside the machine's own matrix product, and measure their memory.

    The weights are untrained, as the cost does not depend on them. What is compared is measured in turns, and the best
    times count; memory is the peak of a fresh process, Python and torch included. Takes some minutes.

    Args:
        presets: Presets to time.
        sizes: Sides of the square images in pixels.
        memory_presets: Presets of which only the memory in tiles is measured, at the largest size.
        repeats: The best of so many runs counts; of images larger than 512 x 512, fewer are made.
        threads: CPU threads; one per physical core by default.
        out: Folder for the tables and the JSON.
        overwrite: Replace the files of an earlier measurement; other files in the folder stay.
    """
    if repeats < 1 or min(sizes, default=0) < 32:
        raise FreqLFError(f"--repeats must be at least 1 and --sizes at least 32, not {repeats} and {sizes}")
    import torch

    from freqlf.models.config import find_preset
    from freqlf.studies.benchmark import describe_hardware, time_spectral

    for name in (*presets, *memory_presets):
        find_preset(name)
    use_threads(threads)
    with ExitStack() as stack:
        # Before any work: a folder that cannot be written should not cost the measurement.
        folder = None if out is None else stack.enter_context(replacing_directory(out, overwrite=overwrite))
        with measuring("Fourier branch, C=128, 512 x 512"):
            spectral = time_spectral(channels=128, size_px=512, repeats=repeats)
        images = [(preset, size_px) for size_px in sorted(set(sizes)) for preset in dict.fromkeys(presets)]
        timings = measure_times(images, repeats)
        pieces = [(*image, whole) for image in images for whole in (False, True)]
        pieces += [(name, max(sizes), False) for name in dict.fromkeys(memory_presets) if name not in presets]
        peaks = measure_peaks(pieces)
        table = make_table(spectral, timings, peaks, describe_hardware())
        if folder is not None:
            write_text(folder / "tables.md", to_markdown(table))
            facts = {"device": describe_hardware(), "threads": torch.get_num_threads(), "torch": torch.__version__}
            report = {"provenance": describe_run(command="bench", **facts)}
            write_json(folder / "bench.json", report | describe(spectral, timings, peaks))
    print_table(to_rich(table))
    if out is not None:
        for entry, meaning in CONTENTS.items():
            print(f"{out / entry}: {meaning}")


@contextmanager
def measuring(what: str) -> Iterator[None]:
    """Show what is being measured, and say how long that took."""
    start = time.perf_counter()
    with make_progress() as progress:
        progress.add_task(what, total=None)
        yield
    print(f"{what}: measured in {time.perf_counter() - start:.0f} s", flush=True)


def measure_times(images: Sequence[tuple[str, int]], repeats: int) -> "list[PresetTiming]":
    """Times of presets on images of a size."""
    from freqlf.studies.benchmark import choose_repeats, time_preset

    timings = []
    for number, (preset, size_px) in enumerate(images, 1):
        with measuring(f"time {number} of {len(images)}: {preset}, {size_px} x {size_px}"):
            timings.append(time_preset(preset, size_px, choose_repeats(repeats, size_px)))
    return timings


def measure_peaks(pieces: Sequence[tuple[str, int, bool]]) -> Peaks:
    """Memory of presets on images of a size, in tiles or in one piece."""
    from freqlf.studies.benchmark import measure_peak_mb

    peaks: Peaks = {}
    for number, (preset, size_px, whole) in enumerate(pieces, 1):
        how = "in one piece" if whole else "in tiles"
        with measuring(f"memory {number} of {len(pieces)}: {preset}, {size_px} x {size_px}, {how}"):
            peaks[preset, size_px, whole] = measure_peak_mb(preset, size_px, whole=whole)
    return peaks


def make_table(spectral: "SpectralTiming", timings: "Sequence[PresetTiming]", peaks: Peaks, hardware: str) -> Table:
    """One row for each preset and size; presets that were not timed have their memory only."""
    timed = {(timing.preset, timing.size_px): timing for timing in timings}

    def row(preset: str, size_px: int) -> Row:
        timing = timed.get((preset, size_px))
        rates = ("-",) * 4 if timing is None else format_timing(timing)
        memory = [format_number(peaks.get((preset, size_px, whole)), 0) for whole in (False, True)]
        return preset, f"{size_px} x {size_px}", *rates, *memory

    return Table(
        "estimates in tiles and in one piece",
        ("preset", "image", "tiles [s]", "whole [s]", "GFLOP/s of GEMM", "share", "tiles [MB]", "whole [MB]"),
        tuple(row(*image) for image in dict.fromkeys((preset, size_px) for preset, size_px, _ in peaks)),
        notes=(
            f"Here: {hardware}; untrained weights, on which the cost does not depend.",
            "Time: the best run, without reading the views. Rate: convolutions and products over all of the time in "
            "tiles, beside a large matrix product. Memory: peak of a fresh process, Python and torch included.",
            f"Fourier branch, C={spectral.channels}, {spectral.size_px} x {spectral.size_px}: "
            f"{1e3 * spectral.truncated_s:.0f} ms by truncated transforms, {1e3 * spectral.fft_s:.0f} ms by FFT: "
            f"{spectral.speedup:.1f} times faster.",
        ),
    )


def format_timing(timing: "PresetTiming") -> Row:
    """The four cells of the table that are about time."""
    return (
        f"{timing.tiled_s:.2f}",
        f"{timing.whole_s:.2f}",
        f"{timing.gflops:.0f} of {timing.gemm_gflops:.0f}",
        f"{100 * timing.share_of_gemm:.0f} %",
    )


def describe(
    spectral: "SpectralTiming", timings: "Sequence[PresetTiming]", peaks: Peaks
) -> dict[str, dict[str, object] | list[dict[str, object]]]:
    """The measurements for JSON."""
    return {
        "spectral": asdict(spectral) | {"speedup": spectral.speedup},
        "presets": [
            asdict(timing) | {"gflops": timing.gflops, "share_of_gemm": timing.share_of_gemm} for timing in timings
        ],
        "peaks": [
            {"preset": preset, "size_px": size_px, "whole": whole, "peak_mb": peak_mb}
            for (preset, size_px, whole), peak_mb in peaks.items()
        ],
    }
