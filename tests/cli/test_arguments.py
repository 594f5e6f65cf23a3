"""Every number on the command line has a range."""

import importlib
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest

from freqlf.cli.arguments import Minutes, Threads, check_arguments
from freqlf.cli.main import COMMANDS
from freqlf.errors import FreqLFError
from freqlf.io.schema import Range


def list_unbounded(kind: Any, name: str) -> list[str]:
    """Flags of a type that are numbers of any size."""
    if kind in (int, float):
        return [name]
    if get_origin(kind) is Annotated and any(isinstance(part, Range) for part in get_args(kind)):
        return []
    if isinstance(kind, type) and is_dataclass(kind):
        if kind.__name__ == "Changes":  # recipes check their settings themselves
            return []
        hints = get_type_hints(kind, include_extras=True)
        return [flag for one in fields(kind) for flag in list_unbounded(hints[one.name], one.name)]
    if get_origin(kind) is Annotated:
        return list_unbounded(get_args(kind)[0], name)
    return [flag for part in get_args(kind) if not isinstance(part, (str, int)) for flag in list_unbounded(part, name)]


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_numbers_have_a_range(command: str) -> None:
    run = importlib.import_module(f"freqlf.cli.{COMMANDS[command][0]}").run
    hints = get_type_hints(run, include_extras=True)
    unbounded = [flag for name, kind in hints.items() if name != "return" for flag in list_unbounded(kind, name)]
    assert unbounded == [], "give them a type of freqlf.cli.arguments"


def test_what_is_given_is_checked_and_defaults_are_not() -> None:
    def run(minutes: Minutes = float("inf"), threads: Threads | None = None) -> None:
        pass

    check_arguments(run, [], {"minutes": float("inf"), "threads": None})
    check_arguments(run, [5.0], {"threads": 2})
    for minutes, threads, message in (
        (float("nan"), 1, "--minutes must be a finite number, not nan"),
        (-1.0, 1, "--minutes must be between 0"),
        (1.0, 0, "--threads must be between 1"),
    ):
        with pytest.raises(FreqLFError, match=message):
            check_arguments(run, [], {"minutes": minutes, "threads": threads})
