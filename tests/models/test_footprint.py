import re

import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.inference.estimate import Estimator
from freqlf.inference.memory import held_memory_mb, peak_memory_mb
from freqlf.models.build import build_model
from freqlf.models.presets import find_preset
from freqlf.models.slope import SlopeModel
from freqlf.studies.cost.measurement import random_light_field, run_in_fresh_process

GB = 10**9


@pytest.mark.parametrize("preset", ["slope", "freqlf-small", "freqlf-plus-small", "freqlf", "freqlf-plus"])
def test_less_memory_means_smaller_tiles(preset: str) -> None:
    footprint = (SlopeModel() if preset == "slope" else build_model(find_preset(preset))).footprint(views=18)
    least, more = (footprint.total_bytes(2000, 2000, side_px) for side_px in (64, 96))
    sides = [footprint.choose_tiles(2000, 2000, GB + allowed, GB)[0] for allowed in (least, more, 10**10)]
    assert sides[:2] == [64, 96]
    assert 96 <= sides[2] <= 256
    views = footprint.view_bytes * 2000 * 2000
    footprint.require(2000, 2000, GB + views + least, GB)
    with pytest.raises(FreqLFError, match=r"needs .* \(1\.00 GB of it for the program itself\)"):
        footprint.require(2000, 2000, GB + views + least - 1, GB)


def test_tiles_are_computed_side_by_side_where_memory_allows() -> None:
    footprint = build_model(find_preset("freqlf-plus-small")).footprint(views=33)
    assert footprint.choose_tiles(2000, 2000, 100 * GB, GB, threads=2) == (128, 2)
    alone = footprint.total_bytes(2000, 2000, 96)
    assert footprint.total_bytes(2000, 2000, 128, workers=2) <= 1.1 * footprint.total_bytes(2000, 2000, 192)
    assert footprint.choose_tiles(2000, 2000, GB + alone, GB, threads=2) == (96, 1)


def test_images_that_cannot_fit_are_refused_before_they_are_read() -> None:
    footprint = build_model(find_preset("freqlf-plus-small")).footprint(views=18)
    footprint.require(1000, 1000, GB, 0)
    with pytest.raises(FreqLFError, match=r"an image of 30000 x 20000 pixels needs .* GB .* with this model") as caught:
        footprint.require(20_000, 30_000, GB, 0)
    asked = re.search(r"needs ([0-9.]+) GB", str(caught.value))
    assert asked is not None
    footprint.require(20_000, 30_000, int(float(asked[1]) * 1e9), 20_000_000)  # by a process that holds a bit more


def test_a_tile_is_never_larger_than_the_image() -> None:
    footprint = SlopeModel().footprint(views=18)
    assert footprint.total_bytes(40, 50, 64) == footprint.total_bytes(40, 50, 256)


def estimate_within(preset: str, size_px: int, tile_px: int, workers: int) -> tuple[float, float, int | None]:
    """Peak and limit in MB, and the tiles, of an estimate that is allowed just what tiles of tile_px take."""
    torch.set_num_threads(workers)
    model = build_model(find_preset(preset)).eval()
    estimator = Estimator(preset, model)
    estimator.run(random_light_field(model.lines, 48))  # loads the kernels' libraries
    light_field = random_light_field(model.lines, size_px)
    light_field.centre_view()
    footprint = model.footprint(sum(len(light_field.line(line)) for line in model.lines))
    needed_bytes = footprint.view_bytes * size_px**2 + footprint.total_bytes(size_px, size_px, tile_px, workers)
    estimator.memory_bytes = int(held_memory_mb() * 1e6) + needed_bytes
    result = estimator.run(light_field)
    return peak_memory_mb(), estimator.memory_bytes / 1e6, result.tile_px


@pytest.mark.parametrize("preset", ["freqlf-small", "freqlf-plus-small", "freqlf-plus-deep", "freqlf", "freqlf-plus"])
def test_the_process_stays_within_its_limit(preset: str) -> None:
    peak_mb, limit_mb, tile_px = run_in_fresh_process(estimate_within, preset, 320, 112, 1)
    assert peak_mb <= limit_mb
    assert tile_px is not None
    assert 96 <= tile_px <= 160  # the limit was what made tiles smaller


@pytest.mark.parametrize("preset", ["freqlf-plus-small", "freqlf-plus-sweep"])
def test_so_it_does_with_tiles_side_by_side(preset: str) -> None:
    peak_mb, limit_mb, tile_px = run_in_fresh_process(estimate_within, preset, 320, 112, 2)
    assert peak_mb <= limit_mb
    assert tile_px in (112, 128)
