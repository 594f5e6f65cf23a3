import re
from pathlib import Path

import numpy as np
import pytest

from freqlf.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
FILES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PAGES = {path: path.read_text(encoding="utf-8") for path in FILES}
PYTHON = PAGES[ROOT / "docs" / "python.md"]


def find_examples(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)


def test_every_command_is_described() -> None:
    page = PAGES[ROOT / "docs" / "commands.md"]
    described = re.findall(r"^\| `freqlf ((?:(?:data|study) )?\w+)", page, flags=re.MULTILINE)
    assert sorted(described) == sorted(COMMANDS)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", PAGES[page]):
        assert "://" in target or (page.parent / target).exists(), target


def test_every_module_and_name_of_the_api_table_exists() -> None:
    rows = re.findall(r"^\| ((?:`freqlf[\w.]*`(?:, )?)+) \| (.*) \|$", PYTHON, flags=re.MULTILINE)
    assert len(rows) >= 8
    for modules, contents in rows:
        loaded = [__import__(name, fromlist=["_"]) for name in re.findall(r"`(freqlf[\w.]*)`", modules)]
        for name in re.findall(r"`([A-Za-z_]+)`", contents):
            assert any(hasattr(module, name) for module in loaded), f"{modules} has no {name}"


def test_the_readmes_lines_of_python_run(render_plane, tmp_path, monkeypatch) -> None:
    (example,) = find_examples(PAGES[ROOT / "README.md"])
    monkeypatch.chdir(tmp_path)
    np.save("my_capture.npy", render_plane(0.4))
    names: dict = {}
    exec(example.replace('"my_capture"', '"my_capture.npy", model="slope"'), names)
    assert names["result"].disparity_px.shape == (32, 40)
    assert (tmp_path / "result" / "disparity.pfm").exists()


def test_the_first_example_runs(render_plane) -> None:
    example, _ = find_examples(PYTHON)
    names = {"array": render_plane(0.4)}
    exec(example, names)
    assert names["result"].disparity_px.shape == (32, 40)


@pytest.mark.hci
def test_the_longer_example_runs(hci_root) -> None:
    _, example = find_examples(PYTHON)
    names = {"my_map": np.zeros((512, 512), np.float32), "array": np.zeros((3, 3, 8, 8, 3), np.uint8)}
    exec(example.replace("path/to/hci", str(hci_root)), names)
    assert names["stack"].shape == (9, 512, 512, 3)
    assert names["near"].shape == (64, 64, 3)
    assert names["depth_m"].shape == (512, 512)
    assert names["field"].rows == 3
