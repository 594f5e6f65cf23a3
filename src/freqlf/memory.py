"""How much memory this process holds, and held at most."""

import resource
import sys
from pathlib import Path


def held_memory_mb() -> float:
    """What this process holds now, in MB; where the system does not tell, what it held at most."""
    return _read_status("VmRSS") or _peak_of_usage_mb()


def peak_memory_mb() -> float:
    """The largest amount of memory that this process has held, in MB."""
    # Linux hands the usage of the process that started this one over to it, as far as it is larger; this it does not.
    return _read_status("VmHWM") or _peak_of_usage_mb()


def _read_status(key: str) -> float | None:
    """A number of kB in Linux's status of this process, in MB."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    kilobytes = next((line.split()[1] for line in lines if line.startswith(f"{key}:")), None)
    return None if kilobytes is None else float(kilobytes) * 1024 / 1e6


def _peak_of_usage_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6
