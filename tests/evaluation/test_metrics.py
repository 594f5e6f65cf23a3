import numpy as np
import pytest
import scipy.ndimage

from freqlf.data.hci import Scene
from freqlf.errors import FreqLFError
from freqlf.evaluation.metrics import (
    describe_official_protocol,
    enlarge_nearest,
    mean_scores,
    score_enlarged,
    score_map,
    score_officially,
)
from freqlf.io.pfm import write_pfm


def test_scores_by_hand():
    ground_truth = np.zeros((2, 4))
    prediction = np.array([[0.0, 0.005, -0.02, 0.02], [0.05, -0.05, 0.1, -1.0]])
    scores = score_map(prediction, ground_truth, border=0)
    assert scores.mse_100 == pytest.approx(100 * np.mean(prediction**2))
    assert (scores.badpix_001, scores.badpix_003, scores.badpix_007) == (75.0, 50.0, 25.0)
    assert scores.q25 == pytest.approx(2.0)  # the third smallest of eight
    assert (scores.pixels, scores.non_finite, scores.no_ground_truth) == (8, 0, 0)


def test_an_error_of_exactly_the_threshold_is_not_bad():
    scores = score_map(np.full((3, 3), 0.07), np.zeros((3, 3)), border=0)
    assert scores.badpix_007 == 0.0
    assert scores.badpix_003 == 100.0


def test_border_mask_and_missing_ground_truth_are_left_out():
    ground_truth = np.zeros((8, 10))
    prediction = np.full((8, 10), 5.0)
    prediction[2:-2, 2:-2] = 0.1
    ground_truth[3, 3] = np.nan
    mask = np.ones((8, 10), bool)
    mask[4, 4] = False
    prediction[3, 3] = prediction[4, 4] = 9.0
    scores = score_map(prediction, ground_truth, mask, border=2)
    assert (scores.pixels, scores.no_ground_truth) == (4 * 6 - 2, 1)
    assert scores.mse_100 == pytest.approx(1.0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_predictions_that_are_not_numbers_count_as_bad_and_are_reported(value):
    prediction = np.zeros((4, 4), np.float32)
    prediction[0, :2] = value
    scores = score_map(prediction, np.zeros((4, 4), np.float32), border=0)
    assert (scores.pixels, scores.non_finite) == (16, 2)
    assert scores.badpix_001 == scores.badpix_007 == 12.5
    assert scores.mse_100 == np.inf
    assert scores.q25 == 0.0


@pytest.mark.parametrize(
    ("prediction", "truth", "mask", "border", "message"),
    [
        ((4, 5), (5, 4), None, 0, "the prediction is 5 x 4 pixels, the ground truth 4 x 5"),
        ((4, 4), (4, 4), (4, 5), 0, "the valid mask is 5 x 4"),
        ((4, 4), (4, 4), None, 2, "a border of 2 pixels leaves nothing of a 4 x 4"),
        ((1, 1), (1, 1), None, 11, "leaves nothing of a 1 x 1"),
        ((4, 4), (4, 4), None, -1, "a border of -1"),
        ((4, 4, 3), (4, 4, 3), None, 0, "not the shape"),
    ],
)
def test_sizes_that_do_not_fit_are_errors(prediction, truth, mask, border, message):
    with pytest.raises(FreqLFError, match=message):
        score_map(np.zeros(prediction), np.zeros(truth), None if mask is None else np.ones(mask, bool), border)


def test_nothing_to_score_is_an_error():
    with pytest.raises(FreqLFError, match="no pixel to score"):
        score_map(np.zeros((4, 4)), np.full((4, 4), np.nan), border=0)
    with pytest.raises(FreqLFError, match="no pixel to score"):
        score_map(np.zeros((4, 4)), np.zeros((4, 4)), np.zeros((4, 4), bool), border=0)


def test_the_mean_is_over_scenes_not_pixels():
    small = score_map(np.full((2, 2), 1.0), np.zeros((2, 2)), border=0)
    large = score_map(np.zeros((9, 9)), np.zeros((9, 9)), border=0)
    assert mean_scores([small, large])["mse_100"] == pytest.approx(50.0)


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
