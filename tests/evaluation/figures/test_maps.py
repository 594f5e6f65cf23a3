import numpy as np
import pytest
from clipping import assert_nothing_is_clipped

from freqlf.evaluation.figures.maps import Panel, draw_masks, draw_qualitative, draw_spectra

RNG = np.random.default_rng(0)


def make_panel(name: str = "a scene", *, uncertain: bool = True, shape=(24, 32)) -> Panel:
    ground_truth = np.tile(np.linspace(-3.5, 2.5, shape[1]), (shape[0], 1))
    ground_truth[:3] = np.nan
    error = np.abs(0.1 * RNG.standard_normal(shape))
    return Panel(
        name=name,
        view=RNG.random((*shape, 3)).astype(np.float32),
        ground_truth_px=ground_truth,
        estimate_px=ground_truth + error,
        error_px=error,
        deviation_px=error if uncertain else None,
        caption="MSE x100 1.00",
    )


@pytest.mark.parametrize("uncertain", [True, False])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("shape", [(24, 32), (30, 24)])
def test_the_qualitative_figure_is_in_line_and_not_clipped(uncertain, rows, shape):
    figure = draw_qualitative([make_panel(f"scene {i}", uncertain=uncertain, shape=shape) for i in range(rows)])
    assert_nothing_is_clipped(figure)
    columns = 5 if uncertain else 4
    pictures = [axes for axes in figure.axes if axes.images]
    assert len(pictures) == rows * columns
    for row in range(rows):
        tops = [axes.get_position().y1 for axes in pictures[row * columns : (row + 1) * columns]]
        assert np.ptp(tops) < 1e-9
    assert len(figure.axes) == rows * columns + rows + columns - 3  # a bar per row, and one per kind of error
    titles = [axes.get_title() for axes in pictures[:columns]]
    assert titles == ["central view", "ground truth", "estimate", "absolute error", "predicted deviation"][:columns]
    truth, estimate = pictures[1].images[0], pictures[2].images[0]
    assert truth.get_clim() == estimate.get_clim() == (-3.5, 2.5)


def test_masks_are_painted_over_the_view():
    mask = np.zeros((24, 32), bool)
    mask[5:9, 5:9] = True
    view = np.full((24, 32, 3), 0.5, np.float32)
    figure = draw_masks({"a": view}, {"a": {"boundary": mask, "textureless": ~mask}})
    assert_nothing_is_clipped(figure)
    _, boundary, textureless = (axes.images[0].get_array() for axes in figure.axes)
    assert np.ptp(boundary[mask], axis=1).min() > 0.5  # coloured
    assert np.ptp(boundary[~mask], axis=1).max() == 0  # grey
    assert np.ptp(textureless[~mask], axis=1).min() > 0.5


@pytest.mark.parametrize("count", [1, 2, 4, 7])
def test_spectra_share_one_scale(count):
    spectra = {f"method {i}": (i + 1) * RNG.random((16, 20)) for i in range(count)}
    figure = draw_spectra(spectra, "error spectrum")
    assert_nothing_is_clipped(figure)
    pictures = [axes.images[0] for axes in figure.axes if axes.images]
    assert len(pictures) == count
    assert len({picture.get_clim() for picture in pictures}) == 1


def test_the_spectrum_of_no_error_can_be_drawn():
    figure = draw_spectra({"perfect": np.zeros((8, 8))}, "error spectrum")
    assert_nothing_is_clipped(figure)
