"""Kinds of scenes: what stands where. Each layout fills a new `Stage`."""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from freqlf.data.synthetic import objects, shapes
from freqlf.data.synthetic.objects import DOWN, FORWARD, RIGHT
from freqlf.data.synthetic.stage import Bulge, Plane, Rng, Stage, Vector
from freqlf.data.synthetic.textures import Painter, paint, paint_faint, paint_fractal, paint_plain, smooth_field

Frame = tuple[int, int, float]  # height, width and margin in pixels


def lay_out_room(rng: Rng, frame: Frame) -> Stage:
    """A floor, walls and perhaps a ceiling; furniture-like things on the floor and on the back wall."""
    pitch, yaw = rng.uniform(0.05, 0.75), rng.normal(0, 0.3)
    stage = Stage(rng, *frame, pitch=pitch, yaw=yaw)
    floor, depth = rng.uniform(0.7, 1.3), rng.uniform(2.2, 5.0)
    planes: list[Plane] = [(floor * DOWN, RIGHT, FORWARD), (depth * FORWARD, RIGHT, DOWN)]
    for side in (-1, 1):
        if rng.random() < 0.6:
            planes.append((side * rng.uniform(1.0, 3.0) * RIGHT, FORWARD, DOWN))
    if rng.random() < 0.4:
        planes.append((-rng.uniform(0.7, 1.6) * DOWN, RIGHT, FORWARD))
    _add_room_planes(stage, planes)

    for _ in range(rng.integers(0, 5)):  # on the back wall: frames, shelves, cupboards
        size = rng.uniform(0.1, 0.6, 3) * np.array([1, 1, 0.4])
        place = np.array([rng.uniform(-1.5, 1.5), rng.uniform(-1, floor), depth - size[2]])
        objects.add_box(stage, place, size, objects.upright_axes(0.0))

    for _ in range(rng.integers(4, 20)):
        # Somewhere on the part of the floor that is in the picture.
        ray = stage.point_at(rng.uniform(-0.6, 1.1), rng.uniform(-1, 1), 1.0)
        foot = ray * floor / ray[1] if ray[1] > 0.05 else np.full(3, np.inf)
        if 0.6 < foot[2] < depth - 0.1:
            size = float(np.linalg.norm(foot) * np.exp(rng.uniform(np.log(0.04), np.log(0.25))))
            _add_standing(stage, foot, size)
    return stage


def lay_out_studio(rng: Rng, frame: Frame) -> Stage:
    """A few large things on a table before a wall, of which both are dark and have hardly any texture."""
    stage = Stage(rng, *frame, pitch=rng.uniform(0.02, 0.35), yaw=rng.normal(0, 0.15))
    table, depth = rng.uniform(0.25, 0.8), rng.uniform(1.8, 4.0)
    _add_room_planes(stage, [(table * DOWN, RIGHT, FORWARD), (depth * FORWARD, RIGHT, DOWN)], paint_faint)
    for _ in range(rng.integers(1, 6)):
        z = rng.uniform(0.9, 0.85 * depth)
        foot = np.array([rng.uniform(-0.45, 0.45) * z * stage.width_px / stage.focal_px, table, z])
        size = z * stage.width_px / stage.focal_px * float(np.exp(rng.uniform(np.log(0.05), np.log(0.3))))
        if rng.random() < 0.7:
            objects.add_vessel(stage, foot, size * rng.uniform(0.5, 1), size * rng.uniform(1, 4))
        else:
            half = size * rng.uniform(0.4, 1.0, 3)
            objects.add_box(stage, foot - half[1] * DOWN, half, objects.upright_axes(rng.uniform(-0.8, 0.8)))
    return stage


def _add_standing(stage: Stage, foot: Vector, size: float) -> None:
    """Something that stands on the floor."""
    rng = stage.rng
    yaw = rng.uniform(-math.pi / 4, math.pi / 4)
    kind = rng.choice(
        ["box", "vessel", "table", "plant", "fence", "card", "strands"], p=[0.4, 0.2, 0.08, 0.12, 0.07, 0.08, 0.05]
    )
    if kind == "box":
        half = size * rng.uniform(0.25, 1.0, 3)
        objects.add_box(stage, foot - half[1] * DOWN, half, objects.upright_axes(yaw))
        if rng.random() < 0.3:  # a smaller one on top
            top = foot - 2 * half[1] * DOWN
            smaller = half * rng.uniform(0.3, 0.8, 3)
            objects.add_box(stage, top - smaller[1] * DOWN, smaller, objects.upright_axes(yaw + rng.normal(0, 0.3)))
    elif kind == "vessel":
        objects.add_vessel(stage, foot, size * rng.uniform(0.2, 0.6), size * rng.uniform(0.5, 2))
    elif kind == "table":
        objects.add_table(stage, foot, yaw)
    elif kind == "plant":
        objects.add_plant(stage, foot, size * rng.uniform(1, 3))
    elif kind == "fence":
        objects.add_fence(stage, foot, size, size * rng.uniform(0.6, 2), yaw)
    elif kind == "card":
        objects.add_cutout(stage, foot - size * DOWN, size, 0.5)
    else:
        objects.add_strands(stage, foot, size, -DOWN)


def _add_room_planes(stage: Stage, planes: list[Plane], painter: Painter = paint) -> None:
    """Backgrounds that meet in corners: each is painted only where it is the nearest of them (a room is hollow)."""
    reach = stage.margin_px
    y = torch.arange(-reach - 4, stage.height_px + reach + 4, 4)
    x = torch.arange(-reach - 4, stage.width_px + reach + 4, 4)
    coefficients = [stage.measure_nearness(plane) for plane in planes]
    nearness = torch.stack([a + b * x[None, :] + c * y[:, None] for a, b, c in coefficients])
    foremost = nearness.argmax(dim=0)
    for number, plane in enumerate(planes):
        seen = foremost == number
        if not bool(seen.any()):
            continue
        rows, columns = seen.any(dim=1).nonzero()[:, 0], seen.any(dim=0).nonzero()[:, 0]
        top, bottom = float(y[rows[0]]) - 6, float(y[rows[-1]]) + 6
        left, right = float(x[columns[0]]) - 6, float(x[columns[-1]]) + 6
        stage.add_background(plane, bounds_px=(top, left, bottom, right), painter=painter)


def lay_out_cutouts(rng: Rng, frame: Frame) -> Stage:
    """Sheets of all outlines, one behind the other."""
    stage = Stage(rng, *frame)
    _add_backdrop(stage, rng.uniform(2.0, 4.0))
    tilt = rng.choice([0.0, 0.2, 0.5])
    for _ in range(rng.integers(3, 16)):
        depth = rng.uniform(0.9, 2.0)
        size = depth * stage.width_px / stage.focal_px * float(np.exp(rng.uniform(np.log(0.04), np.log(0.35))))
        objects.add_cutout(stage, stage.point_at(rng.uniform(-1, 1), rng.uniform(-1, 1), depth), size, tilt)
    return stage


def lay_out_relief(rng: Rng, frame: Frame) -> Stage:
    """One continuous curved surface, at times with a few things before it."""
    stage = Stage(rng, *frame)
    depth = rng.uniform(1.5, 3.0)
    _add_backdrop(stage, depth, relief=rng.uniform(0.05, 0.3) * depth)
    for _ in range(rng.choice([0, 0, 1, 3])):
        near = depth * rng.uniform(0.4, 0.7)
        objects.add_cutout(
            stage, stage.point_at(rng.uniform(-1, 1), rng.uniform(-1, 1), near), near * rng.uniform(0.03, 0.15), 0.3
        )
    return stage


def lay_out_clutter(rng: Rng, frame: Frame) -> Stage:
    """Many small things at all distances and angles."""
    stage = Stage(rng, *frame)
    _add_backdrop(stage, rng.uniform(2.0, 3.5))
    for _ in range(rng.integers(20, 70)):
        depth = rng.uniform(0.9, 2.2)
        size = depth * stage.width_px / stage.focal_px * float(np.exp(rng.uniform(np.log(0.02), np.log(0.12))))
        place = stage.point_at(rng.uniform(-1.05, 1.05), rng.uniform(-1.05, 1.05), depth)
        kind = rng.random()
        if kind < 0.5:
            objects.add_box(stage, place, size * rng.uniform(0.3, 1, 3), objects.random_rotation(stage))
        elif kind < 0.75:
            objects.add_vessel(stage, place, size * rng.uniform(0.4, 1), size * rng.uniform(0.8, 3))
        else:
            objects.add_cutout(stage, place, size, 0.5)
    return stage


def lay_out_foliage(rng: Rng, frame: Frame) -> Stage:
    """Thin structures: plants, strands, fences before a backdrop."""
    stage = Stage(rng, *frame, pitch=rng.uniform(0, 0.2))
    _add_backdrop(stage, rng.uniform(2.0, 4.0))
    for _ in range(rng.integers(3, 9)):
        depth = rng.uniform(0.9, 2.0)
        view = depth * stage.width_px / stage.focal_px  # width of the picture at that depth
        place = stage.point_at(rng.uniform(0.0, 1.3), rng.uniform(-1, 1), depth)
        kind = rng.random()
        if kind < 0.55:
            objects.add_plant(stage, place, view * rng.uniform(0.25, 0.9))
        elif kind < 0.85:
            objects.add_strands(stage, place, view * rng.uniform(0.1, 0.6), rng.normal(size=3) * 0.4 - DOWN)
        else:
            half_width, height = view * rng.uniform(0.1, 0.5), view * rng.uniform(0.2, 0.9)
            objects.add_fence(stage, place, half_width, height, rng.normal(0, 0.4))
    for _ in range(rng.integers(0, 4)):
        depth = rng.uniform(1.2, 2.0)
        size = depth * stage.width_px / stage.focal_px * rng.uniform(0.05, 0.2)
        objects.add_cutout(stage, stage.point_at(rng.uniform(-1, 1), rng.uniform(-1, 1), depth), size, 0.3)
    return stage


def lay_out_chart(rng: Rng, frame: Frame) -> Stage:
    """What methods are tested with: bars and wedges, dots, or pyramids, some of one colour, before a plane."""
    stage = Stage(rng, *frame)
    depth = rng.uniform(1.5, 3.0)
    kind = rng.choice(["bars", "dots", "pyramids"], p=[0.5, 0.25, 0.25])
    back = objects.tilted_axes(stage, rng.choice([0.0, 0.2]))
    painter = paint_plain if rng.random() < 0.15 else paint
    bulge = _draw_pyramids(stage, depth) if kind == "pyramids" else None
    stage.add_background((stage.point_at(0, 0, depth), back[0], back[1]), bulge=bulge, painter=paint_fractal)
    if kind == "pyramids":
        return stage

    near = depth * rng.uniform(0.6, 0.97)
    half = 0.9 * near * max(stage.width_px, stage.height_px) / stage.focal_px
    axes = objects.tilted_axes(stage, rng.choice([0.0, 0.15]))
    if rng.random() < 0.3:
        axes = axes[[1, 0, 2]]
    pixel = near / stage.focal_px
    if kind == "dots":
        period = pixel * float(np.exp(rng.uniform(np.log(8), np.log(60))))
        first_radius, last_radius = period * rng.uniform(0.05, 0.45, 2)
        outline = shapes.dots(period, first_radius, last_radius, half)
    else:
        widths = pixel * np.exp(rng.uniform(np.log(2), np.log(40), 400))
        ends = np.cumsum(widths) - rng.uniform(1.0, 1.2) * half
        edges = [(low, high) for low, high in zip(ends[:-1:2], ends[1::2], strict=True) if low < half]
        outline = shapes.comb(edges, half, rng.choice([0.0, rng.uniform(0.0, 1.0)]))
    bounds = (-half, -half, half, half)
    stage.add_sheet((stage.point_at(0, 0, near), axes[0], axes[1]), bounds, outline, painter=painter)
    return stage


def _draw_pyramids(stage: Stage, depth: float) -> Bulge:
    """Pyramids and cones, in rows, towards the camera and away from it."""
    rng = stage.rng
    period = depth * max(stage.width_px, stage.height_px) / stage.focal_px / rng.uniform(1.5, 6)
    half, height = period * rng.uniform(0.25, 0.48), depth * rng.uniform(0.02, 0.15)
    is_round = rng.random() < 0.4

    def pyramids(p: Tensor, q: Tensor) -> Tensor:
        x, y = (((one / period).remainder(1) - 0.5) * period for one in (p, q))
        sign = 1 - 2 * (torch.floor(p / period) + torch.floor(q / period)).remainder(2)
        distance = torch.hypot(x, y) if is_round else torch.maximum(x.abs(), y.abs())
        return height * sign * (1 - distance / half).clamp_min(0)

    return pyramids


def _add_backdrop(stage: Stage, depth: float, relief: float = 0.0) -> None:
    """One surface behind everything: facing the camera or slanted, flat or curved by up to `relief`."""
    rng = stage.rng
    slant = rng.choice([0.0, 0.3, 0.8]) * rng.uniform(0.3, 1)
    axes = objects.tilted_axes(stage, slant)
    bulge = None
    if relief or rng.random() < 0.3:
        bulge = _random_relief(stage, depth, relief or rng.uniform(0.01, 0.1) * depth)
    stage.add_background((stage.point_at(0, 0, depth), axes[0], axes[1]), bulge=bulge)


def _random_relief(stage: Stage, depth: float, height: float) -> Bulge:
    """Smooth hills and hollows, or a few round bumps."""
    rng = stage.rng
    view = depth * max(stage.width_px, stage.height_px) / stage.focal_px
    if rng.random() < 0.5:
        wavelength = view * rng.uniform(0.3, 1.2)
        seed = stage.new_material()

        def hills(p: Tensor, q: Tensor) -> Tensor:
            return height * smooth_field(np.random.default_rng(seed), torch.stack([p, q]), wavelength).clamp(-2, 2)

        return hills

    count = int(rng.integers(1, 7))
    places, signs = rng.uniform(-0.5, 0.5, (count, 2)) * view, rng.choice([-1.0, 1.0, 1.0], count)
    widths = view * rng.uniform(0.06, 0.3, count)

    def bumps(p: Tensor, q: Tensor) -> Tensor:
        total = torch.zeros_like(p)
        for (p0, q0), width, sign in zip(places, widths, signs, strict=True):
            distance = ((p - p0) ** 2 + (q - q0) ** 2) / (2 * width**2)
            total += float(sign * min(1.0, width / (0.15 * view))) * height * torch.exp(-distance)
        return total

    return bumps


LAYOUTS: dict[str, tuple[Callable[[Rng, Frame], Stage], float]] = {
    "room": (lay_out_room, 0.42),
    "cutouts": (lay_out_cutouts, 0.18),
    "relief": (lay_out_relief, 0.10),
    "clutter": (lay_out_clutter, 0.15),
    "foliage": (lay_out_foliage, 0.15),
    # Only when asked for: scenes of a number stay what they were.
    "studio": (lay_out_studio, 0.0),
    "chart": (lay_out_chart, 0.0),
}
