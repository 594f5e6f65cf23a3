import os
import subprocess
import sys

import pytest

from freqlf import __version__
from freqlf.cli.main import COMMANDS, main


def test_help_lists_every_command(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for name, (_, help_line) in COMMANDS.items():
        assert name in text
        assert help_line in text


def test_no_arguments_show_the_help(capsys):
    assert main([]) == 0
    assert capsys.readouterr().out.startswith("usage: freqlf")


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"freqlf {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["paint"], "unknown command 'paint': choose one of"),
        (["data"], "unknown command 'data': choose one of data check"),
        (["data", "burn"], "unknown command 'data burn'"),
    ],
)
def test_unknown_commands_are_one_line_and_code_2(capsys, arguments, message):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(capsys, name):
    with pytest.raises(SystemExit) as caught:
        main([*name.split(), "--help"])
    assert caught.value.code == 0
    assert f"usage: freqlf {name}" in capsys.readouterr().out


def test_help_answers_at_once_and_without_torch():
    def run() -> float:  # CPU time: the wall clock also counts what else runs on the machine
        before = os.times()
        subprocess.run([sys.executable, "-m", "freqlf", "--help"], check=True, capture_output=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert min(run() for _ in range(5)) < 0.3
    listing = (
        "import sys, freqlf.cli.main; freqlf.cli.main.main(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    )
    modules = subprocess.run([sys.executable, "-c", listing], check=True, capture_output=True, text=True).stderr
    for heavy in ("torch", "numpy", "scipy", "matplotlib", "tyro"):
        assert f"'{heavy}'" not in modules


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score"], "missing --pred PATH, --data PATH"),
        (["demo", "--size", "abc", "--out", "x"], "--size: invalid literal"),
        (["demo", "--sizes", "3", "--out", "x"], "Unrecognized options: --sizes"),
        (["score", "--pred", "x", "--data", "y", "--border", "wide"], "--border"),
        (["data", "check"], "missing ROOT"),
    ],
)
def test_what_cannot_be_parsed_is_one_line(arguments, message, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert message in line
    assert line.endswith("--help`")


def test_a_reader_that_stops_reading_causes_no_traceback():
    freqlf = subprocess.Popen(
        [sys.executable, "-u", "-m", "freqlf", "train", "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert freqlf.stdout is not None
    freqlf.stdout.close()  # before anything was written
    _, complaint = freqlf.communicate()
    assert complaint == b""
    assert freqlf.returncode == 141
