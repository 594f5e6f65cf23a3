"""A camera and the surfaces before it: turns things in space into `Surface`s.

World axes: X right, Y down, Z forward, the camera in the origin. What stands for disparity here is nearness, 1/Z:
in pixel coordinates it is linear on every plane, and disparity is a multiple of it plus a constant.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from freqlf.data.synthetic.shapes import Outline, random_solid
from freqlf.data.synthetic.surfaces import TEXELS_PER_PX, Patch, Surface
from freqlf.data.synthetic.textures import Painter, measure_footprint, paint

Rng = np.random.Generator
Vector = np.ndarray  # (3,)
Plane = tuple[Vector, Vector, Vector]  # a point, and two orthogonal unit vectors from there: the axes of (p, q)
Nearness = tuple[float, float, float]  # (a, b, c): a + b*x + c*y at pixel (y, x)
Bounds = tuple[float, float, float, float]  # lowest p, lowest q, highest p, highest q
Bulge = Callable[[Tensor, Tensor], Tensor]  # (p, q) -> towards the camera, in world units

_CLOSEST = 0.3  # nothing is nearer than this Z: it would fill the picture


def unit(vector: Vector) -> Vector:
    """`vector` with length 1."""
    return vector / np.linalg.norm(vector)


class Stage:
    """Collects surfaces. Directions and points are given in the world and turned by the camera's pose."""

    def __init__(
        self, rng: Rng, height_px: int, width_px: int, margin_px: float, pitch: float = 0.0, yaw: float = 0.0
    ) -> None:
        self.rng = rng
        self.height_px, self.width_px = height_px, width_px
        self.margin_px = margin_px  # how far beyond the central view the other views look
        self.focal_px = max(height_px, width_px) * rng.uniform(0.9, 2.2)
        self.centre_px = ((height_px - 1) / 2, (width_px - 1) / 2)
        roll = rng.normal(0, 0.03)
        self.rotation = _rotation_z(roll) @ _rotation_x(pitch) @ _rotation_y(yaw)
        self.surfaces: list[Surface] = []
        self._light = unit(np.array([rng.uniform(-1, 1), rng.uniform(-1.5, -0.2), rng.uniform(-1, 0.1)]))
        self._contrast = rng.uniform(0.15, 0.7)  # between lit and unlit sides

    def pixel_size(self, point: Vector) -> float:
        """World units that one pixel covers at `point`."""
        return max(float((self.rotation @ point)[2]), _CLOSEST) / self.focal_px

    def point_at(self, y: float, x: float, z: float) -> Vector:
        """The world point at depth `z` that is seen at relative image position (y, x), each from -1 to 1."""
        ray = np.array([x * self.width_px / 2, y * self.height_px / 2, self.focal_px]) / self.focal_px
        return self.rotation.T @ (ray * z)

    def new_material(self) -> int:
        """A seed: surfaces that share it share their texture."""
        return int(self.rng.integers(2**62))

    def add_sheet(
        self,
        plane: Plane,
        bounds: Bounds,
        outline: Outline,
        material: int | None = None,
        bulge: Bulge | None = None,
        painter: Painter = paint,
    ) -> None:
        """The part of a plane inside `outline` (within `bounds`)."""
        point, along_p, along_q = plane
        p_low, q_low, p_high, q_high = bounds
        corners = np.array([point + p * along_p + q * along_q for p in (p_low, p_high) for q in (q_low, q_high)])
        corners = corners @ self.rotation.T
        if corners[:, 2].min() < _CLOSEST:
            return
        x = self.centre_px[1] + self.focal_px * corners[:, 0] / corners[:, 2]
        y = self.centre_px[0] + self.focal_px * corners[:, 1] / corners[:, 2]
        reach = self.margin_px
        top, bottom = max(y.min() - 1, -reach), min(y.max() + 1, self.height_px - 1 + reach)
        left, right = max(x.min() - 1, -reach), min(x.max() + 1, self.width_px - 1 + reach)
        if top >= bottom or left >= right or min(np.ptp(x), np.ptp(y)) < 0.3:
            return
        extent_px = max(p_high - p_low, q_high - q_low) * self.focal_px / float(np.mean(corners[:, 2]))
        patch = Patch.around(top, left, bottom, right)
        self._add(patch, plane, extent_px, outline, material, bulge, painter)

    def add_background(
        self,
        plane: Plane,
        bounds_px: tuple[float, float, float, float] | None = None,
        bulge: Bulge | None = None,
        painter: Painter = paint,
    ) -> None:
        """A whole plane; `bounds_px` (top, left, bottom, right) are given if it is seen in a part of the view only."""
        reach = self.margin_px
        bounds_px = bounds_px or (-reach, -reach, self.height_px - 1 + reach, self.width_px - 1 + reach)
        extent_px = float(max(self.height_px, self.width_px))
        self._add(Patch.around(*bounds_px), plane, extent_px, None, None, bulge, painter)

    def measure_nearness(self, plane: Plane) -> Nearness:
        """The nearness of a plane."""
        point, along_p, along_q = plane
        normal = self.rotation @ np.cross(along_p, along_q)
        distance = normal @ (self.rotation @ point)
        if abs(distance) < 1e-4:  # the camera lies in the plane
            distance = math.copysign(1e-4, distance)
        b, c = normal[0] / (self.focal_px * distance), normal[1] / (self.focal_px * distance)
        return normal[2] / distance - b * self.centre_px[1] - c * self.centre_px[0], b, c

    def _add(
        self,
        patch: Patch,
        plane: Plane,
        extent_px: float,
        outline: Outline | None,
        material: int | None,
        bulge: Bulge | None,
        painter: Painter,
    ) -> None:
        nearness = self.measure_nearness(plane)
        flat, depth, p, q = self._meet_plane(patch, plane, nearness)
        inside = needed = None
        if outline is not None:
            inside = outline(p, q)
            needed = inside > 0
            rows, columns = needed.any(dim=1).nonzero()[:, 0], needed.any(dim=0).nonzero()[:, 0]
            if len(rows) == 0:
                return
            top, bottom = max(int(rows[0]) - 1, 0), int(rows[-1]) + 2
            left, right = max(int(columns[0]) - 1, 0), int(columns[-1]) + 2
            area = slice(top, bottom), slice(left, right)
            inside, needed, flat, depth, p, q = (
                grid[area].contiguous() for grid in (inside, needed, flat, depth, p, q)
            )
            patch = patch.cropped(top, left, top + inside.shape[0], left + inside.shape[1])
        relief = None if bulge is None else bulge(p, q) * flat * flat
        # Texture units are pixels at the place of the surface that is typically seen.
        unit = float(depth[flat > 0].mean() if needed is None else depth[needed].mean()) / self.focal_px
        coordinates = torch.stack([p, q]).div_(unit)
        footprint = measure_footprint(coordinates, TEXELS_PER_PX)
        brightness = self._shading(patch, flat, nearness, relief)
        texture_rng = np.random.default_rng(self.new_material() if material is None else material)
        if needed is None:
            painted = painter(texture_rng, coordinates, footprint, extent_px)
            colour = painted * brightness * self._cast_shadows(p, q, unit)
        else:
            # Outlines can be sparse: paint only texels next to a visible place, as a picture of one row.
            needed = F.max_pool2d(needed[None].float(), 3, stride=1, padding=1)[0] > 0
            painted = painter(texture_rng, coordinates[:, None, needed], footprint[None, needed], extent_px)
            colour = torch.zeros_like(flat).expand(3, -1, -1).clone()
            colour[:, needed] = painted[:, 0] * brightness[needed]
        self.surfaces.append(Surface(patch, nearness, colour.clamp_(0, 1), inside, relief))

    def _meet_plane(self, patch: Patch, plane: Plane, linear: Nearness) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Nearness, depth and the coordinates (p, q) on the plane: each (rows, columns) of `patch`."""
        y, x = patch.pixels()
        point, along_p, along_q = plane
        nearness = linear[0] + linear[1] * x + linear[2] * y
        # Beyond the horizon (of a background) there is no point; its texture must still be finite there.
        depth = 1 / nearness.clamp_min(0.02 * max(float(nearness.max()), 1e-3))
        ray_x, ray_y = (x - self.centre_px[1]) / self.focal_px, (y - self.centre_px[0]) / self.focal_px
        origin = self.rotation @ point
        coordinates = []
        for axis in (self.rotation @ along_p, self.rotation @ along_q):
            ray = ray_x * float(axis[0]) + ray_y * float(axis[1]) + float(axis[2])
            coordinates.append(depth * ray - float(origin @ axis))
        return nearness, depth, coordinates[0], coordinates[1]

    def _shading(self, patch: Patch, flat: Tensor, linear: Nearness, relief: Tensor | None) -> Tensor:
        """(rows, columns) brightness: how a surface faces the light, under slowly varying illumination."""
        y, x = patch.pixels()
        nearness, slope_x, slope_y = flat, torch.full((1, 1), linear[1]), torch.full((1, 1), linear[2])
        if relief is not None:
            nearness = flat + relief
            slope_y, slope_x = (
                slope + gradient * TEXELS_PER_PX
                for slope, gradient in zip((slope_y, slope_x), torch.gradient(relief), strict=True)
            )
        normal_x, normal_y = slope_x * self.focal_px, slope_y * self.focal_px
        normal_z = nearness - slope_x * (x - self.centre_px[1]) - slope_y * (y - self.centre_px[0])
        length = torch.sqrt(normal_x**2 + normal_y**2 + normal_z**2).clamp_min(1e-6)
        light = self.rotation @ self._light
        facing = -(normal_x * float(light[0]) + normal_y * float(light[1]) + normal_z * float(light[2])) / length
        ambience_y, ambience_x = (self._draw_ambience(axis) for axis in (y, x))
        return (1 + self._contrast * (facing.abs() - 0.5)) * ambience_y * ambience_x

    def _cast_shadows(self, p: Tensor, q: Tensor, pixel: float) -> Tensor:
        """(rows, columns) brightness under soft shadows of things out of sight: edges where nothing is nearer."""
        light = torch.ones_like(p)
        extent = pixel * max(self.height_px, self.width_px)
        for _ in range(self.rng.choice([0, 0, 1, 2, 4])):
            size = extent * self.rng.uniform(0.05, 0.4)
            outline = random_solid(self.rng, size)
            p0, q0 = (self.rng.uniform(-0.6, 0.6) * extent for _ in range(2))
            softness = max(size * self.rng.uniform(0.02, 0.5), 2 * pixel)
            covered = torch.sigmoid(outline(p - p0, q - q0) * (4 / softness))
            light *= 1 - self.rng.uniform(0.1, 0.6) * covered
        return light

    def _draw_ambience(self, position_px: Tensor) -> Tensor:
        """Brightness that varies slowly along one axis."""
        wavelength_px = max(self.height_px, self.width_px) * self.rng.uniform(0.6, 3)
        phase = self.rng.uniform(0, 2 * math.pi)
        return 1 + self.rng.uniform(0, 0.15) * torch.sin(position_px * (2 * math.pi / wavelength_px) + phase)


def _rotation_x(angle: float) -> np.ndarray:
    """Turns a camera that looks forward to look down by `angle`."""
    cos, sin = math.cos(angle), math.sin(angle)
    return np.array([[1, 0, 0], [0, cos, -sin], [0, sin, cos]])


def _rotation_y(angle: float) -> np.ndarray:
    cos, sin = math.cos(angle), math.sin(angle)
    return np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]])


def _rotation_z(angle: float) -> np.ndarray:
    cos, sin = math.cos(angle), math.sin(angle)
    return np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
