"""The camera of a light field whose files do not describe it: as far as the user knows it.

Depth follows from disparity by 1 / depth = disparity * slope + 1 / focus. Baseline, focal length, sensor and focus
distance say both numbers; so do two known distances, with the disparities that they belong to.
"""

import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path

from freqlf.errors import FreqLFError
from freqlf.io.intake import decoding, read_json, read_text
from freqlf.io.parameters import Length, Parameters, read_parameters
from freqlf.io.schema import check_fields, convert

# Of a lens of usual width: the field of view is as wide as a 43 mm lens's on 35 mm film.
_USUAL_FOCAL_PER_SENSOR = 1.2
_PARALLEL_M = 1e9  # focused there, cameras are parallel
_SIDEWAYS = 0.02  # relative difference of aspect ratios that may be rounding


@dataclass(frozen=True)
class CameraOptions:
    """What is known about the camera; it counts before what the files say.

    Attributes:
        camera: a file with the same names as these options: .json, .toml, or parameters.cfg of the HCI benchmark.
        baseline_mm: from one view to the next.
        focal_mm: focal length.
        sensor_mm: longer side of the sensor.
        focus_m: distance at which disparity is 0; without it, cameras are parallel, and 0 is infinity.
        near_m: distance of the nearest things in the picture, instead of the above; with far_m.
        far_m: distance of the farthest things.
    """

    camera: Path | None = None
    baseline_mm: Length | None = None
    focal_mm: Length | None = None
    sensor_mm: Length | None = None
    focus_m: Length | None = None
    near_m: Length | None = None
    far_m: Length | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.camera is not None:  # the file may say the rest, see `read_camera`
            return
        if (self.near_m is None) != (self.far_m is None):
            raise FreqLFError("--near-m and --far-m are only of use together: give both distances")
        if self.near_m is not None and self.far_m is not None and not self.near_m < self.far_m:
            raise FreqLFError(f"--near-m must be less than --far-m, not {self.near_m} and {self.far_m}")
        if (self.focal_mm is None) != (self.sensor_mm is None):
            raise FreqLFError("--focal-mm and --sensor-mm are only of use together: give both lengths")
        lens = (self.baseline_mm, self.focal_mm, self.sensor_mm)
        if self.near_m is None and any(one is not None for one in (*lens, self.focus_m)) and None in lens:
            missing = [
                flag for flag, one in zip(("--baseline-mm", "--focal-mm", "--sensor-mm"), lens, strict=True) if not one
            ]
            raise FreqLFError(f"depth needs {' and '.join(missing)} as well, or --near-m and --far-m instead")
        if self.near_m is not None and (self.baseline_mm is not None or self.focus_m is not None):
            raise FreqLFError(
                "--near-m and --far-m take the place of --baseline-mm and --focus-m; give the one or the other"
            )

    @property
    def is_given(self) -> bool:
        """Whether anything is known."""
        return any(getattr(self, one.name) is not None for one in fields(self))


def read_camera(options: CameraOptions) -> tuple[CameraOptions, Parameters | None]:
    """The options with what their file says added, or the camera itself if the file is a `parameters.cfg`."""
    path = options.camera
    if path is None:
        return options, None
    if path.suffix.lower() == ".cfg":
        if replace(options, camera=None).is_given:
            raise FreqLFError(f"{path} describes the camera; leave out the other options about it")
        return options, read_parameters(path)
    if path.suffix.lower() == ".json":
        content = read_json(path)
    elif path.suffix.lower() == ".toml":
        with decoding(path, "TOML"):
            content = tomllib.loads(read_text(path))
    else:
        raise FreqLFError(f"{path} must end in .json, .toml or .cfg, so that it is known how to read it")
    if not isinstance(content, dict) or "camera" in content:
        raise FreqLFError(f"{path} must hold names and numbers, such as baseline_mm, focal_mm, sensor_mm and focus_m")
    known: CameraOptions = convert(content, CameraOptions, str(path))
    given = {one.name: getattr(options, one.name) for one in fields(options) if getattr(options, one.name) is not None}
    merged = {one.name: getattr(known, one.name) for one in fields(known)} | given
    return CameraOptions(**merged | {"camera": None}), None


def place_camera(
    options: CameraOptions,
    size_px: tuple[int, int],
    views: tuple[int, int],
    range_px: tuple[float, float],
) -> Parameters:
    """The camera that the options describe.

    size_px: (height, width) of the views; views: (rows, columns) of them.
    range_px: lowest and highest disparity of the scene, which are those of far_m and near_m if these are given.
    """
    options, parameters = read_camera(options)
    if parameters is not None:
        return _fit_size(parameters, size_px, views, str(options.camera))
    if options.near_m is not None and options.far_m is not None:
        return camera_of_distances(
            size_px, views, range_px, (options.near_m, options.far_m), options.focal_mm, options.sensor_mm
        )
    assert options.baseline_mm is not None  # or it would not have passed its checks
    assert options.focal_mm is not None
    assert options.sensor_mm is not None
    return _make(
        size_px,
        views,
        range_px,
        options.focal_mm,
        options.sensor_mm,
        options.baseline_mm,
        options.focus_m or _PARALLEL_M,
    )


def camera_of_distances(
    size_px: tuple[int, int],
    views: tuple[int, int],
    range_px: tuple[float, float],
    distances_m: tuple[float, float],
    focal_mm: float | None = None,
    sensor_mm: float | None = None,
) -> Parameters:
    """The camera that sees the ends of the range at the distances (near, far); of a usual lens if that is not known."""
    focal_mm, sensor_mm = (_USUAL_FOCAL_PER_SENSOR, 1.0) if not focal_mm or not sensor_mm else (focal_mm, sensor_mm)
    (low_px, high_px), (near_m, far_m) = range_px, distances_m
    if not high_px > low_px:
        raise FreqLFError(
            f"all disparities are {low_px:.3g} px, so two distances do not fit; describe the camera instead"
        )
    slope = (1 / near_m - 1 / far_m) / (high_px - low_px)  # 1 / (m px)
    inverse_focus = 1 / far_m - slope * low_px  # 1 / m, of disparity 0
    if inverse_focus < -0.05 / near_m:
        raise FreqLFError(
            f"with {near_m:g} m at {high_px:.2f} px and {far_m:g} m at {low_px:.2f} px, disparity 0 would be beyond "
            "infinity; check --near-m and --far-m, or describe the camera"
        )
    focus_m = 1 / max(inverse_focus, 1 / _PARALLEL_M)
    # slope = sensor / (baseline focal longer side), with lengths in mm here and in m there
    baseline_mm = sensor_mm / (slope / 1000) / (focal_mm * max(size_px))
    return _make(size_px, views, range_px, focal_mm, sensor_mm, baseline_mm, focus_m)


def _make(
    size_px: tuple[int, int],
    views: tuple[int, int],
    range_px: tuple[float, float],
    focal_mm: float,
    sensor_mm: float,
    baseline_mm: float,
    focus_m: float,
) -> Parameters:
    return Parameters(
        focal_mm=focal_mm,
        sensor_mm=sensor_mm,
        baseline_mm=baseline_mm,
        focus_distance_m=focus_m,
        width_px=size_px[1],
        height_px=size_px[0],
        num_cams_x=views[1],
        num_cams_y=views[0],
        disp_min_px=range_px[0],
        disp_max_px=range_px[1],
    )


def _fit_size(parameters: Parameters, size_px: tuple[int, int], views: tuple[int, int], where: str) -> Parameters:
    """The camera of a file for views of another resolution; cut ones would need another sensor."""
    height, width = size_px
    if abs(width * parameters.height_px / (height * parameters.width_px) - 1) > _SIDEWAYS:
        raise FreqLFError(
            f"{where} is about pictures of {parameters.width_px} x {parameters.height_px} pixels, and the views have "
            f"{width} x {height}: they were cut or are others; describe their camera with --focal-mm and --sensor-mm"
        )
    return replace(parameters, width_px=width, height_px=height, num_cams_y=views[0], num_cams_x=views[1])
