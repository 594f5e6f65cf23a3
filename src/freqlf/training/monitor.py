"""Watching a run: a progress bar for people, lines for logs, metrics.jsonl for programs."""

import json
import time
import uuid
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from freqlf.errors import FreqLFError
from freqlf.io.files import write_bytes, write_text
from freqlf.io.intake import open_file, read_text
from freqlf.training.validation import Validation

METRICS_FILE = "metrics.jsonl"
_SECONDS_BETWEEN_LINES = 30.0
_SMOOTHING = 0.98


class Monitor:
    """Reports the steps and validations of one run. Use it in a `with` statement.

    metrics.jsonl has one line per step (`kind` is "step") and per validation ("validation").
    """

    def __init__(
        self, directory: Path, total_steps: int, first_step: int = 0, *, tensorboard: bool = False, wandb: bool = False
    ) -> None:
        self.total_steps = total_steps
        self._trackers = _make_trackers(directory, tensorboard=tensorboard, wandb=wandb)
        path = directory / METRICS_FILE
        _drop_later_lines(path, first_step)
        self._path = path
        self._lines = path.open("ab", buffering=0)  # a buffer would fail once more when it is closed
        self._console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("epoch {task.fields[epoch]:.1f}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[facts]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task("", total=total_steps, completed=first_step, epoch=0.0, facts="")
        self._loss: float | None = None
        self._steps, self._pixels, self._seconds = 0, 0, 0.0
        self._last_line = time.monotonic()
        self._score = ""

    def __enter__(self) -> "Monitor":
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()
        self._lines.close()
        for tracker in self._trackers:
            tracker.close()

    def say(self, text: str) -> None:
        """One line for the user."""
        if self._console.is_terminal:
            self._console.print(text, highlight=False, markup=False)
        else:
            print(text, flush=True)

    def report_step(self, step: int, epoch: float, pixels: int, seconds: float, **values: float) -> None:
        """After optimizer step number `step` (from 1), which saw so many pixels and took so many seconds."""
        loss = values["loss"]
        self._loss = loss if self._loss is None else _SMOOTHING * self._loss + (1 - _SMOOTHING) * loss
        self._steps += 1
        self._pixels += pixels
        self._seconds += seconds
        self._write("step", step, values)
        speed = self._pixels / self._seconds
        facts = f"loss {self._loss:.4f}  {speed / 1e3:.0f} kpx/s{self._score}"
        self._progress.update(self._task, completed=step, epoch=epoch, facts=facts)
        now = time.monotonic()
        if not self._console.is_terminal and (
            now - self._last_line > _SECONDS_BETWEEN_LINES or step == self.total_steps
        ):
            self._last_line = now
            left = format_duration(self._seconds / self._steps * (self.total_steps - step))
            self.say(f"step {step}/{self.total_steps}  epoch {epoch:.1f}  {facts}  {left} left")

    def report_validation(self, step: int, validation: Validation, seconds: float, is_best: bool) -> None:
        """After a validation of the weights of `step`."""
        mean = validation.mean()
        self._score = f"  MSE {mean['mse_100']:.3f}  BadPix {mean['badpix_007']:.2f} %"
        self._write("validation", step, {"seconds": seconds, "best": is_best, **validation.summary()})
        self.say(f"validation at step {step}, {seconds:.0f} s{', best so far' if is_best else ''}")
        for estimate, scenes in validation.scores.items():
            rows = {name: (score.mse_100, score.badpix_007) for name, score in scenes.items()}
            average = validation.mean(estimate)
            rows["all"] = (average["mse_100"], average["badpix_007"])
            described = "  ".join(f"{name} {mse:.3f}/{badpix:.2f}" for name, (mse, badpix) in rows.items())
            self.say(f"  {estimate} MSE x100 / BadPix(0.07) %: {described}")

    def _write(self, kind: str, step: int, values: dict[str, Any]) -> None:
        line = json.dumps({"kind": kind, "step": step, **values})
        line = json.dumps(json.loads(line, parse_constant=lambda _: None))  # JSON has neither NaN nor infinity
        try:
            self._lines.write(f"{line}\n".encode())
        except OSError as error:
            raise FreqLFError(
                f"cannot write {self._path}: {error.strerror or error}; training stops, the last checkpoint is intact: "
                "make room, and continue with --resume"
            ) from error
        for tracker in self._trackers:
            tracker.log(step, {f"{kind}/{name}": value for name, value in _flatten(values).items()})


class Silence:
    """The monitor of processes that do not write."""

    def __enter__(self) -> "Silence":
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def say(self, text: str) -> None:
        """Say nothing."""

    def report_step(self, step: int, epoch: float, pixels: int, seconds: float, **values: float) -> None:
        """Report nothing."""

    def report_validation(self, step: int, validation: Validation, seconds: float, is_best: bool) -> None:
        """Report nothing."""


class _TensorBoard:
    def __init__(self, directory: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise FreqLFError("--tensorboard needs the package tensorboard: pip install tensorboard") from error
        self._writer = SummaryWriter(directory / "tensorboard")

    def log(self, step: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class _Wandb:
    def __init__(self, directory: Path) -> None:
        try:
            import wandb  # type: ignore[import-not-found, unused-ignore]
        except ImportError as error:
            raise FreqLFError("--wandb needs the package wandb: pip install wandb") from error
        identity = directory / "wandb_id.txt"  # a resumed run goes on in the same chart
        if not identity.exists():
            write_text(identity, uuid.uuid4().hex)
        self._run = wandb.init(
            project="freqlf", name=directory.name, dir=str(directory), id=read_text(identity, 1000), resume="allow"
        )

    def log(self, step: int, values: dict[str, float]) -> None:
        self._run.log(values, step=step)

    def close(self) -> None:
        self._run.finish()


def _make_trackers(directory: Path, *, tensorboard: bool, wandb: bool) -> list[_TensorBoard | _Wandb]:
    trackers: list[_TensorBoard | _Wandb] = []
    if tensorboard:
        trackers.append(_TensorBoard(directory))
    if wandb:
        trackers.append(_Wandb(directory))
    return trackers


def _flatten(values: dict[str, Any], prefix: str = "") -> dict[str, float]:
    flat: dict[str, float] = {}
    for name, value in values.items():
        flat.update(_flatten(value, f"{prefix}{name}/") if isinstance(value, dict) else {prefix + name: float(value)})
    return flat


def _drop_later_lines(path: Path, step: int) -> None:
    """Forget what was reported after the checkpoint that a run continues from: it will be reported again."""
    if not path.exists():
        return
    kept = []
    with open_file(path) as file:
        for line in file:
            try:
                if json.loads(line)["step"] <= step:
                    kept.append(line.rstrip() + b"\n")
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # half a line, from a process that was killed
    write_bytes(path, b"".join(kept))


def format_duration(seconds: float) -> str:
    """Hours and minutes, or minutes, or seconds."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"
