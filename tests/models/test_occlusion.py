from dataclasses import replace

import pytest
import torch

from freqlf.models.build import build_model
from freqlf.models.config import OcclusionConfig, without
from freqlf.models.epi import EpiEncoder
from freqlf.models.halflines import HalfLines
from freqlf.models.occlusion import OcclusionEncoder, PlaneStream
from freqlf.models.presets import PRESETS
from freqlf.models.tiles import Tiling
from freqlf.training.losses import nll

TINY = OcclusionConfig(
    channels=16, layers=2, modes=4, stream_channels=8, lowest_px=-1.0, highest_px=1.0, step_px=0.25, opinions=2
)


def read(mixture) -> torch.Tensor:
    return torch.stack((mixture.mean(), mixture.variance().sqrt()), dim=1)


def test_the_papers_two_models_differ_in_their_encoder_only() -> None:
    with torch.device("meta"):
        base, plus = (build_model(PRESETS[name]) for name in ("freqlf", "freqlf-plus"))
    assert isinstance(base.encoder, EpiEncoder)
    assert isinstance(plus.encoder, OcclusionEncoder)
    assert base.encoder.channels == plus.encoder.channels
    behind = [
        {name: weight.shape for name, weight in model.state_dict().items() if not name.startswith("encoder.")}
        for model in (base, plus)
    ]
    assert behind[0] == behind[1]
    assert {name.split(".")[0] for name in behind[0]} == {"lift", "layers", "decoder"}
    printed = [[repr(part) for part in (model.lift, model.layers, model.decoder)] for model in (base, plus)]
    assert printed[0] == printed[1]
    assert base.decoder.deviation_floor_px == plus.decoder.deviation_floor_px


def test_a_backbone_can_be_taken_over() -> None:
    torch.manual_seed(0)
    plus, other = build_model(TINY), build_model(TINY)
    behind = {name: weight for name, weight in plus.state_dict().items() if not name.startswith("encoder.")}
    missing = other.load_state_dict(behind, strict=False)
    assert all(name.startswith("encoder.") for name in missing.missing_keys)
    assert not missing.unexpected_keys


@pytest.mark.parametrize("component", [None, "squeeze", "probabilistic"])
def test_every_weight_learns(plane_stacks, component: str | None) -> None:
    torch.manual_seed(0)
    model = build_model(TINY if component is None else without(TINY, component))
    stacks = plane_stacks(0.5, height=24, width=28)
    nll(model(stacks), torch.full((1, 24, 28), 0.5)).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("tile_px", [None, 17, 40])
@pytest.mark.parametrize("component", [None, "squeeze", "fourier"])
def test_tiles_give_what_the_whole_image_gives(plane_stacks, component: str | None, tile_px: int | None) -> None:
    torch.manual_seed(0)
    model = build_model(TINY if component is None else without(TINY, component))
    stacks = plane_stacks(0.6, rows=5, columns=5, height=45, width=52)
    with torch.inference_mode():
        whole = read(model(stacks))
    maps = model.stream(HalfLines.from_stacks(stacks, model.lines), read, Tiling(tile_px))
    assert maps.shape == (1, 2, 45, 52)
    assert (maps - whole).abs().max() < 1e-4


def test_any_odd_number_of_views_will_do(plane_stacks) -> None:
    model = build_model(TINY)
    with torch.inference_mode():
        for views in (3, 7):
            assert model(plane_stacks(0.2, rows=views, columns=views)).means.shape == (1, 5, 32, 40)


def test_the_scale_of_activations(plane_stacks) -> None:
    torch.manual_seed(0)
    model = build_model(OcclusionConfig(channels=64, stream_channels=32, modes=8))
    deviations = {}
    parts = {"spatial": model.encoder.spatial, "planes": model.encoder.planes, "encoder": model.encoder}
    parts |= {"lift": model.lift} | {f"layer {i}": layer for i, layer in enumerate(model.layers)}
    for name, part in parts.items():
        part.register_forward_hook(lambda _, __, z, name=name: deviations.update({name: z.std().item()}))
    stacks = plane_stacks(0.6, rows=9, columns=9, height=48, width=48)
    with torch.no_grad():
        model({line: stack + 0.02 * torch.randn_like(stack) for line, stack in stacks.items()})
    assert len(deviations) == len(parts)
    assert all(0.25 < value < 3 for value in deviations.values()), deviations


def test_one_side_may_be_occluded() -> None:
    """A plane on which one half-line agrees differs from one on which none does, whichever half-line it is."""
    torch.manual_seed(0)
    stream = PlaneStream(half_lines=4, planes=3, channels=8, opinions=2)
    nobody = torch.ones(1, 3, 12, 6, 6)
    features = []
    for half_line in range(4):
        somebody = nobody.clone()
        somebody[:, 1, half_line::4] = -1.0
        features.append(stream(somebody))
    with torch.no_grad():
        assert all((one - stream(nobody.clone())).abs().max() > 0.01 for one in features)


def test_it_tells_planes_apart_after_a_few_steps(plane_stacks) -> None:
    torch.manual_seed(0)
    model = build_model(replace(TINY, deviation_floor_px=0.1))  # without noise a low one makes the steps rough
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    scenes = {truth_px: plane_stacks(truth_px, height=20, width=24) for truth_px in (-0.6, 0.0, 0.55)}
    for _ in range(110):
        optimiser.zero_grad()
        losses = [nll(model(stacks), torch.full((1, 20, 24), truth_px)) for truth_px, stacks in scenes.items()]
        torch.stack(losses).mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    with torch.no_grad():
        errors = [float((model(stacks).mean() - truth_px).abs().mean()) for truth_px, stacks in scenes.items()]
    assert max(errors) < 0.2  # a constant would be wrong by 0.6
