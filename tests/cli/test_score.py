import json

import numpy as np
import pytest

from freqlf.cli.main import main
from freqlf.data.splits import GROUPS
from freqlf.io.pfm import write_pfm

# MSE x100 / BadPix(0.07) of other methods' own maps on boxes, cotton, dino, sideboard, and their mean.
PUBLISHED = {
    "SPO": "8.822 / 15.42 | 1.405 / 2.66 | 0.303 / 2.19 | 1.012 / 9.10 | 2.885 / 7.34",
    "FastLFNet": "4.260 / 18.19 | 0.339 / 0.72 | 0.184 / 2.34 | 0.742 / 6.86 | 1.381 / 7.03",
    "DistgDisp": "3.623 / 12.43 | 0.231 / 0.45 | 0.128 / 1.50 | 0.565 / 3.67 | 1.137 / 4.51",
    "OACC-Net": "2.801 / 10.36 | 0.171 / 0.31 | 0.081 / 0.98 | 0.531 / 3.26 | 0.896 / 3.73",
    "SubFocal": "2.898 / 8.27 | 0.190 / 0.26 | 0.136 / 0.75 | 0.395 / 2.29 | 0.905 / 2.89",
    "OccCasNet": "2.593 / 7.23 | 0.204 / 0.26 | 0.079 / 0.56 | 0.387 / 2.47 | 0.816 / 2.63",
}


@pytest.fixture
def score(tmp_path, capsys):
    """Runs `freqlf score` on tmp_path/pred and tmp_path/data; returns exit code, output, error and JSON."""
    (tmp_path / "pred").mkdir()

    def run(*options: str):
        out = tmp_path / "scores.json"
        paths = ["--pred", str(tmp_path / "pred"), "--data", str(tmp_path / "data"), "--out", str(out)]
        code = main(["score", *paths, "--border", "2", *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err, json.loads(out.read_text()) if out.exists() else None

    return run


@pytest.mark.hci
@pytest.mark.parametrize("method", PUBLISHED)
def test_published_maps_score_what_is_published(hci_root, tmp_path, capsys, method):
    maps = hci_root / "published" / method
    if not maps.is_dir():
        pytest.skip("the maps of other methods are not here")
    out = tmp_path / "scores.json"
    assert main(["score", "--pred", str(maps), "--data", str(hci_root), "--out", str(out)]) == 0
    report = json.loads(out.read_text())
    rows = [*(report["scenes"][scene] for scene in GROUPS["training"]), report["mean"]]
    assert " | ".join(f"{row['mse_100']:.3f} / {row['badpix_007']:.2f}" for row in rows) == PUBLISHED[method]
    assert report["protocol"]["border_px"] == 11
    table = capsys.readouterr().out
    for cell in PUBLISHED[method].replace(" | ", " / ").split(" / "):
        assert cell in table


def test_the_report_holds_scores_protocol_and_provenance(score, make_scene, tmp_path):
    make_scene("a")
    make_scene("b")
    write_pfm(tmp_path / "pred" / "a.pfm", np.full((32, 40), 0.55))
    write_pfm(tmp_path / "pred" / "disp_maps" / "b.pfm", np.full((32, 40), 0.5))
    code, table, error, report = score()
    assert (code, error) == (0, "")
    assert list(report["scenes"]) == ["a", "b"]
    assert report["scenes"]["a"]["mse_100"] == pytest.approx(0.25, rel=1e-4)
    assert report["scenes"]["a"]["badpix_003"] == 100.0
    assert report["scenes"]["a"]["badpix_007"] == 0.0
    assert report["scenes"]["a"]["q25"] == pytest.approx(5.0, rel=1e-4)
    assert report["mean"]["mse_100"] == pytest.approx(0.125, rel=1e-4)
    assert report["protocol"]["border_px"] == 2
    assert report["provenance"]["command"] == "score"
    assert "0.125" in table


def test_scenes_without_map_or_ground_truth_are_named(score, make_scene, tmp_path):
    for name in ("a", "b", "c"):
        make_scene(name)
    (tmp_path / "data" / "b" / "gt_disp_lowres.pfm").unlink()
    for name in ("a", "b"):
        write_pfm(tmp_path / "pred" / f"{name}.pfm", np.full((32, 40), 0.5))
    code, table, _, report = score()
    assert code == 0
    assert report["not_scored"] == {"no map": ["c"], "no ground truth": ["b"]}
    assert "not scored, no map: c" in table
    assert "not scored, no ground truth: b" in table


def test_pixels_that_are_not_numbers_are_reported(score, make_scene, tmp_path):
    make_scene("a")
    prediction = np.full((32, 40), 0.5)
    prediction[10, 10] = np.nan
    write_pfm(tmp_path / "pred" / "a.pfm", prediction)
    code, table, _, report = score()
    assert code == 0
    assert "a: 1 of 1008 predicted pixels are not numbers" in table
    assert report["scenes"]["a"]["non_finite"] == 1
    assert report["scenes"]["a"]["mse_100"] is None  # infinite, which JSON cannot say
    assert report["scenes"]["a"]["badpix_007"] == pytest.approx(100 / 1008)


def break_prediction_size(tmp_path):
    write_pfm(tmp_path / "pred" / "a.pfm", np.zeros((8, 8)))


def break_prediction_header(tmp_path):
    (tmp_path / "pred" / "a.pfm").write_bytes(b"Pf\n1000000000 1\n-1\n" + bytes(64))


def break_prediction_by_colour(tmp_path):
    write_pfm(tmp_path / "pred" / "a.pfm", np.zeros((32, 40, 3)))


def make_prediction_unreadable(tmp_path):
    (tmp_path / "pred" / "a.pfm").unlink()
    (tmp_path / "pred" / "a.pfm").mkdir()


def remove_prediction(tmp_path):
    (tmp_path / "pred" / "a.pfm").unlink()


def add_stranger(tmp_path):
    write_pfm(tmp_path / "pred" / "b.pfm", np.zeros((8, 8)))


def fill_ground_truth_with_nan(tmp_path):
    write_pfm(tmp_path / "data" / "a" / "gt_disp_lowres.pfm", np.full((32, 40), np.nan))


def truncate_ground_truth(tmp_path):
    path = tmp_path / "data" / "a" / "gt_disp_lowres.pfm"
    path.write_bytes(path.read_bytes()[:100])


def make_one_pixel(tmp_path):
    write_pfm(tmp_path / "data" / "a" / "gt_disp_lowres.pfm", np.zeros((1, 1)))
    write_pfm(tmp_path / "pred" / "a.pfm", np.zeros((1, 1)))


def empty_the_data(tmp_path):
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    (tmp_path / "data").mkdir()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (break_prediction_size, "pred/a.pfm: the prediction is 8 x 8 pixels, the ground truth 40 x 32"),
        (break_prediction_header, "pred/a.pfm is damaged: its header says 1000000000 x 1"),
        (break_prediction_by_colour, "pred/a.pfm is a colour PFM"),
        (make_prediction_unreadable, "is a folder, not a file"),
        (remove_prediction, "has no <scene>.pfm"),
        (add_stranger, "has a map of b"),
        (fill_ground_truth_with_nan, "no pixel to score"),
        (truncate_ground_truth, "gt_disp_lowres.pfm is damaged"),
        (make_one_pixel, "leaves nothing of a 1 x 1 pixels map"),
        (empty_the_data, "no scene under"),
    ],
)
def test_bad_input_is_one_line_code_2_and_writes_nothing(score, make_scene, tmp_path, damage, message):
    make_scene("a")
    write_pfm(tmp_path / "pred" / "a.pfm", np.full((32, 40), 0.5))
    damage(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    code, output, error, report = score()
    assert (code, output, report) == (2, "", None)
    assert message in error
    assert error.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("scenes", "message"),
    [
        ("a,b", "has no b.pfm"),
        ("a,z", "no scene z under"),
        ("training", "no scene boxes, cotton"),
        (",", "--scenes names no scene"),
    ],
)
def test_scenes_asked_for_by_name_must_all_be_there(score, make_scene, tmp_path, scenes, message):
    make_scene("a")
    make_scene("b")
    write_pfm(tmp_path / "pred" / "a.pfm", np.full((32, 40), 0.5))
    code, output, error, report = score("--scenes", scenes)
    assert (code, output, report) == (2, "", None)
    assert message in error
    assert error.count("\n") == 1


def test_only_the_scenes_asked_for_are_scored(score, make_scene, tmp_path):
    for name in ("a", "b"):
        make_scene(name)
        write_pfm(tmp_path / "pred" / f"{name}.pfm", np.full((32, 40), 0.5))
    code, _, _, report = score("--scenes", "b")
    assert code == 0
    assert list(report["scenes"]) == ["b"]
