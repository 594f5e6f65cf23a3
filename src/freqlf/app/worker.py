"""One estimate in a process of its own, which can be ended at any time without harm to the app."""

import signal
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from freqlf.app.uploads import find_light_field
from freqlf.errors import FreqLFError
from freqlf.io.viewgrid import InputOptions
from freqlf.weights.registry import SLOPE, WEIGHTS


@dataclass(frozen=True)
class Settings:
    """What the user chose.

    Attributes:
        model: packaged weights, or "slope".
        memory_gb: what the process may hold at most; None for half of what is free.
        pitch_px: of lenslet images.
        grid: (rows, columns) of tiled views; None if the file tells.
    """

    model: str
    memory_gb: float | None = None
    pitch_px: int = InputOptions.pitch_px
    grid: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.model not in (*WEIGHTS, SLOPE):
            raise FreqLFError(f"there is no model {self.model!r}")
        if self.memory_gb is not None and not self.memory_gb > 0:
            raise FreqLFError(f"the memory must be a positive number of GB, not {self.memory_gb}")
        self.reading()

    def reading(self) -> InputOptions:
        """How to read the files; impossible numbers are an error."""
        return InputOptions(pitch_px=self.pitch_px, grid=None if self.grid is None else (self.grid[0], self.grid[1]))


def parse_settings(values: Mapping[str, Any]) -> Settings:
    """Settings as a form gives them: texts, empty for what was not filled in."""
    names = [entry.name for entry in fields(Settings)]
    unknown = set(values) - set(names)
    if unknown:
        raise FreqLFError(f"unknown settings: {', '.join(sorted(unknown))}")
    texts = {name: str(values.get(name) or "").strip() for name in names}
    try:
        memory_gb = float(texts["memory_gb"]) if texts["memory_gb"] else None
        pitch_px = int(texts["pitch_px"] or InputOptions.pitch_px)
        rows_columns = [int(count) for count in texts["grid"].lower().split("x")] if texts["grid"] else None
    except ValueError:
        raise FreqLFError("memory and pitch are numbers, and tiled views are given as in 9 x 9") from None
    if rows_columns is not None and len(rows_columns) != 2:
        raise FreqLFError(f"tiled views are given as in 9 x 9, not {texts['grid']!r}")
    grid = None if rows_columns is None else (rows_columns[0], rows_columns[1])
    return Settings(texts["model"], memory_gb, pitch_px, grid)


def run_job(folder: Path, settings: Settings, sender: Any) -> None:
    """Estimate what lies in `folder/upload`, write `folder/result` with its page, and report on the way."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the app decides when this ends

    def report(stage: str, share: float) -> None:
        sender.send({"stage": stage, "share": share})

    try:
        message = estimate_upload(folder, settings, report)
        sender.send({"state": "done", "message": message})
    except FreqLFError as error:
        sender.send({"state": "failed", "message": str(error)})
    except MemoryError:
        sender.send({"state": "failed", "message": "there is not enough memory for this light field"})
    sender.close()


def estimate_upload(folder: Path, settings: Settings, report: Callable[[str, float], None]) -> str:
    """The work itself; returns what the user should know about how the files were read."""
    from freqlf.inference.estimate import load_estimator  # imports torch
    from freqlf.io.files import write_text
    from freqlf.outputs.viewer.estimates import PAGE, read_estimate
    from freqlf.outputs.viewer.page import write_page

    report("reading", 0.0)
    path = find_light_field(folder / "upload")
    memory = None if settings.memory_gb is None else int(1e9 * settings.memory_gb)
    estimator = load_estimator(settings.model, memory=memory)

    def show(stage: str, done: int, total: int) -> None:
        report(stage, done / max(total, 1))

    estimate = estimator(path, progress=show, **asdict(settings.reading()))
    report("writing", 1.0)
    estimate.save(folder / "result")
    write_text(folder / "result" / PAGE, write_page(read_estimate(folder / "result")))
    return "; ".join((*estimate.warnings, *estimate.notes))
