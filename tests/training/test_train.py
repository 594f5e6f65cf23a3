import json
import math
import os
import shutil
import signal
import threading
import time
from itertools import pairwise

import pytest
import torch
from slanted import make_sample
from tiny import ALONE, CONFIG, RECIPE, make_model, make_source

from freqlf.data.batches import BatchSource
from freqlf.errors import FreqLFError
from freqlf.models.build import build_model
from freqlf.models.description import config_to_dict
from freqlf.models.presets import PRESETS
from freqlf.training.objective import Objective, make_optimizer, weighted_loss
from freqlf.training.recipe import RECIPES
from freqlf.training.train import Outcome, RunOptions, train
from freqlf.weights.checkpoint import load_checkpoint


@pytest.fixture(autouse=True)
def _one_thread():
    """Bitwise equality needs sums in the same order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def run(directory, recipe=RECIPE, model=None, validate=False, source=None, **options) -> Outcome:
    scenes = [make_sample(40, 44, start_px=0.3, name="unseen")] if validate else []
    source = source or make_source(recipe)
    model = model or make_model(recipe.seed)
    options = RunOptions(directory, **options)
    return train(model, "tiny", config_to_dict(CONFIG), recipe, source, scenes, options, ALONE)


def read_losses(directory) -> list[float]:
    lines = map(json.loads, (directory / "metrics.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if line["kind"] == "step"]


class Interrupting(BatchSource):
    """Sends this process a signal while it prepares a certain batch."""

    def __init__(self, step: int, number: int) -> None:
        original = make_source()
        super().__init__(original.recipe, original.lines, original.scenes)
        self.step, self.number = step, number

    def batch(self, step, rank=0, processes=1):
        if step == self.step:
            os.kill(os.getpid(), self.number)
        return super().batch(step, rank, processes)


def test_a_run_leaves_all_that_is_needed(tmp_path):
    outcome = run(tmp_path, validate=True)
    assert (outcome.step, outcome.is_complete, outcome.signal_number) == (6, True, None)
    assert sorted(os.listdir(tmp_path)) == ["best.pt", "last.pt", "metrics.jsonl", "pictures", "run.json"]
    assert os.listdir(tmp_path / "pictures") == ["unseen.png"]
    facts = json.loads((tmp_path / "run.json").read_text())
    assert facts["recipe"]["steps"] == 6
    assert facts["scenes"]["validation"] == ["unseen"]
    assert facts["parameters"] == sum(parameter.numel() for parameter in make_model().parameters())
    last = load_checkpoint(tmp_path / "last.pt")
    assert last.step == 6
    assert last.best["step"] == load_checkpoint(tmp_path / "best.pt").step
    assert last.best["mse_100"] == outcome.best["scores"]["mean"]["unseen"]["mse_100"]


def test_training_learns(tmp_path):
    recipe = RECIPE.changed(steps=60, learning_rate=5e-3, noise=0.0)
    run(tmp_path, recipe)
    losses = read_losses(tmp_path)
    assert sum(losses[-10:]) / 10 < sum(losses[:10]) / 10 - 0.5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_continues_as_if_nothing_had_happened(tmp_path, number):
    run(tmp_path / "whole")
    stopped = run(tmp_path / "parts", source=Interrupting(step=2, number=number))
    assert (stopped.step, stopped.is_complete, stopped.signal_number) == (3, False, number)
    assert load_checkpoint(tmp_path / "parts" / "last.pt").step == 3
    # The other model's initial weights prove that all comes from the checkpoint.
    resumed = run(tmp_path / "parts", model=make_model(seed=99), resume=True)
    assert resumed.is_complete
    assert read_losses(tmp_path / "parts") == read_losses(tmp_path / "whole")
    one, other = (load_checkpoint(tmp_path / name / "last.pt") for name in ("whole", "parts"))
    for name, weight in one.model.items():
        assert torch.equal(weight, other.model[name])
        assert torch.equal(one.ema[name], other.ema[name])
    for index, moments in one.optimizer["state"].items():
        for name, moment in moments.items():
            assert torch.equal(moment, other.optimizer["state"][index][name])


def test_a_run_with_frozen_passes_and_varied_scenes_continues_exactly(tmp_path):
    recipe = RECIPE.changed(frozen="passes.0", early_weight=0.0, epochs_per_variation=2, crop_size_px=24)
    whole = run(tmp_path / "whole", recipe)
    run(tmp_path / "parts", recipe, max_minutes=0.0)
    assert load_checkpoint(tmp_path / "parts" / "last.pt").step == 1
    run(tmp_path / "parts", recipe, resume=True)
    assert whole.is_complete
    assert read_losses(tmp_path / "parts") == read_losses(tmp_path / "whole")


def test_a_killed_run_continues_from_its_last_checkpoint(tmp_path):
    class KilledError(Exception):
        pass

    class Killing(Interrupting):
        def batch(self, step, rank=0, processes=1):
            if step == 4:
                raise KilledError
            return BatchSource.batch(self, step, rank, processes)

    run(tmp_path / "whole")
    with pytest.raises(KilledError):
        run(tmp_path / "parts", source=Killing(0, 0), checkpoint_minutes=0.0)
    assert load_checkpoint(tmp_path / "parts" / "last.pt").step == 4
    run(tmp_path / "parts", resume=True)
    assert read_losses(tmp_path / "parts") == read_losses(tmp_path / "whole")


def test_validations_and_checkpoints_do_not_change_the_run(tmp_path):
    run(tmp_path / "quiet")
    run(tmp_path / "busy", validate=True, checkpoint_minutes=0.0, validation_minutes=0.0, loaders=2)
    assert read_losses(tmp_path / "busy") == read_losses(tmp_path / "quiet")
    assert len((tmp_path / "busy" / "metrics.jsonl").read_text().splitlines()) == 12


def test_a_time_limit_stops_and_saves(tmp_path):
    outcome = run(tmp_path, validate=True, max_minutes=0.0)
    assert (outcome.step, outcome.is_complete) == (1, False)
    assert load_checkpoint(tmp_path / "last.pt").step == 1
    assert outcome.best["step"] == 1


def test_a_complete_run_stays_complete(tmp_path):
    run(tmp_path)
    before = (tmp_path / "last.pt").read_bytes()
    assert run(tmp_path, resume=True).is_complete
    assert (tmp_path / "last.pt").read_bytes() == before


def test_resume_begins_where_there_is_nothing_yet(tmp_path):
    assert run(tmp_path / "new", resume=True).is_complete


def test_best_is_kept_when_later_weights_are_worse(tmp_path):
    recipe = RECIPE.changed(learning_rate=0.5, clip_norm=0.0, schedule="constant", warmup_steps=5, ema_decay=0.0)
    outcome = run(tmp_path, recipe, validate=True, validation_minutes=0.0)
    lines = map(json.loads, (tmp_path / "metrics.jsonl").read_text().splitlines())
    scores = {line["step"]: line["mean"]["all"]["mse_100"] for line in lines if line["kind"] == "validation"}
    best_step = min(scores, key=scores.__getitem__)
    assert best_step < 6
    assert (outcome.best["step"], outcome.best["mse_100"]) == (best_step, scores[best_step])
    assert load_checkpoint(tmp_path / "best.pt").step == best_step


def test_without_an_average_the_weights_themselves_are_kept(tmp_path):
    run(tmp_path, RECIPE.changed(ema_decay=0.0))
    last = load_checkpoint(tmp_path / "last.pt")
    for name, weight in last.model.items():
        assert torch.equal(weight, last.ema[name])


def test_weights_of_another_run_can_be_the_beginning(tmp_path):
    run(tmp_path / "first")
    still = RECIPE.changed(learning_rate=0.0, weight_decay=0.0, steps=1)
    run(tmp_path / "second", still, weights=[tmp_path / "first" / "last.pt"])
    first, second = (load_checkpoint(tmp_path / name / "last.pt") for name in ("first", "second"))
    for name, weight in first.ema.items():
        assert torch.equal(second.model[name], weight)


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_good_checkpoint(tmp_path):
    class Broken(Interrupting):
        def batch(self, step, rank=0, processes=1):
            batch = BatchSource.batch(self, step, rank, processes)
            if step == 3:
                batch.disparity_px[batch.valid] = math.inf
            return batch

    with pytest.raises(FreqLFError, match=r"step 4 has the loss inf.*last\.pt still holds step 3"):
        run(tmp_path, source=Broken(0, 0), checkpoint_minutes=0.0)
    last = load_checkpoint(tmp_path / "last.pt")
    assert last.step == 3
    assert all(weight.isfinite().all() for weight in last.model.values())


def test_a_run_is_not_overwritten(tmp_path):
    run(tmp_path)
    with pytest.raises(FreqLFError, match="already holds a run; add --resume"):
        run(tmp_path)


def test_another_recipe_is_refused_with_the_difference(tmp_path):
    run(tmp_path)
    with pytest.raises(FreqLFError, match=r"another recipe: noise is 0\.03 there and 0\.5 here"):
        run(tmp_path, RECIPE.changed(noise=0.5), resume=True)


def test_places_that_cannot_be_written_to_are_found_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FreqLFError, match=r"cannot write .*file/run: Not a directory"):
        run(tmp_path / "file" / "run")


def test_a_disk_without_room_is_found_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**9, 10**9, 10**6))
    with pytest.raises(FreqLFError, match=r"has 1 MB left and the run needs 5\d MB"):
        run(tmp_path / "run")
    assert not (tmp_path / "run" / "last.pt").exists()


def test_precision_that_this_device_lacks_is_refused(tmp_path):
    with pytest.raises(FreqLFError, match="--precision fp16 needs a CUDA device"):
        run(tmp_path, RECIPE.changed(precision="fp16"))


def test_training_works_in_threads(tmp_path):
    results = []
    thread = threading.Thread(target=lambda: results.append(run(tmp_path)))
    thread.start()
    thread.join(timeout=120)
    assert results[0].is_complete


def test_most_of_a_step_is_spent_in_the_model():
    recipe, model = RECIPES["cpu"], build_model(PRESETS["freqlf-small"])
    source = BatchSource(recipe, model.lines, [make_sample(160, 160, reach=4)])
    objective, optimizer = Objective(model, recipe), make_optimizer(model, recipe)
    seconds = {"batch": 0.0, "model": 0.0, "optimizer": 0.0}
    for step in range(4):
        times = [time.thread_time()]
        batch = source.batch(step)
        times.append(time.thread_time())
        weighted_loss(objective, batch, ALONE).backward()
        times.append(time.thread_time())
        optimizer.step()
        times.append(time.thread_time())
        if step > 0:  # the first one allocates memory
            for part, (before, after) in zip(seconds, pairwise(times), strict=True):
                seconds[part] += after - before
    assert seconds["model"] > 0.9 * sum(seconds.values())
