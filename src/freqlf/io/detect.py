"""Open a light field in whatever format it comes, put its views in order, and say what was done."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from freqlf.data.parameters import Parameters
from freqlf.errors import FreqLFError
from freqlf.io import arrays, hci, hdf5, lenslet, lftoolbox, numbered, stanford, tiled
from freqlf.io.image import read_pixels
from freqlf.io.viewgrid import IMAGE_SUFFIXES, InputOptions, ViewGrid
from freqlf.lightfield import LightField

# Each reads a path into views in the order that its format documents.
READERS: dict[str, Callable[[Path, InputOptions], ViewGrid]] = {
    "hci": hci.read_hci,
    "numbered": numbered.read_numbered,
    "stanford": stanford.read_stanford,
    "lenslet": lenslet.read_lenslet,
    "tiled": tiled.read_tiled,
    "hdf5": hdf5.read_hdf5,
    "lftoolbox": lftoolbox.read_lftoolbox,
    "npy": arrays.read_npy,
    "npz": arrays.read_npz,
}
_FOLDERS = ("hci", "numbered", "stanford")
_BY_SUFFIX = {".h5": "hdf5", ".hdf5": "hdf5", ".mat": "lftoolbox", ".npy": "npy", ".npz": "npz"}
_RAW_SUFFIXES = (".lfp", ".lfr", ".lfx", ".raw")


@dataclass(frozen=True)
class OpenedLightField:
    """A light field with its views in order.

    Attributes:
        light_field: reads views when they are asked for.
        format: the name of the reader, a key of `READERS`.
        notes: how the file was read, and what about its order is known or assumed.
        warnings: why the result will be poor.
        parameters: the camera of the views that were taken, where the file knows it.
    """

    light_field: LightField
    format: str
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    parameters: Parameters | None = None


def open_light_field(path: Path, format: str | None = None, options: InputOptions | None = None) -> OpenedLightField:
    """Open a file or folder; `format` is a key of `READERS`, or None to find it out."""
    path, options = Path(path), options or InputOptions()
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
        grid = READERS[format](path, options).central(options, path)
    except OSError as error:
        raise FreqLFError(f"cannot read {path}: {error.strerror or error}") from error
    return _put_in_order(
        OpenedLightField(grid.light_field(path), format, grid.notes, (), grid.parameters), grid, options
    )


def _put_in_order(opened: OpenedLightField, grid: ViewGrid, options: InputOptions) -> OpenedLightField:
    if options.order_is_given:
        reordered = opened.light_field.reordered(
            reverse_rows=options.reverse_rows, reverse_columns=options.reverse_columns, swap=options.column_major
        )
        parameters = opened.parameters
        if parameters is not None and options.column_major:
            parameters = replace(parameters, num_cams_x=reordered.columns, num_cams_y=reordered.rows)
        opened = replace(opened, light_field=reordered, parameters=parameters)
    if not options.check_order:
        return opened

    from freqlf.io.consistency import Ordering, check_consistency  # it needs torch, which takes seconds to import

    may_change = not (grid.order_is_certain or options.order_is_given)
    found = check_consistency(opened.light_field, settle_sign=may_change)
    if found.warning is not None:
        return replace(opened, warnings=(*opened.warnings, found.warning))
    if not may_change:
        if found.ordering == Ordering():
            return opened
        warning = f"the parallax contradicts the order of views: it fits with {found.ordering}"
        return replace(opened, warnings=(*opened.warnings, warning))
    notes = [f"order by parallax: {found.ordering}"]
    if not found.sign_is_sure:
        notes.append(
            "no occlusion edges tell the sign of disparity; if near and far are exchanged, reverse rows and columns"
        )
    light_field = opened.light_field
    if found.ordering != Ordering():
        light_field = light_field.reordered(**asdict(found.ordering))
    return replace(opened, light_field=light_field, notes=(*opened.notes, *notes))


def detect_format(path: Path, options: InputOptions | None = None) -> tuple[Path, str]:
    """The format of a file or folder, and the path to read: a folder may contain a single container file."""
    options = options or InputOptions()
    try:
        return _detect_folder(path) if path.is_dir() else (path, _detect_file(path, options))
    except OSError as error:
        raise FreqLFError(f"cannot read {path}: {error.strerror or error}") from error


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
        raise FreqLFError(f"{folder} holds no views but folders; give one of them: {', '.join(folders[:5])}")
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
    if "eslf" in path.name.lower() or "lenslet" in path.name.lower():
        return "lenslet"
    pixels = read_pixels(path)
    if lenslet.looks_like_lenslets(pixels, options.pitch_px):
        return "lenslet"
    if tiled.find_tiles(pixels) is not None:
        return "tiled"
    raise FreqLFError(
        f"cannot tell whether {path} is a lenslet image or a tiled one; give the format lenslet (with its pitch in "
        "pixels) or tiled (with its grid of rows and columns)"
    )


def _raw(path: Path) -> FreqLFError:
    return FreqLFError(
        f"{path} is a raw Lytro file; decode it first, with the Light Field Toolbox for MATLAB "
        "(github.com/doda42/LFToolbox) or with plenopticam (pip install plenopticam), and give the decoded .mat file, "
        "lenslet image or views"
    )
