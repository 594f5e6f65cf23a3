"""What an earlier campaign of damaged files and bad days found, one test for each finding, so that none comes back."""

import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import faults
import h5py
import numpy as np
import pytest
import tiny
import torch
import writers
from fuzz.targets import (
    TARGETS,
    example,
    open_views,
    write_archive,
    write_checkpoint,
    write_evaluation_folder,
    write_weight_file,
)
from matplotlib.figure import Figure
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from freqlf.cli.main import main
from freqlf.data.hci import find_scenes
from freqlf.errors import FreqLFError
from freqlf.io.files import locking_folder, replacing_directory
from freqlf.io.hdf5 import read_hdf5
from freqlf.io.image import read_pixels
from freqlf.io.viewgrid import InputOptions
from freqlf.outputs.canvas import save_figure
from freqlf.training.monitor import METRICS_FILE, Monitor
from freqlf.training.train import RunOptions, train
from freqlf.weights.load import load_model


def refuse(capfd: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command that must end with one line and the exit code 2, within seconds; returns the line."""
    capfd.readouterr()
    start = time.monotonic()
    assert main(list(map(str, arguments))) == 2
    assert time.monotonic() - start < 30  # of a busy machine; what it did before took minutes, or never ended
    (line,) = capfd.readouterr().err.rstrip("\n").split("\n")
    assert line.startswith("freqlf: ")
    return line


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, beside a light field."""
    writers.write_array(tmp_path / "lf.npy", example())
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def test_finding_01_memory_is_checked_before_pixels_are_read(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "sparse.h5", "w") as file:
        file.create_dataset("LF", (3, 3, 9000, 9000), "u1")
    with pytest.raises(FreqLFError, match="claims 729 MB of pixels and stores 0 bytes"):
        open_views(tmp_path / "sparse.h5")
    Image.new("RGB", (4000, 3000)).save(tmp_path / "view.png")
    for u, v in np.ndindex(3, 3):
        os.link(tmp_path / "view.png", tmp_path / f"view_{u}_{v}.png")
    (tmp_path / "view.png").unlink()
    np.savez_compressed(tmp_path / "zeros.npz", LF=np.zeros((9, 9, 1000, 1000), np.uint8))
    for path in (tmp_path, tmp_path / "zeros.npz"):
        with pytest.raises(FreqLFError, match="MB are needed"):
            open_views(path)


@pytest.mark.parametrize("name", ["npy", "npz"])
def test_finding_02_damaged_numpy_files_are_one_line(tmp_path: Path, name: str) -> None:
    path = TARGETS[name].write(tmp_path)
    content = path.read_bytes()
    shapes = (b"(3, 3, 12, 14, 3)", b"(3, 3, 12, 14, ((", b"(3, 3, -1, 14, 3)", b"(9999999999999,)*")
    for damage in (content[:7], content[:60], content[:-9], content[:100] + bytes(200) + content[300:]):
        path.write_bytes(damage)
        with pytest.raises(FreqLFError):
            open_views(path)
    for shape in shapes[1:]:
        path.write_bytes(content.replace(shapes[0], shape.ljust(len(shapes[0]))))
        if path.read_bytes() != content:
            with pytest.raises(FreqLFError):
                open_views(path)


def test_finding_03_a_folder_on_another_disk_can_be_written(tmp_path: Path) -> None:
    elsewhere = Path("/dev/shm")
    if not elsewhere.is_dir() or elsewhere.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system here")
    target = elsewhere / f"freqlf-{tmp_path.name}-{os.getpid()}"
    target.mkdir()
    (tmp_path / "mounted").symlink_to(target)
    try:
        with replacing_directory(tmp_path / "mounted") as folder:
            (folder / "a.txt").write_text("x")
        assert [path.name for path in target.iterdir()] == ["a.txt"]
    finally:
        (target / "a.txt").unlink()
        target.rmdir()


def test_finding_04_a_full_disk_stops_training_with_its_checkpoint_intact(tmp_path: Path) -> None:
    def report(monitor: Monitor) -> None:
        with monitor, faults.no_file_larger_than(200):
            for step in range(1, 100):
                monitor.report_step(step, 0.0, 1, 1.0, loss=1.0)

    with pytest.raises(FreqLFError, match=r"metrics\.jsonl.*--resume"):
        report(Monitor(tmp_path, total_steps=5))
    lines = (tmp_path / METRICS_FILE).read_bytes().splitlines()
    assert json.loads(lines[0])["step"] == 1


def test_finding_05_weights_and_checkpoints_of_wrong_types_are_one_line(tmp_path: Path, capfd) -> None:
    path = write_checkpoint(tmp_path)
    sound = torch.load(path, weights_only=True)
    for change in (
        {"model": {"a": 3}},
        {"step": "many"},
        {"model_config": {"kind": "aligned", "components": 10**9}},
        {"model_config": []},
        {"ema": {}},
        {"recipe": torch.zeros(3)},
        {"best": {"mse_100": "low"}},
        {"scenes": {"training": 3}},
    ):
        torch.save(sound | {"format": 1} | change, path)
        refuse(capfd, "pack", path, "--out", tmp_path / "a.safetensors")
    # A run whose file of metrics is no text goes on.
    options = RunOptions(tmp_path / "run", resume=True)
    arguments = (tiny.make_model(), "tiny", {}, tiny.RECIPE, tiny.make_source(), [], options, tiny.ALONE)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / METRICS_FILE).write_bytes(b'\xff\xfe{"step"\n')
    assert train(*arguments).is_complete


def test_finding_06_json_of_any_shape_is_one_line(tmp_path: Path, capfd) -> None:
    path = write_evaluation_folder(tmp_path)
    sound = json.loads(path.read_text())
    texts = [json.dumps(sound | {part: value}) for part in sound for value in (3, [[]], {"": 1}, "x")]
    for text in ("[" * 100_000, '{"a": 1' + "0" * 400 + "}", '{"a": NaN}', '"\\ud800"', *texts):
        path.write_text(text)
        try:
            code = main(["report", "--from", str(tmp_path), "--out", str(tmp_path / "a.html")])
        finally:
            printed = capfd.readouterr().err
        assert (code, printed.count("\n")) in ((0, 0), (2, 1))


def test_finding_07_a_runtime_that_is_no_number(tmp_path: Path, capfd) -> None:
    path = write_archive(tmp_path)
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    for runtime in (b".", b"", b"\xff", b"1e999", b"-1"):
        with zipfile.ZipFile(path, "w") as archive:
            for name, one in content.items():
                archive.writestr(name, runtime if name == "runtimes/dots.txt" else one)
        assert "runtimes/dots.txt" in refuse(capfd, "submit", "--check", path)


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_finding_08_pipes_and_devices_are_refused_at_once(tmp_path: Path, name: str) -> None:
    path = TARGETS[name].write(tmp_path)
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        path.unlink()
        make(path)
        with pytest.raises(FreqLFError):
            TARGETS[name].read(path)


def test_finding_09_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    path = write_weight_file(tmp_path)
    with safe_open(path, "pt") as file:
        header = file.metadata()
    state = load_file(path)
    state[sorted(state)[0]].view(-1)[0] = float("nan")
    save_file(state, path, metadata=header)
    with pytest.raises(FreqLFError, match="not finite"):
        load_model(path)


def test_finding_10_libraries_say_nothing_beside_the_one_line(tmp_path: Path, capfd) -> None:
    path = tmp_path / "a\nb\x1b[31m.tif"
    Image.fromarray(example()[0, 0]).save(path, compression="tiff_lzw")
    content = path.read_bytes()
    path.write_bytes(content[:60] + bytes(100) + content[160:])
    with pytest.raises(FreqLFError) as caught:
        read_pixels(path)
    assert capfd.readouterr().err == ""
    assert str(caught.value).isprintable()
    assert "\\n" in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        ("data", "check", "x" * 300),
        ("estimate", "../lf.npy", "--out", "out", "--memory", "9" * 400),
        ("estimate", "../lf.npy", "--out", "out", "--threads", "99999999999"),
        ("data", "synth", "out", "--seed", "9" * 30),
        ("train", "--preset", "freqlf-small", "--out", "out", "--loaders", "-1"),
        ("train", "--preset", "freqlf-small", "--out", "out", "--beta1", "1"),
        ("data", "synth", "out", "--size", "10000000"),
        ("data", "check", "\udcff"),
    ],
    ids=lambda arguments: " ".join(arguments)[:40].encode("ascii", "replace").decode(),
)
def test_finding_11_absurd_arguments_are_one_line(here: Path, capfd, arguments) -> None:
    refuse(capfd, *arguments)
    assert list(here.iterdir()) == []


def test_finding_11_names_are_no_formulas(tmp_path: Path) -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.set_title(r"$\frac$")
    axes.set_yticks([0, 1], [r"$\frac$", "b"])
    axes.plot([0, 1], label=r"$\frac$")
    axes.legend()
    save_figure(tmp_path / "a.png", figure)
    assert read_pixels(tmp_path / "a.png").ndim == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "--preset", "freqlf-small", "--out", "out", "--synthetic", "-1"),
        ("train", "--preset", "freqlf-small", "--out", "out", "--max-minutes", "nan"),
        ("train", "--preset", "freqlf-small", "--out", "out", "--threads", "-5"),
        ("train", "--preset", "freqlf-small", "--out", "out", "--learning-rate", "inf"),
        ("estimate", "../lf.npy", "--out", "out", "--shear", "1e30"),
    ],
    ids=" ".join,
)
def test_finding_12_numbers_without_a_meaning_are_refused(here: Path, capfd, arguments) -> None:
    assert "must be" in refuse(capfd, *arguments)


def test_finding_13_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    other = "from pathlib import Path; from freqlf.io.files import *; require_folder(Path('out'), overwrite=True)"
    with locking_folder(tmp_path / "out"):
        ended = subprocess.run([sys.executable, "-c", other], cwd=tmp_path, capture_output=True, text=True)
    assert "is being written to by another freqlf" in ended.stderr
    options = RunOptions(tmp_path / "run")
    arguments = (tiny.make_model(), "tiny", {}, tiny.RECIPE, tiny.make_source(), [], options, tiny.ALONE)
    holder = "import time; from pathlib import Path; from freqlf.io.files import *\nwith locking_folder(Path('run')): "
    process = subprocess.Popen(
        [sys.executable, "-c", holder + "print('held', flush=True); time.sleep(60)"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(FreqLFError, match="another freqlf"):
        train(*arguments)
    process.kill()
    process.wait()
    assert train(*arguments).is_complete


def test_finding_13_hdf5_files_cannot_point_at_others(tmp_path: Path) -> None:
    writers.write_scene_hdf5(tmp_path / "secret.h5", example())
    with h5py.File(tmp_path / "linked.h5", "w") as file:
        file["LF"] = h5py.ExternalLink("secret.h5", "LF")
    with pytest.raises(FreqLFError, match="in other files"):
        read_hdf5(tmp_path / "linked.h5", InputOptions())


def test_finding_13_names_do_not_reach_the_terminal_and_deep_folders_end(tmp_path: Path) -> None:
    writers.write_numbered(tmp_path / "data" / "a\x1b[31mb", example(), "input_Cam{n:03d}.png")
    with pytest.raises(FreqLFError, match="cannot be shown"):
        find_scenes(tmp_path / "data")
    here, top = tmp_path / "deep", os.getcwd()
    here.mkdir()
    try:
        os.chdir(here)
        for _ in range(1200):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(top)
    try:
        start = time.monotonic()
        with pytest.raises(FreqLFError, match="no scene under"):
            find_scenes(here)
        assert time.monotonic() - start < 10
    finally:
        subprocess.run(["rm", "-r", str(here)], check=True)  # which Python cannot: it would recurse too deeply
