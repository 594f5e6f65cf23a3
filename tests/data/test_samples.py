import numpy as np
import pytest
import torch
from slanted import make_sample, photometric_error

from freqlf.data.hci import Scene
from freqlf.data.samples import load_sample, load_samples, mirrored_lines
from freqlf.errors import FreqLFError
from freqlf.io.pfm import write_pfm
from freqlf.lightfield import LINES


def test_a_loaded_scene_has_the_views_of_the_light_field(make_scene):
    scene = Scene(make_scene())
    sample = load_sample(scene, LINES)
    assert sample.views.dtype == torch.uint8
    assert len(sample.steps) == 17  # four lines of five views that share the centre
    for line in LINES:
        expected = scene.light_field().stack(line).transpose(0, 3, 1, 2)
        assert np.array_equal(sample.stack(line).numpy(), np.round(255 * expected))
    assert np.array_equal(sample.disparity_px.numpy(), scene.disparity_px())
    assert sample.valid.all()


def test_only_needed_lines_are_loaded(make_scene):
    sample = load_sample(Scene(make_scene()), ["horizontal"])
    assert set(sample.steps) == {(k, 0) for k in range(-2, 3)} | {(0, k) for k in range(-2, 3)}
    with pytest.raises(FreqLFError, match="plane was loaded without its diagonal views"):
        sample.stack("diagonal")
    assert mirrored_lines(["antidiagonal"]) == ("diagonal", "antidiagonal")


# How a turn moves the pixels of a view, and from which step the view at a step comes.
TURNS = {
    "flipped_horizontally": (lambda view: view[:, ::-1], lambda u, v: (u, -v)),
    "flipped_vertically": (lambda view: view[::-1], lambda u, v: (-u, v)),
    "transposed": (lambda view: view.transpose(1, 0, 2), lambda u, v: (v, u)),
}


@pytest.mark.parametrize("turn", TURNS)
def test_turning_a_sample_turns_pixels_and_views(make_scene, turn):
    scene = Scene(make_scene())
    turned = getattr(load_sample(scene, LINES), turn)()
    light_field = scene.light_field()
    centre_u, centre_v = light_field.centre
    turn_pixels, find_source = TURNS[turn]
    for step, view in zip(turned.steps, turned.views, strict=True):
        u, v = find_source(*step)
        expected = np.round(255 * turn_pixels(light_field.view(centre_u + u, centre_v + v))).transpose(2, 0, 1)
        assert np.array_equal(view.numpy(), expected)


@pytest.mark.parametrize("turn", ["flipped_horizontally", "flipped_vertically", "transposed"])
def test_ground_truth_turns_along(turn):
    sample = make_sample()
    assert photometric_error(sample) < 0.02
    turned = getattr(sample, turn)()
    assert photometric_error(turned) < 0.02
    assert photometric_error(turned.cut(5, 7, 40, 45)) < 0.02


def test_the_test_would_notice_wrong_ground_truth():
    sample = make_sample()
    sample.disparity_px.data = sample.disparity_px.flip(1)
    assert photometric_error(sample) > 0.2


def test_pixels_without_ground_truth_are_invalid(make_scene):
    directory = make_scene()
    disparity_px = np.full((32, 40), 0.5, np.float32)
    disparity_px[3, 4] = np.nan
    (directory / "gt_disp_lowres.pfm").unlink()
    write_pfm(directory / "gt_disp_lowres.pfm", disparity_px)
    sample = load_sample(Scene(directory), LINES)
    assert (~sample.valid).nonzero().tolist() == [[3, 4]]
    assert sample.disparity_px.isfinite().all()


def test_scenes_that_cannot_be_trained_on_are_named(make_scene):
    directory = make_scene("hopeless")
    (directory / "gt_disp_lowres.pfm").unlink()
    with pytest.raises(FreqLFError, match=r"hopeless has no ground truth"):
        load_sample(Scene(directory), LINES)
    write_pfm(directory / "gt_disp_lowres.pfm", np.full((32, 40), np.inf, np.float32))
    with pytest.raises(FreqLFError, match=r"hopeless has no valid pixel"):
        load_sample(Scene(directory), LINES)
    (directory / "gt_disp_lowres.pfm").unlink()
    write_pfm(directory / "gt_disp_lowres.pfm", np.zeros((30, 40), np.float32))
    with pytest.raises(FreqLFError, match=r"hopeless.*differ in size"):
        load_sample(Scene(directory), LINES)


def test_scenes_are_loaded_in_order(make_scene):
    scenes = [Scene(make_scene(name)) for name in ("one", "two", "three")]
    assert [sample.name for sample in load_samples(scenes, ["vertical"])] == ["one", "two", "three"]
