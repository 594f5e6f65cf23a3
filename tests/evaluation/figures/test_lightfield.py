import numpy as np
import pytest
from matplotlib.figure import Figure

from freqlf.evaluation.figures import lightfield as figures
from freqlf.evaluation.figures.lightfield import _clear_points, draw_overview
from freqlf.io.image import read_pixels
from freqlf.lightfield import LightField
from freqlf.outputs.canvas import save_figure
from freqlf.outputs.pointcloud import PointCloud


@pytest.mark.parametrize("draw", [figures.draw_epi, figures.draw_vertical_epi])
@pytest.mark.parametrize("disparity_px", [-1.5, 0.5])
def test_lines_in_an_epi_lie_on_points_of_one_colour(render_plane, draw, disparity_px):
    field = LightField.from_array(render_plane(disparity_px, rows=5, columns=7, height=41, width=50))
    figure = draw(field, np.full((41, 50), disparity_px), 20)
    _, epi_axes, _ = figure.axes
    epi = np.asarray(epi_axes.images[0].get_array())
    assert len(epi_axes.lines) >= 10
    checked = 0
    for line in epi_axes.lines:
        along, views = line.get_xdata(), line.get_ydata()
        assert np.allclose(np.diff(along), -disparity_px)
        if along.min() < 0 or along.max() > epi.shape[1] - 1:
            continue
        colours = [
            [np.interp(x, np.arange(epi.shape[1]), epi[int(v), :, c]) for c in range(3)]
            for x, v in zip(along, views, strict=True)
        ]
        assert np.ptp(colours, axis=0).max() < 0.02
        checked += 1
    assert checked >= 4


def test_points_avoid_occlusion_edges():
    line_px = np.where(np.arange(60) < 30, 1.0, -1.0)
    row = np.zeros((60, 3), np.float32)
    row[10:] = 0.1
    row[30:] = 1.0  # by far the strongest edge
    row[40:] = 0.9
    points = _clear_points(row, line_px, count=2)
    assert not {28, 29, 30, 31} & set(points.tolist())
    assert points[0] in (9, 10)
    assert points[1] in (39, 40)


def test_a_disparity_map_has_a_colour_bar_and_hides_what_is_invalid():
    disparity_px = np.linspace(-2, 2, 30).reshape(5, 6)
    mask = np.ones((5, 6), bool)
    mask[0, 0] = False
    figure = figures.draw_disparity(disparity_px, "a map", mask)
    axes, bar = figure.axes
    shown = axes.images[0].get_array()
    assert axes.get_title() == "a map"
    assert "px per view" in bar.get_ylabel()
    assert np.ma.getmaskarray(shown)[0, 0] or np.isnan(shown[0, 0])
    assert np.allclose(shown[1:], disparity_px[1:])


def test_figures_are_written_as_png(tmp_path):
    figure = figures.draw_view(np.full((8, 8, 3), 0.5, np.float32), "grey")
    assert isinstance(figure, Figure)
    save_figure(tmp_path / "a.png", figure)
    pixels = read_pixels(tmp_path / "a.png")
    assert pixels.shape[2] == 3
    assert (np.abs(pixels.astype(int) - 128) <= 1).all(axis=2).mean() > 0.3  # most of the picture is the grey view


def test_panels_and_points_are_drawn(tmp_path) -> None:
    rng = np.random.default_rng(0)
    view, disparity_px = rng.random((24, 32, 3), np.float32), rng.random((24, 32))
    red = PointCloud(rng.uniform((0, 0, 2), (1, 1, 3), (500, 3)), np.full((500, 3), (255, 0, 0), np.uint8))
    assert len(draw_overview(view, disparity_px, None, red).axes) == 3
    figure = draw_overview(view, disparity_px, 0.1 * disparity_px, red)
    assert [axes.get_title() for axes in figure.axes] == [
        *("central view", "disparity", "standard deviation", "point cloud")
    ]
    save_figure(tmp_path / "overview.png", figure)
    pixels = read_pixels(tmp_path / "overview.png")
    right = pixels[:, -pixels.shape[1] // 4 :, :3].astype(int)
    assert ((right[..., 0] > 200) & (right[..., 1:] < 50).all(axis=-1)).sum() > 500  # the points
