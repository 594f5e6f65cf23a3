"""Many light fields: which of them, and where their results go."""

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from freqlf.errors import FreqLFError
from freqlf.io.detect import find_light_fields


def find_inputs(roots: Sequence[Path]) -> tuple[Path, ...]:
    """All light fields in folders, in the order of their names; files are taken as they are."""
    found = [path for root in roots for path in (find_light_fields(root) if root.is_dir() else [root])]
    if roots and not found:
        raise FreqLFError(f"no light field in {roots[0]}; give a folder that holds some, in any depth")
    return tuple(dict.fromkeys(found))


def choose_folders(
    inputs: Sequence[Path], out: Path, roots: Sequence[Path] | None = None, *, many: bool | None = None
) -> dict[Path, Path]:
    """Where the result of each input goes: to `out`, or, of many, to a folder of its name there.

    roots: the folders in which inputs were found; their names below them stay, so that equal names do not meet.
    """
    if not inputs:
        raise FreqLFError("no light field given; name at least one file or folder")
    many = len(inputs) > 1 if many is None else many
    names = [_name(path, roots or ()) for path in inputs]
    twins = sorted({str(name) for name in names if names.count(name) > 1})
    if twins:
        raise FreqLFError(f"two inputs are called {twins[0]!r}, so their results would share a folder")
    return {path: out / name if many else out for path, name in zip(inputs, names, strict=True)}


def _name(path: Path, roots: Sequence[Path]) -> Path:
    """The path below the root that it was found in, else its name; without the ending of a file."""
    for root in roots:
        if path != root and path.is_relative_to(root):
            below = path.relative_to(root)
            below = below.with_suffix("") if path.is_file() else below
            return below if len(roots) == 1 else Path(root.resolve().name) / below
    full = path.resolve()
    return Path(full.stem if path.is_file() else full.name)


def choose_shard(folders: dict[Path, Path], shard: str | None) -> dict[Path, Path]:
    """Every N-th of them from the I-th on, for a shard "I/N"; all of them for None."""
    if shard is None:
        return folders
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", shard.strip())
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise FreqLFError(f"--shard takes a part and the number of parts, such as 3/16, not {shard[:20]!r}")
    return dict(islice(folders.items(), int(match[1]) - 1, None, int(match[2])))
