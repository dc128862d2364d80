"""--help: what it says, on terminals of all widths, with and without colour."""

import inspect
import os
import re
import subprocess
import sys
from importlib import import_module

import pytest

from perceptrons.cli import COMMANDS
from perceptrons.cli.help import shown_value, wrapped
from tests.conftest import ROOT

PAGES = [[], *([name] for name in COMMANDS), *(["tag", name] for name in ("train", "tune", "predict", "evaluate"))]
CODES = re.compile(r"\033\[([0-9;]*)m")


def page(*arguments, columns=80, **environment):
    """What --help prints in a process of its own, to a pipe."""
    unset = ("NO_COLOR", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TERM")
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    kept |= {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "perceptrons", *arguments, "--help"]
    done = subprocess.run(command, capture_output=True, env=kept | environment, timeout=300)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def words_of(text):
    """The words of a page without its boxes."""
    return re.sub(r"[╭─╮│╰╯]", " ", text).split()


def parameters(*command):
    from perceptrons.cli import made

    found = made(command[0])
    return (found if len(command) == 1 else found.commands[command[1]]).params


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_of_each_what_the_command_itself_says(name):
    module = import_module(f"perceptrons.cli.{name}")
    told = inspect.getdoc(module.start if name == "tag" else vars(module)[name])
    assert " ".join(told.split("\n\n")[0].split()) == COMMANDS[name]


@pytest.mark.parametrize("command", PAGES[1:], ids=" ".join)
def test_help_names_every_option_with_what_it_is_for(run, command):
    said = " ".join(words_of(run(*command, "--help")[1]))
    for parameter in parameters(*command):
        if parameter.param_type_name == "option":
            assert all(flag in said.split() for flag in parameter.opts), parameter.name
        if parameter.help:  # older versions of typer lose that of arguments
            assert " ".join(parameter.help.split()[:2]) in said, parameter.name
    assert " ".join(["Usage: perceptrons", *command, "[OPTIONS]"]) in said


@pytest.mark.parametrize("command", [[], ["train"], ["tag", "train"]], ids=" ".join)
@pytest.mark.parametrize("columns", [20, 33, 60, 80, 200])
def test_every_line_of_help_fits_the_terminal_and_boxes_are_closed(command, columns):
    lines = page(*command, columns=columns).splitlines()
    boxes = [line for line in lines if line[:1] in "╭│╰" and line]
    assert max(map(len, lines)) == columns
    assert {len(line) for line in boxes} == {columns}
    assert {line[0] + line[-1] for line in boxes} == {"╭╮", "││", "╰╯"}


def test_narrow_and_wide_terminals_show_the_same_words():
    wide = words_of(page("predict", columns=200))
    assert sorted(wide) == sorted(words_of(page("predict", columns=50)))


def test_colours_are_forced_or_left_out_and_never_change_the_text():
    plain, coloured = page("train"), page("train", FORCE_COLOR="1")
    assert "\033" not in plain
    assert CODES.sub("", coloured) == plain
    assert "\033[1;36m--format\033[0m" in coloured
    without = page("train", FORCE_COLOR="1", NO_COLOR="1")
    assert CODES.sub("", without) == plain
    assert set(CODES.findall(without)) == {"0", "1", "2"}, "bold and dim, which are no colours"


def test_a_terminal_without_boxes_gets_ascii():
    said = page("predict", PYTHONIOENCODING="ascii")
    assert said.isascii()
    assert "+- Options ---" in said


def test_help_is_printed_without_rich_and_pydantic(tmp_path):
    code = (
        "import sys; from perceptrons.cli import main; main(['train', '--help']); "
        "print([name for name in ('rich', 'pydantic') if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_options_show_the_numbers_they_may_be():
    assert shown_value("N", {"min": 1, "max": 9}) == "N [1<=x<=9]"
    assert shown_value("N", {"min": 1}) == "N [x>=1]"
    assert shown_value("N", {"max": 0.5}) == "N [x<=0.5]"
    assert shown_value("RANGE", {}) == "RANGE"
    shown = {parameter.name: parameter.metavar for parameter in parameters("predict")}
    assert (shown["powers"], shown["top"], shown["words"]) == ("N [1<=x<=9]", "N [x>=1]", "RANGE")


def test_words_longer_than_a_line_are_cut():
    assert wrapped("a bb cccccccc d", 4) == ["a bb", "cccc", "cccc", "d"]
    assert wrapped("abcdefghi", 4) == ["abcd", "efgh", "i"]
    assert wrapped("", 4) == [""]
