"""Which scenes of the HCI benchmark belong together, and which are trained on and scored."""

from collections.abc import Iterable
from dataclasses import dataclass

from freqlf.errors import FreqLFError

# The benchmark's own groups. It publishes no ground truth for `test`.
GROUPS: dict[str, tuple[str, ...]] = {
    "stratified": ("backgammon", "dots", "pyramids", "stripes"),
    "training": ("boxes", "cotton", "dino", "sideboard"),
    "additional": (
        *("antinous", "boardgames", "dishes", "greek", "kitchen", "medieval2", "museum", "pens"),
        *("pillows", "platonic", "rosemary", "table", "tomb", "tower", "town", "vinyl"),
    ),
    "test": ("bedroom", "bicycle", "herbs", "origami"),
}


@dataclass(frozen=True)
class Split:
    """Scenes to train on, to choose by, and to report; no scene is in two of them."""

    train: tuple[str, ...]
    validate: tuple[str, ...]
    evaluate: tuple[str, ...]


SPLITS: dict[str, Split] = {
    # The paper trains on the four training scenes and says nothing of a validation set.
    "paper": Split(train=GROUPS["training"], validate=(), evaluate=GROUPS["stratified"]),
    # Most other work trains on the additional scenes and compares on the training ones.
    "literature": Split(train=GROUPS["additional"], validate=GROUPS["training"], evaluate=GROUPS["stratified"]),
}


def get_split(name: str) -> Split:
    """The split called `name`."""
    if name not in SPLITS:
        raise FreqLFError(f"unknown split {name!r}: choose one of {', '.join(SPLITS)}")
    return SPLITS[name]


def expand_groups(names: Iterable[str]) -> list[str]:
    """Scene names with each group's name replaced by its scenes; every scene once, in order."""
    return list(dict.fromkeys(scene for name in names for scene in GROUPS.get(name, (name,))))
