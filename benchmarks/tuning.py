"""Tuning settings and epochs: the recipe, which runs each setting once, beside searches that run all numbers of epochs.

All use the same training and validation sets and the same settings; searches of scikit-learn get them by `cv`. Times
are of the search alone, without the final fit and the test.
"""

import time
from typing import Any

from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV

from benchmarks import datasets, results
from perceptrons import Perceptron
from perceptrons.selection import parts_of, recipe, usual_grid

DATA = ("a9a", "20news-bydate", "letter-scaled")
EPOCHS = (1, 2, 3, 5, 7, 10, 14, 20, 28, 40)
ALPHAS = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3)  # as many settings as the usual grid has
REPEATS = 3
QUICK = 600  # training rows


def run(quick: bool) -> None:
    found = [measure(name, quick) for name in DATA]
    results.write("tuning", {"sets": found}, describe(found), {"tuning": describe(found)}, quick)


def measure(name: str, quick: bool) -> dict[str, Any]:
    split = datasets.shuffled(datasets.load(name), QUICK if quick else None)
    X, y = split.X_train, split.y_train
    estimator = Perceptron(margin=0, intercept_scaling=1, tol=None, max_iter=max(EPOCHS))
    settings = usual_grid(estimator, X)
    named = [one | {"max_iter": list(EPOCHS)} for one in settings]
    cv = parts_of(X, y, test=0).cv()
    sgd = {"alpha": list(ALPHAS), "max_iter": list(EPOCHS)}
    ways = {
        "recipe": lambda: recipe(estimator, X, y, named, test=0).dev_score,
        "recipe, all epochs": lambda: recipe(estimator, X, y, settings, test=0).dev_score,
        "GridSearchCV(Perceptron)": lambda: _searched(estimator, named, cv, X, y),
        "GridSearchCV(SGDClassifier)": lambda: _searched(SGDClassifier(tol=None, random_state=0), sgd, cv, X, y),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    scores = {}
    for _ in range(1 if quick else REPEATS):
        for way, call in ways.items():
            began = time.perf_counter()
            scores[way] = call()
            times[way].append(time.perf_counter() - began)
    best = {way: min(seconds) for way, seconds in times.items()}
    print(name, best, scores, flush=True)
    assert scores["recipe"] == scores["GridSearchCV(Perceptron)"], "one run and separate runs must agree"
    size = {"rows": len(y), "features": X.shape[1], "classes": int(y.max()) + 1}
    return {"name": name, **size, "settings": 8 * len(EPOCHS), "seconds": best, "scores": scores, "times": times}


def _searched(estimator: Any, grid: Any, cv: Any, X: Any, y: Any) -> float:
    return float(GridSearchCV(estimator, grid, cv=cv, refit=False).fit(X, y).best_score_)


def describe(found: list[dict[str, Any]]) -> str:
    ways = list(found[0]["seconds"])
    head = ["8 settings × 10 numbers of epochs", *(f"{way}, s" for way in ways), "times as fast as GridSearchCV"]
    rows = []
    for one in found:
        seconds = one["seconds"]
        ratio = f"{seconds['GridSearchCV(Perceptron)'] / seconds['recipe']:.1f}×"
        rows.append([f"{one['name']}, {one['rows']:,} × {one['features']:,}", *seconds.values(), ratio])
    note = (
        "Best of 3 in turns, one core. The recipe and `GridSearchCV(Perceptron)` find exactly the same score. "
        "`recipe, all epochs` tries every number of epochs up to 40. Best accuracy on the validation set, in %: "
        + "; ".join(
            f"{one['name']} " + ", ".join(f"{100 * one['scores'][way]:.2f}" for way in ways if way != ways[0])
            for one in found
        )
        + f" (in this order: {', '.join(f'`{way}`' for way in ways[1:])})."
    )
    return f"{results.table(head, rows)}\n\n{note}"
