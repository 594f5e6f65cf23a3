import numpy as np

from freqlf.outputs.previews import preview_deviation, preview_disparity


def test_a_few_outliers_do_not_take_the_colours():
    disparity_px = np.random.default_rng(0).uniform(-1, 1, (60, 80))
    disparity_px[0, 0], disparity_px[0, 1] = 1000, np.inf
    figure = preview_disparity(disparity_px, "a map")
    axes, bar = figure.axes
    picture = axes.images[0]
    assert axes.get_title() == "a map"
    assert "px per view" in bar.get_ylabel()
    low, high = picture.get_clim()
    assert -1 <= low < -0.9
    assert 0.9 < high <= 1.0
    assert picture.get_array()[0, 0] == 1000  # shown as the brightest, not hidden
    assert np.ma.getmaskarray(picture.get_array())[0, 1] or np.isnan(picture.get_array()[0, 1])
    assert picture.colorbar.extend == "both"


def test_deviations_begin_at_zero():
    figure = preview_deviation(np.linspace(0.2, 0.4, 48).reshape(6, 8), "")
    low, high = figure.axes[0].images[0].get_clim()
    assert low == 0
    assert 0.39 < high <= 0.4


def test_maps_without_numbers_and_narrow_ones_are_drawn():
    for values in (np.full((4, 5), np.nan), np.zeros((4, 5)), np.ones((2, 400)), np.ones((400, 2))):
        figure = preview_disparity(values, "")
        figure.canvas.draw()
        assert min(figure.get_size_inches()) > 2
