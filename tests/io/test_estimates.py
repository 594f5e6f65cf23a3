"""From files of every format to the estimate: identical to that of the pixels that were written."""

import json
from pathlib import Path

import numpy as np
import pytest
import writers
from numpy.testing import assert_array_equal

from freqlf.cli.main import main
from freqlf.inference.estimate import Estimate, estimate
from freqlf.io.pfm import read_pfm
from freqlf.lightfield import LightField

MODEL = "freqlf-small"
WRITERS = writers.WRITERS | {
    "old hdf5": lambda root, array, scene: writers.write_old_hdf5(root / "lf.h5", array, scene.disparity_px)
}


@pytest.fixture(scope="module")
def expected(array) -> Estimate:
    return estimate(LightField.from_array(array), MODEL)


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_estimate(tmp_path: Path, array, scene, expected: Estimate, name: str) -> None:
    path, out = WRITERS[name](tmp_path, array, scene), tmp_path / "result"
    assert main(["estimate", str(path), "--out", str(out), "--model", MODEL, "--pitch-px", "5"]) == 0
    record = json.loads((out / "estimate.json").read_text())
    assert record["format"] == name.split()[-1]
    assert record["shear_px"] == 0
    assert_array_equal(np.load(out / "disparity.npy"), expected.disparity_px)
    for part in ("disparity", "deviation", "lower", "upper"):
        assert_array_equal(read_pfm(out / f"{part}.pfm"), getattr(expected, f"{part}_px"))
