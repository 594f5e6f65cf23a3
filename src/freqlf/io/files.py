"""Writing files so that a reader never sees half of one, and two writers never mix.

What is not complete has a name of its own that nobody can foresee, `.freqlf-*.part`, and is locked by the process that
writes it. The system drops the lock when the process ends, however it ends; the next one removes what is left.
"""

import errno
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from freqlf.errors import FreqLFError

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be renamed either: nothing is locked there
    fcntl = None  # type: ignore[assignment]

_PART = ".freqlf-*.part"
# Network folders may know no locks; then there is no protection, but there is work.
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EBADF, errno.EINVAL, errno.ENOSYS)

_swept: set[Path] = set()  # folders in which this process has removed what dead ones left
_locked: set[tuple[int, int]] = set()  # folders that this process has locked: (device, inode)


@contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """Yield a temporary file beside `path`; on success it becomes `path`, on failure it is removed.

    durable: wait until the disk has it, so that not even a power failure leaves an empty file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _making_part(path.parent, _make_file) as (temporary, descriptor):
            yield temporary
            if durable and descriptor is not None:
                os.fsync(descriptor)
            os.replace(temporary, path)
    except OSError as error:
        raise _cannot_write(path, error) from error


@contextmanager
def replacing_directory(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary directory; on success its content is that of `path`, on failure it is removed.

    A `path` that already holds something is an error. With `overwrite`, files and folders of the same names are
    replaced in it, and whatever else is there stays: nobody loses a whole folder by naming it here.
    """
    with locking_folder(path, overwrite=overwrite):
        try:
            target = path.resolve()
            # Beside a new folder, so that it appears at once; inside one that may lie on another disk than its parent.
            is_beside = not any(target.iterdir()) and _can_replace(target)
            with _making_part(target.parent if is_beside else target, _make_folder) as (temporary, _):
                yield temporary
                if is_beside:
                    temporary.rename(target)  # which is empty, or the system refuses
                else:
                    _move_entries(temporary, target)
        except OSError as error:
            raise _cannot_write(path, error) from error


@contextmanager
def locking_folder(path: Path, *, overwrite: bool = True) -> Iterator[None]:
    """Keep a folder to this process for as long as it works on it: to be entered before long work begins.

    The folder is made if it is not there, and removed again if it is empty in the end. A folder that cannot be written
    to, or that another process is writing to, is an error; without `overwrite`, so is one that holds something.
    """
    made = _make_folders(path)
    descriptor: int | None = None
    is_outermost, identity = False, (-1, -1)
    try:
        descriptor = _open_folder(path)
        status = path.stat()
        identity = (status.st_dev, status.st_ino)
        is_outermost = identity not in _locked
        if is_outermost and descriptor is not None and not _lock(descriptor):
            raise FreqLFError(f"{path} is being written to by another freqlf; wait for it, or choose another place")
        _sweep(path)
        if not overwrite and any(path.iterdir()):
            raise FreqLFError(
                f"{path} already exists and is not empty; choose another place, or add --overwrite if "
                "the command has it"
            )
        (probe := _name_part(path)).mkdir()
        probe.rmdir()
    except OSError as error:
        raise _cannot_write(path, error) from error
    else:
        if is_outermost:
            _locked.add(identity)
        yield
    finally:
        if is_outermost:
            _locked.discard(identity)
        if descriptor is not None:
            os.close(descriptor)
        for folder in reversed(made):
            with suppress(OSError):  # it holds something now
                folder.rmdir()


def require_folder(path: Path, *, overwrite: bool = False) -> None:
    """Refuse a folder that cannot be written to, is another process's, or holds something; nothing stays behind."""
    with locking_folder(path, overwrite=overwrite):
        pass


def _make_folders(path: Path) -> list[Path]:
    """Make a folder and those above it; returns those that were made."""
    made: list[Path] = []
    try:
        if path.exists() and not path.is_dir():
            raise FreqLFError(f"{path} is a file; choose another place for the folder of results")
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            made.append(folder)
    except OSError as error:
        for folder in reversed(made):
            folder.rmdir()
        raise _cannot_write(path, error) from error
    return made


def _move_entries(source: Path, target: Path) -> None:
    for entry in sorted(source.iterdir()):
        destination = target / entry.name
        if destination.is_dir() and not destination.is_symlink():
            shutil.rmtree(destination)  # or an old scene's files would mix with the new one's
        os.replace(entry, destination)


def _can_replace(folder: Path) -> bool:
    """Whether a folder beside this one can be renamed to it."""
    parent = folder.parent
    return folder.stat().st_dev == parent.stat().st_dev and not folder.is_mount() and os.access(parent, os.W_OK)


@contextmanager
def _making_part(folder: Path, make: Callable[[Path], int | None]) -> Iterator[tuple[Path, int | None]]:
    """A new file or folder with a name of its own, locked, with its descriptor; removed if it is still there."""
    _sweep(folder)
    while True:
        part = _name_part(folder)
        descriptor = make(part)
        if descriptor is None or (_lock(descriptor) and part.exists()):
            break
        os.close(descriptor)  # another process has swept it before it was locked
    try:
        yield part, descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)
        _remove(part)


def _name_part(folder: Path) -> Path:
    return folder / _PART.replace("*", secrets.token_hex(8))


def _make_file(part: Path) -> int | None:
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    if fcntl is None:
        os.close(descriptor)
        return None
    return descriptor


def _make_folder(part: Path) -> int | None:
    part.mkdir()
    return _open_folder(part)


def _open_folder(path: Path) -> int | None:
    return None if fcntl is None else os.open(path, os.O_RDONLY | os.O_DIRECTORY)


def _remove(part: Path) -> None:
    with suppress(OSError):  # it is gone after success
        shutil.rmtree(part) if part.is_dir() else part.unlink()


def _lock(descriptor: int) -> bool:
    """Whether the file or folder is this process's now; another one's lock is the only reason that it is not."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


def _sweep(folder: Path) -> None:
    """Remove what processes have left that do not live any more; once for each folder."""
    if folder in _swept or fcntl is None:
        return
    _swept.add(folder)
    for part in folder.glob(_PART):
        with suppress(OSError):
            descriptor = os.open(part, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(part)
            finally:
                os.close(descriptor)


def _cannot_write(path: Path, error: OSError) -> FreqLFError:
    return FreqLFError(f"cannot write {path}: {error.strerror or error}")


def write_bytes(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write `content` to `path` atomically."""
    with replacing(path, durable=durable) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, content: str) -> None:
    """Write `content` to `path` atomically, as UTF-8; bytes of names that are none are escaped."""
    write_bytes(path, content.encode(errors="backslashreplace"))


def write_json(path: Path, content: Any) -> None:
    """Write `content` as indented JSON, atomically. NaN and infinity become null: JSON has neither."""
    write_text(path, json.dumps(_finite(content), indent=2, allow_nan=False) + "\n")


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(value) for value in content]
    if isinstance(content, float) and (content != content or content in (float("inf"), float("-inf"))):
        return None
    return content
