import time

import pytest
import torch

from freqlf.studies.benchmark import (
    best_times,
    choose_repeats,
    measure_peak_mb,
    random_stacks,
    time_preset,
    time_spectral,
)


def test_best_times_tell_a_slow_call_from_a_fast_one() -> None:
    times = best_times({"slow": lambda: time.sleep(0.02), "fast": lambda: None}, repeats=2)
    assert times["slow"] >= 0.02 > times["fast"]


def test_stacks_share_their_centre() -> None:
    stacks = random_stacks(("horizontal", "diagonal"), 16)
    assert stacks["diagonal"].shape == (1, 9, 3, 16, 16)
    assert torch.equal(stacks["horizontal"][:, 4], stacks["diagonal"][:, 4])


def test_spectral_timing_is_a_ratio_of_two_measured_times() -> None:
    timing = time_spectral(channels=8, size_px=64, repeats=2)
    assert timing.speedup == timing.fft_s / timing.truncated_s > 0


def test_preset_timing_adds_up() -> None:
    timing = time_preset("freqlf-small", 32, repeats=2)
    assert timing.gflops == pytest.approx(2e-9 * timing.multiply_adds / timing.tiled_s)
    assert 0 < timing.share_of_gemm < 1
    assert timing.multiply_adds > 32 * 32 * 100_000
    assert timing.whole_s > 0
    assert timing.repeats == 2


def test_large_images_are_measured_less_often() -> None:
    assert [choose_repeats(5, size_px) for size_px in (64, 512, 768, 1024, 4096)] == [5, 5, 2, 2, 2]
    assert choose_repeats(16, 1024) == 4
    assert choose_repeats(1, 1024) == 1


def test_peak_memory_is_that_of_the_whole_process() -> None:
    # Python and torch alone hold more than 100 MB; 16 views of 320 x 320 pixels in float32 are 20 MB.
    small, large = (measure_peak_mb("freqlf-small", size_px, whole=True) for size_px in (32, 320))
    assert small > 100
    assert large - small > 40
