"""HDF5 files of the HCI: `lf.h5` of the old benchmark (2013) and `scene.h5` as the tools of the new one write it.

Both hold a dataset LF [u, v, y, x, c]. The old files count columns of views from the right, and describe the camera
in attributes: disparity = dH * focalLength / depth - shift, in pixels, with depth and dH in one unit.
"""

import math
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from freqlf.errors import FreqLFError
from freqlf.io.intake import decoding, require_file, require_inflation
from freqlf.io.parameters import Parameters
from freqlf.io.viewgrid import ContainedViews, InputOptions, Promise, ViewGrid, admit, check_shape

_OLD_ATTRIBUTES = ("dH", "focalLength", "shift")


def read_hdf5(path: Path, options: InputOptions) -> ViewGrid:
    """The views of an HDF5 file, read one by one when they are needed."""
    with decoding_hdf5(path), h5py.File(require_file(path), "r") as file:
        name = find_dataset(path, file, options.dataset)
        dataset = file[name]
        axes = options.axes or "uvyxc"[: dataset.ndim]
        if dataset.ndim != len(axes):
            raise FreqLFError(f"{path}: {name} has the shape {dataset.shape}, which does not fit axes {axes}")
        shape = tuple(dataset.shape[axes.index(axis)] for axis in "uvyxc"[: len(axes)])
        check_shape(path, shape)
        require_inflation(path, dataset.nbytes, dataset.id.get_storage_size())
        # Compressed pixels are decoded chunk by chunk.
        chunk_bytes = math.prod(dataset.chunks or (0,)) * dataset.dtype.itemsize
        rows, columns, height, width = shape[:4]
        promise = Promise(rows, columns, height, width, chunk_bytes)
        admit(path, promise)
        views = ContainedViews(path, (height, width), partial(_read_view, path, name, axes))
        grid = ViewGrid(rows, columns, views)
        if "dH" in file.attrs or "hRes" in file.attrs:
            grid = grid.picked(range(grid.rows), range(grid.columns - 1, -1, -1))
            grid = replace(grid, parameters=_old_parameters(path, file, promise))
            return grid.noted("counted columns of views from the right, as the old HCI files do")
        if "disp_lowres" in file or path.name == "scene.h5":
            return replace(grid, order_is_certain=options.axes is None)
        return grid


def decoding_hdf5(path: Path) -> AbstractContextManager[None]:
    """Turn what the HDF5 library says about a file that it cannot read into one line."""
    return decoding(path, "HDF5", "it is damaged, unfinished or something else")


def find_dataset(path: Path, file: h5py.File, wanted: str | None) -> str:
    """The name of the dataset with the views: the wanted one, else LF, else the only one with 4 or 5 axes."""
    name = wanted or ("LF" if "LF" in file else None)
    if name is None:
        arrays = [key for key, item in file.items() if isinstance(item, h5py.Dataset) and item.ndim in (4, 5)]
        if len(arrays) != 1:
            there = ", ".join(file) or "nothing"
            raise FreqLFError(f"{path} has no dataset LF but {there}; name the one with the views with --dataset")
        name = arrays[0]
    dataset = file.get(name)
    if not isinstance(dataset, h5py.Dataset):
        raise FreqLFError(f"{path} has no dataset {name}; it has {', '.join(file) or 'nothing'}")
    if dataset.is_virtual or dataset.external or dataset.file.filename != file.filename:
        raise FreqLFError(f"{path} keeps {name} in other files; copy them into one file first")
    if dataset.dtype.kind not in "uf":
        raise FreqLFError(
            f"{path} has pixels of type {dataset.dtype} in {name}; give uint8, uint16 or floats in [0, 1]"
        )
    return name


def _read_view(path: Path, name: str, axes: str, u: int, v: int) -> NDArray[Any]:
    """The pixels of one view. The file is open only while it is read, so nothing needs to be closed."""
    index = tuple({"u": u, "v": v}.get(axis, slice(None)) for axis in axes)
    with decoding_hdf5(path), h5py.File(require_file(path), "r") as file:
        pixels: NDArray[Any] = file[name][index]
    left = [axis for axis in axes if axis not in "uv"]
    return pixels.transpose([left.index(axis) for axis in "yxc"[: pixels.ndim]])


def _old_parameters(path: Path, file: h5py.File, views: Promise) -> Parameters | None:
    """The camera. One unit of the file's lengths becomes a metre, one pixel of its sensor a millimetre."""
    try:
        baseline, focal_px, shift_px = (float(np.ravel(file.attrs[name])[0]) for name in _OLD_ATTRIBUTES)
    except (KeyError, ValueError, TypeError, IndexError):
        return None
    if not (baseline > 0 and focal_px > 0 and shift_px > 0):  # focused at infinity or beyond: no such camera here
        return None
    low_px, high_px = _old_disparities(file, views, baseline * focal_px, shift_px)
    with suppress(FreqLFError):  # numbers that no camera has
        return Parameters(
            focal_mm=focal_px,
            sensor_mm=max(views.width, views.height),
            baseline_mm=1000 * baseline,
            focus_distance_m=baseline * focal_px / shift_px,
            width_px=views.width,
            height_px=views.height,
            num_cams_x=views.columns,
            num_cams_y=views.rows,
            disp_min_px=low_px,
            disp_max_px=high_px,
            scene=path.stem,
        )
    return None


def _old_disparities(file: h5py.File, views: Promise, product: float, shift_px: float) -> tuple[float, float]:
    """The range of the ground truth, where there is one; else from infinity to a guess as far on the other side."""
    depth, shape = file.get("GT_DEPTH"), (views.rows, views.columns, views.height, views.width)
    is_inside = isinstance(depth, h5py.Dataset) and depth.file.filename == file.filename
    if is_inside and depth.shape == shape:
        with np.errstate(invalid="ignore"):  # of damaged numbers
            values = np.asarray(depth[views.rows // 2, views.columns // 2], np.float64)
        values = values[np.isfinite(values) & (values > 0)]
        if values.size:
            return product / values.max() - shift_px, product / values.min() - shift_px
    return -shift_px, shift_px
