from dataclasses import replace

import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.models.build import build_model
from freqlf.models.config import STAR_LINES, AlignedConfig, PassConfig, SweepConfig
from freqlf.models.presets import PRESETS
from freqlf.weights.files import write_weights
from freqlf.weights.load import load_model
from freqlf.weights.transfer import transfer_all, transfer_weights

PASS = PassConfig(channels=16, layers=1, modes=4, stem_channels=16, windows_px=(11,), shared_channels=8)
TINY = AlignedConfig(lines=STAR_LINES, passes=(PASS,))


def test_packaged_weights_by_name() -> None:
    network = build_model(PRESETS["freqlf-plus-small"])
    assert transfer_weights(network, "freqlf-plus-small") == []
    for name, values in load_model("freqlf-plus-small").state_dict().items():
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
    names = wider.name_channels()["passes.0.encoder.share.weight"]
    for name, weight in zip(names, wider.state_dict()["passes.0.encoder.share.weight"].unbind(1), strict=True):
        assert (weight == 0).all() == name.startswith("cost at"), name
    stacks = plane_stacks(0.5)
    with torch.inference_mode():
        torch.testing.assert_close(wider(stacks).means, load_model(path)(stacks).means, rtol=0, atol=1e-5)


def test_added_hypotheses_get_components_of_their_own(tmp_path, plane_stacks) -> None:
    """Every input and every component finds its place, so what the old ones say is the same as before."""
    torch.manual_seed(0)
    swept = replace(TINY, passes=(replace(PASS, second_opinion=True),), sweep=SweepConfig())
    path = tmp_path / "old.safetensors"
    write_weights(path, swept, build_model(swept).state_dict(), {})
    wider = build_model(replace(swept, sweep=SweepConfig(wide_windows_px=(25,))))
    notes = transfer_weights(wider, path)
    assert "passes.0.decoder.mlp.output.weight takes 21 of its 27 outputs from old.safetensors" in notes
    stacks = plane_stacks(0.5)
    with torch.inference_mode():
        before, after = load_model(path)(stacks), wider.eval()(stacks)
    # Four hypotheses and two opinions, then the first one again; now there are two more between them.
    kept = [0, 1, 2, 3, 4, 5, 8]
    for old, new in ((before.logits, after.logits), (before.means, after.means), (before.deviations, after.deviations)):
        torch.testing.assert_close(new[:, kept], old, rtol=0, atol=1e-5)


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


def test_a_further_pass_begins_as_the_last_one() -> None:
    swept = PRESETS["freqlf-plus-sweep"]
    last = replace(swept.passes[1], modes=0)  # without a Fourier branch
    deep = build_model(replace(swept, passes=(swept.passes[0], last, last)))
    notes = transfer_weights(deep, "freqlf-plus-sweep")
    assert len(notes) == 2
    assert all(note.startswith("passes.1.layers.down.2.") and "is left out" in note for note in notes)
    state = deep.state_dict()
    for name, values in load_model("freqlf-plus-sweep").state_dict().items():
        if name.startswith("passes.1.") and "fourier" in name:
            assert name not in state
            continue
        assert torch.equal(state[name], values)
        if name.startswith("passes.1."):
            assert torch.equal(state[name.replace("passes.1.", "passes.2.")], values)


def test_the_last_of_fewer_passes_begins_as_the_last_one(tmp_path) -> None:
    second = replace(PASS, offset_px=0.1)
    path = tmp_path / "old.safetensors"
    old = build_model(replace(TINY, passes=(PASS, second, second)))
    write_weights(path, replace(TINY, passes=(PASS, second, second)), old.state_dict(), {})
    fewer = build_model(replace(TINY, passes=(PASS, second), repeats=1))
    assert transfer_weights(fewer, path) == []
    for name, values in fewer.state_dict().items():
        source = name.replace("passes.1.", "passes.2.")
        assert torch.equal(values, old.state_dict()[source].half().float()), name  # files have 16 bits


def test_further_levels_of_an_hourglass_change_nothing_at_first(tmp_path, plane_stacks) -> None:
    torch.manual_seed(0)
    shallow = replace(TINY, passes=(replace(PASS, coarse_channels=(8,), modes=0),))
    path = tmp_path / "old.safetensors"
    write_weights(path, shallow, build_model(shallow).state_dict(), {})
    deeper = build_model(replace(TINY, passes=(replace(PASS, coarse_channels=(8, 12, 12), modes=0),)))
    notes = transfer_weights(deeper, path)
    assert any("widen.2.weight starts from zero" in note for note in notes)
    assert any("shrink.2.weight starts from random" in note for note in notes)
    stacks = plane_stacks(0.5)
    with torch.inference_mode():
        assert torch.equal(deeper.eval()(stacks).means, load_model(path)(stacks).means)
    # They can learn: the coarse fields themselves are not zero.
    deeper(stacks).means.sum().backward()
    assert deeper.get_parameter("passes.0.layers.widen.1.weight").grad.abs().sum() > 0


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
    network = build_model(PRESETS["freqlf-small"])
    before = {name: values.clone() for name, values in network.state_dict().items()}
    assert transfer_weights(network, "freqlf-small", "passes.0") == []
    packaged = load_model("freqlf-small").state_dict()
    for name, values in network.state_dict().items():
        assert torch.equal(values, packaged[name] if name.startswith("passes.0") else before[name]), name
    with pytest.raises(FreqLFError, match=r"no passes\.7 that this model has, too"):
        transfer_weights(network, "freqlf-small", "passes.7")


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
