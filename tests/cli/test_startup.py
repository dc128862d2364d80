"""What commands load and compile before they do anything."""

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

RUN = """
import json, os, sys
from perceptrons.cli import main
recorder = None
if "COUNT_COMPILED" in os.environ:
    from numba.core import event
    recorder = event.RecordingListener()
    event.register("numba:compile", recorder)
code = main(sys.argv[1:])
done = {"modules": list(sys.modules), "compiled": recorder and len(recorder.buffer) // 2}  # each begins and ends
print("====" + json.dumps(done), file=sys.stderr)
sys.exit(code)
"""
UNUSED = ("scipy.stats", "scipy.special", "scipy.optimize", "pandas", "sklearn.metrics", "sklearn.linear_model",
          "matplotlib", "dask")  # fmt: skip
MOST_COMPILED = 60  # functions, with those of numba that they call; it was 93 before slices were avoided


def command(*arguments, folder, cache=None, counts_compiled=False):
    """Run a command in a process of its own; return its output, and what it loaded and compiled.

    Counting them imports numba.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    if counts_compiled:
        environment["COUNT_COMPILED"] = "1"
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
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
    _, train = command("train", "n.csv", "-o", "n.perceptron", folder=table)
    out, predict = command("predict", "n.perceptron", "n.csv", folder=table, counts_compiled=True)
    assert out.count("\n") == 200
    for process in (train, predict):
        assert [name for name in UNUSED if name in process["modules"]] == []
    assert predict["compiled"] == 0, "the run before kept it"


def test_deferred_modules_are_whole_when_something_needs_them():
    code = """
        import sys
        from perceptrons.cli.libraries import DEFERRED, import_sklearn
        import_sklearn()
        import sklearn.utils.fixes, sklearn.utils._array_api
        assert not set(DEFERRED) & set(sys.modules), "loaded"
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
    _, did = command("train", "n.csv", folder=table, cache=tmp_path / "cache", counts_compiled=True)
    assert 0 < did["compiled"] <= MOST_COMPILED


@pytest.mark.slow
def test_after_warmup_the_usual_commands_compile_nothing(table, tmp_path):
    cache = tmp_path / "cache"
    output, process = command("warmup", "--json", folder=table, cache=cache, counts_compiled=True)
    assert process["compiled"] > 0
    assert json.loads(output)["folder"] == str(cache)
    for arguments in (
        ["train", "n.csv", "-o", "n.perceptron"],
        ["predict", "n.perceptron", "n.csv"],
        ["diagnose", "n.csv"],
    ):
        assert command(*arguments, folder=table, cache=cache, counts_compiled=True)[1]["compiled"] == 0, arguments
    output, process = command("warmup", folder=table, cache=cache, counts_compiled=True)
    assert process["compiled"] == 0
    assert str(cache) in output


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
    from perceptrons.engine.passes.weight_pool import width_of

    assert type(width_of) is type(command)


def test_a_deferred_module_that_is_needed_at_once_gives_way_to_the_module_itself(monkeypatch):
    from perceptrons.cli.libraries import DeferredModule

    monkeypatch.setitem(sys.modules, "colorsys", DeferredModule("colorsys"))
    from colorsys import rgb_to_hsv

    assert rgb_to_hsv(1.0, 1.0, 1.0) == (0.0, 0.0, 1.0)
    assert not isinstance(sys.modules["colorsys"], DeferredModule)
