"""What is particular about each format, and what each says about damaged files."""

import h5py
import numpy as np
import pytest
import writers
from numpy.testing import assert_array_equal

from freqlf.errors import FreqLFError
from freqlf.inference.opening import open_light_field
from freqlf.io.arrays import read_npy, read_npz
from freqlf.io.detect import detect_format
from freqlf.io.hdf5 import read_hdf5
from freqlf.io.image import write_image
from freqlf.io.lftoolbox import read_lftoolbox
from freqlf.io.numbered import read_numbered
from freqlf.io.pictures import read_lenslet, read_tiled
from freqlf.io.stanford import read_stanford
from freqlf.io.viewgrid import InputOptions

DEFAULT = InputOptions()


def assert_holds(grid, array):
    assert (grid.rows, grid.columns) == array.shape[:2]
    for u, v in np.ndindex(array.shape[:2]):
        assert_array_equal(grid.source.read(u, v), array[u, v].astype(np.float32) / np.float32(255))


# --- numbered -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("view_{u}_{v}.png", 1),
        ("lf_{u:02d}_{v:02d}.webp", 0),
        ("{u:03d}-{v:03d}.png", 10),
        ("r{u}_c{v}.tif", 0),
        ("out_{u:02d}_{v:02d}_.png", 0),
        ("scan_2019_{n:04d}.png", 1),
        ("{n}.png", 0),
    ],
)
def test_names(tmp_path, array, name, first):
    assert_holds(read_numbered(writers.write_numbered(tmp_path / "v", array, name, first), DEFAULT), array)


def test_one_number_needs_a_square_or_a_grid(tmp_path, array):
    oblong = array[:3]
    folder = writers.write_numbered(tmp_path / "v", oblong, "{n}.png", 1)
    with pytest.raises(FreqLFError, match=r"15 views numbered 1 to 15, which is no square; .* --grid ROWS"):
        read_numbered(folder, DEFAULT)
    assert_holds(read_numbered(folder, InputOptions(grid=(3, 5))), oblong)
    with pytest.raises(FreqLFError, match="more than the grid of 3 x 3"):
        read_numbered(folder, InputOptions(grid=(3, 3)))
    # The same files, counted down columns: five rows of three.
    opened = open_light_field(folder, options=InputOptions(grid=(5, 3), column_major=True, check_order=False))
    assert_array_equal(opened.light_field.view(4, 2), oblong[2, 4].astype(np.float32) / np.float32(255))


def test_other_images_are_left_out(tmp_path, array):
    folder = writers.write_numbered(tmp_path / "v", array)
    write_image(folder / "thumb_0_0.png", array[0, 0, ::2, ::2])
    write_image(folder / "preview.png", array[0, 0, ::2, ::2])
    grid = read_numbered(folder, DEFAULT)
    assert_holds(grid, array)
    assert grid.notes == ("left out 2 images that are not named like the others",)


def test_bad_folders(tmp_path, array):
    folder = writers.write_numbered(tmp_path / "v", array)
    write_image(folder / "view_1_1.png", array[1, 1, :32])
    with pytest.raises(FreqLFError, match=r"one size, but .*view_1_1\.png has 80 x 32 pixels"):
        read_numbered(folder, DEFAULT)
    write_image(folder / "view_1_1.png", array[1, 1])
    write_image(folder / "view_1_01.png", array[1, 1])
    with pytest.raises(FreqLFError, match="the same view"):
        read_numbered(folder, DEFAULT)
    (folder / "view_1_01.png").unlink()
    for v in range(5):
        (folder / f"view_3_{v}.png").unlink()
    with pytest.raises(FreqLFError, match="no view of row 3"):
        read_numbered(folder, DEFAULT)
    nameless = tmp_path / "nameless"
    for name in ("a", "b", "c"):
        write_image(nameless / f"{name}.png", array[0, 0])
    with pytest.raises(FreqLFError, match="no numbers"):
        read_numbered(nameless, DEFAULT)
    with pytest.raises(FreqLFError, match=r"2 x 5 views; .* at least 3 x 3 views, or a single row"):
        read_numbered(writers.write_numbered(tmp_path / "few", array[:2]), DEFAULT)


def test_a_missing_central_view_is_named(tmp_path, array):
    folder = writers.write_numbered(tmp_path / "v", array)
    (folder / "view_2_2.png").unlink()
    with pytest.raises(FreqLFError, match="no central view"):
        open_light_field(folder)


# --- stanford -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["_", ""])
def test_positions_decide(tmp_path, array, end):
    folder = writers.write_stanford(tmp_path / "s", array, end)
    assert detect_format(folder) == (folder, "stanford")
    assert_holds(read_stanford(folder, DEFAULT), array[::-1])  # by y, which grows upwards in this one


def test_an_uneven_grid_is_noted(tmp_path, array):
    folder = writers.write_stanford(tmp_path / "s", array)
    path = next(folder.glob("out_02_00_*"))
    path.rename(folder / "out_02_00_109.0_-246.9_.png")
    assert "beside an even grid" in read_stanford(folder, DEFAULT).notes[-1]


# --- lenslets and tiles -------------------------------------------------------------------------------------------


def test_lenslets_are_told_from_tiles(tmp_path, array):
    lenslets = writers.write_lenslet(tmp_path / "a.png", array)
    tiles = writers.write_tiled(tmp_path / "b.png", array)
    assert detect_format(lenslets, InputOptions(pitch_px=5))[1] == "lenslet"
    assert detect_format(tiles, InputOptions(pitch_px=5))[1] == "tiled"
    assert detect_format(lenslets, InputOptions(grid=(5, 5)))[1] == "tiled"  # whoever gives a grid means tiles


def test_dark_corners_are_dropped(tmp_path, array):
    views = np.zeros((14, 14, *array.shape[2:]), np.uint8)
    for u, v in np.ndindex(14, 14):  # the round picture of an aperture whose centre is view (6, 7)
        if (u - 6) ** 2 + (v - 7) ** 2 <= 4.5**2:
            views[u, v] = array[u % 5, v % 5]
    path = writers.write_lenslet(tmp_path / "a.png", views)
    opened = open_light_field(path, "lenslet", InputOptions(check_order=False))
    assert (opened.light_field.rows, opened.light_field.columns) == (7, 7)
    assert_array_equal(opened.light_field.view(0, 0), views[3, 4].astype(np.float32) / np.float32(255))
    assert "took the central 7 x 7 of 14 x 14 views: those outside are dark or missing" in opened.notes[0]
    opened = open_light_field(path, "lenslet", InputOptions(views=9, check_order=False))
    assert_array_equal(opened.light_field.view(4, 4), views[6, 6].astype(np.float32) / np.float32(255))


def test_sizes_that_do_not_divide(tmp_path, array):
    path = writers.write_lenslet(tmp_path / "a.png", array)
    with pytest.raises(FreqLFError, match="400 x 320 pixels, which is no multiple of the pitch of 14"):
        read_lenslet(path, DEFAULT)
    with pytest.raises(FreqLFError, match="cannot be cut into 7 rows"):
        read_tiled(path, InputOptions(grid=(7, 5)))
    write_image(tmp_path / "flat.png", np.zeros((64, 64, 3), np.uint8))
    with pytest.raises(FreqLFError, match="cannot tell how many views"):
        read_tiled(tmp_path / "flat.png", DEFAULT)
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    with pytest.raises(FreqLFError, match=r"broken\.png"):
        open_light_field(tmp_path / "broken.png")


# --- containers ---------------------------------------------------------------------------------------------------


def test_a_dataset_by_name_and_axes(tmp_path, array):
    path = tmp_path / "other.h5"
    with h5py.File(path, "w") as file:
        file["group/views"] = array.transpose(4, 2, 3, 0, 1)
    assert_holds(read_hdf5(path, InputOptions(dataset="group/views", axes="cyxuv")), array)
    with pytest.raises(FreqLFError, match="no dataset LF but group"):
        read_hdf5(path, DEFAULT)
    with pytest.raises(FreqLFError, match="no dataset absent"):
        read_hdf5(path, InputOptions(dataset="absent"))
    with pytest.raises(FreqLFError, match="does not fit axes uvyx"):
        read_hdf5(path, InputOptions(dataset="group/views", axes="uvyx"))


def test_damaged_hdf5(tmp_path, array):
    path = writers.write_scene_hdf5(tmp_path / "scene.h5", array)
    whole = path.read_bytes()
    for damaged in (b"", b"not HDF5 at all", whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(FreqLFError, match="as HDF5"):
            open_light_field(path)
    with pytest.raises(FreqLFError, match="does not exist"):
        read_hdf5(tmp_path / "absent.h5", DEFAULT)


def test_hdf5_that_claims_too_much(tmp_path):
    path = tmp_path / "huge.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("LF", (9, 9, 10**6, 10**6, 3), np.uint8, chunks=(1, 1, 64, 64, 3))
        file.create_dataset("many", (10**6, 9, 10**7, 9, 3), np.uint8, chunks=(1, 1, 64, 9, 3))
        file.create_dataset("text", (5, 5, 8, 8), "S4")
    with pytest.raises(FreqLFError, match="claims views of 1000000 x 1000000 pixels"):
        read_hdf5(path, DEFAULT)
    with pytest.raises(FreqLFError, match="claims 1000000 x 9 views"):
        read_hdf5(path, InputOptions(dataset="many"))
    with pytest.raises(FreqLFError, match="pixels of type"):
        read_hdf5(path, InputOptions(dataset="text"))
    with pytest.raises(FreqLFError, match="stores 0 bytes"):
        read_lftoolbox(path, InputOptions(axes="uvyxc"))


@pytest.mark.parametrize("version", ["7.3", "5"])
def test_lftoolbox_drops_views_of_little_weight(tmp_path, array, version):
    weight = np.ones((5, 5))
    weight[[0, 0, -1, -1], [0, -1, 0, -1]] = 0.2
    path = writers.write_lftoolbox(tmp_path / "IMG__Decoded.mat", array, weight, version)
    assert_holds(read_lftoolbox(path, DEFAULT), array)
    usable = open_light_field(path, options=InputOptions(check_order=False)).light_field
    assert (usable.rows, usable.columns) == (3, 3)
    assert_array_equal(usable.view(0, 0), array[1, 1].astype(np.float32) / np.float32(255))
    asked = open_light_field(path, options=InputOptions(views=5, check_order=False)).light_field
    assert (asked.rows, asked.columns) == (5, 5)


def test_damaged_mat(tmp_path):
    path = tmp_path / "IMG__Decoded.mat"
    for damaged in (b"", b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + bytes(40), b"x" * 500):
        path.write_bytes(damaged)
        with pytest.raises(FreqLFError, match=r"IMG__Decoded\.mat"):
            read_lftoolbox(path, DEFAULT)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_arrays_of_any_depth_and_order(tmp_path, array, dtype):
    scaled = {np.uint8: array, np.uint16: array.astype(np.uint16) * 257}.get(dtype, array / np.float32(255))
    path = writers.write_array(tmp_path / "lf.npy", scaled.transpose(2, 3, 4, 1, 0))
    grid = read_npy(path, InputOptions(axes="yxcvu"))
    assert np.abs(grid.source.read(1, 3) - array[1, 3] / 255).max() < 1e-6


def test_grey_arrays(tmp_path, array):
    path = writers.write_array(tmp_path / "lf.npy", array[..., 1])
    assert_holds(read_npy(path, DEFAULT), np.repeat(array[..., 1:2], 3, axis=4))


def test_bad_arrays(tmp_path, array):
    path = tmp_path / "lf.npy"
    shapes = {
        "more views than pixels.*--axes yxuvc": array.transpose(2, 3, 0, 1, 4),
        "views of 3 x 80 pixels": array[0],
        "1, 3 or 4 channels": np.zeros((5, 5, 8, 8, 2), np.uint8),
        "pixels of type int64": array.astype(np.int64),
    }
    for message, wrong in shapes.items():
        writers.write_array(path, wrong)
        with pytest.raises(FreqLFError, match=message):
            read_npy(path, DEFAULT)
    writers.write_array(path, array * np.float32(1))
    with pytest.raises(FreqLFError, match=r"outside \[0, 1\]"):
        open_light_field(path)


def test_arrays_are_never_unpickled(tmp_path, array):
    pickled = np.empty((5, 5), object)
    pickled[:] = "text"
    np.save(tmp_path / "lf.npy", pickled, allow_pickle=True)
    np.savez(tmp_path / "lf.npz", lf=pickled)
    for name in ("lf.npy", "lf.npz"):
        with pytest.raises(FreqLFError, match="Python objects"):
            open_light_field(tmp_path / name)


def test_damaged_arrays(tmp_path, array):
    path = writers.write_array(tmp_path / "lf.npy", array)
    header = path.read_bytes()[:128]
    for damaged in (b"", b"text", header, header.replace(b"(5, 5, 64", b"(5, 5, 9" + b"9" * 10)[:128]):
        path.write_bytes(damaged)
        with pytest.raises(FreqLFError, match="as a NumPy file"):
            read_npy(path, DEFAULT)
    zipped = writers.write_npz(tmp_path / "lf.npz", array)
    for damaged in (b"", zipped.read_bytes()[:-30]):
        zipped.write_bytes(damaged)
        with pytest.raises(FreqLFError, match="as a NumPy file"):
            read_npz(zipped, DEFAULT)
    np.savez(tmp_path / "two.npz", a=array, b=array)
    with pytest.raises(FreqLFError, match="holds a, b"):
        read_npz(tmp_path / "two.npz", DEFAULT)
    assert_holds(read_npz(tmp_path / "two.npz", InputOptions(dataset="b")), array)
