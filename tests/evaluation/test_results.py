import numpy as np
import pytest

from freqlf.errors import FreqLFError
from freqlf.evaluation.results import Results, write_result
from freqlf.io.pfm import write_pfm


def test_what_was_written_is_read(tmp_path):
    disparity, variance = np.full((4, 5), 0.5, np.float32), np.full((4, 5), 0.01, np.float32)
    write_result(tmp_path, "dots", disparity, variance_px2=variance, runtime_s=1.25, peak_memory_mb=300)
    write_result(tmp_path, "boxes", disparity)
    results = Results(tmp_path)
    assert results.scenes() == ["boxes", "dots"]
    assert np.array_equal(results.disparity_px("dots"), disparity)
    assert np.array_equal(results.variance_px2("dots"), variance)
    assert (results.runtime_s("dots"), results.peak_memory_mb("dots")) == (1.25, 300.0)
    assert (results.variance_px2("boxes"), results.runtime_s("boxes")) == (None, None)


def test_plain_folders_of_maps_do_too(tmp_path):
    write_pfm(tmp_path / "boxes.pfm", np.zeros((2, 2)))
    assert Results(tmp_path).scenes() == ["boxes"]
    assert Results(tmp_path).disparity_px("boxes").shape == (2, 2)


@pytest.mark.parametrize("text", ["", "soon", "nan", "-1", "inf"])
def test_a_runtime_is_a_number(tmp_path, text):
    write_result(tmp_path, "boxes", np.zeros((2, 2)), runtime_s=1.0)
    (tmp_path / "runtimes" / "boxes.txt").write_text(text)
    with pytest.raises(FreqLFError, match=r"runtimes/boxes.txt"):
        Results(tmp_path).runtime_s("boxes")


def test_missing_and_colour_maps_are_errors(tmp_path):
    write_pfm(tmp_path / "boxes.pfm", np.zeros((2, 2, 3)))
    with pytest.raises(FreqLFError, match="colour PFM"):
        Results(tmp_path).disparity_px("boxes")
    with pytest.raises(FreqLFError, match=r"has no dots.pfm"):
        Results(tmp_path).disparity_px("dots")
    with pytest.raises(FreqLFError, match="is not a directory"):
        Results(tmp_path / "x").scenes()
