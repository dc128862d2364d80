"""Models predict where numba is not installed: the same labels and scores, by NumPy in place of compiled loops."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.processes import SECONDS
from tests.support.without_numba import BLOCKED, CASES, answer, save_all

ROOT = Path(__file__).parent.parent


def blocked(code, *arguments):
    """Run code in a process that cannot import numba; what it prints."""
    command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models that compiled code trained, and what a process without numba answers with them."""
    folder = tmp_path_factory.mktemp("models")
    save_all(folder)
    blocked(BLOCKED, folder)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_a_model_answers_without_numba_what_it_answers_with_it(folder, name):
    elsewhere = json.loads((folder / "answers.json").read_text())[name]
    here = json.loads(json.dumps(answer(name, folder)))
    assert here.keys() == elsewhere.keys()
    for what, found in here.items():
        if what in ("scores", "coef_", "transitions_"):  # sums may be made in another order
            np.testing.assert_allclose(elsewhere[what], found, rtol=1e-5, atol=1e-5, err_msg=what)
        else:
            assert elsewhere[what] == found, what
