"""`freqlf study robustness`: what noise, misalignment, exposure, blur and few views do to a model's scores."""

from pathlib import Path

from freqlf.cli.arguments import Workers
from freqlf.cli.terminal import print_table, show_progress
from freqlf.data.hci import choose_scenes
from freqlf.inference.compute import Device
from freqlf.io.files import write_json, write_text


def run(
    model: str,
    data: Path,
    out: Path,
    scenes: str = "training",
    degradations: str = "noise,misalignment,exposure,blur,views,shear",
    device: Device = "auto",
    threads: Workers = 0,
) -> None:
    """Score a model on scenes that were made worse, as real captures are, beside the clean ones.

    The folder OUT gets robustness.json, tables.md and robustness.png.

    Args:
        model: The name of packaged weights, a weight file (.safetensors), a checkpoint (.pt) or slope.
        data: Folder of the benchmark, or any folder with scenes in its layout.
        out: Folder for the results.
        scenes: Scenes or groups to score on, separated by commas. None that it was trained on.
        degradations: Kinds of degradation, separated by commas.
        device: Where to compute; auto takes CUDA if there is any.
        threads: CPU threads; 0 leaves it to PyTorch.
    """
    chosen = choose_scenes(data, scenes, "--scenes")

    from dataclasses import asdict

    import torch

    from freqlf.evaluation.metrics import DEFAULT_BORDER_PX, describe_protocol
    from freqlf.evaluation.tables import to_markdown, to_rich
    from freqlf.inference.estimate import load_estimator
    from freqlf.outputs.canvas import save_figure
    from freqlf.provenance import describe_run
    from freqlf.studies.robustness import draw_robustness, list_degradations, measure_robustness, tabulate_robustness

    wanted = list_degradations([kind.strip() for kind in degradations.split(",") if kind.strip()])
    if threads > 0:
        torch.set_num_threads(threads)
    estimator = load_estimator(model, device=device)
    outcomes = list(show_progress(measure_robustness(estimator, chosen, wanted), "scoring", 1 + len(wanted)))
    table = tabulate_robustness(outcomes)
    print_table(to_rich(table))
    content = {
        "provenance": describe_run(
            command="study robustness",
            model=model,
            data=str(data),
            scenes=[scene.name for scene in chosen],
            threads=torch.get_num_threads(),
            torch=torch.__version__,
        ),
        "protocol": describe_protocol(DEFAULT_BORDER_PX),
        "outcomes": [
            {
                "degradation": None if one.degradation is None else asdict(one.degradation),
                "mean": one.mean(),
                "scenes": {name: asdict(scores) for name, scores in one.scenes.items()},
            }
            for one in outcomes
        ],
    }
    write_json(out / "robustness.json", content)
    write_text(out / "tables.md", to_markdown(table))
    save_figure(out / "robustness.png", draw_robustness(outcomes, model))
    print(f"wrote {out}")
