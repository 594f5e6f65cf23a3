"""NumPy arrays: `.npy`, read view by view, and `.npz`, read at once. Pickled objects are refused."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.files import replacing
from freqlf.io.intake import decoding, open_file, require_file, require_inflation
from freqlf.io.viewgrid import InputOptions, LateArray, Pixels, ViewGrid, arrange_axes, grid_of_array

_USUAL_NAMES = ("LF", "lf", "light_field", "lightfield", "views", "arr_0")
_KIND = "a NumPy file"


def read_npy(path: Path, options: InputOptions) -> ViewGrid:
    """The views of an array [u, v, y, x] or [u, v, y, x, c], or with axes in the order that the options give."""
    with _decoding_numpy(path):
        array = np.load(require_file(path), mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.ndarray):
            raise FreqLFError(f"{path} is not a .npy file; if it is an archive of arrays, call it .npz")
    return grid_of_pixels(path, array, options)


def read_npz(path: Path, options: InputOptions) -> ViewGrid:
    """The views of the array that the options name, that has a usual name, or that is the only one in the file."""
    with _decoding_numpy(path), _open_archive(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        usual = [name for name in _USUAL_NAMES if name in names]
        name = options.dataset or (usual[0] if usual else names[0] if len(names) == 1 else "")
        if name not in names:
            raise FreqLFError(
                f"{path} holds {', '.join(names) or 'nothing'}; name the one with the views with --dataset"
            )
        with archive.open(f"{name}.npy") as member:
            shape, _, dtype = _read_header(member)
        stored = archive.getinfo(f"{name}.npy")
        require_inflation(path, stored.file_size, stored.compress_size)

    def load() -> NDArray[Any]:
        with _decoding_numpy(path), _open_archive(path) as archive, archive.open(f"{name}.npy") as member:
            return np.lib.format.read_array(member, allow_pickle=False)

    return grid_of_pixels(path, LateArray(shape, dtype, load), options)


def write_npy(path: Path, array: NDArray[Any]) -> None:
    """Write an array atomically; of a light field [u, v, y, x] or [u, v, y, x, c], views can be read singly."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, np.ascontiguousarray(array), allow_pickle=False)


def grid_of_pixels(path: Path, array: Pixels, options: InputOptions) -> ViewGrid:
    """The views of pixels with their axes in the order that the options give."""
    if array.dtype.hasobject:
        raise _holds_objects(path)
    if array.dtype.kind not in "uf":
        raise FreqLFError(f"{path} has pixels of type {array.dtype}; give uint8, uint16 or floats in [0, 1]")
    return grid_of_array(path, arrange_axes(path, array, options.axes))


@contextmanager
def _open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    with open_file(path) as file, zipfile.ZipFile(file) as archive:
        yield archive


def _read_header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type of an array, of which nothing else is read."""
    version = np.lib.format.read_magic(member)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in read:
        raise ValueError(f"its header has version {version}")
    return read[version](member)


def _holds_objects(path: Path) -> FreqLFError:
    return FreqLFError(f"{path} holds Python objects, which are not read; store a plain array of uint8 or floats")


@contextmanager
def _decoding_numpy(path: Path) -> Iterator[None]:
    with decoding(path, _KIND):
        try:
            yield
        except ValueError as error:
            if "Object arrays" in str(error) or "Python objects in dtype" in str(error):
                raise _holds_objects(path) from error
            # NumPy takes what has no header of its own for a pickle.
            raise ValueError("no NumPy header" if "pickle" in str(error) else str(error)) from error
