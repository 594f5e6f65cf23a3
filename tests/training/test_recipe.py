import pytest

from freqlf.data.sampling import Augmentation, Cropping
from freqlf.errors import FreqLFError
from freqlf.training.recipe import RECIPES, Recipe, find_recipe, settings


def test_the_paper_recipe_is_the_papers():
    recipe = find_recipe("paper")
    assert (recipe.optimizer, recipe.learning_rate, recipe.schedule, recipe.warmup_steps) == (
        "adam",
        1e-4,
        "constant",
        0,
    )
    assert (recipe.beta1, recipe.beta2, recipe.epsilon, recipe.weight_decay) == (0.9, 0.999, 1e-8, 0.0)
    assert (recipe.batch_size, recipe.epochs) == (1, 500)
    assert recipe.total_steps(scenes=4) == 2000
    assert recipe.total_steps(scenes=16) == 8000
    assert (recipe.clip_norm, recipe.ema_decay, recipe.l1_weight, recipe.loss_border_px) == (0, 0, 0, 0)
    cropping = recipe.cropping
    assert (cropping.crop_size_px, cropping.full_share, cropping.large_share) == (0, 0.3, 0.35)
    assert cropping.smallest_crop_px == 128
    assert recipe.augmentation == Augmentation()
    assert not recipe.reliefs.are_used
    assert not recipe.encoder_loss


def test_the_ablation_differs_in_its_crops_only():
    paper, ablation = RECIPES["paper"].values(), RECIPES["ablation"].values()
    different = {name for name in paper if paper[name] != ablation[name]}
    assert different == {"full_share", "large_share", "smallest_crop_px"}
    assert ablation["smallest_crop_px"] == 64


def test_the_curriculum_goes_from_small_disparities_to_all_that_there_are():
    reliefs = RECIPES["curriculum"].reliefs
    ranges = [reliefs.range_px(step) for step in (0, reliefs.relief_steps // 4, reliefs.relief_steps // 2, 10**6)]
    assert ranges == [1.0, 2.5, 4.0, 4.0]
    assert [reliefs.variety(step) for step in (0, reliefs.relief_steps)] == [0.0, 1.0]
    assert RECIPES["curriculum"].changed(relief_share=0.5).reliefs.relief_share == 0.5


def test_steps_win_over_epochs():
    assert Recipe(steps=10).total_steps(scenes=4) == 10
    assert Recipe(epochs=3, batch_size=2).total_steps(scenes=5) == 8


def test_settings_of_all_parts_are_changed_by_name():
    recipe = RECIPES["cpu"].changed(steps=5, crop_size_px=64, noise=0.1)
    assert (recipe.steps, recipe.cropping.crop_size_px, recipe.augmentation.noise) == (5, 64, 0.1)
    assert recipe.batch_size == RECIPES["cpu"].batch_size
    assert RECIPES["cpu"].changed() == RECIPES["cpu"]
    with pytest.raises(FreqLFError, match="a recipe has no 'nois'; it has epochs, steps"):
        recipe.changed(nois=0.1)


def test_every_setting_has_help_and_a_name_of_its_own():
    names = set(RECIPES["paper"].values())
    assert set(settings()) == names
    for setting in settings().values():
        assert setting.metadata["help"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Recipe(batch_size=0), "batch_size must be between 1 and 4096, not 0"),
        (lambda: Recipe(ema_decay=1.5), "ema_decay must be between 0 and 1, not 1.5"),
        (lambda: Recipe(learning_rate=float("nan")), "learning_rate must be a finite number, not nan"),
        (lambda: Recipe(steps=0, epochs=0), "both are 0"),
        (lambda: Recipe(loss_border_px=64), "leaves nothing of a crop of 128 px"),
        (lambda: Cropping(full_share=0.8, large_share=0.5), "must not exceed 1, not 1.3"),
        (lambda: Cropping(crop_size_px=4), "crop_size_px must be between 8 and 30000, not 4"),
        (lambda: Augmentation(scale=0.5), "scale must be between 1 and 4, not 0.5"),
        (lambda: Augmentation(gain_low=2.0), "gain_low 2.0 must not be above gain_high"),
        (lambda: find_recipe("soup"), "unknown recipe 'soup': choose one of paper, ablation, cpu, curriculum"),
    ],
)
def test_wrong_values_are_explained(make, message):
    with pytest.raises(FreqLFError, match=message):
        make()
