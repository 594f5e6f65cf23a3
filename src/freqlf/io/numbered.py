"""A folder of views with numbers in their names: row and column, or one number that counts all views.

`view_3_4.png`, `lf_03_04.tif`, `r3_c4.png`: the last two numbers, the first of them the row. `view_012.png`: one
number, row by row. Numbers begin with 0 or 1; other beginnings are taken as they are. `view_0_0` to `view_0_8` is a
single row; in `scan_2019_0012`, where the first number is the same in all names but neither 0 nor 1, it counts nothing.
"""

import math
import re
from collections import defaultdict
from pathlib import Path

from freqlf.errors import FreqLFError
from freqlf.io.viewgrid import IMAGE_SUFFIXES, InputOptions, ViewGrid, grid_of_files

_TWO_NUMBERS = re.compile(r"(?P<prefix>.*?)(?P<first>\d+)\D{1,2}(?P<second>\d+)_?")
_ONE_NUMBER = re.compile(r"(?P<prefix>.*?)(?P<number>\d+)_?")

Numbers = tuple[int, ...]


def image_files(folder: Path) -> list[Path]:
    """The images in a folder, by name."""
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file())


def read_numbered(folder: Path, options: InputOptions) -> ViewGrid:
    """The views of a folder by the numbers in their names; images that are named otherwise are left out."""
    files = image_files(folder)
    numbered = _most_alike(files, _TWO_NUMBERS)
    if numbered is None or not _count_views(numbered, options):
        numbered = _most_alike(files, _ONE_NUMBER)  # as in scan_2019_0012, where only the last number counts
    if numbered is None:
        raise FreqLFError(
            f"the names of the images in {folder} have no numbers; number them by row and column: view_0_0.png"
        )
    two_numbers = len(next(iter(numbered))) == 2
    if two_numbers:
        rows, columns, views = _place_by_two(folder, numbered)
    else:
        rows, columns, views = _place_by_one(folder, numbered, options)
    grid = grid_of_files(folder, rows, columns, views)
    left_out = len(files) - len(views)
    return grid.noted(f"left out {left_out} images that are not named like the others") if left_out else grid


def _count_views(numbered: dict[Numbers, Path], options: InputOptions) -> bool:
    """Whether both of two numbers count views. One that is the same in all names does if it is the second, or 0 or 1.

    Who gives a grid of several rows and columns says that it does not.
    """
    rows, columns = ({numbers[axis] for numbers in numbered} for axis in (0, 1))
    if len(rows) > 1:
        return True
    return len(columns) > 1 and min(rows) <= 1 and (options.grid is None or 1 in options.grid)


def _most_alike(files: list[Path], pattern: re.Pattern[str]) -> dict[Numbers, Path] | None:
    """Numbers to files, for the largest set of files whose names begin alike; None if no name has numbers."""
    families: dict[str, dict[Numbers, Path]] = defaultdict(dict)
    for path in files:
        match = pattern.fullmatch(path.stem)
        if match is None:
            continue
        prefix, *numbers = match.groups()
        family, key = families[prefix], tuple(map(int, numbers))
        if key in family:
            raise FreqLFError(f"{family[key]} and {path} are the same view; remove one of them")
        family[key] = path
    return max(families.values(), key=len, default=None)


def _place_by_two(folder: Path, numbered: dict[Numbers, Path]) -> tuple[int, int, dict[tuple[int, int], Path]]:
    lengths, firsts = [], []
    for axis, kind in enumerate(("row", "column")):
        present = sorted({numbers[axis] for numbers in numbered})
        lengths.append(present[-1] - present[0] + 1)
        firsts.append(present[0])
        if len(present) != lengths[axis]:
            missing = next(n for n in range(present[0], present[-1]) if n not in present)
            raise FreqLFError(f"{folder} has no view of {kind} {missing}; views must be numbered without gaps")
    return *lengths, {(n[0] - firsts[0], n[1] - firsts[1]): path for n, path in numbered.items()}  # type: ignore[return-value]


def _place_by_one(
    folder: Path, numbered: dict[Numbers, Path], options: InputOptions
) -> tuple[int, int, dict[tuple[int, int], Path]]:
    numbers = [number for (number,) in numbered]
    first, count = min(numbers), max(numbers) - min(numbers) + 1
    if options.grid is not None:
        # What counts down columns is read as rows here, and swapped with everything else that is column-major.
        rows, columns = options.grid[::-1] if options.column_major else options.grid
        if count > rows * columns:
            raise FreqLFError(
                f"{folder} has views numbered {first} to {max(numbers)}, more than the grid of {rows} x {columns}"
            )
        first = min(first, 1) if first + rows * columns > max(numbers) else first
    else:
        rows = columns = math.isqrt(count)
        if rows * columns != count or count != len(numbered):
            raise FreqLFError(
                f"{folder} has {len(numbered)} views numbered {first} to {max(numbers)}, which is no square; "
                "say with --grid ROWS COLUMNS how they are arranged"
            )
    return rows, columns, {divmod(number - first, columns): path for (number,), path in numbered.items()}
