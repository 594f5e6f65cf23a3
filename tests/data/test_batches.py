from collections import Counter
from dataclasses import replace

import pytest
import torch
from slanted import make_sample, photometric_error

from freqlf.data.batches import BatchSource, prefetch
from freqlf.data.sampling import Augmentation, Cropping
from freqlf.errors import FreqLFError
from freqlf.training.recipe import RECIPES, Recipe

LINES = ("horizontal", "vertical", "diagonal", "antidiagonal")
SMALL = RECIPES["cpu"].changed(crop_size_px=32, batch_size=4, seed=7)


def make_source(recipe=SMALL, count=3, generated=0, **options):
    scenes = [make_sample(name=f"scene{i}", **options) for i in range(count)]
    return BatchSource(recipe, LINES, scenes, [make_sample(name=f"made{i}", **options) for i in range(generated)])


def assert_same(one, other):
    for line in LINES:
        assert torch.equal(one.stacks[line], other.stacks[line])
    assert torch.equal(one.disparity_px, other.disparity_px)
    assert torch.equal(one.valid, other.valid)


def test_shapes():
    batch = make_source().batch(0)
    assert {line: tuple(stack.shape) for line, stack in batch.stacks.items()} == dict.fromkeys(LINES, (4, 5, 3, 32, 32))
    assert batch.disparity_px.shape == batch.valid.shape == (4, 1, 32, 32)
    assert batch.stacks["vertical"].dtype == torch.float32
    assert batch.valid.dtype == torch.bool


def test_a_batch_depends_on_seed_and_step_only():
    first, again = make_source(), make_source()
    later = first.batch(5)
    first.batch(2)
    assert_same(first.batch(5), later)
    assert_same(again.batch(5), later)
    assert not torch.equal(first.batch(6).disparity_px, later.disparity_px)
    other_seed = make_source(SMALL.changed(seed=8))
    assert not torch.equal(other_seed.batch(5).disparity_px, later.disparity_px)


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_share_a_batch_without_overlap(processes):
    source = make_source()
    whole = source.batch(3)
    parts = [source.batch(3, rank, processes) for rank in range(processes)]
    joined = {line: torch.cat([part.stacks[line] for part in parts]) for line in LINES}
    assert_same(
        replace(
            whole,
            stacks=joined,
            disparity_px=torch.cat([part.disparity_px for part in parts]),
            valid=torch.cat([part.valid for part in parts]),
        ),
        whole,
    )


@pytest.mark.parametrize("loaders", [1, 3])
def test_loaders_change_nothing(loaders):
    source = make_source()
    for step, batch in zip(range(2, 9), prefetch(source, range(2, 9), loaders=loaders), strict=True):
        assert_same(batch, source.batch(step))


def test_loaders_stop_when_nobody_asks_any_more():
    batches = prefetch(make_source(), range(10**9), loaders=2)
    next(batches)
    batches.close()


def test_an_epoch_sees_every_scene_once():
    source = make_source(SMALL.changed(batch_size=1), count=5)
    for epoch in range(3):
        names = [source.sample(number, 32, 32).name for number in range(5 * epoch, 5 * epoch + 5)]
        assert sorted(names) == [f"scene{i}" for i in range(5)]


def test_generated_scenes_have_their_share():
    source = make_source(SMALL.changed(synthetic_share=0.25), count=3, generated=6)
    kinds = Counter(source.sample(number, 16, 16).name[:4] for number in range(300))
    assert 45 < kinds["made"] < 105
    only = BatchSource(SMALL, LINES, [], [make_sample(name="made")])
    assert only.sample(0, 32, 32).name == "made"
    assert only.scene_count == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"noise": 0.0},
        {"noise": 0.0, "shear_px": 1.3},
        {"noise": 0.0, "scale": 1.3, "shear_px": 0.5, "blur_px": 0.4},
    ],
)
def test_augmented_samples_are_photometrically_consistent(changes):
    source = make_source(SMALL.changed(loss_border_px=0, **changes), height=96, width=104)
    for number in range(12):
        sample = source.sample(number, 44, 40)
        assert (sample.height, sample.width) == (44, 40)
        # Gains and gamma stretch the texture, so that its interpolation is less exact than that of the original.
        assert photometric_error(sample) < 0.05


def test_the_border_has_no_loss():
    batch = make_source().batch(0)
    assert not batch.valid[..., :6, :].any()
    assert not batch.valid[..., -6:].any()
    assert batch.valid[..., 6:-6, 6:-6].all()


def test_crops_with_few_valid_pixels_are_drawn_again():
    sample = make_sample(height=64, width=64)
    valid = torch.zeros(64, 64, dtype=torch.bool)
    valid[:, 32:] = True
    recipe = Recipe(cropping=Cropping(crop_size_px=24, valid_share=0.6))
    source = BatchSource(recipe, LINES, [replace(sample, valid=valid)])
    shares = [float(source.sample(number, 24, 24).valid.float().mean()) for number in range(60)]
    assert sum(share >= 0.6 for share in shares) >= 58
    careless = BatchSource(recipe.changed(valid_share=0.0), LINES, [replace(sample, valid=valid)])
    shares = [float(careless.sample(number, 24, 24).valid.float().mean()) for number in range(60)]
    assert sum(share >= 0.6 for share in shares) < 50


def test_edge_bias_prefers_crops_with_disparity_edges():
    sample = make_sample(height=64, width=128)
    disparity_px = torch.zeros(64, 128)
    disparity_px[:, 96:] = 1.0

    def count_edges(edge_bias):
        recipe = Recipe(cropping=Cropping(crop_size_px=24, edge_bias=edge_bias))
        source = BatchSource(recipe, LINES, [replace(sample, disparity_px=disparity_px)])
        return sum(int(source.sample(number, 24, 24).disparity_px.std() > 0) for number in range(80))

    assert count_edges(1.0) > 1.6 * count_edges(0.0)


def test_hard_bias_prefers_crops_that_frozen_passes_get_wrong():
    sample = make_sample(height=64, width=128)
    wrong_px = torch.zeros(1, 64, 128)
    wrong_px[..., 96:] = 1.0

    def count_wrong(hard_bias):
        recipe = Recipe(cropping=Cropping(crop_size_px=24, hard_bias=hard_bias, epochs_per_variation=1000))
        source = BatchSource(recipe, LINES, [sample])
        source.believe = lambda varied: varied.disparity_px + wrong_px
        samples = [source.sample(number, 24, 24) for number in range(80)]
        return sum(int((one.beliefs[0] - one.disparity_px).abs().max() > 0.5) for one in samples)

    assert count_wrong(1.0) > 1.6 * count_wrong(0.0)


def test_favoured_scenes_come_twice_in_an_epoch():
    scenes = [replace(make_sample(), name=name) for name in ("hard", "easy")]
    source = BatchSource(SMALL.changed(favoured="hard"), LINES, scenes)
    height, width = source.draw_size(0)
    names = [source.sample(number, height, width).name for number in range(30)]
    assert names.count("hard") == 20
    with pytest.raises(FreqLFError, match="lost, which is no scene in training"):
        BatchSource(SMALL.changed(favoured="lost"), LINES, scenes)


def test_crop_sizes_of_the_paper():
    source = BatchSource(RECIPES["paper"], LINES, [make_sample(height=400, width=400, reach=1)])
    sizes = [source.draw_size(step) for step in range(2000)]
    full = [size for size in sizes if size == (400, 400)]
    large = [size for size in sizes if size != (400, 400) and min(size) >= 280]
    small = [size for size in sizes if size not in full and size not in large]
    assert len(full) / 2000 == pytest.approx(0.30, abs=0.04)
    assert len(large) / 2000 == pytest.approx(0.35, abs=0.04)
    assert len(small) / 2000 == pytest.approx(0.35, abs=0.04)
    assert min(map(min, small)) in range(128, 135)
    assert max(map(max, small)) in range(274, 281)
    assert any(height != width for height, width in small)
    sample = source.sample(0, 150, 201)
    assert torch.equal(sample.views, sample.views.mul(255).round().div(255))  # the paper's pixels are as stored


def test_crop_sizes_of_the_ablation():
    source = BatchSource(RECIPES["ablation"], LINES, [make_sample(height=400, width=400, reach=1)])
    sides = [side for step in range(1000) for side in source.draw_size(step)]
    assert min(sides) in range(64, 68)
    assert max(sides) in range(277, 281)


def test_whole_scenes_that_are_not_square_can_be_flipped():
    recipe = Recipe(cropping=Cropping(full_share=1.0, large_share=0.0), augmentation=Augmentation(flips=True))
    source = make_source(recipe, count=1)
    for step in range(6):
        assert source.batch(step).disparity_px.shape == (1, 1, 64, 72)


def test_reliefs_come_first_and_keep_a_share():
    source = make_source(SMALL.changed(relief_steps=3, relief_share=0.25), count=3)
    names = [source.sample(number, 16, 16).name for number in range(3 * 4)]
    assert set(names) == {"relief"}
    later = Counter(source.sample(number, 16, 16).name for number in range(12, 212))
    assert 30 < later["relief"] < 75
    batch = source.batch(0)
    assert batch.stacks["diagonal"].shape == (4, 5, 3, 32, 32)
    assert_same(batch, make_source(SMALL.changed(relief_steps=3, relief_share=0.25), count=3).batch(0))
    plain = make_source(SMALL, count=3).batch(9)
    assert_same(make_source(SMALL.changed(relief_steps=3), count=3).batch(9), plain)  # scenes are cut as ever


def test_reliefs_come_in_pairs_of_opposite_disparity():
    recipe = SMALL.changed(relief_steps=10, flips=False, swap_colours=False, gamma=0, gain_low=1, gain_high=1, noise=0)
    batch = BatchSource(recipe, LINES, []).batch(2)
    first, second = batch.disparity_px[0::2], batch.disparity_px[1::2]
    assert torch.equal(first, -second)
    assert first.abs().max() > 0.1
    for stack in batch.stacks.values():
        assert torch.equal(stack[0::2], stack[1::2].flip(1))


def test_reliefs_need_no_scenes():
    source = BatchSource(SMALL.changed(relief_steps=3, relief_last_px=2.0), ("horizontal", "vertical"), [])
    batch = source.batch(100)
    assert batch.stacks["vertical"].shape == (4, 9, 3, 32, 32)
    assert 0.1 < batch.disparity_px.abs().max() <= 2


VARIED = SMALL.changed(
    epochs_per_variation=3, crop_size_px=24, scale=1.2, geometry_probability=0.5, noise_probability=0.5
)


def test_crops_of_varied_scenes_depend_on_seed_and_step_only():
    first, again = make_source(VARIED, generated=2), make_source(VARIED, generated=2)
    later = first.batch(9)
    first.batch(2)
    assert_same(first.batch(9), later)
    assert_same(again.batch(9), later)


def test_varied_scenes_stay_consistent():
    source = make_source(VARIED.changed(noise=0.0, blur_px=0.3, crop_size_px=48), height=72, width=80)
    for number in range(12):
        assert photometric_error(source.sample(number, 48, 48)) < 0.05


def test_scenes_can_be_varied_by_any_scale():
    source = make_source(VARIED.changed(scale=1.5, geometry_probability=1.0), count=1, height=51, width=67)
    for variation in range(40):
        varied = source._vary(source.scenes[0], variation)
        assert varied.height <= 51
        assert varied.width <= 67
        assert varied.valid.float().mean() > 0.9


def test_frozen_passes_see_a_varied_scene_once_and_beliefs_turn_with_it():
    """Here they believe the truth, so that what a crop gets must be its own truth."""
    source = make_source(VARIED, count=2)
    asked = []

    def believe(sample):
        asked.append(sample.name)
        assert sample.views.is_floating_point()
        return torch.stack((sample.disparity_px, sample.disparity_px + 1))

    source.believe = believe
    for step in range(3):  # 12 samples of 2 scenes: 6 epochs, 2 variations
        batch = source.batch(step)
        assert torch.equal(batch.beliefs[:, :1], batch.disparity_px)
        assert torch.equal(batch.beliefs[:, 1:], batch.disparity_px + 1)
    assert Counter(asked) == {"scene0": 2, "scene1": 2}


def test_mistakes_are_explained():
    with pytest.raises(FreqLFError, match="epochs_per_variation is for crops of one size"):
        SMALL.changed(epochs_per_variation=3, relief_share=0.5)
    with pytest.raises(FreqLFError, match="do not fit into scenes of 26 px"):
        make_source(VARIED.changed(scale=1.8, crop_size_px=32), height=48, width=48)
    with pytest.raises(FreqLFError, match="no scene to train on"):
        BatchSource(SMALL, LINES, [])
    with pytest.raises(FreqLFError, match=r"crops of 128 px do not fit into scenes of 64 px; set --crop-size-px"):
        BatchSource(RECIPES["cpu"], LINES, [make_sample()])
    with pytest.raises(FreqLFError, match=r"same number of views, but slanted has 17 and few has 9"):
        BatchSource(SMALL, LINES, [make_sample(), make_sample(reach=1, name="few")])
