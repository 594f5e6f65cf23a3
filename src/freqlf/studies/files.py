"""The files that a study leaves in its folder: study.json, tables.md and study.png."""

from collections.abc import Sequence
from dataclasses import asdict

import torch

from freqlf.evaluation.metrics import DEFAULT_BORDER_PX, describe_protocol
from freqlf.evaluation.tables import Table, to_markdown
from freqlf.io.files import write_json, write_text
from freqlf.outputs.canvas import save_figure
from freqlf.provenance import describe_run
from freqlf.studies.chart import draw_study
from freqlf.studies.runs import Cost, RunResult, Scenes, Study
from freqlf.studies.summary import Summary, tabulate


def write_files(study: Study, costs: dict[str, Cost], scenes: Scenes, results: Sequence[RunResult]) -> list[Table]:
    """Write what the finished runs say, and return their tables."""
    summary = Summary(results)
    budget = "equal steps" if study.minutes is None else f"{study.minutes:g} minutes a run"
    content = {
        "provenance": describe_run(
            command=f"study {study.kind}",
            preset=study.preset,
            recipe=study.recipe.values(),
            scenes=scenes.names() | {"scored": list(summary.scenes)},
            threads=torch.get_num_threads(),
            torch=torch.__version__,
        ),
        "protocol": describe_protocol(DEFAULT_BORDER_PX),
        "minutes": study.minutes,
        "weights": study.weights,
        "costs": {name: asdict(cost) for name, cost in costs.items()},
        "seeds": study.seeds,
        "is_complete": len(results) == len(study.variants) * len(study.seeds),
        "baseline": study.baseline,
        "variants": summary.values(study.baseline),
        "runs": [asdict(result) for result in results],
    }
    tables = tabulate(summary, study.baseline)
    write_json(study.directory / "study.json", content)
    write_text(study.directory / "tables.md", "\n".join(map(to_markdown, tables)))
    save_figure(study.directory / "study.png", draw_study(summary, f"{study.kind} of {study.preset}, {budget}"))
    return tables
