"""Normal equations of half-lines for the disparity that is left, see `HalfLines.normal_equations`."""

import numpy as np
import torch
from numba import njit
from torch import Tensor

from freqlf.models.kernels.functions import log, tanh
from freqlf.models.kernels.packing import PackedViews
from freqlf.models.kernels.pixelpair import fill_pair, load_pair, magnitudes, splat, store_pair
from freqlf.models.kernels.running import LOOP, run_in_threads
from freqlf.models.kernels.warping import locate, measure_room, number_pixels, sample

Array = np.ndarray

_f32 = np.float32
# Rows whose gradients along columns are known while those of the next are computed.
_RING = 3
# What is kept of a pixel: the image that is compared, sum w k e and sum w k^2, each with four numbers for its colours.
_IMAGE, _MOMENT, _WEIGHT = range(3)


def make_equations(
    packed: PackedViews, disparity_px: Tensor, robustness: float, *, together: bool
) -> tuple[Tensor, Tensor]:
    """Numerators and denominators (B, half-lines, H, W), or with `together` their sums (B, 1, H, W)."""
    B, _, H, W = disparity_px.shape
    parts = 1 if together else len(packed.starts) - 1
    numerators, denominators = (torch.zeros(B, parts, H, W) for _ in range(2))
    disparity = disparity_px[:, 0].contiguous().numpy()
    run_in_threads(
        _solve_rows, B * H, *packed, disparity, robustness, together, numerators.numpy(), denominators.numpy()
    )
    return numerators, denominators


def describe_equations(
    numerators: Tensor, denominators: Tensor, scale: float, measurements: Tensor, first: int
) -> None:
    """Two channels of evidence (B, J, channels, H, W) from `first` on, from averaged equations (B, J, H, W).

    They are the offset that each half-line would like best, at a scale in 1/px, and how sure it is.
    """
    B, J, channels, H, W = measurements.shape
    parts = (part.reshape(B * J, H, W).numpy() for part in (numerators, denominators))
    evidence = measurements.view(B * J, channels, H, W)[:, first : first + 2]
    run_in_threads(_describe_rows, B * J * H, *parts, scale, evidence.numpy())


@njit(**LOOP)
def _describe_rows(
    numerators: Array, denominators: Array, scale: float, evidence: Array, first_row: int, last_row: int
) -> None:
    _, _, H, W = evidence.shape
    for row in range(first_row, last_row):
        j, y = row // H, row % H
        numerator, denominator = numerators[j, y], denominators[j, y]
        offset, weight = evidence[j, 0, y], evidence[j, 1, y]
        for x in range(W):
            offset[x] = tanh(_f32(scale) * numerator[x] / (denominator[x] + _f32(0.02)))
        for x in range(W):
            weight[x] = _f32(0.25) * log(denominator[x] + _f32(0.01))


@njit(**LOOP)
def _solve_rows(
    views: Array,
    batch_stride: int,
    height: int,
    width: int,
    offsets: Array,
    starts: Array,
    centre: Array,
    origin: Array,
    disparity_px: Array,
    robustness: float,
    together: bool,
    numerators: Array,
    denominators: Array,
    first_row: int,
    last_row: int,
) -> None:
    H = disparity_px.shape[1]
    row = first_row
    while row < last_row:
        b, y = row // H, row % H
        end = min(H, y + last_row - row)
        for j in range(len(starts) - 1):
            _solve_half_line(
                views, b * batch_stride, height, width, offsets[starts[j] : starts[j + 1]], starts[j], centre, origin,
                disparity_px, b, y, end, _f32(robustness), numerators[b, 0 if together else j],
                denominators[b, 0 if together else j],
            )  # fmt: skip
        row += end - y


@njit(**LOOP)
def _solve_half_line(
    views: Array,
    first: int,
    height: int,
    width: int,
    offsets: Array,
    first_view: int,
    centre: Array,
    origin: Array,
    disparity_px: Array,
    b: int,
    first_row: int,
    last_row: int,
    robustness: float,
    numerator: Array,
    denominator: Array,
) -> None:
    """Add the equations of one half-line, for some rows of image b, to maps (H, W)."""
    _, H, W = disparity_px.shape
    size = (W + 7) // 8 * 8
    first += first_view * height * width * 3
    disparity, rows, columns = np.zeros(size, np.float32), np.empty(size, np.float32), np.empty(size, np.float32)
    room, pixels = np.empty(size, np.float32), np.empty((len(offsets), size), np.int32)
    down, right, visible = (
        np.empty((len(offsets), size), np.float32),
        np.empty((len(offsets), size), np.float32),
        np.empty((len(offsets), size), np.float32),
    )
    kept = np.empty((_RING, 3, 4 * size), np.float32)
    number_pixels(0, size, origin, rows, columns)
    by_rows, by_columns = np.sign(offsets[0])
    outer_step = max(abs(offsets[0, 0]), abs(offsets[0, 1]))
    to_right, to_below = 3 * min(width - 1, 1), 3 * width * min(height - 1, 1)
    for y in range(max(first_row - 1, 0), min(last_row + 1, H)):
        disparity[:W] = disparity_px[b, y]
        rows[:] = _f32(origin[0] + y)
        measure_room(disparity, rows, columns, by_rows, by_columns, height, width, room)
        for v in range(len(offsets)):
            locate(height, width, offsets[v, 0], offsets[v, 1], disparity, rows, columns, pixels[v], down[v], right[v])
            steps = _f32(max(abs(offsets[v, 0]), abs(offsets[v, 1])))
            for x in range(size):
                visible[v, x] = _f32(1) if steps <= room[x] else _f32(0)
        _weigh_row(
            views, first, 3 * height * width, to_right if by_rows == 0 else to_below, to_right, outer_step,
            len(offsets), by_rows != 0 and by_columns != 0, pixels.reshape(-1),
            (right if by_rows == 0 else down).reshape(-1), right.reshape(-1), visible.reshape(-1),
            centre, 3 * (b * H + y) * W, robustness, kept[y % _RING],
        )  # fmt: skip
        if y > first_row:
            above, here, below = max(y - 2, 0) % _RING, (y - 1) % _RING, y % _RING
            _add_row(kept, above, here, below, by_rows, by_columns, numerator[y - 1], denominator[y - 1])
    if last_row == H:
        above, here = max(H - 2, 0) % _RING, (H - 1) % _RING
        _add_row(kept, above, here, here, by_rows, by_columns, numerator[H - 1], denominator[H - 1])


@njit(**LOOP)
def _weigh_row(
    views: Array,
    first: int,
    view_size: int,
    far: int,
    to_right: int,
    outer_step: int,
    count: int,
    is_diagonal: bool,
    pixels: Array,
    part: Array,
    right: Array,
    visible: Array,
    centre: Array,
    centre_first: int,
    robustness: float,
    kept: Array,
) -> None:
    """What is kept of a row, (3, 4 * pixels), from the views of a half-line, of which the first begins at `first`.

    far: numbers from a pixel to that with which it is mixed by `part`; to_right, right: and for diagonals.
    outer_step: of the first view; its successors are nearer to the centre, or if it is 1, farther away.
    """
    size = kept.shape[1] // 4
    growth = 1 if outer_step == 1 else -1
    image, moments, weights = kept[_IMAGE], kept[_MOMENT], kept[_WEIGHT]
    for eight in range(0, size, 8):
        for x in range(eight, eight + 4):
            colours = load_pair(centre, centre_first + 3 * x)
            total, moment, weight = splat(_f32(0)), splat(_f32(0)), splat(_f32(0))
            for v in range(count):
                at, start = v * size + x, first + v * view_size
                if is_diagonal:
                    across = fill_pair(right, at)
                    above = sample(views, start, to_right, pixels, at, across)
                    below = sample(views, start + far, to_right, pixels, at, across)
                    seen = above + (below - above) * fill_pair(part, at)
                else:
                    seen = sample(views, start, far, pixels, at, fill_pair(part, at))
                is_seen = fill_pair(visible, at)
                steps = splat(_f32(outer_step + growth * v))
                residual = (seen - colours) * is_seen
                product = steps * is_seen / (splat(robustness) + magnitudes(residual))
                total = total + residual
                moment = moment + residual * product
                weight = weight + steps * product
            store_pair(image, x, colours + total * splat(_f32(0.5 / count)))
            store_pair(moments, x, moment)
            store_pair(weights, x, weight)


@njit(**LOOP)
def _add_row(
    kept: Array,
    above: int,
    here: int,
    below: int,
    by_rows: int,
    by_columns: int,
    numerator: Array,
    denominator: Array,
) -> None:
    """Multiply by the gradient along the line, and add over colours."""
    W = len(numerator)
    image, lower, upper = kept[here, _IMAGE], kept[below, _IMAGE], kept[above, _IMAGE]
    moments, weights = kept[here, _MOMENT], kept[here, _WEIGHT]
    products, squares = np.empty(4 * W, np.float32), np.empty(4 * W, np.float32)
    along_y, along_x = _f32(0.5 * by_rows), _f32(0.5 * by_columns)
    for i in range(4 * W):
        products[i] = along_y * (lower[i] - upper[i])
    if by_columns != 0:
        for i in range(4, 4 * W - 4):
            products[i] += along_x * (image[i + 4] - image[i - 4])
        for c in range(4):  # the image goes on with its border
            last = 4 * W - 4 + c
            products[c] += along_x * (image[min(4 + c, last)] - image[c])
            if W > 1:
                products[last] += along_x * (image[last] - image[last - 4])
    for i in range(4 * W):
        squares[i] = products[i] * products[i] * weights[i]
        products[i] *= moments[i]
    for x in range(W):
        numerator[x] += products[4 * x] + products[4 * x + 1] + products[4 * x + 2]
        denominator[x] += squares[4 * x] + squares[4 * x + 1] + squares[4 * x + 2]
