import json
import sys

import pytest
from slanted import make_sample
from tiny import ALONE, make_model

from freqlf.errors import FreqLFError
from freqlf.training.monitor import Monitor, format_duration
from freqlf.training.validation import validate


def report(monitor: Monitor, *steps: int, loss: float = 1.0) -> None:
    for step in steps:
        monitor.report_step(step, epoch=step / 4, pixels=1000, seconds=0.5, loss=loss, learning_rate=0.1)


def read_lines(path) -> list[dict]:
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


def test_every_step_and_validation_is_a_line(tmp_path, capsys):
    validation = validate(make_model(), [make_sample(40, 44)], ALONE)
    with Monitor(tmp_path, total_steps=3) as monitor:
        report(monitor, 1, 2)
        monitor.report_validation(2, validation, 0.25, is_best=True)
        report(monitor, 3)
    lines = read_lines(tmp_path)
    assert [(line["kind"], line["step"]) for line in lines] == [
        ("step", 1),
        ("step", 2),
        ("validation", 2),
        ("step", 3),
    ]
    assert lines[0]["loss"] == 1.0
    assert lines[2]["mean"]["slanted"]["mse_100"] == validation.mean()["mse_100"]
    text = capsys.readouterr().out
    assert "step 3/3  epoch 0.8  loss 1.0000  2 kpx/s" in text
    assert "validation at step 2, 0 s, best so far" in text
    assert f"slanted {validation.mean()['mse_100']:.3f}/" in text


def test_lines_after_the_checkpoint_are_forgotten(tmp_path):
    with Monitor(tmp_path, total_steps=9) as monitor:
        report(monitor, 1, 2, 3, 4)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "step", "st')  # the process was killed here
    with Monitor(tmp_path, total_steps=9, first_step=2) as monitor:
        report(monitor, 3, loss=2.0)
    assert [(line["step"], line["loss"]) for line in read_lines(tmp_path)] == [(1, 1.0), (2, 1.0), (3, 2.0)]


def test_what_is_not_finite_becomes_null(tmp_path):
    with Monitor(tmp_path, total_steps=1) as monitor:
        monitor.report_step(1, 0.5, 10, 0.1, loss=1.0, gradient_norm=float("inf"))
    assert read_lines(tmp_path)[0]["gradient_norm"] is None


@pytest.mark.parametrize("name", ["tensorboard", "wandb"])
def test_optional_packages_are_asked_for_by_name(tmp_path, name, monkeypatch):
    for module in (name, "torch.utils.tensorboard"):
        monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    with pytest.raises(FreqLFError, match=rf"--{name} needs the package {name}: pip install {name}"):
        Monitor(tmp_path, 1, **{name: True})


def test_tensorboard_gets_all_numbers(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with Monitor(tmp_path, total_steps=2, tensorboard=True) as monitor:
        report(monitor, 1, 2, loss=0.25)
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [event.value for event in events.Scalars("step/loss")] == [0.25, 0.25]


def test_wandb_gets_all_numbers_and_a_resumed_run_goes_on(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    for first_step in (0, 2):
        with Monitor(tmp_path, total_steps=4, first_step=first_step, wandb=True) as monitor:
            report(monitor, first_step + 1, first_step + 2, loss=0.25)
    records = list(tmp_path.glob("wandb/offline-run-*/run-*.wandb"))
    assert len({record.name for record in records}) == 1  # the run's identity is in the name
    assert any(b"step/loss" in record.read_bytes() for record in records)


def test_durations():
    assert [format_duration(seconds) for seconds in (3.2, 89, 600, 3660, 36000)] == [
        *("3 s", "89 s", "10 min", "1 h 01 min", "10 h 00 min")
    ]
