"""`freqlf demo`: something to look at, without any data at hand."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import Progress

from freqlf.cli.arguments import SidePx, Views
from freqlf.cli.terminal import make_progress
from freqlf.cli.view import build_page
from freqlf.data.hci import Scene, write_scene
from freqlf.evaluation.metrics import score_map
from freqlf.io.files import replacing_directory, write_json, write_text
from freqlf.io.schema import Seed
from freqlf.io.views import View
from freqlf.lightfield import list_views
from freqlf.outputs.viewer.estimates import PAGE
from freqlf.provenance import describe_run

SCENE = "scene"
CONTENTS = {
    "overview.png": "the estimate at one glance: view, disparity, uncertainty, points",
    "centre_view.png": "the view whose disparity is sought",
    "ground_truth.png": "its true disparity",
    "comparison.png": "estimate, error and uncertainty beside the truth",
    "epi_horizontal.png": "one row of the central row of views",
    "epi_vertical.png": "one column of the central column of views",
    "estimate/": "what `freqlf estimate` makes of the scene: maps, depth, a point cloud",
    "scene/": "the light field itself, in the layout of the HCI benchmark",
    "demo.json": "what made these files",
    PAGE: "open this in a browser: the estimate beside the truth, the light field, its EPIs and points",
}


def run(out: Path, overwrite: bool = False, seed: Seed = 403, size: SidePx = 320, views: Views = 9) -> None:
    """Generate a light field, estimate its disparity, draw truth, estimate, error and EPIs, and make a page of it all.

    Args:
        out: Folder for the pictures and the scene.
        overwrite: Replace the files of an earlier demo; other files in the folder stay.
        seed: Which room to generate.
        size: Width and height of the views in pixels.
        views: Number of views per row and per column; odd.
    """
    with replacing_directory(out, overwrite=overwrite) as folder, make_progress() as progress:
        scene = generate_scene(folder / SCENE, seed, size, views, progress)
        draw_scene(scene, folder)
        summary = estimate_scene(scene, folder)
        write_text(folder / PAGE, build_page(folder / "estimate", scene.directory))
        facts = describe_run(command="demo", seed=seed, size_px=size, views=views, **summary)
        write_json(folder / "demo.json", facts)
    print(
        f"{summary['model']}: {summary['seconds']:.1f} s, MSE x100 {summary['mse_100']:.2f}, "
        f"BadPix(0.07) {summary['badpix_007']:.1f} % against the exact ground truth"
    )
    for name, meaning in CONTENTS.items():
        print(f"{out / name}: {meaning}")


def generate_scene(directory: Path, seed: int, size_px: int, views: int, progress: Progress) -> Scene:
    """Render the views on the lines through the centre of a scene, and write them."""
    from freqlf.data.synthetic import SceneOptions, render_scene  # imports torch

    options = SceneOptions(height_px=size_px, width_px=size_px, rows=views, columns=views, layout="room")
    needed = list_views(views, views)
    task = progress.add_task("rendering", total=len(needed))
    made = render_scene(seed, options, needed, on_view=lambda: progress.advance(task))
    write_scene(directory, made.views, made.disparity_px, made.parameters, made.valid_mask)
    return Scene(directory)


def draw_scene(scene: Scene, folder: Path) -> None:
    """Draw what is known of a scene before anything is estimated."""
    from freqlf.evaluation.figures import lightfield as figures  # imports matplotlib
    from freqlf.outputs.canvas import save_figure

    light_field = scene.light_field()
    disparity_px = scene.disparity_px()
    assert disparity_px is not None  # `generate_scene` has just written it
    y, x = choose_lines(light_field.centre_view(), disparity_px)
    pictures = {
        "centre_view": figures.draw_view(light_field.centre_view(), "central view"),
        "ground_truth": figures.draw_disparity(disparity_px, "true disparity", scene.valid_mask()),
        "epi_horizontal": figures.draw_epi(light_field, disparity_px, y),
        "epi_vertical": figures.draw_vertical_epi(light_field, disparity_px, x),
    }
    for name, figure in pictures.items():
        save_figure(folder / f"{name}.png", figure)


def estimate_scene(scene: Scene, folder: Path) -> dict[str, Any]:
    """Estimate, write what users get, and draw it beside the truth; returns the model, its time and its scores."""
    from freqlf.evaluation.figures.lightfield import draw_overview
    from freqlf.evaluation.figures.maps import Panel, draw_qualitative
    from freqlf.inference.estimate import estimate as estimate_disparity  # imports torch
    from freqlf.outputs.canvas import save_figure

    truth_px = scene.disparity_px()
    assert truth_px is not None
    estimate = estimate_disparity(scene.directory)
    estimate.save(folder / "estimate")
    scores = score_map(estimate.disparity_px, truth_px, scene.valid_mask())
    panel = Panel(
        name="generated scene",
        view=estimate.light_field.centre_view(),
        ground_truth_px=truth_px,
        estimate_px=estimate.disparity_px,
        error_px=np.where(scene.valid_mask(), np.abs(estimate.disparity_px - truth_px), np.nan),
        deviation_px=estimate.deviation_px,
        caption=f"MSE x100 {scores.mse_100:.2f}\nBadPix(0.07) {scores.badpix_007:.1f} %",
    )
    save_figure(folder / "comparison.png", draw_qualitative([panel]), dpi=200)
    cloud = estimate.points()
    overview = draw_overview(panel.view, estimate.disparity_px, estimate.deviation_px, cloud)
    save_figure(folder / "overview.png", overview, dpi=110)
    return {
        "model": estimate.model,
        "seconds": estimate.seconds,
        "mse_100": scores.mse_100,
        "badpix_007": scores.badpix_007,
    }


def choose_lines(view: View, disparity_px: NDArray[np.floating]) -> tuple[int, int]:
    """The row and the column (y, x) that show the most: different disparities, and texture to see them by."""
    change_y, change_x = np.gradient(view.mean(axis=2))
    row_interest = disparity_px.std(axis=1) * np.sqrt(np.abs(change_x)).mean(axis=1)
    column_interest = disparity_px.std(axis=0) * np.sqrt(np.abs(change_y)).mean(axis=0)
    return int(np.argmax(row_interest)), int(np.argmax(column_interest))
