from pathlib import Path

import numpy as np
import pytest

from freqlf.data.hci import find_scene
from freqlf.errors import FreqLFError
from freqlf.io.image import write_image
from freqlf.lightfield import LINES, LightField, project_pixel

INNER = (slice(6, -6), slice(6, -6))  # away from what shifting brings in


def measure_disparity(field: LightField) -> tuple[float, float]:
    """Disparity along v and along u by least squares on the two neighbours of the central view.

    A pixel's brightness changes by -(dI/dt), so I(next) - I(previous) = 2 d * gradient for a smooth texture.
    """
    u, v = field.centre
    gradient_y, gradient_x = np.gradient(field.centre_view(), axis=(0, 1))
    estimates = []
    for gradient, following, previous in (
        (gradient_x, field.view(u, v + 1), field.view(u, v - 1)),
        (gradient_y, field.view(u + 1, v), field.view(u - 1, v)),
    ):
        g, change = gradient[INNER], (following - previous)[INNER] / 2
        estimates.append(float((g * change).sum() / (g * g).sum()))
    return estimates[0], estimates[1]


@pytest.mark.parametrize("disparity_px", [-1.0, 1.0, 2.0])
def test_a_point_is_seen_where_project_pixel_says(render_plane, disparity_px):
    field = LightField.from_array(render_plane(disparity_px, rows=5, columns=7))
    for u in range(5):
        for v in range(7):
            y, x = project_pixel(16.0, 20.0, disparity_px, (u - 2, v - 3))
            assert np.allclose(field.view(u, v)[int(y), int(x)], field.centre_view()[16, 20], atol=1e-6)


@pytest.mark.parametrize("disparity_px", [-0.7, 0.4])
def test_shearing_by_minus_the_disparity_aligns_all_views(render_plane, disparity_px):
    field = LightField.from_array(render_plane(disparity_px))
    aligned = field.sheared(-disparity_px)
    for direction in LINES:
        difference = np.abs(aligned.stack(direction) - aligned.centre_view())[:, *INNER]
        assert difference.max() < 1e-3, direction
        assert np.abs(field.stack(direction) - field.centre_view())[:, *INNER].max() > 0.03  # it was not aligned before


@pytest.mark.parametrize("k", [-1.0, 0.5, 2.0])
def test_shearing_adds_to_the_disparity(render_plane, k):
    field = LightField.from_array(render_plane(0.25)).sheared(k)
    expected = LightField.from_array(render_plane(0.25 + k))
    for u, v in ((2, 0), (0, 2), (4, 4), (0, 4)):
        assert np.allclose(field.view(u, v)[INNER], expected.view(u, v)[INNER], atol=1e-3)


def test_shearing_by_whole_pixels_is_exact(render_plane):
    array = render_plane(0.3)
    field = LightField.from_array(array).sheared(1.0)
    assert np.array_equal(field.view(2, 3)[:, :-1], array[2, 3][:, 1:])
    assert np.array_equal(field.view(1, 2)[1:], array[1, 2][:-1])


@pytest.mark.parametrize(
    ("name", "transform", "factor"),
    [
        ("as it is", lambda field: field, 1.0),
        ("transposed", lambda field: field.transposed(), 1.0),
        ("cropped", lambda field: field.crop(3, 5, 25, 30), 1.0),
        ("doubled", lambda field: field.scaled(2.0), 2.0),
        ("shrunk", lambda field: field.scaled(0.75), 0.75),
        ("every other view", lambda field: field.subgrid(3, 3, stride=2), 2.0),
        ("fewer views", lambda field: field.subgrid(3, 5), 1.0),
    ],
)
@pytest.mark.parametrize("disparity_px", [-0.3, 0.3])
def test_transformations_keep_or_scale_the_disparity(render_plane, name, transform, factor, disparity_px):
    field = transform(LightField.from_array(render_plane(disparity_px)))
    assert measure_disparity(field) == pytest.approx((factor * disparity_px, factor * disparity_px), rel=0.1)


def test_the_stacks_are_ordered_lines_through_the_centre():
    array = np.zeros((5, 7, 4, 4), np.uint8)
    array += (16 * np.arange(5)[:, None, None, None] + np.arange(7)[None, :, None, None]).astype(np.uint8)
    field = LightField.from_array(array)

    def views_of(stack: np.ndarray) -> list[tuple[int, int]]:
        return [divmod(round(255 * float(view[0, 0, 0])), 16) for view in stack]

    assert field.centre == (2, 3)
    assert views_of(field.stack("horizontal")) == [(2, v) for v in range(7)]
    assert views_of(field.stack("vertical")) == [(u, 3) for u in range(5)]
    assert views_of(field.stack("diagonal")) == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    assert views_of(field.stack("antidiagonal")) == [(0, 5), (1, 4), (2, 3), (3, 2), (4, 1)]
    assert views_of(field.subgrid(3, 3, stride=1).stack("diagonal")) == [(1, 2), (2, 3), (3, 4)]


def test_transposing_swaps_the_two_stacks(render_plane):
    field = LightField.from_array(render_plane(0.5, rows=3, columns=7))
    swapped = field.transposed()
    assert (swapped.rows, swapped.columns, swapped.height, swapped.width) == (7, 3, 40, 32)
    assert np.array_equal(swapped.stack("vertical"), field.stack("horizontal").transpose(0, 2, 1, 3))


def test_transposing_twice_gives_the_same_views(render_plane):
    field = LightField.from_array(render_plane(0.5))
    assert np.array_equal(field.transposed().transposed().view(1, 3), field.view(1, 3))


def test_epi_slices_show_lines_of_slope_minus_disparity(render_plane):
    field = LightField.from_array(render_plane(2.0))
    horizontal, vertical = field.epi_horizontal(10), field.transposed().epi_horizontal(12)
    assert horizontal.shape == (5, 40, 3)
    assert vertical.shape == (5, 32, 3)
    for row in range(1, 5):
        assert np.allclose(horizontal[row, :-2], horizontal[row - 1, 2:], atol=1e-6)
        assert np.allclose(vertical[row, :-2], vertical[row - 1, 2:], atol=1e-6)


def test_scaling_rounds_the_size_down_and_keeps_both_axes_in_step(render_plane):
    field = LightField.from_array(render_plane(0.4, height=33, width=41)).scaled(0.7)
    assert (field.height, field.width) == (23, 28)
    assert measure_disparity(field) == pytest.approx((0.28, 0.28), rel=0.1)


def test_only_the_views_asked_for_are_read(tmp_path):
    write_image(tmp_path / "centre.png", np.full((4, 6, 3), 51, np.uint8))
    views = {(1, 1): tmp_path / "centre.png", (1, 0): tmp_path / "does_not_exist.png"}
    field = LightField(3, 3, views, lambda u, v: f"file_{u}{v}.png").reordered(reverse_columns=True).crop(0, 0, 4, 4)
    assert np.allclose(field.centre_view(), 0.2)
    assert field.has_view(1, 2)
    assert not field.has_view(0, 0)
    assert not field.has_view(1, 3)
    with pytest.raises(FreqLFError, match=r"view \(0, 0\) is missing: file_02\.png"):
        field.view(0, 0)
    with pytest.raises(FreqLFError, match=r"does_not_exist\.png does not exist"):
        field.view(1, 2)


def test_views_are_kept_and_protected(render_plane):
    field = LightField.from_array(render_plane(0.5)).sheared(0.1)
    assert field.view(0, 0) is field.view(0, 0)
    with pytest.raises(ValueError, match="read-only"):
        field.view(0, 0)[0, 0] = 0


def test_forgotten_views_are_read_again(tmp_path):
    path = tmp_path / "view.png"
    write_image(path, np.full((8, 9, 3), 51, np.uint8))
    field = LightField(3, 3, {(1, 1): path, (0, 0): path})
    shown = field.reordered(reverse_columns=True).sheared(0.0)
    shown.view(1, 1)
    write_image(path, np.full((8, 9, 3), 102, np.uint8))
    assert np.all(shown.view(1, 1) == np.float32(0.2))  # kept, here and in the light field it was derived from
    assert np.all(field.view(1, 1) == np.float32(0.2))
    shown.forget(1, 1)
    shown.forget(0, 2)  # nobody has asked for it yet
    assert np.all(shown.view(1, 1) == np.float32(0.4))
    assert np.all(field.view(1, 1) == np.float32(0.4))


def test_protecting_views_leaves_the_callers_array_alone(render_plane):
    array = render_plane(0.5)
    LightField.from_array(array).stack("horizontal")
    array[...] = 0  # still writable


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("channels", [None, 1, 3, 4])
def test_all_pixel_types_become_float_rgb(dtype, channels):
    top = np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else 1
    array = np.zeros((3, 3, 2, 2) if channels is None else (3, 3, 2, 2, channels), dtype)
    array[..., 0, 0] = top
    view = LightField.from_array(array).centre_view()
    assert view.dtype == np.float32
    assert view.shape == (2, 2, 3)
    assert (view.min(), view.max()) == (0, 1)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((4, 5, 8, 8)), "no central one; both counts must be odd"),
        (np.zeros((5, 4, 8, 8)), "no central one"),
        (np.zeros((1, 1, 8, 8)), "at least 3 x 3 views, or a single row or column of 3, not 1 x 1"),
        (np.zeros((3, 8, 8)), r"not the shape \(3, 8, 8\)"),
        (np.zeros((3, 3, 1, 1)), "at least 2 x 2"),
        (np.zeros((3, 3, 1, 9)), "9 x 1 pixels"),
        (np.zeros((3, 3, 4, 4), int), "give uint8, uint16 or floats"),
        (np.full((3, 3, 4, 4), 255.0), r"outside \[0, 1\]"),
        (np.full((3, 3, 4, 4), np.nan), r"outside \[0, 1\]"),
        (np.zeros((3, 3, 4, 4, 2)), "must be"),
    ],
)
def test_impossible_arrays_are_refused(array, message):
    with pytest.raises(FreqLFError, match=message):
        LightField.from_array(array).centre_view()


def test_views_of_different_sizes_are_both_named():
    views = {(1, v): np.zeros((4, 4 + (v == 2))) for v in range(3)}
    with pytest.raises(FreqLFError, match=r"view \(1, 2\) has 5 x 4 pixels and view \(1, 0\) has 4 x 4"):
        LightField(3, 3, views).stack("horizontal")


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (lambda field: field.crop(0, 0, 33, 10), "must be at least 2 x 2 and lie within"),
        (lambda field: field.crop(-1, 0, 10, 10), "must be at least 2 x 2 and lie within"),
        (lambda field: field.scaled(0.01), "2 x 2 pixels must remain"),
        (lambda field: field.scaled(float("inf")), "cannot scale"),
        (lambda field: field.subgrid(7, 5), "do not fit"),
        (lambda field: field.subgrid(5, 5, stride=2), "do not fit"),
        (lambda field: field.subgrid(4, 4), "no central one"),
        (lambda field: field.sheared(float("nan")), "finite"),
        (lambda field: field.view(5, 0), "outside the grid"),
        (lambda field: field.stack("sideways"), "choose one of horizontal"),
        (lambda field: field.epi_horizontal(32), "row 32"),
    ],
)
def test_impossible_requests_are_refused(render_plane, transform, message):
    with pytest.raises(FreqLFError, match=message):
        transform(LightField.from_array(render_plane(0.0)))


@pytest.mark.hci
def test_the_sign_of_disparity_agrees_with_the_benchmarks_ground_truth(hci_root: Path):
    """Views sampled where the ground truth says must resemble the centre; with the sign turned they must not."""
    from scipy.ndimage import map_coordinates

    scene = find_scene(hci_root, "cotton")
    field, disparity_px = scene.light_field(), scene.disparity_px()
    assert disparity_px is not None
    y, x = np.mgrid[: field.height, : field.width].astype(np.float64)
    for step in ((0, -4), (0, 3), (-4, 0), (3, 0), (2, 2), (2, -2)):
        errors = []
        for sign in (1, -1):
            coordinates = project_pixel(y, x, sign * disparity_px, step)
            view = field.view(4 + step[0], 4 + step[1])[..., 1]
            warped = map_coordinates(view, coordinates, order=1, mode="nearest")
            errors.append(np.median(np.abs(warped - field.centre_view()[..., 1])))
        assert errors[0] < 0.4 * errors[1], step
