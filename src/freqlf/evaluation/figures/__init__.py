"""Figures: of light fields (`lightfield`), maps and masks (`maps`), curves, and one estimate (`overview`)."""

from freqlf.evaluation.figures.curves import draw_coverage, draw_profiles, draw_sparsification
from freqlf.evaluation.figures.lightfield import draw_disparity, draw_epi, draw_vertical_epi, draw_view
from freqlf.evaluation.figures.maps import draw_masks, draw_qualitative, draw_spectra
from freqlf.evaluation.figures.overview import draw_overview
from freqlf.outputs.canvas import DISPARITY_COLOURS, PAPER_DPI, save_figure

__all__ = [
    "DISPARITY_COLOURS",
    "PAPER_DPI",
    "draw_coverage",
    "draw_disparity",
    "draw_epi",
    "draw_masks",
    "draw_overview",
    "draw_profiles",
    "draw_qualitative",
    "draw_sparsification",
    "draw_spectra",
    "draw_vertical_epi",
    "draw_view",
    "save_figure",
]
