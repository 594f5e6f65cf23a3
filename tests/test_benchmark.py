import time

import pytest
import torch

from freqlf.benchmark import best_times, measure_peak_mb, random_stacks, time_preset, time_spectral


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
    timing = time_preset("freqlf-small", 32, repeats=1)
    assert timing.gflops == pytest.approx(2e-9 * timing.multiply_adds / timing.seconds)
    assert 0 < timing.share_of_gemm < 1
    assert timing.multiply_adds > 32 * 32 * 100_000


def test_peak_memory_grows_with_the_image() -> None:
    # 256 x 256 pixels and 48 channels of float32 are 12.6 MB, and several such fields live at once.
    assert measure_peak_mb("freqlf-small", 256) > 25
