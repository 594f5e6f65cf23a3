import json

import numpy as np
import pytest

from freqlf.cli.main import main
from freqlf.evaluation.results import write_result
from freqlf.weights.calibration import read_calibration


@pytest.fixture
def calibrate(make_scene, tmp_path, capsys):
    """Runs `freqlf calibrate` on three scenes whose deviations were predicted four times too large."""
    rng = np.random.default_rng(0)
    for scene in "abc":
        make_scene(scene)
        error = 0.05 * rng.standard_normal((32, 40))
        write_result(tmp_path / "ours", scene, 0.5 + error, variance_px2=np.full((32, 40), 0.2**2))

    def run(*options: str):
        out = tmp_path / "calibration.json"
        paths = ["--from", str(tmp_path / "ours"), "--data", str(tmp_path / "data"), "--out", str(out)]
        code = main(["calibrate", *paths, "--split", "a,b,c", "--border", "2", *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err, out

    return run


def test_a_calibration_is_fitted_and_can_be_evaluated(calibrate, tmp_path, capsys):
    code, output, error, out = calibrate()
    assert (code, error) == (0, "")
    assert "fitted on a, b, c" in output
    content = json.loads(out.read_text())
    assert read_calibration(out).held_out_ece < 0.03
    assert list(content["held_out_coverage"]) == ["a", "b", "c"]
    # The table tells before and after, per scene, averaged and pooled.
    rows = {line.split()[1]: line.split()[3::2] for line in output.splitlines() if line.startswith("│")}
    assert list(rows) == ["a", "b", "c", "mean", "pooled"]
    for row in rows.values():
        assert float(row[2]) > 0.3 > 0.1 > float(row[4])
        assert float(row[3]) > 0.99
        assert float(row[5]) == pytest.approx(0.9, abs=0.04)
    arguments = ["--from", str(tmp_path / "ours"), "--data", str(tmp_path / "data"), "--out", str(tmp_path / "report")]
    options = ["--split", "a,b,c", "--border", "2", "--no-figures", "--calibration", str(out)]
    assert main(["evaluate", *arguments, *options]) == 0
    report = json.loads((tmp_path / "report" / "evaluation.json").read_text())
    pooled = report["methods"]["ours"]["pooled_uncertainty"]
    assert pooled["ece"] > 0.3
    assert pooled["calibrated_ece"] < 0.02


def test_bad_input_is_one_line(calibrate, tmp_path):
    assert "2 scenes at least, not 1" in calibrate("--split", "a")[2]
    (tmp_path / "ours" / "variance_maps" / "b.pfm").unlink()
    code, output, error, out = calibrate()
    assert (code, output) == (2, "")
    assert "variance_maps/b.pfm is not there" in error
    assert error.count("\n") == 1
    assert not out.exists()
