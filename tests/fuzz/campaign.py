"""Many damaged files and command lines, each with a limit on time and memory: `make fuzz`.

Every case follows from the seed and its number, so that one that fails can be had again.
"""

import argparse
import json
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from fuzz.command_lines import draw_command_line, run_command_line
from fuzz.targets import MEMORY_BYTES, TARGETS, damaged

from freqlf.errors import FreqLFError
from freqlf.provenance import describe_run

LIMIT_S = 10
_SPECIAL_SHARE = 0.03
_COMMAND_SHARE = 0.1


class HangError(BaseException):
    """A case took too long. No handler of the program may catch it."""


@dataclass
class Summary:
    """What became of all cases: how many were refused in one line and read without complaint, and all that failed."""

    seed: int
    cases: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    largest_mb: float = 0.0


def run_campaign(cases: int, seed: int, folder: Path) -> Summary:
    """Run that many cases, spread evenly over all kinds of files, one in ten of them a command line."""
    summary = Summary(seed)
    previous = signal.signal(signal.SIGALRM, _hang)
    try:
        examples = {name: _prepare(folder / name.replace(" ", "_"), name) for name in TARGETS}
        for number in range(cases):
            summary.cases += 1
            random = Random(f"{seed} {number}")
            if random.random() < _COMMAND_SHARE:
                _judge(summary, f"{number}: command line", "command line", _run_command(random, folder))
                continue
            name = sorted(TARGETS)[number % len(TARGETS)]
            path, content = examples[name]
            is_special = random.random() < _SPECIAL_SHARE
            mutator = None if is_special else random.choice(TARGETS[name].mutators)
            with damaged(path, content, random, mutator) as what:
                _judge(summary, f"{number}: {name}, {what}", name, _read_file(name, path))
            path.write_bytes(content)
    finally:
        signal.signal(signal.SIGALRM, previous)
    return summary


def _prepare(folder: Path, name: str) -> tuple[Path, bytes]:
    folder.mkdir()
    path = TARGETS[name].write(folder)
    TARGETS[name].read(path)  # the sound one is read
    return path, path.read_bytes()


def _read_file(name: str, path: Path) -> Iterator[None]:
    TARGETS[name].read(path)
    yield


def _run_command(random: Random, folder: Path) -> Iterator[None]:
    run_command_line(draw_command_line(random, folder), folder)
    yield


def _judge(summary: Summary, case: str, name: str, work: Iterator[None]) -> None:
    _reset_peak()
    before_mb, start = _peak_mb(), time.perf_counter()
    signal.alarm(LIMIT_S)
    try:
        next(work)
        summary.read[name] += 1
    except FreqLFError as error:
        summary.refused[name] += 1
        if "\n" in str(error) or not str(error):
            summary.failures.append(f"{case}: not one line: {str(error)!r}")
    except HangError:
        summary.failures.append(f"{case}: took more than {LIMIT_S} s")
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        summary.failures.append(f"{case}: {type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})")
    finally:
        signal.alarm(0)
    held_mb = _peak_mb() - before_mb
    if held_mb * 1e6 > MEMORY_BYTES:
        summary.failures.append(f"{case}: took {held_mb:.0f} MB")
    summary.slowest_s = max(summary.slowest_s, time.perf_counter() - start)
    summary.largest_mb = max(summary.largest_mb, held_mb)


def _hang(*_: object) -> None:
    raise HangError


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _peak_mb() -> float:
    """The most memory that the process has held since the last reset."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="where to write the summary as JSON")
    options = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        summary = run_campaign(options.cases, options.seed, Path(folder))
    for failure in summary.failures:
        print(failure)
    record = describe_run(
        cases=summary.cases,
        seed=summary.seed,
        seconds=time.perf_counter() - start,
        refused=dict(summary.refused),
        read=dict(summary.read),
        failures=summary.failures,
        slowest_s=summary.slowest_s,
        largest_mb=summary.largest_mb,
    )
    if options.out is not None:
        options.out.write_text(json.dumps(record, indent=2) + "\n")
    print(
        f"{summary.cases} cases: {summary.refused.total()} refused in one line, {summary.read.total()} read, "
        f"{len(summary.failures)} failures; the slowest took {summary.slowest_s:.1f} s, the largest "
        f"{summary.largest_mb:.0f} MB"
    )
    return 1 if summary.failures else 0


if __name__ == "__main__":
    sys.exit(main())
