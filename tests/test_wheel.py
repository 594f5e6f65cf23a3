"""What users install: the wheel, in an environment of its own, far from the source tree."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from freqlf.weights.registry import WEIGHTS

ROOT = Path(__file__).parents[1]


def run(*command: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a fresh environment with the wheel; torch and others are those of this one."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("freqlf-*.whl")
    venv.create(folder / "fresh", with_pip=False)
    is_windows = os.name == "nt"
    made = folder / "fresh" / ("Scripts" if is_windows else "bin")
    python = made / ("python.exe" if is_windows else "python")
    purelib = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    Path(purelib, "others.pth").write_text(sysconfig.get_path("purelib"))
    run(*pip, "--python", python, "install", "--quiet", "--no-deps", "--ignore-installed", wheel, cwd=folder)
    return made


def test_the_installed_program_runs_the_demo(programs: Path, tmp_path: Path) -> None:
    output = run(programs / "freqlf", "demo", "--out", "demo", "--size", "64", "--views", "5", cwd=tmp_path)
    assert "MSE x100" in output
    assert (tmp_path / "demo" / "overview.png").stat().st_size > 10_000
    assert (tmp_path / "demo" / "estimate" / "disparity.pfm").exists()


def test_the_wheel_holds_all_that_is_not_code(programs: Path, tmp_path: Path) -> None:
    code = "import freqlf, pathlib; root = pathlib.Path(freqlf.__file__).parent; print(root)\n"
    code += "print(*sorted(path.relative_to(root).as_posix() for path in root.rglob('*') if path.is_file()), sep='\\n')"
    root, *files = run(programs / "python", "-c", code, cwd=tmp_path).splitlines()
    assert Path(root).is_relative_to(programs.parent)
    source = ROOT / "src" / "freqlf"
    others = [
        path
        for path in source.rglob("*")
        if path.is_file() and path.suffix != ".py" and path.parent.name != "__pycache__"
    ]
    assert len(others) > len(WEIGHTS)
    assert {path.relative_to(source).as_posix() for path in others} <= set(files)
