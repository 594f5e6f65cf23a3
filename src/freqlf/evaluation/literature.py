"""What others have published, as the FreqLF paper prints it. Every row says by which protocol it was scored.

The numbers themselves are in `literature.json`, beside this file.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from freqlf.errors import FreqLFError


@dataclass(frozen=True)
class PublishedMethod:
    """One row of a published table.

    Attributes:
        reference: who published the method.
        setting: supervised, unsupervised, optimization, ...
        representation: what the method works on.
        epi: whether that is EPIs.
        protocol: how it was scored: a key of `read_protocols`.
        scores: by metric (a name in `freqlf.evaluation.metrics.METRICS`), then by scene.
        printed: averages, rank and gap as they stand in the table, to check the transcription by.
    """

    name: str
    reference: str
    setting: str
    representation: str
    epi: bool
    protocol: str
    scores: dict[str, dict[str, float]]
    printed: dict[str, float]


TABLES = ("stratified", "additional")


def read_table(group: str) -> list[PublishedMethod]:
    """The published rows for a group of scenes, in the table's order."""
    if group not in TABLES:
        raise FreqLFError(f"nothing is published for the scenes {group!r}: choose one of {', '.join(TABLES)}")
    table = read_reference(group)
    return [_parse_method(row, table["scenes"]) for row in table["methods"]]


def read_protocols() -> dict[str, str]:
    """How published scores were computed, in words."""
    return dict(_read()["protocols"])


def read_reference(name: str) -> dict[str, Any]:
    """A table as stored: `regions`, `uncertainty` and `scaling` are the paper's own diagnostics."""
    return dict(_read()[name])


def _parse_method(row: dict[str, Any], scenes: list[str]) -> PublishedMethod:
    facts = dict(row)
    scores: dict[str, dict[str, float]] = {
        metric: dict(zip(scenes, facts.pop(metric), strict=True))
        for metric in ("mse_100", "badpix_003", "badpix_007")
        if metric in facts
    }
    return PublishedMethod(scores=scores, **facts)


@cache
def _read() -> dict[str, Any]:
    return dict(json.loads(files("freqlf.evaluation").joinpath("literature.json").read_text(encoding="utf-8")))
