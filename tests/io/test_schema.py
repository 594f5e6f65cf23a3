import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import pytest

from freqlf.errors import FreqLFError
from freqlf.io.schema import Range, Share, check_fields, convert


@dataclass(frozen=True)
class Inner:
    size: Annotated[int, Range(1, 10)]
    name: str = "x"


@dataclass(frozen=True)
class Outer:
    inner: tuple[Inner, ...]
    kind: Literal["a", "b"]
    share: Share = 0.5

    def __post_init__(self) -> None:
        check_fields(self)


class Record(TypedDict):
    numbers: dict[str, float | None]


def test_dictionaries_become_dataclasses_and_lists_tuples() -> None:
    found = convert({"inner": [{"size": 3}], "kind": "a"}, Outer, "file")
    assert found == Outer((Inner(3),), "a")
    assert convert({"numbers": {"a": 1}, "more": 3}, Record, "file") == {"numbers": {"a": 1.0}, "more": 3}
    assert convert([1, 2], tuple[int, int] | None, "file") == (1, 2)


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ({"inner": [{"size": 11}], "kind": "a"}, Outer, r"file.inner\[0\].size must be between 1 and 10, not 11"),
        ({"inner": [{"size": True}], "kind": "a"}, Outer, "size must be a whole number, not True"),
        ({"inner": [], "kind": "c"}, Outer, "file.kind must be one of a, b, not c"),
        ({"inner": [], "kind": []}, Outer, "file.kind must be one of a, b, not a list of 0"),
        ({"inner": [], "kind": "a", "colour": 1}, Outer, "unknown key 'colour'"),
        ({"kind": "a"}, Outer, "file has no inner"),
        ([], Outer, "file must be Outer, not a list of 0"),
        ({"numbers": {"a": "b"}}, Record, "file.numbers.a must be a number, not b"),
        ({}, Record, "file has no numbers"),
        (3, Record, "file must be an object, not 3"),
        (math.nan, float, "a finite number, not nan"),
        (10**400, float, "a finite number"),
        ([1], tuple[int, int], "a list of 2"),
        ("x" * 1000, int, r"not x+\.\.\.$"),
    ],
)
def test_what_does_not_fit_is_named(value: Any, kind: Any, message: str) -> None:
    with pytest.raises(FreqLFError, match=message):
        convert(value, kind, "file")


def test_fields_are_checked_when_a_dataclass_is_made() -> None:
    with pytest.raises(FreqLFError, match="share must be between 0 and 1, not 2"):
        Outer((), "a", 2)
