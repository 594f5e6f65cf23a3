"""Pages in a real browser: what tests of the viewer and of the app share."""

import base64
import io
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# No GPU is needed, and nothing is looked up in the network.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)


def launch_browser(playwright: Any) -> Any:
    """Chromium of the system, without a window."""
    return playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))


def watch_errors(page: Any) -> list[str]:
    """A list that gets whatever goes wrong on a page."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    return errors


def settle(page: Any) -> None:
    """Wait until everything that was asked for is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def read_canvas(page: Any, selector: str) -> NDArray[np.uint8]:
    """The pixels (H, W, 3) that a canvas holds."""
    settle(page)
    address = page.eval_on_selector(selector, "(canvas) => canvas.toDataURL('image/png')")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.split(",")[1]))).convert("RGB"))


def read_facts(page: Any, selector: str) -> dict[str, str]:
    """Names and values in the line below the maps."""
    settle(page)
    pairs = page.eval_on_selector_all(
        f"{selector} span", "(all) => all.map((one) => [one.firstChild.textContent.trim(), one.lastChild.textContent])"
    )
    return dict(pairs)


def number(text: str) -> float:
    """The first number in a text."""
    found = re.search(r"-?\d+(\.\d+)?", text)
    assert found, text
    return float(found[0])


def locate_pixel(page: Any, selector: str, x: float, y: float, size: tuple[int, int]) -> tuple[float, float]:
    """Where pixel (x, y) of an image of `size` (width, height) is on the screen, if the canvas shows all of it."""
    page.locator(selector).scroll_into_view_if_needed()
    box = page.locator(selector).bounding_box()
    return box["x"] + box["width"] * (x + 0.5) / size[0], box["y"] + box["height"] * (y + 0.5) / size[1]


def find_middle(page: Any, selector: str) -> tuple[float, float]:
    """Where the middle of an element is on the screen, once it was scrolled there."""
    return locate_pixel(page, selector, 0, 0, (1, 1))


def set_slider(page: Any, selector: str, value: float) -> None:
    """Move a slider as a hand does, to the value."""
    page.eval_on_selector(
        selector, "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }", value
    )
    settle(page)


def download(page: Any, selector: str, folder: Path) -> Path:
    """Press a button that saves a file, and return the file."""
    with page.expect_download() as saved:
        page.locator(selector).click()
    path = folder / saved.value.suggested_filename
    saved.value.save_as(path)
    return path


needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium: install it, for example apt-get install chromium"
)
