"""Shell completion, `python -m perceptrons`, and what --help says of flags."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

SHELLS = ["bash", "zsh", "fish"]
BY_NAME = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # the shell is an argument, whatever runs the tests


def perceptrons(*arguments, before=(), **environment):
    """Run the command in a process of its own; gives its exit code, stdout and stderr."""
    environment = {**os.environ, "COLUMNS": "80", "PYTHONPATH": str(ROOT / "src"), **environment}
    command = [*before, sys.executable, "-m", "perceptrons", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    return done.returncode, done.stdout, done.stderr


def completed(shell, *words):
    """What a shell offers for the last word."""
    line = " ".join(words)
    asked = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    code, out, err = perceptrons(_PERCEPTRONS_COMPLETE=f"complete_{shell}", **asked)
    assert (code, err) == (0, "")
    return out


def test_the_package_can_be_run_as_a_program():
    assert perceptrons("--version")[:2] == (0, f"perceptrons {__import__('perceptrons').__version__}\n")
    code, out, err = perceptrons("predict", "nowhere.perceptron", "nothing.csv")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "perceptrons predict" in perceptrons("predict", "--help")[1]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_completes_the_names_of_commands(shell):
    out = completed(shell, "perceptrons", "tr")
    assert "train" in out
    assert "tune" not in out
    assert "predict" not in out


def test_options_and_commands_of_commands_are_completed():
    assert completed("bash", "perceptrons", "tag", "pre").split() == ["predict"]
    offered = completed("bash", "perceptrons", "train", "--early").split()
    assert offered == ["--early-stopping"]
    assert completed("bash", "perceptrons", "train", "--combine", "av").split() == ["average"]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_for_a_shell_is_shown(shell):
    code, out, err = perceptrons("--show-completion", shell, **BY_NAME)
    assert (code, err) == (0, "")
    assert "_PERCEPTRONS_COMPLETE" in out
    assert f"complete_{shell}" in out


def test_a_script_is_installed_in_the_home_folder_and_bash_offers_train(tmp_path):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")
    home = {"HOME": str(tmp_path)}
    code, out, err = perceptrons("--install-completion", "bash", **BY_NAME, **home)
    assert (code, err) == (0, "")
    assert "bash completion installed" in out
    (script,) = tmp_path.rglob("perceptrons.sh")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "perceptrons").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m perceptrons "$@"\n')
    (programs / "perceptrons").chmod(0o755)
    typed = (
        f". '{script}'; COMP_WORDS=(perceptrons tr); COMP_CWORD=1; "
        'function=$(complete -p perceptrons | sed "s/.* -F //; s/ .*//"); "$function" perceptrons tr perceptrons; '
        'echo "${COMPREPLY[@]}"'
    )
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **home, "PATH": path, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([bash, "-c", typed], capture_output=True, text=True, env=environment, timeout=300)
    assert done.stdout.split() == ["train"], done.stderr


def test_completing_loads_neither_scikit_learn_nor_numba():
    program = (
        "import sys\n"
        "from perceptrons.cli import main\n"
        "try:\n"
        "    main([])\n"
        "except SystemExit:\n"
        "    pass\n"
        "print([name for name in ('sklearn', 'numba', 'scipy', 'pandas') if name in sys.modules])\n"
    )
    asked = {"_PERCEPTRONS_COMPLETE": "complete_bash", "COMP_WORDS": "perceptrons tr", "COMP_CWORD": "1"}
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **asked}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.stdout.split("\n") == ["train", "[]", ""], done.stderr


@pytest.mark.parametrize("command", [[], ["train"], ["tag"], ["tag", "train"], ["compare"], ["report"]], ids=" ".join)
def test_help_names_no_type_for_flags(run, command):
    code, out, _ = run(*command, "--help")
    assert code == 0
    assert "--help" in out
    assert "bool" not in out.lower()
