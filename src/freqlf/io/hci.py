"""A folder in the layout of the HCI 4D Light Field Benchmark: `input_CamNNN.png` and perhaps `parameters.cfg`."""

from dataclasses import replace
from pathlib import Path

from freqlf.data.hci import Scene
from freqlf.io.viewgrid import InputOptions, ViewGrid, grid_of_files


def read_hci(folder: Path, options: InputOptions) -> ViewGrid:
    """The views of a scene, which may be incomplete, and its camera."""
    scene = Scene(folder)
    grid = grid_of_files(folder, *scene.grid, scene.view_files())
    return replace(grid, order_is_certain=True, parameters=scene.parameters if scene.has_parameters else None)


def is_scene(folder: Path) -> bool:
    """Whether the folder holds a view in the benchmark's naming."""
    return any(Scene(folder).view_files())
