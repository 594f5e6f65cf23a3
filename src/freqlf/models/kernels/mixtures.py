"""What is read off mixtures of Gaussians, some pixels at a time, so that nothing in between leaves the caches."""

import math
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from freqlf.models.kernels.functions import erf, exp
from freqlf.models.kernels.running import LOOP, run_in_threads

Array = np.ndarray

_f32 = np.float32
_RUN = 128  # pixels at a time: with seven components, all that is kept of them fits into the innermost cache
_LEAST_EXPONENT = _f32(-80)  # where weights are nothing
_HALF_ROOT = _f32(math.sqrt(0.5))
_PRECISION_PX = 5e-7  # of a quantile


def summarise_mixture(
    logits: Tensor, means: Tensor, deviations: Tensor, power: float, surface: tuple[float, float] | None
) -> Tensor:
    """Estimate, mean and deviation (B, 3, ...) of mixtures (B, K, ...), see `Mixture`.

    The estimate is the tempered mean or, given the reach of a surface in px and the share that makes it the estimate,
    the surface mean.
    """
    reach_px, majority = surface or (-1.0, 0.0)
    options = (_f32(power), _f32(reach_px), _f32(majority))
    return _run(_summarise, 3, (logits, means, deviations), *options)


def find_quantile(logits: Tensor, means: Tensor, deviations: Tensor, probability: float, level: float) -> Tensor:
    """The quantile (B, ...) of mixtures (B, K, ...), by bisection; `level` is that of a standard Gaussian."""
    # An error function goes from -1 to 1 where a probability goes from 0 to 1.
    target = 2 * probability - 1
    return _run(_bisect, 1, (logits, means, deviations), _f32(level), _f32(target)).squeeze(1)


def split_mixture(logits: Tensor, means: Tensor, radius_px: float) -> Tensor:
    """The local mean, and the mean of the components elsewhere, (B, 2, ...)."""
    return _run(_split, 2, (logits, means), _f32(radius_px))


def _run(loop: Any, maps: int, parts: tuple[Tensor, ...], *options: Any) -> Tensor:
    """A loop over runs of the places of mixtures (B, K, ...), into maps of them."""
    B, _, *places = parts[0].shape
    result = torch.empty(B, maps, *places)
    arrays = [part.detach().flatten(2).contiguous().numpy() for part in parts]
    runs = -(-math.prod(places) // _RUN)
    run_in_threads(loop, B * runs, *arrays, *options, result.view(B, maps, -1).numpy())
    return result


@njit(**LOOP)
def _load(maps: Array, run: int, parts: Array) -> tuple[int, int, int]:
    """The run of this number of maps (B, K, P) into (K, _RUN): the image, the first pixel and their number."""
    _, K, P = maps.shape
    runs = (P + _RUN - 1) // _RUN
    b, first = run // runs, run % runs * _RUN
    count = min(_RUN, P - first)
    for k in range(K):
        parts[k, :count] = maps[b, k, first : first + count]
        parts[k, count:] = maps[b, k, first]  # whole runs are computed, and these numbers are not used
    return b, first, count


@njit(**LOOP)
def _weigh(logits: Array, power: float, weights: Array) -> None:
    """The softmax of power * logits (K, _RUN) over components."""
    largest, total = logits[0].copy(), np.zeros(_RUN, np.float32)
    for k in range(1, len(logits)):
        _maximise(logits[k], largest)
    for k in range(len(logits)):
        _exponentiate(logits[k], largest, power, weights[k], total)
    for x in range(_RUN):
        total[x] = _f32(1) / total[x]
    for k in range(len(logits)):
        own = weights[k]
        for x in range(_RUN):
            own[x] *= total[x]


@njit(**LOOP)
def _maximise(values: Array, largest: Array) -> None:
    for x in range(_RUN):
        largest[x] = values[x] if values[x] > largest[x] else largest[x]


@njit(**LOOP)
def _exponentiate(logits: Array, largest: Array, power: float, weights: Array, total: Array) -> None:
    for x in range(_RUN):
        exponent = power * (logits[x] - largest[x])
        weights[x] = exp(_LEAST_EXPONENT if exponent < _LEAST_EXPONENT else exponent)
    for x in range(_RUN):
        total[x] += weights[x]


@njit(**LOOP)
def _average(weights: Array, values: Array, mean: Array) -> None:
    """Of values (K, _RUN) over components."""
    mean[:] = _f32(0)
    for k in range(len(values)):
        own, weight = values[k], weights[k]
        for x in range(_RUN):
            mean[x] += weight[x] * own[x]


@njit(**LOOP)
def _summarise(
    logits: Array,
    means: Array,
    deviations: Array,
    power: float,
    reach_px: float,
    majority: float,
    result: Array,
    first_run: int,
    last_run: int,
) -> None:
    K = means.shape[1]
    parts, weights = np.empty((3, K, _RUN), np.float32), np.empty((K, _RUN), np.float32)
    summary, surface = np.empty((3, _RUN), np.float32), np.empty((4, _RUN), np.float32)
    for run in range(first_run, last_run):
        _load(logits, run, parts[0])
        _load(means, run, parts[1])
        b, first, count = _load(deviations, run, parts[2])
        if reach_px < 0:
            _weigh(parts[0], power, weights)
            _average(weights, parts[1], summary[0])
        _weigh(parts[0], _f32(1), weights)
        _average(weights, parts[1], summary[1])
        if reach_px >= 0:
            _choose_surface(weights, parts[1], summary[1], reach_px, majority, surface, summary[0])
        for k in range(K):
            _square_spread(parts[1, k], summary[1], parts[2, k])
        _average(weights, parts[2], summary[2])
        summary[2] = np.sqrt(summary[2])
        for one in range(3):
            result[b, one, first : first + count] = summary[one, :count]


@njit(**LOOP)
def _choose_surface(
    weights: Array, means: Array, mean: Array, reach_px: float, majority: float, surface: Array, estimate: Array
) -> None:
    """The mean of the surface of most weight where that is a majority, else the mean of all."""
    share, moment, largest, chosen = surface
    largest[:] = _f32(0)
    for k in range(len(means)):
        own = means[k]
        share[:], moment[:] = _f32(0), _f32(0)
        for other in range(len(means)):
            weight, value = weights[other], means[other]
            for x in range(_RUN):
                near = weight[x] if abs(value[x] - own[x]) <= reach_px else _f32(0)
                share[x] += near
                moment[x] += near * value[x]
        for x in range(_RUN):
            is_larger = share[x] > largest[x]
            largest[x] = share[x] if is_larger else largest[x]
            chosen[x] = moment[x] if is_larger else chosen[x]
    for x in range(_RUN):
        estimate[x] = chosen[x] / largest[x] if largest[x] > majority else mean[x]


@njit(**LOOP)
def _square_spread(means: Array, centre: Array, deviations: Array) -> None:
    """From a component's deviation to its variance around the mixture's mean."""
    for x in range(_RUN):
        spread = means[x] - centre[x]
        deviations[x] = deviations[x] * deviations[x] + spread * spread


@njit(**LOOP)
def _bisect(
    logits: Array,
    means: Array,
    deviations: Array,
    level: float,
    target: float,
    result: Array,
    first_run: int,
    last_run: int,
) -> None:
    K = means.shape[1]
    parts, weights = np.empty((3, K, _RUN), np.float32), np.empty((K, _RUN), np.float32)
    low, step, total = np.empty(_RUN, np.float32), np.empty(_RUN, np.float32), np.empty(_RUN, np.float32)
    for run in range(first_run, last_run):
        _load(logits, run, parts[0])
        _load(means, run, parts[1])
        b, first, count = _load(deviations, run, parts[2])
        _weigh(parts[0], _f32(1), weights)
        widest = _bracket(parts[1], parts[2], level, low, step)
        while widest > _PRECISION_PX:
            widest *= 0.5
            step *= _f32(0.5)
            total[:] = _f32(0)
            for k in range(K):
                _add_probability(low, step, weights[k], parts[1, k], parts[2, k], total)
            for x in range(_RUN):
                low[x] += step[x] if total[x] < target else _f32(0)
        for x in range(count):
            result[b, 0, first + x] = low[x] + _f32(0.5) * step[x]


@njit(**LOOP)
def _bracket(means: Array, deviations: Array, level: float, low: Array, step: Array) -> float:
    """The quantile of a mixture lies between the least and the greatest of its components' ones.

    Of these, the least and its distance from the greatest; returned is the largest distance.
    """
    low[:] = np.inf
    step[:] = -np.inf
    for k in range(len(means)):
        mean, deviation = means[k], deviations[k]
        for x in range(_RUN):
            quantile = mean[x] + level * deviation[x]
            low[x] = quantile if quantile < low[x] else low[x]
            step[x] = quantile if quantile > step[x] else step[x]
    step -= low
    return step.max()


@njit(**LOOP)
def _add_probability(low: Array, step: Array, weights: Array, means: Array, deviations: Array, total: Array) -> None:
    """That of a component below low + step, on the scale of error functions."""
    for x in range(_RUN):
        standard = (low[x] + step[x] - means[x]) / deviations[x]
        total[x] += weights[x] * erf(_HALF_ROOT * standard)


@njit(**LOOP)
def _split(logits: Array, means: Array, radius_px: float, result: Array, first_run: int, last_run: int) -> None:
    K = means.shape[1]
    parts, weights = np.empty((2, K, _RUN), np.float32), np.empty((K, _RUN), np.float32)
    heaviest, centre, offset = np.empty(_RUN, np.float32), np.empty(_RUN, np.float32), np.empty(_RUN, np.float32)
    total = np.empty(_RUN, np.float32)
    for run in range(first_run, last_run):
        _load(logits, run, parts[0])
        b, first, count = _load(means, run, parts[1])
        _weigh(parts[0], _f32(1), weights)
        heaviest[:], centre[:] = weights[0], parts[1, 0]
        for k in range(1, K):
            _choose_heavier(weights[k], parts[1, k], heaviest, centre)
        total[:], offset[:] = _f32(0), _f32(0)
        for k in range(K):
            _add_inside(weights[k], parts[1, k], centre, radius_px, total, offset)
        for x in range(_RUN):
            centre[x] += offset[x] / total[x]
        result[b, 0, first : first + count] = centre[:count]
        total[:], offset[:] = _f32(1e-3), _f32(0)
        for k in range(K):
            _add_outside(weights[k], parts[1, k], centre, radius_px, total, offset)
        for x in range(count):
            result[b, 1, first + x] = centre[x] + offset[x] / total[x]


@njit(**LOOP)
def _choose_heavier(weights: Array, means: Array, heaviest: Array, centre: Array) -> None:
    for x in range(_RUN):
        is_heavier = weights[x] > heaviest[x]
        heaviest[x] = weights[x] if is_heavier else heaviest[x]
        centre[x] = means[x] if is_heavier else centre[x]


@njit(**LOOP)
def _add_inside(weights: Array, means: Array, centre: Array, radius_px: float, total: Array, offset: Array) -> None:
    """The weight of a component within the radius, and its distance by weight."""
    for x in range(_RUN):
        distance = means[x] - centre[x]
        weight = weights[x] if abs(distance) <= radius_px else _f32(0)
        total[x] += weight
        offset[x] += weight * distance


@njit(**LOOP)
def _add_outside(weights: Array, means: Array, centre: Array, radius_px: float, total: Array, offset: Array) -> None:
    for x in range(_RUN):
        distance = means[x] - centre[x]
        weight = weights[x] if abs(distance) > radius_px else _f32(0)
        total[x] += weight
        offset[x] += weight * distance
