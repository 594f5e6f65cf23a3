import numpy as np
import pytest

from freqlf.errors import FreqLFError
from freqlf.evaluation.metrics import mean_scores, score_map


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
