"""`import freqlf`: what Python gets is what the command line writes, bit for bit."""

import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.ndimage
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

import freqlf
from freqlf.cli.main import main
from freqlf.io.arrays import write_npy
from freqlf.io.pfm import read_pfm
from freqlf.io.viewgrid import InputOptions

MODEL = "freqlf-small"
MAPS = ("disparity", "deviation", "lower", "upper")
Array = NDArray[np.uint8]


def render_far_plane(disparity_px: int = 14, size_px: int = 96, views: int = 5) -> Array:
    """Random texture at a whole disparity: [u, v, y, x, c]."""
    margin_px = disparity_px * (views // 2)
    noise = np.random.default_rng(3).random((size_px + 2 * margin_px, size_px + 2 * margin_px, 3))
    texture = scipy.ndimage.gaussian_filter(noise, (1.2, 1.2, 0))
    texture = (255 * (texture - texture.min()) / np.ptp(texture)).astype(np.uint8)

    def window(step_u: int, step_v: int) -> Array:
        # A view further right shows the plane further left.
        top, left = margin_px + step_u * disparity_px, margin_px + step_v * disparity_px
        return texture[top : top + size_px, left : left + size_px]

    steps = range(-(views // 2), views // 2 + 1)
    return np.stack([[window(u, v) for v in steps] for u in steps])


def shear_by_six(array: Array) -> NDArray[np.float32]:
    light_field = freqlf.LightField.from_array(array).sheared(6)
    return np.stack([[light_field.view(u, v) for v in range(array.shape[1])] for u in range(array.shape[0])])


MAKERS: dict[str, Callable[[Array], NDArray[np.generic]]] = {
    "a plane at 14 px": lambda array: render_far_plane(),
    "a sheared scene": shear_by_six,
    "mirrored columns": lambda array: np.ascontiguousarray(array[:, ::-1]),
}


@pytest.mark.parametrize("name", MAKERS)
def test_python_gives_what_the_command_line_writes(tmp_path: Path, array: Array, scene, name: str) -> None:
    pixels = MAKERS[name](array)
    path, out = tmp_path / "views.npy", tmp_path / "result"
    write_npy(path, pixels)
    assert main(["estimate", str(path), "--out", str(out), "--model", MODEL]) == 0
    record = json.loads((out / "estimate.json").read_text())
    expected = {part: read_pfm(out / f"{part}.pfm") for part in MAPS}
    for source in (path, str(path), pixels, freqlf.LightField.from_array(pixels), freqlf.open_light_field(path)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the plane is too far off for its order to be checked
            result = freqlf.estimate(source, MODEL)
        for part in MAPS:
            assert_array_equal(getattr(result, f"{part}_px"), expected[part])
        assert record["shear_px"] == result.shear_px
        assert record["notes"] == list(result.notes)
    # And it is right: farther than a model could see, or in the wrong order, it would be off by far more.
    truth_px = {"a plane at 14 px": 14.0, "a sheared scene": scene.disparity_px + 6}.get(name, scene.disparity_px)
    error_px = np.abs(expected["disparity"] - truth_px)
    border_px = 28 if name == "a plane at 14 px" else 8  # what not all views show
    assert np.median(error_px[border_px:-border_px, border_px:-border_px]) < 0.02
    assert (result.shear_px != 0) == (name != "mirrored columns")
    assert ("columns of views reversed" in " ".join(result.notes)) == (name == "mirrored columns")


class CountingViews:
    """A `ViewSource` that remembers how often each view was read."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.reads: Counter[tuple[int, int]] = Counter()

    def has(self, u: int, v: int) -> bool:
        return True

    def name(self, u: int, v: int) -> str:
        return f"view ({u}, {v})"

    def size(self, u: int, v: int) -> tuple[int, int]:
        height, width = self.array.shape[2:4]
        return height, width

    def read(self, u: int, v: int) -> NDArray[np.float32]:
        self.reads[u, v] += 1
        return self.array[u, v].astype(np.float32) / np.float32(255)


@pytest.mark.parametrize("model", ["slope", "freqlf-plus-small"])
def test_each_view_is_read_once(array: Array, model: str) -> None:
    views = CountingViews(np.ascontiguousarray(array[:, ::-1]))
    light_field = freqlf.LightField.from_source(5, 5, views)
    freqlf.estimate(light_field, model)
    needed = {(u, v) for u in range(5) for v in range(5) if 2 in (u, v) or (model != "slope" and u in (v, 4 - v))}
    assert views.reads == dict.fromkeys(needed, 1)


def test_options_are_those_of_the_command_line(tmp_path: Path, array: Array) -> None:
    seven = np.pad(array, ((1, 1), (1, 1), (0, 0), (0, 0), (0, 0)), mode="edge")
    stages: list[str] = []
    raw = freqlf.estimate(
        seven.transpose(2, 3, 0, 1, 4),
        MODEL,
        axes="yxuvc",
        views=5,
        calibrated=False,
        device="cpu",
        memory="9GB",
        shear=1,
        check_order=False,
        progress=lambda stage, done, total: stages.append(f"{stage}: {done} of {total}"),
    )
    plain = freqlf.load_estimator(MODEL, device="cpu")(array, shear=1, **vars(InputOptions(check_order=False)))
    assert_array_equal(raw.disparity_px, plain.disparity_px)
    assert (raw.calibration, raw.shear_px, raw.memory_bytes) == (None, 1.0, 9 * 10**9)
    assert np.median(np.abs(raw.upper_px - plain.upper_px)) > 0.01  # a calibration is in the packaged weights
    assert stages[0] == "slope: 0 of 1"
    assert stages[-1] == "pass 2, mixture: 1 of 1"


def test_an_estimate_describes_itself(array: Array, scene, monkeypatch: pytest.MonkeyPatch) -> None:
    result = freqlf.estimate(array, "slope")
    assert repr(result).startswith("Estimate(80 x 64 px, -")
    assert len(repr(result)) < 120
    assert "\n" not in repr(result)
    page = result._repr_html_()
    assert "Estimate(80 x 64 px" in page
    assert 'src="data:image/png;base64,iVBOR' in page
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf().axes[0].images[0].get_array()))
    result.show()
    plt.close("all")
    assert_array_equal(shown[0], result.disparity_px)


def test_depth_points_and_files_need_what_they_need(tmp_path: Path, array: Array, scene) -> None:
    result = freqlf.estimate(array, "slope", parameters=scene.parameters)
    assert_array_equal(result.depth_mm, scene.parameters.depth_m(result.disparity_px) * np.float32(1000))
    assert 1000 < len(result.points()) < 80 * 64
    files = {path.name for path in result.save(tmp_path / "out", all_in_focus=True)}
    assert {"depth.pfm", "pointcloud.ply", "all-in-focus.png", "estimate.json"} <= files
    unknown = freqlf.estimate(array, "slope")
    with pytest.raises(freqlf.FreqLFError, match=r"depth needs the camera.*--near-m"):
        _ = unknown.depth_mm
    assert not unknown.points().has_unit
    assert "depth.pfm" not in {path.name for path in unknown.save(tmp_path / "other")}


def test_poor_light_fields_are_warned_of(array: Array) -> None:
    with pytest.warns(UserWarning, match="the views hardly differ"):
        result = freqlf.estimate(np.repeat(np.repeat(array[2:3, 2:3], 5, 0), 5, 1), "slope")
    assert len(result.warnings) == 1
    assert "1 warning" in repr(result)


@pytest.mark.parametrize(
    ("source", "options", "complaint"),
    [
        ("nowhere", {}, "nowhere does not exist"),
        ([1, 2, 3], {}, "a light field is a path, an array .* not list"),
        (np.zeros((3, 4, 8)), {}, r"has the shape \(3, 4, 8\)"),
        (np.zeros((2, 4, 8, 8)), {}, "has 2 x 4 views"),
        (np.zeros((3, 3, 8, 8), np.int64), {}, "pixels of type int64"),
        (np.zeros((3, 3, 8, 8)), {"sheer": 1}, "unknown option 'sheer': choose fast, memory, .* shear"),
        (np.zeros((3, 3, 8, 8)), {"shear": "much"}, "shear takes a number"),
        (np.zeros((3, 3, 8, 8)), {"views": 4}, "views must be odd"),
        (np.zeros((3, 3, 8, 8)), {"model": "nobody"}, "unknown model 'nobody'"),
        (np.zeros((3, 3, 8, 8)), {"device": "tpu"}, "unknown device 'tpu'"),
    ],
)
def test_wrong_input_is_one_line(source, options: dict, complaint: str) -> None:
    with pytest.raises(freqlf.FreqLFError, match=complaint) as caught:
        freqlf.estimate(source, **({"model": "slope"} | options))
    assert "\n" not in str(caught.value)


def test_importing_is_instant() -> None:
    def cpu_seconds(code: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, "-c", code], check=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert min(cpu_seconds("import freqlf; assert 'estimate' in dir(freqlf)") for _ in range(5)) < 0.2
    subprocess.run([sys.executable, "-c", "import freqlf, sys; assert 'torch' not in sys.modules"], check=True)
