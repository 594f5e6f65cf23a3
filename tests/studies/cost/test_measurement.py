import os
import time

import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.lightfield import LightField
from freqlf.models.complexity import count_parameters
from freqlf.studies.cost.measurement import (
    Cost,
    Yardstick,
    best_times,
    make_strip,
    measure_cost,
    random_light_field,
    run_in_fresh_process,
    time_spectral,
)


def test_best_times_tell_a_slow_call_from_a_fast_one() -> None:
    times = best_times({"slow": lambda: time.sleep(0.02), "fast": lambda: None}, repeats=2)
    assert times["slow"] >= 0.02 > times["fast"]


def test_spectral_timing_is_a_ratio_of_two_measured_times() -> None:
    timing = time_spectral(channels=8, size_px=64, repeats=2)
    assert timing.speedup == timing.fft_s / timing.truncated_s > 0


def test_there_are_only_the_views_that_a_model_needs() -> None:
    light_field = random_light_field(("horizontal", "vertical"), 32)
    assert isinstance(light_field, LightField)
    views = [(u, v) for u in range(9) for v in range(9) if light_field.has_view(u, v)]
    assert len(views) == 17
    assert light_field.view(4, 0).shape == (32, 32, 3)


def test_the_cost_of_a_network_adds_up() -> None:
    # Python and torch alone hold more than 100 MB; 16 views of 320 x 320 pixels in float32 are 20 MB.
    small = measure_cost("freqlf-small", 32, repeats=2, whole=True)
    large = measure_cost("freqlf-small", 320, repeats=0, whole=True)
    assert (small.model, small.size_px, small.whole) == ("freqlf-small", 32, True)
    assert len(small.seconds) == 2
    assert min(small.seconds) == small.best_s <= small.mean_s <= max(small.seconds)
    assert small.deviation_s == pytest.approx(abs(small.seconds[0] - small.seconds[1]) / 2)
    assert small.gflops == pytest.approx(2e-9 * small.multiply_adds / small.best_s)
    assert small.multiply_adds > 32 * 32 * 100_000
    assert 0 < small.share_of_gemm < 1
    assert small.process_mb > 100
    assert large.process_mb - small.process_mb > 40
    assert large.peak_mb - small.peak_mb > 40
    assert (large.seconds, large.best_s, large.gflops) == ((), None, None)


def test_the_slope_field_has_no_network_to_count() -> None:
    cost = measure_cost("slope", 40, repeats=1)
    assert cost.best_s > 0
    assert (cost.multiply_adds, cost.share_of_gemm) == (0, None)


def test_json_has_what_was_measured_and_what_follows() -> None:
    values = Cost("mine", 32, False, (1.0, 3.0), 10.0, 200.0, 4_000_000_000, 16.0).values()
    assert values["seconds"] == (1.0, 3.0)
    assert (values["mean_s"], values["best_s"], values["gflops"], values["share_of_gemm"]) == (2.0, 1.0, 8.0, 0.5)


def test_a_process_that_fails_or_ends_is_told_in_one_line() -> None:
    with pytest.raises(FreqLFError, match=r"a measurement failed: .*nothing"):
        measure_cost("nothing", 32, repeats=0)
    with pytest.raises(FreqLFError, match="ended without a result; if memory ran out"):
        run_in_fresh_process(os._exit, 9)


def test_the_yardstick_has_the_published_size_and_keeps_that_of_the_image() -> None:
    yardstick = Yardstick()
    assert round(count_parameters(yardstick) / 1e6, 1) == 5.1
    strip = make_strip(48)
    assert strip.shape == (1, 9, 8, 48)
    with torch.inference_mode():
        assert yardstick(strip).shape == (1, 1, 8, 48)
