"""`freqlf calibrate`: make a method's intervals hold what they say."""

from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from freqlf.cli.arguments import BorderPx
from freqlf.cli.terminal import print_table, show_progress
from freqlf.data.hci import choose_scenes
from freqlf.errors import FreqLFError
from freqlf.evaluation.calibration import Pixels, fit_calibration
from freqlf.evaluation.evaluate import load_truth, read_uncertainty
from freqlf.evaluation.metrics import DEFAULT_BORDER_PX
from freqlf.evaluation.results import Results
from freqlf.evaluation.tables import Row, Table, format_number, to_rich
from freqlf.evaluation.uncertainty import coverage_curve, score_uncertainty, standardize
from freqlf.weights.calibration import LEVELS, Calibration, Values, calibration_error, write_calibration


def run(
    from_: Annotated[Path, tyro.conf.arg(name="from")],
    data: Path,
    out: Path,
    split: str = "training",
    border: BorderPx = DEFAULT_BORDER_PX,
) -> None:
    """Fit how wide intervals must be, on maps with a variance and scenes with ground truth.

    Fit it on scenes that the model was not trained on. What it does for others is told by leaving out one scene after
    the other; `freqlf evaluate --calibration` judges it on yet others; `freqlf pack --calibration` adds it to weights.

    Args:
        from_: Folder with disp_maps/<scene>.pfm and variance_maps/<scene>.pfm.
        data: Folder of the benchmark, or any folder with scenes in its layout.
        out: Where to write the calibration as JSON.
        split: Scenes to fit on: groups of the benchmark or names, separated by commas.
        border: Pixels left out along the edge.
    """
    results = Results(from_)
    pixels = {}
    for scene in show_progress(choose_scenes(data, split, "--split"), "reading"):
        found = read_uncertainty(results, load_truth(scene, border))
        if found is None:
            raise FreqLFError(f"{results.variance_file(scene.name)} is not there; calibration needs a variance map")
        error_px, variance_px2 = found
        pixels[scene.name] = (error_px, np.sqrt(variance_px2))
    calibration = fit_calibration(pixels)
    write_calibration(out, calibration)
    print_table(to_rich(list_scenes(pixels, calibration)))
    print(f"wrote {out}: fitted on {', '.join(calibration.scenes)}")


def list_scenes(pixels: dict[str, Pixels], calibration: Calibration) -> Table:
    """How the uncertainty of each scene does as predicted, and how by a calibration that does not know the scene."""
    shown_level = LEVELS.index(0.9)

    def list_values(error_px: Values, deviation_px: Values, left_out: Values) -> list[float]:
        scores = score_uncertainty(error_px, deviation_px**2)
        inside = coverage_curve(standardize(error_px, deviation_px**2))[shown_level]
        return [
            *(scores.spearman, scores.pearson, scores.ece, inside),
            *(calibration_error(left_out), left_out[shown_level]),
        ]

    left_out = {name: np.array(covered) for name, covered in calibration.held_out_coverage.items()}
    rows = {name: list_values(*one, left_out[name]) for name, one in pixels.items()}
    error_px, deviation_px = (np.concatenate(parts) for parts in zip(*pixels.values(), strict=True))
    summary = {
        "mean": np.mean(list(rows.values()), axis=0).tolist(),
        "pooled": list_values(error_px, deviation_px, np.mean(list(left_out.values()), axis=0)),
    }

    def to_cells(rows: dict[str, list[float]]) -> tuple[Row, ...]:
        return tuple((name, *(format_number(value, 3) for value in values)) for name, values in rows.items())

    return Table(
        "intervals as predicted, and calibrated without the scene",
        ("scene", "Spearman", "Pearson", "ECE", "inside 90 %", "ECE, left out", "inside 90 %, left out"),
        to_cells(rows),
        to_cells(summary),
        notes=(
            "Left out: by a calibration that was fitted without the scene. A calibration widens or narrows "
            "intervals but never changes which of two is wider, so Spearman's correlation stays.",
        ),
    )
