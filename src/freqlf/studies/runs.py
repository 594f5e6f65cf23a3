"""Training and scoring variants with seeds, run by run: what is finished stays, what was interrupted resumes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch

from freqlf.data.batches import BatchSource
from freqlf.data.samples import Sample
from freqlf.errors import FreqLFError
from freqlf.io.files import write_json
from freqlf.io.intake import read_json
from freqlf.models.base import DisparityModel
from freqlf.models.build import build_model
from freqlf.models.complexity import count_parameters
from freqlf.models.description import config_to_dict
from freqlf.provenance import describe_run
from freqlf.studies.budget import choose_clock, count_steps, measure_step_seconds
from freqlf.studies.variants import Variant
from freqlf.training.checkpoint import require_same_run
from freqlf.training.distributed import Processes
from freqlf.training.recipe import Recipe
from freqlf.training.train import LAST, PICTURES, RunOptions, train
from freqlf.training.validation import draw_validation, validate
from freqlf.weights.checkpoint import Checkpoint, first_difference, load_checkpoint
from freqlf.weights.load import find_weights, load_model, read_any_weights

PLAN, RESULT, RUNS = "plan.json", "result.json", "runs"

Content = TypeVar("Content")


@dataclass(frozen=True)
class Study:
    """What is compared, how it is trained, and where it goes.

    Attributes:
        kind: the command's name.
        preset: where the variants come from.
        minutes: time to train each run for; None leaves the number of steps to the recipe.
        baseline: the variant that the others are compared with, if there is such a one.
        weights: packaged weights or a file that all runs begin with, see `begin_with`; None begins at random.
    """

    kind: str
    preset: str
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]
    recipe: Recipe
    minutes: float | None
    directory: Path
    baseline: str | None = None
    weights: str | None = None

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise FreqLFError(f"a study needs different seeds, not {self.seeds}")
        if self.minutes is not None and not self.minutes > 0:
            raise FreqLFError(f"a run needs more than {self.minutes:g} minutes")


@dataclass(frozen=True)
class Scenes:
    """What the runs are trained and scored on, in memory."""

    training: Sequence[Sample]
    generated: Sequence[Sample]
    scored: Sequence[Sample]

    def names(self) -> dict[str, list[str]]:
        """As checkpoints list them. Runs are scored once, at their end: no weights are chosen by their score."""
        return {
            "training": [scene.name for scene in self.training],
            "generated": [scene.name for scene in self.generated],
            "validation": [],
        }


@dataclass(frozen=True)
class Cost:
    """What a run of a variant takes: its steps, and the seconds of a step if they were measured beforehand."""

    steps: int
    step_seconds: float | None


@dataclass(frozen=True)
class RunResult:
    """A finished run.

    Attributes:
        minutes: spent in training, by the clock of `choose_clock`; None if it was finished before it was resumed.
        scores: by estimate, then by scene or "all", then by metric.
    """

    variant: str
    seed: int
    steps: int
    parameters: int
    minutes: float | None
    scores: dict[str, dict[str, dict[str, float]]]


class StoppedError(Exception):
    """A signal has ended a run, which is saved."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number


def plan_study(study: Study, scenes: Scenes, processes: Processes, *, resume: bool) -> dict[str, Cost]:
    """The cost of each variant's runs: from the folder if the study has begun before, else measured and kept there."""
    path = study.directory / PLAN
    settings = _describe(study, scenes)
    if path.exists() and not resume:
        raise FreqLFError(
            f"{study.directory} already holds a study; add --resume to continue it, or choose another --out"
        )
    if study.weights is not None:  # those that do not fit are refused before anything is written
        begin_with(build_model(study.variants[0].config), study.weights, study.variants)
    if not path.exists():
        costs = _find_costs(study, scenes, processes)
        if not path.exists():  # or another process with other seeds was faster, and its measurement counts
            facts = describe_run(
                command=f"study {study.kind}", threads=torch.get_num_threads(), torch=torch.__version__
            )
            described = {name: asdict(cost) for name, cost in costs.items()}
            write_json(path, {"provenance": facts, "settings": settings, "costs": described})
            return costs
    found, costs = _read(
        path, lambda plan: (plan["settings"], {name: Cost(**cost) for name, cost in plan["costs"].items()})
    )
    difference = first_difference(found, settings)
    if difference is not None:
        name, old, new = difference
        raise FreqLFError(
            f"{path} is of another study: {name} is {old} there and {new} here; "
            "repeat its flags, or choose another --out"
        )
    return costs


def run_study(
    study: Study, costs: dict[str, Cost], scenes: Scenes, processes: Processes, checkpoint_minutes: float = 5.0
) -> Iterator[RunResult]:
    """Train and score, seed by seed, so that all variants can soon be compared. Raises `StoppedError` at a signal."""
    for seed in study.seeds:
        for variant in study.variants:
            yield _run(study, variant, seed, costs[variant.name], scenes, processes, checkpoint_minutes)


def _run(
    study: Study,
    variant: Variant,
    seed: int,
    cost: Cost,
    scenes: Scenes,
    processes: Processes,
    checkpoint_minutes: float,
) -> RunResult:
    directory = study.directory / RUNS / f"{variant.folder}-seed{seed}"
    last_path, result_path = directory / LAST, directory / RESULT
    recipe = study.recipe.changed(seed=seed, steps=cost.steps)
    config = config_to_dict(variant.config)
    first_step = 0
    if last_path.exists():
        found = load_checkpoint(last_path)
        require_same_run(
            last_path, found, Checkpoint(study.preset, config, recipe.values(), scenes.names(), 0, {}, {}, {})
        )
        if result_path.exists():
            return _read(result_path, lambda content: RunResult(**content["run"]))
        first_step = found.step

    print(f"{variant.name}, seed {seed}: {cost.steps} steps", flush=True)
    torch.manual_seed(seed)
    model = build_model(variant.config)
    if study.weights is not None:
        begin_with(model, study.weights, study.variants)
    source = BatchSource(recipe, model.lines, scenes.training, scenes.generated)
    options = RunOptions(directory, resume=True, checkpoint_minutes=checkpoint_minutes)
    clock = choose_clock(processes.device)
    started = clock()
    outcome = train(model, study.preset, config, recipe, source, (), options, processes)
    if not outcome.is_complete:
        raise StoppedError(outcome.signal_number or 0)
    seconds, steps = clock() - started, outcome.step - first_step
    minutes = seconds / steps * outcome.step / 60 if steps else None  # a resumed run's earlier steps took as long

    network = load_model(last_path).to(processes.device)
    validation = validate(network, scenes.scored, processes)
    draw_validation(directory / PICTURES, validation, scenes.scored)
    result = RunResult(variant.name, seed, outcome.step, count_parameters(network), minutes, validation.summary())
    write_json(result_path, {"provenance": describe_run(command=f"study {study.kind}"), "run": asdict(result)})
    mean = validation.mean()
    print(f"{variant.name}, seed {seed}: MSE x100 {mean['mse_100']:.3f}, BadPix(0.07) {mean['badpix_007']:.2f} %")
    return result


def begin_with(model: DisparityModel[Any], source: str, variants: Sequence[Variant]) -> None:
    """Put those trained weights into the model that all variants have in common.

    What one of them lacks, or has in another shape, is left to learn for all of them: else a variant would be judged
    by how well it does without what the others were trained with.
    """
    with torch.device("meta"):
        states = [build_model(variant.config).state_dict() for variant in variants]
    path = find_weights(source)
    trained, own = read_any_weights(path).state, model.state_dict()
    shared = [
        name
        for name, values in trained.items()
        if name in own and all(name in state and state[name].shape == values.shape for state in states)
    ]
    if not shared:
        raise FreqLFError(f"{path} has no weights that all variants share; choose those of the study's preset")
    model.load_state_dict(own | {name: trained[name] for name in shared})


def _find_costs(study: Study, scenes: Scenes, processes: Processes) -> dict[str, Cost]:
    if study.minutes is None:
        steps = study.recipe.total_steps(len(scenes.training) or len(scenes.generated))
        return {variant.name: Cost(steps, None) for variant in study.variants}
    print("measuring what a step of each variant takes", flush=True)
    measured = measure_step_seconds(study.variants, study.recipe, scenes.training, scenes.generated, processes)
    return {name: Cost(count_steps(study.minutes, seconds), seconds) for name, seconds in measured.items()}


def _describe(study: Study, scenes: Scenes) -> dict[str, Any]:
    """What must be the same for all runs of a study. Seeds may be added later."""
    recipe = study.recipe.values()
    del recipe["seed"]
    return {
        "kind": study.kind,
        "preset": study.preset,
        "variants": {variant.name: config_to_dict(variant.config) for variant in study.variants},
        "recipe": recipe,
        "minutes": study.minutes,
        **({} if study.weights is None else {"weights": study.weights}),
        "scenes": scenes.names() | {"scored": [scene.name for scene in scenes.scored]},
    }


def _read(path: Path, interpret: Callable[[Any], Content]) -> Content:
    content = read_json(path)
    try:
        return interpret(content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FreqLFError(f"{path} is not what a study wrote there; remove it, or choose another --out") from error
