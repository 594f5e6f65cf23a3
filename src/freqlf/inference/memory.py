"""How much memory this process holds, held at most, and may still take; and whether it gives back what is free."""

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

_SYSTEM = Path("/")


def held_memory_mb() -> float:
    """What this process holds now, in MB."""
    return float(psutil.Process().memory_info().rss) / 1e6


def peak_memory_mb() -> float:
    """The largest amount of memory that this process has held, in MB."""
    # Linux hands the usage of the process that started this one over to it, as far as it is larger; this it does not.
    kilobytes = _read_key(_SYSTEM / "proc/self/status", "VmHWM:")
    return _peak_of_usage_mb() if kilobytes is None else kilobytes * 1024 / 1e6


# Parameters of `mallopt` in the GNU C library, and the largest number that they take.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _LARGEST = -1, -3, 2**31 - 1


def keep_freed_memory() -> bool:
    """Let this process keep what it frees for its next tensors, from now on; whether the C library could be told.

    By default the GNU library gives large pieces back, and the system clears them anew for every tensor: a fifth of
    the time of a training step, which needs the same memory again and again.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):  # other systems and libraries
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST // 2) and mallopt(_TRIM_THRESHOLD, _LARGEST))


def default_limit_bytes() -> int:
    """What this process may hold if nobody said: what it holds now, and half of what is free."""
    return int(held_memory_mb() * 1e6) + free_memory_bytes() // 2


def free_memory_bytes(root: Path = _SYSTEM) -> int:
    """What can still be taken without swapping, nor exceeding the limits of the containers around this process.

    root: where the system's files are, another place in tests.
    """
    available = _read_key(root / "proc/meminfo", "MemAvailable:")
    free = psutil.virtual_memory().available if available is None else available * 1024
    return max(0, min([free, *_container_rooms(root)]))


def _container_rooms(root: Path) -> Iterator[int]:
    """The bytes left in each control group around this process that has a limit."""
    groups = _read_text(root / "proc/self/cgroup").splitlines()
    for _, controllers, inner in (line.split(":", 2) for line in groups if line.count(":") >= 2):
        if controllers == "":  # version 2
            base, limit, usage, cache = root / "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            base, cache = root / "sys/fs/cgroup/memory", "total_inactive_file"
            limit, usage = "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        innermost = base / inner.lstrip("/")
        for folder in (innermost, *innermost.parents):
            if not folder.is_relative_to(base):
                break
            limit_text, usage_text = _read_text(folder / limit), _read_text(folder / usage)
            if limit_text.isdigit() and usage_text.isdigit():
                # Pages of files that nobody has used for long are given back as soon as others need the room.
                yield int(limit_text) - int(usage_text) + (_read_key(folder / "memory.stat", cache) or 0)


def _read_key(path: Path, key: str) -> int | None:
    """The number in the line that begins with a key."""
    lines = [line.split() for line in _read_text(path).splitlines()]
    return next((int(words[1]) for words in lines if words[:1] == [key]), None)


def _read_text(path: Path) -> str:
    """What a file of the system says; nothing if it is not there."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _peak_of_usage_mb() -> float:
    """Where there is no Linux to ask: Windows counts it, other systems have the module `resource`."""
    usage = psutil.Process().memory_info()
    if hasattr(usage, "peak_wset"):
        return float(usage.peak_wset) / 1e6
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6
