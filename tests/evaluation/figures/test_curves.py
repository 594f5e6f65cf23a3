import numpy as np
import pytest
from clipping import assert_nothing_is_clipped

from freqlf.data.splits import GROUPS
from freqlf.evaluation.figures.curves import draw_coverage, draw_profiles, draw_sparsification
from freqlf.evaluation.uncertainty import sparsify
from freqlf.weights.calibration import LEVELS

LEVEL = np.array(LEVELS)
NAMES = GROUPS["additional"]


@pytest.mark.parametrize("count", [1, 4, 16])
def test_coverage_is_drawn_against_the_level(count):
    curves = {name: LEVEL ** (1 / (i + 1)) for i, name in enumerate(NAMES[:count])}
    figure = draw_coverage(curves, dict.fromkeys(curves, LEVEL))
    assert_nothing_is_clipped(figure)
    predicted, calibrated = figure.axes
    for axes in (predicted, calibrated):
        assert len(axes.lines) == 1 + count  # the diagonal and the scenes
        assert np.array_equal(axes.lines[1].get_xdata(), LEVEL)
    assert np.array_equal(predicted.lines[count].get_ydata(), LEVEL ** (1 / count))
    assert np.array_equal(calibrated.lines[count].get_ydata(), LEVEL)
    assert calibrated.get_title() == "calibrated intervals"
    legend = (calibrated.get_legend() or figure.legends[0]).get_texts()
    ece = "" if count == 16 else ", ECE 0.000"
    assert [text.get_text() for text in legend] == ["ideal", *(f"{name}{ece}" for name in curves)]


def test_coverage_without_a_calibration_is_one_panel():
    figure = draw_coverage({"a": LEVEL**0.5}, {})
    assert_nothing_is_clipped(figure)
    (axes,) = figure.axes
    ece = np.mean(LEVEL**0.5 - LEVEL)
    assert axes.lines[1].get_label() == f"a, ECE {ece:.3f}"


@pytest.mark.parametrize("count", [1, 4, 16])
def test_sparsification_curves_come_with_their_oracle(count):
    error = np.random.default_rng(0).random(500)
    figure = draw_sparsification({name: sparsify(error, error) for name in NAMES[:count]}, "sparsification")
    assert_nothing_is_clipped(figure)
    (axes,) = figure.axes
    assert len(axes.lines) == 2 * count
    assert len({line.get_color() for line in axes.lines}) == count


def test_profiles_of_methods_share_axes():
    frequency = np.arange(20) / 40
    profiles = {name: (frequency, factor / (1 + frequency)) for name, factor in (("one", 1.0), ("two", 2.0))}
    figure = draw_profiles(profiles, "error by frequency")
    assert_nothing_is_clipped(figure)
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one", "two"]
    assert axes.get_xscale() == axes.get_yscale() == "log"
