import numpy as np
import pytest
import scipy.ndimage

from freqlf.models.kernels.refocusing import ViewAverage


@pytest.mark.parametrize("shape", [(31, 40), (5, 3), (2, 9)])
def test_views_are_looked_up_as_scipy_does(shape):
    rng = np.random.default_rng(0)
    centre, view = rng.random((2, *shape, 3)).astype(np.float32)
    disparity_px = rng.uniform(-0.9, 0.9, shape)
    disparity_px[0, 0] = np.nan
    average = ViewAverage(centre, disparity_px, None)
    average.add(view, (1, -2))
    y, x = np.mgrid[: shape[0], : shape[1]]
    there = y - disparity_px, x + 2 * disparity_px
    seen = (there[0] >= 0) & (there[0] <= shape[0] - 1) & (there[1] >= 0) & (there[1] <= shape[1] - 1)
    place = np.nan_to_num(there)
    channels = [scipy.ndimage.map_coordinates(view[..., c], place, order=3, mode="mirror") for c in range(3)]
    looked_up = np.stack(channels, axis=-1)
    expected = np.where(seen[..., None], (centre + looked_up) / 2, centre)
    assert np.abs(average.mean() - expected.clip(0, 1)).max() < 1e-5
    assert np.array_equal(average.mean()[0, 0], centre[0, 0])
