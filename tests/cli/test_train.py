import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from freqlf.cli.main import main
from freqlf.data.hci import Scene
from freqlf.weights.checkpoint import load_checkpoint


@pytest.fixture
def data(make_scene, tmp_path):
    for name in ("one", "two", "three"):
        make_scene(name)
    return tmp_path / "data"


@pytest.fixture
def flags(data, tmp_path):
    split = ["--train-split", "one,two", "--validation-split", "three"]
    size = ["--steps", "2", "--crop-size-px", "24", "--threads", "1", "--device", "cpu"]
    return ["train", "--preset", "freqlf-small", "--data", str(data), "--out", str(tmp_path / "run"), *split, *size]


def test_a_run_from_the_command_line(flags, tmp_path, capsys):
    assert main([*flags, "--noise", "0.01", "--flips", "False"]) == 0
    output = capsys.readouterr().out
    assert "step 2/2" in output
    assert "three" in output
    last = load_checkpoint(tmp_path / "run" / "last.pt")
    assert (last.preset, last.step, last.recipe["noise"], last.recipe["flips"]) == ("freqlf-small", 2, 0.01, False)
    assert last.recipe["optimizer"] == "adamw"  # of the recipe, since not given
    assert last.scenes == {"training": ["one", "two"], "generated": [], "validation": ["three"]}

    assert main([*flags, "--noise", "0.01", "--flips", "False"]) == 2
    assert "already holds a run; add --resume" in capsys.readouterr().err
    assert main([*flags, "--noise", "0.02", "--flips", "False", "--resume"]) == 2
    assert "noise is 0.01 there and 0.02 here" in capsys.readouterr().err
    assert main([*flags, "--noise", "0.01", "--flips", "False", "--resume"]) == 0
    assert main([*flags, "--preset", "freqlf-plus-small", "--resume"]) == 2
    assert "is a run of the preset freqlf-small, not freqlf-plus-small" in capsys.readouterr().err


def test_a_fit_is_scored_on_what_it_was_shown(data, tmp_path, capsys):
    flags = ["train", "--preset", "freqlf-small", "--data", str(data), "--out", str(tmp_path / "run"), "--fit"]
    flags += ["--train-split", "one", "--steps", "1", "--crop-size-px", "24", "--threads", "1"]
    assert main([*flags, "--validation-split", "two"]) == 2
    assert "leave out --validation-split" in capsys.readouterr().err
    assert main(flags) == 0
    scenes = load_checkpoint(tmp_path / "run" / "last.pt").scenes
    assert scenes == {"training": ["one"], "generated": [], "validation": ["one"]}


def test_the_papers_model_and_recipe(data, tmp_path, monkeypatch):
    from freqlf.models import presets
    from freqlf.models.config import EpiConfig

    small = EpiConfig(rows=5, columns=5, channels=8, layers=1, modes=2, stream_channels=4)
    monkeypatch.setitem(presets.PRESETS, "freqlf", small)
    flags = ["--preset", "freqlf", "--recipe", "paper", "--data", str(data), "--out", str(tmp_path / "run")]
    flags += ["--train-split", "one", "--validation-split", "none", "--epochs", "3", "--threads", "1"]
    assert main(["train", *flags]) == 0
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [(line["step"], line["learning_rate"]) for line in lines] == [(1, 1e-4), (2, 1e-4), (3, 1e-4)]


@pytest.mark.parametrize(
    ("split", "trained", "validated"), [("paper", ["dino"], []), ("literature", ["town"], ["dino"])]
)
def test_one_flag_chooses_the_split(make_scene, tmp_path, monkeypatch, split, trained, validated):
    from freqlf.data.splits import GROUPS

    monkeypatch.setitem(GROUPS, "training", ("dino",))
    monkeypatch.setitem(GROUPS, "additional", ("town",))
    data = {make_scene(name).parent for name in ("dino", "town")}.pop()
    flags = ["--preset", "freqlf-small", "--data", str(data), "--out", str(tmp_path / "run"), "--split", split]
    assert main(["train", *flags, "--steps", "1", "--crop-size-px", "24", "--threads", "1"]) == 0
    scenes = load_checkpoint(tmp_path / "run" / "last.pt").scenes
    assert (scenes["training"], scenes["validation"]) == (trained, validated)


def test_a_curriculum_needs_no_scenes(tmp_path, monkeypatch):
    from freqlf.models import presets
    from freqlf.models.config import EpiConfig

    small = EpiConfig(channels=8, layers=1, modes=2, stream_channels=4)
    monkeypatch.setitem(presets.PRESETS, "freqlf-paper-small", small)
    flags = ["--preset", "freqlf-paper-small", "--recipe", "curriculum", "--out", str(tmp_path / "run")]
    flags += ["--train-split", "none", "--validation-split", "none", "--crop-size-px", "24", "--threads", "1"]
    assert main(["train", *flags, "--steps", "4", "--relief-steps", "4"]) == 0
    whole = (tmp_path / "run" / "metrics.jsonl").read_text()
    flags[5] = str(tmp_path / "again")
    assert main(["train", *flags, "--steps", "4", "--relief-steps", "4", "--max-minutes", "0"]) == 0
    assert load_checkpoint(tmp_path / "again" / "last.pt").step == 1
    assert main(["train", *flags, "--steps", "4", "--relief-steps", "4", "--resume"]) == 0
    assert (tmp_path / "again" / "metrics.jsonl").read_text() == whole  # every relief follows from seed and number


def test_generated_scenes_of_a_folder(flags, tmp_path):
    assert main(["data", "synth", str(tmp_path / "made"), "--scenes", "2", "--views", "5", "--size", "40"]) == 0
    assert main([*flags, "--train-split", "none", "--synthetic-data", str(tmp_path / "made")]) == 0
    last = load_checkpoint(tmp_path / "run" / "last.pt")
    assert last.scenes["training"] == []
    assert last.scenes["generated"] == ["synth_000000", "synth_000001"]


def test_generated_scenes_are_made_once_like_the_others(flags, tmp_path):
    assert main([*flags, "--synthetic", "2"]) == 0
    folder = tmp_path / "run" / "synthetic"
    assert sorted(os.listdir(folder)) == ["generated_000000", "generated_000001"]
    scene = Scene(folder / "generated_000001")
    assert scene.disparity_px().shape == (32, 40)
    assert len(scene.view_files()) == 17  # the star of 5 x 5 views
    made = scene.directory.stat().st_mtime_ns
    assert main([*flags, "--synthetic", "2", "--resume"]) == 0
    assert scene.directory.stat().st_mtime_ns == made
    assert load_checkpoint(tmp_path / "run" / "last.pt").scenes["training"] == ["one", "two"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--preset", "freqlf-huge"], "unknown preset 'freqlf-huge': choose one of freqlf"),
        (["--recipe", "soup"], "unknown recipe 'soup'"),
        (["--batch-size", "0"], "batch_size must be between 1 and 4096, not 0"),
        (["--train-split", "one,three"], "three is in --train-split and in --validation-split"),
        (["--train-split", "four"], "no scene four under"),
        (["--train-split", "none"], "no scene to train on"),
        (["--train-split", ","], "--train-split names no scene"),
        (["--crop-size-px", "128"], "crops of 128 px do not fit into scenes of 32 px"),
        (["--precision", "fp16"], "--precision fp16 needs a CUDA device"),
        (["--weights", "none.pt"], "none.pt does not exist"),
        (["--out", "/proc/run"], "cannot write /proc/run"),
        (["--data", "nowhere"], "nowhere is not a directory"),
    ],
)
def test_mistakes_are_one_line(flags, capsys, changes, message):
    assert main([*flags, *changes]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_no_data_is_a_mistake(tmp_path, capsys):
    assert main(["train", "--preset", "freqlf-small", "--out", str(tmp_path / "run")]) == 2
    assert "--data is missing" in capsys.readouterr().err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_tells_how_to_go_on(flags, tmp_path, number, code):
    command = [sys.executable, "-m", "freqlf", *flags, "--steps", "100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        metrics = tmp_path / "run" / "metrics.jsonl"
        deadline = time.monotonic() + 120
        while not (metrics.exists() and metrics.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    steps = len(metrics.read_text().splitlines())
    assert f"stopped after step {steps} of 100000; add --resume to continue" in output
    assert load_checkpoint(tmp_path / "run" / "last.pt").step == steps


def test_people_see_a_progress_bar(flags):
    """On a terminal, with epoch, loss, speed and score."""
    terminal, other_end = pty.openpty()
    command = [sys.executable, "-m", "freqlf", *flags, "--steps", "4", "--validation-minutes", "0"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "160"}
    with subprocess.Popen(command, stdout=other_end, stderr=other_end, env=environment) as process:
        os.close(other_end)
        seen = b""
        while True:
            try:
                part = os.read(terminal, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
    os.close(terminal)
    assert process.returncode == 0
    text = seen.decode(errors="replace")
    for fact in ("epoch 4.0", "100%", "loss", "kpx/s", "MSE", "BadPix"):
        assert fact in text
