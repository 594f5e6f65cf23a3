"""`freqlf data synth`: generate light fields with exact ground truth."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from freqlf.cli.arguments import Disparity, Scenes, SidePx, Views
from freqlf.cli.terminal import make_progress
from freqlf.data.hci import Scene, write_scene
from freqlf.errors import FreqLFError
from freqlf.io.files import locking_folder, replacing_directory
from freqlf.io.schema import Amount, Seed

if TYPE_CHECKING:  # the module imports torch
    from freqlf.data.synthetic import SceneOptions

Spread = Amount | tuple[Amount, Amount]


def run(
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")],
    scenes: Scenes = 10,
    seed: Seed = 0,
    size: SidePx = 512,
    height: SidePx | None = None,
    views: Views = 9,
    disparity_range: tuple[Disparity, Disparity] = (-4.0, 4.0),
    layout: str | None = None,
    noise: Spread = 0.0,
    blur: Spread = 0.0,
    exposure_jitter: Spread = 0.0,
    highlights: bool = True,
    bits: Literal[8, 16] = 8,
    overwrite: bool = False,
) -> None:
    """Generate light fields with exact ground truth, in the layout of the HCI benchmark.

    Scenes that are there already are kept, so that an interrupted run can be taken up again. Noise, blur and
    exposure jitter are one number, or two: then each scene draws its own between them.

    Args:
        out: Folder for the scenes.
        scenes: How many; they are called synth_NNNNNN, after their seeds.
        seed: Seed of the first scene; the others count up from it.
        size: Width of the views in pixels, and their height unless that is given.
        height: Height of the views in pixels.
        views: Number of views per row and per column; odd.
        disparity_range: Lowest and highest disparity of all scenes, in pixels per view step.
        layout: Only one kind of scene: room, cutouts, relief, clutter, foliage, studio or chart.
        noise: Standard deviation of the sensor noise, as a fraction of white.
        blur: Standard deviation of the blur in pixels.
        exposure_jitter: Standard deviation of the brightness between the views, as a fraction.
        highlights: Bright spots that move unlike the surface they are on, in some scenes.
        bits: Bits per channel, 8 or 16.
        overwrite: Generate again what is there already.
    """
    from freqlf.data.synthetic import SceneOptions, render_scene  # imports torch

    options = SceneOptions(
        height_px=size if height is None else height,
        width_px=size,
        rows=views,
        columns=views,
        disparity_range_px=disparity_range,
        layout=layout,
        noise=noise,
        blur_px=blur,
        exposure_jitter=exposure_jitter,
        highlights=highlights,
        bit_depth=bits,
    )
    if scenes < 1 or seed < 0:
        raise FreqLFError(f"there must be at least 1 scene and the seed must not be negative, not {scenes} and {seed}")
    seeds = {f"synth_{number:06d}": number for number in range(seed, seed + scenes)}
    missing = [name for name in seeds if overwrite or not _is_there(out / name, options)]
    with locking_folder(out), make_progress() as progress:  # before minutes of rendering
        everything = progress.add_task("scenes", total=len(missing))
        for name in missing:
            task = progress.add_task(name, total=options.rows * options.columns)

            def advance(task: int = task) -> None:
                progress.advance(task)  # type: ignore[arg-type]

            made = render_scene(seeds[name], options, on_view=advance)
            with replacing_directory(out, overwrite=True) as folder:
                write_scene(folder / name, made.views, made.disparity_px, made.parameters, made.valid_mask)
            progress.remove_task(task)
            progress.advance(everything)
    kept = f", kept {len(seeds) - len(missing)} that were there" if len(missing) < len(seeds) else ""
    print(f"{out}: wrote {len(missing)} scenes of {views} x {views} views{kept}")


def _is_there(directory: Path, options: "SceneOptions") -> bool:
    """Whether the scene exists; it is an error if it has another size, for then it would be mixed with the new ones."""
    if not directory.exists():
        return False
    there = Scene(directory).parameters
    found = (there.width_px, there.height_px, there.num_cams_x, there.num_cams_y)
    wanted = (options.width_px, options.height_px, options.columns, options.rows)
    if found != wanted:
        raise FreqLFError(
            f"{directory} has {found[0]} x {found[1]} pixels and {found[2]} x {found[3]} views, "
            f"not {wanted[0]} x {wanted[1]} and {wanted[2]} x {wanted[3]}; add --overwrite, or choose another folder"
        )
    return True
