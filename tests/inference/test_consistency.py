import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, map_coordinates

from freqlf.data.hci import find_scene
from freqlf.inference.consistency import Ordering, check_consistency
from freqlf.lightfield import LightField

ORDERINGS = [
    Ordering(rows, columns, swap) for swap in (False, True) for rows in (False, True) for columns in (False, True)
]


def shuffled(array, ordering):
    """The light field in the wrong order that `ordering` puts right."""
    array = array[::-1] if ordering.reverse_rows else array
    array = array[:, ::-1] if ordering.reverse_columns else array
    return array.swapaxes(0, 1) if ordering.swap else array


@pytest.mark.parametrize("ordering", ORDERINGS, ids=str)
def test_any_order_is_put_right(array, ordering):
    light_field = LightField.from_array(shuffled(array, ordering))
    found = check_consistency(light_field)
    assert found.ordering == ordering
    assert found.sign_is_sure
    assert found.warning is None
    assert found.unexplained < 0.5
    reordered = light_field.reordered(
        reverse_rows=ordering.reverse_rows, reverse_columns=ordering.reverse_columns, swap=ordering.swap
    )
    assert np.array_equal(reordered.view(1, 3), array[1, 3].astype(np.float32) / np.float32(255))


def test_without_occlusions_the_columns_are_trusted(render_plane):
    array = render_plane(0.8, height=64, width=80)
    assert check_consistency(LightField.from_array(array)).ordering == Ordering()
    found = check_consistency(LightField.from_array(array[:, ::-1]))
    assert found.ordering == Ordering(reverse_rows=True)  # reversing the columns back would do as well
    assert not found.sign_is_sure
    found = check_consistency(LightField.from_array(array[::-1, ::-1]))
    assert (found.ordering, found.sign_is_sure) == (Ordering(), False)


def test_the_sign_is_left_alone_when_told_so(array):
    found = check_consistency(LightField.from_array(array[::-1, ::-1]), settle_sign=False)
    assert (found.ordering, found.sign_is_sure) == (Ordering(), False)


def test_noise_does_not_hide_the_order(array):
    noise = np.random.default_rng(0).normal(0, 5, array.shape)
    noisy = np.clip(array[::-1] + noise, 0, 255).astype(np.uint8)
    assert check_consistency(LightField.from_array(noisy)).ordering == Ordering(reverse_rows=True)


def test_views_that_are_not_rectified_are_warned_about(array):
    rng = np.random.default_rng(1)
    jolted = np.stack([[np.roll(view, rng.integers(-6, 7, 2), (0, 1)) for view in row] for row in array])
    found = check_consistency(LightField.from_array(jolted))
    assert "not be rectified" in found.warning
    assert found.ordering == Ordering()


def test_views_without_parallax_are_warned_about(array):
    still = np.broadcast_to(array[2, 2], array.shape)
    assert "hardly differ" in check_consistency(LightField.from_array(still)).warning


@pytest.mark.hci
@pytest.mark.parametrize("name", ["dino", "sideboard"])
def test_scenes_of_the_benchmark(hci_root, name):
    light_field = find_scene(hci_root, name).light_field()
    for ordering in (Ordering(), Ordering(reverse_columns=True), Ordering(True, True), Ordering(True, False, True)):
        disordered = light_field.reordered(
            reverse_rows=ordering.reverse_columns if ordering.swap else ordering.reverse_rows,
            reverse_columns=ordering.reverse_rows if ordering.swap else ordering.reverse_columns,
            swap=ordering.swap,
        )
        found = check_consistency(disordered)
        assert (found.ordering, found.sign_is_sure, found.warning) == (ordering, True, None)


@pytest.mark.hci
def test_what_views_see_beyond_the_border_is_no_occlusion(hci_root):
    far_from_zero = find_scene(hci_root, "dino").light_field().scaled(0.375).sheared(4)
    found = check_consistency(far_from_zero)
    assert (found.ordering, found.sign_is_sure, found.warning) == (Ordering(), True, None)


def test_stripes_along_which_nothing_moves_leave_the_order_alone():
    """White stripes, as wide as they are apart, before a textured plane: only the plane tells about columns."""
    rng = np.random.default_rng(0)
    texture = gaussian_filter(rng.random((256, 256, 3)), (1, 1, 0), mode="wrap")
    texture = (texture - texture.min()) / (texture.max() - texture.min())
    fine = 3  # samples of a pixel along each axis
    place = (np.arange(192 * fine) + 0.5) / fine - 0.5
    views = {}
    for u, v in sorted({(4, k) for k in range(9)} | {(k, 4) for k in range(9)}):
        y, x = (place + (step - 4) * -0.5 for step in (u, v))
        where = np.meshgrid(y % 256, x % 256, indexing="ij")
        far = np.stack([map_coordinates(texture[..., c], where, order=1, mode="grid-wrap") for c in range(3)], -1)
        row, column = place[:, None] + (u - 4) * 0.6, place[None, :] + (v - 4) * 0.6
        is_stripe = (column / (2 + row // 32)) % 2 < 1
        image = np.where(is_stripe[..., None], 0.9, far)
        views[u, v] = image.reshape(192, fine, 192, fine, 3).mean(axis=(1, 3)).astype(np.float32)
    assert check_consistency(LightField(9, 9, views)).ordering == Ordering()
