import json
from pathlib import Path

import pytest

from freqlf.cli.main import main


def test_times_and_memory_are_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--presets", "freqlf-small", "--sizes", "48", "--memory-presets", "freqlf", "--repeats", "1"]
    assert main(["bench", *flags, "--threads", "1", "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "times faster" in printed
    assert "memory 2 of 3: freqlf-small, 48 x 48, in one piece: measured in" in printed
    report = json.loads((tmp_path / "out" / "bench.json").read_text())
    (timing,) = report["presets"]
    assert (timing["preset"], timing["size_px"], timing["repeats"]) == ("freqlf-small", 48, 1)
    assert report["spectral"]["speedup"] > 0
    assert report["provenance"]["command"] == "bench"
    assert report["provenance"]["threads"] == 1
    assert [(row["preset"], row["size_px"], row["whole"]) for row in report["peaks"]] == [
        ("freqlf-small", 48, False),
        ("freqlf-small", 48, True),
        ("freqlf", 48, False),
    ]
    rows = [line for line in (tmp_path / "out" / "tables.md").read_text().splitlines() if line.startswith("| freqlf")]
    assert rows[0].startswith(f"| freqlf-small | 48 x 48 | {timing['tiled_s']:.2f} | {timing['whole_s']:.2f} | ")
    assert rows[1].startswith("| freqlf | 48 x 48 | - | - | - | - | ")
    assert rows[1].endswith(f" {report['peaks'][2]['peak_mb']:.0f} | - |")
    assert len(rows) == 2


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--presets", "nothing"], "unknown preset 'nothing'"),
        (["--memory-presets", "nothing"], "unknown preset 'nothing'"),
        (["--sizes", "8"], "--sizes at least 32"),
        (["--repeats", "0"], "--repeats must be at least 1"),
        (["--threads", "0"], "--threads must be at least 1"),
    ],
)
def test_mistakes_are_one_line(flags: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *flags]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert message in line
