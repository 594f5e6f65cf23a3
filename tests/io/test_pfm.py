import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from freqlf.errors import FreqLFError
from freqlf.io.pfm import read_pfm, write_pfm

grey_shapes = st.tuples(st.integers(1, 9), st.integers(1, 9))
colour_shapes = st.tuples(st.integers(1, 5), st.integers(1, 5), st.just(3))
images = hnp.arrays(np.float32, grey_shapes | colour_shapes, elements=st.floats(width=32))


@given(images)
def test_what_is_written_is_read_back_bit_by_bit(image):
    with tempfile.TemporaryDirectory() as folder:
        write_pfm(Path(folder) / "a.pfm", image)
        again = read_pfm(Path(folder) / "a.pfm")
    assert again.dtype == np.float32
    assert again.shape == image.shape
    assert np.array_equal(again, image, equal_nan=True)


@given(st.binary(max_size=64) | st.binary(max_size=40).map(lambda rest: b"Pf\n" + rest))
def test_any_bytes_are_either_an_image_or_one_clear_error(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.pfm"
        path.write_bytes(content)
        try:
            size_bytes, message = read_pfm(path).nbytes, None
        except FreqLFError as error:
            size_bytes, message = 0, str(error)
    assert size_bytes <= len(content)
    assert message is None or (str(path) in message and "\n" not in message)


def test_rows_are_stored_from_the_bottom_up_and_the_sign_tells_the_byte_order(tmp_path):
    little = b"Pf\n2 1\n-1\n" + np.array([1, 2], "<f4").tobytes()
    big = b"Pf 1 2 1.0\n" + np.array([3, 4], ">f4").tobytes()
    windows = b"Pf\r\n1 2\r\n-1.0\r\n" + np.array([3, 4], "<f4").tobytes()
    for content, expected in ((little, [[1, 2]]), (big, [[4], [3]]), (windows, [[4], [3]])):
        (tmp_path / "a.pfm").write_bytes(content)
        assert read_pfm(tmp_path / "a.pfm").tolist() == expected


def test_a_pixel_that_looks_like_white_space_is_not_eaten_by_the_header(tmp_path):
    image = np.frombuffer(b"\n\n\n\n 123", "<f4").reshape(1, 2)
    write_pfm(tmp_path / "a.pfm", image)
    assert read_pfm(tmp_path / "a.pfm").tobytes() == image.tobytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a PFM file"),
        (b"P6\n2 2\n255\n", "is not a PFM file"),
        (b"Pf\n2 two\n-1\n", "is not a PFM file"),
        (b"Pf\n-2 2\n-1\n" + bytes(16), "is not a PFM file"),
        (b"Pf\n2 2\n-1\n" + bytes(15), r"2 x 2 pixels \(16 bytes\), but 15 bytes follow"),
        (b"Pf\n2 2\n-1\n" + bytes(17), "but 17 bytes follow"),
        (b"PF\n2 2\n-1\n" + bytes(16), r"\(48 bytes\), but 16 bytes follow"),
        (b"Pf\n0 2\n-1\n", "is damaged"),
        (b"Pf\n1000000000 1\n-1\n" + bytes(16), "4000000000 bytes"),
        (b"Pf\n9999999999 9999999999\n-1\n" + bytes(16), "is damaged"),
        (b"Pf\n1 1\n0\n" + bytes(4), "scale"),
        (b"Pf\n1 1\n1.2.3\n" + bytes(4), "scale"),
    ],
)
def test_headers_that_lie_get_one_line_and_no_memory(tmp_path, content, message):
    path = tmp_path / "a.pfm"
    path.write_bytes(content)
    tracemalloc.start()
    with pytest.raises(FreqLFError, match=message):
        read_pfm(path)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 1_000_000


def test_files_that_cannot_be_opened_are_named(tmp_path):
    for path, reason in ((tmp_path / "absent.pfm", "does not exist"), (tmp_path, "is a folder")):
        with pytest.raises(FreqLFError, match=f"{path} {reason}"):
            read_pfm(path)


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2), (2, 2, 3, 1), (0, 4)])
def test_other_shapes_are_not_written(tmp_path, shape):
    with pytest.raises(FreqLFError, match="holds"):
        write_pfm(tmp_path / "a.pfm", np.zeros(shape))
    assert list(tmp_path.iterdir()) == []
