"""Which views are used: every format, whatever is dark, missing or too much."""

import numpy as np
import pytest
import writers
from numpy.testing import assert_array_equal

from freqlf.errors import FreqLFError
from freqlf.inference.opening import open_light_field
from freqlf.io.detect import READERS
from freqlf.io.image import write_image
from freqlf.io.selection import select_views, usual_count
from freqlf.io.viewgrid import InputOptions
from freqlf.lightfield import LINES, LightField

UNCHECKED = InputOptions(check_order=False)
STAR = tuple(LINES)
CROSS = ("horizontal", "vertical")


@pytest.fixture(scope="session")
def vignetted(array):
    """15 x 15 views, black outside of a circle of radius 5.8 views."""
    views = np.zeros((15, 15, *array.shape[2:]), np.uint8)
    for u, v in np.ndindex(15, 15):
        if np.hypot(u - 7, v - 7) <= 5.8:
            views[u, v] = array[2, 2]
    return views


def make_brightness(dark=(), missing=()):
    return lambda u, v: -1.0 if (u, v) in missing else 0.3 if (u, v) in dark else 1.0


@pytest.mark.parametrize("name", [name for name in READERS if name != "hci"])
def test_dark_views_are_dropped_from_every_format(tmp_path, vignetted, scene, name):
    path = writers.WRITERS[name](tmp_path, vignetted, scene)
    options = InputOptions(check_order=False, pitch_px=15, grid=(15, 15) if name == "tiled" else None)
    opened = open_light_field(path, name, options)
    # Corners 4 steps away lie within the circle, those 5 steps away do not: 9 x 9.
    assert (opened.light_field.rows, opened.light_field.columns) == (9, 9)
    assert all(opened.light_field.view(u, v).mean() > 0.1 for u, v in ((0, 0), (0, 8), (8, 0), (8, 8)))
    assert "took the central 9 x 9 of 15 x 15 views" in opened.notes[-1]


def test_python_gets_the_same_views(vignetted):
    for source in (vignetted, LightField.from_array(vignetted)):
        opened = open_light_field(source, options=UNCHECKED)
        assert (opened.light_field.rows, opened.light_field.columns) == (9, 9)
        assert (opened.surroundings.rows, opened.surroundings.columns) == (15, 15)


def test_nine_views_unless_asked():
    assert [usual_count(n, UNCHECKED) for n in (1, 3, 8, 9, 10, 14, 17)] == [1, 3, 7, 9, 9, 9, 9]
    bright = make_brightness()
    chosen = select_views(17, 17, UNCHECKED, STAR, bright, "it")
    assert (chosen.rows, chosen.columns) == (range(4, 13), range(4, 13))
    asked = select_views(17, 17, InputOptions(views=13), STAR, make_brightness(dark={(2, 2)}), "it")
    assert asked.rows == range(2, 15)
    assert asked.note == "took the central 13 x 13 of 17 x 17 views"
    assert select_views(9, 9, UNCHECKED, STAR, bright, "it").note is None
    assert len(select_views(5, 9, UNCHECKED, STAR, bright, "it").columns) == 9


def test_dark_and_missing_views_shrink_the_grid_only_if_they_are_read():
    dark_corner, missing_end = make_brightness(dark={(0, 0)}), make_brightness(missing={(4, 8)})
    assert len(select_views(9, 9, UNCHECKED, STAR, dark_corner, "it").rows) == 7
    assert len(select_views(9, 9, UNCHECKED, CROSS, dark_corner, "it").rows) == 9  # a plus needs no corners
    assert len(select_views(9, 9, UNCHECKED, CROSS, missing_end, "it").rows) == 7
    assert len(select_views(9, 9, UNCHECKED, STAR, make_brightness(dark={(1, 0)}), "it").rows) == 9


def test_the_centre_of_an_even_grid_is_where_more_is_bright():
    dark = {(0, v) for v in range(6)} | {(u, 0) for u in range(6)}
    chosen = select_views(6, 6, UNCHECKED, STAR, make_brightness(dark), "it")
    assert (chosen.rows, chosen.columns) == (range(1, 6), range(1, 6))


def test_nothing_usable_is_one_line():
    with pytest.raises(FreqLFError, match=r"it: of 5 x 5 views, no 3 x 3 around the centre .*--views 3"):
        select_views(5, 5, UNCHECKED, STAR, lambda u, v: 1.0 if (u, v) == (2, 2) else 0.0, "it")


def test_a_corner_that_was_never_exported(tmp_path, array):
    folder = writers.write_numbered(tmp_path / "v", array)
    (folder / "view_0_0.png").unlink()
    opened = open_light_field(folder, options=UNCHECKED)
    assert (opened.light_field.rows, opened.light_field.columns) == (3, 3)
    assert "dark or missing" in opened.notes[0]


@pytest.mark.parametrize(("is_row", "first"), [(True, 0), (False, 0), (True, 1)])
def test_a_single_row_or_column(tmp_path, array, is_row, first):
    line = array[2:3] if is_row else array[:, 2:3]
    folder = writers.write_numbered(tmp_path / "v", line, first=first)
    light_field = open_light_field(folder, options=UNCHECKED).light_field
    assert (light_field.rows, light_field.columns) == line.shape[:2]
    assert light_field.lines == (("horizontal",) if is_row else ("vertical",))
    expected = line[0, 4] if is_row else line[4, 0]
    view = light_field.view(0, 4) if is_row else light_field.view(4, 0)
    assert_array_equal(view, expected.astype(np.float32) / np.float32(255))


def test_a_row_counted_by_one_number_needs_to_be_called_one(tmp_path, array):
    for v in range(5):
        write_image(tmp_path / "v" / f"view_{v:03d}.png", array[2, v])
    with pytest.raises(FreqLFError, match="--grid ROWS COLUMNS"):
        open_light_field(tmp_path / "v", options=UNCHECKED)
    opened = open_light_field(tmp_path / "v", options=InputOptions(check_order=False, grid=(1, 5)))
    assert (opened.light_field.rows, opened.light_field.columns) == (1, 5)
    for grid in ((1, 1), (2, 5)):
        with pytest.raises(FreqLFError, match="--grid takes rows and columns"):
            InputOptions(grid=grid)
