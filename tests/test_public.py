"""What the package shows to the world, and what it does not load."""

import subprocess
import sys

import perceptrons


def test_the_public_names_are_these():
    assert perceptrons.__all__ == ["ModelFileError", "Perceptron", "load", "save"]
    assert all(hasattr(perceptrons, name) for name in perceptrons.__all__)
    assert perceptrons.__version__


def test_importing_the_package_loads_no_tool_of_the_command_line():
    tools = ("typer", "rich", "polars", "perceptrons.cli")
    code = f"import perceptrons, sys; print([m for m in {tools} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_every_public_thing_has_a_docstring_with_a_when():
    for name in perceptrons.__all__:
        assert getattr(perceptrons, name).__doc__
    assert "When to use it" in perceptrons.Perceptron.__doc__
    assert "When not" in perceptrons.Perceptron.__doc__
