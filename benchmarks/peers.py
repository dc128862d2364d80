"""The libraries to compare with, each trained on the same rows for the same number of epochs and timed alike.

Seconds are of training alone, by the wall clock; what it takes to bring the rows into a peer's own form is apart.
"""

import itertools
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.svm import LinearSVC

BLOCK = 2000  # rows that river is given as dicts at a time: all of them would take gigabytes


@dataclass(frozen=True)
class Result:
    """What one peer did; seconds_per_epoch is nan for a solver that has no epochs."""

    name: str
    seconds_per_epoch: float
    seconds_total: float
    accuracy: float
    note: str = ""
    seconds_to_convert: float = 0.0


def timed(work: Callable):
    """What work returns, and the seconds it took."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def in_turns(contestants: dict[str, Callable], repeats: int) -> dict[str, list]:
    """What each returns, so many times, one after the other: what slows the machine for a while slows them all."""
    rounds = [[work() for work in contestants.values()] for _ in range(repeats)]
    return dict(zip(contestants, map(list, zip(*rounds, strict=True)), strict=True))


def one_pass(name: str, model, X, y, X_test, y_test) -> Result:
    """One pass in the order given, by partial_fit of a fresh copy of the model, ours or scikit-learn's."""
    model = clone(model)
    classes = np.unique(y)
    _, seconds = timed(lambda: model.partial_fit(X, y, classes=classes))
    return Result(name, seconds, seconds, model.score(X_test, y_test))


# scikit-learn


def sklearn_perceptron(X, y, X_test, y_test, epochs: int) -> Result:
    """tol=None, since otherwise it stops early and the epochs would not compare."""
    model = Perceptron(max_iter=epochs, tol=None, shuffle=True, random_state=0)
    return _sklearn("sklearn Perceptron", model, X, y, X_test, y_test, epochs)


def sklearn_sgd(X, y, X_test, y_test, epochs: int) -> Result:
    """The default SGDClassifier (hinge loss, L2): what scikit-learn itself recommends for large data."""
    model = SGDClassifier(max_iter=epochs, tol=None, shuffle=True, random_state=0)
    return _sklearn("sklearn SGDClassifier", model, X, y, X_test, y_test, epochs)


def sklearn_linear_svc(X, y, X_test, y_test) -> Result:
    """liblinear as scikit-learn wraps it, by default the dual of the squared hinge; fit includes the conversion."""
    model = LinearSVC(random_state=0)
    return _sklearn("sklearn LinearSVC", model, X, y, X_test, y_test, math.nan, "includes the conversion to float64")


def _sklearn(name: str, model, X, y, X_test, y_test, epochs: float, note: str = "") -> Result:
    """One fit; what a call costs whatever the data is spread over the epochs."""
    _, seconds = timed(lambda: model.fit(X, y))
    return Result(name, seconds / epochs, seconds, model.score(X_test, y_test), note)


# river


def river_perceptron(X, y, X_test, y_test, epochs: int, limit: int = 2000) -> Result:
    return river("Perceptron", X, y, X_test, y_test, epochs, limit)


def river(kind: str, X, y, X_test, y_test, epochs: int, limit: int | None = None) -> Result:
    """A linear model of river, one-vs-rest for several classes, learning from one dict at a time.

    It is slow: with a limit the first so many rows give its time per example. Both times are then scaled to all rows,
    and the accuracy is that of the few rows learned, on the first limit test rows.
    """
    from river import linear_model, multiclass

    model = getattr(linear_model, kind)()
    binary = len(np.unique(y)) == 2
    if not binary:
        model = multiclass.OneVsRestClassifier(model)
    few = X.shape[0] if limit is None else min(limit, X.shape[0])
    labels = (y[:few] == y.max()).tolist() if binary else y[:few].tolist()
    seconds = conversion = 0.0

    def learn(rows, answers):
        for row, answer in zip(rows, answers, strict=True):
            model.learn_one(row, answer)

    for _, start in itertools.product(range(epochs), range(0, few, BLOCK)):
        block = slice(start, min(start + BLOCK, few))
        rows, took = timed(lambda block=block: _dicts(X[block]))
        conversion += took
        seconds += timed(lambda rows=rows, block=block: learn(rows, labels[block]))[1]
    tested = X_test.shape[0] if limit is None else min(limit, X_test.shape[0])
    starts = range(0, tested, BLOCK)
    predicted = [model.predict_one(row) for a in starts for row in _dicts(X_test[a : min(a + BLOCK, tested)])]
    truth = y_test[:tested] == y.max() if binary else y_test[:tested]
    scale = X.shape[0] / few
    accuracy = float(np.mean(np.array(predicted) == truth))
    note = "" if few == X.shape[0] else f"trained on {few} of {X.shape[0]} rows, times scaled"
    conversion *= scale / epochs
    return Result(f"river {kind}", seconds * scale / epochs, seconds * scale, accuracy, note, conversion)


def _dicts(X) -> list[dict[int, float]]:
    """Rows as river wants them; the zeros of sparse rows are left out."""
    if not sp.issparse(X):
        return [dict(enumerate(row)) for row in X.tolist()]
    indices, values, ends = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
    return [dict(zip(indices[a:b], values[a:b], strict=True)) for a, b in itertools.pairwise(ends)]


# Vowpal Wabbit


def vw(X, y, X_test, y_test, epochs: int, plain: bool = True, repeats: int = 3, loss: str = "hinge") -> Result:
    """The real Vowpal Wabbit, run as a subprocess: `python -m vowpalwabbit`, its command line.

    plain is --sgd, the step nearest to a perceptron's; otherwise VW's default (adaptive, normalised, invariant).
    The rows are written as text once and cached once in VW's binary form; both count as conversion. A pass over
    the cache is timed as the difference between many passes and one, the best of repeats runs each, so that the
    start of the process cancels out. VW goes through the rows in the order given and reads the cache in a second
    thread, so it has two cores where the others have one. seconds_total is the whole command for epochs passes.
    """
    classes = np.unique(y)
    options = ["--loss_function", loss, *(["--sgd"] if plain else []), "-b", str(_vw_bits(X.shape[1], len(classes)))]
    if len(classes) > 2:
        options += ["--oaa", str(len(classes))]
    passes = max(epochs, min(200, math.ceil(2e7 / _nonzeros(X))))  # enough work to stand out from the start
    with tempfile.TemporaryDirectory() as folder:
        cached = ["--cache_file", "train.cache", "--holdout_off", *options]

        def convert():
            _write_vw(Path(folder, "train.vw"), X, y, classes)
            _vw(folder, "-d", "train.vw", "-k", "--passes", "1", *cached)

        def seconds(count: int) -> float:
            return min(timed(lambda: _vw(folder, "--passes", str(count), *cached))[1] for _ in range(repeats))

        _, conversion = timed(convert)
        per_pass = (seconds(passes + 1) - seconds(1)) / passes
        _, total = timed(lambda: _vw(folder, "--passes", str(epochs), "-f", "model", *cached))
        _write_vw(Path(folder, "test.vw"), X_test, y_test, classes)
        _vw(folder, "-t", "-i", "model", "-d", "test.vw", "-p", "predictions")
        predicted = np.loadtxt(Path(folder, "predictions"), ndmin=1)
    predicted = (predicted > 0) if len(classes) == 2 else predicted - 1
    accuracy = float(np.mean(classes[predicted.astype(int)] == y_test))
    name = ("vw --sgd" if plain else "vw") + ("" if loss == "hinge" else f", {loss}")
    return Result(name, per_pass, total, accuracy, f"cached passes, {' '.join(options)}", conversion)


def _vw(folder: str, *arguments: str) -> None:
    """One run of the command; it is quiet because its progress report would be timed too."""
    command = [sys.executable, "-m", "vowpalwabbit", "--quiet", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def _vw_bits(d: int, k: int) -> int:
    """Bits of the table of weights that give every column of every class its own place; VW's default at least."""
    copies = 0 if k == 2 else math.ceil(math.log2(k))
    return max(18, math.ceil(math.log2(d + 1)) + copies)


def _nonzeros(X) -> int:
    return X.nnz if sp.issparse(X) else np.count_nonzero(X)


def _write_vw(path: Path, X, y, classes: np.ndarray) -> None:
    """Rows in VW's text form, zeros left out, labels -1 and 1 or 1 to k; VW takes a whole number as its own hash."""
    labels = np.searchsorted(classes, y)
    labels = (2 * labels - 1 if len(classes) == 2 else labels + 1).tolist()
    X = sp.csr_matrix(X)
    indices, values, ends = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
    with path.open("w") as file:
        for label, a, b in zip(labels, ends, ends[1:], strict=False):
            row = " ".join([f"{i}:{v:.7g}" for i, v in zip(indices[a:b], values[a:b], strict=True)])
            file.write(f"{label} | {row}\n")


# liblinear


def liblinear(X, y, X_test, y_test, solver: int = 1) -> Result:
    """liblinear's own `train`: solver 1 is the dual of the squared hinge (its default), 3 that of the hinge.

    It runs until it has converged, so it has no epochs: it shows what accuracy a linear model can have, and when.
    """
    from liblinear.liblinearutil import parameter, problem, train

    problem(np.array([0.0, 1.0]), sp.csr_matrix(np.eye(2)))  # its conversion is compiled at the first call
    rows, conversion = timed(lambda: problem(y.astype(float), sp.csr_matrix(X), bias=1))
    model, seconds = timed(lambda: train(rows, parameter(f"-s {solver} -B 1 -q")))
    k = model.get_nr_class()
    weights = np.ctypeslib.as_array(model.w, (X.shape[1] + 1, 1 if k == 2 else k))
    scores = X_test @ weights[:-1] + weights[-1]
    best = (scores[:, 0] <= 0).astype(int) if k == 2 else scores.argmax(axis=1)
    accuracy = float(np.mean(np.array(model.get_labels())[best] == y_test))
    return Result(f"liblinear -s {solver}", math.nan, seconds, accuracy, "until it has converged", conversion)


# Costs that do not grow with the data


def fixed_costs(repeats: int = 5) -> dict[str, float]:
    """Seconds a short script pays before its first answer: the imports, and the first fit of a tiny set."""
    tiny = "import numpy as np; from sklearn.linear_model import Perceptron; X = np.eye(4); y = [0, 1, 0, 1]"
    return {
        "import numpy": in_fresh_process("", "import numpy", repeats=repeats),
        "import sklearn.linear_model": in_fresh_process("", "import sklearn.linear_model", repeats=repeats),
        "first fit of sklearn Perceptron": in_fresh_process(tiny, "Perceptron().fit(X, y)", repeats=repeats),
    }


def in_fresh_process(setup: str, statement: str, env: dict[str, str] | None = None, repeats: int = 5) -> float:
    """The least seconds statement takes after setup, each time in a new interpreter: nothing is loaded or warm.

    env is added to the environment of this process.
    """
    script = (
        f"{setup}\nfrom time import perf_counter as _clock\n_start = _clock()\n{statement}\n"
        "_seconds = _clock() - _start\nprint(); print(_seconds)"
    )
    return min(_last_number(script, {**os.environ, **(env or {})}) for _ in range(repeats))


def _last_number(script: str, env: dict[str, str]) -> float:
    """The number the script prints last, with whatever it says of its own errors left visible."""
    run = subprocess.run([sys.executable, "-c", script], env=env, check=True, stdout=subprocess.PIPE, text=True)
    return float(run.stdout.split()[-1])
