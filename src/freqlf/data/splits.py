"""Which scenes of the HCI benchmark belong together.

The paper trains on `training` and reports `stratified`. Most other work trains on `additional`, compares on `training`,
and reports `stratified`; so do the packaged weights.
"""

from collections.abc import Iterable

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

# What is trained on, and what is validated on while training. The paper chooses nothing by scenes that it reports.
SPLITS: dict[str, tuple[str, str]] = {"paper": ("training", "none"), "literature": ("additional", "training")}


def expand_groups(names: Iterable[str]) -> list[str]:
    """Scene names with each group's name replaced by its scenes; every scene once, in order."""
    return list(dict.fromkeys(scene for name in names for scene in GROUPS.get(name, (name,))))
