"""Fixtures for all tests: small light fields with known disparity, and the benchmark where it is at hand."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import launch_browser, watch_errors
from hypothesis import settings
from numpy.typing import NDArray

from freqlf.data.hci import write_scene
from freqlf.data.synthetic import SceneOptions, SyntheticScene, render_scene
from freqlf.io.parameters import Parameters
from freqlf.lightfield import LINES, LightField

REPOSITORY = Path(__file__).parents[1]

# Examples are small, but a busy machine may take its time over any one of them.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(scope="session")
def hci_root() -> Path:
    """The HCI benchmark: FREQLF_HCI, else ../shared/hci beside the repository; tests are skipped without it."""
    root = Path(os.environ.get("FREQLF_HCI", REPOSITORY.parent / "shared" / "hci"))
    if not root.is_dir():
        pytest.skip("the HCI benchmark is not here; set FREQLF_HCI to its folder")
    return root


@pytest.fixture(scope="session")
def render_plane() -> Callable[..., NDArray[np.float32]]:
    """Renders a smooth texture at one disparity, sampled exactly: [u, v, y, x, c] in [0, 1]."""

    def render(
        disparity_px: float, rows: int = 5, columns: int = 5, height: int = 32, width: int = 40
    ) -> NDArray[np.float32]:
        # A view one row further down sees the point at y one disparity higher: it shows at y what lies at y + d.
        steps_u = np.arange(rows) - rows // 2
        steps_v = np.arange(columns) - columns // 2
        y = np.arange(height)[None, None, :, None] + disparity_px * steps_u[:, None, None, None]
        x = np.arange(width)[None, None, None, :] + disparity_px * steps_v[None, :, None, None]
        colours = [
            0.5 + 0.2 * np.sin(0.45 * y + phase) + 0.2 * np.sin(0.31 * x - 0.2 * y + 2 * phase)
            for phase in (0.0, 1.0, 2.0)
        ]
        return np.stack(np.broadcast_arrays(*colours), axis=-1).astype(np.float32)

    return render


@pytest.fixture
def make_scene(tmp_path: Path, render_plane: Callable[..., NDArray[np.float32]]) -> Callable[..., Path]:
    """Writes a sound 5 x 5 scene of 32 x 40 pixels at disparity 0.5 and returns its directory."""

    def make(name: str = "plane", disparity_px: float = 0.5) -> Path:
        array = np.round(255 * render_plane(disparity_px)).astype(np.uint8)
        rows, columns, height, width, _ = array.shape
        parameters = Parameters(
            focal_mm=100.0,
            sensor_mm=35.0,
            baseline_mm=20.0,
            focus_distance_m=4.0,
            width_px=width,
            height_px=height,
            num_cams_x=columns,
            num_cams_y=rows,
            disp_min_px=-1.0,
            disp_max_px=1.0,
            scene=name,
            category="made",
        )
        directory = tmp_path / "data" / name
        views = {(u, v): array[u, v] for u in range(rows) for v in range(columns)}
        write_scene(directory, views, np.full((height, width), disparity_px, np.float32), parameters)
        return directory

    return make


@pytest.fixture(scope="session")
def stacks_of() -> Callable[[LightField], dict[str, Any]]:
    """Turns a light field into network input: the name of each line to a tensor (1, A, 3, H, W)."""
    torch = pytest.importorskip("torch")

    def stack(light_field: LightField) -> dict[str, Any]:
        pixels = {name: light_field.stack(name).transpose(0, 3, 1, 2) for name in LINES}
        return {name: torch.from_numpy(np.ascontiguousarray(views))[None] for name, views in pixels.items()}

    return stack


@pytest.fixture(scope="session")
def plane_stacks(
    render_plane: Callable[..., NDArray[np.float32]], stacks_of: Callable[[LightField], dict[str, Any]]
) -> Callable[..., dict[str, Any]]:
    """Network input of a smooth texture at one disparity; the arguments are those of `render_plane`."""
    return lambda *args, **kwargs: stacks_of(LightField.from_array(render_plane(*args, **kwargs)))


@pytest.fixture(scope="session")
def scene() -> SyntheticScene:
    """5 x 5 views of 64 x 80 pixels of things before each other."""
    options = SceneOptions(64, 80, 5, 5, disparity_range_px=(-2.0, 2.5), layout="cutouts", highlights=False)
    return render_scene(2, options)


@pytest.fixture(scope="session")
def array(scene) -> np.ndarray:
    """The same as [u, v, y, x, c] of uint8."""
    return np.stack([[scene.views[u, v] for v in range(5)] for u in range(5)])


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window, one for all tests of a process."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    with playwright.sync_playwright() as running:
        chromium = launch_browser(running)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address and waits until the page is ready; errors on any such page fail the test."""
    opened: list[tuple[Any, list[str]]] = []

    def open_address(address: str, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": 1200, "height": 900}, **options)
        page = context.new_page()
        opened.append((context, watch_errors(page)))
        page.goto(address)
        page.wait_for_selector("body[data-ready]", timeout=60000)
        return page

    yield open_address
    for context, _ in opened:
        context.close()
    assert [error for _, errors in opened for error in errors] == []
