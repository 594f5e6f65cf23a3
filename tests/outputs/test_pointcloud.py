from dataclasses import replace

import numpy as np
import pytest

from freqlf.errors import FreqLFError
from freqlf.io.parameters import Parameters
from freqlf.outputs.pointcloud import PointFilter, build_point_cloud, compute_depth_mm, select_points, unproject

CAMERA = Parameters(
    focal_mm=100.0,
    sensor_mm=35.0,
    baseline_mm=60.0,
    focus_distance_m=6.9,
    width_px=40,
    height_px=31,
    num_cams_x=9,
    num_cams_y=9,
    disp_min_px=-2,
    disp_max_px=2,
)
SHAPE = (31, 40)
GREY = np.full((*SHAPE, 3), 0.5, np.float32)
ALL = PointFilter(max_interval=None, max_no_evidence=None, max_jump_px=None)


@pytest.mark.parametrize("depth_mm", [3000.0, 6900.0, 20000.0])
@pytest.mark.parametrize("camera", [CAMERA, replace(CAMERA, width_px=31, height_px=40)])
def test_a_plane_lies_at_its_depth_and_spans_the_field_of_view(depth_mm, camera):
    shape = (camera.height_px, camera.width_px)
    disparity_px = np.full(shape, camera.disparity_px(np.array(depth_mm / 1000)))
    assert np.allclose(compute_depth_mm(disparity_px, camera), depth_mm, rtol=1e-6)
    points_mm = build_point_cloud(disparity_px, np.zeros((*shape, 3), np.float32), camera).points_mm
    assert points_mm.shape == (40 * 31, 3)
    assert np.allclose(points_mm[:, 2], depth_mm, rtol=1e-6)
    # The longer side of 40 pixels is 35 mm of sensor at 100 mm; its outer pixel centres are 39 pixels apart.
    longer = 0 if camera.width_px == 40 else 1
    assert np.ptp(points_mm[:, longer]) == pytest.approx(39 / 40 * 35 / 100 * depth_mm, rel=1e-5)
    assert np.ptp(points_mm[:, 1 - longer]) == pytest.approx(30 / 40 * 35 / 100 * depth_mm, rel=1e-5)
    assert np.allclose(points_mm.mean(axis=0)[:2], 0, atol=1e-4 * depth_mm)
    first, last = points_mm[0], points_mm[-1]
    assert (first[:2] < 0).all()  # top left is left of and above the axis: x points right, y down
    assert (last[:2] > 0).all()


def test_points_are_seen_by_the_other_cameras_where_the_disparity_says():
    """Independent of the depth formula: pinholes one baseline apart, with sensors shifted to the focus plane."""
    disparity_px = np.random.default_rng(0).uniform(-0.9, 2, SHAPE)  # infinity is at -0.99
    points_mm = unproject(compute_depth_mm(disparity_px, CAMERA), CAMERA).astype(np.float64)
    focal_px = 100.0 / 35.0 * 40
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    for u, v in ((0, 0), (0, 1), (1, 0), (-4, 3)):
        relative_mm = points_mm - np.array([v * 60.0, u * 60.0, 0])
        seen_x = focal_px * (relative_mm[..., 0] / relative_mm[..., 2] + v * 60.0 / 6900) + 19.5
        seen_y = focal_px * (relative_mm[..., 1] / relative_mm[..., 2] + u * 60.0 / 6900) + 15
        assert np.allclose(seen_x, x - v * disparity_px, atol=1e-3)
        assert np.allclose(seen_y, y - u * disparity_px, atol=1e-3)


def test_colours_stay_with_their_points():
    view = np.random.default_rng(1).integers(0, 256, (*SHAPE, 3)).astype(np.uint8)
    deviation_px = np.full(SHAPE, 0.1)
    deviation_px[5] = 9
    limits = PointFilter(max_deviation_px=0.3)
    cloud = build_point_cloud(np.zeros(SHAPE), view.astype(np.float32) / 255, CAMERA, deviation_px, limits)
    kept = np.delete(view, 5, axis=0).reshape(-1, 3)
    assert len(cloud) == len(kept)
    assert cloud.colours.dtype == np.uint8
    assert np.array_equal(cloud.colours, kept)


def test_uncertain_points_are_left_out_if_the_deviation_is_known():
    deviation_px = np.full(SHAPE, 0.1)
    deviation_px[3, 4], deviation_px[0, 0] = 0.31, np.nan
    depth_mm = np.ones(SHAPE)
    selected = select_points(np.zeros(SHAPE), depth_mm, deviation_px, PointFilter(max_deviation_px=0.3))
    assert np.argwhere(~selected).tolist() == [[0, 0], [3, 4]]
    assert select_points(np.zeros(SHAPE), depth_mm, deviation_px, ALL).all()
    assert select_points(np.zeros(SHAPE), depth_mm, None).all()


def test_intervals_count_by_how_deep_the_scene_is():
    disparity_px = np.repeat(np.linspace(-4, 4, 40)[None], 31, axis=0)  # 0.2 px a pixel
    interval_px, no_evidence = np.full(SHAPE, 1.5), np.zeros(SHAPE)
    interval_px[3] = 2.5
    no_evidence[4] = 0.6
    known = {"interval_px": interval_px, "no_evidence": no_evidence}
    selected = select_points(disparity_px, np.ones(SHAPE), None, **known)
    assert np.flatnonzero(~selected.all(axis=1)).tolist() == [3, 4]
    assert not select_points(disparity_px / 8, np.ones(SHAPE), None, **known).any()  # as wide as that scene is deep
    assert select_points(disparity_px, np.ones(SHAPE), None, PointFilter(None, None), **known).all()


def test_points_at_the_edges_of_objects_are_left_out_but_steep_surfaces_stay():
    disparity_px = np.repeat(np.arange(40)[None] * 0.1, 31, axis=0)
    disparity_px[10:20, 12:24] += 1.0
    disparity_px[25, 30] = np.nan  # a hole is no edge
    selected = select_points(disparity_px, np.ones(SHAPE))
    edge = np.zeros(SHAPE, bool)
    edge[9:21, 11:25] = True
    edge[11:19, 13:23] = False
    edge[25, 30] = True
    assert np.array_equal(selected, ~edge)
    assert select_points(disparity_px, np.ones(SHAPE), None, ALL).sum() == 31 * 40 - 1


def test_what_has_no_depth_or_is_too_far_is_no_point():
    disparity_px = np.zeros(SHAPE)
    disparity_px[0, 0] = -1e3  # beyond infinity
    disparity_px[0, 1] = np.nan
    disparity_px[0, 2] = CAMERA.disparity_px(np.array(9.0))
    depth_mm = compute_depth_mm(disparity_px, CAMERA)
    assert np.isinf(depth_mm[0, 0])
    assert np.isnan(depth_mm[0, 1])
    assert len(build_point_cloud(disparity_px, GREY, CAMERA, limits=ALL)) == 31 * 40 - 2
    nearer = replace(ALL, max_depth_mm=8000.0)
    assert len(build_point_cloud(disparity_px, GREY, CAMERA, limits=nearer)) == 31 * 40 - 3
    nothing = build_point_cloud(np.full(SHAPE, np.nan), GREY, CAMERA)
    assert nothing.points_mm.shape == nothing.colours.shape == (0, 3)


def test_cameras_of_another_size_and_senseless_limits_are_refused():
    with pytest.raises(FreqLFError, match="40 x 31 pixels, but the views have 31 x 40"):
        compute_depth_mm(np.zeros((40, 31)), CAMERA)
    for limits in ({"max_deviation_px": 0}, {"max_jump_px": -1.0}, {"max_depth_mm": float("nan")}):
        with pytest.raises(FreqLFError, match=f"{next(iter(limits))} must be a positive number"):
            PointFilter(**limits)
