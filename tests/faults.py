"""Disks that are full and folders that are shut: the real thing, for as long as a `with` statement lasts."""

import os
import resource
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def no_file_larger_than(size_bytes: int):
    """As on a full disk, writing fails half way through a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only(folder: Path):
    """Nobody may write here, not even the administrator, who gives up the right to."""
    folder.chmod(0o555)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o755)
