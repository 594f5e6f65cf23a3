"""Write a light field, an array [u, v, y, x, c] of uint8, in each format that can be read."""

from pathlib import Path

import h5py
import numpy as np
import scipy.io

from freqlf.io.arrays import write_npy
from freqlf.io.image import write_image
from freqlf.io.parameters import Parameters, format_parameters


def write_hci(path: Path, array: np.ndarray, parameters: Parameters) -> Path:
    columns = array.shape[1]
    for u, v in np.ndindex(array.shape[:2]):
        write_image(path / f"input_Cam{columns * u + v:03d}.png", array[u, v])
    (path / "parameters.cfg").write_text(format_parameters(parameters))
    return path


def write_numbered(path: Path, array: np.ndarray, name: str = "view_{u}_{v}.png", first: int = 0) -> Path:
    """`name` may use u, v and the number n of a view, all counted from `first`."""
    columns = array.shape[1]
    for u, v in np.ndindex(array.shape[:2]):
        write_image(path / name.format(u=u + first, v=v + first, n=columns * u + v + first), array[u, v])
    return path


def write_stanford(path: Path, array: np.ndarray, end: str = "_") -> Path:
    """With y growing upwards and numbers that have nothing to do with the positions."""
    rows, columns = array.shape[:2]
    for u, v in np.ndindex(rows, columns):
        y, x = 100.25 - 23.5 * u, -340.5 + 23.4 * v + 0.3 * u
        write_image(path / f"out_{(u + 2) % rows:02d}_{columns - 1 - v:02d}_{y:.6f}_{x:.6f}{end}.png", array[u, v])
    return path


def write_lenslet(path: Path, array: np.ndarray) -> Path:
    rows, columns, height, width, channels = array.shape
    write_image(path, array.transpose(2, 0, 3, 1, 4).reshape(rows * height, columns * width, channels))
    return path


def write_tiled(path: Path, array: np.ndarray) -> Path:
    rows, columns, height, width, channels = array.shape
    write_image(path, array.transpose(0, 2, 1, 3, 4).reshape(rows * height, columns * width, channels))
    return path


def write_old_hdf5(path: Path, array: np.ndarray, disparity_px: np.ndarray) -> Path:
    """As the benchmark of 2013: columns of views from the right, depth instead of disparity."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows, columns, height, width, channels = array.shape
    with h5py.File(path, "w") as file:
        file["LF"] = array[:, ::-1]
        attributes = {"dH": 0.05, "dV": 0.05, "focalLength": 800.0, "shift": 5.0, "hRes": columns, "vRes": rows}
        file.attrs.update(attributes | {"xRes": width, "yRes": height, "channels": channels})
        file["GT_DEPTH"] = np.broadcast_to(0.05 * 800 / (disparity_px + 5.0), array.shape[:4]).astype(np.float32)
    return path


def write_scene_hdf5(path: Path, array: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file["LF"] = array
        file["disp_lowres"] = np.zeros(array.shape[2:4], np.float32)
    return path


def write_lftoolbox(path: Path, array: np.ndarray, weight: np.ndarray | None = None, version: str = "7.3") -> Path:
    """`weight` [t, s] of each view; uint16 as the toolbox writes by default."""
    weight = np.ones(array.shape[:2]) if weight is None else weight
    weights = np.broadcast_to(weight[:, :, None, None, None] * 65535, (*array.shape[:4], 1))
    weighted = np.concatenate([array.astype(np.uint16) * 257, weights.astype(np.uint16)], axis=4)
    if version == "5":
        scipy.io.savemat(path, {"LF": weighted, "DecodeOptions": {"Precision": "single"}}, do_compression=True)
        return path
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_dataset("LF", data=weighted.transpose(), chunks=True, compression="gzip", compression_opts=1)
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
    return path


def write_npz(path: Path, array: np.ndarray) -> Path:
    np.savez_compressed(path, light_field=array, disparity=np.zeros(array.shape[2:4]))
    return path


def write_array(path: Path, array: np.ndarray) -> Path:
    write_npy(path, array)
    return path


# The name of each reader to a function of (folder, array, scene) that writes what it reads, and returns the path.
WRITERS = {
    "hci": lambda root, array, scene: write_hci(root / "dino", array, scene.parameters),
    "numbered": lambda root, array, scene: write_numbered(root / "views", array),
    "stanford": lambda root, array, scene: write_stanford(root / "chess", array),
    "lenslet": lambda root, array, scene: write_lenslet(root / "a_eslf.png", array),
    "tiled": lambda root, array, scene: write_tiled(root / "tiles.png", array),
    "hdf5": lambda root, array, scene: write_scene_hdf5(root / "scene.h5", array),
    "lftoolbox": lambda root, array, scene: write_lftoolbox(root / "IMG__Decoded.mat", array),
    "npy": lambda root, array, scene: write_array(root / "lf.npy", array),
    "npz": lambda root, array, scene: write_npz(root / "lf.npz", array),
}
