"""The packages of freqlf build on each other in one direction."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import freqlf

ROOT = Path(freqlf.__file__).parent
# Each may import from those in rows above it, and from itself.
LAYERS = (
    ("errors",),
    ("lightfield", "io", "provenance", "threads"),
    ("data", "models"),
    ("weights",),
    ("outputs",),  # below inference: an estimate can save and show itself
    ("inference",),
    ("evaluation",),
    ("training",),
    ("studies",),
    ("app",),
    ("cli",),
)
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem in RANKS)


def imported_modules(path: Path) -> Iterator[str]:
    """Absolute names of all that a module imports, inside its functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def package_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    here = package_of(path)
    names = [name.split(".")[1] for name in imported_modules(path) if name.startswith("freqlf.")]
    packages = set(names) - {here, "__version__"}
    level = {"lightfield", "io"}  # light fields are made of pictures, and files hold light fields
    wrong = {name for name in packages if RANKS[name] >= RANKS[here] and not {name, here} <= level}
    assert not wrong, f"{here} is below {', '.join(sorted(wrong))}"


def test_every_package_has_its_place() -> None:
    packages = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert packages == set(RANKS) - {path.stem for path in ROOT.glob("*.py")}


def test_the_top_has_few_modules() -> None:
    assert len(list(ROOT.glob("*.py"))) <= 8
