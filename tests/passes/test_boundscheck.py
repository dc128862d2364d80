"""PERCEPTRONS_BOUNDSCHECK=1: an index that is out of range raises IndexError in compiled code, wherever it stands."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

SETUP = """
import numpy as np
from perceptrons.engine.passes.voting import binary_votes
from perceptrons.engine.compiling import compiled
from perceptrons.engine.rows import Sparse, add, dot, scores
row = Sparse(np.ones(1), np.array([{column}], np.int32), np.array([0, 1], np.int32))
@compiled
def in_a_pass(array, place):
    return array[place]
@compiled
def in_a_dot_product(rows, w):
    return dot(rows, 0, w)
@compiled
def in_an_update(rows, w):
    add(rows, 0, 1.0, w)
@compiled
def in_scores(rows, theta, s):
    scores(rows, 0, theta, s)
"""
CALLS = {
    "in a function": "in_a_pass(np.ones(3), {column})",
    "in a verb": "in_a_dot_product(row, np.ones(3))",
    "in a verb that writes": "in_an_update(row, np.ones(3))",
    "in a verb of several classes": "in_scores(row, np.asfortranarray(np.ones((2, 3))), np.ones(2))",
    "in a pass of the library": "binary_votes(np.ones((1, 3)), np.array([{column}]), np.ones(1), np.ones(2), "
    "True, np.zeros(1), np.zeros(1))",
}


FAILS = """
try:
    {call}
except IndexError:
    print({name!r})
"""


@pytest.fixture
def output(tmp_path):
    """Run a program of these lines, which must not fail, and return the lines that it prints."""

    def run(code, column, **environment):
        program = tmp_path / "program.py"  # numba's cache needs a file
        program.write_text(SETUP.format(column=column) + code.format(column=column))
        done = subprocess.run(
            [sys.executable, program],
            env=os.environ | {"PYTHONPATH": str(ROOT / "src")} | environment,
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    return run


def test_a_wrong_index_is_an_index_error_where_bounds_are_checked(output):
    every = "".join(FAILS.format(call=call, name=name) for name, call in CALLS.items())
    assert output(every, 7, PERCEPTRONS_BOUNDSCHECK="1") == list(CALLS)


def test_right_indices_are_none_and_code_compiled_with_checks_is_not_used_without(output):
    every = "\n".join(CALLS.values())
    assert output(every, 2, PERCEPTRONS_BOUNDSCHECK="1") == []
    unchecked = "assert not binary_votes.targetoptions.get('boundscheck')\n" + every
    assert output(unchecked, 2, PERCEPTRONS_BOUNDSCHECK="0") == []


def test_checked_code_is_cached_apart(output, tmp_path):
    """numba's cache does not know which code is checked."""
    for checked in ("0", "1"):
        output("in_a_pass(np.ones(3), 2)", 2, PERCEPTRONS_BOUNDSCHECK=checked, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    folders = {path.relative_to(tmp_path / "cache").parts[0] for path in tmp_path.rglob("*.nbc")}
    assert len(folders) == 2
    assert "bounds-checked" in folders
