import copy
import math
from itertools import pairwise

import pytest
import torch
from tiny import ALONE, RECIPE, make_model, make_source

from freqlf.errors import FreqLFError
from freqlf.models.build import build_model
from freqlf.models.config import EpiConfig
from freqlf.training import losses
from freqlf.training.objective import Objective, freeze, learning_rate, make_optimizer, update_average, weighted_loss
from freqlf.training.recipe import RECIPES, Recipe


def test_the_objective_weighs_passes_and_terms():
    model, batch = make_model(), make_source().batch(0)
    early, last = model.forward_passes(batch.stacks)
    truth_px, valid = batch.disparity_px.squeeze(1), batch.valid.squeeze(1)

    def loss(mixture):
        return losses.nll(mixture, truth_px, valid) + 0.1 * losses.l1(mixture, truth_px, valid)

    found = Objective(model, RECIPE)(batch.stacks, batch.disparity_px, batch.valid)
    assert torch.allclose(found, loss(last) + 0.5 * loss(early))
    plain = Objective(model, RECIPE.changed(l1_weight=0.0, early_weight=0.0))
    expected = losses.nll(last, truth_px, valid)
    assert torch.allclose(plain(batch.stacks, batch.disparity_px, batch.valid), expected)
    assert torch.allclose(weighted_loss(plain, batch, ALONE), expected)


def test_the_encoder_has_a_loss_of_its_own_if_the_recipe_says_so():
    torch.manual_seed(0)
    model = build_model(EpiConfig(rows=5, columns=5, channels=8, layers=1, modes=2, stream_channels=4))
    batch = make_source().batch(0)
    parts = (batch.stacks, batch.disparity_px, batch.valid)
    recipe = RECIPES["paper"].changed(early_weight=0.25)
    alone = Objective(model, recipe)(*parts)
    both = Objective(model, recipe.changed(encoder_loss=True))(*parts)
    early, _ = model.forward_passes(batch.stacks)
    expected = losses.nll(early, batch.disparity_px.squeeze(1), batch.valid.squeeze(1))
    assert torch.allclose(both, alone + 0.25 * expected)


def test_half_precision_is_close_and_its_loss_is_single():
    batch = make_source().batch(0)
    exact = Objective(make_model(), RECIPE)(batch.stacks, batch.disparity_px, batch.valid)
    rough = Objective(make_model(), RECIPE.changed(precision="bf16"))(batch.stacks, batch.disparity_px, batch.valid)
    assert rough.dtype == torch.float32
    assert rough != exact
    assert torch.allclose(rough, exact, rtol=0.2, atol=0.2)


def test_the_papers_learning_rate_is_constant():
    assert {learning_rate(RECIPES["paper"], step, 2000) for step in range(2000)} == {1e-4}


def test_warm_up_and_cosine():
    recipe = Recipe(learning_rate=2.0, warmup_steps=10, schedule="cosine", final_rate=0.1)
    rates = [learning_rate(recipe, step, 1000) for step in range(1000)]
    assert rates[0] == pytest.approx(0.2)
    assert max(rates) == pytest.approx(2.0, rel=1e-3)
    assert rates.index(max(rates)) == 9
    assert rates[500] == pytest.approx(2.0 * (0.1 + 0.9 * 0.5))
    assert rates[-1] == pytest.approx(0.2, rel=1e-3)
    assert all(before > after for before, after in pairwise(rates[9:]))


def test_optimizers_follow_the_recipe():
    adam = make_optimizer(make_model(), RECIPES["paper"])
    assert type(adam) is torch.optim.Adam
    assert (adam.defaults["lr"], adam.defaults["betas"], adam.defaults["eps"]) == (1e-4, (0.9, 0.999), 1e-8)
    adamw = make_optimizer(make_model(), RECIPES["cpu"])
    assert type(adamw) is torch.optim.AdamW
    assert (adamw.defaults["betas"], adamw.defaults["weight_decay"]) == ((0.9, 0.98), 1e-4)


def test_the_average_forgets_the_beginning_and_then_follows_slowly():
    model = torch.nn.Linear(1, 1, bias=False)
    average = copy.deepcopy(model)
    values = [math.sin(step) + 3 for step in range(400)]
    expected = float(model.weight.detach())
    for step, value in enumerate(values):
        torch.nn.init.constant_(model.weight, value)
        update_average(average, model, 0.9, step)
        decay = min(0.9, (step + 1) / (step + 20))
        expected = decay * expected + (1 - decay) * value
    assert average.weight.item() == pytest.approx(expected, rel=1e-5)
    assert abs(average.weight.item() - 3) < 0.5


def test_fourier_weights_have_a_learning_rate_of_their_own():
    recipe = RECIPES["cpu"].changed(fourier_rate=0.25)
    model = make_model()
    groups = {group["factor"]: group["params"] for group in make_optimizer(model, recipe).param_groups}
    fourier = [name for name, _ in model.named_parameters() if "fourier" in name]
    assert len(groups[0.25]) == len(fourier) == 2
    assert len(groups[1.0]) == len(list(model.parameters())) - 2


def test_frozen_parts_stay_as_they_are():
    model = make_model()
    freeze(model, "passes.0")
    optimizer = make_optimizer(model, RECIPE)
    batch = make_source().batch(0)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    Objective(model, RECIPE.changed(early_weight=0.0))(batch.stacks, batch.disparity_px, batch.valid).backward()
    optimizer.step()
    for name, weight in model.named_parameters():
        assert torch.equal(weight, before[name]) == name.startswith("passes.0."), name
    with pytest.raises(FreqLFError, match=r"no part 'passes\.9' to freeze"):
        freeze(model, "passes.0,passes.9")
