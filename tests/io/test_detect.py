"""Every format, written from one synthetic light field, must be recognised and read back identically."""

import h5py
import numpy as np
import pytest
import writers
from numpy.testing import assert_array_equal

from freqlf.errors import FreqLFError
from freqlf.inference.opening import open_light_field
from freqlf.io.detect import READERS
from freqlf.io.image import write_image
from freqlf.io.viewgrid import InputOptions

UNCHECKED = InputOptions(check_order=False)


def pixels_of(light_field):
    return np.stack([[light_field.view(u, v) for v in range(light_field.columns)] for u in range(light_field.rows)])


def assert_same(opened, array):
    assert (opened.light_field.rows, opened.light_field.columns) == array.shape[:2]
    assert_array_equal(pixels_of(opened.light_field), array.astype(np.float32) / np.float32(255))


@pytest.mark.parametrize("name", READERS)
def test_every_format_is_recognised_and_read_back(tmp_path, array, scene, name):
    path = writers.WRITERS[name](tmp_path, array, scene)
    opened = open_light_field(path, options=InputOptions(pitch_px=5))
    assert opened.format == name
    assert opened.warnings == ()
    assert_same(opened, array)
    assert_same(open_light_field(path, name, InputOptions(pitch_px=5)), array)


def test_the_camera_of_a_scene_comes_along(tmp_path, array, scene):
    path = writers.write_hci(tmp_path / "s", array, scene.parameters)
    assert open_light_field(path, options=UNCHECKED).parameters == scene.parameters


def test_an_old_hdf5_scene_with_its_camera(tmp_path, array, scene):
    path = writers.write_old_hdf5(tmp_path / "buddha" / "lf.h5", array, scene.disparity_px)
    opened = open_light_field(path.parent)  # a folder with one container is as good as the container
    assert_same(opened, array)
    assert any("from the right" in note for note in opened.notes)
    parameters = opened.parameters
    assert parameters.disp_min_px == pytest.approx(scene.disparity_px.min(), abs=1e-3)
    assert parameters.disp_max_px == pytest.approx(scene.disparity_px.max(), abs=1e-3)
    # The file's own formula: disparity = dH * focalLength / depth - shift.
    assert parameters.depth_m(np.array([0.0, -1.0, 3.0])) == pytest.approx(40 / np.array([5.0, 4.0, 8.0]))


def test_views_of_containers_are_read_only_when_needed(tmp_path, array):
    path = writers.write_scene_hdf5(tmp_path / "scene.h5", array)
    opened = open_light_field(path, options=InputOptions(check_order=False, views=5))
    opened.light_field.view(2, 2)
    with h5py.File(path, "r+") as file:
        file["LF"][0, 0] = 0
    assert opened.light_field.view(0, 0).max() == 0
    files = writers.write_numbered(tmp_path / "views", array)
    opened = open_light_field(files, options=InputOptions(check_order=False, views=5))  # taken as they are
    (files / "view_0_0.png").write_bytes(b"broken")
    opened.light_field.view(2, 2)
    with pytest.raises(FreqLFError, match=r"view_0_0\.png is not an image"):
        opened.light_field.view(0, 0)


# --- order --------------------------------------------------------------------------------------------------------


def test_a_wrong_order_is_put_right_and_reported(tmp_path, array):
    disordered = array[::-1].swapaxes(0, 1)
    opened = open_light_field(writers.write_array(tmp_path / "lf.npy", disordered))
    assert_same(opened, array)
    assert any("swapped" in note and "reversed" in note for note in opened.notes)


def test_the_order_can_be_given(tmp_path, array):
    path = writers.write_array(tmp_path / "lf.npy", array.swapaxes(0, 1))
    swapped = InputOptions(column_major=True, check_order=False)
    assert_same(open_light_field(path, options=swapped), array)
    given = InputOptions(column_major=True, reverse_rows=True, check_order=False)
    assert_same(open_light_field(path, options=given), array[::-1])
    assert_same(open_light_field(path, options=UNCHECKED), array.swapaxes(0, 1))


def test_an_order_that_was_given_is_kept_but_doubted(tmp_path, array):
    path = writers.write_array(tmp_path / "lf.npy", array)
    opened = open_light_field(path, options=InputOptions(reverse_rows=True))
    assert_same(opened, array[::-1])
    assert "contradicts" in opened.warnings[0]


def test_a_benchmark_scene_is_never_reordered(tmp_path, array, scene):
    path = writers.write_hci(tmp_path / "s", array[:, ::-1], scene.parameters)
    opened = open_light_field(path)
    assert_same(opened, array[:, ::-1])
    assert "contradicts" in opened.warnings[0]


# --- which views --------------------------------------------------------------------------------------------------


def test_the_central_views_or_every_second(tmp_path, array, scene):
    path = writers.write_hci(tmp_path / "s", array, scene.parameters)
    central = open_light_field(path, options=InputOptions(views=3, check_order=False))
    assert_same(central, array[1:4, 1:4])
    assert "central 3 x 3 of 5 x 5" in central.notes[0]
    assert (central.parameters.num_cams_x, central.parameters.baseline_mm) == (3, scene.parameters.baseline_mm)
    strided = open_light_field(path, options=InputOptions(stride=2, check_order=False))
    assert_same(strided, array[::2, ::2])
    assert strided.parameters.baseline_mm == 2 * scene.parameters.baseline_mm
    # Longer steps, larger disparities, the same depth.
    depth = scene.parameters.depth_m(scene.disparity_px)
    assert strided.parameters.depth_m(2 * scene.disparity_px) == pytest.approx(depth, rel=1e-5)
    with pytest.raises(FreqLFError, match="do not fit"):
        open_light_field(path, options=InputOptions(views=5, stride=2))
    with pytest.raises(FreqLFError, match="do not fit"):
        open_light_field(path, options=InputOptions(views=7))


def test_of_even_numbers_of_views_one_is_left_out(tmp_path, array):
    path = writers.write_array(tmp_path / "lf.npy", array[:4, :4])
    opened = open_light_field(path, options=UNCHECKED)
    assert_same(opened, array[:3, :3])
    assert opened.notes == ("took the central 3 x 3 of 4 x 4 views: an even number has no central one",)
    assert_same(open_light_field(path, options=InputOptions(views=3, check_order=False)), array[:3, :3])


# --- bad inputs ---------------------------------------------------------------------------------------------------


def test_what_is_not_a_light_field(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "rectified" / "deep").mkdir(parents=True)
    (tmp_path / "text.txt").write_text("hello")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("hello")
    cases = {
        "absent": "does not exist",
        "empty": "is empty",
        "rectified": "give one of them, or --recursive for all: deep",
        "texts": "holds no light field",
        "text.txt": "not a known kind",
    }
    for name, message in cases.items():
        with pytest.raises(FreqLFError, match=message):
            open_light_field(tmp_path / name)
    with pytest.raises(FreqLFError, match="unknown format 'zip'"):
        open_light_field(tmp_path / "texts", "zip")
    with pytest.raises(FreqLFError, match="format hci is a folder"):
        open_light_field(tmp_path / "text.txt", "hci")


@pytest.mark.parametrize("suffix", [".lfp", ".LFR"])
def test_raw_files_name_the_tools_that_decode_them(tmp_path, suffix):
    path = tmp_path / f"IMG_0001{suffix}"
    path.write_bytes(b"\x89LFP")
    for given in (path, tmp_path):
        with pytest.raises(FreqLFError, match=r"raw Lytro file.*LFToolbox.*plenopticam"):
            open_light_field(given)


def test_an_image_that_is_neither_lenslets_nor_tiles(tmp_path, array):
    write_image(tmp_path / "one.png", array[0, 0])
    with pytest.raises(FreqLFError, match=r"lenslet image or a tiled one.*--pitch-px.*--grid"):
        open_light_field(tmp_path / "one.png")


def test_options_are_checked():
    for wrong in ({"views": 4}, {"views": 1}, {"stride": 0}, {"pitch_px": 1}, {"grid": (2, 5)}, {"axes": "uvxx"}):
        with pytest.raises(FreqLFError):
            InputOptions(**wrong)
