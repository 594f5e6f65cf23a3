import numpy as np
import pytest

from freqlf.data.synthetic import SceneOptions, SyntheticScene, render_scene


@pytest.fixture(scope="session")
def scene() -> SyntheticScene:
    """5 x 5 views of 64 x 80 pixels of things before each other."""
    options = SceneOptions(64, 80, 5, 5, disparity_range_px=(-2.0, 2.5), layout="cutouts", highlights=False)
    return render_scene(2, options)


@pytest.fixture(scope="session")
def array(scene) -> np.ndarray:
    """The same as [u, v, y, x, c] of uint8."""
    return np.stack([[scene.views[u, v] for v in range(5)] for u in range(5)])
