"""`freqlf bench`: how fast the networks are here."""

from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from freqlf.files import write_json
from freqlf.provenance import describe_run
from freqlf.terminal import print_table, show_progress


def run(
    presets: tuple[str, ...] = ("freqlf-small", "freqlf-plus-small"),
    sizes: tuple[int, ...] = (512,),
    repeats: int = 5,
    threads: int | None = None,
    out: Path | None = None,
) -> None:
    """Time the Fourier branch and the presets, beside the machine's own matrix product in the same run.

    Args:
        presets: Presets to time.
        sizes: Sides of the square images in pixels.
        repeats: The best of so many runs counts.
        threads: CPU threads; all cores by default.
        out: Where to write the figures as JSON.
    """
    import torch

    from freqlf.benchmark import time_preset, time_spectral
    from freqlf.config import find_preset
    from freqlf.errors import FreqLFError

    for name in presets:
        find_preset(name)
    if repeats < 1 or min(sizes, default=0) < 32:
        raise FreqLFError(f"--repeats must be at least 1 and --sizes at least 32, not {repeats} and {sizes}")
    if threads is not None:
        torch.set_num_threads(threads)

    spectral = time_spectral(channels=128, size_px=512, repeats=repeats)
    print(
        f"Fourier branch, C=128, 512x512: {1e3 * spectral.truncated_s:.0f} ms by truncated transforms, "
        f"{1e3 * spectral.fft_s:.0f} ms by FFT: {spectral.speedup:.1f} times faster"
    )
    table = Table("preset", "image", "time [s]", "GFLOP/s", "GEMM GFLOP/s", "share", "peak memory [MB]")
    timings = []
    for preset, size_px in show_progress([(name, size) for size in sizes for name in presets], "timing"):
        timing = time_preset(preset, size_px, repeats)
        timings.append(timing)
        table.add_row(
            preset,
            f"{size_px} x {size_px}",
            f"{timing.seconds:.2f}",
            f"{timing.gflops:.0f}",
            f"{timing.gemm_gflops:.0f}",
            f"{100 * timing.share_of_gemm:.0f} %",
            f"{timing.peak_mb:,.0f}",
        )
    print_table(table)
    if out is not None:
        report = {
            "provenance": describe_run(command="bench", threads=torch.get_num_threads(), torch=torch.__version__),
            "spectral": asdict(spectral) | {"speedup": spectral.speedup},
            "presets": [
                asdict(timing) | {"gflops": timing.gflops, "share_of_gemm": timing.share_of_gemm} for timing in timings
            ],
        }
        write_json(out, report)
        print(f"wrote {out}")
