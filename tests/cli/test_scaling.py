import json

import pytest

from freqlf.cli.main import main
from freqlf.io.image import read_pixels


def test_two_sizes_in_tiles_and_in_one_piece(tmp_path, capsys) -> None:
    flags = ["--presets", "slope", "--sizes", "64", "32", "--repeats", "2", "--threads", "1", "--device", "cpu"]
    assert main(["scaling", *flags, "--whole", "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "FreqLF+ (paper, A100 GPU)" in printed
    assert "other hardware" in printed
    report = json.loads((tmp_path / "out" / "scaling.json").read_text())
    assert list(report["exponents"]) == ["slope, in tiles", "slope, in one piece"]
    assert [(cost["size_px"], cost["whole"]) for cost in report["costs"]] == [
        *((32, False), (32, True), (64, False), (64, True))
    ]
    for cost in report["costs"]:
        assert len(cost["seconds"]) == 2
        assert f"{cost['mean_s']:.3f} ±" in printed
    assert "untrained" in report["protocol"]["weights"]
    assert report["provenance"]["threads"] == 1
    assert report["published_on_other_hardware"]["FreqLF"]["seconds"][0] == 0.312
    assert "slope, in tiles" in (tmp_path / "out" / "tables.md").read_text()
    assert read_pixels(tmp_path / "out" / "scaling.png").std() > 10  # something is on it


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--presets", "huge"], "unknown preset 'huge'"),
        (["--sizes", "8"], "--sizes at least 32"),
        (["--repeats", "0"], "--repeats must be between 1"),
    ],
)
def test_mistakes_are_one_line(flags, message, tmp_path, capsys) -> None:
    assert main(["scaling", *flags, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_results_of_before_are_not_overwritten(tmp_path, capsys) -> None:
    (tmp_path / "scaling.json").write_text("precious")
    assert main(["scaling", "--presets", "slope", "--sizes", "32", "--out", str(tmp_path)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert (tmp_path / "scaling.json").read_text() == "precious"
