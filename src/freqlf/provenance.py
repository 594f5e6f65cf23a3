"""What made a result: written into every JSON that freqlf leaves."""

import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from freqlf import __version__


@cache
def commit() -> str | None:
    """The git commit of the source tree that is running, `-dirty` if changed, or None for an installed wheel."""
    try:
        result = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip() or None


def describe_run(**facts: Any) -> dict[str, Any]:
    """Version, commit, time and machine, followed by the `facts` that the caller adds (model, data, protocol)."""
    return {
        "freqlf_version": __version__,
        "commit": commit(),
        "created_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu_name(),
        **facts,
    }


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
