import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from faults import no_file_larger_than, read_only
from PIL import Image

from freqlf.data.hci import Scene
from freqlf.errors import FreqLFError
from freqlf.inference.estimate import load_estimator
from freqlf.io.image import read_pixels
from freqlf.io.parameters import Parameters
from freqlf.io.pfm import read_pfm
from freqlf.io.ply import read_ply
from freqlf.io.png16 import read_png16
from freqlf.lightfield import LightField
from freqlf.outputs import folder as outputs
from freqlf.outputs.estimate import INTERVAL, Estimate
from freqlf.outputs.folder import OutputOptions
from freqlf.outputs.pointcloud import PointFilter

HEIGHT, WIDTH = 32, 40
CAMERA = Parameters(
    focal_mm=100.0,
    sensor_mm=35.0,
    baseline_mm=20.0,
    focus_distance_m=4.0,
    width_px=WIDTH,
    height_px=HEIGHT,
    num_cams_x=5,
    num_cams_y=5,
    disp_min_px=-1.0,
    disp_max_px=1.0,
)
MAPS = {"disparity.pfm", "disparity.png", "disparity.npy", "pointcloud.ply", "estimate.json"}
PREVIEWS = {"centre-view.png", "disparity-preview.png", "views.webp"}
UNCERTAINTY = {"deviation.pfm", "lower.pfm", "upper.pfm"}
FEW = OutputOptions(previews=False)


def write_estimate(directory, estimate, field, parameters=None, options=OutputOptions(), facts=None, **kwargs):  # noqa: B008
    """The estimate as that of another light field and camera, written."""
    known = replace(estimate, light_field=field, parameters=parameters, facts=facts or {})
    return outputs.write_estimate(directory, known, options, **kwargs)


@pytest.fixture
def field(render_plane) -> LightField:
    return LightField.from_array(render_plane(0.5))


@pytest.fixture
def certain(field) -> Estimate:
    """An estimate that knows no uncertainty."""
    disparity_px = np.random.default_rng(0).uniform(0.4, 0.6, (HEIGHT, WIDTH)).astype(np.float32)
    return Estimate(disparity_px, disparity_px, None, None, None, model="slope", seconds=1.5, light_field=field)


@pytest.fixture
def uncertain(certain) -> Estimate:
    deviation_px = np.full((HEIGHT, WIDTH), 0.1, np.float32)
    deviation_px[:4] = 2.0
    bounds = {"lower_px": certain.disparity_px - deviation_px, "upper_px": certain.disparity_px + deviation_px}
    return replace(certain, deviation_px=deviation_px, model="some/weights.safetensors", **bounds)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_maps_come_back_as_they_were(tmp_path, field, certain):
    written = write_estimate(tmp_path / "out", certain, field)
    assert names(tmp_path) == {"out"}
    assert names(tmp_path / "out") == {path.name for path in written} == MAPS | PREVIEWS
    assert np.array_equal(read_pfm(tmp_path / "out" / "disparity.pfm"), certain.disparity_px)
    assert np.array_equal(np.load(tmp_path / "out" / "disparity.npy", allow_pickle=False), certain.disparity_px)
    assert np.abs(read_png16(tmp_path / "out" / "disparity.png") - certain.disparity_px).max() < 0.2 / 65534
    assert (
        np.abs(read_pixels(tmp_path / "out" / "centre-view.png") / 255 - field.centre_view()).max() <= 0.5 / 255 + 1e-6
    )


def test_uncertainty_is_written_if_it_is_known(tmp_path, field, uncertain):
    write_estimate(tmp_path / "out", uncertain, field)
    assert names(tmp_path / "out") == MAPS | PREVIEWS | UNCERTAINTY | {"deviation-preview.png"}
    for name in ("deviation", "lower", "upper"):
        assert np.array_equal(read_pfm(tmp_path / "out" / f"{name}.pfm"), getattr(uncertain, f"{name}_px"))


def test_a_camera_gives_depth_and_certain_points(tmp_path, field, uncertain):
    write_estimate(tmp_path / "out", uncertain, field, CAMERA, FEW)
    assert names(tmp_path / "out") == MAPS | UNCERTAINTY | {"depth.pfm", "pointcloud.ply"}
    depth_mm = read_pfm(tmp_path / "out" / "depth.pfm")
    assert np.allclose(depth_mm, 1000 * CAMERA.depth_m(uncertain.disparity_px))
    points_mm, colours = read_ply(tmp_path / "out" / "pointcloud.ply")
    assert np.array_equal(points_mm[:, 2].reshape(HEIGHT - 4, WIDTH), depth_mm[4:])  # four rows are uncertain
    assert np.abs(colours / 255 - field.centre_view()[4:].reshape(-1, 3)).max() <= 0.5 / 255 + 1e-6
    record = json.loads((tmp_path / "out" / "estimate.json").read_text())
    assert record["points"] == len(points_mm)
    assert record["camera"]["baseline_mm"] == 20.0
    write_estimate(tmp_path / "none", uncertain, field, CAMERA, OutputOptions(previews=False, points=None))
    assert "depth.pfm" in names(tmp_path / "none")
    assert "pointcloud.ply" not in names(tmp_path / "none")


def test_refocused_pictures_on_request(tmp_path, field, certain):
    at_plane = replace(certain, disparity_px=np.full((HEIGHT, WIDTH), 0.5, np.float32))
    write_estimate(tmp_path / "out", at_plane, field, options=OutputOptions(refocus_px=0.5, all_in_focus=True))
    assert names(tmp_path / "out") == MAPS | PREVIEWS | {"refocused.png", "all-in-focus.png"}
    view = read_pixels(tmp_path / "out" / "centre-view.png").astype(int)
    for name in ("refocused.png", "all-in-focus.png"):
        assert np.abs(read_pixels(tmp_path / "out" / name) - view)[8:-8, 8:-8].max() <= 1


def test_the_record_tells_how_the_result_came_about(tmp_path, render_plane, uncertain):
    array = render_plane(0.5)
    present = {(u, v): array[u, v] for u in range(5) for v in range(5) if 2 in (u, v)}
    disparity_px = uncertain.disparity_px.copy()
    disparity_px[0, 0] = np.nan
    options = OutputOptions(previews=False, points=PointFilter(max_deviation_px=0.2))
    facts = {"input": "scene", "read_seconds": 0.25}
    write_estimate(
        tmp_path / "out", replace(uncertain, disparity_px=disparity_px), LightField(5, 5, present), None, options, facts
    )
    record = json.loads((tmp_path / "out" / "estimate.json").read_text())
    assert record["freqlf_version"]
    assert record["created_utc"]
    assert record["model"] == "some/weights.safetensors"
    assert record["image"] == {"width_px": WIDTH, "height_px": HEIGHT}
    assert record["views"] == {"rows": 5, "columns": 5, "present": 9}
    assert record["disparity_px"]["min"] == pytest.approx(np.nanmin(disparity_px))
    assert record["disparity_px"]["max"] == pytest.approx(np.nanmax(disparity_px))
    assert record["disparity_px"]["not_finite"] == 1
    assert record["interval"] == {"level": INTERVAL, "calibrated": False}
    assert record["files"]["lower.pfm"].endswith("as predicted by the network")
    assert (record["input"], record["read_seconds"], record["network_seconds"]) == ("scene", 0.25, 1.5)
    assert record["output_options"]["points"]["max_deviation_px"] == 0.2
    assert set(record["files"]) == names(tmp_path / "out")
    assert (record["camera"], record["points_unit"]) == (None, "none")
    assert "without a unit" in record["files"]["pointcloud.ply"]


def test_results_are_replaced_only_on_request_and_then_wholly(tmp_path, field, uncertain, certain):
    out = tmp_path / "out"
    write_estimate(out, uncertain, field, CAMERA, FEW)
    (out / "notes.txt").write_text("mine")
    with pytest.raises(FreqLFError, match=r"already exists.*--overwrite"):
        write_estimate(out, certain, field)
    assert "depth.pfm" in names(out)
    write_estimate(out, certain, field, options=FEW, overwrite=True)
    assert names(out) == MAPS | {"notes.txt"}  # depth of the old estimate do not stay beside the new one
    assert names(tmp_path) == {"out"}


def test_overwriting_a_folder_that_holds_no_estimate_removes_nothing(tmp_path, field, certain):
    (tmp_path / "depth.pfm").write_text("somebody else's")
    write_estimate(tmp_path, certain, field, options=FEW, overwrite=True)
    assert names(tmp_path) == MAPS | {"depth.pfm"}


def test_the_current_folder_can_be_given(tmp_path, field, certain, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write_estimate(Path(), certain, field, options=FEW)
    assert names(tmp_path / "here") == MAPS
    assert names(tmp_path) == {"here"}


@pytest.mark.parametrize("size_bytes", [1000, 10_000])
def test_a_full_disk_leaves_nothing_and_says_where(tmp_path, field, uncertain, size_bytes):
    with no_file_larger_than(size_bytes), pytest.raises(FreqLFError) as caught:
        write_estimate(tmp_path / "out", uncertain, field, CAMERA)
    assert str(caught.value) == f"cannot write {tmp_path / 'out'}: File too large"
    assert names(tmp_path) == set()


def test_a_failure_leaves_the_earlier_result(tmp_path, field, uncertain, certain):
    write_estimate(tmp_path / "out", uncertain, field, options=FEW)
    with no_file_larger_than(1000), pytest.raises(FreqLFError, match="File too large"):
        write_estimate(tmp_path / "out", certain, field, overwrite=True)
    assert names(tmp_path) == {"out"}
    assert np.array_equal(read_pfm(tmp_path / "out" / "deviation.pfm"), uncertain.deviation_px)


def test_places_that_cannot_be_written_are_one_line(tmp_path, field, certain):
    folder = tmp_path / "shut"
    folder.mkdir()
    (tmp_path / "file").write_text("")
    for parent in [tmp_path, *tmp_path.parents[:2]]:
        parent.chmod(parent.stat().st_mode | 0o011)  # others may pass, so that only `shut` is shut
    with read_only(folder), pytest.raises(FreqLFError, match=f"cannot write {folder / 'out'}: Permission denied"):
        write_estimate(folder / "out", certain, field)
    assert names(folder) == set()
    with pytest.raises(FreqLFError, match="cannot write"):
        write_estimate(tmp_path / "file" / "out", certain, field)
    with pytest.raises(FreqLFError, match="is a file; choose another place"):
        write_estimate(tmp_path / "file", certain, field, overwrite=True)


def test_estimates_and_cameras_of_other_light_fields_are_refused(tmp_path, field, certain):
    smaller = replace(certain, disparity_px=certain.disparity_px[1:])
    with pytest.raises(FreqLFError, match=r"disparity_px of the estimate has the shape \(31, 40\)"):
        write_estimate(tmp_path / "out", smaller, field)
    with pytest.raises(FreqLFError, match="64 x 32 pixels, but the views have 40 x 32"):
        write_estimate(tmp_path / "out", certain, field, replace(CAMERA, width_px=64))
    assert names(tmp_path) == set()


def test_views_that_cannot_be_read_are_named_as_such(tmp_path, make_scene, certain):
    scene = Scene(make_scene())
    bad = scene.directory / "input_Cam003.png"
    bad.write_bytes(bad.read_bytes()[:200])
    with pytest.raises(FreqLFError, match=f"cannot read {bad} as an image"):
        write_estimate(tmp_path / "out", certain, scene.light_field(), options=OutputOptions(all_in_focus=True))
    assert not (tmp_path / "out").exists()


def test_from_a_scene_to_its_points(tmp_path, render_plane):
    """A plane at a known depth, estimated without learning, lies at that depth in the point cloud."""
    field = LightField.from_array(render_plane(0.5, rows=9, columns=9, height=48, width=56))
    camera = replace(CAMERA, width_px=56, height_px=48, num_cams_x=9, num_cams_y=9)
    load_estimator("slope")(field, parameters=camera).save(tmp_path / "out")
    points_mm, _ = read_ply(tmp_path / "out" / "pointcloud.ply")
    depth_mm = 1000 * float(camera.depth_m(np.array(0.5)))
    assert len(points_mm) > 0.9 * 48 * 56
    assert np.median(points_mm[:, 2]) == pytest.approx(depth_mm, rel=0.005)
    for name in ("disparity-preview.png", "centre-view.png"):
        with Image.open(tmp_path / "out" / name) as image:
            image.verify()
