"""What values from elsewhere may be: annotations say it once, and `convert` holds files and arguments to them.

Understood are bool, int, float (finite), str, None, unions, Literal, list, tuple, frozenset, dict, Any, dataclasses (no
unknown key), TypedDicts (further keys are allowed), any class by `isinstance`, and `Annotated` numbers with a `Range`.
"""

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from freqlf.errors import FreqLFError

_SHOWN_LENGTH = 40


@dataclass(frozen=True)
class Range:
    """Where a number must lie: from `low` to `high`."""

    low: float
    high: float = math.inf

    def __contains__(self, number: float) -> bool:
        return self.low <= number <= self.high

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"at least {self.low:g}"
        return f"between {self.low:g} and {self.high:g}"


Share = Annotated[float, Range(0, 1)]
Amount = Annotated[float, Range(0, 1e9)]  # of anything that is finite and not negative
Count = Annotated[int, Range(0, 10**12)]
Seed = Annotated[int, Range(0, 2**31 - 1)]


def convert(value: Any, kind: Any, where: str) -> Any:
    """The value as the annotation wants it, lists as tuples and dictionaries as dataclasses; `where` is for errors."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin is Annotated:
        converted = convert(value, parts[0], where)
        for limits in parts[1:]:
            if isinstance(limits, Range) and converted is not None and converted not in limits:
                raise FreqLFError(f"{where} must be {limits}, not {_show(value)}")
        return converted
    if origin in (Union, UnionType):
        return _convert_union(value, parts, where)
    if origin is Literal:
        return (
            value
            if any(value is one or (type(value) is type(one) and value == one) for one in parts)
            else _refuse(value, f"one of {', '.join(map(str, parts))}", where)
        )
    if origin in (tuple, list, frozenset) and isinstance(value, (list, tuple)):
        return _convert_sequence(value, origin, parts, where)
    if origin is dict and isinstance(value, dict):
        return {
            convert(key, parts[0], f"a key of {where}"): convert(one, parts[1], f"{where}.{_show(key)}")
            for key, one in value.items()
        }
    if is_typeddict(kind):
        return _convert_entries(value, kind, where) if isinstance(value, dict) else _refuse(value, "an object", where)
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(value, Mapping):
        return _build(value, kind, where)
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if _is_finite(value) else _refuse(value, "a finite number", where)
    if kind is None:
        kind = NoneType
    if isinstance(value, origin or kind) and not (kind is int and isinstance(value, bool)):
        return value
    return _refuse(value, _NAMES.get(origin or kind, getattr(origin or kind, "__name__", str(kind))), where)


def check_fields(options: Any) -> None:
    """Hold the fields of a dataclass to their annotations: to be called in its `__post_init__`."""
    for name, kind in _hints(options.__class__).items():
        convert(getattr(options, name), kind, name)


_NAMES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    NoneType: "nothing",
    dict: "an object",
    list: "a list",
    tuple: "a list",
}


def _convert_union(value: Any, parts: tuple[Any, ...], where: str) -> Any:
    if value is None and NoneType in parts:
        return None
    choices = [part for part in parts if part is not NoneType]
    for choice in choices[:-1]:
        try:
            return convert(value, choice, where)
        except FreqLFError:
            continue
    return convert(value, choices[-1], where)


def _convert_sequence(value: Any, origin: Any, parts: tuple[Any, ...], where: str) -> Any:
    if origin is not tuple or (len(parts) == 2 and parts[1] is Ellipsis):
        parts = (parts[0],) * len(value)
    if len(parts) != len(value):
        _refuse(value, f"a list of {len(parts)}", where)
    return origin(convert(one, part, f"{where}[{i}]") for i, (one, part) in enumerate(zip(value, parts, strict=True)))


def _convert_entries(value: dict[str, Any], kind: Any, where: str) -> dict[str, Any]:
    missing = sorted(kind.__required_keys__ - set(value))
    if missing:
        raise FreqLFError(f"{where} has no {missing[0]}")
    hints = _hints(kind)
    return {key: convert(one, hints[key], f"{where}.{key}") if key in hints else one for key, one in value.items()}


def _build(value: Mapping[str, Any], kind: Any, where: str) -> Any:
    known = {one.name: one for one in fields(kind)}
    unknown = sorted(str(key) for key in value if key not in known)
    if unknown:
        raise FreqLFError(f"{where} has an unknown key {unknown[0]!r}; was it made by a newer version?")
    needed = (name for name, one in known.items() if one.default is MISSING and one.default_factory is MISSING)
    missing = [name for name in needed if name not in value]
    if missing:
        raise FreqLFError(f"{where} has no {missing[0]}")
    hints = _hints(kind)
    values = {name: convert(one, hints[name], f"{where}.{name}") for name, one in value.items()}
    try:
        return kind(**values)
    except FreqLFError as error:
        raise FreqLFError(f"{where}: {error}") from error


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number that is too long for a float
        return False


def _show(value: Any) -> str:
    if isinstance(value, (dict, list, tuple)):
        return f"{_NAMES[type(value)]} of {len(value)}" if type(value) in _NAMES else type(value).__name__
    if not isinstance(value, (str, int, float, bool, NoneType)):
        return f"a {type(value).__name__}"
    try:
        text = str(value)
    except ValueError:  # a whole number of thousands of digits
        return "a very long number"
    return text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + "..."


def _refuse(value: Any, expected: str, where: str) -> Any:
    raise FreqLFError(f"{where} must be {expected}, not {_show(value)}")
