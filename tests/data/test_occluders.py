from dataclasses import replace
from random import Random

import pytest
import torch
from tiny import RECIPE, make_source

from freqlf.data.batches import BatchSource
from freqlf.data.occluders import Plane, occlude
from freqlf.data.samples import Sample

STEPS = tuple((u, v) for u in range(-2, 3) for v in range(-2, 3))


def make_sample(height: int = 48, width: int = 60) -> Sample:
    """A grey wall far away: whatever else the views show is the occluder."""
    views = torch.full((len(STEPS), 3, height, width), 0.5)
    disparity_px = torch.full((height, width), -1.0)
    return Sample("wall", views, STEPS, disparity_px, torch.ones_like(disparity_px, dtype=torch.bool))


@pytest.mark.parametrize("seed", range(12))
def test_views_show_the_occluder_where_its_disparity_says(seed: int) -> None:
    sample = occlude(make_sample(), Random(seed))
    centre = sample.views[STEPS.index((0, 0))]
    is_hidden = sample.disparity_px > -0.9
    assert is_hidden.float().mean() > 0.05
    assert (sample.disparity_px[is_hidden] > -0.9 + 0.05).all()  # in front of the wall by 0.2 px at least
    # Inside of the occluder, beside its edges, every view shows the same texture at the shifted place.
    inside = torch.nn.functional.max_pool2d((~is_hidden).float()[None, None], 7, 1, 3)[0, 0] == 0
    y, x = torch.meshgrid(torch.arange(48.0), torch.arange(60.0), indexing="ij")
    for view, (u, v) in zip(sample.views, STEPS, strict=True):
        there_y, there_x = y - u * sample.disparity_px, x - v * sample.disparity_px
        is_seen = inside & (there_y >= 0) & (there_y <= 47) & (there_x >= 0) & (there_x <= 59)
        grid = torch.stack((2 * there_x / 59 - 1, 2 * there_y / 47 - 1), dim=-1)
        shown = torch.nn.functional.grid_sample(view[None], grid[None], align_corners=True)[0]
        if is_seen.sum() > 20:
            # Linear interpolation is not exact for fine textures and edges of paint.
            assert (shown - centre).abs().amax(dim=0)[is_seen].mean() < 0.03


def test_some_are_walls_and_walls_are_painted() -> None:
    samples = [occlude(make_sample(), Random(seed)) for seed in range(40)]
    walls = [one for one in samples if (one.disparity_px > -0.9).all()]
    assert 2 <= len(walls) <= 20
    for wall in walls:
        grey = wall.views[STEPS.index((0, 0))].mean(dim=0)
        steps = (grey[:, 1:] - grey[:, :-1]).abs()
        assert steps.max() > 3 * steps.mean()  # edges of paint, where nothing is in front of anything


def test_a_plane_is_the_same_from_everywhere() -> None:
    plane = Plane(1.5, (0.002, -0.001))
    y, x = torch.tensor([10.0, 30.0]), torch.tensor([5.0, 50.0])
    disparity_px = plane.seen_from((0, 0), y, x)
    for step in ((2, -1), (-4, 4), (0, 3)):
        found_px = plane.seen_from(step, y - step[0] * disparity_px, x - step[1] * disparity_px)
        torch.testing.assert_close(found_px, disparity_px)


def test_what_was_unknown_is_known_in_front_and_nowhere_else() -> None:
    sample = make_sample()
    unknown = replace(sample, valid=torch.zeros_like(sample.valid))
    found = occlude(unknown, Random(3))
    assert torch.equal(found.valid, found.disparity_px != sample.disparity_px)


def test_a_share_of_the_samples_is_occluded_and_the_others_stay() -> None:
    plain = make_source()
    some = BatchSource(RECIPE.changed(occluder_share=0.5), plain.lines, plain.scenes)
    samples = [(plain.sample(n, 24, 24), some.sample(n, 24, 24)) for n in range(20)]
    same = [torch.equal(a.views, b.views) and torch.equal(a.disparity_px, b.disparity_px) for a, b in samples]
    assert 4 < sum(same) < 16
