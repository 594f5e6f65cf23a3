import numpy as np
import pytest

from freqlf.errors import FreqLFError
from freqlf.lightfield import LightField
from freqlf.outputs.refocus import refocus, render_all_in_focus


@pytest.mark.parametrize("disparity_px", [-1.3, 0.0, 1.0, 2.5])
def test_a_plane_is_sharp_at_its_own_disparity_up_to_the_border(render_plane, disparity_px):
    field = LightField.from_array(render_plane(disparity_px, rows=5, columns=7, height=41, width=50))
    for picture in (refocus(field, disparity_px), render_all_in_focus(field, np.full((41, 50), disparity_px))):
        assert picture.shape == (41, 50, 3)
        assert picture.dtype == np.float32
        error = np.abs(picture - field.centre_view())
        assert error[12:-12, 12:-12].max() < 1e-3  # beyond the reach of the views' own borders
        assert error.max() < 0.05


def test_a_plane_is_blurred_at_any_other_disparity(render_plane):
    field = LightField.from_array(render_plane(1.0, rows=9, columns=9, height=40, width=48))
    contrast = {d: refocus(field, d)[8:-8, 8:-8].std() for d in (-1.0, 0.5, 1.0, 1.5)}
    assert max(contrast, key=contrast.__getitem__) == 1.0
    assert contrast[-1.0] < 0.3 * contrast[1.0]  # minus the disparity is not the disparity
    assert contrast[0.5] == pytest.approx(contrast[1.5], rel=0.05)


def test_refocusing_is_the_mean_of_the_sheared_views(render_plane):
    field = LightField.from_array(render_plane(0.4))
    sheared = field.sheared(-1.25)
    mean = np.mean([sheared.view(u, v) for u in range(5) for v in range(5)], axis=0)
    assert np.abs(refocus(field, 1.25) - mean)[6:-6, 6:-6].max() < 1e-3


def test_missing_views_do_not_count(render_plane):
    array = render_plane(0.5)
    array[0, 0] = 0  # present, it would spoil the mean
    views = {(u, v): array[u, v] for u in range(5) for v in range(5) if (u, v) != (0, 0)}
    field = LightField(5, 5, views)
    assert np.abs(refocus(field, 0.5) - field.centre_view())[7:-7, 7:-7].max() < 1e-3


def two_planes(front_px: int, back_px: int, size_px: int = 48, views: int = 5) -> tuple[LightField, np.ndarray]:
    """A bright square over a dark texture, both rendered exactly, and the disparity of the central view."""
    rng = np.random.default_rng(3)
    margin = 20
    front = rng.uniform(0.7, 1.0, (size_px + 2 * margin,) * 2 + (3,))
    back = rng.uniform(0.0, 0.3, front.shape)
    mask = np.zeros(front.shape[:2], bool)
    mask[margin + 15 : margin + 33, margin + 12 : margin + 36] = True

    def shifted(layer: np.ndarray, step: tuple[int, int], disparity_px: int) -> np.ndarray:
        # what the centre sees at y is seen at y - step * d, so the view shows at y what lies at y + step * d
        y, x = margin + step[0] * disparity_px, margin + step[1] * disparity_px
        return layer[y : y + size_px, x : x + size_px]

    array = np.empty((views, views, size_px, size_px, 3), np.float32)
    for u in range(views):
        for v in range(views):
            step = (u - views // 2, v - views // 2)
            covered = shifted(mask, step, front_px)[..., None]
            array[u, v] = np.where(covered, shifted(front, step, front_px), shifted(back, step, back_px))
    disparity_px = np.where(shifted(mask, (0, 0), 0), front_px, back_px).astype(np.float32)
    return LightField.from_array(array), disparity_px


def test_all_in_focus_is_not_veiled_by_what_hides_the_background_in_other_views():
    field, disparity_px = two_planes(front_px=2, back_px=-1)
    picture = render_all_in_focus(field, disparity_px)
    assert np.abs(picture - field.centre_view()).max() < 1e-4
    blurred = refocus(field, -1.0)
    beside = np.s_[20:28, 7:11]  # background, close to the left edge of the square
    assert np.abs(blurred - field.centre_view())[beside].max() > 0.1


def test_all_in_focus_has_less_noise_than_the_central_view(render_plane):
    clean = render_plane(0.7, rows=5, columns=5)
    noisy = np.clip(clean + np.random.default_rng(0).normal(0, 0.02, clean.shape), 0, 1)
    picture = render_all_in_focus(LightField.from_array(noisy), np.full(clean.shape[2:4], 0.7))
    error = (picture - clean[2, 2])[4:-4, 4:-4].std()
    assert error < 0.25 * 0.02  # 25 views: a fifth, and interpolation takes some more


def test_pixels_without_disparity_keep_the_central_view(render_plane):
    field = LightField.from_array(render_plane(0.5))
    disparity_px = np.full((32, 40), -2.0)
    disparity_px[10:20, 10:20] = np.nan
    disparity_px[0, 0] = np.inf
    picture = render_all_in_focus(field, disparity_px)
    assert np.array_equal(picture[10:20, 10:20], field.centre_view()[10:20, 10:20])
    assert np.array_equal(picture[0, 0], field.centre_view()[0, 0])
    assert np.isfinite(picture).all()


def test_far_away_planes_of_focus_leave_the_central_view(render_plane):
    field = LightField.from_array(render_plane(0.5))
    assert np.array_equal(refocus(field, 1e6), field.centre_view())


def test_wrong_requests_are_one_line(render_plane):
    field = LightField.from_array(render_plane(0.5))
    with pytest.raises(FreqLFError, match="must be a finite number, not nan"):
        refocus(field, float("nan"))
    with pytest.raises(FreqLFError, match="40 x 32 pixels"):
        render_all_in_focus(field, np.zeros((40, 32)))
