"""What commands load and compile before they do anything."""

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

RUN = """
import json, sys
from perceptrons.cli import main
code = main(sys.argv[1:])
compiling = sys.modules.get("perceptrons.engine.compiling")
done = {"modules": list(sys.modules), "compiled": compiling and compiling.compiling.functions}
print("====" + json.dumps(done), file=sys.stderr)
sys.exit(code)
"""
UNUSED = ("scipy.stats", "scipy.special", "scipy.optimize", "pandas", "sklearn.metrics", "sklearn.linear_model",
          "matplotlib", "dask")  # fmt: skip
MOST_COMPILED = 60  # functions, with those of numba that they call; it was 93 before slices were avoided


def command(*arguments, folder, cache=None, run=RUN):
    """Run a command in a process of its own; gives what it printed, and what it loaded and compiled."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")} | (
        {} if cache is None else {"NUMBA_CACHE_DIR": str(cache)}
    )
    done = subprocess.run(
        [sys.executable, "-c", run, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(done.stderr.partition("====")[2])


@pytest.fixture
def table(rng, tmp_path):
    lines = [f"{x:.4f},{y:.4f},{'yes' if x + y > 0 else 'no'}" for x, y in rng.standard_normal((200, 2))]
    (tmp_path / "n.csv").write_text("\n".join(["a,b,label", *lines]) + "\n")
    return tmp_path


def test_help_loads_neither_numpy_nor_scikit_learn_nor_numba(tmp_path):
    for arguments in (["--help"], ["train", "--help"]):
        _, did = command(*arguments, folder=tmp_path)
        assert {"numpy", "sklearn", "numba", "scipy"} & set(did["modules"]) == set()


def test_a_command_is_the_only_one_that_is_loaded(tmp_path):
    _, did = command("predict", "--help", folder=tmp_path)
    commands = ("look", "train", "evaluate", "inspect", "diagnose", "tune", "compare", "report", "lab", "warmup", "tag")
    assert [name for name in commands if f"perceptrons.cli.{name}" in did["modules"]] == []


def test_train_and_predict_load_no_library_that_they_do_not_use(table):
    command("train", "n.csv", "-o", "n.perceptron", folder=table)
    command("predict", "n.perceptron", "n.csv", folder=table)
    out, did = command("predict", "n.perceptron", "n.csv", folder=table)
    assert out.count("\n") == 200
    assert [name for name in UNUSED if name in did["modules"]] == []
    assert did["compiled"] == 0, "the run before kept it"


def test_spared_modules_are_whole_when_something_needs_them():
    code = """
        import sys
        from perceptrons.cli.sparing import SPARED, load_sklearn
        load_sklearn()
        import sklearn.utils.fixes, sklearn.utils._array_api
        assert not set(SPARED) & set(sys.modules), "loaded"
        import scipy
        held = sklearn.utils._array_api.special
        assert scipy.stats.norm.cdf(0.0) == 0.5
        assert held.expit(0.0) == 0.5
        import scipy.special
        assert sys.modules["scipy.special"].expit is scipy.special.expit is held.expit
        from sklearn.linear_model import LogisticRegression
        print(LogisticRegression().fit([[0.0], [1.0]], [0, 1]).predict([[2.0]]))
    """
    lines = "\n".join(line.strip() for line in code.splitlines())
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, env=environment, timeout=300)
    assert (done.returncode, done.stdout) == (0, "[1]\n"), done.stderr


@pytest.mark.slow
def test_the_first_training_compiles_few_functions(table, tmp_path):
    _, did = command("train", "n.csv", folder=table, cache=tmp_path / "cache")
    assert 0 < did["compiled"] <= MOST_COMPILED


@pytest.mark.slow
def test_after_warmup_the_usual_commands_compile_nothing(table, tmp_path):
    cache = tmp_path / "cache"
    said, did = command("warmup", "--json", folder=table, cache=cache)
    told = json.loads(said)
    assert told["functions"] == did["compiled"] > 0
    assert told["folder"] == str(cache)
    for arguments in (
        ["train", "n.csv", "-o", "n.perceptron"],
        ["predict", "n.perceptron", "n.csv"],
        ["diagnose", "n.csv"],
    ):
        assert command(*arguments, folder=table, cache=cache)[1]["compiled"] == 0, arguments
    assert command("warmup", folder=table, cache=cache)[0].startswith("Nothing to compile")


def test_warmup_refuses_where_nothing_can_be_saved():
    """At once, and leaves nothing beside the package either, where numba would look next."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NUMBA_CACHE_DIR": "/dev/null/nowhere"}
    beside = sorted((ROOT / "src").rglob("*.nb?"))
    code = "import sys; from perceptrons.cli import main; sys.exit(main(['warmup']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=600)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("/dev/null/nowhere: compiled code cannot be saved there (Not a directory)")
    assert "set NUMBA_CACHE_DIR" in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted((ROOT / "src").rglob("*.nb?")) == beside


def test_an_inner_function_called_from_python_is_the_plain_one():
    from perceptrons.engine.passes.shortlists import width_of

    assert width_of(3) == getattr(width_of, "py_func", width_of)(3)


@pytest.mark.slow
def test_a_function_that_others_call_is_kept_without_machine_code_and_linked_in_again(tmp_path):
    """Its code is loaded by a later process, which compiles another function that calls it."""
    code = """
        import sys
        import numpy as np
        from perceptrons import Perceptron
        from perceptrons.engine import compiling
        from perceptrons.engine.passes import binary
        rng = np.random.default_rng(0)
        X = rng.standard_normal((50, 3))
        y = X[:, 0] + 0.1 * X[:, 1] > 0
        model = Perceptron(max_iter=3, tol=None, margin=0, penalty=sys.argv[1] or None).fit(X, y)
        kept = [one.library for one in binary.wrong.overloads.values()]
        assert kept and all(library.get_pointer_to_function("any") == 0 for library in kept)
        print(compiling.compiling.functions, sum(binary.wrong.stats.cache_hits.values()), model.coef_.tobytes().hex())
    """
    lines = "\n".join(line.strip() for line in code.splitlines())
    said = []
    for penalty, cache in (("", "shared"), ("l2", "shared"), ("l2", "new")):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NUMBA_CACHE_DIR": str(tmp_path / cache)}
        done = subprocess.run(
            [sys.executable, "-c", lines, penalty], capture_output=True, text=True, env=environment, timeout=600
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.split())
    (_, _, other), (functions, loaded, weights), (all_functions, none, same_weights) = said
    assert (weights, loaded, none) == (same_weights, "1", "0")
    assert weights != other
    assert 0 < int(functions) < int(all_functions)


@pytest.mark.slow
def test_with_a_version_of_numba_that_was_never_tested_it_compiles_as_numba_does_and_learns_the_same(tmp_path):
    code = """
import sys, numba
numba.__version__ = sys.argv[1]
import numpy as np
from perceptrons import Perceptron
from perceptrons.engine import compiling
rng = np.random.default_rng(0)
X, y = rng.standard_normal((50, 3)), rng.integers(0, 3, 50)
model = Perceptron(max_iter=3, tol=None).fit(X, y)
print(compiling.LINKS, model.coef_.tobytes().hex())
"""
    found = []
    for version in ("0.61.0", "9.0.0", "9.0.0"):  # the last one loads what the one before has kept
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", code, version]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=True)
        found.append(done.stdout.split())
    assert [linked for linked, _ in found] == ["True", "False", "False"]
    assert found[0][1] == found[1][1] == found[2][1]
