"""Writing files so that a reader never sees half of one."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from freqlf.errors import FreqLFError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it becomes `path`, on failure it is removed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise FreqLFError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # it is gone after success, and was never there if its folder cannot be
            temporary.unlink()


@contextmanager
def replacing_directory(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary directory beside `path`; on success it becomes `path`, on failure it is removed.

    A `path` that already holds something is an error. With `overwrite`, files and folders of the same names are
    replaced in it, and whatever else is there stays: nobody loses a whole folder by naming it here.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.is_file() or (path.is_dir() and not overwrite and any(path.iterdir())):
            raise FreqLFError(
                f"{path} already exists; choose another place, remove it, or add --overwrite if the command has it"
            )
        temporary.mkdir(parents=True)
        yield temporary
        if path.is_dir():
            _move_entries(temporary, path)
        else:
            temporary.rename(path)
    except OSError as error:
        raise FreqLFError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def require_folder(path: Path, *, overwrite: bool = False) -> None:
    """Refuse a folder that `replacing_directory` could not fill in the end: to be called before long work.

    What is there already, and places that cannot be written to, are found out by trying; nothing stays behind.
    """
    try:
        if path.is_dir() and not overwrite and any(path.iterdir()):
            raise FreqLFError(f"{path} is not empty; add --overwrite to replace the results in it")
        if path.exists() and not path.is_dir():
            raise FreqLFError(f"{path} is a file; choose another place for the folder of results")
        # The folder is made beside its final place, and moved into it if that exists.
        places = [next(parent for parent in path.absolute().parents if parent.exists())]
        for place in [*places, path] if path.is_dir() else places:
            with tempfile.TemporaryDirectory(dir=place, prefix=f".{path.name}."):
                pass
    except OSError as error:
        raise FreqLFError(f"cannot write {path}: {error.strerror or error}") from error


def _move_entries(source: Path, target: Path) -> None:
    for entry in sorted(source.iterdir()):
        destination = target / entry.name
        if destination.is_dir() and not destination.is_symlink():
            shutil.rmtree(destination)  # or an old scene's files would mix with the new one's
        entry.replace(destination)


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path` atomically."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, content: str) -> None:
    """Write `content` to `path` atomically, as UTF-8."""
    write_bytes(path, content.encode())


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
