"""Where bytes from elsewhere come in.

Only regular files are opened: a pipe may never answer and a device never end. Nothing is read that is larger than it
may be, and whatever a decoder makes of damaged bytes, the user sees one line.
"""

import json
import logging
import os
import stat
import threading
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from freqlf.errors import FreqLFError

MOST_TEXT_BYTES = 64 * 2**20  # of a record or a table; ours are far smaller
MOST_DEPTH = 30  # of lists and objects in each other
MOST_DIGITS = 300  # of a whole number; longer ones are no float any more
# Nothing that real pixels were compressed with makes them a thousand times smaller; deflate cannot.
MOST_INFLATION = 1100

_REASON_LENGTH = 160
# A pipe that nobody writes to would block. Not every system has all flags.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}

# What libraries remark about damaged files beside the one line that the user gets. A logger without any handler prints.
warnings.filterwarnings("ignore", module=r"(PIL|h5py|scipy\.io|numpy\.lib)")
logging.getLogger("PIL").addHandler(logging.NullHandler())


def open_file(path: Path) -> BinaryIO:
    """Open a regular file, or a link to one, to read its bytes."""
    with decoding(path):
        descriptor = os.open(path, _READ)
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            return os.fdopen(descriptor, "rb")
        os.close(descriptor)
        raise FreqLFError(f"{path} is {_KINDS.get(stat.S_IFMT(mode), 'something else')}, not a file; give a file")


def require_name(path: Path) -> str:
    """The name of a file or folder without its ending, if it can be shown: it will be in tables, pages and pictures."""
    if any(unicodedata.category(letter).startswith("C") for letter in path.stem):
        raise FreqLFError(f"{path} has a name with characters that cannot be shown; rename it")
    return path.stem


def require_file(path: Path) -> Path:
    """The path, for libraries that open it themselves, if it is a regular file."""
    open_file(path).close()
    return path


def read_bytes(path: Path, most_bytes: int = MOST_TEXT_BYTES) -> bytes:
    """All of a file that is not larger than such files are."""
    with open_file(path) as file, decoding(path):
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise FreqLFError(f"{path} is larger than {most_bytes / 1e6:.0f} MB, too large for what it should be")
    return content


def read_text(path: Path, most_bytes: int = MOST_TEXT_BYTES) -> str:
    """All of a text file."""
    with decoding(path, "text"):
        return read_bytes(path, most_bytes).decode("utf-8")


def read_json(path: Path) -> Any:
    """What a JSON file holds."""
    return parse_json(read_text(path), str(path))


def parse_json(text: str, where: str) -> Any:
    """What a JSON text holds: finite numbers, and text that can be written again; `where` is for errors."""
    try:
        content = json.loads(text, parse_constant=_refuse, parse_float=_parse_float, parse_int=_parse_int)
        json.dumps(content, ensure_ascii=False).encode()  # halves of characters cannot
        _require_flat(content)
        return content
    except RecursionError as error:
        raise FreqLFError(f"{where} is nested too deeply for a record of freqlf") from error
    except ValueError as error:
        raise FreqLFError(f"{where} is not JSON: {_describe(error)}") from error


def _require_flat(content: Any, depth: int = 0) -> None:
    if depth > MOST_DEPTH:
        raise RecursionError
    if isinstance(content, (dict, list)):
        for part in content.values() if isinstance(content, dict) else content:
            _require_flat(part, depth + 1)


def _parse_float(text: str) -> float:
    number = float(text)
    return number if abs(number) < float("inf") else _refuse(text)


def _parse_int(text: str) -> int:
    return int(text) if len(text) <= MOST_DIGITS else _refuse(text)


def _refuse(text: str) -> Any:
    raise ValueError(f"{text[:20]} is not a finite number")


@contextmanager
def decoding(path: Path, kind: str = "", advice: str | None = "it is damaged or something else") -> Iterator[None]:
    """Turn whatever goes wrong while a file is decoded into one line; with no advice, without the library's reason."""
    try:
        yield
    except FreqLFError:
        raise
    except FileNotFoundError as error:
        raise FreqLFError(f"{path} does not exist") from error
    except MemoryError as error:
        raise FreqLFError(f"{path} needs more memory than there is") from error
    except Exception as error:  # decoders fail on damaged files in whatever way the bytes lead them to
        if isinstance(error, OSError) and error.strerror:
            raise FreqLFError(f"cannot read {path}: {error.strerror}") from error
        if advice is None:
            raise FreqLFError(f"{path} is not {kind}, or it is damaged") from error
        named = f" as {kind}" if kind else ""
        raise FreqLFError(f"cannot read {path}{named} ({_describe(error)}); {advice}") from error


def _describe(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _REASON_LENGTH else text[:_REASON_LENGTH] + "..."


_stderr_lock = threading.Lock()


@contextmanager
def silence_libraries() -> Iterator[None]:
    """Drop what C libraries print to standard error themselves; one thread at a time, since it is the process's."""
    with _stderr_lock:
        kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, 2)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            os.close(nowhere)


def require_inflation(path: Path, promised_bytes: int, stored_bytes: int) -> None:
    """Refuse a header that promises more than the bytes behind it can hold: nothing of it has been read."""
    if promised_bytes > MOST_INFLATION * max(stored_bytes, 1):
        raise FreqLFError(
            f"{path} claims {promised_bytes / 1e6:.0f} MB of pixels and stores {stored_bytes} bytes; "
            "it is damaged or unfinished"
        )
