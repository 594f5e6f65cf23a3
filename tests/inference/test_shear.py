import pytest

from freqlf.inference.shear import choose_shear_px, find_layout
from freqlf.lightfield import LightField


@pytest.mark.parametrize("disparity_px", [-6.0, -0.5, 0.0, 4.5])
def test_finds_the_disparity_of_a_sheared_scene(render_plane, disparity_px: float) -> None:
    flat = LightField.from_array(render_plane(0.0, height=128, width=144))
    assert find_layout(flat.sheared(disparity_px)).middle_px == pytest.approx(disparity_px, abs=0.5)


def test_shear_is_whole_and_only_if_needed() -> None:
    assert choose_shear_px(1.5) == 0.0
    assert choose_shear_px(-2.0) == 0.0
    assert choose_shear_px(6.4) == -6.0
    assert choose_shear_px(-7.5) == 8.0
