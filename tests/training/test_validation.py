import torch
from slanted import make_sample
from tiny import ALONE, make_model
from torch import nn

from freqlf.evaluation.metrics import score_map
from freqlf.models.mixture import Mixture
from freqlf.training.validation import draw_validation, validate


class Oracle(nn.Module):
    """Knows the answer, except that a light component is far off."""

    lines = ("vertical",)

    def __init__(self, disparity_px: torch.Tensor) -> None:
        super().__init__()
        self.disparity_px = disparity_px

    def forward(self, stacks: dict[str, torch.Tensor]) -> Mixture:
        assert not torch.is_grad_enabled()
        assert not self.training
        assert stacks["vertical"].shape == (1, 5, 3, 40, 44)
        assert 0.8 < float(stacks["vertical"].max()) <= 1
        means = torch.stack([self.disparity_px, self.disparity_px + 1])[None]
        logits = torch.tensor([0.9, 0.1]).log().view(1, 2, 1, 1).expand_as(means)
        return Mixture(logits, means, torch.ones_like(means))


def test_scores_are_those_of_all_point_estimates():
    scene = make_sample(40, 44)
    model = Oracle(scene.disparity_px).train()
    found = validate(model, [scene], ALONE)
    assert model.training
    assert abs(found.scores["mean"]["slanted"].mse_100 - 100 * 0.1**2) < 1e-3  # a tenth of the weight is 1 px off
    assert found.scores["mean"]["slanted"].badpix_007 == 100
    assert found.scores["surface_mean"]["slanted"].mse_100 < 1e-9
    assert found.mean("surface_mean")["badpix_007"] == 0
    stray = 0.1**3 / (0.9**3 + 0.1**3)
    assert abs(found.scores["tempered_mean"]["slanted"].mse_100 - 100 * stray**2) < 1e-6
    assert found.summary()["mean"]["all"]["mse_100"] == found.mean()["mse_100"]


def test_invalid_pixels_do_not_count():
    scene = make_sample(40, 44)
    scene.valid[20, 20] = False
    disparity_px = scene.disparity_px.clone()
    disparity_px[20, 20] = 100
    assert validate(Oracle(disparity_px), [scene], ALONE).scores["surface_mean"]["slanted"].mse_100 < 1e-9


def test_a_real_model_on_several_scenes(tmp_path):
    scenes = [make_sample(40, 44, name="first"), make_sample(40, 44, start_px=0.2, name="second")]
    found = validate(make_model(), scenes, ALONE)
    for scene in scenes:
        prediction_px = found.predictions_px[scene.name]
        expected = score_map(prediction_px, scene.disparity_px.numpy(), scene.valid.numpy())
        assert found.scores["mean"][scene.name] == expected
    means = [score.mse_100 for score in found.scores["mean"].values()]
    assert abs(found.mean()["mse_100"] - sum(means) / 2) < 1e-9
    draw_validation(tmp_path, found, scenes)
    for name in ("first", "second"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
