import pytest
import torch
from slanted import make_sample
from tiny import ALONE, CONFIG, RECIPE

from freqlf.models.config import AlignedConfig, PassConfig
from freqlf.studies import budget
from freqlf.studies.budget import WARM_UP_STEPS, choose_clock, count_steps, measure_step_seconds
from freqlf.studies.variants import Variant


def test_steps_fit_into_the_minutes():
    assert count_steps(2, 0.5) == 240
    assert count_steps(0.001, 10) == 1


def test_a_larger_model_takes_longer(monkeypatch):
    monkeypatch.setattr(budget, "TIMED_STEPS", 3)
    monkeypatch.setattr(budget, "ROUNDS", 1)
    wide = PassConfig(channels=64, layers=6, modes=2, stem_channels=64, windows_px=(5,))
    large = AlignedConfig(passes=(wide, wide), components=3, reference_px=24)
    variants = (Variant("tiny", CONFIG), Variant("large", large))
    seconds = measure_step_seconds(variants, RECIPE, [make_sample(40, 44)], (), ALONE)
    assert list(seconds) == ["tiny", "large"]
    assert 1e-3 < seconds["tiny"] < 0.7 * seconds["large"]


def test_crops_of_many_sizes_are_averaged():
    """A clock at one microsecond per pixel: few steps must give the time of a step of mean size."""
    recipe = RECIPE.changed(crop_size_px=0, full_share=0.2, large_share=0.3, smallest_crop_px=16)
    source = budget._TimedSource(choose_clock(ALONE.device), recipe, CONFIG.lines, [make_sample(40, 44)])
    pixels = [height * width for height, width in map(source.draw_size, range(1000))]
    assert len(set(pixels)) > 10
    source.marks = [1e-6 * sum(pixels[:step]) for step in range(WARM_UP_STEPS + 5)]
    assert source.seconds_per_step() == pytest.approx(1e-6 * sum(pixels) / 1000)


def test_cpu_time_stands_still_while_others_work():
    import time

    clock = choose_clock(torch.device("cpu"))
    started = clock()
    time.sleep(0.3)
    assert clock() - started < 0.15
