"""A folder in the Stanford Light Field Archive's naming: `out_RR_CC_<y>_<x>_.png` with the camera's position.

Views are ordered by position. x grows to the right; y grows upwards in some sets and downwards in others, so the
rows' direction is left to the self-check.
"""

import re
from pathlib import Path

import numpy as np

from freqlf.errors import FreqLFError
from freqlf.io.numbered import image_files
from freqlf.io.viewgrid import InputOptions, ViewGrid, grid_of_files

_POSITION = r"[-+]?\d+\.\d+"
NAME = re.compile(rf".*?(\d+)_(\d+)_({_POSITION})_({_POSITION})_?")

_UNEVEN = 0.2  # of a step: the archive's calibrated positions deviate by a few per cent


def read_stanford(folder: Path, options: InputOptions) -> ViewGrid:
    """The views of a folder, rows and columns in the order of their mean positions."""
    matches = {path: match for path in image_files(folder) if (match := NAME.fullmatch(path.stem))}
    if not matches:
        raise FreqLFError(f"{folder} has no images named like out_00_00_-10.5_20.1_.png")
    indices = np.array([[int(match[1]), int(match[2])] for match in matches.values()])
    positions = np.array([[float(match[3]), float(match[4])] for match in matches.values()])  # y, x
    places = []
    uneven = 0.0
    for axis in (0, 1):
        numbers = np.unique(indices[:, axis])
        means = np.array([positions[indices[:, axis] == number, axis].mean() for number in numbers])
        order = np.argsort(means, kind="stable")
        rank = np.empty(len(numbers), int)
        rank[order] = np.arange(len(numbers))
        places.append(rank[np.searchsorted(numbers, indices[:, axis])])
        uneven = max(uneven, _unevenness(places[-1], positions[:, axis]))
    files: dict[tuple[int, int], Path] = {}
    for u, v, path in zip(*places, matches, strict=True):
        view = int(u), int(v)
        if view in files:
            raise FreqLFError(f"{files[view]} and {path} are the same view; remove one of them")
        files[view] = path
    grid = grid_of_files(folder, max(u for u, _ in files) + 1, max(v for _, v in files) + 1, files)
    grid = grid.noted("ordered the views by the camera positions in their names")
    if uneven > _UNEVEN:
        grid = grid.noted(
            f"the cameras stand up to {uneven:.1f} steps beside an even grid, which will blur the disparity"
        )
    return grid


def _unevenness(place: np.ndarray, position: np.ndarray) -> float:
    """The largest deviation from an even grid, in steps of it."""
    if np.ptp(place) == 0:
        return 0.0
    step, offset = np.polyfit(place, position, 1)
    return float(np.abs(position - (step * place + offset)).max() / abs(step)) if step else float("inf")
