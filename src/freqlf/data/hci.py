"""The HCI 4D Light Field Benchmark on disk: finding, reading and writing scenes in its layout.

A scene is a directory with `input_CamNNN.png` (or webp, jpg, tif), NNN = columns * u + v; `parameters.cfg`;
and, where known, `gt_disp_lowres.pfm`, `gt_depth_lowres.pfm` and `valid_mask.png` (not 0 = valid).
"""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freqlf.data.splits import expand_groups
from freqlf.errors import FreqLFError, FreqLFWarning
from freqlf.io.files import replacing_directory, write_text
from freqlf.io.hci import DEFAULT_GRID, PARAMETERS_FILE, find_views, is_view
from freqlf.io.image import read_pixels, write_image
from freqlf.io.intake import require_name
from freqlf.io.parameters import Parameters, format_parameters, read_parameters
from freqlf.io.pfm import read_pfm, write_pfm
from freqlf.lightfield import LightField

__all__ = ["HOMEPAGE", "Parameters", "Scene", "choose_scenes", "find_scene", "find_scenes", "write_scene"]

HOMEPAGE = "HCI 4D Light Field Benchmark, lightfield-analysis.uni-konstanz.de"
DISPARITY_FILE = "gt_disp_lowres.pfm"
DEPTH_FILE = "gt_depth_lowres.pfm"
MASK_FILE = "valid_mask.png"
_warned: set[Path] = set()  # masks that were warned of, once each
_DEEPEST = 16  # folders in each other, in which scenes are looked for


@dataclass(frozen=True)
class Scene:
    """One scene: a directory. Files are read when they are asked for."""

    directory: Path

    @property
    def name(self) -> str:
        """The directory's name, by which splits and predictions refer to the scene."""
        return self.directory.resolve().name if self.directory.name in ("", "..") else self.directory.name

    @property
    def category(self) -> str:
        """The name of the directory above: `training`, `additional`, `stratified` or `test` in the benchmark."""
        return self.directory.resolve().parent.name

    @property
    def has_parameters(self) -> bool:
        """Whether there is a `parameters.cfg`."""
        return (self.directory / PARAMETERS_FILE).exists()

    @cached_property
    def parameters(self) -> Parameters:
        """The camera, from `parameters.cfg`."""
        return read_parameters(self.directory / PARAMETERS_FILE)

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of views, whether or not all of them are there."""
        if not self.has_parameters:
            return DEFAULT_GRID
        return self.parameters.num_cams_y, self.parameters.num_cams_x

    def view_files(self) -> dict[tuple[int, int], Path]:
        """The files of the views that are there, by (u, v)."""
        return find_views(self.directory, *self.grid)

    def light_field(self) -> LightField:
        """The views, read only when asked for. Views may be missing, except the central one."""
        rows, columns = self.grid

        def name_view(u: int, v: int) -> str:
            return str(self.directory / f"input_Cam{columns * u + v:03d}.png")

        light_field = LightField(rows, columns, self.view_files(), name_view)
        if not light_field.has_view(*light_field.centre):
            raise FreqLFError(f"{self.directory} has no central view: {name_view(*light_field.centre)} is missing")
        return light_field

    @property
    def has_ground_truth(self) -> bool:
        """Whether there is a ground-truth disparity map."""
        return (self.directory / DISPARITY_FILE).exists()

    def disparity_px(self) -> NDArray[np.float32] | None:
        """Ground-truth disparity (H, W) of the central view in pixels per view step, or None if there is none."""
        path = self.directory / DISPARITY_FILE
        if not path.exists():
            return None
        pixels = read_pfm(path)
        if pixels.ndim != 2:
            raise FreqLFError(f"{path} is a colour PFM; a disparity map has one channel (Pf)")
        return pixels

    def valid_mask(self) -> NDArray[np.bool_]:
        """(H, W), True where the ground truth can be trusted; all True where the scene has no mask, or a black one."""
        path = self.directory / MASK_FILE
        if not path.exists():
            disparity_px = self.disparity_px()
            if disparity_px is not None:
                return np.ones(disparity_px.shape, dtype=bool)
            field = self.light_field()
            return np.ones((field.height, field.width), dtype=bool)
        mask = read_mask(path)
        if mask.any():
            return mask
        # As in the copy of the benchmark that OACC-Net's and DistgDisp's authors pass on: nothing was masked there.
        if path not in _warned:
            _warned.add(path)
            warnings.warn(
                f"{path} is all black; it is taken as no mask, so all pixels count", FreqLFWarning, stacklevel=2
            )
        return np.ones(mask.shape, dtype=bool)


def read_mask(path: Path) -> NDArray[np.bool_]:
    """(H, W) of a mask's file, True where any colour is not 0; how opaque a pixel is says nothing."""
    pixels = read_pixels(path)
    if pixels.ndim == 2:
        return np.asarray(pixels > 0)
    colours = pixels.shape[2] - 1 if pixels.shape[2] in (2, 4) else pixels.shape[2]
    return np.asarray((pixels[..., :colours] > 0).any(axis=2))


def find_scenes(root: Path) -> list[Scene]:
    """All scenes under `root` (or `root` itself), by name: every directory that holds a view.

    Two scenes of one name would make a name ambiguous, so they are an error.
    """
    root = Path(root)
    if not root.is_dir():
        raise FreqLFError(f"{root} is not a directory; give the folder that holds the scenes")
    directories = [directory for directory, files in _walk(root) if any(map(is_view, files))]
    if not directories:
        raise FreqLFError(f"no scene under {root}: no directory holds input_CamNNN.png; get the {HOMEPAGE}")
    for directory in directories:
        require_name(directory)
    scenes = sorted(map(Scene, directories), key=lambda scene: scene.name)
    for one, other in pairwise(scenes):
        if one.name == other.name:
            raise FreqLFError(f"two scenes are called {one.name}: {one.directory} and {other.directory}; rename one")
    return scenes


def _walk(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Each directory under `root`, links followed and hidden ones left out, with the names of its files."""

    def complain(error: OSError) -> None:
        raise FreqLFError(f"cannot read {error.filename}: {error.strerror or error}") from error

    seen: set[tuple[int, int]] = set()
    for directory, subdirectories, files in os.walk(root, followlinks=True, onerror=complain):
        status = os.stat(directory)
        real = (status.st_dev, status.st_ino)
        depth = directory.count(os.sep) - str(root).count(os.sep)
        is_end = real in seen or depth >= _DEEPEST
        # Seen before means that a link leads back; hidden directories are unfinished ones of `write_scene`.
        subdirectories[:] = [] if is_end else [name for name in subdirectories if not name.startswith(".")]
        if real not in seen:
            seen.add(real)
            yield Path(directory), files


def find_scene(root: Path, name: str) -> Scene:
    """The scene called `name`, wherever it lies under `root`."""
    return _select_scenes(root, [name])[0]


def choose_scenes(root: Path, text: str, flag: str) -> list[Scene]:
    """The scenes that a user names: scenes or groups of the benchmark, separated by commas, in that order.

    "all" is every scene with ground truth, "none" is no scene; scenes named without ground truth are an error.
    flag: the option that the text is from, for errors.
    """
    if text == "none":
        return []
    if text == "all":
        return [scene for scene in find_scenes(root) if scene.has_ground_truth]
    names = expand_groups(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise FreqLFError(f"{flag} names no scene; give groups or scenes separated by commas")
    scenes = _select_scenes(root, names)
    for scene in scenes:
        if not scene.has_ground_truth:
            raise FreqLFError(f"{scene.directory} has no ground truth ({DISPARITY_FILE}); leave it out of {flag}")
    return scenes


def _select_scenes(root: Path, names: Sequence[str]) -> list[Scene]:
    by_name = {scene.name: scene for scene in find_scenes(root)}
    missing = [name for name in names if name not in by_name]
    if missing:
        raise FreqLFError(f"no scene {', '.join(missing)} under {root}; there are {', '.join(by_name)}")
    return [by_name[name] for name in names]


def write_scene(
    directory: Path,
    views: Mapping[tuple[int, int], NDArray[Any]],
    disparity_px: NDArray[np.floating],
    parameters: Parameters,
    valid_mask: NDArray[np.bool_] | None = None,
    image_format: str = "png",
) -> None:
    """Write a scene in the benchmark's layout: all of it or nothing.

    `views` maps (u, v) to (H, W, 3) uint8 or uint16 (png only) pixels; `image_format` is png, webp (lossless) or tif.
    An existing, non-empty `directory` is an error.
    """
    with replacing_directory(Path(directory)) as temporary, ThreadPoolExecutor() as pool:

        def write_view(item: tuple[tuple[int, int], NDArray[Any]]) -> None:
            (u, v), pixels = item
            number = parameters.num_cams_x * u + v
            write_image(temporary / f"input_Cam{number:03d}.{image_format}", pixels)

        list(pool.map(write_view, views.items()))
        write_pfm(temporary / DISPARITY_FILE, disparity_px)
        write_pfm(temporary / DEPTH_FILE, parameters.depth_m(disparity_px))
        if valid_mask is not None:
            write_image(temporary / MASK_FILE, valid_mask.astype(np.uint8) * np.uint8(255))
        write_text(temporary / PARAMETERS_FILE, format_parameters(parameters))
