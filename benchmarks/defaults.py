"""A newcomer's first fit: our defaults beside those of other linear models, on every data set at hand.

Every set as it is, and the tables of dense numbers standardised too. Test accuracy is the mean of three seeds. The
standard error is that of the difference: it counts the test rows that one of the two has right and the other wrong.
"""

import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.svm import LinearSVC

from benchmarks import datasets, peers, results
from perceptrons import Perceptron

OURS = "ours"
CONTESTANTS: dict[str, Any] = {
    OURS: lambda seed: Perceptron(random_state=seed),
    "ours, margin 0": lambda seed: Perceptron(margin=0, intercept_scaling=1, random_state=seed),
    "sklearn Perceptron": lambda seed: SklearnPerceptron(random_state=seed),
    "SGDClassifier": lambda seed: SGDClassifier(random_state=seed),
    "SGDClassifier, average": lambda seed: SGDClassifier(average=True, random_state=seed),
    "LinearSVC": lambda seed: LinearSVC(random_state=seed),
    "LogisticRegression": lambda seed: LogisticRegression(random_state=seed),
    "RidgeClassifier": lambda seed: RidgeClassifier(random_state=seed),
}
SEEDED = (OURS, "ours, margin 0", "sklearn Perceptron", "SGDClassifier", "SGDClassifier, average")
SEEDS = 3
LARGE = 40_000  # rows from which one seed is enough
MOST = 50_000  # rows that are learned from: solvers of whole problems would take an hour on more


class Measured(NamedTuple):
    accuracy: float
    seconds: float
    right: np.ndarray  # of the first seed, by test row


def run(quick: bool) -> None:
    Perceptron().fit(np.eye(4, dtype=np.float32), [0, 1, 0, 1])  # numba's start is no data set's
    found, lines = [], []
    for split in splits(quick):
        row: dict[str, Any] = {"name": split.name, "rows": len(split.y_train), "features": split.X_train.shape[1]}
        row |= {"classes": len(np.unique(split.y_train)), "tested_on": len(split.y_test)}
        measured = {title: measure(title, split) for title in CONTESTANTS}
        measured["vw"] = of_vw(split)
        row["results"] = {title: {"accuracy": one.accuracy, "seconds": one.seconds} for title, one in measured.items()}
        for title, one in measured.items():
            row["results"][title]["standard_error"] = standard_error(measured[OURS].right, one.right)
        found.append(row)
        lines.append(describe(row))
        print(lines[-1], flush=True)
    titles = list(found[0]["results"])
    head = ["data", "rows", "features", "classes", OURS, *[f"above {title}" for title in titles[1:]]]
    times = ["data", *[f"{title}, s" for title in titles]]
    seconds = [[row["name"], *[one["seconds"] for one in row["results"].values()]] for row in found]
    summary = count(found)
    tables = [results.table(head, lines), summary, results.table(times, seconds)]
    results.write("defaults", {"sets": found}, "\n\n".join(tables), {"defaults": summary}, quick)


def splits(quick: bool) -> Any:
    """The sets one by one, the tables of dense numbers also standardised."""
    for name in datasets.names()[-6:] if quick else datasets.names():
        split = datasets.load(name)
        split = datasets.shuffled(split, MOST) if len(split.y_train) > MOST else split
        yield split
        if not sp.issparse(split.X_train) and name not in (*datasets.EVEN, "iris", "wine"):
            yield datasets.standardised(split)


def measure(title: str, split: datasets.Split) -> Measured:
    """Mean accuracy over a few seeds, all parameters at their defaults, and the shortest time."""
    accuracies, seconds, right = [], [], np.empty(0, bool)
    for seed in range(SEEDS if title in SEEDED and len(split.y_train) <= LARGE else 1):
        start = time.perf_counter()
        model = CONTESTANTS[title](seed).fit(split.X_train, split.y_train)
        seconds.append(time.perf_counter() - start)
        answers = model.predict(split.X_test) == split.y_test
        right = answers if not seed else right
        accuracies.append(answers.mean())
    return Measured(float(np.mean(accuracies)), float(np.min(seconds)), right)


def of_vw(split: datasets.Split) -> Measured:
    """Vowpal Wabbit's command with its default learning, one pass; the loss is the hinge, as for a linear SVM."""
    found = peers.vw(*split[1:], epochs=1, plain=False, repeats=1)
    return Measured(found.accuracy, found.seconds_total, np.empty(0, bool))


def standard_error(ours: np.ndarray, theirs: np.ndarray) -> float | None:
    """Of the difference of two accuracies on the same rows; None where the answers to the rows are not known."""
    return float((ours.astype(float) - theirs).std() / np.sqrt(len(ours))) if len(theirs) else None


def describe(row: dict[str, Any]) -> list[Any]:
    ours, *others = row["results"].values()
    shown = []
    for one in others:
        error = "" if one["standard_error"] is None else f" ± {100 * one['standard_error']:.1f}"
        shown.append(f"{100 * (ours['accuracy'] - one['accuracy']):+.1f}{error}")
    return [row["name"], row["rows"], row["features"], row["classes"], f"{100 * ours['accuracy']:.1f}", *shown]


def count(found: list[dict[str, Any]]) -> str:
    """On how many sets ours is at least as accurate, exactly and within one standard error of two kinds."""
    lines = []
    for rival in [title for title in found[0]["results"] if title != OURS]:
        pairs = [(row["results"][OURS], row["results"][rival], row["tested_on"]) for row in found]
        gains = [ours["accuracy"] - theirs["accuracy"] for ours, theirs, _ in pairs]
        of_test = [np.sqrt(theirs["accuracy"] * (1 - theirs["accuracy"]) / n) for _, theirs, n in pairs]
        of_pair = [theirs["standard_error"] for _, theirs, _ in pairs]
        counts = [sum(gain >= -1e-12 for gain in gains), _near(gains, of_test), _near(gains, of_pair)]
        shown = ["" if number is None else f"{number} of {len(found)}" for number in counts]
        faster = sum(ours["seconds"] <= theirs["seconds"] for ours, theirs, _ in pairs)
        lines.append([rival, *shown, f"{100 * float(np.mean(gains)):+.2f}", f"{faster} of {len(found)}"])
    head = ["ours beside", "at least as accurate", "or within a standard error of the test set",
            "or of the difference", "mean difference, points", "at least as fast"]  # fmt: skip
    return results.table(head, lines)


def _near(gains: list[float], errors: list[Any]) -> int | None:
    """How many gains are no loss beyond one standard error; None where the errors are not known."""
    if None in errors:
        return None
    return sum(gain >= -error - 1e-12 for gain, error in zip(gains, errors, strict=True))
