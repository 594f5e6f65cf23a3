import pytest

from freqlf.config import find_preset
from freqlf.errors import FreqLFError
from freqlf.footprint import Footprint
from freqlf.nn.build import build_model

GB = 10**9


@pytest.mark.parametrize("preset", ["slope", "freqlf-small", "freqlf-plus-small", "freqlf"])
def test_less_memory_means_smaller_tiles(preset: str) -> None:
    footprint = Footprint.of(None if preset == "slope" else build_model(find_preset(preset)), views=18)
    least, more = (footprint.total_bytes(2000, 2000, side_px) for side_px in (64, 128))
    sides = [footprint.choose_tile_px(2000, 2000, GB + allowed, GB) for allowed in (least, more, 10**10)]
    assert sides[:2] == [64, 128]
    assert 192 <= sides[2] <= 256
    with pytest.raises(FreqLFError, match=r"needs at least .* \(0\.\d GB of it for the program itself\)"):
        footprint.choose_tile_px(2000, 2000, GB + least - 1, GB)


def test_images_that_cannot_fit_are_refused_before_they_are_read() -> None:
    footprint = Footprint.of(build_model(find_preset("freqlf-small")), views=18)
    footprint.require(1000, 1000, GB)
    with pytest.raises(FreqLFError, match=r"an image of 30000 x 20000 pixels needs at least .* GB with this model"):
        footprint.require(20_000, 30_000, GB)


def test_a_tile_is_never_larger_than_the_image() -> None:
    footprint = Footprint.of(None, views=18)
    assert footprint.total_bytes(40, 50, 64) == footprint.total_bytes(40, 50, 256)
