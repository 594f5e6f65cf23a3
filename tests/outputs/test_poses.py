"""Poses for radiance fields: a point in space must be where each view shows it."""

import json

import numpy as np
import pytest

import freqlf
from freqlf.errors import FreqLFError
from freqlf.io.image import read_pixels
from freqlf.io.parameters import Parameters
from freqlf.lightfield import LightField, project_pixel
from freqlf.outputs.pointcloud import compute_depth_mm, unproject
from freqlf.outputs.poses import write_poses

DISPARITY_PX = 0.75
CAMERA = Parameters(100.0, 35.0, 20.0, 4.0, 80, 64, 5, 5, -1.0, 1.0)


@pytest.fixture
def field(render_plane) -> LightField:
    return LightField.from_array(render_plane(DISPARITY_PX, height=64, width=80))


def project(point_m, pose, focal_px, cx, cy):
    """Pixel (y, x), counted from the middle of the first one, at which an OpenGL camera sees a point."""
    x, y, z = pose[:3, :3].T @ (point_m - pose[:3, 3])
    return cy - focal_px * y / -z - 0.5, cx + focal_px * x / -z - 0.5


def test_points_are_where_the_views_show_them(tmp_path, field):
    write_poses(tmp_path, field, CAMERA, (1.0, 9.0))
    disparity_px = np.full((64, 80), DISPARITY_PX, np.float32)
    points_m = unproject(compute_depth_mm(disparity_px, CAMERA), CAMERA) / 1000 * (1, -1, -1)  # as OpenGL has it
    record = json.loads((tmp_path / "transforms.json").read_text())
    assert len(record["frames"]) == 25
    for frame in record["frames"]:
        u, v = map(int, frame["file_path"][len("images/view_") :][:-4].split("_"))
        pixels = read_pixels(tmp_path / frame["file_path"])
        assert np.abs(pixels / 255 - field.view(u, v)).max() < 0.51 / 255
        seen = project(points_m[30, 40], np.array(frame["transform_matrix"]), record["fl_x"], frame["cx"], frame["cy"])
        assert seen == pytest.approx(project_pixel(30, 40, DISPARITY_PX, (u - 2, v - 2)), abs=1e-3)

    rows = np.load(tmp_path / "llff" / "poses_bounds.npy")
    names = sorted(path.name for path in (tmp_path / "llff" / "images").iterdir())
    assert rows.shape == (25, 17)
    assert rows[:, 15:].tolist() == [[1.0, 9.0]] * 25
    centre = read_pixels(tmp_path / "llff" / "images" / "view_02_02.png")
    for row, name in zip(rows, names, strict=True):
        down, right, back, position, (height, width, focal_px) = row[:15].reshape(3, 5).T
        pose = np.eye(4)
        pose[:3] = np.column_stack([right, -down, back, position])
        assert np.linalg.det(pose[:3, :3]) == pytest.approx(1)
        picture = read_pixels(tmp_path / "llff" / "images" / name)
        assert picture.shape == (height, width, 3) == centre.shape
        margin = (80 - width) / 2
        y, x = project(points_m[30, 40], pose, focal_px, width / 2, height / 2)
        if 1 <= y < height - 2 and 1 <= x < width - 2:
            top, left = int(np.floor(y)), int(np.floor(x))
            down_by, right_by = y - top, x - left
            corner = picture[top : top + 2, left : left + 2].astype(float)
            shown = np.tensordot(np.outer((1 - down_by, down_by), (1 - right_by, right_by)), corner, 2)
            assert shown == pytest.approx(centre[int(30 - margin), int(40 - margin)], abs=8)


def test_poses_need_a_camera(tmp_path, array):
    unknown = freqlf.estimate(array, "slope")
    with pytest.raises(FreqLFError, match="needs the camera"):
        unknown.save(tmp_path / "out", poses=True)
    assert not (tmp_path / "out").exists()
    known = freqlf.estimate(array, "slope", near_m=1.0, far_m=2.0)
    files = {path.name for path in known.save(tmp_path / "out", poses=True)}
    assert {"poses", "depth.pfm"} <= files
    bounds = np.load(tmp_path / "out" / "poses" / "llff" / "poses_bounds.npy")[0, 15:]
    assert bounds == pytest.approx((1.0, 2.0), rel=0.1)
    known.save(tmp_path / "out", overwrite=True)
    assert not (tmp_path / "out" / "poses").exists()
