"""Several labels a row: ours, all labels in one pass, beside scikit-learn's OneVsRestClassifier, on Mulan's sets."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.metrics import accuracy_score, f1_score, hamming_loss
from sklearn.multiclass import OneVsRestClassifier

from benchmarks import datasets, peers, results
from perceptrons import Perceptron

SEEDS = 5
MEASURES = {  # name: (how to measure, is more better?)
    "micro F1": (lambda true, found: f1_score(true, found, average="micro", zero_division=0), True),
    "macro F1": (lambda true, found: f1_score(true, found, average="macro", zero_division=0), True),
    "Hamming loss": (hamming_loss, False),
    "subset accuracy": (accuracy_score, True),
}


def contestants() -> dict[str, Any]:
    """All stop when their own default rule says so. C=1 is the default; 0.01 is there for noisy labels."""
    return {
        "ours": Perceptron(),
        "ours: margin 0": Perceptron(margin=0.0, intercept_scaling=1.0),
        "ours: margin 1": Perceptron(margin=1.0, intercept_scaling=1.0),
        "ours: pa1": Perceptron(step="pa1"),
        "ours: pa1, C 0.01": Perceptron(step="pa1", C=0.01),
        "ours: arow": Perceptron(step="arow"),
        "ours: arow, C 0.01": Perceptron(step="arow", C=0.01),
        "ours: balanced": Perceptron(class_weight="balanced"),
        "sklearn Perceptron": OneVsRestClassifier(SklearnPerceptron()),
        "sklearn Perceptron, balanced": OneVsRestClassifier(SklearnPerceptron(class_weight="balanced")),
        "sklearn SGDClassifier": OneVsRestClassifier(SGDClassifier()),
        "sklearn LogisticRegression": OneVsRestClassifier(LogisticRegression(max_iter=1000)),
    }


def run(quick: bool) -> None:
    found, parts = [], []
    for name in datasets.SEVERAL:
        split = datasets.load_several(name)
        if quick:
            split = datasets.shuffled(split, 200)
        size = {"rows": len(split.y_train), "features": split.X_train.shape[1], "labels": split.y_train.shape[1]}
        rows = {title: measure(model, split, 1 if quick else SEEDS) for title, model in contestants().items()}
        found.append({"name": name, **size, "tested_on": len(split.y_test), "results": rows})
        parts.append(
            f"### {name}: {size['rows']} rows, {size['features']} features, {size['labels']} labels\n\n{describe(rows)}"
        )
    note = "Features standardised on the training rows; scores are means of"
    parts.append(f"{note} {SEEDS} seeds, and times their minimum.")
    markdown = "\n\n".join(parts)
    results.write("multilabel", {"sets": found}, markdown, {"multilabel": markdown}, quick)


def measure(model: Any, split: datasets.Split, seeds: int) -> dict[str, float]:
    """Mean figures over a few seeds, and the least time: the first may hold a compilation."""
    seconds, figures = [], []
    for seed in range(seeds):
        seeded = clone(model)
        key = "random_state" if "random_state" in seeded.get_params() else "estimator__random_state"
        seeded.set_params(**{key: seed})
        seconds.append(peers.timed(lambda seeded=seeded: seeded.fit(split.X_train, split.y_train))[1])
        predicted = seeded.predict(split.X_test)
        figures.append([value(split.y_test, predicted) for value, _ in MEASURES.values()])
    return dict(zip(MEASURES, np.mean(figures, axis=0).tolist(), strict=True)) | {"seconds": min(seconds)}


def describe(rows: dict[str, dict[str, float]]) -> str:
    """The best of every measure, to the digits shown, in bold."""
    best = {}
    for name, (_, more) in MEASURES.items():
        best[name] = f"{(max if more else min)(row[name] for row in rows.values()):.3f}"
    lines = []
    for title, row in rows.items():
        shown = [f"{row[name]:.3f}" for name in MEASURES]
        bold = [f"**{text}**" if text == best[name] else text for name, text in zip(MEASURES, shown, strict=True)]
        lines.append([title, *bold, row["seconds"]])
    return results.table(["", *MEASURES, "s"], lines)
