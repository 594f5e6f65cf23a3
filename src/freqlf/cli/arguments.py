"""What numbers on the command line may be: a flag takes its range with its type, and all are checked in one place."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_type_hints

from freqlf.io.schema import Range, convert

Threads = Annotated[int, Range(1, 1024)]
Workers = Annotated[int, Range(0, 256)]  # 0 is none, or as many as the library likes
Minutes = Annotated[float, Range(0, 1e6)]
Scenes = Annotated[int, Range(0, 1_000_000)]
Repeats = Annotated[int, Range(1, 1000)]
SidePx = Annotated[int, Range(2, 30_000)]
BorderPx = Annotated[int, Range(0, 10_000)]
Views = Annotated[int, Range(3, 255)]
Disparity = Annotated[float, Range(-10_000, 10_000)]
Port = Annotated[int, Range(0, 65_535)]
Gigabytes = Annotated[float, Range(0.001, 10_000)]
Modes = Annotated[int, Range(1, 4096)]


def check_arguments(command: Callable[..., Any], positional: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Hold what was given to the command's annotations; defaults may be what they are."""
    given = inspect.signature(command).bind(*positional, **named)
    hints = get_type_hints(command, include_extras=True)
    for name, value in given.arguments.items():
        default = given.signature.parameters[name].default
        if is_dataclass(value) and not isinstance(value, type):  # its fields are flags of their own
            kinds = get_type_hints(type(value), include_extras=True)
            for one in fields(value):
                _check(getattr(value, one.name), kinds[one.name], one.name, one.default)
        else:
            _check(value, hints[name], name, default)


def _check(value: Any, kind: Any, name: str, default: Any) -> None:
    if value is not default and value != default:
        convert(value, kind, f"--{name.strip('_').replace('_', '-')}")
