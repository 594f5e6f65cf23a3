"""`freqlf estimate`: depth from a user's own light field."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from freqlf.cli.arguments import Disparity, Threads
from freqlf.cli.terminal import make_progress
from freqlf.errors import FreqLFError, to_plain
from freqlf.inference.compute import ComputeOptions
from freqlf.io.files import locking_folder
from freqlf.io.viewgrid import InputOptions
from freqlf.threads import use_threads

if TYPE_CHECKING:
    from freqlf.outputs.estimate import Estimate


def run(
    inputs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="INPUT...")],
    out: Path,
    model: str | None = None,
    fast: bool = False,
    format: str | None = None,
    memory: str | None = None,
    threads: Threads | None = None,
    shear: str = "auto",
    refocus: Disparity | None = None,
    all_in_focus: bool = False,
    raw_intervals: bool = False,
    overwrite: bool = False,
    compute: Annotated[ComputeOptions, tyro.conf.arg(name="")] = ComputeOptions(),  # noqa: B008
    reading: Annotated[InputOptions, tyro.conf.arg(name="")] = InputOptions(),  # noqa: B008
) -> int:
    """Estimate the disparity, depth and uncertainty of light fields in (nearly) any format.

    INPUT is a folder of views (HCI, numbered by row and column, Stanford archive), a lenslet image, an image of tiled
    views, an HDF5, LFToolbox or NumPy file. One input is written to OUT, several to folders of their names in OUT.
    A bad input does not stop the others; the exit code is then 2.

    Args:
        inputs: Light fields: files or folders.
        out: Folder for the results.
        model: Packaged weights, a .safetensors or .pt file, or "slope", which needs no weights. See `freqlf models`.
        fast: Take the packaged weights that need least time instead of the most accurate ones.
        format: Format of the inputs, if it cannot be told from the files.
        memory: What the program may hold at most, such as 2GB or 800MB; half of what is free by default. Tiles are
            made to fit, results stay equal.
        threads: CPU threads; one per physical core by default.
        shear: Pixels per view step to shear by before the estimate (undone afterwards), or "auto".
        refocus: Also write an image refocused at this disparity.
        all_in_focus: Also write an image in which everything is sharp.
        raw_intervals: Give the intervals as the network predicts them, without the calibration of its weights.
        overwrite: Replace results that are there.
        compute: How to run the model.
        reading: How to read inputs that do not describe themselves.
    """
    folders = choose_folders(inputs, out)
    failures = 0
    # Before any work, and before libraries are loaded: what cannot be read or written should cost nothing.
    with locking_folder(out, overwrite=overwrite or len(inputs) > 1), make_progress() as progress:
        if not any(path.exists() for path in inputs):
            raise FreqLFError(f"{inputs[0]} does not exist")
        from freqlf.inference.estimate import DEFAULT_MODEL, load_estimator  # imports torch

        use_threads(threads)
        loading = {"fast": fast, "memory": memory, "calibrated": not raw_intervals, **asdict(compute)}
        estimator = load_estimator(model or DEFAULT_MODEL, **loading)
        task = progress.add_task("reading")

        def show(stage: str, done: int, total: int) -> None:
            progress.update(task, description=stage, completed=done, total=total)

        for path, folder in folders.items():
            try:
                with locking_folder(folder, overwrite=overwrite):
                    estimate = estimator(path, format=format, shear=shear, progress=show, **asdict(reading))
                    for warning in estimate.warnings:
                        print(f"freqlf: warning: {to_plain(str(path))}: {warning}", file=sys.stderr)
                    files = estimate.save(folder, overwrite=overwrite, refocus_px=refocus, all_in_focus=all_in_focus)
                print(to_plain(f"{path}: {describe(estimate)}; {len(files)} files in {folder}"))
            except FreqLFError as error:
                if len(inputs) == 1:
                    raise
                failures += 1
                print(f"freqlf: {error}", file=sys.stderr)
    if failures:
        print(f"freqlf: {failures} of {len(inputs)} light fields failed", file=sys.stderr)
    return 2 if failures else 0


def choose_folders(inputs: tuple[Path, ...], out: Path) -> dict[Path, Path]:
    """Where the result of each input goes: to `out`, or to a folder of its name there."""
    if not inputs:
        raise FreqLFError("no light field given; name at least one file or folder")
    names = [path.resolve().stem if path.is_file() else path.resolve().name for path in inputs]
    twins = sorted({name for name in names if names.count(name) > 1})
    if twins:
        raise FreqLFError(f"two inputs are called {twins[0]!r}, so their results would share a folder")
    return {path: out if len(inputs) == 1 else out / name for path, name in zip(inputs, names, strict=True)}


def describe(estimate: "Estimate") -> str:
    """An estimate in one line."""
    light_field, disparity_px = estimate.light_field, estimate.disparity_px
    return (
        f"{estimate.facts['format']}, {light_field.rows} x {light_field.columns} views of "
        f"{light_field.width} x {light_field.height} px, "
        f"disparity {disparity_px.min():.2f} to {disparity_px.max():.2f} px, "
        f"{estimate.seconds:.1f} s with {estimate.model}"
    )
