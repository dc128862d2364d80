"""One-vs-rest and one-vs-one in one pass over the data, beside scikit-learn's wrappers around its Perceptron.

Both sides go over the data the same number of times; the time is that of a whole fit, divided by the epochs.
"""

from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

from benchmarks import datasets, peers, results
from perceptrons import Perceptron

EPOCHS = 5
REPEATS = 5
CLASSES = 20
ASKED = 5.0
WRAPPERS = {"ovr": OneVsRestClassifier, "ovo": OneVsOneClassifier}
OURS, THEIRS, PARALLEL = "perceptrons", "sklearn", "sklearn, n_jobs=2"


class Fit(NamedTuple):
    seconds_per_epoch: float
    accuracy: float
    epochs: int


def run(quick: bool) -> None:
    found = []
    for split in sets(quick):
        for way in WRAPPERS:
            takes = peers.in_turns(contestants(way, split), 2 if quick else REPEATS)
            rows = {
                name: {
                    "seconds_per_epoch": median(f.seconds_per_epoch for f in fits),
                    "fits": [f._asdict() for f in fits],
                    "accuracy": fits[-1].accuracy,
                }
                for name, fits in takes.items()
            }
            found.append({"data": split.name, "multiclass": way, "results": rows})
            print(found[-1]["data"], way, flush=True)
    table = describe(found)
    note = (
        f"{EPOCHS} epochs each, the median of {REPEATS} fits in turns. Ours is averaged, scikit-learn's is not. Ours "
        "would stop after an epoch without a mistake in any problem; its time is divided by the epochs it made."
    )
    results.write("wrappers", {"epochs": EPOCHS, "tasks": found}, f"{table}\n\n{note}", {"wrappers": table}, quick)


def sets(quick: bool) -> list[datasets.Split]:
    """Text as CSR float32, and made-up dense rows of float64, a tenth more than named: the rest is for testing."""
    n = 1000 if quick else 20_000
    X, y = datasets.dense_classes(n * 11 // 10, 100, CLASSES, dtype=np.float64)
    dense = datasets.Split(f"dense {n:,} × 100, {CLASSES} classes", X[:n], y[:n], X[n:], y[n:])
    text = datasets.shuffled(datasets.load("20news-bydate"), 1000 if quick else None)
    return [text._replace(name="20 newsgroups, TF-IDF"), dense]


def contestants(way: str, split: datasets.Split) -> dict[str, Callable[[], Fit]]:
    """Each fits a fresh model on the split; everything is compiled and every process started before."""
    theirs = partial(WRAPPERS[way], SklearnPerceptron(max_iter=EPOCHS, tol=None))
    makes = {
        OURS: partial(Perceptron, multiclass=way, max_iter=EPOCHS, tol=None),
        THEIRS: theirs,
        PARALLEL: partial(theirs, n_jobs=2),
    }
    few = split._replace(X_train=split.X_train[:1000], y_train=split.y_train[:1000])
    for make in makes.values():
        fit(make, few)
    return {name: partial(fit, make, split) for name, make in makes.items()}


def fit(make: Callable[[], Any], split: datasets.Split) -> Fit:
    model = make()
    _, seconds = peers.timed(lambda: model.fit(split.X_train, split.y_train))
    epochs = getattr(model, "n_iter_", EPOCHS)
    return Fit(seconds / epochs, model.score(split.X_test, split.y_test), epochs)


def describe(found: list[dict[str, Any]]) -> str:
    lines = []
    for task in found:
        base = task["results"][OURS]["seconds_per_epoch"]
        for name, result in task["results"].items():
            asked = f"≥ {ASKED:g}×" if name == THEIRS else ""
            times = f"{result['seconds_per_epoch'] / base:.1f}×"
            lines.append([
                task["data"], task["multiclass"], name, 1000 * result["seconds_per_epoch"], times, asked,
                f"{100 * result['accuracy']:.1f}",
            ])  # fmt: skip
    return results.table(["data", "multiclass", "", "ms per epoch", "times ours", "goal", "accuracy, %"], lines)
