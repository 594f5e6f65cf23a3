"""The `freqlf` command: finds the subcommand, hands over to it, and turns mistakes into one line.

Each command is a module in `freqlf.cli` with a `run` function; its signature is its command line
(parsed by tyro) and its docstring is its help. Modules are imported only when their command is called,
so `freqlf --help` answers at once.
"""

import contextlib
import functools
import importlib
import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from freqlf.cli.arguments import check_arguments
from freqlf.errors import FreqLFError, FreqLFWarning, to_plain
from freqlf.threads import wait_passively

# name as typed: (module in freqlf.cli, one line for the overview)
COMMANDS: dict[str, tuple[str, str]] = {
    "estimate": ("estimate", "disparity, depth and uncertainty of your own light fields"),
    "view": ("view", "an estimate as one HTML page to look around in"),
    "app": ("app", "a local page to drop light fields on"),
    "score": ("score", "score disparity maps of any method against the ground truth"),
    "evaluate": ("evaluate", "every table and figure about a method's maps, beside other methods"),
    "report": ("report", "an evaluation as one HTML page to read and to pass on"),
    "calibrate": ("calibrate", "fit how wide a method's intervals must be to hold what they say"),
    "submit": ("submit", "pack maps for the benchmark's server, and check such archives"),
    "train": ("train", "train a model by a recipe, resumable at any time"),
    "pack": ("pack", "turn a training checkpoint into a weight file"),
    "export": ("export", "turn a model into an ONNX graph, checked against PyTorch"),
    "study ablation": ("study_ablation", "train a model without each of its components, over seeds"),
    "study bandwidth": ("study_bandwidth", "train a model with 8, 16 and 32 Fourier modes, over seeds"),
    "study robustness": ("study_robustness", "score a model on noisy, misaligned, blurred and fewer views"),
    "models": ("models", "list the model presets and what they cost"),
    "bench": ("bench", "time the models beside this machine's own matrix product"),
    "scaling": ("scaling", "how time and memory grow with the image, beside the paper's numbers"),
    "data check": ("data_check", "say what a benchmark folder holds and what is missing"),
    "data synth": ("data_synth", "generate light fields with exact ground truth"),
    "demo": ("demo", "a generated scene with pictures to look at"),
}


def overview() -> str:
    """The text of `freqlf --help`."""
    width = max(map(len, COMMANDS)) + 2
    lines = [f"  {name:<{width}}{help_line}" for name, (_, help_line) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: freqlf COMMAND ...",
            "",
            "Disparity and depth from 4D light fields.",
            "",
            "commands:",
            *lines,
            "",
            "`freqlf COMMAND --help` lists the options of a command; `freqlf --version` prints the version.",
        ]
    )


def _split_command(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The command's name (one or two words) and the arguments that follow it."""
    for words in (2, 1):
        name = " ".join(arguments[:words])
        if name in COMMANDS:
            return name, list(arguments[words:])
    group = [name for name in COMMANDS if name.split()[0] == arguments[0]]
    known = ", ".join(group or COMMANDS)
    raise FreqLFError(f"unknown command {' '.join(arguments[:2])!r}: choose one of {known}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, or 2 for wrong input, or 130 when interrupted."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(overview())
        return 0
    if arguments[0] == "--version":
        from freqlf import __version__

        print(f"freqlf {__version__}")
        return 0
    wait_passively()
    try:
        name, rest = _split_command(arguments)
        command = importlib.import_module(f"freqlf.cli.{COMMANDS[name][0]}").run
        positional, named = _parse(command, name, rest)
        check_arguments(command, positional, named)
        result = command(*positional, **named)
    except FreqLFError as error:
        print(f"freqlf: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("freqlf: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        raise
    except OSError as error:  # a name that is too long, a disk that fails: whatever no reader or writer expected
        print(
            f"freqlf: cannot use {to_plain(str(error.filename or 'a file'))}: {error.strerror or error}",
            file=sys.stderr,
        )
        return 2
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "memory" not in str(error):  # torch has no class of its own for the CPU
            raise
        print("freqlf: there is not enough memory for this; give smaller numbers or images", file=sys.stderr)
        return 2
    return int(result or 0)


def _parse(command: Callable[..., Any], name: str, arguments: Sequence[str]) -> tuple[Any, Any]:
    """The command's parameters as its signature wants them; what cannot be parsed becomes one line."""
    import tyro

    @functools.wraps(command)
    def collect(*positional: Any, **named: Any) -> tuple[Any, Any]:
        return positional, named

    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            parsed: tuple[Any, Any] = tyro.cli(collect, args=arguments, prog=f"freqlf {name}")
            return parsed
    except SystemExit as end:
        if not end.code:
            raise  # --help was printed
        raise FreqLFError(f"{_condense(complaint.getvalue())}; see `freqlf {name} --help`") from None


def _condense(box: str) -> str:
    """The first paragraph of the box that the parser draws around a complaint, as one line.

    Where the terminal cannot show boxes, the title is underlined with dashes instead.
    """
    rows = [line.strip("│")[1 if line.startswith("│") else 2 :].rstrip() for line in box.splitlines()]
    is_rule = [bool(row) and set(row.strip("╭╮╰╯ ")) <= {"─", "-"} for row in rows]
    start = 1 if box.startswith("╭") else is_rule.index(True) + 1 if True in is_rule else 0
    end = is_rule.index(True, start) if True in is_rule[start:] else len(rows)
    paragraph = rows[start:end]
    if paragraph and paragraph[0].startswith("Missing"):
        # Below the options, which are indented once, stand their explanations.
        options = [row.strip() for row in paragraph if row.startswith("    ") and not row.startswith("     ")]
        return f"missing {', '.join(options)}"
    return " ".join(row.strip() for row in paragraph) or "cannot parse the arguments"


def _show_warning(message: Warning | str, *where: Any) -> None:
    """Our own warnings as one line, without the place in the code that others see."""
    print(f"freqlf: warning: {to_plain(str(message))}", file=sys.stderr)


def run_and_exit() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files may be no text at all
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # remarks of libraries are for who asks for them with -W
        warnings.simplefilter("always", FreqLFWarning)
        warnings.showwarning = _show_warning  # type: ignore[assignment]
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough, as in `freqlf train --help | head`; nothing may be printed at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141  # what a shell reports for a program that the signal SIGPIPE ended
    sys.exit(code)
