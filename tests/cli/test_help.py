"""--help: what it says, on terminals of all widths."""

import inspect
import os
import re
import subprocess
import sys

import pytest

from perceptrons.cli import COMMANDS
from tests.conftest import ROOT

PAGES = [[], *([name] for name in COMMANDS), *(["tag", name] for name in ("train", "tune", "predict", "evaluate"))]


def page(*arguments, columns=80, **environment):
    """What --help prints in a process of its own, to a pipe."""
    unset = ("NO_COLOR", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TERM")
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    kept |= {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "perceptrons", *arguments, "--help"]
    done = subprocess.run(command, capture_output=True, env=kept | environment, timeout=300)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def parameters(*command):
    from perceptrons.cli import make_command

    found = make_command(command[0])
    return (found if len(command) == 1 else found.commands[command[1]]).params


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_of_each_what_the_command_itself_says(name):
    from perceptrons.cli import make_command

    assert " ".join(inspect.cleandoc(make_command(name).help).split("\n\n")[0].split()) == COMMANDS[name]


@pytest.mark.parametrize("command", PAGES[1:], ids=" ".join)
def test_help_names_every_option_with_what_it_is_for(run, command):
    said = " ".join(run(*command, "--help")[1].split())
    for parameter in parameters(*command):
        if parameter.param_type_name == "option":
            assert set(parameter.opts) <= set(re.split(r"[\s,]+", said)), parameter.name
        if parameter.help:  # older versions of typer lose that of arguments
            assert " ".join(parameter.help.split()[:2]) in said, parameter.name
    assert " ".join(["Usage: perceptrons", *command, "[OPTIONS]"]) in said


@pytest.mark.parametrize("command", [[], ["train"], ["tag", "train"]], ids=" ".join)
@pytest.mark.parametrize("columns", [60, 80, 200])
def test_every_line_of_help_fits_the_terminal(command, columns):
    assert max(map(len, page(*command, columns=columns).splitlines())) <= columns


def test_options_stand_in_groups():
    assert re.findall(r"^[A-Z][^:\n]*:$", page("predict"), re.M)[:2] == ["Arguments:", "Options:"]
    assert "\nCommands:\n  look" in page()


def test_narrow_and_wide_terminals_show_the_same_words():
    wide = page("predict", columns=200).split()
    assert sorted(wide) == sorted(page("predict", columns=60).split())


def test_help_is_printed_without_rich(tmp_path):
    code = "import sys; from perceptrons.cli import main; main(['train', '--help']); print('rich' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300)
    assert done.stdout.splitlines()[-1] == "False", done.stderr


def test_options_show_the_numbers_they_may_be():
    said = page("predict")
    assert re.search(r"--top N .*\[x>=1\]", said, re.S)
    assert re.search(r"--powers N .*\[1<=x<=9\]", said, re.S)
