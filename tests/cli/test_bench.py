import json
from pathlib import Path

import pytest

from freqlf.cli.bench import choose_repeats
from freqlf.cli.main import main


def test_times_and_memory_are_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--presets", "freqlf-small", "--sizes", "48", "--memory-presets", "freqlf", "--repeats", "1"]
    assert main(["bench", *flags, "--threads", "1", "--out", str(tmp_path / "out")]) == 0
    assert "times faster" in capsys.readouterr().out
    report = json.loads((tmp_path / "out" / "bench.json").read_text())
    tiled, whole, memory_only = report["costs"]
    assert [(cost["model"], cost["size_px"], cost["whole"], len(cost["seconds"])) for cost in report["costs"]] == [
        ("freqlf-small", 48, False, 1),
        ("freqlf-small", 48, True, 1),
        ("freqlf", 48, False, 0),
    ]
    assert report["spectral"]["speedup"] > 0
    assert report["provenance"]["command"] == "bench"
    assert report["provenance"]["threads"] == 1
    rows = [line for line in (tmp_path / "out" / "tables.md").read_text().splitlines() if line.startswith("| freqlf")]
    assert rows[0].startswith(f"| freqlf-small | 48 x 48 | {tiled['best_s']:.2f} | {whole['best_s']:.2f} | ")
    assert rows[1].startswith("| freqlf | 48 x 48 | - | - | - | - | - | ")
    assert rows[1].endswith(f" {memory_only['process_mb']:.0f} | - |")
    stages = tiled["stages_s"]
    assert list(stages)[:4] == ["slope", "slope by contrast", "pass 1, evidence", "pass 1, layers"]
    assert rows[2].startswith(f"| freqlf-small | 48 x 48 | {stages['slope']:.2f} | ")
    assert len(rows) == 3
    assert tiled["times_faster"] == pytest.approx(tiled["yardstick_s"] / tiled["best_s"])


def test_large_images_are_measured_less_often() -> None:
    assert [choose_repeats(5, size_px) for size_px in (64, 512, 768, 1024, 4096)] == [5, 5, 2, 2, 2]
    assert choose_repeats(16, 1024) == 4
    assert choose_repeats(1, 1024) == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--presets", "nothing"], "unknown preset 'nothing'"),
        (["--memory-presets", "nothing"], "unknown preset 'nothing'"),
        (["--sizes", "8"], "--sizes at least 32"),
        (["--repeats", "0"], "--repeats must be between 1"),
        (["--threads", "0"], "--threads must be between 1"),
    ],
)
def test_mistakes_are_one_line(flags: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *flags]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert message in line
