"""The linear perceptron beside scikit-learn, River, VW and LIBLINEAR: speed, time to accuracy, fixed costs, memory."""

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.linear_model import SGDClassifier

from benchmarks import datasets, peers, results
from perceptrons import Perceptron

EPOCHS = 5
REPEATS = 5
PATIENCE = 30  # epochs within which the fixed accuracy must be reached
NEARLY = 0.995  # the fixed accuracy: this share of the best that any of them reached
OURS = "perceptrons"


class Task(NamedTuple):
    name: str
    make: Callable[[], tuple[Any, np.ndarray]]
    asked: float  # how many times scikit-learn's Perceptron we want to be per epoch
    vw: bool
    river: int  # rows to time River on; 0 where it would take too long even so
    liblinear: (
        int  # its solver: 1 the dual, 2 the primal, which is the faster where rows are many and columns few; 0: none
    )


def tasks(quick: bool) -> list[Task]:
    """Rows are a tenth more than named: the rest is for testing."""
    part = 0.02 if quick else 1.0
    many = 50 if quick else 1000

    def data(make: Callable, rows: int, *rest: int) -> Callable:
        return partial(make, max(1500, int(1.1 * rows * part)), *rest)

    dense, dense_classes = datasets.dense, datasets.dense_classes
    text, text_classes = datasets.sparse, datasets.sparse_classes
    return [
        Task("dense 500,000 × 100, 2 classes", data(dense, 500_000, 100), 4, False, 2000, 2),
        Task("CSR 200,000 × 50,000, 60 a row, 2 classes", data(text, 200_000, 50_000, 60), 2.5, True, 2000, 1),
        Task("dense 100,000 × 100, 20 classes", data(dense_classes, 100_000, 100, 20), 10, False, 500, 0),
        Task(
            "CSR 200,000 × 50,000, 60 a row, 20 classes", data(text_classes, 200_000, 50_000, 60, 20), 10, True, 500, 0
        ),
        Task("CSR 50,000 × 50,000, 20 classes, in cache", data(text_classes, 50_000, 50_000, 60, 20), 10, False, 0, 0),
        Task(f"dense 10,000 × 512, {many:,} classes", data(dense_classes, 10_000, 512, many), 30, False, 0, 0),
    ]


def run(quick: bool) -> None:
    found: dict[str, Any] = {"epochs": EPOCHS, "tasks": [], "fixed_costs": fixed_costs(2 if quick else 5)}
    parts = []
    for task in tasks(quick):
        X, y = task.make()
        cut = X.shape[0] * 10 // 11
        data = (X[:cut], y[:cut], X[cut:], y[cut:])
        rows = per_epoch(task, data)
        reached, target = to_accuracy(task, data, rows)
        found["tasks"].append(
            {"task": task.name, "asked": task.asked, "rows": rows, "target": target, "reached": reached}
        )
        parts.append(f"### {task.name}\n\n{describe(rows, reached, target)}")
        print(parts[-1], flush=True)
    found["memory"] = memory(quick)
    parts.append(f"### Fixed costs\n\n{describe_costs(found['fixed_costs'])}")
    parts.append(f"### Memory\n\n{describe_memory(found['memory'])}")
    parts.append(f"### What was asked\n\n{verdict(found)}")
    results.write("linear", found, "\n\n".join(parts), {"linear": speeds(found)}, quick)


# ---- per epoch


def ours(X: Any, y: Any, X_test: Any, y_test: Any, epochs: int) -> peers.Result:
    model = Perceptron(margin=0, intercept_scaling=1, max_iter=epochs, tol=None)
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    return peers.Result(OURS, seconds / epochs, seconds, model.score(X_test, y_test), "averaged, shuffled")


def per_epoch(task: Task, data: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Every peer for the same number of epochs, in turns; the best of several repeats."""
    ours(data[0][:1200], data[1][:1200], data[2], data[3], 1)  # compile
    contestants = [ours, peers.sklearn_perceptron, peers.sklearn_sgd]
    slow = data[1].max() >= 100
    rounds = [[learn(*data, EPOCHS if not slow else 2) for learn in contestants] for _ in range(2 if slow else REPEATS)]
    best = [min(takes, key=lambda result: result.seconds_total) for takes in zip(*rounds, strict=True)]
    if task.vw:
        best += [peers.vw(*data, EPOCHS), peers.vw(*data, EPOCHS, plain=False)]
    if task.river:
        best.append(peers.river_perceptron(*data, 1, limit=task.river))
    if task.liblinear:
        best.append(peers.liblinear(*data, solver=task.liblinear))
    return [asdict(result) for result in best]


# ---- to a fixed accuracy


def to_accuracy(task: Task, data: tuple[Any, ...], rows: list[dict[str, Any]]) -> tuple[dict[str, float], float]:
    """Seconds of training until the test accuracy first reaches the target; nan where it is not reached."""
    curves = {}
    epochs = PATIENCE if data[1].max() < 100 else 4
    for name, model in (
        (OURS, Perceptron(margin=0, intercept_scaling=1, max_iter=1, tol=None, warm_start=True)),
        ("sklearn Perceptron", SklearnPerceptron(max_iter=1, tol=None, warm_start=True)),
        ("sklearn SGDClassifier", SGDClassifier(max_iter=1, tol=None, warm_start=True, random_state=0)),
    ):
        curves[name] = learning_curve(model, *data, epochs)
    ends = {row["name"]: (row["seconds_total"], row["accuracy"]) for row in rows if row["name"] not in curves}
    best = max([accuracy for curve in curves.values() for _, accuracy in curve] + [a for _, a in ends.values()])
    target = NEARLY * best
    reached = {name: next((s for s, a in curve if a >= target), math.nan) for name, curve in curves.items()}
    reached |= {name: seconds if accuracy >= target else math.nan for name, (seconds, accuracy) in ends.items()}
    return reached, target


def learning_curve(model: Any, X: Any, y: Any, X_test: Any, y_test: Any, epochs: int) -> list[tuple[float, float]]:
    """(seconds so far, test accuracy) after every epoch; scoring is not timed."""
    seconds, curve = 0.0, []
    for epoch in range(epochs):
        model.set_params(random_state=epoch)
        start = time.perf_counter()
        model.fit(X, y)
        seconds += time.perf_counter() - start
        curve.append((seconds, model.score(X_test, y_test)))
    return curve


# ---- fixed costs and memory

TINY = "import numpy as np; X = np.random.default_rng(0).standard_normal((100, 20)); y = (X[:, 0] > 0).astype(int)"
MANY = "for _ in range(300): model.fit(X, y)"


def fixed_costs(repeats: int) -> dict[str, float]:
    """Seconds a short script pays, each in fresh interpreters."""
    fresh = partial(peers.in_fresh_process, repeats=repeats)
    use = f"{TINY}; from perceptrons import Perceptron; model = Perceptron()"
    theirs = f"{TINY}; from sklearn.linear_model import Perceptron; model = Perceptron()"
    with tempfile.TemporaryDirectory() as folder:
        cold = []
        for take in range(repeats):
            empty = {"NUMBA_CACHE_DIR": os.path.join(folder, str(take))}
            cold.append(peers.in_fresh_process(use, "model.fit(X, y)", empty, 1))
        warm = fresh(use, "model.fit(X, y)", env=empty)
        return {
            "import perceptrons": fresh("", "import perceptrons; perceptrons.Perceptron", env=empty),
            "import sklearn.linear_model": fresh("", "import sklearn.linear_model"),
            "the very first fit, nothing compiled yet": min(cold),
            "the first fit of a process": warm,
            "the first fit of a process, sklearn": fresh(theirs, "model.fit(X, y)"),
            "a fit on 100 × 20, warm": fresh(f"{use}; model.fit(X, y)", MANY, env=empty) / 300,
            "a fit on 100 × 20, warm, sklearn": fresh(f"{theirs}; model.fit(X, y)", MANY) / 300,
        }


PEAK = """
import sys
import numpy as np
from perceptrons import Perceptron
def status(field):
    return next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith(field)) * 1024
kind, n = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
if kind == 'dense':
    X = np.empty((n, 100), np.float32)
    rng.standard_normal(dtype=np.float32, out=X)
    size = X.nbytes
else:
    import scipy.sparse as sp
    data = np.empty(60 * n, np.float32)
    rng.random(dtype=np.float32, out=data)
    columns = rng.integers(0, 50_000, 60 * n, dtype=np.int32)
    X = sp.csr_matrix((data, columns, np.arange(0, 60 * n + 1, 60, dtype=np.int32)), shape=(n, 50_000))
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
y = (rng.random(n) < 0.5).astype(np.int8)
Perceptron(margin=0, intercept_scaling=1, max_iter=1).fit(X[:100], y[:100])
before = status('VmRSS')
open('/proc/self/clear_refs', 'w').write('5')
Perceptron(margin=0, intercept_scaling=1, max_iter=3, tol=None).fit(X, y)
print(size, status('VmHWM') - before)
"""


def memory(quick: bool) -> list[dict[str, Any]]:
    """How much a fit on float32 data needs beyond the data (Linux only): the peak of the process against its start."""
    found = []
    for kind, n in (("dense", 2_000_000), ("CSR", 1_000_000)):
        rows = n // 100 if quick else n
        run = subprocess.run([sys.executable, "-c", PEAK, kind, str(rows)], capture_output=True, text=True, check=True)
        size, extra = map(int, run.stdout.split())
        found.append({"data": f"{kind}, {rows:,} rows of float32", "bytes": size, "peak_share": 1 + extra / size})
    return found


# ---- in words


def describe(rows: list[dict[str, Any]], reached: dict[str, float], target: float) -> str:
    base = rows[0]["seconds_per_epoch"]
    lines = []
    for row in rows:
        times = row["seconds_per_epoch"] / base
        lines.append([
            row["name"], 1000 * row["seconds_per_epoch"], times, 100 * row["accuracy"],
            reached.get(row["name"], math.nan), row["note"],
        ])  # fmt: skip
    head = ["", "ms an epoch", "times ours", "accuracy, %", f"seconds to {100 * target:.1f}%", "note"]
    return results.table(head, lines)


def speeds(found: dict[str, Any]) -> str:
    """How many times our time the others need for an epoch."""
    names = ["sklearn Perceptron", "sklearn SGDClassifier", "vw --sgd", "river Perceptron"]
    lines = []
    for task in found["tasks"]:
        by_name = {row["name"]: row["seconds_per_epoch"] for row in task["rows"]}
        times = [by_name[name] / by_name[OURS] if name in by_name else math.nan for name in names]
        lines.append([task["task"], 1000 * by_name[OURS], *[f"{t:.1f}×" if t == t else "" for t in times]])
    return results.table(["one epoch, shuffled", "ours, ms", *names], lines)


def describe_costs(costs: dict[str, float]) -> str:
    return results.table(["", "ms"], [[name, 1000 * seconds] for name, seconds in costs.items()])


def describe_memory(found: list[dict[str, Any]]) -> str:
    lines = [[row["data"], row["bytes"] / 2**20, row["peak_share"]] for row in found]
    return results.table(["data", "MiB", "peak of a fit, times the data"], lines)


def verdict(found: dict[str, Any]) -> str:
    """Every figure that was asked for beside the one measured."""
    lines = []
    for task in found["tasks"]:
        by_name = {row["name"]: row["seconds_per_epoch"] for row in task["rows"]}
        got = by_name["sklearn Perceptron"] / by_name[OURS]
        lines.append([f"{task['task']}: times sklearn Perceptron", f"≥ {task['asked']:g}", got])
        if "vw --sgd" in by_name and task["asked"] == 2.5:
            lines.append([f"{task['task']}: times VW's cached passes", "≥ 4", by_name["vw --sgd"] / by_name[OURS]])
    costs = found["fixed_costs"]
    small = costs["a fit on 100 × 20, warm"] / costs["a fit on 100 × 20, warm, sklearn"]
    lines.append(["fit on 100 rows, times sklearn's time", "≤ 1", small])
    imports = costs["import perceptrons"] / costs["import sklearn.linear_model"]
    lines.append(["import, times sklearn.linear_model's", "≤ 1.3", imports])
    lines += [[f"peak memory, {row['data']}", "≤ 1.2", row["peak_share"]] for row in found["memory"]]
    return results.table(["", "asked", "measured"], lines)
