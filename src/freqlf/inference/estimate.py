"""From a light field to disparity: one estimator behind the command line and Python.

>>> import freqlf
>>> result = freqlf.estimate("my_capture")  # a path, an array [u, v, y, x(, c)] or a LightField
>>> result.disparity_px  # (H, W), pixels per view step, positive nearer than the focus plane
"""

import re
import time
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch

from freqlf.errors import FreqLFError, FreqLFWarning
from freqlf.inference.compute import ComputeOptions, Device, Precision, choose_device
from freqlf.inference.denormals import flush_denormals
from freqlf.inference.evidence import measure_no_evidence, pick_near_views, widen_intervals
from freqlf.inference.maps import MapReader
from freqlf.inference.memory import default_limit_bytes, held_memory_mb
from freqlf.inference.opening import OpenedLightField, Source, open_unchecked, put_in_order
from freqlf.inference.preparation import prepare
from freqlf.io.camera import CameraOptions, place_camera, read_camera
from freqlf.io.parameters import Parameters
from freqlf.io.schema import Range, convert
from freqlf.io.selection import usual_count
from freqlf.io.viewgrid import InputOptions, Promise, checking_memory
from freqlf.lightfield import LightField, list_views
from freqlf.models.base import DisparityModel
from freqlf.models.compilation import compile_stages
from freqlf.models.convolution import short_convolutions
from freqlf.models.footprint import Footprint
from freqlf.models.slope import SlopeModel
from freqlf.models.tiles import Progress, Tiling
from freqlf.outputs.estimate import Estimate
from freqlf.outputs.pointcloud import find_span_px
from freqlf.weights.calibration import Calibration
from freqlf.weights.load import load_calibrated
from freqlf.weights.registry import SLOPE

# The best packaged weights there are, and those that take least time.
DEFAULT_MODEL, FAST_MODEL = "freqlf-plus-deep", "freqlf-plus-small"

_TINY_PX = 64
_WORTH_A_NOTE = 0.05  # of the pixels
_NEARLY_ALL = 0.99
_ONE_LINE = (
    "a single row or column of views: the networks compare rows with columns, so this is the learning-free slope field "
    "(--model slope), without deviation and intervals"
)


class Estimator:
    """A model ready to be called on light fields."""

    def __init__(
        self,
        name: str,
        model: DisparityModel[Any],
        memory_bytes: int | None = None,
        calibration: Calibration | None = None,
        compute: ComputeOptions = ComputeOptions("cpu"),  # noqa: B008
    ) -> None:
        """The model moves to the device that `compute` says, and its stages are compiled if that says so.

        memory_bytes: what the process may hold at most, all that it holds already included (on CUDA: what it may
            allocate there); None allows half of what is free. Tiles are made to fit, results stay the same.
        """
        self.name = name
        self.memory_bytes = memory_bytes
        self.calibration = calibration
        self.compute = compute
        self.device = choose_device(compute.device)
        self.model = model.to(self.device)
        if compute.compile:
            compile_stages(self.model)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of views that the model reads."""
        return self.model.lines

    def __call__(
        self,
        source: Source | OpenedLightField,
        *,
        format: str | None = None,
        shear: float | str = "auto",
        parameters: Parameters | None = None,
        tile_px: int | None = None,
        progress: Progress | None = None,
        **further: Any,
    ) -> Estimate:
        """Estimate the central view's disparity.

        The views are put in order by their parallax, and scenes far from the focus plane are sheared towards it and
        moved back afterwards. Each view is read once; the light field forgets all but the central one.

        source: a file or folder, pixels [u, v, y, x(, c)], a light field, or one that was opened before.
        format: of a file or folder; found out by default.
        shear: pixels per view step to shear by before the estimate (undone afterwards), or "auto".
        parameters: the camera, if the source does not describe it; or describe it with fields of `CameraOptions`.
        tile_px: side of the tiles; as memory allows by default.
        progress: called with the name of a stage, its tiles done and its tiles in all.
        further: fields of `InputOptions` and of `CameraOptions`.
        """
        options, described = _split_options(further)
        if parameters is not None and described.is_given:
            raise FreqLFError("the camera is given twice: leave out parameters, or the options that describe it")
        if described.camera is not None:
            read_camera(described)  # which says what is wrong with the file before any work
        given_px = 0.0 if shear == "auto" else _check_shear(shear)
        limit_bytes = None if tile_px is not None else self._limit_bytes()

        def check(promise: Promise) -> None:
            """Refuse what cannot fit by what a header says, and with all that it will take in the end."""
            if limit_bytes is not None:
                views = usual_count(promise.rows, options), usual_count(promise.columns, options)
                self._require_memory(views, (promise.height, promise.width), limit_bytes, promise.kept_bytes)

        if isinstance(source, LightField):
            check(Promise(source.rows, source.columns, source.height, source.width))
        if isinstance(source, OpenedLightField):
            opened = source
            field = opened.light_field
            check(Promise(field.rows, field.columns, field.height, field.width))
        else:
            with checking_memory(check):
                opened = open_unchecked(source, format, options, self.lines)
            opened = put_in_order(opened) if options.check_order else opened

        def allow(rows: int, columns: int) -> bool:
            """Whether more views than usual fit in as well."""
            size = opened.light_field.height, opened.light_field.width
            try:
                if limit_bytes is not None:
                    self._require_memory((rows, columns), size, limit_bytes)
            except FreqLFError:
                return False
            return True

        prepared = prepare(opened, self.lines, None if shear == "auto" else given_px, allow)
        shear_px, light_field = prepared.shear_px, prepared.light_field
        estimate = self._run(prepared.for_model, tile_px, progress, limit_bytes)
        estimate = replace(estimate.shifted(-shear_px), light_field=light_field, shear_px=shear_px)
        camera, camera_source = _find_camera(estimate, parameters or opened.parameters, described)
        if parameters is not None:
            camera_source = "parameters"
        estimate = widen_intervals(replace(estimate, parameters=camera, camera_source=camera_source))
        notes, warnings = (*opened.notes, *prepared.notes), (*opened.warnings, *estimate.warnings)
        notes, warnings = (*notes, *_note_share(estimate)), (*warnings, *_warn_of_nothing(estimate))
        facts = {
            "command": "estimate",
            "input": str(source) if isinstance(source, str | Path) else type(source).__name__,
            "format": opened.format,
            "notes": list(notes),
            "warnings": list(warnings),
            "shear_px": shear_px,
        }
        return replace(estimate, notes=notes, warnings=warnings, facts={**facts, **estimate.facts})

    def run(self, light_field: LightField, tile_px: int | None = None, progress: Progress | None = None) -> Estimate:
        """What the model makes of a light field as it is: neither put in order nor sheared."""
        limit_bytes = None if tile_px is not None else self._limit_bytes()
        if limit_bytes is not None:
            size = light_field.height, light_field.width
            self._require_memory((light_field.rows, light_field.columns), size, limit_bytes)
        return self._run(light_field, tile_px, progress, limit_bytes)

    def time_stages(self, light_field: LightField, tile_px: int | None = None) -> dict[str, float]:
        """The stages of an estimate in their order, and the seconds that they take.

        What is not in tiles, such as packing the views, counts to the stage that follows it.
        """
        seconds: dict[str, float] = {}
        last = time.perf_counter()

        def count(stage: str, done: int, total: int) -> None:
            nonlocal last
            now = time.perf_counter()
            seconds[stage] = seconds.get(stage, 0.0) + now - last
            last = now

        self.run(light_field, tile_px, count)
        return seconds

    def foresee_stages(self) -> dict[str, float]:
        """How long stages take compared with each other, by those of a small, plain light field."""
        plain = np.zeros((_TINY_PX, _TINY_PX, 3), np.float32)
        views = dict.fromkeys(list_views(9, 9, self.lines), plain)
        self.run(LightField(9, 9, views), _TINY_PX)  # what is done for the first time takes longer
        return self.time_stages(LightField(9, 9, views), _TINY_PX)

    @flush_denormals()
    @torch.inference_mode()
    def _run(
        self, light_field: LightField, tile_px: int | None, progress: Progress | None, limit_bytes: int | None
    ) -> Estimate:
        """With tiles of a given size, or within a limit that is known to be enough."""
        height, width = light_field.height, light_field.width
        model, calibration, name = self.model, self.calibration, self.name
        warned: tuple[str, ...] = ()
        if min(light_field.rows, light_field.columns) == 1:  # networks compare rows with columns
            model, calibration, name = SlopeModel(lines=light_field.lines), None, SLOPE
            warned = () if self.name == SLOPE else (_ONE_LINE,)
        views = model.read_views(light_field, self.device, forget=True)
        start = time.perf_counter()
        # A GPU computes a tile by itself, and what is compiled has been compiled for one thread.
        workers = 1 if self.device.type != "cpu" or self.compute.compile else torch.get_num_threads()
        if limit_bytes is not None:
            footprint = self._footprint(light_field.rows, light_field.columns)
            tile_px, workers = footprint.choose_tiles(height, width, limit_bytes, self._held_bytes(), workers)
        reader = MapReader(model, calibration)
        with self._in_precision():
            maps = model.stream(views, reader, Tiling(tile_px, progress, workers))
        known = dict(zip(reader.names, maps[0].cpu().numpy(), strict=True))  # (H, W) each
        seconds = time.perf_counter() - start
        no_evidence = measure_no_evidence(*pick_near_views(views), maps[0, reader.names.index("disparity_px")])
        return Estimate(
            disparity_px=known["disparity_px"],
            mean_px=known.get("mean_px", known["disparity_px"]),
            deviation_px=known.get("deviation_px"),
            lower_px=known.get("lower_px"),
            upper_px=known.get("upper_px"),
            model=name,
            seconds=seconds,
            light_field=light_field,
            no_evidence=no_evidence.cpu().numpy(),
            tile_px=tile_px if tile_px is not None and tile_px < max(height, width) else None,
            memory_bytes=limit_bytes,
            calibration=calibration,
            warnings=warned,
            facts={
                "device": str(self.device),
                "precision": self.compute.precision,
                "compiled": self.compute.compile,
            },
        )

    def _in_precision(self) -> AbstractContextManager[object]:
        """On a CPU only 3x3 convolutions gain from fewer digits, and autocast would take them from everything."""
        if self.compute.precision == "fp32":
            return nullcontext()
        if self.device.type == "cpu":
            return short_convolutions()
        return torch.autocast(self.device.type, torch.bfloat16)

    def _footprint(self, rows: int, columns: int) -> Footprint:
        grid = LightField(rows, columns, {})
        return self.model.footprint(sum(len(grid.line(line)) for line in self.lines))

    def _require_memory(
        self, views: tuple[int, int], size: tuple[int, int], limit_bytes: int, kept_bytes: int = 0
    ) -> None:
        """Refuse (rows, columns) views of (height, width) pixels that cannot fit, before any is read."""
        self._footprint(*views).require(*size, limit_bytes, self._held_bytes() + kept_bytes)

    def _limit_bytes(self) -> int:
        if self.memory_bytes is not None:
            return self.memory_bytes
        if self.device.type == "cuda":
            return self._held_bytes() + torch.cuda.mem_get_info(self.device)[0] // 2
        return default_limit_bytes()

    def _held_bytes(self) -> int:
        if self.device.type == "cuda":
            return torch.cuda.memory_allocated(self.device)
        return int(held_memory_mb() * 1e6)


def load_estimator(
    model: str | Path = DEFAULT_MODEL,
    *,
    fast: bool = False,
    memory: str | int | None = None,
    calibrated: bool = True,
    device: Device = "auto",
    precision: Precision = "fp32",
    compile: bool = False,
) -> Estimator:
    """An estimator for many light fields.

    model: packaged weights (by name), a weight file, a training checkpoint, or "slope", which needs no weights.
    fast: less time and somewhat less accuracy: `FAST_MODEL` instead of the default.
    memory: what the process may hold at most, in bytes or as in "2GB"; half of what is free by default.
    calibrated: apply the calibration that the weights carry, if any, to the intervals; else they are as predicted.
    device, precision, compile: see `ComputeOptions`.
    """
    if fast and str(model) != DEFAULT_MODEL:
        raise FreqLFError(f"fast and the model {str(model)!r} both choose weights; give one of them")
    model = FAST_MODEL if fast else model
    compute = ComputeOptions(device, precision, compile)
    memory_bytes = parse_bytes(memory) if isinstance(memory, str) else memory
    network, calibration = load_calibrated(model)
    return Estimator(str(model), network, memory_bytes, calibration if calibrated else None, compute)


# Options of `estimate` that are those of `load_estimator`; all others are those of `Estimator`.
_LOADING = ("fast", "memory", "calibrated", "device", "precision", "compile")


def estimate(
    source: Source | OpenedLightField,
    model: str | Path = DEFAULT_MODEL,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Estimate:
    """Estimate the disparity of one light field as `freqlf estimate` does; for several, keep a `load_estimator`.

    source: a path, an array [u, v, y, x(, c)] of uint8, uint16 or floats in [0, 1], or a `LightField`.
    options: those of `load_estimator` and of `Estimator`, among them the fields of `InputOptions`.
    """
    loading = {name: options.pop(name) for name in _LOADING if name in options}
    result = load_estimator(model, **loading)(source, progress=progress, **options)
    for warning in result.warnings:
        warnings.warn(warning, FreqLFWarning, stacklevel=2)
    return result


def parse_bytes(text: str) -> int:
    """2GB, 800 MB or a plain number of bytes."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?)i?b?\s*", text.lower())
    size = 0.0 if match is None else float(match[1]) * 1000 ** " kmgt".index(match[2] or " ")
    if not 1 <= size <= 1e15:
        raise FreqLFError(f"memory must be a size such as 2GB or 800MB, not {text[:40]!r}")
    return int(size)


def _note_share(estimate: Estimate) -> list[str]:
    share = estimate.no_evidence_share
    if share < _WORTH_A_NOTE:
        return []
    return [f"no evidence for {share:.0%} of the pixels: the views are plain there, so their disparity is a guess"]


def _warn_of_nothing(estimate: Estimate) -> list[str]:
    if estimate.no_evidence_share < _NEARLY_ALL:
        return []
    return ["the views show next to nothing that could be matched, so the disparity is a guess everywhere"]


def _find_camera(
    estimate: Estimate, known: Parameters | None, described: CameraOptions
) -> tuple[Parameters | None, str | None]:
    """The camera, and who said so; what the user describes counts before what the files say."""
    views = estimate.light_field.rows, estimate.light_field.columns
    if not described.is_given:
        return (None, None) if known is None else (known.strided(1, *views), "the light field's files")
    size_px = estimate.disparity_px.shape[0], estimate.disparity_px.shape[1]
    camera = place_camera(described, size_px, views, find_span_px(estimate.disparity_px, estimate.no_evidence))
    options, _ = read_camera(described)
    source = "two distances" if options.near_m is not None else "options" if described.camera is None else "a file"
    return camera, source


def _split_options(further: dict[str, Any]) -> tuple[InputOptions, CameraOptions]:
    """Options by name as those about reading and those about the camera."""
    kinds = (InputOptions, CameraOptions)
    names = [[field.name for field in fields(kind)] for kind in kinds]
    unknown = [name for name in further if not any(name in known for known in names)]
    if unknown:
        others = ("format", "shear", "parameters", "tile_px", "progress")
        choices = ", ".join((*_LOADING, *others, *names[0], *names[1]))
        raise FreqLFError(f"unknown option {unknown[0]!r}: choose {choices}")
    further = further | ({"camera": Path(further["camera"])} if isinstance(further.get("camera"), str) else {})
    reading, camera = ({name: further[name] for name in known if name in further} for known in names)
    return InputOptions(**reading), CameraOptions(**camera)


def _check_shear(shear: Any) -> float:
    try:
        number = float(shear)
    except (TypeError, ValueError):
        raise FreqLFError(f"shear takes a number of pixels per view step or auto, not {shear!r}") from None
    return float(convert(number, Annotated[float, Range(-10_000, 10_000)], "shear"))
