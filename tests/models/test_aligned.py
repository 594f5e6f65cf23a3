from dataclasses import replace

import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.lightfield import LightField
from freqlf.models.aligned import split_surfaces
from freqlf.models.build import build_model
from freqlf.models.config import STAR_LINES, AlignedConfig, PassConfig, SweepConfig, without
from freqlf.models.description import config_from_dict, config_to_dict
from freqlf.models.encoder import HalfLineEncoder
from freqlf.models.hybrid import HybridLayer
from freqlf.models.mixture import Mixture
from freqlf.models.presets import PRESETS

ALIGNED = [name for name, config in PRESETS.items() if isinstance(config, AlignedConfig)]
TINY = AlignedConfig(
    lines=STAR_LINES,
    passes=(
        PassConfig(channels=16, layers=1, modes=4, stem_channels=16, windows_px=(11,)),
        PassConfig(channels=16, layers=2, modes=4, stem_channels=16, windows_px=(7,), relative_px=(-0.2, 0.2)),
    ),
    reference_px=32,
)


SWEPT = replace(
    TINY,
    passes=(
        TINY.passes[0],
        replace(
            TINY.passes[1],
            layers=1,
            modes=2,
            coarse_channels=(8, 12),
            second_opinion=True,
            spacings_px=(2, 6),
            contrast_steps=True,
            tilted=True,
            occlusion=True,
            stream_channels=4,
        ),
    ),
    sweep=SweepConfig(wide_windows_px=(13,), tilts=(-0.05, 0.05), tilted_window_px=13),
)
LEVEL = (SWEPT.passes[0], replace(SWEPT.passes[1], tilted=False))  # passes that know no tilted planes


def build(config: AlignedConfig, seed: int = 0) -> torch.nn.Module:
    torch.manual_seed(seed)
    return build_model(config)


@pytest.mark.parametrize("name", ALIGNED)
def test_presets_run_on_any_number_of_views(plane_stacks, name: str) -> None:
    model = build(PRESETS[name])
    for rows, columns in ((3, 3), (5, 5), (9, 7)):
        stacks = plane_stacks(0.5, rows=rows, columns=columns)
        with torch.inference_mode():
            mixtures = model.forward_passes({line: stacks[line] for line in model.lines})
        *_, last = passes = PRESETS[name].passes
        for mixture, one in zip(mixtures, (*passes, *PRESETS[name].repeats * [last]), strict=True):
            surfaces = PRESETS[name].opinions + PRESETS[name].wide_opinions + one.tilted if one.second_opinion else 0
            assert mixture.means.shape == (1, PRESETS[name].components + surfaces, 32, 40)
            assert mixture.mean().isfinite().all()
        # An untrained model starts from the slope field: it already knows this plane.
        assert (mixtures[0].local_mean() - 0.5)[..., 8:-8, 8:-8].abs().median() < 0.1


def test_parameters() -> None:
    config = PRESETS["freqlf-plus-small"]
    assert isinstance(config, AlignedConfig)
    total = 0
    for one in config.passes:
        C, h, K = one.channels, one.stem_channels, config.components
        N = 2 + 2 * len(one.windows_px)
        shared = (2 * N + 5 + len(one.relative_px) + 1) * one.shared_channels
        inputs = 7 + N + 2 * len(config.lines) * one.shared_channels
        total += shared + inputs * h + h + 9 * h * C + C  # encoder
        total += C * (C // 8) + C // 8 + (C // 8) * C + C  # squeeze and excitation
        total += one.layers * (2 * C * C * one.modes**2 + 10 * C * C + C)  # hybrid layers
        total += (C + 2) * C + C + C * C + C + C * 3 * K + 3 * K  # decoder
    assert total == 2_406_628
    assert sum(parameter.numel() for parameter in build(config).parameters()) == total


@pytest.mark.parametrize("config", [TINY, SWEPT], ids=["flat", "swept"])
@pytest.mark.parametrize("component", [None, "fourier", "local", "squeeze", "probabilistic"])
def test_every_parameter_of_every_ablation_learns(plane_stacks, component: str | None, config: AlignedConfig) -> None:
    model = build(config if component is None else without(config, component))
    stacks = plane_stacks(0.5)
    target = torch.full((1, 32, 40), 0.6)
    sum(-mixture.log_prob(target).mean() for mixture in model.forward_passes(stacks)).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("component", [None, "fourier", "local", "squeeze", "probabilistic"])
def test_overfits_one_crop(plane_stacks, component: str | None) -> None:
    """A wavy surface that the light field does not show: only the network's own layers can produce it."""
    model = build(TINY if component is None else without(TINY, component))
    stacks = plane_stacks(0.5, height=64, width=64)
    y, x = torch.linspace(0, 3, 64)[:, None], torch.linspace(0, 3, 64)[None, :]
    target = (0.5 + 0.1 * torch.sin(2 * x + y))[None]
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(400):
        error = (model(stacks).mean() - target).square().mean()
        if error < 1e-3:
            break
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
    assert error < 1e-3


@pytest.mark.parametrize(
    "config",
    [
        TINY,
        SWEPT,
        replace(SWEPT, passes=LEVEL, sweep=SweepConfig()),
        replace(SWEPT, sweep=SweepConfig(tilts=(0.05,))),
        replace(SWEPT, passes=LEVEL, sweep=None, contrast_windows_px=(5,), mean_windows_px=(3, 5)),
        replace(SWEPT, repeats=1),
    ],
    ids=["flat", "swept", "no wide windows", "only tilted ones", "slopes by contrast", "repeated"],
)
def test_passes_that_learn_go_on_from_what_frozen_ones_believe(plane_stacks, config: AlignedConfig) -> None:
    model = build(config)
    assert model.frozen_passes == 0
    model.passes[0].requires_grad_(False)
    assert model.frozen_passes == 1
    stacks = plane_stacks(0.5)
    with torch.inference_mode():
        learning = model.forward_passes(stacks, beliefs=model.believe(stacks))
        assert len(learning) == 1 + config.repeats
        assert torch.equal(learning[-1].means, model.forward_passes(stacks)[-1].means)


def test_a_repeated_pass_is_another_one_with_the_same_weights(plane_stacks) -> None:
    twice = build(replace(SWEPT, repeats=1))
    thrice = build(replace(SWEPT, passes=(*SWEPT.passes, SWEPT.passes[1])))
    thrice.passes[0].load_state_dict(twice.passes[0].state_dict())
    for number in (1, 2):
        thrice.passes[number].load_state_dict(twice.passes[1].state_dict())
    stacks = plane_stacks(0.5)
    with torch.inference_mode():
        ours, theirs = twice.forward_passes(stacks), thrice.forward_passes(stacks)
    assert len(ours) == 3
    assert not torch.equal(ours[2].means, ours[1].means)
    assert torch.equal(ours[2].means, theirs[2].means)
    assert set(twice.name_channels()) == {one for one in thrice.name_channels() if not one.startswith("passes.2")}
    with pytest.raises(FreqLFError, match="repeats"):
        replace(SWEPT, repeats=-1)


@pytest.mark.parametrize("setting", ["contrast_steps", "tilted", "occlusion", "stream_channels"])
def test_what_compares_views_by_contrast_needs_them(setting: str) -> None:
    with pytest.raises(FreqLFError, match=setting):
        PassConfig(**{setting: 1})


def test_a_pass_may_look_around_without_a_sweep(plane_stacks) -> None:
    model = build(replace(TINY, passes=(TINY.passes[0], replace(TINY.passes[1], spacings_px=(3,)))))
    with torch.inference_mode():
        assert (model(plane_stacks(0.5)).local_mean() - 0.5)[..., 8:-8, 8:-8].abs().median() < 0.1


def test_a_sweep_belongs_to_passes_that_use_it() -> None:
    with pytest.raises(FreqLFError, match="if one of its passes has a second_opinion"):
        replace(SWEPT, sweep=None)
    for parts in ({"passes": LEVEL}, {"sweep": SweepConfig()}, {"sweep": None, "contrast_windows_px": (5,)}):
        with pytest.raises(FreqLFError, match="if one of the model's passes is tilted, else not"):
            replace(SWEPT, **parts)
    with pytest.raises(FreqLFError, match="tilts must lie between"):
        SweepConfig(tilts=(0.0,))
    with pytest.raises(FreqLFError, match="if one of its passes has a second_opinion, else not"):
        replace(TINY, sweep=SweepConfig())
    with pytest.raises(FreqLFError, match="not from both"):
        replace(SWEPT, contrast_windows_px=(5,))
    with pytest.raises(FreqLFError, match="first pass has no surroundings"):
        replace(TINY, passes=(replace(TINY.passes[0], spacings_px=(2,)),))
    config = PRESETS["freqlf-plus-sweep"]
    assert config_from_dict(config_to_dict(config)) == config
    assert config.enumerates_disparities
    assert not PRESETS["freqlf-small"].enumerates_disparities


def test_the_old_name_of_second_opinions_is_understood() -> None:
    content = config_to_dict(SWEPT)
    for one in content["passes"]:
        one["swept"] = one.pop("second_opinion")
    assert config_from_dict(content) == SWEPT


@pytest.mark.parametrize("name", ALIGNED)
def test_activations_keep_their_scale_at_the_start(plane_stacks, name: str) -> None:
    scales: dict[str, float] = {}
    model = build(PRESETS[name])
    for path, module in model.named_modules():
        if isinstance(module, (HybridLayer, HalfLineEncoder)):
            module.register_forward_hook(lambda _, __, output, path=path: scales.update({path: output.std().item()}))
    stacks = plane_stacks(0.5, height=48, width=48)
    noise = {line: 0.05 * torch.randn(stack.shape) for line, stack in stacks.items()}
    model({line: stack + noise[line] for line, stack in stacks.items()})
    levels = [len(one.coarse_channels) for one in PRESETS[name].passes]
    # An hourglass has its layers at every level, and again on the way up at all but the coarsest.
    layers = sum(one.layers * (1 + 2 * n) + 1 for one, n in zip(PRESETS[name].passes, levels, strict=True))
    assert len(scales) == layers
    assert all(0.25 < scale < 3 for scale in scales.values()), scales


@pytest.mark.parametrize("config", [TINY, SWEPT], ids=["flat", "swept"])
@pytest.mark.parametrize("shear_px", [-1.0, 0.5])
def test_shear_of_the_light_field_shears_the_estimate(
    render_plane, stacks_of, shear_px: float, config: AlignedConfig
) -> None:
    light_field = LightField.from_array(render_plane(0.3, rows=9, columns=9, height=96, width=96))
    model = build(config)
    with torch.inference_mode():
        before = model(stacks_of(light_field)).mean()[..., 24:-24, 24:-24]
        after = model(stacks_of(light_field.sheared(shear_px))).mean()[..., 24:-24, 24:-24]
    assert (after - before - shear_px).abs().max() < 0.02


def test_queries_agree_with_the_grid(plane_stacks) -> None:
    model, stacks = build(TINY), plane_stacks(0.5)
    corners = torch.tensor([[[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]])
    with torch.inference_mode():
        grid, queried = model(stacks).mean(), model(stacks, corners).mean()
    assert torch.allclose(queried[0], grid[0, [0, 0, -1, -1], [0, -1, 0, -1]], atol=1e-5)


def test_batches_are_independent(plane_stacks) -> None:
    model = build(replace(TINY, field="index", reference_px=None))
    one, two = plane_stacks(0.5), plane_stacks(-0.7)
    with torch.inference_mode():
        together = model({line: torch.cat((one[line], two[line])) for line in one}).mean()
        assert torch.allclose(together[:1], model(one).mean(), atol=1e-4)
        assert torch.allclose(together[1:], model(two).mean(), atol=1e-4)


def test_surfaces_are_told_apart() -> None:
    def mixture(weights: list[float], means: list[float]) -> Mixture:
        shape = (1, len(means), 1, 1)
        logits, centres = torch.tensor(weights).log().view(shape), torch.tensor(means).view(shape)
        return Mixture(logits, centres, torch.full(shape, 0.1))

    estimate, alternative = split_surfaces(mixture([0.4, 0.2, 0.4], [0.0, 0.1, 2.0]))
    assert estimate.item() == pytest.approx(0.1 / 3, abs=1e-5)
    assert alternative.item() == pytest.approx(2.0, abs=0.02)
    estimate, alternative = split_surfaces(mixture([0.5, 0.5], [1.0, 1.1]))
    assert estimate.item() == alternative.item() == pytest.approx(1.05)
