"""Probabilities: `Perceptron(probability=...)` by every method, beside LogisticRegression and a calibrated LinearSVC.

A perceptron is trained once for each data set. All its rows are that model: its scores taken for logits, and calibrated
by each method on the tenth of the training set that `fit` held out. Everything is measured on the test set.
"""

import time
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from benchmarks import datasets, results
from perceptrons import Perceptron
from perceptrons.engine.training.calibration import METHODS
from perceptrons.engine.training.epochs import hold_out
from perceptrons.inspection.metrics import Reliability
from perceptrons.selection import calibrate

SETS = ("adult", "a9a", "sms-spam", "rt-polarity", "letter", "mnist", "20news-bydate")
ROWS = 10_000  # of a training set at most: LogisticRegression and LinearSVC take minutes on more
BEFORE = "scores as logits"
PEERS = {
    "LogisticRegression": LogisticRegression(max_iter=100),
    "calibrated LinearSVC": CalibratedClassifierCV(LinearSVC(), cv=5),
}
SHOWN = (BEFORE, *METHODS, *PEERS)
MEASURES = {"Log loss": "log_loss", "Brier score": "brier_score", "Calibration error": "calibration_error"}


def run(quick: bool) -> None:
    found = []
    for name in ("sms-spam", "letter") if quick else SETS:
        split = datasets.shuffled(datasets.load(name), 2000 if quick else ROWS)
        split = datasets.standardised(split) if name == "letter" else split
        found.append(measured(split))
        print(name, {who: round(row["log_loss"], 3) for who, row in found[-1]["by"].items()}, flush=True)
    parts = [f"## {title}\n\n{_table(found, key)}" for title, key in MEASURES.items()]
    parts += [
        f"## Accuracy, in percent\n\n{_table(found, 'accuracy', 100)}",
        f"## Seconds of `fit`\n\n{_seconds(found)}",
    ]
    shown = "\n\n".join(f"{title}, on test sets:\n\n{_table(found, MEASURES[title])}" for title in MEASURES)
    results.write("calibration", {"sets": found}, "\n\n".join(parts), {"calibration": shown}, quick)


def measured(split: datasets.Split) -> dict[str, Any]:
    """How good everybody's probabilities are on the test set of one data set."""
    X, y, X_test, y_test = split.X_train, split.y_train, split.X_test, split.y_test
    known = np.isin(y_test, y)
    X_test, y_test = X_test[known], y_test[known]
    began = time.perf_counter()
    model = Perceptron(probability="sigmoid").fit(X, y)
    seconds = time.perf_counter() - began
    codes = np.searchsorted(model.classes_, y_test)
    scores = model.decision_function(X_test)
    logits = np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores
    by = {BEFORE: judged(codes, softmax(logits.astype(np.float64), axis=1), None)}
    _, held = hold_out(np.searchsorted(model.classes_, y), None, 0.1, 0)
    for method in METHODS:
        calibrate(model, X[held], y[held], method)
        by[method] = judged(codes, model.predict_proba(X_test), seconds)
    for name, peer in PEERS.items():
        began = time.perf_counter()
        peer.fit(X, y)
        seconds = time.perf_counter() - began
        by[name] = judged(codes, peer.predict_proba(X_test), seconds)
    return {"name": split.name, "classes": len(model.classes_), "train": len(y), "test": len(codes), "by": by}


def judged(codes: np.ndarray, shares: np.ndarray, seconds: float | None) -> dict[str, Any]:
    found = Reliability()
    found.add(codes, np.asarray(shares, np.float64))
    told = {name: getattr(found, name) for name in MEASURES.values()}
    return {**told, "accuracy": float((shares.argmax(axis=1) == codes).mean()), "seconds": seconds,
            "curve": found.curve()}  # fmt: skip


def _table(found: list[dict[str, Any]], key: str, factor: float = 1) -> str:
    head = ["", "classes", "trained on", *SHOWN]
    rows = []
    for one in found:
        cells = [one["by"][who][key] * factor for who in SHOWN]
        texts = [f"{value:.1f}" if factor > 1 else f"{value:.3f}" for value in cells]
        rows.append([one["name"], str(one["classes"]), f"{one['train']:,}", *texts])
    return results.table(head, rows)


def _seconds(found: list[dict[str, Any]]) -> str:
    who = ("sigmoid", *PEERS)
    rows = [[one["name"], *(one["by"][name]["seconds"] for name in who)] for one in found]
    return results.table(["", "Perceptron", *PEERS], rows)
