"""`freqlf evaluate`: every table and figure about a method's maps."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import tyro

from freqlf.cli.arguments import BorderPx
from freqlf.cli.terminal import print_table, show_progress
from freqlf.data.hci import Scene, choose_scenes
from freqlf.errors import FreqLFError
from freqlf.evaluation.comparison import make_tables
from freqlf.evaluation.evaluate import MethodEvaluation, describe_method, evaluate_method, list_scores, load_truth
from freqlf.evaluation.metrics import DEFAULT_BORDER_PX, describe_official_protocol, describe_protocol
from freqlf.evaluation.results import Results, ScoredMap, predict_scenes
from freqlf.evaluation.spectrum import DEFAULT_LOW_END
from freqlf.evaluation.tables import Table, to_markdown, to_rich
from freqlf.inference.compute import ComputeOptions
from freqlf.io.files import replacing_directory, write_json, write_text
from freqlf.provenance import describe_run
from freqlf.weights.calibration import LEVELS, Calibration, describe_calibration, read_calibration

CONTENTS = {
    "tables.md": "all tables",
    "scores.csv": "all scores with all digits",
    "evaluation.json": "everything, with the protocols and the versions that made it",
    "figures": "estimates, masks, spectra, coverage and sparsification",
}


def run(
    data: Path,
    out: Path,
    model: str | None = None,
    from_: Annotated[Path | None, tyro.conf.arg(name="from")] = None,
    reading: ScoredMap = "estimate",
    memory: str | None = None,
    split: str = "training",
    compare: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    name: str | None = None,
    border: BorderPx = DEFAULT_BORDER_PX,
    calibration: Path | None = None,
    figures: bool = True,
    overwrite: bool = False,
    compute: Annotated[ComputeOptions, tyro.conf.arg(name="")] = ComputeOptions(),  # noqa: B008
) -> None:
    """Evaluate a model, or any method's maps: scores, ranks, regions, frequencies, uncertainty; tables and figures.

    A model runs once per scene, in a single pass; its maps, variances and runtimes stay in OUT/maps.

    Args:
        data: Folder of the benchmark, or any folder with scenes in its layout.
        out: Folder for the tables and figures.
        model: Packaged weights, a .safetensors or .pt file, or "slope": the model to run.
        from_: Instead of a model, a folder with a method's maps: disp_maps/<scene>.pfm or <scene>.pfm, and, where
            known, variance_maps/<scene>.pfm and runtimes/<scene>.txt.
        reading: The disparity that is read off a model's mixture: the estimate that users get, or the mean, as in the
            paper.
        memory: What the program may hold at most, such as 2GB; half of what is free by default.
        split: Scenes: training, stratified, additional, all (that have ground truth), or names separated by commas.
        compare: NAME=DIR: another method's maps, to be put beside these; can be given many times.
        name: What to call the method in the tables; the folder's name by default.
        border: Pixels left out along the edge: 11 in the paper.
        calibration: JSON of a calibration, to judge the intervals by as well; by default that of the model's weights.
        figures: Whether to draw figures.
        overwrite: Replace the files of an earlier evaluation; other files in the folder stay.
        compute: How to run the model.
    """
    if (model is None) == (from_ is None):
        raise FreqLFError("give either --model, to run a model, or --from, to evaluate maps that are there")
    scenes = choose_scenes(data, split, "--split")
    others = parse_comparisons(compare)
    own_name = name or (Path(model).stem if model is not None else Path(from_ or "").resolve().name)
    if len({own_name, *others}) != 1 + len(compare):
        raise FreqLFError(f"every method needs a name of its own, not {own_name} for two of them; see --name")
    require_maps(others, scenes)  # before a model runs for minutes
    fitted = None if calibration is None else read_calibration(calibration)
    if model is not None and fitted is None:
        from freqlf.weights.load import load_calibrated  # imports torch

        fitted = load_calibrated(model)[1]  # most files and the slope field have none
    with replacing_directory(out, overwrite=overwrite) as folder:
        facts: dict[str, Any] = {"data": str(data)}
        if from_ is None:
            assert model is not None
            from_ = folder / "maps"
            facts |= {"model": model, "reading": reading, **asdict(compute)}
            facts["low_band_end"] = run_model(model, scenes, from_, reading, memory, compute)
        methods = {own_name: Results(from_)} | others
        require_maps(methods, scenes)
        directories = {method: str(results.directory) for method, results in methods.items()}
        facts["maps"] = directories | ({} if model is None else {own_name: str(out / "maps")})
        tables = evaluate(folder, methods, scenes, border, fitted, draw=figures, facts=facts)
    for table in tables:
        print_table(to_rich(table))
    for entry, meaning in CONTENTS.items():
        if figures or entry != "figures":
            print(f"{out / entry}: {meaning}")


def run_model(
    model: str,
    scenes: Sequence[Scene],
    directory: Path,
    reading: ScoredMap,
    memory: str | None,
    compute: ComputeOptions,
) -> float:
    """Estimate all scenes and write the maps into a folder; returns where the model's low band ends, see `place_bands`.

    Of scenes of unlike sizes, the first counts.
    """
    from freqlf.inference.estimate import load_estimator  # imports torch
    from freqlf.models.complexity import measure_band

    estimator = load_estimator(model, memory=memory, **asdict(compute))
    predict_scenes(estimator, show_progress(scenes, "estimating"), directory, reading)
    first = scenes[0].light_field()
    return measure_band(estimator.model, first.height, first.width) or DEFAULT_LOW_END


def require_maps(methods: dict[str, Results], scenes: Sequence[Scene]) -> None:
    """Refuse a method that lacks a scene's map: a mean over fewer scenes is no comparison."""
    for results in methods.values():
        for scene in scenes:
            results.disparity_file(scene.name)


def parse_comparisons(compare: Sequence[str]) -> dict[str, Results]:
    """NAME=DIR to the results in DIR, by name."""
    methods: dict[str, Results] = {}
    for text in compare:
        name, equals, directory = text.partition("=")
        if not (name and equals and directory):
            raise FreqLFError(f"--compare takes NAME=DIR, for example SPO=maps/spo, not {text!r}")
        methods[name] = Results(Path(directory))
    return methods


def evaluate(
    folder: Path,
    methods: dict[str, Results],
    scenes: Sequence[Scene],
    border_px: int,
    calibration: Calibration | None = None,
    *,
    draw: bool = True,
    facts: dict[str, Any],
) -> list[Table]:
    """Evaluate the methods, of which the first is the one it is about, and write tables and figures into a folder.

    `facts` are added to the provenance. The calibration is for the intervals of the first method only.
    """
    low_end = float(facts.get("low_band_end", DEFAULT_LOW_END))
    truths = [load_truth(scene, border_px) for scene in show_progress(scenes, "reading")]
    evaluated = [
        evaluate_method(name, results, truths, None if number else calibration, low_end)
        for number, (name, results) in enumerate(show_progress(list(methods.items()), "evaluating"))
    ]
    tables = make_tables(evaluated, border_px)
    write_tables(folder, evaluated, tables, border_px, calibration, facts)
    if draw:
        from freqlf.evaluation.figures.gallery import list_figures  # imports matplotlib
        from freqlf.outputs.canvas import PAPER_DPI, save_figure

        drawings = list_figures(evaluated, next(iter(methods.values())), truths)
        for name, draw_figure in show_progress(drawings, "drawing"):
            save_figure(folder / "figures" / f"{name}.png", draw_figure(), PAPER_DPI)
    return tables


def write_tables(
    folder: Path,
    methods: Sequence[MethodEvaluation],
    tables: Sequence[Table],
    border_px: int,
    calibration: Calibration | None,
    facts: dict[str, Any],
) -> None:
    """Write tables.md, scores.csv and evaluation.json."""
    write_text(folder / "tables.md", "\n".join(map(to_markdown, tables)))
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(list_scores(methods))
    write_text(folder / "scores.csv", text.getvalue())
    report = {
        "provenance": describe_run(command="evaluate", **facts),
        "protocols": {"native": describe_protocol(border_px), "server": describe_official_protocol()},
        "coverage_levels": LEVELS,
        "calibration": None if calibration is None else describe_calibration(calibration),
        "methods": {method.name: describe_method(method) for method in methods},
        "tables": [asdict(table) | {"best": sorted(table.best)} for table in tables],
    }
    write_json(folder / "evaluation.json", report)
