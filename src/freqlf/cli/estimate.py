"""`freqlf estimate`: depth from a user's own light field."""

import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from freqlf.cli.arguments import Disparity, Threads
from freqlf.cli.terminal import StageBar, make_progress
from freqlf.errors import FreqLFError, to_plain
from freqlf.inference.compute import ComputeOptions
from freqlf.io.camera import CameraOptions
from freqlf.io.detect import find_light_fields
from freqlf.io.files import locking_folder, write_text
from freqlf.io.schema import Range
from freqlf.io.viewgrid import InputOptions
from freqlf.threads import use_threads

if TYPE_CHECKING:
    from freqlf.inference.estimate import Estimator
    from freqlf.outputs.estimate import Estimate


@dataclass(frozen=True)
class OutputFlags:
    """What is written beside the maps.

    Attributes:
        refocus: Also write an image refocused at this disparity.
        all_in_focus: Also write an image in which everything is sharp.
        poses: Also write the views with where they were taken from, for nerfstudio and LLFF. Needs a camera.
        max_interval: Points are left out whose interval is wider than this share of the scene's range of disparities.
        open: Open the result in the browser, as `freqlf view` shows it.
    """

    refocus: Disparity | None = None
    all_in_focus: bool = False
    poses: bool = False
    max_interval: Annotated[float, Range(0.001, 1000)] = 0.25
    open: bool = False


def run(
    inputs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="INPUT...")],
    out: Path,
    model: str | None = None,
    fast: bool = False,
    format: str | None = None,
    recursive: bool = False,
    shard: str | None = None,
    overwrite: bool = False,
    memory: str | None = None,
    threads: Threads | None = None,
    shear: str = "auto",
    raw_intervals: bool = False,
    output: Annotated[OutputFlags, tyro.conf.OmitArgPrefixes] = OutputFlags(),  # noqa: B008
    camera: Annotated[CameraOptions, tyro.conf.OmitArgPrefixes] = CameraOptions(),  # noqa: B008
    reading: Annotated[InputOptions, tyro.conf.OmitArgPrefixes] = InputOptions(),  # noqa: B008
    compute: Annotated[ComputeOptions, tyro.conf.OmitArgPrefixes] = ComputeOptions(),  # noqa: B008
) -> int:
    """Estimate the disparity, depth and uncertainty of light fields in (nearly) any format.

    INPUT is a folder of views (HCI, numbered by row and column, Stanford archive), a lenslet image, an image of tiled
    views, an HDF5, LFToolbox or NumPy file. One input is written to OUT, several to folders of their names in OUT.
    A bad input does not stop the others; the exit code is then 2.

    For example, what most need:   freqlf estimate my_capture --out result --open

    Depth from two known distances:   freqlf estimate my_capture --out result --near-m 0.4 --far-m 2.5

    All light fields in a folder, part 3 of 16:   freqlf estimate captures --out results --recursive --shard 3/16

    Args:
        inputs: Light fields: files or folders.
        out: Folder for the results.
        model: Packaged weights, a .safetensors or .pt file, or "slope", which needs no weights. See `freqlf models`.
        fast: Take the packaged weights that need least time instead of the most accurate ones.
        format: Format of the inputs, if it cannot be told from the files.
        recursive: Take all light fields in the folders that are given; results go to folders of the same names in OUT.
        shard: The part I of N, as in 3/16, of the inputs, for job arrays: all jobs may write to one OUT at once.
        overwrite: Replace results that are there.
        memory: What the program may hold at most, such as 2GB or 800MB; half of what is free by default. Tiles are
            made to fit, results stay equal.
        threads: CPU threads; one per physical core by default.
        shear: Pixels per view step to shear by before the estimate (undone afterwards), or "auto".
        raw_intervals: Give the intervals as the network predicts them, without the calibration of its weights.
        output: What is written beside the maps.
        camera: What is known about the camera, for depth in mm. It counts before what the files say.
        reading: How to read inputs that do not describe themselves, and which of their views.
        compute: How to run the model.
    """
    many = recursive or shard is not None or len(inputs) > 1
    folders = choose_folders(find_inputs(inputs) if recursive else inputs, out, inputs if recursive else (), many)
    folders = choose_shard(folders, shard)
    if not folders:
        print(f"nothing to do: there are fewer light fields than parts of {shard}")
        return 0
    if output.open and len(folders) > 1:
        raise FreqLFError("--open shows one result; leave it out for several light fields")
    failures = 0
    # Before any work, and before libraries are loaded: what cannot be read or written should cost nothing.
    with locking_folder(out if shard is None else next(iter(folders.values())), overwrite=overwrite or many):
        if not any(path.exists() for path in folders):
            raise FreqLFError(f"{next(iter(folders))} does not exist")
        from freqlf.inference.estimate import DEFAULT_MODEL, load_estimator  # imports torch

        use_threads(threads)
        loading = {"fast": fast, "memory": memory, "calibrated": not raw_intervals, **asdict(compute)}
        estimator = load_estimator(model or DEFAULT_MODEL, **loading)
        options = {"format": format, "shear": shear, **asdict(reading), **asdict(camera)}
        with make_progress() as progress:
            for number, (path, folder) in enumerate(folders.items(), start=1):
                title = path.name if len(folders) == 1 else f"{path.name} ({number} of {len(folders)})"
                bar = StageBar(progress, to_plain(title))
                try:
                    with locking_folder(folder, overwrite=overwrite):
                        _estimate_one(estimator, path, folder, options, output, bar, overwrite=overwrite)
                except FreqLFError as error:
                    if not many:
                        raise
                    failures += 1
                    print(f"freqlf: {error}", file=sys.stderr)
                finally:
                    bar.remove()
    if failures:
        print(f"freqlf: {failures} of {len(folders)} light fields failed", file=sys.stderr)
    if output.open and not failures:
        _open_page(next(iter(folders.values())))
    return 2 if failures else 0


def _estimate_one(
    estimator: "Estimator",
    path: Path,
    folder: Path,
    options: dict[str, object],
    output: OutputFlags,
    bar: StageBar,
    *,
    overwrite: bool,
) -> None:
    """Estimate a light field, write the result, and say what was done."""
    if bar.is_shown:
        bar.plan(estimator.foresee_stages())
    estimate = estimator(path, progress=bar.show, **options)  # type: ignore[arg-type]
    for warning in estimate.warnings:
        print(f"freqlf: warning: {to_plain(f'{path}: {warning}')}", file=sys.stderr)
    bar.show("writing", 0, 1)
    files = estimate.save(
        folder,
        overwrite=overwrite,
        refocus_px=output.refocus,
        all_in_focus=output.all_in_focus,
        poses=output.poses,
        max_interval=output.max_interval,
    )
    print(to_plain(f"{path}: {describe(estimate)}; {len(files)} files in {folder}"))
    for note in estimate.notes:
        print(to_plain(f"  {note}"))


def _open_page(folder: Path) -> None:
    """Make the page of a result, and let the browser show it."""
    import webbrowser

    from freqlf.cli.view import build_page
    from freqlf.outputs.viewer.estimates import PAGE

    page = folder / PAGE
    write_text(page, build_page(folder))
    print(f"wrote {page}" if webbrowser.open(page.resolve().as_uri()) else f"wrote {page}; open it in a browser")


def describe(estimate: "Estimate") -> str:
    """An estimate in one line."""
    from freqlf.outputs.pointcloud import find_span_px

    light_field = estimate.light_field
    low_px, high_px = find_span_px(estimate.disparity_px)
    return (
        f"{estimate.facts['format']}, {light_field.rows} x {light_field.columns} views of "
        f"{light_field.width} x {light_field.height} px, "
        f"disparity {low_px:.2f} to {high_px:.2f} px (98 % of the pixels), "
        f"{estimate.seconds:.1f} s with {estimate.model}"
    )


def find_inputs(roots: Sequence[Path]) -> tuple[Path, ...]:
    """All light fields in folders, in the order of their names; files are taken as they are."""
    found = [path for root in roots for path in (find_light_fields(root) if root.is_dir() else [root])]
    if roots and not found:
        raise FreqLFError(f"no light field in {roots[0]}; give a folder that holds some, in any depth")
    return tuple(dict.fromkeys(found))


def choose_folders(inputs: Sequence[Path], out: Path, roots: Sequence[Path], many: bool) -> dict[Path, Path]:
    """Where the result of each input goes: to `out`, or, of many, to a folder of its name there.

    roots: the folders in which inputs were found; their names below them stay, so that equal names do not meet.
    """
    if not inputs:
        raise FreqLFError("no light field given; name at least one file or folder")
    names = [_name(path, roots) for path in inputs]
    twins = sorted({str(name) for name in names if names.count(name) > 1})
    if twins:
        raise FreqLFError(f"two inputs are called {twins[0]!r}, so their results would share a folder")
    return {path: out / name if many else out for path, name in zip(inputs, names, strict=True)}


def _name(path: Path, roots: Sequence[Path]) -> Path:
    """The path below the root that it was found in, else its name; without the ending of a file."""
    for root in roots:
        if path != root and path.is_relative_to(root):
            below = path.relative_to(root)
            below = below.with_suffix("") if path.is_file() else below
            return below if len(roots) == 1 else Path(root.resolve().name) / below
    full = path.resolve()
    return Path(full.stem if path.is_file() else full.name)


def choose_shard(folders: dict[Path, Path], shard: str | None) -> dict[Path, Path]:
    """Every N-th of them from the I-th on, for a shard "I/N"; all of them for None."""
    if shard is None:
        return folders
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", shard.strip())
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise FreqLFError(f"--shard takes a part and the number of parts, such as 3/16, not {shard[:20]!r}")
    return dict(islice(folders.items(), int(match[1]) - 1, None, int(match[2])))
