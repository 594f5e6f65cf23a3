"""Files that come from a browser: names that stay in their folder, sizes within limits, archives unpacked."""

import stat
import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from freqlf.errors import FreqLFError
from freqlf.io.viewgrid import IMAGE_SUFFIXES

# What light fields are made of; parsed, never executed.
SUFFIXES = (*IMAGE_SUFFIXES, ".npy", ".npz", ".h5", ".hdf5", ".mat", ".cfg", ".pfm", ".json", ".txt", ".zip")


@dataclass(frozen=True)
class UploadLimits:
    """What one light field may be: bytes in all, after unpacking too, and files."""

    bytes: int = 4 * 10**9
    files: int = 5000


def place_file(folder: Path, name: str) -> Path:
    """Where a file of this name belongs in the folder; others, and what is no part of a light field, are refused."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or not path.parts or any(part in ("", ".", "..") or ":" in part for part in path.parts):
        raise FreqLFError(f"{name!r} is not a file name that can be stored; rename the file")
    if any("\0" in part or part.startswith(".") or len(part) > 200 for part in path.parts) or len(path.parts) > 8:
        raise FreqLFError(f"{name!r} is hidden, too long or too deep; rename the file")
    if path.suffix.lower() not in SUFFIXES:
        raise FreqLFError(f"{path.name!r} is no part of a light field; known are {', '.join(SUFFIXES)}")
    return folder.joinpath(*path.parts)


async def receive_file(chunks: AsyncIterator[bytes], path: Path, limit_bytes: int) -> None:
    """Write the chunks to the path; more than the limit is an error, and leaves nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    try:
        with path.open("xb") as file:
            async for chunk in chunks:
                written += len(chunk)
                if written > limit_bytes:
                    raise FreqLFError(
                        f"{path.name} is too large: {limit_bytes / 1e6:.0f} MB are left for this light field"
                    )
                file.write(chunk)
    except FileExistsError:
        raise FreqLFError(f"{path.name} is there already; give each file its own name") from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def unpack_archive(archive: Path, folder: Path, limits: UploadLimits) -> None:
    """Unpack a zip file and remove it. Sizes are counted while writing: what an archive says of itself may be wrong."""
    left = limits.bytes
    try:
        with zipfile.ZipFile(archive) as content:
            entries = [entry for entry in content.infolist() if not entry.is_dir() and _is_wanted(entry.filename)]
            if len(entries) > limits.files:
                raise FreqLFError(f"{archive.name} holds {len(entries)} files; {limits.files} are allowed")
            for entry in entries:
                if stat.S_ISLNK(entry.external_attr >> 16):
                    raise FreqLFError(f"{archive.name} holds the link {entry.filename}; pack the files themselves")
                path = place_file(folder, entry.filename)
                if path.suffix.lower() == ".zip":
                    raise FreqLFError(f"{archive.name} holds another archive, {entry.filename}; unpack that first")
                path.parent.mkdir(parents=True, exist_ok=True)
                with content.open(entry) as source, path.open("xb") as target:
                    while chunk := source.read(2**20):
                        left -= len(chunk)
                        if left < 0:
                            raise FreqLFError(
                                f"{archive.name} is larger than {limits.bytes / 1e6:.0f} MB when unpacked"
                            )
                        target.write(chunk)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise FreqLFError(f"cannot unpack {archive.name}: {error}; pack it again") from error
    except FileExistsError as error:
        raise FreqLFError(
            f"{archive.name} holds the file {Path(str(error.filename)).name} twice; pack it again"
        ) from error
    finally:
        archive.unlink()


def _is_wanted(name: str) -> bool:
    """Archives of some systems carry notes about files; they are no part of a light field."""
    parts = PurePosixPath(name).parts
    return "__MACOSX" not in parts and not parts[-1].startswith(".") and parts[-1] != "Thumbs.db"


def find_light_field(folder: Path) -> Path:
    """The light field among uploaded files: a lone file or folder in a folder stands for it."""
    while True:
        entries = list(folder.iterdir())
        if not entries:
            raise FreqLFError("no file arrived; drop a zip, a folder of views or a light field file")
        if len(entries) > 1:
            return folder
        if entries[0].is_file():
            return entries[0]
        folder = entries[0]
