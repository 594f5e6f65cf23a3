"""What all figures share: colours, labels, sizes, and writing them."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text

from freqlf.io.files import write_bytes

DISPARITY_COLOURS = "viridis"
ERROR_COLOURS = "magma"
HIDDEN = "0.6"  # grey, for what is not valid or not a number
COLUMN_INCHES = 3.4  # one column of a paper
PAGE_INCHES = 5.5  # the width of its text
PAPER_DPI = 250


def save_figure(path: Path, figure: Figure, dpi: int = 120) -> None:
    """Write a figure as PNG, atomically."""
    show_literally(figure)
    content = BytesIO()
    figure.savefig(content, format="png", dpi=dpi)
    write_bytes(path, content.getvalue())


def show_literally(figure: Figure) -> None:
    """Take dollars for dollars: names of scenes and methods are no formulas, and bad formulas are errors."""
    for axes in figure.axes:
        axes.get_xticklabels(), axes.get_yticklabels()  # which are made when they are asked for
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if r"\mathdefault" not in text.get_text():  # as in the powers of ten along axes
            text.set_parse_math("$" not in text.get_text())


@contextmanager
def paper_style() -> Iterator[None]:
    """Draw with letters that can be read at the size of print."""
    with matplotlib.rc_context(
        {
            "font.size": 7,
            "axes.titlesize": 7,
            "axes.labelsize": 7,
            "xtick.labelsize": 6,
            "ytick.labelsize": 6,
            "legend.fontsize": 6,
            "axes.linewidth": 0.6,
            "lines.linewidth": 1.2,
            "xtick.major.width": 0.6,
            "ytick.major.width": 0.6,
            "xtick.major.size": 2.5,
            "ytick.major.size": 2.5,
        }
    ):
        yield


def new_grid(width_inches: float, height_inches: float, rows: int, columns: int) -> tuple[Figure, Any]:
    """A figure of pictures with little space in between, and its axes (rows, columns)."""
    layout = ConstrainedLayoutEngine(w_pad=0.015, h_pad=0.015, wspace=0.01, hspace=0.01)
    figure = Figure(figsize=(width_inches, height_inches), layout=layout)
    return figure, figure.subplots(rows, columns, squeeze=False)


def label(axes: Axes, title: str, x_label: str, y_label: str) -> None:
    """Title and both axes."""
    axes.set_title(title, fontsize="medium")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)


def hide_ticks(axes: Axes) -> None:
    """A picture without coordinates; its frame and labels stay."""
    axes.set_xticks([])
    axes.set_yticks([])
