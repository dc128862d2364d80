"""What class weights, costs and a tuned threshold do for the rare class, on imbalanced data.

Three sets are imbalanced as they are. Of the others, 1% or 5% of the rarer class stay in the training set. The test set
keeps all rows, but F1 is computed for a test set as imbalanced as the training set, by weighting its rows. All scores
are means over three seeds. A seed draws the rows that stay, the rows held out, and the order of learning.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import roc_curve
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from benchmarks import datasets, results
from perceptrons import Perceptron

LEARNERS: dict[str, Any] = {
    "ours": Perceptron,
    "LinearSVC": LinearSVC,
    "SGDClassifier, average": lambda **options: SGDClassifier(average=True, **options),
    "SGDClassifier": SGDClassifier,
}
NOTHING, BALANCED, COST, THRESHOLD = "nothing set", 'class_weight="balanced"', "cost", "tuned threshold"
BOTH = '"balanced" and cost'
OPTIONS = (NOTHING, BALANCED, COST, BOTH, THRESHOLD)
NATURAL = ("sms-spam", "uci/mammography", "uci/oil-spill")
SKEWED = ("mushrooms", "adult", "a9a", "rcv1-vw-sample", "covtype-binary")
KEPT = (0.01, 0.05)  # of the rarer class
ROWS = 20_000  # of a set to learn from, at most
SEEDS = 3
DEAREST = 20.0  # the highest cost of missing an example of the rare class
HELD_OUT = 0.2


class Scores(NamedTuple):
    recall: float  # of the rare class
    f1: float  # of the rare class
    balanced: float  # the mean of both recalls


def run(quick: bool) -> None:
    Perceptron(cost=[[0, 1], [1, 0]]).fit(np.eye(4, dtype=np.float32), [0, 1, 0, 1])  # compiles
    found = [measured(name, kept) for name, kept in (cases()[-2:] if quick else cases())]
    summary = summarised(found)
    tables = [summary, *[by_set(found, learner) for learner in LEARNERS], explanation()]
    results.write("imbalance", {"sets": found}, "\n\n".join(tables), {"imbalance": summary}, quick)


def cases() -> list[tuple[str, float]]:
    """Names of the sets, and the share of the rarer class that stays."""
    return [(name, kept) for name in SKEWED for kept in KEPT] + [(name, 1.0) for name in NATURAL]


def measured(name: str, kept: float) -> dict[str, Any]:
    """The mean scores of every learner with every option."""
    split = prepared(name)
    parts = [skewed(split, kept, seed) for seed in range(SEEDS)]
    rare, rows = int(parts[0].y_train.sum()), len(parts[0].y_train)
    title = split.name if kept == 1 else f"{split.name}, {kept:.0%}"
    row: dict[str, Any] = {"name": title, "rows": rows, "rare": rare, "results": {}}
    for learner in LEARNERS:
        for option in OPTIONS:
            if option not in (COST, BOTH) or learner == "ours":
                scores = [of_one(part, learner, option, seed) for seed, part in enumerate(parts)]
                mean = Scores(*np.mean(scores, axis=0).tolist())
                row["results"].setdefault(learner, {})[option] = mean._asdict()
    shown = {learner: {option: round(100 * one["balanced"], 1) for option, one in options.items()}
             for learner, options in row["results"].items()}  # fmt: skip
    print(title, f"{rare} of {rows}", shown, flush=True)
    return row


def prepared(name: str) -> datasets.Split:
    """A set of two classes with the rare one as 1; tables of raw numbers are standardised."""
    split = datasets.shuffled(datasets.load(name), ROWS)
    if not sp.issparse(split.X_train) and name not in datasets.EVEN:
        split = datasets.standardised(split)
    rare = np.bincount(split.y_train).argmin()
    return split._replace(y_train=(split.y_train == rare).astype(int), y_test=(split.y_test == rare).astype(int))


def skewed(split: datasets.Split, kept: float, seed: int) -> datasets.Split:
    """The set with only this share of the rare class to learn from."""
    rare = np.random.default_rng(seed).permutation(np.flatnonzero(split.y_train))
    stay = np.sort(np.append(np.flatnonzero(split.y_train == 0), rare[: round(kept * len(rare))]))
    return split._replace(X_train=split.X_train[stay], y_train=split.y_train[stay])


def of_one(split: datasets.Split, learner: str, option: str, seed: int) -> Scores:
    """The test scores of one learner, trained with one option."""
    X, y, share = split.X_train, split.y_train, float(split.y_train.mean())
    options: dict[str, Any] = {"random_state": seed}
    if option in (BALANCED, BOTH):
        options["class_weight"] = "balanced"
    if option == COST:
        options["cost"] = {1: {0: min(DEAREST, 1 / share - 1)}, 0: {1: 1.0}}
    if option == BOTH:
        options["cost"] = {1: {0: 1.0}, 0: {1: share / (1 - share)}}
    if option == THRESHOLD:
        X, X_held, y, y_held = train_test_split(X, y, test_size=HELD_OUT, random_state=seed, stratify=y)
    model = LEARNERS[learner](**options).fit(X, y)
    least = best_threshold(y_held, model.decision_function(X_held)) if option == THRESHOLD else 0.0
    return scored(split.y_test == 1, model.decision_function(split.X_test) > least, share)


def best_threshold(y: np.ndarray, scores: np.ndarray) -> float:
    """The threshold of the highest balanced accuracy, halfway between the two scores that it lies between."""
    false_alarms, recall, thresholds = roc_curve(y, scores, drop_intermediate=False)
    best = int((recall - false_alarms)[1:].argmax()) + 1  # the first threshold is infinite
    return float(thresholds[best : best + 2].mean())


def scored(rare: np.ndarray, predicted: np.ndarray, share: float) -> Scores:
    """Scores of predictions, where a share of all examples would be of the rare class."""
    recall, false_alarms = float(predicted[rare].mean()), float(predicted[~rare].mean())
    f1 = 2 * share * recall / (share + share * recall + (1 - share) * false_alarms)
    return Scores(recall, f1, (recall + 1 - false_alarms) / 2)


# ---- in words


def summarised(found: list[dict[str, Any]]) -> str:
    """The mean scores over all sets."""
    lines = []
    for learner, options in found[0]["results"].items():
        for option in options:
            scores = [Scores(**row["results"][learner][option]) for row in found]
            lines.append([learner, option, *[f"{100 * x:.1f}" for x in np.mean(scores, axis=0)]])
    return results.table(["learner", "option", "recall, %", "F1, %", "balanced accuracy, %"], lines)


def by_set(found: list[dict[str, Any]], learner: str) -> str:
    """The scores of one learner: one line per set, one column per option."""
    options = list(found[0]["results"][learner])
    lines = []
    for row in found:
        scores = [Scores(**row["results"][learner][option]) for option in options]
        shown = [" / ".join(f"{100 * x:.1f}" for x in one) for one in scores]
        lines.append([row["name"], f"{row['rare']:,} of {row['rows']:,}", *shown])
    return results.table([learner, "rare", *options], lines)


def explanation() -> str:
    return (
        f"Recall of the rare class / its F1 / balanced accuracy on the test set, in %, means over {SEEDS} seeds. "
        "A percentage after a name: the share of the rarer class that stayed in the training set. Cost: missing an "
        f"example of the rare class costs n_common / n_rare, at most {DEAREST:.0f}; a false alarm costs 1. With "
        '"balanced" and cost, a false alarm costs n_rare / n_common, and missing an example of the rare class 1. Tuned '
        f"threshold: {HELD_OUT:.0%} of the training set are held out, and the threshold has the highest balanced "
        "accuracy on them. F1 is for a test set as imbalanced as the training set."
    )
