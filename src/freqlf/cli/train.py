"""`freqlf train`: train a preset by a recipe."""

import math
from collections.abc import Sequence
from dataclasses import make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from freqlf.cli.arguments import Minutes, Scenes, Workers
from freqlf.cli.terminal import show_progress
from freqlf.data.hci import Scene, choose_scenes, find_scenes, write_scene
from freqlf.data.splits import SPLITS
from freqlf.errors import FreqLFError
from freqlf.inference.compute import Device
from freqlf.lightfield import list_views
from freqlf.models.description import config_to_dict
from freqlf.models.presets import find_preset
from freqlf.training.recipe import RECIPES, find_recipe, settings

if TYPE_CHECKING:
    from freqlf.data.samples import Sample

    Changes = Any
else:

    def _make_changes() -> type:
        """A flag for every setting of a recipe. One that is not given keeps the value that the named recipe has."""
        flags = []
        for name, setting in settings().items():
            values = {recipe: options.values()[name] for recipe, options in RECIPES.items()}
            described = ", ".join(f"{recipe}: {value}" for recipe, value in values.items())
            hint = f"({described})" if len(set(values.values())) > 1 else f"(in all recipes: {values.popitem()[1]})"
            argument = tyro.conf.arg(help=setting.metadata["help"], help_behavior_hint=hint)
            flags.append((name, Annotated[setting.type | None, argument], None))
        return make_dataclass("Changes", flags, frozen=True)

    Changes = _make_changes()

NO_CHANGES: Any = Changes()


def run(
    preset: str,
    out: Path,
    recipe: str = "cpu",
    data: Path | None = None,
    split: Literal["literature", "paper"] = "literature",
    train_split: str | None = None,
    validation_split: str | None = None,
    fit: bool = False,
    synthetic: Scenes = 0,
    synthetic_data: Path | None = None,
    resume: bool = False,
    weights: tuple[str, ...] = (),
    weights_part: tuple[str, ...] = (),
    max_minutes: Minutes = math.inf,
    checkpoint_minutes: Minutes = 5.0,
    validation_minutes: Minutes = 10.0,
    device: Device = "auto",
    threads: Workers = 0,
    loaders: Workers | None = None,
    compile: bool = False,
    tensorboard: bool = False,
    wandb: bool = False,
    changes: Annotated[Changes, tyro.conf.arg(name="")] = NO_CHANGES,
) -> int:
    """Train a model. Interrupting it is safe: it finishes its step, saves, and --resume continues exactly there.

    The folder OUT gets last.pt and best.pt (all of the run, after its last step and at the best validation),
    metrics.jsonl (one line per step and validation), run.json (settings and versions) and pictures of the validation.
    Under `torchrun` the same command trains on several GPUs or machines.

    Args:
        preset: The model; `freqlf models` lists all. freqlf, freqlf-plus and freqlf-paper-small are the paper's.
        out: Folder of the run.
        recipe: Where settings come from that are not given: paper, ablation, cpu or curriculum.
        data: Folder of the benchmark, or any folder with scenes in its layout.
        split: literature trains on the 16 additional scenes and validates on the 4 training ones; paper trains on the
            4 training scenes and validates on none.
        train_split: Other scenes to train on: groups or names, separated by commas; all (with ground truth), or none.
        validation_split: Other scenes to validate on, likewise. No scene may be in both.
        fit: Validate on the scenes that it is trained on: can the model express what it is shown?
        synthetic: Number of scenes to generate and to train on too; they are kept in OUT/synthetic.
        synthetic_data: Folder with generated scenes to train on, as `freqlf data synth` makes them.
        resume: Continue the run in OUT, if there is one.
        weights: Packaged weights, .safetensors files or checkpoints (.pt) to begin from.
        weights_part: Of each of these weights, take only those whose names begin so, such as passes.0, the first pass;
            several with commas between.
        max_minutes: Stop and save after so long, to be resumed later.
        checkpoint_minutes: Time between checkpoints.
        validation_minutes: Time between validations.
        device: Where to compute; auto takes CUDA if there is any.
        threads: CPU threads per process; 0 leaves it to PyTorch.
        loaders: Threads that prepare batches; by default 1 on a CPU and 4 beside a GPU.
        compile: Use torch.compile for the Fourier-local layers; meant for long runs on GPUs.
        tensorboard: Write events for TensorBoard, if it is installed.
        wandb: Log to Weights & Biases, if it is installed.
        changes: Settings that differ from the recipe's.
    """
    given = {name: value for name, value in vars(changes).items() if value is not None}
    chosen = find_recipe(recipe).changed(**given)
    config = find_preset(preset)
    usual = SPLITS[split]
    if fit and validation_split is not None:
        raise FreqLFError("--fit validates on the training scenes; leave out --validation-split")
    trained_on = train_split or usual[0]
    train_scenes, validation_scenes = split_scenes(data, trained_on, "none" if fit else validation_split or usual[1])
    validation_scenes = train_scenes if fit else validation_scenes

    import torch

    from freqlf.data.batches import BatchSource
    from freqlf.models.build import build_model
    from freqlf.training.distributed import join_processes
    from freqlf.training.train import RunOptions, train

    if threads > 0:
        torch.set_num_threads(threads)
    with join_processes(device) as processes:
        torch.manual_seed(chosen.seed)
        model = build_model(config)
        like = next(iter((*train_scenes, *validation_scenes)), None)
        generated_scenes = collect_generated(out, synthetic, synthetic_data, like, writes=processes.is_writer)
        processes.any(False)  # the others wait for the scenes that one of them generates
        lines: tuple[str, ...] = model.lines
        source = BatchSource(chosen, lines, load(train_scenes, lines), load(generated_scenes, lines))
        if loaders is None:
            loaders = 4 if processes.device.type == "cuda" else 1
        outcome = train(
            model,
            preset,
            config_to_dict(config),
            chosen,
            source,
            load(validation_scenes, lines),
            RunOptions(
                directory=out,
                resume=resume,
                weights=weights,
                weights_part=weights_part,
                max_minutes=max_minutes,
                checkpoint_minutes=checkpoint_minutes,
                validation_minutes=validation_minutes,
                loaders=loaders,
                compile=compile,
                tensorboard=tensorboard,
                wandb=wandb,
            ),
            processes,
        )
    return 128 + outcome.signal_number if outcome.signal_number else 0


def split_scenes(data: Path | None, train_split: str, validation_split: str) -> tuple[list[Scene], list[Scene]]:
    """The scenes to train and to validate on."""
    if train_split == validation_split == "none":
        return [], []
    if data is None:
        raise FreqLFError("--data is missing: give the folder that holds the scenes, or use --train-split none")
    train_scenes = choose_scenes(data, train_split, "--train-split")
    validation_scenes = choose_scenes(data, validation_split, "--validation-split")
    for scene in train_scenes:
        if scene in validation_scenes:
            raise FreqLFError(
                f"{scene.name} is in --train-split and in --validation-split; a score on it would mean nothing"
            )
    return train_scenes, validation_scenes


def load(scenes: Sequence[Scene], lines: Sequence[str]) -> "list[Sample]":
    """Read scenes into memory."""
    from freqlf.data.samples import load_samples

    return list(show_progress(load_samples(scenes, lines), "reading scenes", len(scenes)))


def collect_generated(out: Path, count: int, folder: Path | None, like: Scene | None, *, writes: bool) -> list[Scene]:
    """The generated scenes: those of a folder, and `count` of the run's own, rendered if they are not there yet.

    They get the size and views of the scene `like`, or the benchmark's.
    """
    scenes = [] if folder is None else find_scenes(folder)
    own = {seed: Scene(out / "synthetic" / f"generated_{seed:06d}") for seed in range(count)}
    missing = [seed for seed, scene in own.items() if not scene.directory.exists()] if writes else []
    if missing:
        from freqlf.data.synthetic import SceneOptions, render_scene

        options = SceneOptions()
        if like is not None:
            light_field = like.light_field()
            options = SceneOptions(light_field.height, light_field.width, light_field.rows, light_field.columns)
        star = list_views(options.rows, options.columns)
        for seed in show_progress(missing, "generating scenes"):
            made = render_scene(seed, options, star)
            write_scene(own[seed].directory, made.views, made.disparity_px, made.parameters, made.valid_mask)
    return [*scenes, *own.values()]
