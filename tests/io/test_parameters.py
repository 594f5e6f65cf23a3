from dataclasses import replace

import numpy as np
import pytest

from freqlf.errors import FreqLFError
from freqlf.io.parameters import Parameters, format_parameters, read_parameters

CAMERA = Parameters(
    focal_mm=100.0,
    sensor_mm=35.0,
    baseline_mm=60.0,
    focus_distance_m=6.9,
    width_px=512,
    height_px=384,
    num_cams_x=9,
    num_cams_y=7,
    disp_min_px=-1.9,
    disp_max_px=1.9,
    scene="dino",
    category="training",
)


def test_what_is_written_is_read_back(tmp_path):
    (tmp_path / "parameters.cfg").write_text(format_parameters(CAMERA))
    assert read_parameters(tmp_path / "parameters.cfg") == CAMERA


def test_depth_follows_from_two_parallel_cameras():
    """Independent of the formula: a point at depth Z shifts by focal * baseline / Z, minus that at the focus plane."""
    depth_mm = np.array([3000.0, 6900.0, 20000.0])
    pixels_per_mm = 512 / 35.0
    expected = 100.0 * 60.0 * (1 / depth_mm - 1 / 6900.0) * pixels_per_mm
    assert np.allclose(CAMERA.disparity_px(depth_mm / 1000), expected, atol=1e-5)
    assert np.allclose(CAMERA.depth_m(expected), depth_mm / 1000, rtol=1e-6)


def test_zero_disparity_is_the_focus_plane_and_positive_is_nearer():
    depth_m = CAMERA.depth_m(np.array([-1.0, 0.0, 1.0]))
    assert depth_m[1] == pytest.approx(6.9)
    assert depth_m[2] < 6.9 < depth_m[0]


def test_what_has_no_depth():
    infinity_px = float(CAMERA.disparity_px(np.array([np.inf]))[0])
    depth_m = CAMERA.depth_m(np.array([infinity_px - 1, np.nan]))
    assert np.isinf(depth_m[0])
    assert np.isnan(depth_m[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("baseline_mm = 60.0", "baseline_mm = wide"), "baseline_mm must be a number, not 'wide'"),
        (("baseline_mm = 60.0", ""), r"lacks baseline_mm in its section \[extrinsics\]"),
        (("baseline_mm = 60.0", "baseline_mm = -1"), "baseline_mm must be between"),
        (("focal_length_mm = 100.0", "focal_length_mm = nan"), "focal_mm must be a finite number"),
        (("num_cams_x = 9", "num_cams_x = 0"), "num_cams_x must be between 1"),
        (("disp_min = -1.9", "disp_min = 3"), "is not in order"),
        (("[meta]", "[meta"), "cannot read"),
        (("[intrinsics]", ""), "cannot read"),
    ],
)
def test_mistakes_are_named_with_the_file(tmp_path, change, message):
    path = tmp_path / "parameters.cfg"
    path.write_text(format_parameters(CAMERA).replace(*change))
    with pytest.raises(FreqLFError, match=message) as caught:
        read_parameters(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "parameters.cfg").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FreqLFError, match="cannot read"):
        read_parameters(tmp_path / "parameters.cfg")


def test_keys_without_use_and_an_absent_name_are_fine(tmp_path):
    path = tmp_path / "parameters.cfg"
    path.write_text(format_parameters(CAMERA).replace("scene = dino", "authors = A, B"))
    assert read_parameters(path) == replace(CAMERA, scene="")


@pytest.mark.hci
def test_ground_truth_lies_within_the_frustum_of_the_benchmark(hci_root):
    parameters = read_parameters(hci_root / "training" / "dino" / "parameters.cfg")
    assert (parameters.scene, parameters.num_cams_x, parameters.baseline_mm) == ("dino", 9, 60.0)
    assert parameters.depth_m(np.array(0.0)) == pytest.approx(6.9)
