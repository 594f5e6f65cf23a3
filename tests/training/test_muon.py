import torch
from tiny import ALONE, RECIPE, make_model, make_source

from freqlf.training.muon import Muon, orthogonalise
from freqlf.training.objective import Objective, make_optimizer, weighted_loss


def test_orthogonal_matrices_have_like_singular_values() -> None:
    torch.manual_seed(0)
    for shape in ((8, 40), (40, 8), (16, 16)):
        # Singular values between 1 and 1/20.
        u, _, v = torch.linalg.svd(torch.randn(shape), full_matrices=False)
        values = torch.linspace(1, 0.05, min(shape))
        found = orthogonalise(u @ torch.diag(values) @ v)
        assert found.shape == shape
        left = torch.linalg.svdvals(found)
        assert left.min() > 0.6
        assert left.max() < 1.3


def test_weights_of_layers_move_by_the_learning_rate_and_the_rest_by_adam() -> None:
    model = make_model()
    optimizer = make_optimizer(model, RECIPE.changed(optimizer="muon", weight_decay=0.0))
    assert isinstance(optimizer, Muon)
    orthogonal = [group for group in optimizer.param_groups if group.get("orthogonal")]
    assert len(orthogonal) == 1
    moved = {id(weight) for weight in orthogonal[0]["params"]}
    outputs = {id(one.decoder.mlp.output.weight) for one in model.passes}
    assert moved
    assert not moved & outputs
    assert all(weight.ndim >= 2 for weight in orthogonal[0]["params"])
    before = [parameter.detach().clone() for parameter in model.parameters()]
    for group in optimizer.param_groups:
        group["lr"] = 1e-3
    weighted_loss(Objective(model, RECIPE), make_source().batch(0), ALONE).backward()
    optimizer.step()
    for old, new in zip(before, model.parameters(), strict=True):
        change = (new - old).square().mean().sqrt()
        if id(new) in moved:
            # 0.2 of the rate if all singular values are 1; less if the gradient's rank is low.
            assert 2e-5 < change < 3e-4
        else:
            assert change < 1.01e-3


def test_its_state_continues_exactly() -> None:
    def run(interrupt: bool) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = make_model()
        recipe = RECIPE.changed(optimizer="muon")
        optimizer = make_optimizer(model, recipe)
        objective = Objective(model, recipe)
        for step in range(4):
            if interrupt and step == 2:
                state = optimizer.state_dict()
                optimizer = make_optimizer(model, recipe)
                optimizer.load_state_dict(state)
            optimizer.zero_grad()
            weighted_loss(objective, make_source().batch(step), ALONE).backward()
            optimizer.step()
        return [parameter.detach() for parameter in model.parameters()]

    for straight, resumed in zip(run(False), run(True), strict=True):
        assert torch.equal(straight, resumed)
