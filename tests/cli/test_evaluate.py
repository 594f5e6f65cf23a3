import csv
import json

import numpy as np
import pytest

from freqlf.cli.main import main
from freqlf.data.splits import GROUPS
from freqlf.evaluation.results import write_result
from freqlf.io.image import read_pixels
from freqlf.io.pfm import write_pfm
from freqlf.weights.calibration import LEVELS, Calibration, write_calibration

# MSE x100 / BadPix(0.07) of other methods' own maps on boxes, cotton, dino, sideboard, and their mean.
PUBLISHED = {
    "OccCasNet": "2.593 0.204 0.079 0.387 0.816 / 7.23 0.26 0.56 2.47 2.63",
    "OACC-Net": "2.801 0.171 0.081 0.531 0.896 / 10.36 0.31 0.98 3.26 3.73",
    "SubFocal": "2.898 0.190 0.136 0.395 0.905 / 8.27 0.26 0.75 2.29 2.89",
    "DistgDisp": "3.623 0.231 0.128 0.565 1.137 / 12.43 0.45 1.50 3.67 4.51",
    "FastLFNet": "4.260 0.339 0.184 0.742 1.381 / 18.19 0.72 2.34 6.86 7.03",
    "SPO": "8.822 1.405 0.303 1.012 2.885 / 15.42 2.66 2.19 9.10 7.34",
}


@pytest.fixture
def evaluate(tmp_path, capsys):
    """Runs `freqlf evaluate` on tmp_path/ours and tmp_path/data; returns code, output, error and the folder."""

    def run(*options: str):
        out = tmp_path / "out"
        paths = ["--from", str(tmp_path / "ours"), "--data", str(tmp_path / "data"), "--out", str(out)]
        code = main(["evaluate", *paths, "--border", "6", "--no-figures", *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err, out

    return run


@pytest.fixture
def golden(make_scene, tmp_path):
    """Two planes at 0.5, of which 20 x 28 = 560 pixels are scored, and a map of each with errors to count by hand.

    a: 0.1 px off in 56 pixels (10 %), exact elsewhere.    b: 0.02 px off everywhere.
    """
    make_scene("a")
    make_scene("b")
    one = np.full((32, 40), 0.5)
    one[10:12, 6:34] += 0.1
    two = np.full((32, 40), 0.52)
    write_result(tmp_path / "ours", "a", one, variance_px2=np.full((32, 40), 0.05**2), runtime_s=2.0)
    write_result(tmp_path / "ours", "b", two, variance_px2=np.full((32, 40), 0.02**2), runtime_s=4.0)
    return tmp_path


def read_json(folder):
    return json.loads((folder / "evaluation.json").read_text())


def table_of(report, title):
    (table,) = [table for table in report["tables"] if table["title"].startswith(title)]
    return table


def test_scores_of_maps_that_can_be_computed_by_hand(golden, evaluate):
    code, output, error, out = evaluate("--split", "a,b")
    assert (code, error) == (0, "")
    report = read_json(out)
    table = table_of(report, "ours: scores by native")
    assert table["headings"][1:] == [
        *("MSE x100", "BadPix(0.01) %", "BadPix(0.03) %", "BadPix(0.07) %", "Q25 x100", "time s"),
    ]
    # 10 % of the pixels with a square of 0.01 are 0.001; everywhere 0.0004.
    assert table["rows"] == [
        ["a", "0.100", "10.00", "10.00", "10.00", "0.000", "2.00"],
        ["b", "0.040", "100.00", "0.00", "0.00", "2.000", "4.00"],
    ]
    assert table["summary"] == [["mean", "0.070", "55.00", "5.00", "5.00", "1.000", "3.00"]]
    assert report["methods"]["ours"]["mean"]["mse_100"] == pytest.approx(0.07, rel=1e-5)
    assert report["methods"]["ours"]["scenes"]["a"]["scores"]["pixels"] == 560
    assert report["protocols"]["native"]["border_px"] == 6
    assert report["provenance"]["command"] == "evaluate"
    assert "0.070" in output


def test_uncertainty_that_can_be_computed_by_hand(golden, evaluate):
    report = read_json(evaluate("--split", "a,b")[3])
    a = report["methods"]["ours"]["scenes"]["a"]["uncertainty"]
    # 90 % of a is exact and inside every interval; 10 % is off by two deviations, outside those of up to 95 %.
    assert a["coverage"] == pytest.approx([0.9] * len(LEVELS))
    assert a["ece"] == pytest.approx(np.mean(np.abs(0.9 - np.array(LEVELS))))
    assert a["spearman"] is None  # all of a is equally uncertain
    b = report["methods"]["ours"]["scenes"]["b"]["uncertainty"]
    # b is off by one deviation: inside from 68.3 % on.
    assert b["coverage"] == [float(level > 0.6827) for level in LEVELS]
    pooled = report["methods"]["ours"]["pooled_uncertainty"]
    assert pooled["coverage"] == pytest.approx([0.45 + 0.5 * (level > 0.6827) for level in LEVELS])
    assert pooled["pixels"] == 1120
    # Pooled, two groups of pixels: variance v in {0.0025, 0.0004}, errors 0.1 (10 %) and 0 in one, 0.02 in the other.
    error = np.array([0.1] * 56 + [0.0] * 504 + [0.02] * 560)
    variance = np.array([0.05**2] * 560 + [0.02**2] * 560)
    assert pooled["pearson"] == pytest.approx(np.corrcoef(error, variance)[0, 1], rel=1e-4)
    table = table_of(report, "ours: uncertainty")
    assert [row[0] for row in table["rows"] + table["summary"]] == ["a", "b", "mean", "pooled"]
    assert "0.069" in table["notes"][0]


def test_regions_hold_exactly_their_share(golden, evaluate):
    report = read_json(evaluate("--split", "a,b")[3])
    for scene in report["methods"]["ours"]["scenes"].values():
        assert scene["regions"]["boundary"]["pixels"] == 56
        assert scene["regions"]["textureless"]["pixels"] == 84
    table = table_of(report, "ours: scores by region")
    assert table["rows"][1] == ["b", "0.040", "0.00", "0.040", "0.00"]


def test_all_scores_are_in_the_csv_with_all_digits(golden, evaluate):
    out = evaluate("--split", "a,b")[3]
    report = read_json(out)
    with (out / "scores.csv").open(newline="") as file:
        rows = {(row["method"], row["scene"], row["protocol"], row["region"]): row for row in csv.DictReader(file)}
    assert len(rows) == 2 * 4  # all pixels, two regions, and the server's protocol
    for name, scene in report["methods"]["ours"]["scenes"].items():
        assert float(rows["ours", name, "native", "all"]["mse_100"]) == scene["scores"]["mse_100"]
        assert float(rows["ours", name, "native", "boundary"]["q25"]) == scene["regions"]["boundary"]["q25"]
        assert float(rows["ours", name, "server", "all"]["badpix_007"]) == scene["official"]["badpix_007"]


def test_other_methods_are_ranked(golden, evaluate, tmp_path):
    for name, offset_px in (("better", 0.01), ("worse", 0.1)):
        for scene in "ab":
            write_pfm(tmp_path / name / f"{scene}.pfm", np.full((32, 40), 0.5 + offset_px))
    compared = [part for name in ("worse", "better") for part in ("--compare", f"{name}={tmp_path / name}")]
    code, _, _, out = evaluate("--split", "a,b", "--name", "mine", *compared)
    assert code == 0
    table = table_of(read_json(out), "MSE x100 by native")
    # Means 0.01, 0.07 and 1.0: the gaps are 6 and 99 times the best.
    assert table["rows"] == [
        ["better", "0.010", "0.010", "0.010", "1", "0.0 %"],
        ["mine", "0.100", "0.040", "0.070", "2", "600.0 %"],
        ["worse", "1.000", "1.000", "1.000", "3", "9900.0 %"],
    ]
    assert sorted(map(tuple, table["best"])) == [(0, 1), (0, 2), (0, 3)]
    markdown = (out / "tables.md").read_text()
    assert "| better | **0.010** | **0.010** | **0.010** | 1 | 0.0 % |" in markdown


def test_a_calibration_is_applied_to_the_intervals(golden, evaluate, tmp_path):
    calibration = Calibration(needed=((3.0,),), held_out_coverage={"x": LEVELS, "y": LEVELS})
    write_calibration(tmp_path / "c.json", calibration)
    code, _, _, out = evaluate("--split", "a,b", "--calibration", str(tmp_path / "c.json"))
    assert code == 0
    report = read_json(out)
    a = report["methods"]["ours"]["scenes"]["a"]["uncertainty"]
    # Two deviations are two thirds of a calibrated one: inside from 49.5 % on.
    assert a["calibrated_coverage"] == pytest.approx([0.9 + 0.1 * (level > 0.495) for level in LEVELS])
    assert a["calibrated_ece"] == pytest.approx(np.mean(np.abs(np.array(a["calibrated_coverage"]) - LEVELS)))
    assert "held_out_ece" not in a
    assert list(report["calibration"]["held_out_coverage"]) == ["x", "y"]
    assert table_of(report, "ours: uncertainty")["headings"][-2:] == ["calibrated Pearson", "calibrated ECE"]


def test_scenes_that_a_calibration_was_fitted_on_are_judged_without_them(golden, evaluate, tmp_path):
    wider = tuple(level + 0.02 for level in LEVELS)
    calibration = Calibration(needed=((3.0,),), held_out_coverage={"a": wider, "b": LEVELS})
    write_calibration(tmp_path / "c.json", calibration)
    report = read_json(evaluate("--split", "a,b", "--calibration", str(tmp_path / "c.json"))[3])
    ours = report["methods"]["ours"]
    assert ours["scenes"]["a"]["uncertainty"]["held_out_ece"] == pytest.approx(0.02)
    assert ours["pooled_uncertainty"]["held_out_ece"] == pytest.approx(0.01)
    table = table_of(report, "ours: uncertainty")
    assert table["headings"][-1] == "left out ECE"
    assert [row[-1] for row in (*table["rows"], *table["summary"])] == ["0.020", "0.000", "0.010", "0.010"]
    assert "fitted without" in table["notes"][0]


def test_published_scores_stand_apart_unless_the_servers_ground_truth_is_there(make_scene, evaluate, tmp_path):
    for scene in GROUPS["stratified"]:
        make_scene(scene)
        write_result(tmp_path / "ours", scene, np.full((32, 40), 0.55))
    code, output, _, out = evaluate("--split", "stratified")
    assert code == 0
    table = table_of(read_json(out), "MSE x100, published")
    assert len(table["rows"]) == 19
    assert table["rows"][0] == ["LFAttNet", "3.648", "1.425", "0.004", "0.892", "1.492", "1", "0.0 %"]
    assert "15 px border; ground truth at ten times the resolution" in table["notes"][0]
    assert "another protocol and do not compare" in table["notes"][1]
    assert "LFAttNet" in output

    for scene in ("backgammon", "dots", "stripes"):
        write_pfm(tmp_path / "data" / scene / "gt_disp_highres.pfm", np.full((320, 400), 0.5))
    code, _, _, out = evaluate("--split", "stratified", "--overwrite")
    assert code == 0
    table = table_of(read_json(out), "MSE x100, published")
    assert len(table["rows"]) == 20
    assert table["rows"][0] == ["ours (here)", *["0.250"] * 5, "1", "0.0 %"]
    assert "computed here by the server's protocol" in table["notes"][1]
    assert len(table["notes"]) == 2


def test_published_scores_of_the_additional_scenes_have_columns_of_their_own(make_scene, evaluate, tmp_path):
    for scene in GROUPS["additional"]:
        make_scene(scene)
        write_result(tmp_path / "ours", scene, np.full((32, 40), 0.55))
    code, _, _, out = evaluate("--split", "additional")
    assert code == 0
    table = table_of(read_json(out), "additional scenes")
    assert table["rows"][4] == ["kitchen", "12.596", "24.37", "0.250", "0.00"]
    assert table["summary"] == [["mean", "1.857", "4.71", "0.250", "0.00"]]


def test_figures_are_drawn(golden, evaluate, tmp_path):
    write_calibration(tmp_path / "c.json", Calibration(needed=((2.0,),)))
    code, output, _, out = evaluate("--split", "all", "--figures", "--calibration", str(tmp_path / "c.json"))
    assert code == 0
    names = sorted(path.name for path in (out / "figures").iterdir())
    assert names == [
        *("coverage.png", "masks.png", "profiles.png", "qualitative.png"),
        *("sparsification.png", "spectrum_a.png", "spectrum_b.png"),
    ]
    for name in names:
        assert read_pixels(out / "figures" / name).std() > 10  # something is on it
    assert "figures" in output


def test_maps_with_holes_are_scored_and_have_no_spectrum(make_scene, evaluate, tmp_path):
    make_scene("a")
    pixels = np.full((32, 40), 0.5)
    pixels[10, 10] = np.nan
    write_pfm(tmp_path / "ours" / "a.pfm", pixels)
    code, output, _, out = evaluate("--split", "a", "--figures")
    assert code == 0
    scene = read_json(out)["methods"]["ours"]["scenes"]["a"]
    assert scene["error_band_shares"] is None
    assert scene["scores"]["non_finite"] == 1
    assert "1 of 560 predicted pixels are not numbers" in output
    assert sorted(path.name for path in (out / "figures").iterdir()) == ["masks.png", "qualitative.png"]


def shrink_the_variance(root):
    write_pfm(root / "ours" / "variance_maps" / "a.pfm", np.ones((8, 8)))


def make_a_variance_negative(root):
    write_pfm(root / "ours" / "variance_maps" / "a.pfm", np.full((32, 40), -1.0))


def shrink_a_map(root):
    write_pfm(root / "ours" / "disp_maps" / "a.pfm", np.ones((8, 8)))


def remove_a_map(root):
    (root / "ours" / "disp_maps" / "b.pfm").unlink()


def remove_ground_truth(root):
    (root / "data" / "b" / "gt_disp_lowres.pfm").unlink()


def spoil_a_runtime(root):
    (root / "ours" / "runtimes" / "a.txt").write_text("soon")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shrink_the_variance, "variance_maps/a.pfm is (8, 8), the ground truth (32, 40)"),
        (make_a_variance_negative, "variance_maps/a.pfm: 560 of 560 variances are negative"),
        (shrink_a_map, "disp_maps/a.pfm: the prediction is 8 x 8 pixels"),
        (remove_a_map, "has no b.pfm"),
        (remove_ground_truth, "has no ground truth"),
        (spoil_a_runtime, "a.txt must begin with"),
    ],
)
def test_bad_input_is_one_line_code_2_and_writes_nothing(golden, evaluate, damage, message):
    damage(golden)
    code, output, error, out = evaluate("--split", "a,b")
    assert (code, output) == (2, "")
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--compare", "SPO"), "--compare takes NAME=DIR"),
        (("--compare", "=x"), "--compare takes NAME=DIR"),
        (("--compare", "SPO=nowhere"), "nowhere is not a directory"),
        (("--compare", "ours=nowhere"), "a name of its own"),
        (("--split", "a,z"), "no scene z"),
        (("--split", ","), "--split names no scene"),
        (("--calibration", "nowhere.json"), "nowhere.json does not exist"),
        (("--border", "16"), "leaves nothing"),
    ],
)
def test_bad_options_are_one_line(golden, evaluate, options, message):
    code, output, error, out = evaluate("--split", "a,b", *options)
    assert (code, output) == (2, "")
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


@pytest.mark.hci
def test_published_maps_side_by_side(hci_root, tmp_path, capsys):
    published = hci_root / "published"
    if not published.is_dir():
        pytest.skip("the maps of other methods are not here")
    others = [part for name in PUBLISHED if name != "SPO" for part in ("--compare", f"{name}={published / name}")]
    arguments = ["--from", str(published / "SPO"), "--data", str(hci_root), "--out", str(tmp_path / "out")]
    assert main(["evaluate", *arguments, "--no-figures", *others]) == 0
    report = read_json(tmp_path / "out")
    scores = (cells.split(" / ")[0].split() for cells in PUBLISHED.values())
    expected = [[name, *cells] for name, cells in zip(PUBLISHED, scores, strict=True)]
    table = table_of(report, "MSE x100 by native ground truth, 11 px border")
    assert [row[:6] for row in table["rows"]] == expected
    assert [row[6] for row in table["rows"]] == ["1", "2", "3", "4", "5", "6"]
    bad = {row[0]: row[1:6] for row in table_of(report, "BadPix(0.07) %")["rows"]}
    assert bad == {name: cells.split(" / ")[1].split() for name, cells in PUBLISHED.items()}
    output = capsys.readouterr().out
    for row in expected:
        assert all(cell in output for cell in row)


def test_a_model_is_run_and_evaluated(make_scene, tmp_path, capsys):
    scene, out = make_scene("plane"), tmp_path / "report"
    command = ["evaluate", "--data", str(scene.parent), "--split", "plane", "--out", str(out), "--no-figures"]
    assert main([*command, "--model", "slope"]) == 0
    assert (out / "maps" / "disp_maps" / "plane.pfm").exists()
    report = json.loads((out / "evaluation.json").read_text())
    assert report["provenance"]["model"] == "slope"
    capsys.readouterr()
    assert main([*command, "--overwrite"]) == 2
    assert "either --model" in capsys.readouterr().err
    assert main([*command, "--model", "slope", "--compare", f"other={tmp_path}", "--overwrite"]) == 2
    assert "has no plane.pfm" in capsys.readouterr().err
