import base64
import io
import json
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import scipy.ndimage
from numpy.typing import NDArray
from PIL import Image

from freqlf.cli.main import main
from freqlf.errors import FreqLFError
from freqlf.evaluation.metrics import score_map
from freqlf.io.parameters import Parameters
from freqlf.io.pfm import write_pfm
from freqlf.io.ply import read_ply
from freqlf.lightfield import LightField
from freqlf.outputs.estimate import Estimate
from freqlf.outputs.folder import OutputOptions, write_estimate
from freqlf.outputs.viewer.estimates import read_estimate
from freqlf.outputs.viewer.page import write_page
from freqlf.outputs.viewer.payload import pack_map

HEIGHT, WIDTH = 32, 40
CAMERA = Parameters(100.0, 35.0, 20.0, 4.0, WIDTH, HEIGHT, 5, 5, -1.0, 1.0, "plane", "made")


class Page(HTMLParser):
    """The elements of a page that carry data or could reach outside of it; tags must match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, str | None]] = []
        self.references: list[str] = []
        self.scripts: dict[str | None, str] = {}
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.references += [found[key] for key in ("src", "href", "srcset", "action") if key in found]
        assert tag not in ("link", "iframe", "object", "base")
        if tag not in ("meta", "input"):
            self.open.append((tag, found.get("id")))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        self.text += data
        if self.open and self.open[-1][0] == "script":
            self.scripts[self.open[-1][1]] = data


@pytest.fixture
def estimate(render_plane) -> Estimate:
    field = LightField.from_array(render_plane(0.5))
    rng = np.random.default_rng(0)
    disparity_px = rng.uniform(-0.5, 0.5, (HEIGHT, WIDTH)).astype(np.float32)
    disparity_px[3, 5] = np.nan
    deviation_px = rng.uniform(0.01, 0.2, (HEIGHT, WIDTH)).astype(np.float32)
    lower_px, upper_px = disparity_px - deviation_px, disparity_px + deviation_px
    return Estimate(disparity_px, disparity_px, deviation_px, lower_px, upper_px, "tiny", 1.0, field)


@pytest.fixture
def write(tmp_path: Path, estimate: Estimate):
    """Writes the folder of an estimate as `freqlf estimate` does."""

    def write(changed=estimate, parameters=CAMERA, options=OutputOptions(), name="made") -> Path:  # noqa: B008
        folder = tmp_path / "result"
        known = replace(changed, parameters=parameters, facts={"input": f"captures/{name}"})
        write_estimate(folder, known, options, overwrite=True)
        return folder

    return write


def read_data(text: str) -> dict:
    return json.loads(Page(text).scripts["data"])


def unpack(packed: dict) -> NDArray[np.float64]:
    """A map as the page reads it."""
    content = np.frombuffer(zlib.decompress(base64.b64decode(packed["data"])), np.uint8).astype(np.uint16)
    low, high = content.reshape(2, -1)
    folded = (low | high << 8).view(np.int16)
    change = (folded >> 1 & 0x7FFF) ^ -(folded & 1)
    codes = np.cumsum(change, dtype=np.int16).view(np.uint16).reshape(HEIGHT, WIDTH)
    return np.where(codes > 0, packed["offset"] + packed["step"] * (codes - 1.0), np.nan)


def test_data_come_back_nearly_as_they_were(write, estimate) -> None:
    folder = write()
    data = read_data(write_page(read_estimate(folder)))
    assert (data["width"], data["height"]) == (WIDTH, HEIGHT)
    for name in ("disparity", "deviation", "lower", "upper"):
        values = unpack(data["results"][0]["maps"][name])
        np.testing.assert_allclose(values, getattr(estimate, f"{name}_px"), atol=1.01e-4)  # NaN where it was
    assert data["results"][0]["interval"] == "90 % interval, as predicted"
    assert data["camera"]["pixel"] == pytest.approx(35 / 100 / WIDTH)
    bits = np.unpackbits(np.frombuffer(zlib.decompress(base64.b64decode(data["points"])), np.uint8))
    points, _ = read_ply(folder / "pointcloud.ply")
    assert bits.sum() == len(points) > 10
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(data["view"]))))
    assert np.abs(picture.astype(int) - read_estimate(folder).view).mean() < 5
    assert base64.b64decode(data["colours"]["disparity"])[:3] == bytes([68, 1, 84])  # viridis


@pytest.mark.parametrize("largest", [1.0, 1e6])
def test_a_wide_range_only_costs_precision(largest) -> None:
    values = np.linspace(-largest, largest, HEIGHT * WIDTH, dtype=np.float32).reshape(HEIGHT, WIDTH)
    values[0, 0] = np.inf
    packed = pack_map(values)
    assert packed["step"] == pytest.approx(max(2e-4, 2 * largest / 65534), rel=1e-2)
    found = unpack(packed)
    assert np.isnan(found[0, 0])
    np.testing.assert_allclose(found.ravel()[1:], values.ravel()[1:], atol=0.51 * packed["step"])


def test_maps_of_a_large_image_are_small() -> None:
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:960, :1280] / 960
    surface_px = np.sin(3 * x + 2 * y) + np.where((x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.1, 0.8, 0)
    noise_px = scipy.ndimage.gaussian_filter(rng.normal(0, 0.2, (960, 1280)), 5)  # 0.01 px, as smooth as a network's
    packed = pack_map((surface_px + noise_px).astype(np.float32))
    assert len(packed["data"]) < 1.5e6  # four such maps leave 2 MB of 8 for pictures


def test_nothing_is_outside_the_page(write) -> None:
    text = write_page(read_estimate(write()))
    page = Page(text)
    assert page.references == []
    for word in ("://", "@import", "url(", "fetch(", "import(", "XMLHttpRequest"):
        assert word not in text
    assert "Estimate of made" in page.text
    assert "5 x 5 views" in page.text
    assert "$" not in page.text.replace("${", "")  # nothing was left to fill in


def test_what_is_not_known_is_left_out(write, estimate) -> None:
    certain = replace(estimate, deviation_px=None, lower_px=None, upper_px=None)
    data = read_data(write_page(read_estimate(write(certain, None, OutputOptions(previews=False)))))
    assert list(data["results"][0]["maps"]) == ["disparity"]
    assert list(data["ranges"]) == ["disparity"]
    assert data["view"] is None
    assert data["camera"] is None
    assert data["points"] is None
    assert data["views"] is None


def test_a_constant_map_still_has_a_scale(write, estimate) -> None:
    for value, low in ((0.25, -0.25), (np.nan, 0.0)):
        flat = replace(estimate, disparity_px=np.full((HEIGHT, WIDTH), value, np.float32))
        assert read_data(write_page(read_estimate(write(flat, None))))["ranges"]["disparity"] == [low, low + 1]


def test_names_are_not_markup(write, estimate) -> None:
    text = write_page(read_estimate(write(replace(estimate, model="<b>bold&"), name="<script>alert(1)")))
    assert "<script>alert" not in text
    page = Page(text)
    assert "Estimate of <script>alert(1)" in page.text
    assert "model <b>bold&" in page.text


def test_the_command_writes_beside_the_results_or_elsewhere(write, tmp_path: Path, capsys) -> None:
    folder = write()
    assert main(["view", str(folder)]) == 0
    assert "view.html" in capsys.readouterr().out
    assert main(["view", str(folder), "--out", str(tmp_path / "elsewhere" / "page.html")]) == 0
    pages = [folder / "view.html", tmp_path / "elsewhere" / "page.html"]
    assert pages[0].read_text() == pages[1].read_text() == write_page(read_estimate(folder))
    write()
    assert not pages[0].exists()  # it would show an estimate that is gone


def remove_the_record(folder: Path) -> None:
    (folder / "estimate.json").unlink()


def cut_the_record(folder: Path) -> None:
    (folder / "estimate.json").write_text("{")


def list_the_record(folder: Path) -> None:
    (folder / "estimate.json").write_text("[]")


def remove_the_map(folder: Path) -> None:
    (folder / "disparity.pfm").unlink()


def claim_more_views(folder: Path) -> None:
    record = json.loads((folder / "estimate.json").read_text())
    record["small_views"]["steps"] *= 9
    (folder / "estimate.json").write_text(json.dumps(record))


def swap_a_map(folder: Path) -> None:
    (folder / "lower.pfm").write_bytes(b"Pf\n1 1\n-1\n" + bytes(4))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove_the_record, "holds no estimate.json"),
        (cut_the_record, "is not JSON"),
        (list_the_record, "must be an object"),
        (remove_the_map, "disparity.pfm"),
        (claim_more_views, "views.webp does not hold the views"),
        (swap_a_map, r"lower.pfm is \(1, 1\), the disparity \(32, 40\)"),
    ],
)
def test_what_is_no_estimate_is_refused(write, damage, message, capsys) -> None:
    folder = write()
    damage(folder)
    with pytest.raises(FreqLFError, match=message):
        read_estimate(folder)
    assert main(["view", str(folder)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (folder / "view.html").exists()


def test_two_estimates_are_told_apart(write, estimate, tmp_path: Path) -> None:
    first = write().rename(tmp_path / "first")
    second = write(replace(estimate, model="other", disparity_px=estimate.disparity_px + np.float32(0.25)))
    assert main(["view", str(first), str(second)]) == 0
    text = (first / "compare.html").read_text()
    data = read_data(text)
    assert [result["name"] for result in data["results"]] == ["tiny", "other"]
    other_px = unpack(data["results"][1]["maps"]["disparity"])
    np.testing.assert_allclose(other_px, estimate.disparity_px + 0.25, atol=1.01e-4)
    assert data["ranges"]["difference"][1] == pytest.approx(0.25, abs=0.01)
    assert data["scores"] is None
    assert "made: tiny beside other" in Page(text).text


def test_a_scene_is_ground_truth(write, make_scene, estimate) -> None:
    folder = write()
    assert main(["view", str(folder), str(make_scene())]) == 0
    data = read_data((folder / "compare.html").read_text())
    expected = score_map(estimate.disparity_px, np.full((HEIGHT, WIDTH), 0.5, np.float32), border=7)
    assert dict(data["scores"]["rows"])["BadPix(0.07)"] == f"{expected.badpix_007:.2f} %"
    assert "at least 7 px from the edge" in data["scores"]["caption"]


def test_maps_of_other_images_are_refused(write, tmp_path: Path, capsys) -> None:
    write_pfm(tmp_path / "other.pfm", np.zeros((5, 5), np.float32))
    assert main(["view", str(write()), str(tmp_path / "other.pfm")]) == 2
    assert "compare maps of one size" in capsys.readouterr().err
    assert main(["view", str(write()), str(tmp_path)]) == 2
    assert "no scene with ground truth" in capsys.readouterr().err
