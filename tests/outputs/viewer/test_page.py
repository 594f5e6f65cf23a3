import base64
import json
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from freqlf.cli.main import main
from freqlf.errors import FreqLFError
from freqlf.inference.estimate import Estimate
from freqlf.io.parameters import Parameters
from freqlf.io.ply import read_ply
from freqlf.lightfield import LightField
from freqlf.outputs.folder import OutputOptions, write_estimate
from freqlf.outputs.viewer.page import read_estimate, write_page

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
        if tag != "meta":
            self.open.append((tag, found.get("id")))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        self.text += data
        if self.open and self.open[-1][0] == "script":
            self.scripts[self.open[-1][1]] = data


@pytest.fixture
def estimate() -> Estimate:
    rng = np.random.default_rng(0)
    disparity_px = rng.uniform(-0.5, 0.5, (HEIGHT, WIDTH)).astype(np.float32)
    disparity_px[3, 5] = np.nan
    deviation_px = rng.uniform(0.01, 0.2, (HEIGHT, WIDTH)).astype(np.float32)
    lower_px, upper_px = disparity_px - deviation_px, disparity_px + deviation_px
    return Estimate(disparity_px, disparity_px, deviation_px, lower_px, upper_px, "tiny", 1.0, None)


@pytest.fixture
def write(tmp_path: Path, render_plane, estimate: Estimate):
    """Writes the folder of an estimate as `freqlf estimate` does."""
    field = LightField.from_array(render_plane(0.5))

    def write(changed: Estimate = estimate, parameters=CAMERA, options=OutputOptions(), name="made") -> Path:  # noqa: B008
        folder = tmp_path / "result"
        write_estimate(folder, changed, field, parameters, options, {"input": f"captures/{name}"}, overwrite=True)
        return folder

    return write


def read_data(text: str) -> dict:
    return json.loads(Page(text).scripts["data"])


def decode(text: str, dtype: str, *shape: int):
    return np.frombuffer(base64.b64decode(text), dtype).reshape(shape)


def test_data_come_back_as_they_were(write, estimate) -> None:
    folder = write()
    data = read_data(write_page(read_estimate(folder)))
    assert (data["width"], data["height"]) == (WIDTH, HEIGHT)
    for name in ("disparity", "deviation", "lower", "upper"):
        values = decode(data["maps"][name], "<f4", HEIGHT, WIDTH)
        assert np.array_equal(values, getattr(estimate, f"{name}_px"), equal_nan=True)
    points, colours = read_ply(folder / "pointcloud.ply")
    assert len(points) > 10
    assert np.array_equal(decode(data["cloud"]["points"], "<f4", -1, 3), points)
    assert np.array_equal(decode(data["cloud"]["colours"], "u1", -1, 3), colours)
    assert data["cloud"]["pixel"] == pytest.approx(35 / 100 / WIDTH)
    view = read_estimate(folder).view
    assert np.array_equal(decode(data["view"], "u1", HEIGHT, WIDTH, 3), view)
    assert data["interval"] == "90 % interval, as predicted"
    assert decode(data["colours"]["disparity"], "u1", 256, 3)[0].tolist() == [68, 1, 84]  # viridis


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
    assert list(data["maps"]) == ["disparity"]
    assert list(data["ranges"]) == ["disparity"]
    assert data["view"] is None
    assert data["cloud"] is None


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


def swap_a_map(folder: Path) -> None:
    (folder / "lower.pfm").write_bytes(b"Pf\n1 1\n-1\n" + bytes(4))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove_the_record, "holds no estimate.json"),
        (cut_the_record, "is not JSON"),
        (list_the_record, "is not the record of an estimate"),
        (remove_the_map, "disparity.pfm"),
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


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
@pytest.mark.parametrize("parameters", [CAMERA, None])
def test_the_page_runs_in_a_browser(write, tmp_path: Path, parameters) -> None:
    text = write_page(read_estimate(write(parameters=parameters)))
    # Point at a pixel once everything is drawn; an error anywhere before would leave the page unready.
    page = tmp_path / "page.html"
    page.write_text(text.replace("document.body.dataset.ready", "show(7, 3); document.body.dataset.ready"))
    options = ["--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    quiet = ["--disable-background-networking", f"--user-data-dir={tmp_path / 'profile'}"]
    command = ["chromium", *options, *quiet, "--dump-dom", page.as_uri()]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    assert 'data-ready="yes"' in found
    disparity_px = read_estimate(tmp_path / "result").maps["disparity"][3, 7]
    assert f"<b>{disparity_px:.4f} px</b>" in found
    assert ("point cloud</option>" in found) == (parameters is not None)
    assert "relief of disparities</option>" in found
