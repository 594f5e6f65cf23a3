"""Validation during training: whole scenes, scored as in the paper's tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from freqlf.data.samples import Sample
from freqlf.evaluation.metrics import DEFAULT_BORDER_PX, Scores, mean_scores, score_map
from freqlf.models.base import DisparityModel
from freqlf.models.mixture import Mixture
from freqlf.training.distributed import Processes

# Ways to read one disparity off a mixture.
ESTIMATES = {"mean": Mixture.mean, "tempered_mean": Mixture.tempered_mean, "surface_mean": Mixture.surface_mean}
_LARGEST_SHOWN_ERROR_PX = 0.3


@dataclass(frozen=True)
class Validation:
    """How a model does on whole scenes it has not seen.

    Attributes:
        scores: by estimate (a key of `ESTIMATES`), then by scene.
        predictions_px: by scene, (H, W) float32 read by `mean`.
    """

    scores: dict[str, dict[str, Scores]]
    predictions_px: dict[str, NDArray[np.float32]]

    def mean(self, estimate: str = "mean") -> dict[str, float]:
        """The mean of every metric over the scenes."""
        return mean_scores(list(self.scores[estimate].values()))

    def summary(self) -> dict[str, Any]:
        """MSE and BadPix for the log, by estimate: per scene and over all."""
        metrics = ("mse_100", "badpix_007")
        return {
            estimate: {name: {metric: getattr(score, metric) for metric in metrics} for name, score in scenes.items()}
            | {"all": {metric: self.mean(estimate)[metric] for metric in metrics}}
            for estimate, scenes in self.scores.items()
        }


def validate(model: DisparityModel[Any], scenes: Sequence[Sample], processes: Processes) -> Validation:
    """Estimate the disparity of every scene and score it. The processes share the work; all get all results."""
    was_training = model.training
    model.eval()
    mine = {
        scene.name: _validate_scene(model, scene, processes.device)
        for scene in scenes[processes.rank :: processes.count]
    }
    model.train(was_training)
    results = processes.gather(mine)
    results = {scene.name: results[scene.name] for scene in scenes}  # in the order of the scenes
    scores = {estimate: {name: one[0][estimate] for name, one in results.items()} for estimate in ESTIMATES}
    return Validation(scores, {name: one[1] for name, one in results.items()})


@torch.inference_mode()
def _validate_scene(
    model: DisparityModel[Any], scene: Sample, device: torch.device
) -> tuple[dict[str, Scores], NDArray[np.float32]]:
    stacks = {line: scene.stack(line).unsqueeze(0).to(device).float() / 255 for line in model.lines}
    mixture = model(stacks)
    truth_px, valid = scene.disparity_px.numpy(), scene.valid.numpy()
    border_px = min(DEFAULT_BORDER_PX, (min(truth_px.shape) - 1) // 2)  # small scenes have less than that
    maps = {name: estimate(mixture)[0].float().cpu().numpy() for name, estimate in ESTIMATES.items()}
    return {name: score_map(found, truth_px, valid, border_px) for name, found in maps.items()}, maps["mean"]


def draw_validation(directory: Path, validation: Validation, scenes: Sequence[Sample]) -> None:
    """One picture per scene: estimate, ground truth, and the error between them."""
    from matplotlib.figure import Figure  # takes half a second

    from freqlf.outputs.canvas import DISPARITY_COLOURS, save_figure

    for scene in scenes:
        found_px = validation.predictions_px[scene.name]
        score = validation.scores["mean"][scene.name]
        truth_px = np.where(scene.valid.numpy(), scene.disparity_px.numpy(), np.nan)
        low, high = float(np.nanmin(truth_px)), float(np.nanmax(truth_px))
        figure = Figure(figsize=(13, 4.2), layout="constrained")
        panels = (
            (f"{scene.name}: estimate", found_px, DISPARITY_COLOURS, low, high),
            ("ground truth (px per view)", truth_px, DISPARITY_COLOURS, low, high),
            (
                f"error (px), MSE x100 {score.mse_100:.3f}, BadPix(0.07) {score.badpix_007:.2f} %",
                *(np.abs(found_px - truth_px), "magma", 0.0, _LARGEST_SHOWN_ERROR_PX),
            ),
        )
        for axes, (title, values, colours, lowest, highest) in zip(figure.subplots(1, 3), panels, strict=True):
            axes.set_facecolor("0.6")
            picture = axes.imshow(values, cmap=colours, vmin=lowest, vmax=highest, interpolation="nearest")
            axes.set_title(title, fontsize="medium")
            axes.set_axis_off()
            figure.colorbar(picture, ax=axes)
        save_figure(directory / f"{scene.name}.png", figure)
