"""A newcomer's first fit: our defaults beside scikit-learn's, on every data set at hand. Test accuracy and time."""

import time
from typing import Any

import numpy as np
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.linear_model import SGDClassifier

from benchmarks import datasets, results
from perceptrons import Perceptron

CONTESTANTS = {"ours": Perceptron, "sklearn Perceptron": SklearnPerceptron, "sklearn SGDClassifier": SGDClassifier}
SEEDS = 3
LARGE = 40_000  # rows from which one seed is enough


def run(quick: bool) -> None:
    Perceptron().fit(np.eye(4, dtype=np.float32), [0, 1, 0, 1])  # numba's start is no data set's
    found, lines = [], []
    for name in datasets.names()[-6:] if quick else datasets.names():
        split = datasets.load(name)
        row = {"name": name, "rows": len(split.y_train), "features": split.X_train.shape[1]}
        row |= {"classes": len(np.unique(split.y_train)), "tested_on": len(split.y_test)}
        row["results"] = {title: measure(kind, split) for title, kind in CONTESTANTS.items()}
        found.append(row)
        lines.append(describe(row))
        print(lines[-1], flush=True)
    head = ["data", "rows", "features", "classes", *CONTESTANTS, *[f"{title}, s" for title in CONTESTANTS]]
    summary = count(found)
    results.write(
        "defaults", {"sets": found}, f"{results.table(head, lines)}\n\n{summary}", {"defaults": summary}, quick
    )


def measure(kind: Any, split: datasets.Split) -> dict[str, float]:
    """Mean accuracy and time over a few seeds, all parameters at their defaults."""
    accuracies, seconds = [], []
    for seed in range(1 if len(split.y_train) > LARGE else SEEDS):
        start = time.perf_counter()
        model = kind(random_state=seed).fit(split.X_train, split.y_train)
        seconds.append(time.perf_counter() - start)
        accuracies.append(model.score(split.X_test, split.y_test))
    return {"accuracy": float(np.mean(accuracies)), "seconds": float(np.min(seconds))}


def describe(row: dict[str, Any]) -> list[Any]:
    best = max(result["accuracy"] for result in row["results"].values())
    shown = [f"{100 * result['accuracy']:.1f}" for result in row["results"].values()]
    bold = [f"**{text}**" if text == f"{100 * best:.1f}" else text for text in shown]
    return [row["name"], row["rows"], row["features"], row["classes"], *bold,
            *[result["seconds"] for result in row["results"].values()]]  # fmt: skip


def count(found: list[dict[str, Any]]) -> str:
    """On how many sets ours is at least as accurate, exactly and within one standard error of the test set."""
    lines = []
    for rival in [title for title in CONTESTANTS if title != "ours"]:
        pairs = [(r["results"]["ours"]["accuracy"], r["results"][rival]["accuracy"], r["tested_on"]) for r in found]
        exact = sum(ours >= theirs - 1e-12 for ours, theirs, _ in pairs)
        near = sum(ours >= theirs - np.sqrt(theirs * (1 - theirs) / n) for ours, theirs, n in pairs)
        faster = sum(r["results"]["ours"]["seconds"] <= r["results"][rival]["seconds"] for r in found)
        lines.append([rival, f"{exact} of {len(found)}", f"{near} of {len(found)}", f"{faster} of {len(found)}"])
    head = ["ours beside", "at least as accurate", "or within a standard error of the test set", "at least as fast"]
    return results.table(head, lines)
