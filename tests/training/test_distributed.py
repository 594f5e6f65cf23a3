import json
import os
import socket
import subprocess
import sys

import pytest
import torch
from tiny import ALONE, RECIPE, make_model, make_source
from torch import multiprocessing

from freqlf.errors import FreqLFError
from freqlf.training.distributed import join_processes
from freqlf.training.objective import Objective, weighted_loss
from freqlf.weights.checkpoint import load_checkpoint

FOUR = RECIPE.changed(batch_size=4)


def unequal_source():
    """Samples with very different numbers of valid pixels, which a plain mean over processes would get wrong."""
    source = make_source(FOUR)
    for share, scene in zip((0.2, 0.6, 1.0), source.scenes, strict=True):
        scene.valid[:, : int((1 - share) * scene.width)] = False
    return source


def compute_gradients(processes) -> dict[str, torch.Tensor]:
    model = make_model()
    objective = processes.wrap(Objective(model, FOUR))
    loss = weighted_loss(objective, unequal_source().batch(1, processes.rank, processes.count), processes)
    loss.backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    return {**gradients, "loss": processes.mean(loss.detach())}


def work(rank: int, port: int, directory: str) -> None:
    """What each of two processes does."""
    torch.set_num_threads(1)
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    with join_processes("cpu") as processes:
        assert (processes.rank, processes.count, processes.is_writer) == (rank, 2, rank == 0)
        assert processes.any(rank == 1, False) == (True, False)
        assert processes.gather({f"of {rank}": rank}) == {"of 0": 0, "of 1": 1}
        torch.save(compute_gradients(processes), f"{directory}/{rank}.pt")


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_two_processes_have_the_gradients_of_one(tmp_path, port):
    multiprocessing.spawn(work, (port, str(tmp_path)), nprocs=2)
    expected = compute_gradients(ALONE)
    assert all(gradient.abs().max() > 0 for gradient in expected.values())
    for rank in range(2):
        found = torch.load(tmp_path / f"{rank}.pt", weights_only=True)
        assert found.keys() == expected.keys()
        for name, gradient in expected.items():
            # Sums in another order differ in the last digits of the largest terms.
            assert torch.allclose(found[name], gradient, rtol=1e-3, atol=1e-5 * float(gradient.abs().max())), name


def test_alone_nothing_is_communicated():
    with join_processes("cpu") as processes:
        assert (processes.rank, processes.count, processes.is_writer) == (0, 1, True)
        module = torch.nn.Linear(1, 1)
        assert processes.wrap(module) is module
        assert processes.any(True, False) == (True, False)
        assert processes.gather({"a": 1}) == {"a": 1}
        assert processes.mean(torch.tensor(3.0)) == 3


@pytest.mark.parametrize(("device", "message"), [("tpu", "unknown device 'tpu'"), ("cuda", "no CUDA device here")])
def test_devices_that_are_not_there(device, message):
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(FreqLFError, match=message), join_processes(device):
        pass


def test_the_command_runs_under_torchrun(tmp_path, make_scene, port):
    for name in ("one", "two", "three"):
        make_scene(name)
    flags = ["--preset", "freqlf-small", "--data", str(tmp_path / "data"), "--device", "cpu", "--threads", "1"]
    flags += ["--train-split", "one,two", "--validation-split", "three", "--steps", "3", "--crop-size-px", "24"]

    def run(name: str, *launcher: str, batch_size: int = 2) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *launcher, "-m", "freqlf", "train", *flags]
        command += ["--batch-size", str(batch_size), "--out", str(tmp_path / name)]
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})

    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(port)]
    assert run("alone").returncode == 0
    together = run("together", *launcher)
    assert together.returncode == 0, together.stderr
    assert together.stdout.count("validation at step 3") == 1  # one of them speaks

    metrics = [
        [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("alone", "together")
    ]
    assert len(metrics[0]) == len(metrics[1]) == 4
    for one, two in zip(*metrics, strict=True):
        assert one["kind"] == two["kind"]
        if one["kind"] == "step":
            assert two["loss"] == pytest.approx(one["loss"], rel=0.02, abs=0.02)
    assert metrics[0][0]["loss"] == pytest.approx(metrics[1][0]["loss"], rel=1e-4)
    assert load_checkpoint(tmp_path / "together" / "last.pt").step == 3

    refused = run("odd", *launcher, batch_size=3)
    assert refused.returncode != 0
    assert "a batch of 3 cannot be divided among 2 processes; set --batch-size to a multiple of 2" in refused.stderr
