"""Find out in which format a light field comes, and read its views."""

from collections.abc import Callable
from pathlib import Path

from freqlf.errors import FreqLFError
from freqlf.io import arrays, hci, hdf5, lftoolbox, numbered, pictures, stanford
from freqlf.io.image import read_pixels, read_size
from freqlf.io.viewgrid import IMAGE_SUFFIXES, InputOptions, ViewGrid

# Each reads a path into views in the order that its format documents.
READERS: dict[str, Callable[[Path, InputOptions], ViewGrid]] = {
    "hci": hci.read_hci,
    "numbered": numbered.read_numbered,
    "stanford": stanford.read_stanford,
    "lenslet": pictures.read_lenslet,
    "tiled": pictures.read_tiled,
    "hdf5": hdf5.read_hdf5,
    "lftoolbox": lftoolbox.read_lftoolbox,
    "npy": arrays.read_npy,
    "npz": arrays.read_npz,
}
_FOLDERS = ("hci", "numbered", "stanford")
_BY_SUFFIX = {".h5": "hdf5", ".hdf5": "hdf5", ".mat": "lftoolbox", ".npy": "npy", ".npz": "npz"}
_RAW_SUFFIXES = (".lfp", ".lfr", ".lfx", ".raw")


def read_views(path: Path, format: str | None, options: InputOptions) -> tuple[Path, str, ViewGrid]:
    """The path that holds the views, its format, and all views, as the format orders them.

    format: a key of `READERS`, or None to find it out.
    """
    if not path.exists():
        raise FreqLFError(f"{path} does not exist")
    if format is None:
        path, format = detect_format(path, options)
    if format not in READERS:
        raise FreqLFError(f"unknown format {format!r}: choose one of {', '.join(READERS)}")
    if path.is_dir() != (format in _FOLDERS):
        kind = "a folder" if format in _FOLDERS else "a file"
        raise FreqLFError(f"a light field of format {format} is {kind}, and {path} is not")
    try:
        return path, format, READERS[format](path, options)
    except OSError as error:
        raise FreqLFError(f"cannot read {path}: {error.strerror or error}") from error


def detect_format(path: Path, options: InputOptions | None = None) -> tuple[Path, str]:
    """The format of a file or folder, and the path to read: a folder may contain a single container file."""
    options = options or InputOptions()
    try:
        return _detect_folder(path) if path.is_dir() else (path, _detect_file(path, options))
    except OSError as error:
        raise FreqLFError(f"cannot read {path}: {error.strerror or error}") from error


def find_light_fields(root: Path, deepest: int = 16) -> list[Path]:
    """The light fields in a folder, in any depth, by name: folders of views, and container files.

    Pictures count as light fields of their own only if their names say so; a folder of views is not searched further.
    """
    entries = sorted(entry for entry in root.iterdir() if not entry.name.startswith("."))
    lenslets = [entry for entry in entries if entry.is_file() and _is_called_lenslets(entry)]
    containers = [entry for entry in entries if entry.suffix.lower() in _BY_SUFFIX and entry.is_file()]
    if not lenslets and _holds_views(root):
        return [root]
    below = [entry for entry in entries if entry.is_dir() and not entry.is_symlink()] if deepest > 0 else []
    found = [path for folder in below for path in find_light_fields(folder, deepest - 1)]
    return sorted([*lenslets, *containers, *found])


def _holds_views(folder: Path) -> bool:
    try:
        return detect_format(folder)[1] in _FOLDERS
    except FreqLFError:
        return False


def _is_called_lenslets(path: Path) -> bool:
    name = path.name.lower()
    return path.suffix.lower() in IMAGE_SUFFIXES and ("eslf" in name or "lenslet" in name)


def _detect_folder(folder: Path) -> tuple[Path, str]:
    if hci.is_scene(folder):
        return folder, "hci"
    images = numbered.image_files(folder)
    if any(stanford.NAME.fullmatch(image.stem) for image in images):
        return folder, "stanford"
    if len(images) > 1:
        return folder, "numbered"
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    containers = [entry for entry in entries if entry.suffix.lower() in _BY_SUFFIX]
    if len(containers) == 1 and not images:
        return containers[0], _BY_SUFFIX[containers[0].suffix.lower()]
    for entry in entries:
        if entry.suffix.lower() in _RAW_SUFFIXES:
            raise _raw(entry)
    if not entries:
        raise FreqLFError(f"{folder} is empty; give a folder of views or a light field file")
    folders = [entry.name for entry in entries if entry.is_dir()]
    if folders and not images:
        raise FreqLFError(
            f"{folder} holds no views but folders; give one of them, or --recursive for all: {', '.join(folders[:5])}"
        )
    raise FreqLFError(
        f"{folder} holds no light field: it needs images numbered by row and column, such as view_0_0.png"
    )


def _detect_file(path: Path, options: InputOptions) -> str:
    suffix = path.suffix.lower()
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if suffix in _RAW_SUFFIXES:
        raise _raw(path)
    if suffix not in IMAGE_SUFFIXES:
        raise FreqLFError(
            f"{path} is not a known kind of light field; give a folder of views, an image of lenslets or tiles, "
            f"or one of {', '.join(_BY_SUFFIX)}"
        )
    if options.grid is not None:
        return "tiled"
    if _is_called_lenslets(path):
        return "lenslet"
    pictures.admit_picture(path, *read_size(path), None)
    pixels = read_pixels(path)
    if pictures.looks_like_lenslets(pixels, options.pitch_px):
        return "lenslet"
    if pictures.find_tiles(pixels) is not None:
        return "tiled"
    raise FreqLFError(
        f"cannot tell whether {path} is a lenslet image or a tiled one; give --format lenslet (and --pitch-px) or "
        "--format tiled (and --grid ROWS COLUMNS)"
    )


def _raw(path: Path) -> FreqLFError:
    return FreqLFError(
        f"{path} is a raw Lytro file; decode it first, with the Light Field Toolbox for MATLAB "
        "(github.com/doda42/LFToolbox) or with plenopticam (pip install plenopticam), and give the decoded .mat file, "
        "lenslet image or views"
    )
