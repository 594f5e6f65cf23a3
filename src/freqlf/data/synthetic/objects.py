"""Things to put on a stage: boxes, turned vessels, cut-outs, plants, tables."""

import math

import numpy as np
import torch
from torch import Tensor

from freqlf.data.synthetic import shapes
from freqlf.data.synthetic.stage import Bounds, Plane, Stage, Vector, unit

RIGHT, DOWN, FORWARD = np.eye(3)


def random_rotation(stage: Stage) -> np.ndarray:
    """(3, 3) with any orientation; its rows are orthogonal unit vectors."""
    matrix, upper = np.linalg.qr(stage.rng.normal(size=(3, 3)))
    return (matrix * np.sign(np.diag(upper))).T


def upright_axes(yaw: float) -> np.ndarray:
    """(3, 3) rows: right, down, forward of something that stands upright, turned by `yaw`."""
    cos, sin = math.cos(yaw), math.sin(yaw)
    return np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]])


def tilted_axes(stage: Stage, tilt: float) -> np.ndarray:
    """(3, 3) rows: axes of a sheet that faces the camera but for a random tilt (radians, standard deviation)."""
    forward = unit(stage.rotation.T @ FORWARD + stage.rng.normal(0, math.tan(min(tilt, 1.2)), 3))
    first = unit(np.cross(DOWN + stage.rng.normal(0, 0.3, 3), forward))
    return np.array([first, np.cross(forward, first), forward])


def add_box(stage: Stage, centre: Vector, half_sizes: Vector, axes: np.ndarray) -> None:
    """A solid box; `axes` rows are its directions. Only the sides that face the camera are kept."""
    shared = stage.new_material() if stage.rng.random() < 0.6 else None
    overlap = 0.05 * stage.pixel_size(centre)
    for axis in range(3):
        for sign in (-1.0, 1.0):
            outward = sign * axes[axis]
            middle = centre + half_sizes[axis] * outward
            if outward @ middle >= 0:
                continue
            first, second = (axis + 1) % 3, (axis + 2) % 3
            half_p, half_q = half_sizes[first] + overlap, half_sizes[second] + overlap
            outline = shapes.rectangle(half_p, half_q)
            stage.add_sheet((middle, axes[first], axes[second]), _centred(half_p, half_q), outline, shared)


def add_vessel(stage: Stage, foot: Vector, radius: float, height: float) -> None:
    """A body of revolution that stands on `foot`: ball, cone, cylinder, vase."""
    rng = stage.rng
    kind = rng.integers(4)
    if kind == 0:
        height = 2 * radius
    waist, belly, phase = rng.uniform(0.5, 1.0), rng.uniform(0, 0.35), rng.uniform(0, 2 * math.pi)

    def profile(up: Tensor) -> Tensor:
        """Radius at relative height `up`, squared."""
        up = up.clamp(0, 1)
        if kind == 0:
            return 4 * radius**2 * up * (1 - up)
        if kind == 1:
            return (radius * (1 - 0.95 * up)) ** 2
        if kind == 2:
            return torch.full_like(up, radius**2)
        return (radius * (waist - belly * (1 + torch.sin(phase + 5 * up)) / 2)) ** 2

    def outline(p: Tensor, q: Tensor) -> Tensor:
        up = 0.5 - q / height
        return torch.minimum(profile(up).sqrt() - p.abs(), (0.5 - (up - 0.5).abs()) * height)

    def bulge(p: Tensor, q: Tensor) -> Tensor:
        """A parabola instead of a circle: it never gets so steep that it hides itself."""
        return ((profile(0.5 - q / height) - p * p) / radius).clamp_min(0)

    towards = unit(np.array([foot[0], 0.0, foot[2]]))
    across = np.cross(DOWN, towards)
    middle = foot - 0.5 * height * DOWN
    stage.add_sheet((middle, across, DOWN), _centred(radius, height / 2), outline, bulge=bulge)
    if kind >= 2 and (foot - height * DOWN)[1] > 0:  # its top is below the camera: seen from above
        rim = float(profile(torch.ones(())).sqrt())
        lid = foot - height * DOWN
        stage.add_sheet((lid, across, towards), _centred(rim, rim), shapes.ellipse(rim, rim))


def add_cutout(stage: Stage, centre: Vector, size: float, tilt: float) -> None:
    """A flat or gently curved sheet of any outline, facing the camera more or less."""
    rng = stage.rng
    axes = tilted_axes(stage, tilt)
    outline = shapes.random_outline(rng, size, stage.pixel_size(centre))
    bulge = None
    if rng.random() < 0.35:
        curvature = rng.normal(0, 0.4, 3) / size

        def bulge(p: Tensor, q: Tensor) -> Tensor:
            p, q = p.clamp(-size, size), q.clamp(-size, size)
            return float(curvature[0]) * p * p + float(curvature[1]) * q * q + float(curvature[2]) * p * q

    stage.add_sheet((centre, axes[0], axes[1]), _centred(size, size), outline, bulge=bulge)


def add_table(stage: Stage, foot: Vector, yaw: float) -> None:
    """A slab on four legs; `foot` is the floor below its middle."""
    rng = stage.rng
    axes = upright_axes(yaw)
    half_x, half_z, height = rng.uniform(0.25, 0.7), rng.uniform(0.2, 0.5), rng.uniform(0.2, 0.6)
    slab, leg = rng.uniform(0.01, 0.04), rng.uniform(0.01, 0.04)
    add_box(stage, foot - (height - slab) * DOWN, np.array([half_x, slab, half_z]), axes)
    for i in (-1, 1):
        for j in (-1, 1):
            corner = foot + i * (half_x - 2 * leg) * axes[0] + j * (half_z - 2 * leg) * axes[2]
            add_box(stage, corner - 0.5 * height * DOWN, np.array([leg, height / 2 - slab, leg]), axes)


def _centred(half_p: float, half_q: float) -> Bounds:
    return -half_p, -half_q, half_p, half_q


def _add_stroke(
    stage: Stage, plane: Plane, line: np.ndarray, first_width: float, last_width: float, material: int
) -> None:
    """A thin line (n, 2) on a plane, a few of its segments at a time: its whole bounding box would be mostly empty."""
    widths = np.linspace(first_width, last_width, len(line))
    segments = 2
    for start in range(0, len(line) - 1, segments):
        part = line[start : start + segments + 1]
        width, width_after = widths[start], widths[start + len(part) - 1]
        low, high = part.min(axis=0) - width, part.max(axis=0) + width
        outline = shapes.strokes([part], [(width, width_after)])
        stage.add_sheet(plane, (*low, *high), outline, material)


def add_plant(stage: Stage, foot: Vector, height: float) -> None:
    """A few bent stems with leaves at all angles."""
    rng = stage.rng
    stems, leaves = int(rng.integers(1, 5)), int(rng.integers(6, 28))
    leaf_length = height * rng.uniform(0.08, 0.22)
    leaf_width = leaf_length * rng.uniform(0.15, 0.5)
    bark, green = stage.new_material(), [stage.new_material() for _ in range(2)]
    pixel = stage.pixel_size(foot)
    for _ in range(stems):
        axes = upright_axes(rng.uniform(-0.6, 0.6))
        tip = np.array([rng.normal(0, 0.25), -1.0]) * height
        line = shapes.wavy_line(rng, np.zeros(2), tip, 0.12, 9)
        thick = max(height * rng.uniform(0.008, 0.03), 1.2 * pixel)
        _add_stroke(stage, (foot, axes[0], DOWN), line, thick, max(0.4 * thick, pixel), bark)
        for _ in range(leaves // stems):
            up = rng.uniform(0.25, 1.0)
            p, q = line[min(round(up * 8), 8)]
            base = foot + p * axes[0] + q * DOWN
            direction = unit(rng.normal(size=3) + np.array([0, -0.3, 0]))
            across = unit(np.cross(direction, rng.normal(size=3)))
            length = leaf_length * rng.uniform(0.6, 1.3)
            outline = shapes.leaf(length, leaf_width)
            centre = base + length * direction
            bounds = _centred(length, leaf_width)
            stage.add_sheet((centre, direction, across), bounds, outline, green[rng.integers(2)])


def add_strands(stage: Stage, foot: Vector, size: float, direction: Vector) -> None:
    """A bundle of thin strands (grass, hair, wires), each at its own distance."""
    rng = stage.rng
    material = stage.new_material()
    pixel = stage.pixel_size(foot)
    for _ in range(rng.integers(6, 24)):
        start = foot + rng.normal(0, 0.35 * size, 3) * np.array([1, 0.2, 1])
        along = unit(direction + rng.normal(0, 0.25, 3))
        across = unit(np.cross(along, FORWARD + rng.normal(0, 0.1, 3)))
        length = size * rng.uniform(0.5, 1.2)
        line = shapes.wavy_line(rng, np.zeros(2), np.array([length, 0.0]), 0.15)
        thick = pixel * rng.uniform(1.0, 3.0)
        _add_stroke(stage, (start, along, across), line, thick, max(0.5 * thick, 0.9 * pixel), material)


def add_fence(stage: Stage, foot: Vector, half_width: float, height: float, yaw: float) -> None:
    """An upright grid of bars."""
    rng = stage.rng
    axes = upright_axes(yaw)
    pixel = stage.pixel_size(foot)
    bar = pixel * float(np.exp(rng.uniform(np.log(1.2), np.log(6.0))))
    periods = bar * rng.uniform(3, 12, 2)
    if rng.random() < 0.4:
        periods[rng.integers(2)] = np.inf
    outline = shapes.lattice(half_width, height / 2, periods[0], periods[1], bar)
    bounds = _centred(half_width, height / 2)
    stage.add_sheet((foot - 0.5 * height * DOWN, axes[0], DOWN), bounds, outline)
