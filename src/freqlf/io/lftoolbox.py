"""`*__Decoded.mat` of the Light Field Toolbox for MATLAB: LF(t, s, v, u, c) with a weight as the fourth channel.

t and s are the row and column of a view, v and u those of a pixel. Files of version 7.3 are HDF5, where the axes come
reversed; older ones are read by scipy.
"""

import math
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.io
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.hdf5 import damaged, find_dataset
from freqlf.io.viewgrid import (
    InputOptions,
    ViewGrid,
    arrange_axes,
    bright_centre,
    check_bytes,
    check_shape,
    grid_of_array,
)


def read_lftoolbox(path: Path, options: InputOptions) -> ViewGrid:
    """The views of a decoded file: those that the options ask for, else all but those with little weight."""
    array = _load_hdf5(path, options) if h5py.is_hdf5(path) else _load_older(path, options)
    array = arrange_axes(path, array, options.axes)
    grid = grid_of_array(path, array)
    if options.views is not None or options.stride != 1:
        return grid
    # The toolbox brightens dark views; only the weight still tells them apart.
    weight = array[..., 3] if array.ndim == 5 and array.shape[4] == 4 else array
    return bright_centre(grid, lambda u, v: float(np.mean(weight[u, v], dtype=np.float64)))


def _load_hdf5(path: Path, options: InputOptions) -> NDArray[Any]:
    """All views at once: MATLAB's chunks hold pieces of many views, so reading one costs as much as reading all."""
    try:
        with h5py.File(path, "r") as file:
            dataset = file[find_dataset(path, file, options.dataset)]
            if options.axes is None:
                check_shape(path, dataset.shape[::-1])
            check_bytes(path, math.prod(dataset.shape) * dataset.dtype.itemsize)
            return np.asarray(dataset).transpose()
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise damaged(path, error) from error


def _load_older(path: Path, options: InputOptions) -> NDArray[Any]:
    try:
        contents = {name: (shape, kind) for name, shape, kind in scipy.io.whosmat(path)}
        arrays = [name for name, (shape, _) in contents.items() if len(shape) in (4, 5)]
        name = options.dataset or ("LF" if "LF" in contents else arrays[0] if len(arrays) == 1 else "LF")
        if name not in contents:
            raise FreqLFError(f"{path} has no variable {name} but {', '.join(contents) or 'nothing'}; option dataset")
        shape, kind = contents[name]
        check_bytes(path, math.prod(map(int, shape)))
        if kind not in ("uint8", "uint16", "single", "double"):
            raise FreqLFError(f"{path}: {name} is of type {kind}; give uint8, uint16 or floats in [0, 1]")
        return np.asarray(scipy.io.loadmat(path, variable_names=[name])[name])
    except FileNotFoundError as error:
        raise FreqLFError(f"{path} does not exist") from error
    except FreqLFError:
        raise
    except Exception as error:  # scipy's parser fails on damaged files in whatever way their bytes lead it to
        reason = " ".join(str(error).split())
        raise FreqLFError(f"cannot read {path} as a MATLAB file ({reason}); save it again with -v7.3") from error
