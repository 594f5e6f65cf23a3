"""A folder in the layout of the HCI 4D Light Field Benchmark.

Views are called `input_CamNNN.png` (or webp, jpg, tif), NNN = columns * u + v; `parameters.cfg` describes the camera.
"""

import re
from dataclasses import replace
from pathlib import Path

from freqlf.errors import FreqLFError
from freqlf.io.parameters import read_parameters
from freqlf.io.viewgrid import InputOptions, ViewGrid, grid_of_files

PARAMETERS_FILE = "parameters.cfg"
DEFAULT_GRID = (9, 9)  # of every scene of the benchmark; used when parameters.cfg is absent
_VIEW_FILE = re.compile(r"input_Cam(\d{3,})\.(png|webp|jpg|jpeg|tif|tiff)", re.IGNORECASE)


def read_hci(folder: Path, options: InputOptions) -> ViewGrid:
    """The views of a scene, which may be incomplete, and its camera."""
    path = folder / PARAMETERS_FILE
    parameters = read_parameters(path) if path.exists() else None
    size = DEFAULT_GRID if parameters is None else (parameters.num_cams_y, parameters.num_cams_x)
    grid = grid_of_files(folder, *size, find_views(folder, *size))
    return replace(grid, order_is_certain=True, parameters=parameters)


def is_scene(folder: Path) -> bool:
    """Whether the folder holds a view in the benchmark's naming."""
    return any(is_view(path.name) for path in folder.iterdir())


def is_view(name: str) -> bool:
    """Whether a file of this name is a view."""
    return _VIEW_FILE.fullmatch(name) is not None


def find_views(folder: Path, rows: int, columns: int) -> dict[tuple[int, int], Path]:
    """The files of the views that are there, by (u, v)."""
    files: dict[tuple[int, int], Path] = {}
    for path in sorted(folder.iterdir()):
        match = _VIEW_FILE.fullmatch(path.name)
        if match is None:
            continue
        view = divmod(int(match[1]), columns)
        if view[0] >= rows:
            raise FreqLFError(f"{path} is view {match[1]}, but the scene has {rows} x {columns} views")
        if view in files:
            raise FreqLFError(f"{files[view]} and {path} are the same view; remove one of them")
        files[view] = path
    return files
