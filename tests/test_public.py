"""What the package shows to the world, and what it does not load."""

import inspect
import subprocess
import sys

import pytest

import perceptrons


def test_the_public_names_are_these():
    assert perceptrons.__all__ == [
        "Checkpoint", "FeatureTemplates", "HashedFeatures", "HashedText", "KernelPerceptron", "ModelFileError",
        "Perceptron", "SequencePerceptron", "StructuredPerceptron", "load", "save",
    ]  # fmt: skip
    assert all(hasattr(perceptrons, name) for name in perceptrons.__all__)
    assert perceptrons.__version__


def test_modules_are_there_when_first_asked_for():
    modules = ["data", "lab", "losses", "online", "plots", "report", "selection", "teaching", "theory"]
    code = f"import perceptrons; print([getattr(perceptrons, module).__name__ for module in {modules}])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert run.stdout.strip() == str([f"perceptrons.{module}" for module in modules])
    assert {"theory", "Perceptron"} <= set(dir(perceptrons))


def test_the_public_names_of_the_theory_are_these():
    assert perceptrons.theory.__all__ == [
        "Bound", "Certificate", "Combination", "Comparison", "Convergence", "Margin", "Margins", "Trace", "Visit",
        "check_bound", "convergence", "diagnose", "margins", "max_margin", "mistake_bound", "project", "radius",
        "separability", "signed_distance", "trace", "vector_projection",
    ]  # fmt: skip


def says_when(doc):
    """Does a paragraph say what to use it for and, in another sentence or by a "not", what it is not for?"""
    for paragraph in doc.split("\n\n"):
        said = " ".join(paragraph.split())
        if said.startswith("Use it ") or " Use it " in said:
            rest = said[said.index("Use it ") :]
            return ". " in rest or " not " in rest
    return False


@pytest.mark.parametrize("module", ["lab", "plots", "report", "selection", "teaching", "theory"])
def test_every_function_and_display_says_when_to_use_it(module):
    public = getattr(perceptrons, module)
    for name in public.__all__:
        text = " ".join(getattr(public, name).__doc__.split())
        plain = name[0].isupper() and not name.endswith("Display")  # a class of results
        assert (
            plain
            or says_when(inspect.getdoc(getattr(public, name)))
            or ("When to use it" in text and "When not" in text)
        ), name


def test_importing_the_package_loads_no_tool_of_the_command_line():
    tools = ("typer", "rich", "polars", "matplotlib", "perceptrons.cli")
    code = f"import perceptrons, sys; print([m for m in {tools} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert run.stdout.strip() == "[]"


def test_every_public_thing_has_a_docstring_with_a_when():
    for name in perceptrons.__all__:
        text = inspect.getdoc(getattr(perceptrons, name))
        assert text
        if name.endswith("Perceptron"):
            assert "\nUse it " in text, name
            assert "Do not use it " in " ".join(text.split()), name
