"""`freqlf view`: an estimate to look around in."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from freqlf.outputs.viewer.estimates import EstimateFolder, Truth
    from freqlf.outputs.viewer.page import ScoreTable


def run(
    directory: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")],
    other: Annotated[tyro.conf.Positional[Path | None], tyro.conf.arg(metavar="[OTHER]")] = None,
    out: Path | None = None,
    views: bool = True,
) -> None:
    """Turn the folder of an estimate into one HTML page: maps and values, views, refocusing, EPIs, points in space.

    With OTHER the page compares two maps: their difference, one beside the other, one after the other, and scores.
    The page holds all data itself; open it in any browser, or pass it on. Nothing is opened by itself.

    Args:
        directory: Folder that `freqlf estimate` made.
        other: A second such folder, a scene with ground truth, or a PFM file, of the same image.
        out: The page; view.html in that folder by default, or compare.html. Replaced if it is there.
        views: Keep small views in the page, to look around and to refocus; --no-views makes it smaller.
    """
    from freqlf.io.files import write_text
    from freqlf.outputs.viewer.estimates import COMPARISON, PAGE

    path = directory / (PAGE if other is None else COMPARISON) if out is None else out
    page = build_page(directory, other, views=views)
    write_text(path, page)
    print(f"wrote {path} ({len(page) / 1e6:.1f} MB); open it in a browser")


def build_page(directory: Path, other: Path | None = None, *, views: bool = True) -> str:
    """The page of an estimate, or of an estimate and a second map, with scores if that is the truth."""
    from freqlf.outputs.viewer.estimates import Truth, read_estimate, read_second
    from freqlf.outputs.viewer.page import write_page

    estimate = read_estimate(directory)
    second = None if other is None else read_second(other, estimate)
    scores = score_estimate(estimate, second) if isinstance(second, Truth) else None
    return write_page(estimate, second, scores, views=views)


def score_estimate(estimate: "EstimateFolder", truth: "Truth") -> "ScoreTable":
    """Scores as `freqlf score` gives them; a tiny image has a smaller border."""
    from freqlf.evaluation.metrics import DEFAULT_BORDER_PX, score_map
    from freqlf.outputs.viewer.page import ScoreTable

    disparity_px = estimate.disparity_px
    border_px = min(DEFAULT_BORDER_PX, (min(disparity_px.shape) - 1) // 4)
    scores = score_map(disparity_px, truth.disparity_px, truth.valid_mask, border_px)
    caption = f"{estimate.model} against {truth.name}: {scores.pixels} pixels, at least {border_px} px from the edge"
    bad_pixels = {"0.01": scores.badpix_001, "0.03": scores.badpix_003, "0.07": scores.badpix_007}
    rows = [("MSE x100", f"{scores.mse_100:.3f}"), ("Q25 x100", f"{scores.q25:.3f}")]
    rows += [(f"BadPix({limit})", f"{percent:.2f} %") for limit, percent in bad_pixels.items()]
    return ScoreTable(caption, rows)
