import math

import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.models.build import build_model
from freqlf.models.config import EpiConfig, Switches
from freqlf.models.hybrid import HybridLayer
from freqlf.models.paper import FreqLF
from freqlf.training.losses import mse, nll

VARIANTS = {
    "full": {},
    "no fourier": {"fourier": False},
    "no local": {"local": False},
    "no squeeze": {"squeeze": False},
    "no distribution": {"probabilistic": False},
}
SMALL = {"views": (5, 5), "channels": 32, "stream_channels": 16, "modes": 8}
SWITCHES = Switches.__dataclass_fields__


def build_paper_model(views=(9, 9), **options):
    """The model with (horizontal, vertical) views; switches are options like any other."""
    switches = Switches(**{name: value for name, value in options.items() if name in SWITCHES})
    rest = {name: value for name, value in options.items() if name not in SWITCHES}
    return build_model(EpiConfig(columns=views[0], rows=views[1], switches=switches, **rest))


def render_tilted_plane(views=(5, 5), size=64, disparity_px=0.5, slope_x=0.006, slope_y=-0.004):
    """A textured plane, exact in every view: (horizontal, vertical, disparity_px), each with a batch axis."""
    generator = torch.Generator().manual_seed(3)
    cycles = torch.randn(24, 2, generator=generator) * 0.08  # per px: smooth at the scale of a pixel
    phase = torch.rand(24, 3, generator=generator) * 2 * math.pi

    def texture(y, x):
        angle = 2 * math.pi * (cycles[:, 0, None, None] * y + cycles[:, 1, None, None] * x)
        return 0.45 + 0.05 * torch.cos(angle[:, None] + phase[:, :, None, None]).sum(0)  # 3, H, W

    y, x = torch.meshgrid(torch.arange(size) - size / 2, torch.arange(size) - size / 2, indexing="ij")
    # The point at x of the centre is seen at x - k*d(x) in the view k steps along; solved for x.
    horizontal = [
        texture(y, (x + k * (disparity_px + slope_y * y)) / (1 - k * slope_x))
        for k in range(-(views[0] // 2), views[0] // 2 + 1)
    ]
    vertical = [
        texture((y + k * (disparity_px + slope_x * x)) / (1 - k * slope_y), x)
        for k in range(-(views[1] // 2), views[1] // 2 + 1)
    ]
    disparity = disparity_px + slope_x * x + slope_y * y
    return torch.stack(horizontal)[None], torch.stack(vertical)[None], disparity[None]


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize("band", ["literal", "isotropic"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_parameters_at_the_papers_size(variant, band):
    switches = VARIANTS[variant]
    C, S, L, k, K, h = 128, 64, 4, 16, 5, 128
    spatial = (9 * 3 * S + S) + 2 * (9 * S * S + S)
    epi = (3 * 3 * 7 * 3 * S + S) + (3 * 9 * S * S + S) + (2 * 9 * S * S + S)
    squeeze = (C * C // 8 + C // 8) + (C // 8 * C + C) if switches.get("squeeze", True) else 0
    encoder = spatial + 2 * epi + (3 * S * C + C) + squeeze
    layer = C * C + C
    layer += 9 * C * C if switches.get("local", True) else 0
    layer += 2 * C * C * (k * k if band == "literal" else (2 * k - 1) * k) if switches.get("fourier", True) else 0
    outputs = 3 * K if switches.get("probabilistic", True) else 1
    decoder = ((C + 2) * h + h) + (h * h + h) + (h * outputs + outputs)
    with torch.device("meta"):
        model = build_paper_model(band=band, **switches)
    assert (spatial, epi) == (75_648, 196_608)
    assert count(model.encoder) == encoder
    assert count(model.layers) == L * layer
    assert count(model.decoder) == decoder
    assert count(model) == encoder + (C * C + C) + L * layer + decoder
    if variant == "full":
        assert count(model) == {"literal": 34_759_839, "isotropic": 66_217_119}[band]


@pytest.mark.parametrize("views", [(3, 3), (5, 5), (7, 7), (9, 9), (9, 7)])
def test_views(views):
    model = build_paper_model(**(SMALL | {"views": views}))
    horizontal, vertical, _ = render_tilted_plane(views, size=20)
    with torch.no_grad():
        assert model({"horizontal": horizontal, "vertical": vertical}).means.shape == (1, 5, 20, 20)
    missing = horizontal[:, 1:-1]
    with pytest.raises(FreqLFError, match=f"built for {views[0]} views in a stack, not {views[0] - 2}"):
        model({"horizontal": missing, "vertical": vertical})


def test_fields_of_any_shape():
    model = build_paper_model(**SMALL)
    horizontal, vertical = torch.rand(2, 2, 5, 3, 18, 23)
    with torch.no_grad():
        mixture = model({"horizontal": horizontal, "vertical": vertical})
        at_queries = model({"horizontal": horizontal, "vertical": vertical}, torch.rand(2, 7, 2) * 2 - 1)
    assert mixture.mean().shape == mixture.variance().shape == (2, 18, 23)
    assert at_queries.mean().shape == (2, 7)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_parameter_learns(variant):
    torch.manual_seed(0)
    model = build_paper_model(**(SMALL | VARIANTS[variant]))
    horizontal, vertical, disparity = render_tilted_plane(size=24)
    nll(model({"horizontal": horizontal, "vertical": vertical}), disparity).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("variant", VARIANTS)
def test_scale_of_activations(variant):
    torch.manual_seed(0)
    model = build_paper_model(**VARIANTS[variant], channels=64, stream_channels=32, modes=16)
    horizontal, vertical, _ = render_tilted_plane((9, 9), size=48)
    noisy = [(stack + 0.02 * torch.randn_like(stack)).clamp(0, 1) for stack in (horizontal, vertical)]
    deviations = {}
    parts = {"lift": model.lift, "project": model.encoder}
    parts |= {f"layer {i}": layer for i, layer in enumerate(model.layers)}
    parts |= {name: getattr(model.encoder, name) for name in ("spatial", "horizontal", "vertical")}
    for name, part in parts.items():
        part.register_forward_hook(lambda _, __, z, name=name: deviations.update({name: z.std().item()}))
    with torch.no_grad():
        mixture = model(dict(zip(FreqLF.lines, noisy, strict=True)))
    assert len(deviations) == len(parts)
    assert all(0.3 < value < 3 for value in deviations.values()), deviations
    assert mixture.mean().abs().max() < 3


@pytest.mark.parametrize("variant", VARIANTS)
def test_overfits_a_crop(variant):
    torch.manual_seed(0)
    # Without noise the deviations shrink to their floor; a low one makes the last steps of the means rough.
    views = (3, 3)  # enough for a slope, and quick
    model = build_paper_model(**(SMALL | VARIANTS[variant] | {"views": views}), deviation_floor_px=0.05)
    horizontal, vertical, disparity = render_tilted_plane(views)
    most_steps = 200
    optimiser = torch.optim.Adam(model.parameters(), betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, 2e-3, total_steps=most_steps, pct_start=0.1, cycle_momentum=False
    )
    for _ in range(most_steps):
        optimiser.zero_grad()
        mixture = model({"horizontal": horizontal, "vertical": vertical})
        if mse(mixture, disparity) < 7e-4:
            break
        nll(mixture, disparity).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        assert mse(model({"horizontal": horizontal, "vertical": vertical}), disparity).item() < 1e-3


def test_layers_of_different_widths_are_refused():
    model = build_paper_model(**SMALL)
    with pytest.raises(FreqLFError, match="one number of channels"):
        FreqLF(model.encoder, [HybridLayer(8, (4, 4)), HybridLayer(16, (4, 4))], model.decoder)


def test_the_decoder_can_read_the_field_before_the_layers():
    torch.manual_seed(0)
    model = build_paper_model(**SMALL)
    horizontal, vertical, disparity = render_tilted_plane(size=24)
    stacks = {"horizontal": horizontal, "vertical": vertical}
    (only,) = model.forward_passes(stacks)
    model.decodes_lift = True
    early, last = model.forward_passes(stacks)
    assert torch.allclose(last.means, only.means)
    assert not torch.allclose(early.means, last.means)
    nll(early, disparity).backward()
    assert all(weight.grad is None for weight in model.layers.parameters())
    assert all(weight.grad is not None for weight in model.encoder.parameters())
