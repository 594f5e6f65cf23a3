import os
from pathlib import Path

import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.threads import count_cores, use_threads, wait_passively


def test_threads_of_one_core_count_once(tmp_path: Path) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    for number in allowed:  # all of them on one core
        path = tmp_path / f"sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list"
        path.parent.mkdir(parents=True)
        path.write_text("0-63\n")
    assert count_cores(tmp_path) == 1


def test_without_a_topology_every_processor_is_a_core(tmp_path: Path) -> None:
    assert count_cores(tmp_path) == len(os.sched_getaffinity(0))
    assert 1 <= count_cores() <= len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    "files",
    [
        {"sys/fs/cgroup/cpu.max": "50000 100000"},
        {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"},
    ],
)
def test_a_container_with_half_a_processor_has_one(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    assert count_cores(tmp_path) == 1


def test_the_environment_decides_unless_a_number_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    try:
        use_threads(3)
        assert torch.get_num_threads() == 3
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        use_threads(None)
        assert torch.get_num_threads() == 3
        monkeypatch.delenv("OMP_NUM_THREADS")
        monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
        use_threads(None)
        assert torch.get_num_threads() == count_cores()
        with pytest.raises(FreqLFError, match="at least 1, not 0"):
            use_threads(0)
    finally:
        torch.set_num_threads(before)


def test_threads_wait_asleep_unless_told_otherwise(monkeypatch) -> None:
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"):
        monkeypatch.delenv(name, raising=False)
    environment: dict[str, str] = {}
    monkeypatch.setattr("os.environ", environment)
    wait_passively()
    assert environment == {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}
    told = {"OMP_WAIT_POLICY": "ACTIVE"}
    monkeypatch.setattr("os.environ", told)
    wait_passively()
    assert told == {"OMP_WAIT_POLICY": "ACTIVE"}
