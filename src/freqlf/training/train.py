"""The training loop. `train` reads from top to bottom; everything it calls is below it or in a module of its own."""

import copy
import math
import shutil
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from freqlf.data.batches import BatchSource, prefetch
from freqlf.data.samples import Sample
from freqlf.errors import FreqLFError
from freqlf.inference.denormals import flush_denormals
from freqlf.inference.memory import keep_freed_memory
from freqlf.io.files import locking_folder, write_json
from freqlf.io.intake import decoding
from freqlf.models.base import DisparityModel
from freqlf.models.compilation import compile_layers
from freqlf.provenance import describe_run
from freqlf.training.checkpoint import require_same_run, restore_optimizer, save_checkpoint
from freqlf.training.distributed import Processes
from freqlf.training.monitor import Monitor, Silence
from freqlf.training.objective import Objective, freeze, learning_rate, make_optimizer, update_average, weighted_loss
from freqlf.training.recipe import Recipe
from freqlf.training.stopping import Alarm, catch_signals
from freqlf.training.validation import draw_validation, validate
from freqlf.weights.checkpoint import Checkpoint, load_checkpoint, load_state
from freqlf.weights.transfer import transfer_all

LAST, BEST, PICTURES = "last.pt", "best.pt", "pictures"


@dataclass(frozen=True)
class RunOptions:
    """Where and how long a run goes on. Nothing here changes what it learns."""

    directory: Path
    resume: bool = False
    weights: Sequence[str | Path] = ()  # packaged weights or files to begin from, instead of random weights
    weights_part: Sequence[str] = ()  # of each of them, what its names begin with
    max_minutes: float = math.inf
    checkpoint_minutes: float = 5.0
    validation_minutes: float = 10.0
    loaders: int = 0  # threads that prepare batches in the background
    compile: bool = False
    tensorboard: bool = False
    wandb: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a run ended: the steps done, the signal that stopped it (if one did), and its best validation."""

    step: int
    is_complete: bool
    signal_number: int | None
    best: dict[str, Any]


@flush_denormals()
def train(
    model: DisparityModel[Any],
    preset: str,
    model_config: dict[str, Any],
    recipe: Recipe,
    source: BatchSource,
    validation_scenes: Sequence[Sample],
    options: RunOptions,
    processes: Processes,
) -> Outcome:
    """Train a model by a recipe until its last step, the time limit, or a signal; then save and return."""
    check_processes(recipe, processes)
    with locking_folder(options.directory) if processes.is_writer else nullcontext():  # two runs would mix their files
        return _train(model, preset, model_config, recipe, source, validation_scenes, options, processes)


def _train(
    model: DisparityModel[Any],
    preset: str,
    model_config: dict[str, Any],
    recipe: Recipe,
    source: BatchSource,
    validation_scenes: Sequence[Sample],
    options: RunOptions,
    processes: Processes,
) -> Outcome:
    if processes.device.type == "cpu" and recipe.cropping.crop_size_px:
        keep_freed_memory()  # of crops of many sizes it would be ever more pieces that fit none
    total_steps = recipe.total_steps(source.scene_count)
    scenes = {
        "training": [scene.name for scene in source.scenes],
        "generated": [scene.name for scene in source.generated],
        "validation": [scene.name for scene in validation_scenes],
    }
    last_path, best_path = options.directory / LAST, options.directory / BEST
    (exists,) = processes.any(last_path.exists())  # asked by all before one of them writes it
    is_resumed = exists and options.resume
    if exists and not options.resume:
        raise FreqLFError(
            f"{options.directory} already holds a run; add --resume to continue it, or choose another --out"
        )

    # Model, moving average, optimizer.
    notes: list[str] = []
    if not is_resumed:
        notes = transfer_all(model, options.weights, options.weights_part)
    freeze(model, recipe.frozen)
    model.to(processes.device)
    for convolution in (part for part in model.modules() if isinstance(part, nn.Conv2d)):
        convolution.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # up to three times as fast
    average = copy.deepcopy(model).requires_grad_(False) if recipe.ema_decay > 0 else model
    optimizer = make_optimizer(model, recipe)
    scaler = torch.amp.GradScaler(processes.device.type, enabled=recipe.precision == "fp16")
    if options.compile:
        compile_layers(model)
    loss_of = Objective(model, recipe)
    objective = processes.wrap(loss_of)
    if recipe.cropping.epochs_per_variation:
        source.believe = loss_of.believe if model.frozen_passes else None

    # What a checkpoint of this run looks like; also tells whether one found on disk is of this run.
    state = Checkpoint(preset, model_config, recipe.values(), scenes, 0, {}, {}, {})
    if is_resumed:
        found = load_checkpoint(last_path)
        require_same_run(last_path, found, state)
        load_state(model, found.model, last_path)
        load_state(average, found.ema, last_path)
        restore_optimizer(optimizer, found.optimizer, last_path)
        with decoding(last_path, "a checkpoint of this run"):
            scaler.load_state_dict(found.scaler)
        state = replace(state, step=found.step, best=found.best, seconds=found.seconds)

    def save(path: Path) -> None:
        if processes.is_writer:
            complete = replace(
                state,
                model=model.state_dict(),
                ema=average.state_dict(),
                optimizer=optimizer.state_dict(),
                scaler=scaler.state_dict(),
            )
            save_checkpoint(path, complete)

    if processes.is_writer:
        require_space(options.directory, model)
        write_json(
            options.directory / "run.json",
            describe_run(
                command="train",
                preset=preset,
                model=model_config,
                recipe=recipe.values(),
                scenes=scenes,
                total_steps=total_steps,
                parameters=sum(parameter.numel() for parameter in model.parameters()),
                processes=processes.count,
                device=str(processes.device),
                threads=torch.get_num_threads(),
                torch=torch.__version__,
            ),
        )
    if not is_resumed:
        save(last_path)  # a place that cannot be written to is found out now, not after the first minutes

    saved_step = state.step
    batches = prefetch(source, range(state.step, total_steps), processes.rank, processes.count, options.loaders)
    limit, save_alarm = Alarm(options.max_minutes), Alarm(options.checkpoint_minutes)
    validation_alarm = Alarm(options.validation_minutes)
    with make_monitor(options, total_steps, state.step, processes) as monitor, catch_signals() as signals:
        if is_resumed:
            monitor.say(f"continuing {options.directory} after step {state.step} of {total_steps}")
        for note in notes:
            monitor.say(note)
        model.train()
        started = time.monotonic()
        for batch in batches:
            # One step. Randomness inside the model, like that of the samples, follows from seed, step and process.
            torch.manual_seed(((recipe.seed << 40) + (state.step << 12) + processes.rank) % 2**63)
            for group in optimizer.param_groups:
                group["lr"] = group["factor"] * learning_rate(recipe, state.step, total_steps)
            loss = weighted_loss(objective, batch.to(processes.device), processes)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = float(nn.utils.clip_grad_norm_(model.parameters(), recipe.clip_norm or math.inf))
            mean_loss = float(processes.mean(loss.detach()))
            # With fp16, infinite gradients are expected now and then; the scaler leaves such steps out.
            if not math.isfinite(mean_loss) or not (math.isfinite(norm) or scaler.is_enabled()):
                raise FreqLFError(
                    f"step {state.step + 1} has the loss {mean_loss:g} and the gradient norm {norm:g}; training stops, "
                    f"{last_path} still holds step {saved_step}; try a lower --learning-rate or a --clip-norm"
                )
            scaler.step(optimizer)
            scaler.update()
            if recipe.ema_decay > 0:
                update_average(average, model, recipe.ema_decay, state.step)
            seconds = time.monotonic() - started
            state = replace(state, step=state.step + 1, seconds=state.seconds + seconds)
            monitor.report_step(
                state.step,
                epoch=state.step * recipe.batch_size / source.scene_count,
                pixels=batch.valid.numel() * processes.count,
                seconds=seconds,
                loss=mean_loss,
                learning_rate=optimizer.param_groups[0]["lr"],
                gradient_norm=norm,
            )

            # Validate, save, stop: what one process wants, all do.
            is_complete = state.step == total_steps
            interrupted, is_over, must_validate, must_save = processes.any(
                bool(signals),
                limit.is_due(),
                is_complete or validation_alarm.is_due(),
                is_complete or save_alarm.is_due(),
            )
            if (must_validate or is_over) and validation_scenes and not interrupted:
                state = run_validation(average, state, validation_scenes, options, processes, monitor)
                validation_alarm.reset()
                must_save = True
                if state.best["step"] == state.step:
                    save(best_path)
            if must_save or interrupted or is_over:
                save(last_path)
                saved_step = state.step
                save_alarm.reset()
            if (interrupted or is_over) and not is_complete:
                monitor.say(f"stopped after step {state.step} of {total_steps}; add --resume to continue")
                break
            started = time.monotonic()
    batches.close()
    return Outcome(state.step, state.step >= total_steps, signals[0] if signals else None, state.best)


def run_validation(
    model: DisparityModel[Any],
    state: Checkpoint,
    scenes: Sequence[Sample],
    options: RunOptions,
    processes: Processes,
    monitor: Monitor | Silence,
) -> Checkpoint:
    """Validate, report, draw; returns the state with its best validation brought up to date."""
    started = time.monotonic()
    validation = validate(model, scenes, processes)
    mse_100 = validation.mean()["mse_100"]
    is_best = not state.best or mse_100 < state.best["mse_100"]
    if is_best:
        state = replace(state, best={"step": state.step, "mse_100": mse_100, "scores": validation.summary()})
    monitor.report_validation(state.step, validation, time.monotonic() - started, is_best)
    if processes.is_writer:
        draw_validation(options.directory / PICTURES, validation, scenes)
    return state


def check_processes(recipe: Recipe, processes: Processes) -> None:
    """Refuse what cannot be run here."""
    if recipe.batch_size % processes.count:
        raise FreqLFError(
            f"a batch of {recipe.batch_size} cannot be divided among {processes.count} processes; "
            f"set --batch-size to a multiple of {processes.count}"
        )
    if recipe.precision == "fp16" and processes.device.type != "cuda":
        raise FreqLFError("--precision fp16 needs a CUDA device; use fp32 or bf16 here")


def require_space(directory: Path, model: nn.Module) -> None:
    """Refuse to begin where the run's checkpoints would not fit."""
    model_bytes = sum(value.numel() * value.element_size() for value in model.state_dict().values())
    # Weights, average and two moments, in the last and the best checkpoint and in one that is being written.
    needed = 3 * 4 * model_bytes + 50_000_000  # and pictures and metrics
    try:
        directory.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(directory).free
    except OSError as error:
        raise FreqLFError(f"cannot write to {directory}: {error.strerror or error}") from error
    if free < needed:
        raise FreqLFError(
            f"{directory} has {free / 1e6:.0f} MB left and the run needs {needed / 1e6:.0f} MB; choose another --out"
        )


def make_monitor(options: RunOptions, total_steps: int, first_step: int, processes: Processes) -> Monitor | Silence:
    """The monitor that belongs to this process."""
    if not processes.is_writer:
        return Silence()
    return Monitor(options.directory, total_steps, first_step, tensorboard=options.tensorboard, wandb=options.wandb)
