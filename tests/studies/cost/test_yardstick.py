import torch

from freqlf.models.complexity import count_parameters
from freqlf.studies.cost.yardstick import Yardstick, make_strip


def test_it_has_the_published_size_and_keeps_that_of_the_image() -> None:
    yardstick = Yardstick()
    assert round(count_parameters(yardstick) / 1e6, 1) == 5.1
    strip = make_strip(48)
    assert strip.shape == (1, 9, 8, 48)
    with torch.inference_mode():
        assert yardstick(strip).shape == (1, 1, 8, 48)
