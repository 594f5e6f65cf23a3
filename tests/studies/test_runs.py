import json
import os
import signal
from dataclasses import replace

import pytest
import torch
from slanted import make_sample
from tiny import ALONE, CONFIG, RECIPE

from freqlf.data.batches import BatchSource
from freqlf.errors import FreqLFError
from freqlf.models.build import build_model
from freqlf.models.config import EpiConfig
from freqlf.studies import runs
from freqlf.studies.runs import Cost, Scenes, StoppedError, Study, begin_with, plan_study, run_study
from freqlf.studies.variants import Variant, ablate, vary_modes
from freqlf.weights.checkpoint import load_checkpoint
from freqlf.weights.files import write_weights
from freqlf.weights.load import load_model

SHARED = "passes.0.encoder.read.weight"
SCENES = Scenes(
    [make_sample(40, 44, start_px=start_px, name=f"scene{start_px}") for start_px in (-1.0, 0.5)],
    [],
    [make_sample(40, 44, start_px=0.3, name="unseen")],
)


@pytest.fixture(autouse=True)
def _one_thread():
    """Bitwise equality needs sums in the same order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def study(tmp_path) -> Study:
    variants = ablate(CONFIG)[:2]
    return Study("ablation", "tiny", variants, (0,), RECIPE.changed(steps=3), None, tmp_path / "study", "full")


def run(study, resume=True):
    costs = plan_study(study, SCENES, ALONE, resume=resume)
    return list(run_study(study, costs, SCENES, ALONE))


def test_finished_runs_are_kept_and_seeds_added(study):
    first = run(study, resume=False)
    assert [(result.variant, result.seed, result.steps) for result in first] == [("full", 0, 3), ("no Fourier", 0, 3)]
    assert first[0].parameters > first[1].parameters
    assert first[0].scores["mean"]["unseen"] == first[0].scores["mean"]["all"]
    directory = study.directory / "runs" / "no-fourier-seed0"
    assert load_checkpoint(directory / "last.pt").model_config["switches"]["fourier"] is False
    assert (directory / "pictures" / "unseen.png").exists()
    made = (directory / "last.pt").stat().st_mtime_ns

    more = run(replace(study, seeds=(0, 1)))
    assert more[:2] == first
    assert (directory / "last.pt").stat().st_mtime_ns == made
    assert [(result.variant, result.seed) for result in more[2:]] == [("full", 1), ("no Fourier", 1)]
    assert more[2].scores != first[0].scores


def test_an_interrupted_run_resumes_and_ends_the_same(study, tmp_path, monkeypatch):
    expected = run(study, resume=False)

    steps: list[int] = []

    class Interrupting(BatchSource):
        def batch(self, step, rank=0, processes=1):
            steps.append(step)
            if steps == [0, 1, 2, 0, 1]:  # in the middle of the second run
                os.kill(os.getpid(), signal.SIGTERM)
            return super().batch(step, rank, processes)

    monkeypatch.setattr(runs, "BatchSource", Interrupting)
    other = replace(study, directory=tmp_path / "other")
    with pytest.raises(StoppedError) as stopped:
        run(other, resume=False)
    assert stopped.value.signal_number == signal.SIGTERM
    assert load_checkpoint(other.directory / "runs" / "no-fourier-seed0" / "last.pt").step == 2
    monkeypatch.undo()
    found = run(other)
    assert [result.scores for result in found] == [result.scores for result in expected]
    assert all(result.minutes > 0 for result in found)


def test_scores_are_those_of_the_last_weights(study):
    from freqlf.training.validation import validate

    (result,) = run(replace(study, variants=study.variants[:1]), resume=False)
    model = load_model(study.directory / "runs" / "full-seed0" / "last.pt")
    assert result.scores == validate(model, SCENES.scored, ALONE).summary()


def test_equal_minutes_give_each_variant_its_steps(study, monkeypatch):
    monkeypatch.setattr(runs, "measure_step_seconds", lambda *_: {"full": 3.0, "no Fourier": 2.0})
    study = replace(study, minutes=0.1)
    costs = plan_study(study, SCENES, ALONE, resume=False)
    assert costs == {"full": Cost(2, 3.0), "no Fourier": Cost(3, 2.0)}
    monkeypatch.undo()
    assert plan_study(study, SCENES, ALONE, resume=True) == costs  # read, not measured again
    for result in run_study(study, costs, SCENES, ALONE):
        directory = study.directory / "runs" / f"{result.variant.lower().replace(' ', '-')}-seed0"
        recipe = load_checkpoint(directory / "last.pt").recipe
        assert recipe["steps"] == result.steps == costs[result.variant].steps  # so the cosine ends with the run


def test_another_study_is_refused(study):
    plan_study(study, SCENES, ALONE, resume=False)
    with pytest.raises(FreqLFError, match="already holds a study; add --resume"):
        plan_study(study, SCENES, ALONE, resume=False)
    with pytest.raises(FreqLFError, match=r"recipe\.noise is 0.03 there and 0.5 here"):
        plan_study(replace(study, recipe=study.recipe.changed(noise=0.5)), SCENES, ALONE, resume=True)
    with pytest.raises(FreqLFError, match="minutes is None there and 3 here"):
        plan_study(replace(study, minutes=3), SCENES, ALONE, resume=True)
    with pytest.raises(FreqLFError, match=r"scenes\.scored"):
        plan_study(study, replace(SCENES, scored=SCENES.training), ALONE, resume=True)


def test_damaged_files_are_named(study):
    study = replace(study, variants=study.variants[:1])
    run(study, resume=False)
    result = study.directory / "runs" / "full-seed0" / "result.json"
    result.write_text(json.dumps({"run": {"seed": 0}}))
    with pytest.raises(FreqLFError, match=r"result\.json is not what a study wrote there; remove it"):
        run(study)
    result.unlink()
    (again,) = run(study)  # scored again, not trained again
    assert again.minutes is None
    (study.directory / "plan.json").write_text("{")
    with pytest.raises(FreqLFError, match=r"plan\.json is not JSON"):
        run(study)


def test_settings_that_make_no_study(study):
    with pytest.raises(FreqLFError, match="different seeds"):
        replace(study, seeds=(1, 1))
    with pytest.raises(FreqLFError, match="more than 0 minutes"):
        replace(study, minutes=0.0)
    assert Variant("no SE", CONFIG).folder == "no-se"


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
