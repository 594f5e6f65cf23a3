"""What `freqlf study ablation` and `freqlf study bandwidth` have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freqlf.cli.arguments import Minutes, Workers
from freqlf.cli.terminal import print_table
from freqlf.cli.train import load, split_scenes
from freqlf.data.hci import find_scenes
from freqlf.errors import FreqLFError
from freqlf.inference.compute import Device
from freqlf.io.schema import Seed
from freqlf.models.config import ModelConfig
from freqlf.models.presets import find_preset
from freqlf.studies.variants import Variant
from freqlf.training.recipe import find_recipe


@dataclass(frozen=True)
class StudyOptions:
    """Flags of both studies.

    Attributes:
        out: Folder of the study. It gets study.json, tables.md, study.png, plan.json and a folder per run.
        data: Folder of the benchmark, or any folder with scenes in its layout.
        preset: The model to vary.
        recipe: Where settings come from that are not given: cpu, ablation (the paper's) or paper.
        minutes: Minutes of CPU time to train each run for (of wall time on a GPU), whatever a step of it costs.
            Without it, all runs take the same number of steps, see --steps.
        seeds: A run of every variant with each of these.
        train_split: Scenes to train on: groups or names, separated by commas; or none.
        validation_split: Scenes to score on, likewise, once per run after its last step.
        weights: Packaged weights (a name) or a file that all runs begin with, in those parts that all variants have;
            without it they begin at random.
        synthetic_data: Folder with generated scenes to train on, as `freqlf data synth` makes them.
        resume: Continue the study in OUT, if there is one. Finished runs are kept, seeds can be added.
        checkpoint_minutes: Time between checkpoints.
        device: Where to compute; auto takes CUDA if there is any.
        threads: CPU threads; 0 leaves it to PyTorch.
    """

    out: Path
    data: Path | None = None
    preset: str = "freqlf-small"
    recipe: str = "cpu"
    minutes: Minutes | None = None
    seeds: tuple[Seed, ...] = (0, 1, 2)
    train_split: str = "additional"
    validation_split: str = "training"
    weights: str | None = None
    synthetic_data: Path | None = None
    resume: bool = False
    checkpoint_minutes: Minutes = 5.0
    device: Device = "auto"
    threads: Workers = 0


def conduct(
    kind: str,
    vary: Callable[[ModelConfig], tuple[Variant, ...]],
    options: StudyOptions,
    changes: Any,
    baseline: str | None = None,
) -> int:
    """Train and score all variants, and report: tables on the screen, files in the folder."""
    given = {name: value for name, value in vars(changes).items() if value is not None}
    if "seed" in given:
        raise FreqLFError("a study has several seeds: use --seeds instead of --seed")
    if options.minutes is not None and {"steps", "epochs"} & set(given):
        raise FreqLFError("--minutes decides the number of steps; leave out --steps and --epochs, or --minutes")
    recipe = find_recipe(options.recipe).changed(**given)
    variants = vary(find_preset(options.preset))
    train_scenes, scored_scenes = split_scenes(options.data, options.train_split, options.validation_split)
    if not scored_scenes:
        raise FreqLFError("there is no scene to score the runs on; name some with --validation-split")
    generated_scenes = [] if options.synthetic_data is None else find_scenes(options.synthetic_data)

    import torch

    from freqlf.evaluation.tables import to_rich
    from freqlf.models.build import build_model
    from freqlf.studies.runs import Scenes, StoppedError, Study, plan_study, run_study
    from freqlf.studies.summary import write_files
    from freqlf.training.distributed import join_processes

    study = Study(
        kind, options.preset, variants, options.seeds, recipe, options.minutes, options.out, baseline, options.weights
    )
    if options.threads > 0:
        torch.set_num_threads(options.threads)
    lines = build_model(variants[0].config).lines
    with join_processes(options.device) as processes:
        if processes.count > 1:
            raise FreqLFError("a study runs in one process; to use several, give each seeds of its own with --seeds")
        scenes = Scenes(load(train_scenes, lines), load(generated_scenes, lines), load(scored_scenes, lines))
        costs = plan_study(study, scenes, processes, resume=options.resume)
        for name, cost in costs.items():
            measured = "" if cost.step_seconds is None else f", {cost.step_seconds:.3f} s each"
            print(f"{name}: {cost.steps} steps a run{measured}")
        results = []
        try:
            for result in run_study(study, costs, scenes, processes, options.checkpoint_minutes):
                results.append(result)
                tables = write_files(study, costs, scenes, results)  # after every run, for those who cannot wait
        except StoppedError as stopped:
            return 128 + stopped.signal_number
    for table in tables:
        print_table(to_rich(table))
    print(f"the study is in {options.out}")
    return 0
