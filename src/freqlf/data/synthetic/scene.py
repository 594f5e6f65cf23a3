"""Random light fields with exact disparity: options in, views and ground truth out."""

import math
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from freqlf.data.synthetic.layouts import LAYOUTS
from freqlf.data.synthetic.surfaces import STEEPEST, Rays, SurfaceStack, limit_factor
from freqlf.errors import FreqLFError
from freqlf.io.parameters import Parameters

Amount = float | tuple[float, float]  # fixed, or drawn per scene from a range
View = tuple[int, int]

_SENSOR_MM = 35.0
_FOCUS_DISTANCE_M = 3.0
_HIDDEN_BY_GLARE = 0.6  # opacity of a highlight
_BAND_RAYS = 2**17  # traced at a time: few enough to stay in the cache


_LARGEST_PX = 30_000  # of a side
_MOST_BYTES = 16 * 10**9  # of all views


@dataclass(frozen=True)
class SceneOptions:
    """What all scenes have in common. An amount is a number, or a (low, high) range from which each scene draws."""

    height_px: int = 512
    width_px: int = 512
    rows: int = 9
    columns: int = 9
    disparity_range_px: tuple[float, float] = (-4.0, 4.0)  # a scene takes up a part of it
    layout: str | None = None  # one of LAYOUTS, or any
    noise: Amount = 0.0  # standard deviation at mid grey, as a fraction of white; part of it grows with brightness
    blur_px: Amount = 0.0  # standard deviation of a Gaussian
    exposure_jitter: Amount = 0.0  # standard deviation of the views' relative brightness
    highlights: bool = True
    samples_per_pixel: int = 5
    bit_depth: int = 8

    def __post_init__(self) -> None:
        for name in ("height_px", "width_px", "samples_per_pixel"):
            if not 1 <= getattr(self, name) <= _LARGEST_PX:
                raise FreqLFError(f"{name} must be between 1 and {_LARGEST_PX}, not {getattr(self, name)}")
        for name in ("rows", "columns"):
            value = getattr(self, name)
            if value < 3 or value % 2 == 0:
                raise FreqLFError(f"{name} of views must be odd and at least 3 (one view is the centre), not {value}")
        size_bytes = 6 * self.height_px * self.width_px * self.rows * self.columns
        if size_bytes > _MOST_BYTES:
            raise FreqLFError(f"such a scene takes {size_bytes / 1e9:.0f} GB; generate smaller views, or fewer")
        low, high = self.disparity_range_px
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise FreqLFError(f"disparity_range_px must be two numbers in ascending order, not {low} and {high}")
        for name in ("noise", "blur_px", "exposure_jitter"):
            low, high = _as_range(getattr(self, name))
            if not (math.isfinite(high) and 0 <= low <= high):
                raise FreqLFError(f"{name} must not be negative, and a range must be ascending, not {low} to {high}")
        if self.layout is not None and self.layout not in LAYOUTS:
            raise FreqLFError(f"no layout {self.layout!r}: choose one of {', '.join(LAYOUTS)}")
        if self.bit_depth not in (8, 16):
            raise FreqLFError(f"bit_depth must be 8 or 16, not {self.bit_depth}")

    @property
    def centre(self) -> View:
        """(u, v) of the central view."""
        return self.rows // 2, self.columns // 2

    @property
    def all_views(self) -> list[View]:
        """(u, v) of all views, row by row."""
        return [(u, v) for u in range(self.rows) for v in range(self.columns)]


@dataclass(frozen=True)
class SyntheticScene:
    """A light field with its ground truth.

    `views` maps (u, v) to (H, W, 3) pixels, uint8 or uint16. `disparity_px` (H, W) belongs to the pixel centres of the
    central view. `valid_mask` (H, W) is False where a highlight hides the surface.
    """

    views: dict[View, NDArray[np.uint8] | NDArray[np.uint16]]
    disparity_px: NDArray[np.float32]
    valid_mask: NDArray[np.bool_]
    parameters: Parameters
    layout: str


@dataclass(frozen=True)
class _Highlight:
    """A soft bright spot on one surface that moves with a disparity of its own, as a reflection does."""

    surface: int
    y_px: float
    x_px: float
    disparity_px: float
    radius_px: float
    opacity: float
    colour: Tensor  # (3,)

    def misses(self, rays: Rays) -> bool:
        """Whether it is too faint to count along all of the rays."""
        y = rays.y_px - (self.y_px - rays.s * self.disparity_px)
        return float(y.abs().min()) > 4 * self.radius_px

    def coverage(self, rays: Rays, number: Tensor) -> Tensor:
        """(S, h, w) opacity along the rays; `number` (S, h, w) says which surface they meet."""
        y = rays.y_px - (self.y_px - rays.s * self.disparity_px)
        x = rays.x_px - (self.x_px - rays.t * self.disparity_px)
        fall_y, fall_x = (torch.exp(-0.5 * (axis / self.radius_px) ** 2) for axis in (y, x))
        return self.opacity * fall_y * fall_x * (number == self.surface)


@dataclass(frozen=True)
class _Model:
    """A scene before it is looked at."""

    stack: SurfaceStack
    highlights: list[_Highlight]
    disparity_px: Tensor  # (H, W)
    valid_mask: Tensor  # (H, W)
    parameters: Parameters
    layout: str
    noise: float
    blur_px: float
    exposure_jitter: float


def render_scene(
    seed: int,
    options: SceneOptions | None = None,
    views: Collection[View] | None = None,
    on_view: Callable[[], None] | None = None,
) -> SyntheticScene:
    """Render the scene number `seed`: always the same, whichever `views` (u, v) are asked for (None: all).

    `on_view` is called after each view.
    """
    options = options or SceneOptions()
    wanted = _check_views(views, options)
    threads = torch.get_num_threads()
    images: dict[View, NDArray[np.uint8] | NDArray[np.uint16]] = {}
    with _single_threaded_operations():
        model = _build_model(seed, options)

        def take(view: View) -> NDArray[np.uint8] | NDArray[np.uint16]:
            return _expose(_render_view(model, options, view), model, options, seed, view)

        with ThreadPoolExecutor(threads) as pool:
            for view, image in zip(wanted, pool.map(take, wanted), strict=True):
                images[view] = image
                if on_view is not None:
                    on_view()
    return SyntheticScene(images, model.disparity_px.numpy(), model.valid_mask.numpy(), model.parameters, model.layout)


def render_disparity(
    seed: int, options: SceneOptions | None = None, views: Collection[View] | None = None
) -> dict[View, NDArray[np.float32]]:
    """Ground-truth disparity (H, W) at the pixel centres of any views (u, v) of the scene number `seed`."""
    options = options or SceneOptions()
    wanted = _check_views(views, options)
    with _single_threaded_operations():
        stack = _build_model(seed, options).stack
        return {view: stack.trace(_central_rays(options, view))[0][0].numpy() for view in wanted}


def _check_views(views: Collection[View] | None, options: SceneOptions) -> list[View]:
    for u, v in views or ():
        if not (0 <= u < options.rows and 0 <= v < options.columns):
            raise FreqLFError(f"no view {(u, v)} in a grid of {options.rows} x {options.columns} views")
    return options.all_views if views is None else sorted(set(views))


@contextmanager
def _single_threaded_operations() -> Iterator[None]:
    """Whole views go to threads of their own: that scales, and many small operations would not."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_num_threads(before)


def _central_rays(options: SceneOptions, view: View) -> Rays:
    """One ray through each pixel centre of a view."""
    s, t = view[0] - options.centre[0], view[1] - options.centre[1]
    return Rays.through(s, t, range(options.height_px), range(options.width_px), torch.zeros(1, 2))


def _as_range(amount: Amount) -> tuple[float, float]:
    return amount if isinstance(amount, tuple) else (amount, amount)


def _generator(seed: int, *stream: int) -> np.random.Generator:
    """Independent random numbers for each purpose, so that one never shifts another."""
    if seed < 0:
        raise FreqLFError(f"the seed must not be negative, not {seed}")
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=stream))


def _build_model(seed: int, options: SceneOptions) -> _Model:
    rng = _generator(seed, 0)
    names = list(LAYOUTS)
    layout = options.layout or names[rng.choice(len(names), p=[weight for _, weight in LAYOUTS.values()])]
    height, width = options.height_px, options.width_px
    max_s, max_t = options.centre
    # How far beyond the central view others can look: y = s*d, with d still growing outside at the steepest slope.
    margin = 3 + max(max_s, max_t) * max(map(abs, options.disparity_range_px)) / (1 - STEEPEST)
    stage = LAYOUTS[layout][0](_generator(seed, 1), (height, width, margin))

    # The stage knows nearness only; which disparity that is depends on the distance between the cameras.
    nearness_stack = SurfaceStack(stage.surfaces)
    rays = _central_rays(options, options.centre)
    nearness, number = nearness_stack.trace(rays)
    near, far = float(nearness.max()), float(nearness.min())
    low, high = _draw_range(rng, options.disparity_range_px)
    factor = min((high - low) / max(near - far, 1e-6), limit_factor(stage.surfaces, max_s, max_t))
    stack = nearness_stack.rescaled(factor, (low + high) / 2 - factor * (near + far) / 2)
    disparity_px = stack.trace(rays)[0][0]

    highlights = _draw_highlights(_generator(seed, 2), number[0], disparity_px) if options.highlights else []
    glare = torch.zeros(height, width)
    for highlight in highlights:
        glare = torch.maximum(glare, highlight.coverage(rays, number)[0])
    amounts = [rng.uniform(*_as_range(a)) for a in (options.noise, options.blur_px, options.exposure_jitter)]
    parameters = _camera_parameters(options, stage.focal_px, disparity_px, seed)
    return _Model(stack, highlights, disparity_px, glare < _HIDDEN_BY_GLARE, parameters, layout, *amounts)


def _draw_range(rng: np.random.Generator, limits_px: tuple[float, float]) -> tuple[float, float]:
    """The disparities that a scene takes up: a third of the limits, more or less, and more often in their middle."""
    low, high = limits_px
    span = (high - low) * float(np.clip(np.exp(rng.normal(np.log(0.33), 0.45)), 0.05, 1.0))
    start = low + (high - low - span) * rng.beta(1.7, 1.7)
    return start, start + span


def _draw_highlights(rng: np.random.Generator, index: Tensor, disparity_px: Tensor) -> list[_Highlight]:
    if rng.random() > 0.4:
        return []
    height, width = index.shape
    highlights = []
    for _ in range(rng.integers(1, 5)):
        y, x = int(rng.integers(height)), int(rng.integers(width))
        highlights.append(
            _Highlight(
                surface=int(index[y, x]),
                y_px=float(y),
                x_px=float(x),
                disparity_px=float(disparity_px[y, x]) + rng.uniform(-1.2, 0.4),
                radius_px=max(height, width) * float(np.exp(rng.uniform(np.log(0.006), np.log(0.06)))),
                opacity=rng.uniform(0.15, 0.75),
                colour=torch.tensor(rng.uniform(0.85, 1.0, 3), dtype=torch.float32),
            )
        )
    return highlights


def _camera_parameters(options: SceneOptions, focal_px: float, disparity_px: Tensor, seed: int) -> Parameters:
    """A camera with which these disparities have a positive depth.

    Disparity beta/(F*sensor) below zero is infinitely far; the distance between the cameras follows from where that is.
    """
    low, high = float(disparity_px.min()), float(disparity_px.max())
    longer_px = max(options.height_px, options.width_px)
    focal_mm = _SENSOR_MM * focal_px / longer_px
    infinity_px = min(low, 0.0) - max(0.5 * (high - low), 0.5)
    baseline_mm = -infinity_px * 1000 * _FOCUS_DISTANCE_M * _SENSOR_MM / (focal_mm * longer_px)
    return Parameters(
        focal_mm=focal_mm,
        sensor_mm=_SENSOR_MM,
        baseline_mm=baseline_mm,
        focus_distance_m=_FOCUS_DISTANCE_M,
        width_px=options.width_px,
        height_px=options.height_px,
        num_cams_x=options.columns,
        num_cams_y=options.rows,
        disp_min_px=low,
        disp_max_px=high,
        scene=f"synth_{seed:06d}",
        category="synthetic",
    )


def _ray_offsets(count: int) -> Tensor:
    """(count, 2) positions in a pixel around its centre: a lattice whose rows and columns are all different.

    An edge that crosses the pixel at any angle then passes through `count` steps, not sqrt(count).
    """
    golden = round(count * 0.618)
    step = next((k for k in range(max(golden, 1), count + 1) if math.gcd(k, count) == 1), 1)
    index = torch.arange(count)
    return torch.stack([(index * step) % count, index], dim=1).float().add(0.5).div(count).sub(0.5)


def _render_view(model: _Model, options: SceneOptions, view: View) -> Tensor:
    """(3, H, W) of the view (u, v), in [0, 1] and free of noise."""
    s, t = view[0] - options.centre[0], view[1] - options.centre[1]
    offsets_px = _ray_offsets(options.samples_per_pixel)
    image = torch.empty(3, options.height_px, options.width_px)
    band = max(1, _BAND_RAYS // (len(offsets_px) * options.width_px))
    for top in range(0, options.height_px, band):
        rows = range(top, min(top + band, options.height_px))
        rays = Rays.through(s, t, rows, range(options.width_px), offsets_px)
        disparity_px, number = model.stack.trace(rays)
        colour = model.stack.look_up(rays, disparity_px, number)  # (S, 3, h, w)
        for highlight in model.highlights:
            if highlight.misses(rays):
                continue
            coverage = highlight.coverage(rays, number)[:, None]
            colour += coverage * (highlight.colour[:, None, None] - colour)
        torch.mean(colour, dim=0, out=image[:, rows.start : rows.stop])
    return image


def _expose(
    image: Tensor, model: _Model, options: SceneOptions, seed: int, view: View
) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Lens, exposure, sensor and quantisation of one view: (3, H, W) in [0, 1] to (H, W, 3) integers."""
    rng = _generator(seed, 3, *view)
    image = _blur(image, model.blur_px) * (1 + model.exposure_jitter * float(rng.normal()))
    pixels = image.permute(1, 2, 0).numpy()
    if model.noise > 0:
        # Read noise is the same everywhere, shot noise grows with brightness; at mid grey they are equal.
        deviation = model.noise * np.sqrt(0.5 + np.clip(pixels, 0, None))
        pixels = pixels + deviation * rng.standard_normal(pixels.shape, dtype=np.float32)
    white = 2**options.bit_depth - 1
    return np.clip(np.rint(pixels * white), 0, white).astype(np.uint8 if options.bit_depth == 8 else np.uint16)


def _blur(image: Tensor, sigma_px: float) -> Tensor:
    """Gaussian blur of (3, H, W), with the border repeated."""
    if sigma_px <= 0:
        return image
    reach = math.ceil(3 * sigma_px)
    weights = torch.exp(-0.5 * (torch.arange(-reach, reach + 1) / sigma_px) ** 2)
    weights /= weights.sum()
    for dim in (1, 2):
        size = image.shape[dim]
        blurred = torch.zeros_like(image)
        for shift, weight in zip(range(-reach, reach + 1), weights, strict=True):
            source = (torch.arange(size) + shift).clamp_(0, size - 1)
            blurred += weight * image.index_select(dim, source)
        image = blurred
    return image
