import numpy as np
import pytest
import torch

from freqlf.inference.maps import MAPS, MapReader, find_half_width
from freqlf.models.build import build_model
from freqlf.models.mixture import Mixture
from freqlf.models.presets import PRESETS
from freqlf.models.slope import SlopeModel
from freqlf.outputs.estimate import INTERVAL
from freqlf.weights.calibration import LEVELS, Calibration, interval_factor

BETWEEN = Calibration((0.05, 0.3, 1.0), (1.0, 2.0), ((0.5, 1.5), (0.4, 1.0), (0.6, 1.1)))
AT_LEVELS = Calibration(
    (1.0,), tuple(map(interval_factor, LEVELS)), (tuple(0.4 * interval_factor(one) ** 1.5 for one in LEVELS),)
)


@pytest.mark.parametrize("calibration", [BETWEEN, AT_LEVELS, Calibration(needed=((0.3,),))])
def test_widths_are_the_calibrations(calibration: Calibration) -> None:
    deviation_px = np.geomspace(0.001, 30, 200).astype(np.float32)
    found_px = find_half_width(calibration, torch.from_numpy(deviation_px)).numpy()
    np.testing.assert_allclose(found_px, calibration.half_width_px(deviation_px, INTERVAL), rtol=1e-5)


def test_maps_of_a_single_gaussian() -> None:
    mixture = Mixture(torch.zeros(1, 1, 2, 3), torch.full((1, 1, 2, 3), 0.5), torch.full((1, 1, 2, 3), 0.1))
    model = build_model(PRESETS["freqlf-small"])
    for calibration, width_px in ((None, 0.1 * interval_factor(INTERVAL)), (BETWEEN, None)):
        read = MapReader(model, calibration)
        maps = dict(zip(read.names, read(mixture)[0], strict=True))
        assert tuple(maps) == MAPS
        if width_px is None:
            width_px = float(BETWEEN.half_width_px(np.array([0.1]), INTERVAL)[0])
        for name, value in zip(MAPS, (0.5, 0.5, 0.1, 0.5 - width_px, 0.5 + width_px), strict=True):
            assert maps[name].numpy() == pytest.approx(np.full((2, 3), value), abs=1e-5), name


def test_a_model_without_uncertainty_has_one_map() -> None:
    read = MapReader(SlopeModel())
    assert read.names == ("disparity_px",)
    mixture = Mixture(torch.zeros(1, 1, 2, 3), torch.rand(1, 1, 2, 3), torch.ones(1, 1, 2, 3))
    assert torch.equal(read(mixture), mixture.means)
