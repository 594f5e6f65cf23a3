"""Everything that reads a file from elsewhere: how to write a sound example, and what users do with it."""

import json
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from random import Random

import numpy as np
import tiny
import torch
import writers
from fuzz import mutators
from fuzz.mutators import PLAIN, Mutator
from PIL import Image

from freqlf.data.splits import GROUPS
from freqlf.errors import FreqLFError
from freqlf.evaluation.report import read_evaluation, write_page
from freqlf.evaluation.results import Results
from freqlf.evaluation.submission import check_submission
from freqlf.inference.opening import open_unchecked
from freqlf.io.camera import CameraOptions, place_camera
from freqlf.io.parameters import Parameters, read_parameters
from freqlf.io.pfm import read_pfm, write_pfm
from freqlf.io.ply import read_ply, write_ply
from freqlf.io.png16 import read_png16, write_png16
from freqlf.io.viewgrid import InputOptions, Promise, checking_memory
from freqlf.models.description import config_to_dict
from freqlf.outputs.viewer.estimates import read_estimate
from freqlf.training.checkpoint import restore_optimizer, save_checkpoint
from freqlf.training.monitor import _drop_later_lines
from freqlf.training.objective import make_optimizer
from freqlf.weights.calibration import Calibration, describe_calibration, read_calibration
from freqlf.weights.checkpoint import Checkpoint, load_checkpoint, load_state
from freqlf.weights.files import write_weights
from freqlf.weights.load import load_calibrated

MEMORY_BYTES = 300_000_000  # what reading one damaged file may take; the sound ones take next to nothing
_CAMERA = Parameters(100, 35, 20, 4, 14, 12, 3, 3, -1, 1, "plane", "made")
_CALIBRATION = Calibration((0.1, 1.0), (0.5, 1.0), ((0.4, 1.1), (0.5, 1.2)))


@dataclass(frozen=True)
class Target:
    """One kind of file.

    Attributes:
        write: writes a sound example into a folder; returns the file to damage.
        read: what is done with that file.
    """

    write: Callable[[Path], Path]
    read: Callable[[Path], object]
    mutators: tuple[Mutator, ...] = PLAIN


@cache
def example() -> np.ndarray:
    """3 x 3 views of 12 x 14 pixels."""
    return np.random.default_rng(0).integers(0, 255, (3, 3, 12, 14, 3), np.uint8)


def open_views(path: Path) -> None:
    """As an estimate does: what the header promises is checked first, then views are read."""

    def check(promise: Promise) -> None:
        needed = promise.kept_bytes + 12 * promise.height * promise.width * min(promise.rows * promise.columns, 33)
        if needed > MEMORY_BYTES / 2:
            raise FreqLFError(f"{needed / 1e6:.0f} MB are needed")

    with checking_memory(check):
        light_field = open_unchecked(path, None, InputOptions()).light_field
    light_field.centre_view()
    light_field.view(0, 0)


def in_folder(name: str, write: Callable[[Path], object]) -> Callable[[Path], Path]:
    def write_into(folder: Path) -> Path:
        write(folder)
        return folder / name

    return write_into


def write_picture(name: str, pixels: np.ndarray, **options: object) -> Callable[[Path], Path]:
    """A folder of views of which one is in this format."""

    def write(folder: Path) -> Path:
        writers.write_numbered(folder, example())
        (folder / "view_1_1.png").unlink()
        Image.fromarray(pixels).save(folder / name, **options)
        return folder / name

    return write


def write_camera(name: str, text: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_text(text)
        return folder / name

    return write


def place_given_camera(path: Path) -> None:
    place_camera(CameraOptions(camera=path), (12, 14), (3, 3), (-1.0, 1.0))


def write_checkpoint(folder: Path) -> Path:
    model, recipe = tiny.make_model(), tiny.RECIPE
    optimizer = make_optimizer(model, recipe)
    sum(parameter.square().sum() for parameter in model.parameters()).backward()
    optimizer.step()
    state = model.state_dict()
    config = config_to_dict(tiny.CONFIG)
    best = {"step": 3, "mse_100": 1.5, "scores": {}}
    scenes = {"training": ["a"], "generated": [], "validation": []}
    checkpoint = Checkpoint("tiny", config, recipe.values(), scenes, 3, state, state, optimizer.state_dict(), {}, best)
    save_checkpoint(folder / "last.pt", checkpoint)
    return folder / "last.pt"


def resume_checkpoint(path: Path) -> None:
    found, model = load_checkpoint(path), tiny.make_model()
    load_state(model, found.model, path)
    restore_optimizer(make_optimizer(model, tiny.RECIPE), found.optimizer, path)


def change_checkpoint(content: bytes, random: Random) -> bytes:
    changed = BytesIO()
    torch.save(mutators.change_value(torch.load(BytesIO(content), weights_only=True), random), changed)
    return changed.getvalue()


def write_weight_file(folder: Path) -> Path:
    path = folder / "tiny.safetensors"
    write_weights(path, tiny.CONFIG, tiny.make_model().state_dict(), {"step": 1}, _CALIBRATION)
    return path


def write_estimate_folder(folder: Path) -> Path:
    write_pfm(folder / "disparity.pfm", np.zeros((12, 14), np.float32))
    record = {
        "model": "slope",
        "input": "plane",
        "camera": _CAMERA.__dict__,
        "views": {"rows": 3, "columns": 3},
        "interval": {"level": 0.9, "calibrated": True},
        "small_views": None,
        "freqlf_version": "0",
        "created_utc": "today",
    }
    (folder / "estimate.json").write_text(json.dumps(record))
    return folder / "estimate.json"


def show_estimate(path: Path) -> None:
    from freqlf.outputs.viewer.page import write_page as write_viewer

    write_viewer(read_estimate(path.parent))


def write_evaluation_folder(folder: Path) -> Path:
    uncertainty = {"spearman": 0.5, "ece": 0.1}
    method = {
        "scenes": {"boxes": {"uncertainty": uncertainty, "runtime_s": 1.0}},
        "mean": {"mse_100": 1.0, "badpix_007": 2.0, "q25": None},
        "pooled_uncertainty": uncertainty,
    }
    table = {"title": "scores", "headings": ["a", "b"], "rows": [["x", "1"]], "summary": [["mean", "1"]]}
    record = {
        "provenance": {"freqlf_version": "0", "created_utc": "today"},
        "protocols": {"native": {"border_px": 11}},
        "calibration": describe_calibration(_CALIBRATION),
        "methods": {"ours": method, "theirs": method},
        "tables": [table | {"best": [[0, 1]], "notes": ["a note"]}],
    }
    (folder / "evaluation.json").write_text(json.dumps(record))
    return folder / "evaluation.json"


def write_archive(folder: Path) -> Path:
    content = BytesIO()
    write_pfm(folder / "a.pfm", np.zeros((512, 512), np.float32))
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for scene in (*GROUPS["stratified"], *GROUPS["test"], *GROUPS["training"]):
            archive.write(folder / "a.pfm", f"disp_maps/{scene}.pfm")
            archive.writestr(f"runtimes/{scene}.txt", "1.5\n")
    (folder / "submission.zip").write_bytes(content.getvalue())
    return folder / "submission.zip"


def write_lines(name: str, text: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        return folder / name

    return write


def write_json_text(name: str, content: object) -> Callable[[Path], Path]:
    return write_lines(name, json.dumps(content))


_JSON = (mutators.change_json, mutators.change_json, mutators.change_json, mutators.nest, *PLAIN)
_TILE = np.resize(example(), (20, 20, 3))
_GREY16 = (np.arange(168, dtype=np.uint16) * 390).reshape(12, 14)
_MAP = np.linspace(-1, 1, 168, dtype=np.float32).reshape(12, 14)
_SOME_PNG = (mutators.resize_png, mutators.resize_png, *PLAIN)

_LENGTHS = {"baseline_mm": 8.0, "focal_mm": 50.0, "sensor_mm": 30.0, "focus_m": 2.0}

TARGETS: dict[str, Target] = {
    "hci view": Target(
        in_folder("input_Cam004.png", lambda folder: writers.write_hci(folder, example(), _CAMERA)),
        lambda path: open_views(path.parent),
        _SOME_PNG,
    ),
    "parameters.cfg": Target(
        in_folder("parameters.cfg", lambda folder: writers.write_hci(folder, example(), _CAMERA)),
        lambda path: (read_parameters(path), open_views(path.parent)),
    ),
    "camera.json": Target(write_camera("camera.json", json.dumps(_LENGTHS)), place_given_camera, _JSON),
    "camera.toml": Target(
        write_camera("camera.toml", "\n".join(f"{name} = {value}" for name, value in _LENGTHS.items())),
        place_given_camera,
    ),
    "stanford view": Target(
        lambda folder: sorted(writers.write_stanford(folder, example()).iterdir())[1],
        lambda path: open_views(path.parent),
        _SOME_PNG,
    ),
    "16-bit png": Target(write_picture("view_1_1.png", _GREY16), lambda path: open_views(path.parent), _SOME_PNG),
    "webp": Target(write_picture("view_1_1.webp", example()[1, 1]), lambda path: open_views(path.parent)),
    "jpeg": Target(write_picture("view_1_1.jpg", example()[1, 1]), lambda path: open_views(path.parent)),
    "tiff": Target(write_picture("view_1_1.tif", example()[1, 1]), lambda path: open_views(path.parent)),
    "packed tiff": Target(
        write_picture("view_1_1.tif", example()[1, 1], compression="tiff_lzw"), lambda path: open_views(path.parent)
    ),
    "bmp": Target(write_picture("view_1_1.bmp", example()[1, 1]), lambda path: open_views(path.parent)),
    "ppm": Target(write_picture("view_1_1.ppm", example()[1, 1]), lambda path: open_views(path.parent)),
    "lenslet": Target(
        lambda folder: writers.write_lenslet(folder / "a_eslf.png", np.resize(example(), (14, 14, 20, 20, 3))),
        open_views,
        _SOME_PNG,
    ),
    "tiled": Target(
        lambda folder: writers.write_tiled(folder / "tiles.png", np.tile(_TILE, (3, 3, 1, 1, 1))),
        open_views,
        _SOME_PNG,
    ),
    "hdf5": Target(lambda folder: writers.write_scene_hdf5(folder / "scene.h5", example()), open_views),
    "old hdf5": Target(lambda folder: writers.write_old_hdf5(folder / "lf.h5", example(), _MAP), open_views),
    "lftoolbox 7.3": Target(lambda folder: writers.write_lftoolbox(folder / "a.mat", example()), open_views),
    "lftoolbox 5": Target(lambda folder: writers.write_lftoolbox(folder / "a.mat", example(), version="5"), open_views),
    "npy": Target(lambda folder: writers.write_array(folder / "lf.npy", example()), open_views),
    "npz": Target(lambda folder: writers.write_npz(folder / "lf.npz", example()), open_views),
    "pfm": Target(in_folder("a.pfm", lambda folder: write_pfm(folder / "a.pfm", _MAP)), read_pfm),
    "png16": Target(in_folder("a.png", lambda folder: write_png16(folder / "a.png", _MAP)), read_png16, _SOME_PNG),
    "ply": Target(
        in_folder("a.ply", lambda folder: write_ply(folder / "a.ply", np.ones((5, 3)), np.ones((5, 3), np.uint8))),
        read_ply,
    ),
    "weights": Target(write_weight_file, load_calibrated, (*[mutators.change_safetensors] * 5, *PLAIN)),
    "checkpoint": Target(write_checkpoint, load_calibrated, (*[change_checkpoint] * 3, *PLAIN)),
    "resumed checkpoint": Target(write_checkpoint, resume_checkpoint, (*[change_checkpoint] * 5, *PLAIN)),
    "calibration.json": Target(
        write_json_text("calibration.json", describe_calibration(_CALIBRATION)), read_calibration, _JSON
    ),
    "evaluation.json": Target(
        write_evaluation_folder, lambda path: write_page(read_evaluation(path.parent)).encode(), _JSON
    ),
    "estimate.json": Target(write_estimate_folder, show_estimate, _JSON),
    "submission.zip": Target(write_archive, check_submission),
    "runtime": Target(
        write_lines("runtimes/boxes.txt", "1.5\n"), lambda path: Results(path.parents[1]).runtime_s("boxes")
    ),
    "metrics.jsonl": Target(
        write_lines("metrics.jsonl", '{"kind": "step", "step": 1}\n' * 5),
        lambda path: _drop_later_lines(path, 3),
    ),
}


# What may be in the place of a file.
SPECIAL: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "folder": lambda path: path.mkdir(),
    "dangling link": lambda path: path.symlink_to("nowhere"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "empty file": lambda path: path.touch(),
}


@contextmanager
def damaged(path: Path, content: bytes, random: Random, mutator: Mutator | None) -> Iterator[str]:
    """Put a damaged file, or something that is none, in the place of a sound one; yields what was done."""
    path.unlink(missing_ok=True)
    if mutator is None:
        what = random.choice(sorted(SPECIAL))
        SPECIAL[what](path)
    else:
        what = mutator.__name__
        path.write_bytes(mutator(content, random))
    try:
        yield what
    finally:
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
