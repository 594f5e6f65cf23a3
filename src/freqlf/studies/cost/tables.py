"""Measured costs as tables."""

from collections.abc import Callable, Sequence

from freqlf.evaluation.literature import read_reference
from freqlf.evaluation.tables import Row, Table, format_number
from freqlf.studies.cost.growth import Growth, read_published
from freqlf.studies.cost.measurement import Cost, SpectralTiming


def tabulate_speed(costs: Sequence[Cost], spectral: SpectralTiming, hardware: str) -> Table:
    """For `freqlf bench`: one row for each model and size, in tiles beside in one piece."""
    measured = {(cost.model, cost.size_px, cost.whole): cost for cost in costs}

    def row(model: str, size_px: int) -> Row:
        ways = [measured.get((model, size_px, whole)) for whole in (False, True)]
        seconds = [format_number(cost.best_s if cost else None, 2) for cost in ways]
        memory = [format_number(cost.process_mb if cost else None, 0) for cost in ways]
        faster = ways[0].times_faster if ways[0] else None
        ratio = "-" if faster is None else f"{faster:.1f} x"
        return model, f"{size_px} x {size_px}", *seconds, ratio, *_format_rate(ways[0]), *memory

    return Table(
        "estimates in tiles and in one piece",
        (
            "model",
            "image",
            "tiles [s]",
            "whole [s]",
            "EPINET-size",
            "GFLOP/s of GEMM",
            "share",
            "tiles [MB]",
            "whole [MB]",
        ),
        tuple(row(*image) for image in dict.fromkeys((cost.model, cost.size_px) for cost in costs)),
        notes=(
            f"Here: {hardware}; untrained weights, on which the cost does not depend.",
            "Time: the best run, without reading the views. Rate: convolutions and products over all of the time in "
            "tiles, beside a large matrix product. Memory: peak of a fresh process, Python and torch included.",
            "EPINET-size: how many times longer a network of EPINET's size takes (5.1 million weights, as published), "
            "measured in turns, on a strip of the image.",
            f"Fourier branch, C={spectral.channels}, {spectral.size_px} x {spectral.size_px}: "
            f"{1e3 * spectral.truncated_s:.0f} ms by truncated transforms, {1e3 * spectral.fft_s:.0f} ms by FFT: "
            f"{spectral.speedup:.1f} times faster.",
        ),
    )


def tabulate_stages(costs: Sequence[Cost]) -> Table:
    """For `freqlf bench`: where the time of estimates in tiles goes, in seconds."""
    tiled = [cost for cost in costs if not cost.whole and cost.stages_s]
    stages = list(dict.fromkeys(stage for cost in tiled for stage in cost.stages_s))

    def row(cost: Cost) -> Row:
        times = [format_number(cost.stages_s.get(stage), 2) for stage in stages]
        return cost.model, f"{cost.size_px} x {cost.size_px}", *times

    notes = ("One estimate; what comes before a stage, such as packing the views, counts to it.",)
    return Table("stages of estimates in tiles [s]", ("model", "image", *stages), tuple(map(row, tiled)), notes=notes)


def tabulate_growth(measured: Sequence[Growth], hardware: str) -> list[Table]:
    """For `freqlf scaling`: time and memory by size; the paper's numbers stand below a line."""
    sizes_px = sorted({size_px for growth in measured for size_px in growth.costs})
    repeats = max(len(cost.seconds) for growth in measured for cost in growth.costs.values())
    headings = ("model", *(f"{size_px} x {size_px}" for size_px in sizes_px), "exponent")
    notes = (
        f"Here: {hardware}; untrained weights, on which the cost does not depend; reading the views is not included.",
        f"The paper's rows are of other hardware and do not compare: {read_reference('scaling')['hardware']}.",
        "Exponent: a of cost = constant * N^a, N = height * width.",
    )
    peak = (
        "Peak: on CUDA what was allocated there; on a CPU what the process held above Python, torch and the weights, "
        "with the views in it."
    )

    def table(title: str, show: Callable[[Cost], str], exponent: Callable[[Growth], float | None], *more: str) -> Table:
        def row(growth: Growth) -> Row:
            cells = [show(growth.costs[size_px]) if size_px in growth.costs else "-" for size_px in sizes_px]
            return growth.name, *cells, format_number(exponent(growth), 2)

        rows, published = tuple(map(row, measured)), tuple(map(row, read_published()))
        return Table(title, headings, rows, published, notes=(*notes, *more))

    return [
        table(f"time in seconds, one warm-up, mean of {repeats}", _format_time, Growth.time_exponent),
        table("peak memory in MB", lambda cost: f"{cost.peak_mb:,.0f}", Growth.memory_exponent, peak),
    ]


def _format_time(cost: Cost) -> str:
    mean = format_number(cost.mean_s, 3)
    return mean if len(cost.seconds) < 2 else f"{mean} ± {format_number(cost.deviation_s, 3)}"


def _format_rate(cost: Cost | None) -> Row:
    """The achieved rate beside the matrix product's, and their ratio."""
    if cost is None or cost.gflops is None or cost.share_of_gemm is None:
        return "-", "-"
    return f"{cost.gflops:.0f} of {cost.gemm_gflops:.0f}", f"{100 * cost.share_of_gemm:.0f} %"
