import os
import pickle
import resource

import pytest
import torch

from freqlf.errors import FreqLFError
from freqlf.training.checkpoint import require_same_run, save_checkpoint
from freqlf.weights.checkpoint import Checkpoint, load_checkpoint


def make(**changes) -> Checkpoint:
    parts = {
        "preset": "freqlf-small",
        "model_config": {"kind": "aligned", "passes": ({"channels": 8}, {"channels": 16})},
        "recipe": {"steps": 100, "learning_rate": 1e-3},
        "scenes": {"training": ["town", "tower"]},
        "step": 3,
        "model": {"weight": torch.arange(6.0).view(2, 3)},
        "ema": {"weight": torch.arange(6.0).view(2, 3) + 0.5},
        "optimizer": {"state": {0: {"step": torch.tensor(3.0)}}, "param_groups": [{"lr": 0.1, "params": [0]}]},
        "best": {"step": 2, "mse_100": 1.5},
        "seconds": 12.5,
    }
    return Checkpoint(**{**parts, **changes})


def test_what_is_saved_is_loaded(tmp_path):
    path = tmp_path / "run" / "last.pt"
    save_checkpoint(path, make())
    found = load_checkpoint(path)
    assert torch.equal(found.model["weight"], make().model["weight"])
    assert torch.equal(found.ema["weight"], make().ema["weight"])
    assert found.optimizer == make().optimizer
    assert (found.step, found.best, found.seconds) == (3, {"step": 2, "mse_100": 1.5}, 12.5)
    require_same_run(path, found, make(step=0, model={}, ema={}, optimizer={}))
    assert os.listdir(path.parent) == ["last.pt"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"preset": "freqlf"}, "is a run of the preset freqlf-small, not freqlf;"),
        (
            {"model_config": {"kind": "aligned", "passes": ({"channels": 8}, {"channels": 24})}},
            r"another model: passes\[1\].channels is 16 there and 24 here",
        ),
        ({"recipe": {"steps": 200, "learning_rate": 1e-3}}, "another recipe: steps is 100 there and 200 here"),
        ({"recipe": {"steps": 100}}, "another recipe: learning_rate is 0.001 there and missing here"),
        (
            {"scenes": {"training": ["town", "dino"]}},
            r"another choice of scenes: training\[1\] is tower there and dino",
        ),
        ({"freqlf_version": "9.9"}, r"last.pt was made by freqlf \d.*, this is 9.9"),
    ],
)
def test_other_runs_are_refused_with_the_difference(tmp_path, changes, message):
    path = tmp_path / "last.pt"
    save_checkpoint(path, make())
    with pytest.raises(FreqLFError, match=message):
        require_same_run(path, load_checkpoint(path), make(**changes))


def test_runs_from_before_a_setting_existed_go_on(tmp_path):
    path = tmp_path / "last.pt"
    save_checkpoint(path, make())
    found = load_checkpoint(path)
    now = {**found.model_config, "band": "literal", "deviation_floor_px": 0.01}
    require_same_run(path, found, make(model_config=now, recipe={**found.recipe, "relief_steps": 0}))
    with pytest.raises(FreqLFError, match="band is literal there and isotropic here"):
        require_same_run(path, found, make(model_config={**now, "band": "isotropic"}))
    with pytest.raises(FreqLFError, match="relief_steps is 0 there and 5 here"):
        require_same_run(path, found, make(recipe={**found.recipe, "relief_steps": 5}))


def test_other_formats_are_refused(tmp_path):
    path = tmp_path / "last.pt"
    save_checkpoint(path, make())
    content = torch.load(path, weights_only=True)
    torch.save({**content, "format": 99}, path)
    with pytest.raises(FreqLFError, match=r"has format 99 of freqlf .* reads format 1"):
        load_checkpoint(path)
    torch.save({**content, "mood": "good"}, path)
    with pytest.raises(FreqLFError, match="differs in 'mood'"):
        load_checkpoint(path)
    torch.save([1, 2], path)
    with pytest.raises(FreqLFError, match="is not a checkpoint of freqlf"):
        load_checkpoint(path)


@pytest.mark.parametrize("keep", [0, 10, 500, -20])
def test_damaged_files_are_refused(tmp_path, keep):
    path = tmp_path / "last.pt"
    save_checkpoint(path, make())
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(FreqLFError, match=r"last\.pt is not a checkpoint of freqlf, or it is damaged"):
        load_checkpoint(path)


class Malice:
    def __reduce__(self):
        return (os.mkdir, ("harm",))


def test_nothing_in_a_file_is_executed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.pt").write_bytes(pickle.dumps(Malice(), protocol=2))
    torch.save({"format": 1, "freqlf_version": "0", "step": Malice()}, tmp_path / "evil2.pt")
    for name in ("evil.pt", "evil2.pt"):
        with pytest.raises(FreqLFError, match="not a checkpoint"):
            load_checkpoint(tmp_path / name)
    assert not (tmp_path / "harm").exists()


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FreqLFError, match=r"none\.pt does not exist"):
        load_checkpoint(tmp_path / "none.pt")


def test_a_full_disk_keeps_the_previous_checkpoint(tmp_path):
    path = tmp_path / "last.pt"
    save_checkpoint(path, make(step=1))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # files end there, as on a full disk
    try:
        with pytest.raises(FreqLFError, match=r"cannot write .*last\.pt"):
            save_checkpoint(path, make(step=2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert load_checkpoint(path).step == 1
    assert os.listdir(tmp_path) == ["last.pt"]
