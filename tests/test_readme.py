import re
from pathlib import Path

import numpy as np
import pytest

from freqlf.cli.main import COMMANDS

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_every_command_is_described():
    for name in COMMANDS:
        assert re.search(rf"^\| `freqlf {name}[ `]", README, flags=re.MULTILINE), name


def test_every_module_and_name_of_the_api_table_exists():
    rows = re.findall(r"^\| ((?:`freqlf\.[\w.]+`(?:, )?)+) \| (.*) \|$", README, flags=re.MULTILINE)
    assert len(rows) >= 8
    for modules, contents in rows:
        loaded = [__import__(name, fromlist=["_"]) for name in re.findall(r"`(freqlf\.[\w.]+)`", modules)]
        for name in re.findall(r"`([A-Za-z_]+)`", contents):
            known = any(hasattr(module, name) for module in loaded)
            assert known, f"{modules} has no {name}"


def test_the_three_lines_of_python_run(render_plane):
    example, _ = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    names = {"array": render_plane(0.4)}
    exec(example, names)
    assert names["result"].disparity_px.shape == (32, 40)


@pytest.mark.hci
def test_the_longer_example_runs(hci_root):
    _, example = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    names = {"my_map": np.zeros((512, 512), np.float32), "array": np.zeros((3, 3, 8, 8, 3), np.uint8)}
    exec(example.replace("path/to/hci", str(hci_root)), names)
    assert names["stack"].shape == (9, 512, 512, 3)
    assert names["near"].shape == (64, 64, 3)
    assert names["depth_m"].shape == (512, 512)
    assert names["field"].rows == 3
