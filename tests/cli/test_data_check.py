import numpy as np
import pytest

from freqlf.cli.main import main
from freqlf.io.image import write_image
from freqlf.io.pfm import write_pfm


def check(root, capsys):
    code = main(["data", "check", str(root)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_sound_folder(make_scene, tmp_path, capsys):
    make_scene("boxes")
    make_scene("mine")
    code, output, error = check(tmp_path, capsys)
    assert (code, error) == (0, "")
    for expected in ("25 of 5 x 5", "40 x 32", "0.50 to 0.50", "ok"):
        assert output.count(expected) == 2
    assert "not here, training: cotton, dino, sideboard" in output
    assert "not here, stratified: all" in output
    assert "lightfield-analysis.uni-konstanz.de" in output


def remove_centre(scene):
    (scene / "input_Cam012.png").unlink()


def remove_row_view(scene):
    (scene / "input_Cam010.png").unlink()


def resize_view(scene):
    write_image(scene / "input_Cam003.png", np.zeros((32, 41, 3), np.uint8))


def truncate_view(scene):
    path = scene / "input_Cam003.png"
    path.write_bytes(path.read_bytes()[:-300])


def make_view_unreadable(scene):
    (scene / "input_Cam003.png").unlink()
    (scene / "input_Cam003.png").mkdir()


def lie_in_ground_truth(scene):
    (scene / "gt_disp_lowres.pfm").write_bytes(b"Pf\n1000000000 1\n-1\n" + bytes(64))


def put_nan_into_ground_truth(scene):
    disparity_px = np.zeros((32, 40))
    disparity_px[3, 4] = np.nan
    write_pfm(scene / "gt_disp_lowres.pfm", disparity_px)


def fill_ground_truth_with_nan(scene):
    write_pfm(scene / "gt_disp_lowres.pfm", np.full((32, 40), np.nan))


def resize_ground_truth(scene):
    write_pfm(scene / "gt_disp_lowres.pfm", np.zeros((16, 20)))


def black_out_mask(scene):
    write_image(scene / "valid_mask.png", np.zeros((32, 40), np.uint8))


def resize_mask(scene):
    write_image(scene / "valid_mask.png", np.full((8, 8), 255, np.uint8))


def make_grid_even(scene):
    path = scene / "parameters.cfg"
    path.write_text(path.read_text().replace("num_cams_y = 5", "num_cams_y = 6"))


def remove_parameters(scene):
    (scene / "parameters.cfg").unlink()


def break_parameters(scene):
    (scene / "parameters.cfg").write_text("[intrinsics]\n")


def declare_other_size(scene):
    path = scene / "parameters.cfg"
    path.write_text(path.read_text().replace("image_resolution_x_px = 40", "image_resolution_x_px = 512"))


def make_one_pixel(scene):
    for path in scene.glob("input_Cam*.png"):
        write_image(path, np.zeros((1, 1, 3), np.uint8))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove_centre, "input_Cam012.png is missing"),
        (remove_row_view, "the central row and column lack input_Cam 010"),
        (resize_view, "input_Cam003.png has 41 x 32 pixels and"),
        (truncate_view, "as an image"),
        (make_view_unreadable, "is a folder"),
        (lie_in_ground_truth, "its header says 1000000000 x 1"),
        (put_nan_into_ground_truth, "has 1 pixels that are not numbers"),
        (fill_ground_truth_with_nan, "has 1280 pixels that are not numbers"),
        (resize_ground_truth, "gt_disp_lowres.pfm has 20 x 16 pixels, the views have 40 x 32 pixels"),
        (resize_mask, "valid_mask.png has 8 x 8 pixels"),
        (make_grid_even, "6 x 5 views have no central one"),
        (remove_parameters, "parameters.cfg is missing"),
        (break_parameters, "lacks focal_length_mm"),
        (declare_other_size, "parameters.cfg says 512 x 32 pixels"),
        (make_one_pixel, "has 1 x 1 pixels; disparity needs views of at least 2 x 2"),
    ],
)
def test_a_broken_scene_is_explained_beside_the_sound_ones(make_scene, tmp_path, capsys, damage, message):
    make_scene("sound")
    damage(make_scene("sick"))
    before = sorted(tmp_path.rglob("*"))
    code, output, error = check(tmp_path, capsys)
    assert code == 2
    assert message in output
    assert "problem(s)" in output
    assert error.count("\n") == 1
    assert "1 of 2 scenes" in error
    assert error.strip().endswith("need repair: sick")
    assert sorted(tmp_path.rglob("*")) == before


def test_an_empty_folder_and_no_folder_are_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for root, message in ((tmp_path, "no scene under"), (tmp_path / "file", "is not a directory")):
        code, output, error = check(root, capsys)
        assert (code, output) == (2, "")
        assert message in error
        assert error.count("\n") == 1


@pytest.mark.hci
def test_the_benchmark_is_sound(hci_root, capsys):
    code, output, error = check(hci_root / "training", capsys)
    assert (code, error) == (0, "")
    for scene in ("boxes", "cotton", "dino", "sideboard"):
        assert scene in output
    assert output.count("512 x 512") == 4


def test_a_black_mask_is_explained_and_no_problem(make_scene, tmp_path, capsys):
    black_out_mask(make_scene("boxes"))
    code, output, error = check(tmp_path, capsys)
    assert (code, error) == (0, "")
    assert "valid_mask.png is all black" in output
    assert "all pixels count" in output
    assert "100.0 % valid" in output
    assert "ok, see below" in output
