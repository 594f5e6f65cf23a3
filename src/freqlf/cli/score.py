"""`freqlf score`: score disparity maps of any method."""

from dataclasses import asdict
from pathlib import Path

from freqlf.cli.arguments import BorderPx
from freqlf.cli.terminal import print_table, show_progress
from freqlf.data.hci import Scene, choose_scenes, find_scenes
from freqlf.errors import FreqLFError
from freqlf.evaluation.comparison import tabulate_scores
from freqlf.evaluation.evaluate import score_scene
from freqlf.evaluation.metrics import DEFAULT_BORDER_PX, describe_protocol, mean_scores
from freqlf.evaluation.results import Results
from freqlf.evaluation.tables import to_rich
from freqlf.io.files import write_json
from freqlf.provenance import describe_run


def run(
    pred: Path,
    data: Path,
    scenes: str | None = None,
    border: BorderPx = DEFAULT_BORDER_PX,
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
    results = Results(pred)
    chosen, left_out = select(results, data, scenes)
    scores = {scene.name: score_scene(results, scene, border) for scene in show_progress(chosen, "scoring")}
    print_table(to_rich(tabulate_scores(f"disparity scores, {border} px border", scores)))
    for reason, names in left_out.items():
        print(f"not scored, {reason}: {', '.join(names)}")
    if out is not None:
        report = {
            "provenance": describe_run(command="score", predictions=str(pred), data=str(data)),
            "protocol": describe_protocol(border),
            "scenes": {name: asdict(score) for name, score in scores.items()},
            "mean": mean_scores(list(scores.values())),
            "not_scored": left_out,
        }
        write_json(out, report)
        print(f"wrote {out}")


def select(results: Results, data: Path, names: str | None) -> tuple[list[Scene], dict[str, list[str]]]:
    """The scenes to score, and by reason the names of those left out.

    A scene asked for by name, or a map without a scene, is never passed over.
    """
    maps = results.scenes()
    if names is not None:
        return choose_scenes(data, names, "--scenes"), {}
    known = find_scenes(data)
    strangers = sorted(set(maps) - {scene.name for scene in known})
    if strangers:
        raise FreqLFError(
            f"{results.directory} has a map of {', '.join(strangers)}, but {data} has no such scene; see --scenes"
        )
    with_map = [scene for scene in known if scene.name in maps]
    scored = [scene for scene in with_map if scene.has_ground_truth]
    if not scored:
        raise FreqLFError(f"{results.directory} has no <scene>.pfm of a scene in {data} that has ground truth")
    left_out = {
        "no map": [scene.name for scene in known if scene.name not in maps],
        "no ground truth": [scene.name for scene in with_map if not scene.has_ground_truth],
    }
    return scored, {reason: left for reason, left in left_out.items() if left}
