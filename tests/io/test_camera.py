import json
from dataclasses import asdict

import numpy as np
import pytest

from freqlf.errors import FreqLFError
from freqlf.io.camera import CameraOptions, place_camera
from freqlf.io.parameters import format_parameters

SIZE, VIEWS, RANGE = (300, 400), (9, 9), (-1.0, 2.0)


def test_lengths_say_what_depth_a_disparity_has():
    options = CameraOptions(baseline_mm=10, focal_mm=50, sensor_mm=25, focus_m=2)
    camera = place_camera(options, SIZE, VIEWS, RANGE)
    focal_px = 400 * 50 / 25
    for depth_m in (0.5, 2.0, 7.0):
        disparity_px = 0.01 * focal_px * (1 / depth_m - 1 / 2)
        assert camera.depth_m(np.array(disparity_px)) == pytest.approx(depth_m, rel=1e-4)
    parallel = place_camera(CameraOptions(baseline_mm=10, focal_mm=50, sensor_mm=25), SIZE, VIEWS, RANGE)
    assert parallel.depth_m(np.array(4.0)) == pytest.approx(0.01 * focal_px / 4.0, rel=1e-4)


@pytest.mark.parametrize("lens", [{}, {"focal_mm": 35.0, "sensor_mm": 24.0}])
def test_two_distances_are_enough(lens):
    camera = place_camera(CameraOptions(near_m=0.5, far_m=4.0, **lens), SIZE, VIEWS, RANGE)
    assert camera.depth_m(np.array([-1.0, 2.0])) == pytest.approx([4.0, 0.5], rel=1e-4)
    # 1 / depth is linear in disparity
    assert 1 / camera.depth_m(np.array(0.5)) == pytest.approx((1 / 4.0 + 1 / 0.5) / 2, rel=1e-4)
    assert camera.focal_mm / camera.sensor_mm == pytest.approx(35 / 24 if lens else 1.2)


def test_files_say_the_same(tmp_path, scene):
    values = {"baseline_mm": 10.0, "focal_mm": 50.0, "sensor_mm": 25.0, "focus_m": 2.0}
    expected = place_camera(CameraOptions(**values), SIZE, VIEWS, RANGE)
    (tmp_path / "camera.json").write_text(json.dumps(values))
    (tmp_path / "camera.toml").write_text("\n".join(f"{name} = {value}" for name, value in values.items()))
    for name in ("camera.json", "camera.toml"):
        assert place_camera(CameraOptions(camera=tmp_path / name), SIZE, VIEWS, RANGE) == expected
    nearer = place_camera(CameraOptions(camera=tmp_path / "camera.json", focus_m=1.0), SIZE, VIEWS, RANGE)
    assert nearer.focus_distance_m == 1.0  # what is said beside a file counts
    (tmp_path / "parameters.cfg").write_text(format_parameters(scene.parameters))
    twice = (2 * scene.parameters.height_px, 2 * scene.parameters.width_px)
    camera = place_camera(CameraOptions(camera=tmp_path / "parameters.cfg"), twice, VIEWS, RANGE)
    changed = {"width_px": twice[1], "height_px": twice[0], "num_cams_x": 9, "num_cams_y": 9}
    assert asdict(camera) == asdict(scene.parameters) | changed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"near_m": 1.0}, "--near-m and --far-m are only of use together"),
        ({"near_m": 2.0, "far_m": 1.0}, "--near-m must be less than --far-m"),
        ({"focal_mm": 50.0}, "--focal-mm and --sensor-mm are only of use together"),
        ({"baseline_mm": 5.0}, "depth needs --focal-mm and --sensor-mm as well"),
        ({"focus_m": 5.0}, "depth needs --baseline-mm and --focal-mm and --sensor-mm"),
        ({"near_m": 1.0, "far_m": 2.0, "baseline_mm": 5.0}, "take the place of"),
        ({"baseline_mm": -1.0}, "baseline_mm must be"),
    ],
)
def test_half_a_camera_is_refused(options, message):
    with pytest.raises(FreqLFError, match=message):
        CameraOptions(**options)


def test_files_that_describe_no_camera(tmp_path, scene):
    for name, text, message in (
        ("a.json", '{"baseline": 3}', "unknown key 'baseline'"),
        ("a.json", "[3]", "must hold names and numbers"),
        ("a.json", '{"focal_mm": "long"}', "focal_mm must be a number"),
        ("a.toml", "focal_mm = ", "a.toml as TOML"),
        ("a.txt", "", "must end in .json, .toml or .cfg"),
        ("a.cfg", "[intrinsics]", "lacks focal_length_mm"),
        ("b.cfg", format_parameters(scene.parameters), "cut or are others"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(FreqLFError, match=message):
            place_camera(CameraOptions(camera=tmp_path / name), (90, 400), VIEWS, RANGE)
    with pytest.raises(FreqLFError, match="beyond infinity"):
        place_camera(CameraOptions(near_m=1.0, far_m=4.0), SIZE, VIEWS, (5.0, 6.0))
