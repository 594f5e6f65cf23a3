"""How many threads to compute with: one for each core that this process may use, and how they wait for each other."""

import math
import os
from pathlib import Path

from freqlf.errors import FreqLFError

# Whoever sets one of these has decided already.
_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


# Threads that sleep while they wait, for the OpenMP libraries of GNU and of Intel; read when torch is loaded.
_PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}


def wait_passively() -> None:
    """Let threads sleep while they wait for others, unless the environment says otherwise; before torch is loaded.

    By default they spin. Beside another busy program, they then take the processor from the very thread that they
    wait for, at each of thousands of steps.
    """
    if not any(name in os.environ for name in _PASSIVE):
        os.environ.update(_PASSIVE)


def use_threads(threads: int | None) -> None:
    """Let torch compute with so many threads; None takes all physical cores, unless the environment says otherwise."""
    import torch  # commands that need no torch import this module too

    if threads is not None and threads < 1:
        raise FreqLFError(f"--threads must be at least 1, not {threads}")
    if threads is None and any(os.environ.get(name) for name in _VARIABLES):
        return
    torch.set_num_threads(threads or count_cores())


def count_cores(root: Path = Path("/")) -> int:
    """Physical cores that this process may use: two threads on one core only share its arithmetic units.

    root: where the system's files are, another place in tests.
    """
    allowed = _allowed_processors()
    siblings = {_read(root / f"sys/devices/system/cpu/cpu{n}/topology/thread_siblings_list") or n for n in allowed}
    return max(1, min(len(siblings), _read_quota(root)))


def _allowed_processors() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def _read_quota(root: Path) -> int:
    """The processors' worth of time that a container has, rounded up."""
    quota, period = (_read(root / "sys/fs/cgroup/cpu.max") or "max 100000").split()[:2]
    if quota == "max":  # or the older kind of control groups
        quota = _read(root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us") or "-1"
        period = _read(root / "sys/fs/cgroup/cpu/cpu.cfs_period_us") or "100000"
    return math.ceil(int(quota) / int(period)) if int(quota) > 0 else 10**6


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
