"""`freqlf score`: score disparity maps of any method."""

from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from freqlf.cli.terminal import print_table, show_progress
from freqlf.data.hci import Scene, find_scenes, select_scenes
from freqlf.data.splits import expand_groups
from freqlf.errors import FreqLFError
from freqlf.evaluation.metrics import DEFAULT_BORDER_PX, METRICS, Scores, describe_protocol, mean_scores, score_map
from freqlf.evaluation.results import find_maps
from freqlf.io.files import write_json
from freqlf.io.pfm import read_pfm
from freqlf.provenance import describe_run

HEADINGS = ("MSE x100", "BadPix(0.01) %", "BadPix(0.03) %", "BadPix(0.07) %", "Q25 x100")


def run(
    pred: Path,
    data: Path,
    scenes: str | None = None,
    border: int = DEFAULT_BORDER_PX,
    out: Path | None = None,
) -> None:
    """Score disparity maps of any method against the ground truth of the central view.

    Without --scenes, every scene that has both a map and ground truth is scored, and the others are named.

    Args:
        pred: Folder with <scene>.pfm or disp_maps/<scene>.pfm: disparity in pixels per view step.
        data: Folder of the benchmark, or any folder with scenes in its layout.
        scenes: Scenes or groups to score, for example boxes,dino or training; one without a map is an error.
        border: Pixels left out along the edge: 11 in the paper, 15 on the benchmark's server.
        out: Where to write the scores as JSON, with the protocol and the versions that made them.
    """
    names = None if scenes is None else expand_groups(name.strip() for name in scenes.split(",") if name.strip())
    selection = select(pred, data, names)
    scores = {scene.name: score_scene(scene, pred, border) for scene in show_progress(selection.scored, "scoring")}
    mean = mean_scores(list(scores.values()))
    print_scores(scores, mean, border)
    for reason, left_out in selection.left_out.items():
        print(f"not scored, {reason}: {', '.join(left_out)}")
    if out is not None:
        report = {
            "provenance": describe_run(command="score", predictions=str(pred), data=str(data)),
            "protocol": describe_protocol(border),
            "scenes": {name: asdict(score) for name, score in scores.items()},
            "mean": mean,
            "not_scored": selection.left_out,
        }
        write_json(out, report)
        print(f"wrote {out}")


@dataclass(frozen=True)
class Selection:
    """The scenes to score, and by reason the names of those left out."""

    scored: list[Scene]
    left_out: dict[str, list[str]]


def select(pred: Path, data: Path, names: list[str] | None) -> Selection:
    """Match maps with scenes. A scene asked for by name, or a map without a scene, is never passed over."""
    known = find_scenes(data)
    maps = find_maps(pred)
    if names is not None:
        if not names:
            raise FreqLFError("--scenes names no scene; give scenes or groups, separated by commas")
        return Selection(select_scenes(known, names, data), {})
    strangers = sorted(set(maps) - {scene.name for scene in known})
    if strangers:
        raise FreqLFError(f"{pred} has a map of {', '.join(strangers)}, but {data} has no such scene; see --scenes")
    with_map = [scene for scene in known if scene.name in maps]
    scored = [scene for scene in with_map if scene.has_ground_truth]
    if not scored:
        raise FreqLFError(f"{pred} has no <scene>.pfm of a scene in {data} that has ground truth")
    left_out = {
        "no map": [scene.name for scene in known if scene.name not in maps],
        "no ground truth": [scene.name for scene in with_map if not scene.has_ground_truth],
    }
    return Selection(scored, {reason: left for reason, left in left_out.items() if left})


def score_scene(scene: Scene, pred: Path, border: int) -> Scores:
    """Score one scene; errors name the map."""
    path = find_maps(pred).get(scene.name)
    if path is None:
        raise FreqLFError(f"{pred} has no {scene.name}.pfm, nor has its disp_maps")
    ground_truth = scene.disparity_px()
    if ground_truth is None:
        raise FreqLFError(f"{scene.directory} has no ground truth (gt_disp_lowres.pfm), so {path} cannot be scored")
    try:
        return score_map(read_pfm(path), ground_truth, scene.valid_mask(), border)
    except FreqLFError as error:
        raise error if str(path) in str(error) else FreqLFError(f"{path}: {error}") from error


def print_scores(scores: dict[str, Scores], mean: dict[str, float], border: int) -> None:
    """Print one line per scene and the mean, and say where a map has pixels that are not numbers."""
    table = Table(title=f"disparity scores, {border} px border", title_justify="left")
    table.add_column("scene")
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    for name, score in scores.items():
        table.add_row(name, *format_scores(asdict(score)))
    table.add_section()
    table.add_row("mean", *format_scores(mean))
    print_table(table)
    for name, score in scores.items():
        if score.non_finite:
            print(f"{name}: {score.non_finite} of {score.pixels} predicted pixels are not numbers; they count as bad")
        if score.no_ground_truth:
            print(f"{name}: {score.no_ground_truth} pixels have no finite ground truth and are left out")


def format_scores(values: dict[str, float]) -> list[str]:
    """The metrics with as many digits as published tables have."""
    return [f"{values[metric]:.2f}" if metric.startswith("badpix") else f"{values[metric]:.3f}" for metric in METRICS]
