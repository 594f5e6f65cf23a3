"""`freqlf calibrate`: make a method's intervals hold what they say."""

from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from freqlf.calibration import KINDS, fit_calibration, write_calibration
from freqlf.commands.evaluate import choose_scenes
from freqlf.errors import FreqLFError
from freqlf.evaluation import load_truth, read_uncertainty
from freqlf.metrics import DEFAULT_BORDER_PX
from freqlf.results import Results
from freqlf.terminal import show_progress


def run(
    from_: Annotated[Path, tyro.conf.arg(name="from")],
    data: Path,
    out: Path,
    split: str = "training",
    border: int = DEFAULT_BORDER_PX,
) -> None:
    """Fit how wide intervals must be, on maps with a variance and scenes with ground truth.

    Fit it on scenes that the model was not trained on; judge it on yet others with `freqlf evaluate --calibration`.

    Args:
        from_: Folder with disp_maps/<scene>.pfm and variance_maps/<scene>.pfm.
        data: Folder of the benchmark, or any folder with scenes in its layout.
        out: Where to write the calibration as JSON.
        split: Scenes to fit on: groups of the benchmark or names, separated by commas.
        border: Pixels left out along the edge.
    """
    results = Results(from_)
    pixels = {}
    for scene in show_progress(choose_scenes(data, split), "reading"):
        found = read_uncertainty(results, load_truth(scene, border))
        if found is None:
            raise FreqLFError(f"{results.variance_file(scene.name)} is not there; calibration needs a variance map")
        error_px, variance_px2 = found
        pixels[scene.name] = (error_px, np.sqrt(variance_px2))
    calibration = fit_calibration(pixels)
    write_calibration(out, calibration)
    tried = ", ".join(f"{kind} {calibration.held_out_ece[kind]:.3f}" for kind in KINDS)
    print(f"coverage ECE on scenes left out of the fit: {tried}")
    print(f"wrote {out}: kind {calibration.kind}, fitted on {', '.join(calibration.scenes)}")
