"""Whether everything that belongs to a figure is on it."""

from matplotlib.figure import Figure


def assert_nothing_is_clipped(figure: Figure) -> None:
    figure.draw_without_rendering()  # only now is everything in its place
    box = figure.get_tightbbox()  # in inches
    width, height = figure.get_size_inches()
    assert box.x0 >= -0.005
    assert box.y0 >= -0.005
    assert box.x1 <= width + 0.005
    assert box.y1 <= height + 0.005
