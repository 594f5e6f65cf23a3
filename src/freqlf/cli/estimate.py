"""`freqlf estimate`: depth from a user's own light field."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from freqlf.cli.terminal import show_progress
from freqlf.errors import FreqLFError
from freqlf.inference.compute import ComputeOptions
from freqlf.io.files import require_folder
from freqlf.io.viewgrid import InputOptions
from freqlf.lightfield import LightField
from freqlf.threads import use_threads

if TYPE_CHECKING:
    from freqlf.inference.estimate import Estimator


@dataclass(frozen=True)
class Request:
    """What was asked for, the same for all inputs."""

    format: str | None
    input_options: InputOptions
    compute: ComputeOptions
    shear: str
    refocus_px: float | None
    all_in_focus: bool
    overwrite: bool


def run(
    inputs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="INPUT...")],
    out: Path,
    model: str | None = None,
    format: str | None = None,
    memory: str | None = None,
    threads: int | None = None,
    shear: str = "auto",
    refocus: float | None = None,
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
    if not inputs:
        raise FreqLFError("no light field given; name at least one file or folder")
    names = [path.resolve().stem if path.is_file() else path.resolve().name for path in inputs]
    twins = {name for name in names if names.count(name) > 1}
    if twins:
        raise FreqLFError(f"two inputs are called {sorted(twins)[0]!r}, so their results would share a folder")
    # Before any work: a folder that cannot be written should not cost an estimate.
    require_folder(out, overwrite=overwrite or len(inputs) > 1)

    from freqlf.inference.estimate import DEFAULT_MODEL, load_estimator, parse_bytes

    memory_bytes = None if memory is None else parse_bytes(memory)
    use_threads(threads)
    estimator = load_estimator(model or DEFAULT_MODEL, memory_bytes, calibrated=not raw_intervals, compute=compute)
    request = Request(format, reading, compute, shear, refocus, all_in_focus, overwrite)
    failures = 0
    for path, name in show_progress(list(zip(inputs, names, strict=True)), "estimating"):
        try:
            estimate_one(path, out if len(inputs) == 1 else out / name, estimator, request)
        except FreqLFError as error:
            if len(inputs) == 1:
                raise
            failures += 1
            print(f"freqlf: {error}", file=sys.stderr)
    if failures:
        print(f"freqlf: {failures} of {len(inputs)} light fields failed", file=sys.stderr)
    return 2 if failures else 0


def estimate_one(path: Path, directory: Path, estimator: "Estimator", request: Request) -> None:
    """Read one light field, estimate, and write its folder."""
    from freqlf.inference.estimate import shift_estimate
    from freqlf.inference.opening import open_light_field
    from freqlf.outputs.folder import OutputOptions, write_estimate

    require_folder(directory, overwrite=request.overwrite)
    opened = open_light_field(path, request.format, request.input_options)
    for warning in opened.warnings:
        print(f"freqlf: warning: {path}: {warning}", file=sys.stderr)
    shear_px = find_shear_px(opened.light_field, request.shear)
    light_field = opened.light_field if shear_px == 0 else opened.light_field.sheared(shear_px)
    estimate = shift_estimate(estimator(light_field), -shear_px)
    files = write_estimate(
        directory,
        estimate,
        opened.light_field,
        opened.parameters,
        replace(OutputOptions(), refocus_px=request.refocus_px, all_in_focus=request.all_in_focus),
        {
            "command": "estimate",
            "input": str(path),
            "format": opened.format,
            "notes": list(opened.notes),
            "warnings": list(opened.warnings),
            "shear_px": shear_px,
            "device": str(estimator.device),
            "precision": request.compute.precision,
            "compiled": request.compute.compile,
        },
        overwrite=request.overwrite,
    )
    low, high = float(estimate.disparity_px.min()), float(estimate.disparity_px.max())
    print(
        f"{path}: {opened.format}, {opened.light_field.rows} x {opened.light_field.columns} views of "
        f"{opened.light_field.width} x {opened.light_field.height} px, disparity {low:.2f} to {high:.2f} px, "
        f"{estimate.seconds:.1f} s with {estimate.model}; {len(files)} files in {directory}"
    )


def find_shear_px(light_field: LightField, shear: str) -> float:
    """The shear that was asked for, or the one that brings the scene to where the models were trained."""
    if shear != "auto":
        try:
            return float(shear)
        except ValueError:
            raise FreqLFError(f"--shear takes a number of pixels per view step or auto, not {shear!r}") from None
    from freqlf.inference.shear import choose_shear_px, find_middle_disparity_px
    from freqlf.models.config import EPI_LINES
    from freqlf.models.views import read_half_lines

    return choose_shear_px(find_middle_disparity_px(read_half_lines(light_field, EPI_LINES)))
