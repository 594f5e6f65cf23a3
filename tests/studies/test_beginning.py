"""Trained weights as the beginning of a study."""

import pytest
import torch
from tiny import CONFIG

from freqlf.errors import FreqLFError
from freqlf.models.build import build_model
from freqlf.models.config import EpiConfig
from freqlf.studies.beginning import begin_with
from freqlf.studies.variants import ablate, vary_modes
from freqlf.weights.files import write_weights

SHARED = "passes.0.encoder.read.weight"


@pytest.fixture
def trained(tmp_path):
    torch.manual_seed(1)
    model = build_model(CONFIG)
    path = tmp_path / "trained.safetensors"
    write_weights(path, CONFIG, model.state_dict(), {}, half=False)
    return str(path), model.state_dict()


def test_all_variants_begin_with_what_they_share(trained):
    path, state = trained
    variants = ablate(CONFIG)
    for variant in variants:
        model = build_model(variant.config)
        own = {name: values.clone() for name, values in model.state_dict().items()}
        begin_with(model, path, variants)
        begun = model.state_dict()
        assert torch.equal(begun[SHARED], state[SHARED])
        for name, values in begun.items():
            if "fourier" in name or "local" in name or "squeeze" in name or "mlp.output" in name:
                assert torch.equal(values, own[name]), name  # not all of them have it


def test_other_numbers_of_modes_leave_fourier_weights_to_learn(trained):
    path, state = trained
    variants = vary_modes(CONFIG, (1, 2))
    model = build_model(variants[1].config)
    begin_with(model, path, variants)
    local = next(name for name in state if "local.weight" in name)
    assert torch.equal(model.state_dict()[local], state[local])


def test_weights_of_another_kind_are_refused(tmp_path):
    paper = EpiConfig(channels=8, layers=1, modes=2, stream_channels=8)
    path = tmp_path / "paper.safetensors"
    write_weights(path, paper, build_model(paper).state_dict(), {})
    with pytest.raises(FreqLFError, match="no weights that all variants share"):
        begin_with(build_model(CONFIG), str(path), ablate(CONFIG))
