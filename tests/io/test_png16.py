import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from freqlf.errors import FreqLFError
from freqlf.io.png16 import read_png16, write_png16

numbers = st.floats(-1e6, 1e6, width=32) | st.sampled_from([np.nan, np.inf, -np.inf])
maps = hnp.arrays(np.float32, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=numbers)


@given(maps)
def test_the_error_is_at_most_half_a_step_and_what_has_no_value_stays_without(values):
    with tempfile.TemporaryDirectory() as folder:
        write_png16(Path(folder) / "a.png", values)
        again = read_png16(Path(folder) / "a.png")
    known = np.isfinite(values)
    assert again.dtype == np.float32
    assert np.array_equal(np.isnan(again), ~known)
    if known.any():
        exact = values[known].astype(np.float64)
        step = np.ptp(exact) / 65534
        assert np.all(np.abs(again[known] - exact) <= step / 2 + 1.01 * np.spacing(np.abs(values[known]).max()))


def test_a_map_of_disparities_keeps_a_ten_thousandth_of_a_pixel(tmp_path):
    values = np.random.default_rng(0).uniform(-4, 4, (40, 50)).astype(np.float32)
    write_png16(tmp_path / "a.png", values)
    assert np.abs(read_png16(tmp_path / "a.png") - values).max() < 1e-4
    with Image.open(tmp_path / "a.png") as image:  # as another program would restore it
        pixels, text = np.asarray(image), image.info
    assert pixels.dtype == np.uint16
    assert (pixels.min(), pixels.max()) == (1, 65535)
    assert text["unit"] == "px per view step"
    assert np.abs(float(text["offset"]) + float(text["scale"]) * pixels - values).max() < 1e-4


def test_other_images_are_refused(tmp_path):
    def metadata(**text: str) -> PngInfo:
        info = PngInfo()
        for key, value in text.items():
            info.add_text(key, value)
        return info

    Image.new("I;16", (2, 2)).save(tmp_path / "plain.png")
    Image.new("I;16", (2, 2)).save(tmp_path / "words.png", pnginfo=metadata(scale="wide", offset="0"))
    Image.new("I;16", (2, 2)).save(tmp_path / "nan.png", pnginfo=metadata(scale="1", offset="nan"))
    Image.new("RGB", (2, 2)).save(tmp_path / "colour.png", pnginfo=metadata(scale="1", offset="0"))
    for name, message in {
        "plain": "does not say the scale",
        "words": "does not say the scale",
        "nan": "does not say the offset",
        "colour": "not a 16-bit grey image",
        "absent": "does not exist",
    }.items():
        with pytest.raises(FreqLFError, match=message):
            read_png16(tmp_path / f"{name}.png")


def test_other_shapes_are_not_written(tmp_path):
    for shape in ((3,), (2, 2, 3), (0, 4)):
        with pytest.raises(FreqLFError, match="holds a map"):
            write_png16(tmp_path / "a.png", np.zeros(shape))
    assert list(tmp_path.iterdir()) == []
