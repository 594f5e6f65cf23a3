import shutil
import warnings

import numpy as np
import pytest
from PIL import Image

from freqlf.data.hci import Scene, _warned, find_scene, find_scenes, write_scene
from freqlf.errors import FreqLFError, FreqLFWarning
from freqlf.io.image import write_image
from freqlf.io.pfm import read_pfm, write_pfm


def test_a_written_scene_is_read_back(make_scene, render_plane):
    scene = Scene(make_scene("plane", disparity_px=0.5))
    field = scene.light_field()
    assert (scene.name, scene.category) == ("plane", "data")
    assert (field.rows, field.columns, field.height, field.width) == (5, 5, 32, 40)
    for u in range(5):
        for v in range(5):
            assert np.abs(field.view(u, v) - render_plane(0.5)[u, v]).max() < 0.6 / 255
    assert scene.has_ground_truth
    assert np.all(scene.disparity_px() == 0.5)
    assert scene.valid_mask().all()
    assert scene.valid_mask().shape == (32, 40)
    stored_m = read_pfm(scene.directory / "gt_depth_lowres.pfm")
    assert np.allclose(stored_m, scene.parameters.depth_m(np.float32(0.5)))
    assert sorted(path.suffix for path in scene.directory.iterdir()) == [".cfg", ".pfm", ".pfm"] + 25 * [".png"]


def test_views_are_numbered_row_by_row(make_scene):
    directory = make_scene()
    (directory / "input_Cam007.png").unlink()  # u = 1, v = 2 of a 5 x 5 grid
    field = Scene(directory).light_field()
    assert [(u, v) for u in range(5) for v in range(5) if not field.has_view(u, v)] == [(1, 2)]
    with pytest.raises(FreqLFError, match=r"view \(1, 2\) is missing: .*input_Cam007\.png"):
        field.stack("vertical")


@pytest.mark.parametrize("image_format", ["png", "webp", "tif"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_formats_and_depths(tmp_path, make_scene, image_format, dtype):
    parameters = Scene(make_scene()).parameters
    pixels = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, (32, 40, 3)).astype(dtype)
    arguments = (tmp_path / "new", {(2, 2): pixels}, np.zeros((32, 40)), parameters)
    if dtype == np.uint16 and image_format != "png":
        with pytest.raises(FreqLFError, match="16-bit"):
            write_scene(*arguments, image_format=image_format)
        assert not (tmp_path / "new").exists()
        return
    write_scene(*arguments, image_format=image_format, valid_mask=np.eye(32, 40, dtype=bool))
    scene = Scene(tmp_path / "new")
    top = np.float32(np.iinfo(dtype).max)
    assert np.array_equal(scene.light_field().centre_view(), pixels.astype(np.float32) / top)
    assert np.array_equal(scene.valid_mask(), np.eye(32, 40, dtype=bool))


def test_jpeg_views_are_found(make_scene):
    directory = make_scene()
    path = directory / "input_Cam012.png"
    with Image.open(path) as image:
        image.save(path.with_suffix(".JPG"), quality=95)
    path.unlink()
    assert Scene(directory).view_files()[2, 2].name == "input_Cam012.JPG"
    assert Scene(directory).light_field().centre_view().shape == (32, 40, 3)


def test_writing_never_replaces_a_scene(make_scene):
    directory = make_scene()
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    scene = Scene(directory)
    with pytest.raises(FreqLFError, match="already exists"):
        write_scene(directory, {}, np.zeros((32, 40)), scene.parameters)
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before


def test_scenes_are_found_by_name_wherever_they_lie(make_scene, tmp_path):
    deep = make_scene("deep/down/pebble")
    make_scene("atoll")
    shutil.copytree(deep, tmp_path / "data" / ".unfinished")
    (tmp_path / "data" / "deep" / "loop").symlink_to(tmp_path / "data", target_is_directory=True)
    elsewhere = tmp_path / "elsewhere"
    shutil.move(make_scene("linked"), elsewhere)
    (tmp_path / "data" / "linked").symlink_to(elsewhere, target_is_directory=True)
    root = tmp_path / "data"
    assert [scene.name for scene in find_scenes(root)] == ["atoll", "linked", "pebble"]
    assert find_scene(root, "pebble").directory == deep
    assert [scene.name for scene in find_scenes(deep)] == ["pebble"]
    with pytest.raises(FreqLFError, match=r"no scene cave under .*there are atoll, linked, pebble"):
        find_scene(root, "cave")


def test_a_scene_can_be_the_current_directory(make_scene, monkeypatch):
    monkeypatch.chdir(make_scene("here"))
    from pathlib import Path

    assert [scene.name for scene in find_scenes(Path("."))] == ["here"]


def test_two_scenes_of_one_name_are_refused(make_scene, tmp_path):
    make_scene("one/twin")
    make_scene("two/twin")
    with pytest.raises(FreqLFError, match="two scenes are called twin"):
        find_scenes(tmp_path)


def test_nothing_to_find(tmp_path):
    with pytest.raises(FreqLFError, match=r"no scene under .*HCI 4D Light Field Benchmark"):
        find_scenes(tmp_path)
    with pytest.raises(FreqLFError, match="is not a directory"):
        find_scenes(tmp_path / "absent")


def test_a_missing_central_view_is_named(make_scene):
    directory = make_scene()
    (directory / "input_Cam012.png").unlink()
    with pytest.raises(FreqLFError, match=r"no central view: .*input_Cam012\.png is missing"):
        Scene(directory).light_field()


def test_views_that_contradict_the_grid_or_each_other_are_refused(make_scene):
    directory = make_scene()
    write_image(directory / "input_Cam025.png", np.zeros((32, 40, 3), np.uint8))
    with pytest.raises(FreqLFError, match="is view 025, but the scene has 5 x 5 views"):
        Scene(directory).light_field()
    (directory / "input_Cam025.png").rename(directory / "input_Cam003.tif")
    with pytest.raises(FreqLFError, match="are the same view"):
        Scene(directory).light_field()


def test_without_parameters_the_grid_is_the_benchmarks(tmp_path):
    write_image(tmp_path / "input_Cam040.png", np.zeros((8, 8, 3), np.uint8))
    scene = Scene(tmp_path)
    assert scene.light_field().has_view(4, 4)
    assert scene.disparity_px() is None
    assert scene.valid_mask().shape == (8, 8)
    with pytest.raises(FreqLFError, match=r"parameters\.cfg does not exist"):
        _ = scene.parameters


def test_a_colour_map_is_not_a_ground_truth(make_scene):
    directory = make_scene()
    write_pfm(directory / "gt_disp_lowres.pfm", np.zeros((32, 40, 3)))
    with pytest.raises(FreqLFError, match="colour PFM"):
        Scene(directory).disparity_px()


@pytest.mark.hci
def test_the_benchmark_as_downloaded(hci_root):
    scene = find_scene(hci_root, "kitchen")
    assert scene.category == "additional"
    field = scene.light_field()
    assert (field.rows, field.columns, field.height, field.width) == (9, 9, 512, 512)
    assert field.stack("horizontal").shape == (9, 512, 512, 3)
    assert field.stack("diagonal").shape == (9, 512, 512, 3)
    assert 0.70 < scene.valid_mask().mean() < 0.73
    disparity_px = scene.disparity_px()
    parameters = scene.parameters
    assert parameters.disp_min_px <= disparity_px.min() < disparity_px.max() <= parameters.disp_max_px
    assert np.array_equal(disparity_px, read_pfm(scene.directory / "gt_disp_lowres.pfm"))


def test_masks_in_the_wild(make_scene):
    scene = Scene(make_scene())
    path = scene.directory / "valid_mask.png"
    half = np.zeros((32, 40, 4), np.uint8)
    half[:, :20, :3] = 255
    for pixels in (half, np.where(np.arange(4) == 3, 255, half)):  # RGBA: transparent, or opaque everywhere
        write_image(path, pixels.astype(np.uint8))
        assert np.array_equal(scene.valid_mask(), half[..., 0] > 0)
    for nothing in (np.zeros((32, 40, 3), np.uint8), np.zeros((32, 40), np.uint8)):
        write_image(path, nothing)
        _warned.clear()
        with pytest.warns(FreqLFWarning, match=r"valid_mask\.png is all black"):
            assert scene.valid_mask().all()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert scene.valid_mask().all()  # warned of once
    black = np.zeros((32, 40, 4), np.uint8)
    black[..., 3] = 255
    write_image(path, black)
    assert scene.valid_mask().all()
