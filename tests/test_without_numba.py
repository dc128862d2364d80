"""Models predict where numba is not installed: the same labels and scores, by NumPy in place of compiled loops."""

import json
import os
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

import perceptrons
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


TRAIN = """
import json, sys, warnings
sys.modules["numba"] = sys.modules["llvmlite"] = None
import perceptrons
from tests.support.without_numba import CASES
found = {}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for name in sys.argv[2:]:
        model = perceptrons.load(f"{sys.argv[1]}/{name}.perceptron")
        X, y = CASES[name][1](2)
        model.partial_fit(X[:20], y[:20])
        found[name] = (model.coef_ if hasattr(model, "coef_") else model.dual_coef_).tolist()
print(json.dumps({"found": found, "said": [str(warning.message) for warning in caught]}))
"""


def test_training_goes_on_without_numba_and_says_that_it_is_slow(folder):
    names = ["binary, dense", "joint, CSR", "kernel, rbf", "tagger, templates", "tagger, many labels"]
    there = json.loads(blocked(TRAIN, folder, *names))
    assert there["said"] == [
        "numba is not installed, so training runs as plain Python, many times slower: pip install numba."
    ]
    for name in names:
        model = perceptrons.load(folder / f"{name}.perceptron")
        X, y = CASES[name][1](2)
        model.partial_fit(X[:20], y[:20])
        here = model.coef_ if hasattr(model, "coef_") else model.dual_coef_
        np.testing.assert_allclose(there["found"][name], here, rtol=1e-4, atol=1e-5, err_msg=name)


def environment(folder):
    """A virtual environment with what the library needs, linked from this one, but for numba; its Python."""
    venv.create(folder, with_pip=False)
    packages = next(folder.glob("lib*/python3*/site-packages"))
    (packages / "perceptrons").symlink_to(Path(perceptrons.__file__).parent)
    wanted = [Requirement(line) for line in metadata.requires("perceptrons")]
    linked = {"perceptrons", "numba"}
    while wanted:
        one = wanted.pop()
        if one.name in linked or (one.marker is not None and not one.marker.evaluate({"extra": ""})):
            continue
        linked.add(one.name)
        found = metadata.distribution(one.name)
        wanted += [Requirement(line) for line in found.requires or []]
        for top in {path.parts[0] for path in found.files} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(found.locate_file(top))
    return folder / "bin" / "python"


@pytest.mark.slow
def test_an_environment_that_has_no_numba_gives_the_same_answers(folder, tmp_path):
    python = environment(tmp_path / "environment")
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    options = {"env": clean, "cwd": tmp_path, "capture_output": True, "text": True, "timeout": SECONDS}
    missing = subprocess.run([python, "-c", "import llvmlite"], **options, check=False)
    assert "No module named 'llvmlite'" in missing.stderr
    before = (folder / "answers.json").read_text()
    (folder / "answers.json").unlink()
    script = ROOT / "tests" / "support" / "without_numba.py"
    done = subprocess.run([python, "-W", "error", script, folder], **options, check=False)
    assert done.returncode == 0, done.stderr
    assert (folder / "answers.json").read_text() == before
