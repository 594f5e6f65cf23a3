"""Kill -9 at random moments: a training run must resume exactly, and no command may leave half a result: `make soak`.

Each round starts a command, kills it, looks at what it left, and starts it again; in the end it must have done what
it does when nobody disturbs it.
"""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

from freqlf.data.hci import write_scene
from freqlf.data.synthetic import SceneOptions, render_scene
from freqlf.io.files import require_folder
from freqlf.provenance import describe_run

SMALL = SceneOptions(48, 48, 5, 5, disparity_range_px=(-1.0, 1.0))
TRAIN = (
    "--recipe",
    "cpu",
    "--steps",
    "20",
    "--crop-size-px",
    "32",
    "--batch-size",
    "1",
    "--checkpoint-minutes",
    "0.005",
)


@dataclass
class Command:
    """A command line, and how to tell whether what is in its folder is whole."""

    name: str
    arguments: tuple[str, ...]
    out: Path
    resumes: bool = False


def start(command: Command, *, again: bool) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-m", "freqlf", *command.arguments, "--out", str(command.out)]
    if command.resumes and again:
        arguments.append("--resume")
    elif again:
        arguments.append("--overwrite")
    return subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def run_whole(command: Command, *, again: bool = False) -> float:
    """Let it finish; seconds that it took."""
    begin = time.monotonic()
    process = start(command, again=again)
    _, complaint = process.communicate(timeout=600)
    if process.returncode != 0:
        raise AssertionError(f"{command.name} ended with {process.returncode}: {complaint}")
    return time.monotonic() - begin


def kill(command: Command, after_s: float, *, again: bool) -> bool:
    """Start it and kill it; False if it was done before."""
    process = start(command, again=again)
    try:
        _, complaint = process.communicate(timeout=after_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return True
    if process.returncode != 0:
        raise AssertionError(f"{command.name} ended with {process.returncode}: {complaint}")
    return False


def require_whole(command: Command) -> None:
    """What has its final name is complete: JSON parses, checkpoints load; hidden parts are nobody's business."""
    from freqlf.weights.checkpoint import load_checkpoint

    for path in command.out.rglob("*") if command.out.exists() else ():
        if any(part.startswith(".") for part in path.relative_to(command.out).parts):
            continue
        if path.suffix == ".json":
            json.loads(path.read_text())
        if path.suffix == ".pt":
            load_checkpoint(path)


def fingerprint(command: Command) -> str:
    """Of the results, without times and paths."""
    if command.resumes:
        from freqlf.weights.checkpoint import load_checkpoint

        state = load_checkpoint(command.out / "last.pt").model
        content = b"".join(state[name].numpy().tobytes() for name in sorted(state))
    else:
        content = b"".join(path.read_bytes() for path in sorted(command.out.rglob("*.pfm")))
    return hashlib.sha256(content).hexdigest()


def soak(command: Command, kills: int, random: Random) -> dict[str, object]:
    """Kill it that often; it must then finish with the result that it has undisturbed."""
    seconds = run_whole(command)
    expected = fingerprint(command)
    done = 0
    while done < kills:
        fresh = random.random() < 0.3
        if fresh and command.out.exists():
            subprocess.run(["rm", "-r", str(command.out)], check=True)
        was_killed = kill(command, random.uniform(0.1, 1.0) * seconds, again=command.out.exists())
        require_whole(command)
        done += was_killed
        if not was_killed and command.resumes:  # a finished run has nothing left to be killed in
            subprocess.run(["rm", "-r", str(command.out)], check=True)
    run_whole(command, again=command.out.exists())
    require_whole(command)
    require_folder(command.out, overwrite=True)  # which removes what dead processes left
    parts = [path for place in (command.out, command.out.parent) for path in place.glob(".freqlf-*.part")]
    return {
        "command": command.name,
        "kills": done,
        "undisturbed_seconds": seconds,
        "same_result": fingerprint(command) == expected,
        "left_over": len(parts),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="in all, shared among the commands")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="where to write the summary as JSON")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for seed, name in enumerate(("one", "two")):
            made = render_scene(seed, SMALL)
            write_scene(root / "data" / name, made.views, made.disparity_px, made.parameters, made.valid_mask)
        data = ("--data", str(root / "data"))
        splits = ("--train-split", "one", "--validation-split", "none")
        commands = (
            Command("train", ("train", "--preset", "freqlf-small", *data, *splits, *TRAIN), root / "run", resumes=True),
            Command("estimate", ("estimate", str(root / "data" / "one"), "--model", "slope"), root / "result"),
            Command(
                "evaluate", ("evaluate", "--model", "slope", *data, "--split", "all", "--no-figures"), root / "report"
            ),
        )
        shares = np.diff(np.linspace(0, options.kills, len(commands) + 1).round().astype(int))
        results = [
            soak(command, int(kills), Random(f"{options.seed} {command.name}"))
            for command, kills in zip(commands, shares, strict=True)
        ]
    for result in results:
        print(json.dumps(result))
    if options.out is not None:
        options.out.write_text(json.dumps(describe_run(seed=options.seed, results=results), indent=2) + "\n")
    return 0 if all(result["same_result"] and not result["left_over"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
