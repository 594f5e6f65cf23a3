import numpy as np
import pytest
import scipy.ndimage

from freqlf.data.hci import Scene
from freqlf.errors import FreqLFError
from freqlf.evaluation.metrics import score_map
from freqlf.evaluation.official import describe_official_protocol, enlarge_nearest, score_enlarged, score_officially
from freqlf.io.pfm import write_pfm


@pytest.mark.parametrize(("height", "width", "factor"), [(512, 7, 10), (33, 40, 10), (5, 1, 3), (8, 8, 1)])
def test_maps_are_enlarged_as_the_server_does(height, width, factor):
    pixels = np.arange(height * width, dtype=np.float32).reshape(height, width)
    large = enlarge_nearest(pixels, factor)
    assert large.shape == (factor * height, factor * width)
    assert np.array_equal(large, scipy.ndimage.zoom(pixels, factor, order=0))


def test_indices_follow_the_formula():
    found = enlarge_nearest(np.arange(512)[None].repeat(2, axis=0), 10)[0]
    assert np.array_equal(found, np.floor(np.arange(5120) * 511 / 5119 + 0.5))


def test_the_border_grows_with_the_resolution():
    prediction = np.zeros((40, 40))
    truth = np.zeros((400, 400))
    truth[:150] = truth[-150:] = 9.0  # all of it in the border
    scores = score_enlarged(prediction, truth)
    assert scores.mse_100 == 0.0
    assert scores.pixels == 100 * 100
    truth[150, 150:250] = 0.2  # one of a hundred rows
    scores = score_enlarged(prediction, truth)
    assert scores.mse_100 == pytest.approx(100 * 0.04 / 100)
    assert scores.badpix_007 == pytest.approx(1.0)


def test_ground_truth_must_be_a_multiple():
    with pytest.raises(FreqLFError, match="must be a whole multiple of the map's 40 x 40"):
        score_enlarged(np.zeros((40, 40)), np.zeros((401, 400)))
    with pytest.raises(FreqLFError, match="must be a whole multiple"):
        score_enlarged(np.zeros((40, 40)), np.zeros((4, 4)))


def test_only_some_scenes_are_compared_at_high_resolution(make_scene):
    prediction = np.full((32, 40), 0.55, np.float32)
    prediction[:, :15] = 3.0  # in the server's border
    plane, dots = Scene(make_scene("plane")), Scene(make_scene("dots"))
    native = score_officially(plane, prediction)
    assert native == score_map(prediction, plane.disparity_px(), None, border=15)
    assert native.mse_100 == pytest.approx(0.25, rel=1e-4)
    assert score_officially(dots, prediction) is None  # without the ground truth that the server has
    write_pfm(dots.directory / "gt_disp_highres.pfm", np.full((320, 400), 0.5))
    high = score_officially(dots, prediction)
    assert high.mse_100 == pytest.approx(0.25, rel=1e-4)
    assert high.pixels == (320 - 300) * (400 - 300)


def test_the_protocol_is_described():
    protocol = describe_official_protocol()
    assert protocol["border_px"] == 15
    assert "backgammon, dots, stripes" in protocol["resolution"]
