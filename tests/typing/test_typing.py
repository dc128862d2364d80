"""Programs that use the package are checked by mypy --strict and pyright, and their types are those of the objects."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import perceptrons
from tests.conftest import ROOT

PROGRAM = Path(__file__).parent / "every_public_name.py"


def test_the_program_that_is_checked_uses_every_public_name():
    text = PROGRAM.read_text()
    unused = [name for name in perceptrons.__all__ if text.count(name) < 2]
    assert unused == []


@pytest.mark.slow
def test_mypy_in_strict_mode_accepts_a_program_that_uses_the_package(tmp_path):
    pytest.importorskip("mypy", reason='needs the tools that `pip install -e ".[dev]"` brings; CI runs it with them')
    copy = tmp_path / PROGRAM.name  # elsewhere, as a user's, so that this project's settings of mypy do not count
    copy.write_text(PROGRAM.read_text())
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nstrict = true\n")
    command = [sys.executable, "-m", "mypy", "--config-file", settings, "--cache-dir", tmp_path / "cache", copy]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert "Success" in done.stdout, done.stdout + done.stderr


WRONG = """
from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron, StructuredPerceptron
from perceptrons.data import stream
from perceptrons.features import HashedText
from perceptrons.selection import parts_of

Perceptron(combine="nonsense")
Perceptron(step="pa3", multiclass="all")
Perceptron(zero_score="minus", init="twos", batch_size="half")
KernelPerceptron(combine="pocket")
KernelPerceptron(multiclass="ovo", on_full="stop")
SequencePerceptron(combine="vote", step="pa2")
StructuredPerceptron(None, combine="vote")
HashedText(values="tf", norm="l1")
Perceptron(probability="platt", class_weight="balance")
KernelPerceptron(kernel="rfb", probability="platt")
SequencePerceptron().fit([["a"]], [["b"]], on_bad_label="drop")
stream("data.csv", on_error="ignore")
parts_of([[0]], [0], split="random")
"""


@pytest.mark.slow
def test_mypy_finds_words_that_no_parameter_takes(tmp_path):
    pytest.importorskip("mypy", reason='needs the tools that `pip install -e ".[dev]"` brings; CI runs it with them')
    program = tmp_path / "wrong.py"
    program.write_text(WRONG)
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    lines = [int(line.split(":")[1]) for line in done.stdout.splitlines() if "[arg-type]" in line]
    assert lines == [7, 8, 8, 9, 9, 9, 10, 11, 11, 12, 12, 13, 14, 14, 15, 15, 16, 16, 17, 18, 19], done.stdout


@pytest.mark.slow
def test_pyright_accepts_a_program_that_uses_the_package(tmp_path):
    pytest.importorskip("pyright", reason='needs the tools that `pip install -e ".[dev]"` brings; CI runs it with them')
    copy = tmp_path / PROGRAM.name
    copy.write_text(PROGRAM.read_text())
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, copy]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=tmp_path, timeout=300)
    told = json.loads(done.stdout)
    assert told["summary"]["filesAnalyzed"] == 1
    wrong = [found for found in told["generalDiagnostics"] if found["severity"] == "error"]
    assert [(found["range"]["start"]["line"] + 1, found["message"]) for found in wrong] == []


@pytest.mark.slow
def test_no_public_method_of_the_package_lacks_types(tmp_path):
    pytest.importorskip("mypy", reason='needs the tools that `pip install -e ".[dev]"` brings; CI runs it with them')
    command = [sys.executable, "-m", "mypy", "--disallow-untyped-defs", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    # numba finds the types of compiled functions by itself
    compiled = tuple(f"engine/{name}" for name in ("passes/", "scan/", "rows.py", "hashing.py", "compiling.py"))
    lacking = [line for line in done.stdout.splitlines() if "no-untyped-def" in line]
    public = [line for line in lacking if not line.removeprefix("src/perceptrons/").startswith(compiled)]
    assert lacking, "mypy looked"
    assert public == []
