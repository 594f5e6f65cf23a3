"""`*__Decoded.mat` of the Light Field Toolbox for MATLAB: LF(t, s, v, u, c) with a weight as the fourth channel.

t and s are the row and column of a view, v and u those of a pixel. Files of version 7.3 are HDF5, where the axes come
reversed; older ones are read by scipy.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.io
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.hdf5 import decoding_hdf5, find_dataset
from freqlf.io.intake import decoding, require_file, require_inflation
from freqlf.io.viewgrid import InputOptions, LateArray, ViewGrid, arrange_axes, grid_of_array

_TYPES = {"uint8": "u1", "uint16": "u2", "single": "f4", "double": "f8"}


def read_lftoolbox(path: Path, options: InputOptions) -> ViewGrid:
    """The views of a decoded file, those with little weight among them.

    All are read at once: MATLAB's chunks hold pieces of many views, so reading one costs as much as reading all.
    """
    late = _open_hdf5(path, options) if h5py.is_hdf5(require_file(path)) else _open_older(path, options)
    arranged = arrange_axes(path, late, options.axes)
    grid = grid_of_array(path, arranged)
    if len(arranged.shape) != 5 or arranged.shape[4] != 4:
        return grid
    # The toolbox brightens dark views; only the weight still tells them apart.
    return replace(grid, brightness=lambda u, v: float(np.mean(arranged.load()[u, v, ..., 3], dtype=np.float64)))


def _open_hdf5(path: Path, options: InputOptions) -> LateArray:
    with decoding_hdf5(path), h5py.File(path, "r") as file:
        name = find_dataset(path, file, options.dataset)
        shape, dtype = file[name].shape[::-1], file[name].dtype
        require_inflation(path, file[name].nbytes, file[name].id.get_storage_size())

    def load() -> NDArray[Any]:
        with decoding_hdf5(path), h5py.File(path, "r") as file:
            return np.asarray(file[name]).transpose()

    return LateArray(shape, dtype, load)


def _open_older(path: Path, options: InputOptions) -> LateArray:
    advice = "save it again with -v7.3"
    with decoding(path, "a MATLAB file", advice):
        contents = {name: (shape, kind) for name, shape, kind in scipy.io.whosmat(path)}
    arrays = [name for name, (shape, _) in contents.items() if len(shape) in (4, 5)]
    name = options.dataset or ("LF" if "LF" in contents else arrays[0] if len(arrays) == 1 else "LF")
    if name not in contents:
        raise FreqLFError(
            f"{path} has no variable {name} but {', '.join(contents) or 'nothing'}; name one with --dataset"
        )
    shape, kind = contents[name]
    if kind not in _TYPES:
        raise FreqLFError(f"{path}: {name} is of type {kind}; give uint8, uint16 or floats in [0, 1]")
    if min(shape, default=0) < 1:
        raise FreqLFError(f"{path} has the shape {shape}; it is damaged or no light field")

    def load() -> NDArray[Any]:
        with decoding(path, "a MATLAB file", advice):
            return np.asarray(scipy.io.loadmat(path, variable_names=[name])[name])

    late = LateArray(tuple(map(int, shape)), np.dtype(_TYPES[kind]), load)
    require_inflation(path, late.nbytes, path.stat().st_size)
    return late
