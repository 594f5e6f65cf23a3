"""Command lines with absurd values, on inputs that are not there, so that no long work begins."""

import contextlib
import io
from pathlib import Path
from random import Random

from freqlf.cli.main import main

VALUES = (
    "-1",
    "0",
    "-5",
    "1e30",
    "nan",
    "inf",
    "-inf",
    "99999999999",
    "9" * 400,
    "1.5",
    "",
    "x",
    "$\\frac$",
    "\x1b[31m",
    "a\nb",
    "\udcff",
    "x" * 300,
    "/dev/zero",
    ".",
    "..",
)
# Each with what it needs beside the flag that is tried; {} is a folder of its own.
COMMANDS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("estimate", "{}/nothing", "--out", "{}/out", "--model", "slope"): (
        "--memory",
        "--threads",
        "--shear",
        "--refocus",
        "--pitch-px",
        "--views",
        "--stride",
        "--axes",
        "--dataset",
        "--format",
        "--model",
        "--device",
        "--out",
    ),
    ("train", "--preset", "freqlf-small", "--out", "{}/run", "--data", "{}/nothing"): (
        "--synthetic",
        "--max-minutes",
        "--checkpoint-minutes",
        "--validation-minutes",
        "--threads",
        "--loaders",
        "--seed",
        "--beta1",
        "--learning-rate",
        "--steps",
        "--batch-size",
        "--weights",
        "--recipe",
        "--preset",
        "--crop-size-px",
        "--gamma",
    ),
    ("data", "synth", "{}/out", "--views", "4"): (  # which are never even
        "--size",
        "--height",
        "--scenes",
        "--seed",
        "--noise",
        "--bits",
        "--layout",
    ),
    ("data", "check"): ("",),
    ("score", "--pred", "{}/nothing", "--data", "{}/nothing"): ("--border", "--scenes", "--pred", "--data"),
    ("evaluate", "--from", "{}/nothing", "--data", "{}/nothing", "--out", "{}/out"): (
        "--border",
        "--split",
        "--compare",
        "--calibration",
        "--memory",
        "--name",
    ),
    ("calibrate", "--from", "{}/nothing", "--data", "{}/nothing", "--out", "{}/a.json"): ("--border", "--split"),
    ("submit", "--check", "{}/nothing"): ("--check",),
    ("submit", "--from", "{}/nothing", "--out", "{}/a.zip"): ("--from",),
    ("pack", "{}/nothing.pt", "--out", "{}/a.safetensors"): ("--calibration",),
    ("report", "--from", "{}/nothing", "--out", "{}/a.html"): ("--from",),
    ("view", "{}/nothing"): ("--out",),
}


def draw_command_line(random: Random, folder: Path) -> list[str]:
    """A command with one flag set to something absurd."""
    command = random.choice(list(COMMANDS))
    flag = random.choice(COMMANDS[command])
    arguments = [part.replace("{}", str(folder)) for part in command]
    return [*arguments, *([flag] if flag else []), random.choice(VALUES)]


def run_command_line(arguments: list[str], folder: Path) -> None:
    """It must end with one line on standard error and the exit code 2; anything else is an error."""
    printed, complaint = io.StringIO(), io.StringIO()
    here = folder / "an empty" / "place"
    here.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(here), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaint):
        code = main(arguments)
    lines = complaint.getvalue().rstrip("\n").split("\n")
    if code != 2 or len(lines) != 1 or not lines[0].startswith("freqlf: "):
        raise AssertionError(f"{arguments} ended with {code}: {complaint.getvalue()!r}")
    complaint.getvalue().encode()  # nothing in it that a terminal could not show
