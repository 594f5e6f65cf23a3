"""What half-lines of views cost under given disparities of the pixels."""

import math

import numpy as np
import torch
from numba import njit
from torch import Tensor

from freqlf.models.kernels.functions import log
from freqlf.models.kernels.packing import PackedViews
from freqlf.models.kernels.running import LOOP, run_in_threads
from freqlf.models.kernels.warping import RUN, compare, locate, measure_room, number_pixels

Array = np.ndarray

_f32 = np.float32
_THIRD = _f32(1 / 3)  # differences are summed over three colours
_THIRD_OF_INT = np.int64(0x55555556)  # times 2^32
# So many logarithms of differences are one of their product, scaled so that it neither vanishes nor overflows.
_FACTORS, _FACTOR = 8, 16
# What is summed over the views of a half-line: differences, their logarithms, those of inner and of outer views, and
# those of views by their contrast.
_PARTS = 5
_ALL, _LOGARITHMS, _NEAR, _FAR, _CONTRAST = range(_PARTS)
_SEEN_PARTS = 3
_SHIFT = _f32(1.9 - 0.5 * math.log(_FACTOR))  # of the mean of logarithms, to the scale of evidence


def compare_hypotheses(
    packed: PackedViews,
    hypotheses_px: Tensor,
    compared: int,
    measurements: Tensor,
    normalised: PackedViews | None = None,
    nearest_px: Tensor | None = None,
    seen: Tensor | None = None,
    hiding_px: float = 0.0,
) -> None:
    """Evidence of hypotheses (B, N, H, W) into the first channels of the measurements (B, J, channels, H, W).

    Those of `freqlf.models.evidence`: five of the first hypothesis, two of the others up to `compared`, and one of
    all further ones; with none compared, the costs as they are. normalised: the same views by their contrast, for one
    more of those that are compared, after all others: where a pixel is seen in a view is found once for both. With
    nearest_px (B, V, height, width), of the views, also what those say in which nothing that is nearer by hiding_px
    hides a hypothesis, into seen (B, 3, compared, H, W).
    """
    B, _, H, W = hypotheses_px.shape
    hypotheses, results = hypotheses_px.flatten(2).contiguous().numpy(), measurements.view(*measurements.shape[:3], -1)
    runs = -(-H * W // RUN)
    by_contrast = packed if normalised is None else normalised
    others = (by_contrast.views, by_contrast.batch_stride, by_contrast.centre, normalised is not None)
    surfaces, told = np.empty((B, 1, 1), np.float32), np.empty((B, 3, 0, H * W), np.float32)
    if nearest_px is not None and seen is not None:
        surfaces, told = nearest_px.flatten(2).contiguous().numpy(), seen.flatten(3).numpy()
    run_in_threads(
        _compare_runs, B * runs, *packed, *others, W, hypotheses, compared, results.numpy(), surfaces, told,
        _f32(hiding_px),
    )  # fmt: skip


def measure_costs(packed: PackedViews, disparity_px: Tensor) -> Tensor:
    """`HalfLines.costs` (B, J, H, W) of disparities (B, 1, H, W)."""
    B, _, H, W = disparity_px.shape
    costs = torch.empty(B, len(packed.starts) - 1, 1, H, W)
    compare_hypotheses(packed, disparity_px, 0, costs)
    return costs.squeeze(2)


def choose_sides(measurements: Tensor, hypotheses: int, relative: int) -> Tensor:
    """Costs (B, 2N, H, W) of hypotheses from measurements (B, J, channels, H, W), of views and of normalised ones.

    The mean over lines of the better one of their two half-lines.
    """
    B, J, channels, H, W = measurements.shape
    costs = torch.empty(B, 2 * hypotheses, H, W)
    kinds, total = (_ALL, _CONTRAST), hypotheses + relative
    chosen = [_find_channel(part, n, total, hypotheses, True) for part in kinds for n in range(hypotheses)]
    maps = measurements.view(B, J, channels, H * W).numpy()
    run_in_threads(
        _choose_sides, B * len(chosen), maps, np.array(chosen, np.int64), costs.view(B, len(chosen), H * W).numpy()
    )
    return costs


@njit(**LOOP)
def _choose_sides(measurements: Array, chosen: Array, costs: Array, first: int, last: int) -> None:
    _, J, _, P = measurements.shape
    share = _f32(2 / J)
    for number in range(first, last):
        b, n = number // len(chosen), number % len(chosen)
        target = costs[b, n]
        target[:] = _f32(0)
        for j in range(0, J, 2):
            one, other = measurements[b, j, chosen[n]], measurements[b, j + 1, chosen[n]]
            for x in range(P):
                target[x] += share * (one[x] if one[x] < other[x] else other[x])


@njit(**LOOP)
def _compare_runs(
    views: Array,
    batch_stride: int,
    height: int,
    width: int,
    offsets: Array,
    starts: Array,
    centre: Array,
    origin: Array,
    other_views: Array,
    other_stride: int,
    other_centre: Array,
    has_others: bool,
    columns_of_centre: int,
    hypotheses_px: Array,
    compared: int,
    measurements: Array,
    surfaces_px: Array,
    seen: Array,
    hiding_px: float,
    first_run: int,
    last_run: int,
) -> None:
    _, N, P = hypotheses_px.shape
    J, runs = len(starts) - 1, (P + RUN - 1) // RUN
    rows, columns, disparity_px = np.empty(RUN, np.float32), np.empty(RUN, np.float32), np.zeros(RUN, np.float32)
    pixels, down, right = np.empty(RUN, np.int32), np.empty(RUN, np.float32), np.empty(RUN, np.float32)
    room, product = np.empty(RUN, np.float32), np.empty(RUN, np.float32)
    differences, other_differences = np.empty(RUN, np.float32), np.empty(RUN, np.float32)
    sums, counts, mean = np.empty((_PARTS, RUN), np.float32), np.empty((J, RUN), np.float32), np.empty(RUN, np.float32)
    # Over all half-lines, for those of which no view shows the pixel.
    overall, counted = np.empty((_PARTS, RUN), np.float32), np.empty((_PARTS, RUN), np.float32)
    # Over all views that see a hypothesis: logarithms, differences by contrast, and how many there are.
    seen_sums, seen_product = np.empty((_SEEN_PARTS, RUN), np.float32), np.empty(RUN, np.float32)
    limit_px, places, is_seen = np.empty(RUN, np.float32), np.empty(RUN, np.uint32), np.empty(RUN, np.float32)
    view_size = height * width * 3
    for run in range(first_run, last_run):
        b, first_pixel = run // runs, run % runs * RUN
        last_pixel = min(first_pixel + RUN, P)
        centre_first = 3 * (b * P + first_pixel)
        number_pixels(first_pixel, columns_of_centre, origin, rows, columns)
        for n in range(N):
            disparity_px[: last_pixel - first_pixel] = hypotheses_px[b, n, first_pixel:last_pixel]
            is_compared, is_estimate = n < compared, n == 0 and compared > 0
            is_contrasted = is_compared and has_others
            is_looked_for = is_contrasted and seen.shape[2] > 0
            seen_sums[:] = _f32(0)
            seen_product[:] = _f32(1)
            for x in range(RUN):
                limit_px[x] = disparity_px[x] + hiding_px
            overall[:] = _f32(0)
            counted[:] = _f32(0)
            is_complete = True
            for j in range(J):
                count = starts[j + 1] - starts[j]
                half = (count + 1) // 2
                by_rows, by_columns = offsets[starts[j]]
                measure_room(disparity_px, rows, columns, by_rows, by_columns, height, width, room)
                sums[:] = _f32(0)
                product[:] = _f32(1)
                for view in range(starts[j], starts[j + 1]):
                    by_rows, by_columns = offsets[view]
                    steps = max(abs(by_rows), abs(by_columns))
                    locate(height, width, by_rows, by_columns, disparity_px, rows, columns, pixels, down, right)
                    compare(
                        views, b * batch_stride + view * view_size, height, width, by_rows, by_columns, pixels, down,
                        right, centre, centre_first, differences,
                    )  # fmt: skip
                    if is_contrasted:
                        compare(
                            other_views, b * other_stride + view * view_size, height, width, by_rows, by_columns,
                            pixels, down, right, other_centre, centre_first, other_differences,
                        )  # fmt: skip
                        _add(other_differences, room, steps, sums[_CONTRAST])
                    if is_looked_for:
                        _find_seen(
                            surfaces_px[b, view], width, by_rows, by_columns, pixels, down, right, limit_px, room,
                            places, is_seen,
                        )  # fmt: skip
                        _add_seen(is_seen, differences, other_differences, seen_sums, seen_product)
                        if view % _FACTORS == _FACTORS - 1 or view == starts[J] - 1:
                            _add_logarithms(seen_product, seen_sums[0])
                    if is_compared:
                        _add_and_multiply(differences, room, steps, sums[_ALL], product)
                        if (view - starts[j]) % _FACTORS == _FACTORS - 1 or view == starts[j + 1] - 1:
                            _add_logarithms(product, sums[_LOGARITHMS])
                    else:
                        _add(differences, room, steps, sums[_ALL])
                    if is_estimate and steps <= half:
                        _add(differences, room, steps, sums[_NEAR])
                    if is_estimate and steps > count - half:
                        _add(differences, room, steps, sums[_FAR])
                is_complete &= _count_views(room, count, counts[j])
                for part in range(_PARTS):
                    channel = _find_channel(part, n, N, compared, has_others)
                    if channel >= 0:
                        _average(sums[part], counts[j], *_limits(part, count), mean, overall[part], counted[part])
                        _scale(mean, part, compared > 0)
                        measurements[b, j, channel, first_pixel:last_pixel] = mean[: last_pixel - first_pixel]
                if is_estimate:
                    for x in range(last_pixel - first_pixel):
                        measurements[b, j, 4, first_pixel + x] = counts[j, x] / _f32(count)
            if is_looked_for:
                _describe_seen(seen_sums, overall, counted, starts[J], seen[b, :, n, first_pixel:last_pixel])
            if not is_complete:
                for part in range(_PARTS):
                    channel = _find_channel(part, n, N, compared, has_others)
                    if channel < 0:
                        continue
                    for x in range(RUN):
                        mean[x] = overall[part, x] / max(counted[part, x], _f32(1))
                    _scale(mean, part, compared > 0)
                    for j in range(J):
                        skipped, _ = _limits(part, starts[j + 1] - starts[j])
                        _replace_unseen(counts[j], skipped, mean, measurements[b, j, channel, first_pixel:last_pixel])


@njit(**LOOP)
def _find_channel(part: int, n: int, hypotheses: int, compared: int, has_others: bool) -> int:
    """Where a part of what is said of hypothesis n belongs; negative if it is not asked for."""
    if part == _ALL:
        return n if compared == 0 or n == 0 else (3 + 2 * n if n < compared else 3 + compared + n)
    if n >= compared:
        return -1
    if part == _CONTRAST:
        return 3 + compared + hypotheses + n if has_others else -1
    if part == _LOGARITHMS:
        return 1 if n == 0 else 4 + 2 * n
    return part if n == 0 else -1


@njit(**LOOP)
def _limits(part: int, count: int) -> tuple[int, int]:
    """Of so many views of a half-line, from the centre outwards, how many a part leaves out, and takes then."""
    half = (count + 1) // 2
    return count - half if part == _FAR else 0, half if part in (_NEAR, _FAR) else count


@njit(**LOOP)
def _add(differences: Array, room: Array, steps: int, sums: Array) -> None:
    """The differences of a view, so many steps from the centre, where it shows the pixel."""
    for x in range(RUN):
        sums[x] += _THIRD * differences[x] if _f32(steps) <= room[x] else _f32(0)


@njit(**LOOP)
def _add_and_multiply(differences: Array, room: Array, steps: int, sums: Array, product: Array) -> None:
    for x in range(RUN):
        is_visible, difference = _f32(steps) <= room[x], _THIRD * differences[x]
        sums[x] += difference if is_visible else _f32(0)
        product[x] *= _f32(_FACTOR) * (difference + _f32(0.003)) if is_visible else _f32(1)


@njit(**LOOP)
def _add_logarithms(product: Array, sums: Array) -> None:
    """Add those of the products, and begin new ones."""
    for x in range(RUN):
        sums[x] += log(product[x])
        product[x] = _f32(1)


@njit(**LOOP)
def _find_seen(
    nearest_px: Array,
    width: int,
    by_rows: int,
    by_columns: int,
    starts: Array,
    down: Array,
    right: Array,
    limit_px: Array,
    room: Array,
    places: Array,
    seen: Array,
) -> None:
    """1 where a view shows the pixel and nothing beyond the limit hides it, else 0; places are those of `locate`."""
    steps = _f32(max(abs(by_rows), abs(by_columns)))
    for x in range(RUN):  # the number of the pixel above and to the left: a third, by a product
        places[x] = np.uint32((np.int64(starts[x]) * _THIRD_OF_INT) >> np.int64(32))
    if by_columns != 0:
        for x in range(RUN):
            places[x] += np.uint32(right[x] >= _f32(0.5))
    if by_rows != 0:
        for x in range(RUN):
            places[x] += np.uint32(width) if down[x] >= _f32(0.5) else np.uint32(0)
    for x in range(RUN):
        seen[x] = nearest_px[places[x]]
    for x in range(RUN):
        seen[x] = _f32(1) if seen[x] <= limit_px[x] and steps <= room[x] else _f32(0)


@njit(**LOOP)
def _add_seen(seen: Array, differences: Array, other_differences: Array, sums: Array, product: Array) -> None:
    """The differences of a view where it is seen."""
    for x in range(RUN):
        difference = _f32(_FACTOR) * (_THIRD * differences[x] + _f32(0.003))
        product[x] *= difference if seen[x] > _f32(0) else _f32(1)
        sums[1, x] += seen[x] * (_THIRD * other_differences[x])
        sums[2, x] += seen[x]


@njit(**LOOP)
def _describe_seen(sums: Array, overall: Array, counted: Array, views: int, target: Array) -> None:
    """See `_compare_seen` in `freqlf.models.evidence`; overall, counted: of all views that show the pixels."""
    for x in range(target.shape[1]):
        logarithms, contrast, count = sums[0, x], sums[1, x], sums[2, x]
        target[2, x] = count / _f32(views)
        if count == _f32(0):
            logarithms, contrast, count = overall[_LOGARITHMS, x], overall[_CONTRAST, x], counted[_ALL, x]
        shown = count if count > _f32(1) else _f32(1)
        target[0, x] = _f32(0.5) * logarithms / shown + _SHIFT if count > _f32(0) else _f32(0)
        target[1, x] = _f32(0.5) * log(contrast / shown + _f32(0.03)) + _f32(0.8)


@njit(**LOOP)
def _count_views(room: Array, count: int, counts: Array) -> bool:
    """How many of the views 1 .. count steps away show the pixels, and whether all parts of them have one."""
    least = _f32(count)
    for x in range(RUN):
        counts[x] = np.floor(room[x] if room[x] < _f32(count) else _f32(count))
        least = counts[x] if counts[x] < least else least
    return bool(least > count - (count + 1) // 2)


@njit(**LOOP)
def _average(sums: Array, counts: Array, skipped: int, most: int, mean: Array, overall: Array, counted: Array) -> None:
    """Means over those of `most` views that show the pixels, after those that a part leaves out."""
    for x in range(RUN):
        count = counts[x] - _f32(skipped)
        count = count if count > _f32(0) else _f32(0)
        count = count if count < _f32(most) else _f32(most)
        mean[x] = sums[x] / (count if count > _f32(1) else _f32(1))
        overall[x] += sums[x]
        counted[x] += count


@njit(**LOOP)
def _scale(mean: Array, part: int, is_compressed: bool) -> None:
    """To the scale of evidence, see `_compress` and `_compress_contrast` there."""
    if part == _LOGARITHMS:
        for x in range(RUN):
            mean[x] = _f32(0.5) * mean[x] + _SHIFT
    elif part == _CONTRAST:
        for x in range(RUN):
            mean[x] = _f32(0.5) * log(mean[x] + _f32(0.03)) + _f32(0.8)
    elif is_compressed:
        for x in range(RUN):
            mean[x] = _f32(0.5) * log(mean[x] + _f32(0.003)) + _f32(1.9)


@njit(**LOOP)
def _replace_unseen(counts: Array, skipped: int, overall: Array, target: Array) -> None:
    """A half-line that does not show a pixel has no opinion: it takes that of all."""
    for x in range(len(target)):
        if counts[x] <= skipped:
            target[x] = overall[x]
