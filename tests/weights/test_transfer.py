from dataclasses import replace

import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.models.build import build_model
from freqlf.models.config import PRESETS, STAR_LINES, AlignedConfig, PassConfig
from freqlf.weights.files import write_weights
from freqlf.weights.load import load_model
from freqlf.weights.transfer import transfer_all, transfer_weights

PASS = PassConfig(channels=16, layers=1, modes=4, stem_channels=16, windows_px=(11,), shared_channels=8)
TINY = AlignedConfig(lines=STAR_LINES, passes=(PASS,))


def test_packaged_weights_by_name() -> None:
    network = build_model(PRESETS["freqlf-small"])
    assert transfer_weights(network, "freqlf-small") == []
    for name, values in load_model("freqlf-small").state_dict().items():
        assert torch.equal(network.state_dict()[name], values)


def test_added_inputs_are_ignored_at_first(tmp_path, plane_stacks) -> None:
    torch.manual_seed(0)
    old = build_model(TINY)
    path = tmp_path / "old.safetensors"
    write_weights(path, TINY, old.state_dict(), {})
    wider = build_model(replace(TINY, passes=(replace(PASS, relative_px=(-0.2, 0.2)),)))
    notes = transfer_weights(wider, path)
    assert len(notes) == 1
    assert "passes.0.encoder.share.weight takes" in notes[0]
    added = wider.state_dict()["passes.0.encoder.share.weight"][:, old.passes[0].encoder.share.in_channels :]
    assert added.shape[1] == 2
    assert (added == 0).all()


def test_a_new_layer_keeps_its_initial_weights(tmp_path) -> None:
    torch.manual_seed(0)
    old = build_model(TINY)
    path = tmp_path / "old.safetensors"
    write_weights(path, TINY, old.state_dict(), {})
    deeper = build_model(replace(TINY, passes=(replace(PASS, layers=2),)))
    before = deeper.state_dict()["passes.0.layers.1.local.weight"].clone()
    notes = transfer_weights(deeper, path)
    assert all("passes.0.layers.1" in note and "random" in note for note in notes)
    assert torch.equal(deeper.state_dict()["passes.0.layers.1.local.weight"], before)
    kept = old.state_dict()["passes.0.layers.0.local.weight"].half().float()  # files have 16 bits
    assert torch.equal(deeper.state_dict()["passes.0.layers.0.local.weight"], kept)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (replace(PASS, channels=24), "is 16 x .* there and 24 x .* here"),
        (replace(PASS, shared_channels=0), "weights of another model"),
    ],
)
def test_other_models_are_refused(tmp_path, changed: PassConfig, message: str) -> None:
    path = tmp_path / "old.safetensors"
    write_weights(path, TINY, build_model(TINY).state_dict(), {})
    with pytest.raises(FreqLFError, match=message):
        transfer_weights(build_model(replace(TINY, passes=(changed,))), path)
    with pytest.raises(FreqLFError, match="no layer of this model"):
        transfer_weights(build_model(replace(PRESETS["freqlf"], channels=8, stream_channels=8)), path)


def test_a_part_can_be_taken(plane_stacks) -> None:
    network = build_model(PRESETS["freqlf-plus-sweep"])
    before = {name: values.clone() for name, values in network.state_dict().items()}
    assert transfer_weights(network, "freqlf-plus-small", "passes.0") == []
    packaged = load_model("freqlf-plus-small").state_dict()
    for name, values in network.state_dict().items():
        assert torch.equal(values, packaged[name] if name.startswith("passes.0") else before[name]), name
    with pytest.raises(FreqLFError, match=r"no passes\.7 that this model has, too"):
        transfer_weights(network, "freqlf-plus-small", "passes.7")


def test_parts_of_several_sources(tmp_path) -> None:
    sources = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        sources.append(tmp_path / f"{seed}.safetensors")
        write_weights(sources[-1], TINY, build_model(TINY).state_dict(), {})
    network = build_model(TINY)
    before = {name: values.clone() for name, values in network.state_dict().items()}
    assert transfer_all(network, sources, ["passes.0.encoder", "passes.0.layers,passes.0.decoder.mlp.output"]) == []
    first, second = (load_model(source).state_dict() for source in sources)
    for name, values in network.state_dict().items():
        is_second = name.startswith(("passes.0.layers", "passes.0.decoder.mlp.output"))
        expected = first if name.startswith("passes.0.encoder") else second if is_second else before
        assert torch.equal(values, expected[name]), name


def test_each_source_has_its_part_or_none_has(tmp_path) -> None:
    with pytest.raises(FreqLFError, match="each of the weights needs its part, or none of them: 2 and 1 given"):
        transfer_all(build_model(TINY), ["freqlf-small", "freqlf-plus-small"], ["passes.0"])
