"""NumPy arrays: `.npy`, read view by view, and `.npz`, read at once. Pickled objects are refused."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.files import replacing
from freqlf.io.viewgrid import InputOptions, ViewGrid, arrange_axes, check_bytes, grid_of_array

_USUAL_NAMES = ("LF", "lf", "light_field", "lightfield", "views", "arr_0")


def read_npy(path: Path, options: InputOptions) -> ViewGrid:
    """The views of an array [u, v, y, x] or [u, v, y, x, c], or with axes in the order that the options give."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise _unreadable(path, error) from error
    return _grid(path, array, options)


def read_npz(path: Path, options: InputOptions) -> ViewGrid:
    """The views of the array that the options name, that has a usual name, or that is the only one in the file."""
    try:
        with zipfile.ZipFile(path) as members:
            check_bytes(path, sum(member.file_size for member in members.infolist()))
        with np.load(path, allow_pickle=False) as archive:
            names = archive.files
            usual = [name for name in _USUAL_NAMES if name in names]
            name = options.dataset or (usual[0] if usual else names[0] if len(names) == 1 else "")
            if name not in names:
                raise FreqLFError(f"{path} holds {', '.join(names) or 'nothing'}; name the views: option dataset")
            array = archive[name]
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, NotImplementedError) as error:
        raise _unreadable(path, error) from error
    return _grid(path, array, options)


def write_npy(path: Path, array: NDArray[Any]) -> None:
    """Write a light field [u, v, y, x] or [u, v, y, x, c] so that views can be read singly, atomically."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, np.ascontiguousarray(array), allow_pickle=False)


def _grid(path: Path, array: NDArray[Any], options: InputOptions) -> ViewGrid:
    if array.dtype.kind not in "uf":
        raise FreqLFError(f"{path} has pixels of type {array.dtype}; give uint8, uint16 or floats in [0, 1]")
    return grid_of_array(path, arrange_axes(path, array, options.axes))


def _unreadable(path: Path, error: Exception) -> FreqLFError:
    if isinstance(error, FileNotFoundError):
        return FreqLFError(f"{path} does not exist")
    # NumPy takes whatever has no header of its own for a pickle; only Object arrays in its own files are worth a word.
    if "Object arrays" in str(error):
        return FreqLFError(f"{path} holds Python objects, which are not read; store a plain array of uint8 or floats")
    reason = "no NumPy header" if "pickle" in str(error) else " ".join(str(error).split())
    return FreqLFError(f"cannot read {path} as a NumPy file ({reason}); it is damaged or something else")
