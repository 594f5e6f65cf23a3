import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from freqlf.inference.memory import (
    default_limit_bytes,
    free_memory_bytes,
    held_memory_mb,
    keep_freed_memory,
    peak_memory_mb,
)
from freqlf.studies.cost.measurement import run_in_fresh_process


def hold_and_drop(megabytes: int) -> tuple[float, float, float]:
    before_mb = held_memory_mb()
    field = np.ones(megabytes * 125_000)
    held_mb = held_memory_mb() - before_mb
    del field
    return before_mb, held_mb, peak_memory_mb() - before_mb


def test_memory_is_seen_while_held_and_remembered_afterwards() -> None:
    ballast = np.ones(400 * 125_000)  # held by this process, and no business of the other one
    before_mb, held_mb, peak_mb = run_in_fresh_process(hold_and_drop, 100)
    assert 95 < held_mb < 120
    assert 95 < peak_mb < 120
    assert held_memory_mb() > ballast.nbytes / 1e6
    assert before_mb < peak_memory_mb()


def make_system(root: Path, files: dict[str, str]) -> Path:
    for name, text in {"proc/meminfo": "MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


OLD = "sys/fs/cgroup/memory/jobs/7"
NEW = "sys/fs/cgroup/jobs/7"


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, 8_192_000_000),
        # Version 2, with a limit on the group around ours; of what is used, a part are pages of idle files.
        (
            {
                "proc/self/cgroup": "0::/jobs/7\n",
                f"{NEW}/memory.max": "max\n",
                f"{NEW}/memory.current": "100\n",
                "sys/fs/cgroup/jobs/memory.max": "5000000\n",
                "sys/fs/cgroup/jobs/memory.current": "4000000\n",
                "sys/fs/cgroup/jobs/memory.stat": "anon 1\ninactive_file 300000\nactive_file 77\n",
            },
            1_300_000,
        ),
        # Version 1; the limit of the outer group is what an unlimited one says.
        (
            {
                "proc/self/cgroup": "9:cpu,cpuacct:/x\n4:memory:/jobs/7\n",
                f"{OLD}/memory.limit_in_bytes": "2000000\n",
                f"{OLD}/memory.usage_in_bytes": "500000\n",
                f"{OLD}/memory.stat": "inactive_file 5\ntotal_inactive_file 20000\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
                "sys/fs/cgroup/memory/memory.usage_in_bytes": "1\n",
            },
            1_520_000,
        ),
        # Inside of a container the group's path is the host's; what is mounted is the container's own.
        (
            {
                "proc/self/cgroup": "4:memory:/docker/abc\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n",
                "sys/fs/cgroup/memory/memory.usage_in_bytes": "2000\n",
            },
            0,
        ),
    ],
)
def test_containers_limit_what_is_free(tmp_path: Path, files: dict[str, str], free: int) -> None:
    assert free_memory_bytes(make_system(tmp_path, files)) == free


def test_the_default_leaves_half_of_what_is_free() -> None:
    assert 0 < default_limit_bytes() - held_memory_mb() * 1e6 < 0.75 * free_memory_bytes()


def count_page_faults() -> tuple[int, int, bool]:
    """Of the same tensors before and after freed memory is kept, and whether it could be."""
    resource = pytest.importorskip("resource")
    faults = []
    could = True
    for keep in (False, True):
        could = keep_freed_memory() if keep else could
        for _ in range(20):  # other small tensors lie between large ones at first, until there is room for them
            torch.ones(25_000_000)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(5):
            torch.ones(25_000_000)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return faults[0], faults[1], could


@pytest.mark.skipif(sys.platform != "linux", reason="what C libraries do elsewhere is theirs")
def test_freed_memory_is_kept_on_demand() -> None:
    given_back, kept, could = run_in_fresh_process(count_page_faults)  # there is no way back
    assert not could or kept < given_back / 2
