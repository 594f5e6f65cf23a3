"""Outlines of surfaces: functions of a sheet's own coordinates (p, q) that are positive inside.

All are distance-like (they fall steadily across the outline), because only then does interpolating them
between grid points leave the outline where it is. Sizes are in the units of (p, q).
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

Outline = Callable[[Tensor, Tensor], Tensor]
Rng = np.random.Generator


def rectangle(half_p: float, half_q: float) -> Outline:
    """An upright rectangle around the origin."""
    return lambda p, q: torch.minimum(half_p - p.abs(), half_q - q.abs())


def ellipse(half_p: float, half_q: float) -> Outline:
    """An upright ellipse around the origin."""
    return lambda p, q: (1 - torch.hypot(p / half_p, q / half_q)) * min(half_p, half_q)


def leaf(half_length: float, half_width: float) -> Outline:
    """A pointed leaf along p: the part that two equal circles share."""
    offset = (half_length**2 - half_width**2) / (2 * half_width)
    radius = offset + half_width
    return lambda p, q: radius - torch.hypot(p, q.abs() + offset)


def blob(rng: Rng, size: float) -> Outline:
    """A smooth closed curve around the origin."""
    orders = np.arange(2, 8)
    amplitudes = rng.normal(0, 0.35, orders.size) / orders ** rng.uniform(0.8, 1.6)
    phases = rng.uniform(0, 2 * math.pi, orders.size)

    def outline(p: Tensor, q: Tensor) -> Tensor:
        angle = torch.atan2(q, p)
        radius = torch.ones_like(angle)
        for order, amplitude, phase in zip(orders, amplitudes, phases, strict=True):
            radius += float(amplitude) * torch.cos(int(order) * angle + float(phase))
        return 0.75 * size * radius.clamp_min(0.1) - torch.hypot(p, q)

    return outline


def star(rng: Rng, size: float) -> Outline:
    """A regular polygon, or a star when its edges are bent inwards; turned at random."""
    corners = int(rng.integers(3, 9))
    inner = math.cos(math.pi / corners) * rng.choice([1.0, 1.0, rng.uniform(0.45, 0.95)])
    turn = rng.uniform(0, 2 * math.pi)
    half = math.pi / corners
    # One edge runs from the corner (1, 0) to the inner point at angle `half`; all others are its images.
    edge = np.array([inner * math.cos(half) - 1, inner * math.sin(half)])
    normal = np.array([edge[1], -edge[0]]) / np.hypot(*edge)

    def outline(p: Tensor, q: Tensor) -> Tensor:
        angle = (torch.atan2(q, p) + turn).remainder(2 * half)
        angle = torch.minimum(angle, 2 * half - angle)
        radius = torch.hypot(p, q) / size
        across = (radius * torch.cos(angle) - 1) * float(normal[0]) + radius * torch.sin(angle) * float(normal[1])
        return -across * size

    return outline


def with_hole(outer: Outline, inner: Outline) -> Outline:
    """`outer` without `inner`."""
    return lambda p, q: torch.minimum(outer(p, q), -inner(p, q))


def lattice(half_p: float, half_q: float, period_p: float, period_q: float, bar: float) -> Outline:
    """A rectangular grid of bars of width `bar`; an infinite period leaves out that direction."""
    frame = rectangle(half_p, half_q)

    def outline(p: Tensor, q: Tensor) -> Tensor:
        bars = frame(p, q).neg().add(bar)  # the frame itself: within `bar` of the rim
        for coordinate, period in ((p, period_p), (q, period_q)):
            if math.isfinite(period):
                to_centre = ((coordinate / period).remainder(1) - 0.5).abs() * period
                bars = torch.maximum(bars, 0.5 * bar - to_centre)
        return torch.minimum(frame(p, q), bars)

    return outline


def perforated(rng: Rng, outer: Outline, period: float) -> Outline:
    """`outer` with a regular pattern of round holes."""
    radius = period * rng.uniform(0.2, 0.42)
    angle = rng.uniform(0, math.pi / 2)
    cos, sin = math.cos(angle), math.sin(angle)

    def outline(p: Tensor, q: Tensor) -> Tensor:
        first = ((p * cos - q * sin) / period).remainder(1) - 0.5
        second = ((p * sin + q * cos) / period).remainder(1) - 0.5
        return torch.minimum(outer(p, q), torch.hypot(first, second) * period - radius)

    return outline


def comb(edges: Sequence[tuple[float, float]], half_q: float, taper: float) -> Outline:
    """Teeth from one p to another of each pair, along q; they get thinner by `taper` of their width from end to end."""

    def outline(p: Tensor, q: Tensor) -> Tensor:
        width = 0.5 - taper * (0.25 + 0.25 * (q / half_q).clamp(-1, 1))
        teeth = torch.full_like(p, -1e3)
        for first, last in edges:
            teeth = torch.maximum(teeth, (last - first) * width - (p - 0.5 * (first + last)).abs())
        return torch.minimum(teeth, half_q - q.abs())

    return outline


def dots(period: float, first_radius: float, last_radius: float, half_q: float) -> Outline:
    """Discs at the places of a square grid, whose radius changes steadily from row to row, along q."""

    def outline(p: Tensor, q: Tensor) -> Tensor:
        row = (torch.floor(q / period) + 0.5) * period
        share = (0.5 + 0.5 * row / half_q).clamp(0, 1)
        radius = first_radius + (last_radius - first_radius) * share
        return radius - torch.hypot(((p / period).remainder(1) - 0.5) * period, q - row)

    return outline


def strokes(lines: Sequence[np.ndarray], widths: Sequence[tuple[float, float]]) -> Outline:
    """Thin strokes: each of `lines` is (n, 2) points (p, q); its width runs from the first value to the second."""

    def outline(p: Tensor, q: Tensor) -> Tensor:
        nearest = torch.full(torch.broadcast_shapes(p.shape, q.shape), -1e3)
        for line, (first, last) in zip(lines, widths, strict=True):
            half_widths = np.linspace(first, last, len(line)) / 2
            for index in range(len(line) - 1):
                (p0, q0), (p1, q1) = line[index], line[index + 1]
                dp, dq = p1 - p0, q1 - q0
                along = ((p - p0) * dp + (q - q0) * dq).div_(max(dp * dp + dq * dq, 1e-12)).clamp_(0, 1)
                half_width = half_widths[index] + (half_widths[index + 1] - half_widths[index]) * along
                distance = torch.hypot(p - p0 - along * dp, q - q0 - along * dq)
                nearest = torch.maximum(nearest, half_width - distance)
        return nearest

    return outline


def wavy_line(rng: Rng, start: np.ndarray, end: np.ndarray, sway: float, points: int = 8) -> np.ndarray:
    """(points, 2) from `start` to `end`, swaying sideways by about `sway` of its length."""
    position = np.linspace(0, 1, points)[:, None]
    straight = start + (end - start) * position
    sideways = np.array([-(end - start)[1], (end - start)[0]])
    bend = rng.normal(0, sway) * np.sin(math.pi * position) + rng.normal(0, sway / 2) * np.sin(2 * math.pi * position)
    return straight + bend * sideways


def random_solid(rng: Rng, size: float) -> Outline:
    """A rectangle, ellipse, blob, polygon or star of extent about `size`."""
    kind = rng.integers(4)
    if kind == 0:
        return rectangle(size * rng.uniform(0.3, 1), size * rng.uniform(0.3, 1))
    if kind == 1:
        return ellipse(size * rng.uniform(0.3, 1), size * rng.uniform(0.3, 1))
    return blob(rng, size) if kind == 2 else star(rng, size)


def random_outline(rng: Rng, size: float, pixel: float) -> Outline:
    """Any outline of extent about `size`; thin parts stay wider than about one `pixel` (its size in units)."""

    def draw_bar(largest: float) -> float:
        return float(pixel * np.exp(rng.uniform(0, np.log(max(1.5, largest * size / pixel)))))

    kind = rng.random()
    if kind < 0.5:
        return random_solid(rng, size)
    if kind < 0.65:
        return with_hole(random_solid(rng, size), ellipse(size * rng.uniform(0.1, 0.6), size * rng.uniform(0.1, 0.6)))
    if kind < 0.82:
        bar = draw_bar(0.15)
        periods = bar * rng.uniform(2, 9, 2)
        if rng.random() < 0.3:
            periods[rng.integers(2)] = np.inf
        return lattice(size * rng.uniform(0.4, 1), size * rng.uniform(0.4, 1), periods[0], periods[1], bar)
    if kind < 0.9:
        return perforated(rng, random_solid(rng, size), max(4 * pixel, size * rng.uniform(0.08, 0.4)))
    ends = rng.uniform(-0.95, 0.95, (int(rng.integers(2, 7)), 2, 2)) * size
    lines = [wavy_line(rng, start, end, 0.2) for start, end in ends]
    return strokes(lines, [(draw_bar(0.1), draw_bar(0.1)) for _ in lines])
