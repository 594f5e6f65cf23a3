"""The app from drop to viewer, in a real browser, with the server as users start it."""

import base64
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from browsing import locate_pixel, needs_browser, number, read_facts
from planes import HEIGHT, SQUARE_PX, WIDTH, render_planes

from freqlf.io.image import write_image

pytestmark = [needs_browser, pytest.mark.xdist_group("browser")]
PATIENCE_MS = 300_000  # the first estimate on a machine compiles its loops


@pytest.fixture(scope="module")
def views(tmp_path_factory) -> Path:
    """A folder of views numbered by row and column."""
    folder = tmp_path_factory.mktemp("input") / "planes"
    pixels = np.rint(255 * render_planes()).astype(np.uint8)[2:7, 2:7]
    for u in range(5):
        for v in range(5):
            write_image(folder / f"view_{u}_{v}.png", pixels[u, v])
    return folder


@pytest.fixture
def start_app(tmp_path: Path) -> Iterator[Callable[[], tuple[str, subprocess.Popen[str]]]]:
    """Starts the app on one work folder; returns its address and process."""
    started = []

    def start() -> tuple[str, subprocess.Popen[str]]:
        command = [sys.executable, "-m", "freqlf", "app", "--work", str(tmp_path / "work"), "--max-upload-gb", "0.002"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        return process.stdout.readline().split()[1], process

    yield start
    for process in started:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def wait_for(page, name: str, text: str) -> str:
    """Wait until the job with this name says the text, and return all it says."""
    item = find_job(page, name)
    item.get_by_text(text).first.wait_for(timeout=PATIENCE_MS)
    return item.inner_text()


def drop(page, path: Path) -> None:
    """Let a file fall on the page."""
    page.evaluate(
        """([name, text]) => {
          const content = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)), transfer = new DataTransfer();
          transfer.items.add(new File([content], name));
          document.getElementById("drop").dispatchEvent(new DragEvent("drop", { dataTransfer: transfer }));
        }""",
        [path.name, base64.b64encode(path.read_bytes()).decode()],
    )


def find_job(page, name: str):
    return page.locator("#jobs li", has=page.locator("b", has_text=name)).first


def press(page, name: str, button: str) -> None:
    find_job(page, name).get_by_role("button", name=button, exact=True).click()


def test_from_drop_to_viewer_and_back(start_app, open_page, views: Path, tmp_path: Path) -> None:
    address, process = start_app()
    page, other_tab = open_page(address), open_page(address)
    page.set_input_files("#folder", views)
    assert "5 x 5 views of 128 x 96 px" in wait_for(page, "planes", "format numbered")
    wait_for(other_tab, "planes", "ready")

    # Several at once, as archive too; the second is taken out of the queue, the third while it runs.
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        for path in views.iterdir():
            archive.write(path, f"packed/{path.name}")
    drop(page, tmp_path / "packed.zip")
    wait_for(page, "packed.zip", "format numbered")
    page.locator("select[name=model]").select_option("slope")
    press(page, "planes", "start")
    press(page, "packed.zip", "start")
    wait_for(page, "packed.zip", "waits for its turn")
    press(page, "packed.zip", "cancel")
    wait_for(other_tab, "packed.zip", "cancelled")

    other_tab.locator("#jobs progress").wait_for(timeout=PATIENCE_MS)
    wait_for(other_tab, "planes", "done")
    page.wait_for_url("**/view.html", timeout=PATIENCE_MS)  # the tab that started it lands in the viewer
    page.wait_for_selector("body[data-ready]", timeout=PATIENCE_MS)
    page.mouse.move(*locate_pixel(page, "#panel-disparity canvas", 64, 48, (WIDTH, HEIGHT)))
    assert number(read_facts(page, "#readout")["disparity"]) == pytest.approx(SQUARE_PX, abs=0.1)

    press(other_tab, "packed.zip", "start again")
    other_tab.locator("#jobs progress").wait_for(timeout=PATIENCE_MS)
    press(other_tab, "packed.zip", "cancel")
    wait_for(other_tab, "packed.zip", "cancelled")
    work = tmp_path / "work"
    assert [path.parent.name.split("-")[0] for path in work.glob("*/result")] == ["planes"]

    for tab in (page, other_tab):
        tab.goto("about:blank")  # or they would miss the app

    # After a restart the address is another, and the results are there.
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    again, _ = start_app()
    assert again.split("/")[3] != address.split("/")[3]
    page = open_page(again)
    wait_for(page, "packed.zip", "cancelled")
    wait_for(page, "planes", "done")
    page.get_by_role("link", name="look at it").click()
    page.wait_for_selector("body[data-ready]", timeout=PATIENCE_MS)
    page.go_back()
    wait_for(page, "packed.zip", "cancelled")
    press(page, "packed.zip", "remove")
    page.locator("#jobs li").nth(1).wait_for(state="detached")
    assert [path.name.split("-")[0] for path in work.iterdir()] == ["planes"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["packed.zip", "work"]


def test_what_is_wrong_is_said_and_not_kept(start_app, browser, tmp_path: Path) -> None:
    address, _ = start_app()
    page = browser.new_page()  # refusals are errors to the browser's console
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    for name, content in {"bad.npy": b"no array", "run.sh": b"rm -rf", "large.npy": bytes(3 * 10**6)}.items():
        (tmp_path / name).write_bytes(content)
    page.set_input_files("#files", [tmp_path / "bad.npy"])
    assert str(tmp_path) not in wait_for(page, "bad.npy", "failed")
    for name, message in (("run.sh", "no part of a light field"), ("large.npy", "too large")):
        page.set_input_files("#files", [tmp_path / name])
        page.locator("#problem", has_text=message).wait_for()
    assert page.locator("#jobs li").count() == 1
    page.close()
    assert [path.name for path in (tmp_path / "work").rglob("*") if path.is_file()] == ["job.json"]

    base, token = address.removesuffix("/").rsplit("/", 1)
    for path, host, code in (("", None, 404), ("wrong/jobs", None, 404), (f"{token}/", "evil.example", 400)):
        request = urllib.request.Request(f"{base}/{path}", headers={"Host": host} if host else {})
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(request, timeout=10)
        assert refusal.value.code == code
    for way in ("jobs/nobody/start", "jobs/../../../etc/passwd"):
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(urllib.request.Request(address + way, data=b"{}"), timeout=10)
