import numpy as np
import pytest
from planes import HEIGHT, WIDTH, render_planes

from freqlf.lightfield import LightField
from freqlf.outputs.smallviews import choose_steps, shrink_views


def test_the_views_of_the_star_come_back() -> None:
    pixels = render_planes()
    views = shrink_views(LightField.from_array(pixels))
    assert len(views.steps) == 33
    assert views.steps[0] == (0, 0)
    picture = np.asarray(views.picture)
    for n, (du, dv) in enumerate(views.steps):
        row, column = divmod(n, views.columns)
        tile = picture[row * HEIGHT : (row + 1) * HEIGHT, column * WIDTH : (column + 1) * WIDTH]
        assert np.array_equal(tile, np.rint(255 * pixels[4 + du, 4 + dv]))


def test_large_views_are_shrunk_and_many_thinned_out() -> None:
    field = LightField.from_array(np.zeros((17, 17, 40, 1024), np.float32))
    views = shrink_views(field)
    assert (views.width_px, views.height_px) == (512, 20)
    assert len(views.steps) == 33
    assert {abs(du) for du, _ in views.steps} == {0, 2, 4, 6, 8}


def test_missing_views_are_left_out() -> None:
    pixels = np.zeros((8, 8, 3), np.float32)
    row = LightField(3, 5, {(1, v): pixels for v in range(5)})
    assert choose_steps(row) == ((0, 0), (0, -1), (0, 1), (0, -2), (0, 2))


@pytest.mark.parametrize("views", [3, 5, 9])
def test_the_centre_is_always_there(views: int) -> None:
    steps = choose_steps(LightField.from_array(np.zeros((views, views, 4, 4), np.float32)))
    assert steps[0] == (0, 0)
    assert len(steps) == 1 + 8 * (views // 2)
