import numpy as np

from freqlf.evaluation.figures import draw_overview, save_figure
from freqlf.io.image import read_pixels
from freqlf.outputs.pointcloud import PointCloud


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
