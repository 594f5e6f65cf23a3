import pytest
import torch
from slanted import make_sample
from tiny import ALONE, make_model

from freqlf.errors import FreqLFError
from freqlf.models.build import build_model
from freqlf.models.config import EpiConfig, without
from freqlf.models.hybrid import HybridLayer
from freqlf.studies.field import FIELDS, OFF, compare_fields, find_reference_px, read_as, tabulate_fields
from freqlf.training.validation import validate


def predict(model, height, width):
    scene = make_sample(height, width)
    stacks = {line: scene.stack(line)[None].float() / 255 for line in model.lines}
    with torch.inference_mode():
        return model(stacks).mean()


@pytest.fixture
def model():
    """One whose Fourier branch matters: the initial decoder hardly looks at the field."""
    model = make_model().eval()
    with torch.no_grad():
        for part in model.modules():
            if isinstance(part, HybridLayer):
                part.fourier.weight.mul_(5)
        for one in model.passes:
            one.decoder.mlp.output.weight.mul_(10)
    return model


def test_options_are_the_same_at_the_size_of_the_crops_and_differ_elsewhere(model):
    assert find_reference_px(model) == 24
    variants = {option: read_as(model, option, 24) for option in (*FIELDS, OFF)}
    small = {option: predict(variant, 24, 24) for option, variant in variants.items()}
    torch.testing.assert_close(small["index"], small["frequency"], atol=1e-4, rtol=0)
    large = {option: predict(variant, 40, 44) for option, variant in variants.items()}
    pairs = [(a, b) for a in large for b in large if a < b]
    assert all((large[a] - large[b]).abs().max() > 1e-3 for a, b in pairs)
    assert (small["index"] - small[OFF]).abs().max() > 1e-3
    # The model itself reads by frequency, and is left as it was.
    torch.testing.assert_close(predict(model, 40, 44), large["frequency"])


def test_scores_by_option(model):
    scenes = [make_sample(40, 44, name="first"), make_sample(40, 44, start_px=0.2, name="second")]
    found = dict(compare_fields(model, 24, scenes, ALONE))
    assert list(found) == ["index", "frequency", "off"]
    assert found["frequency"].scores == validate(model, scenes, ALONE).scores
    table = tabulate_fields(found, "tempered_mean")
    assert table.headings == ("field", "first", "second", "mean")
    assert table.rows[1][0] == "frequency"
    mean = found["frequency"].mean("tempered_mean")
    assert table.rows[1][3] == f"{mean['mse_100']:.3f} / {mean['badpix_007']:.2f}"
    assert {column for _, column in table.best} == {1, 2, 3}


def test_models_that_have_no_answer():
    plain = EpiConfig(rows=5, columns=5, channels=8, layers=1, modes=2, stream_channels=4)
    with pytest.raises(FreqLFError, match="--reference-px"):
        find_reference_px(build_model(plain))
    with pytest.raises(FreqLFError, match="no Fourier branch"):
        find_reference_px(build_model(without(plain, "fourier")))
    with pytest.raises(FreqLFError, match="too small for modes"):
        read_as(make_model(), "frequency", 2)
