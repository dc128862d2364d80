"""How the default margin and the default constant feature of the bias were chosen: by cross-validation.

Three folds of the training rows of every set (three times for small ones); no test row is used. Each table counts as it
is, and those of dense numbers also standardised. The margin is a multiple of the spread of the examples, or of their
mean square. The constant feature is 1, a typical value, or a typical length of an example. The last column is of one
pass over the rows. "auto" is the default: a margin that doubles from half a spread to six, and a typical value.
"""

import math
from collections import defaultdict
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from benchmarks import datasets, results
from perceptrons import Perceptron
from perceptrons.engine.training.inputs import as_rows
from perceptrons.engine.training.units import FIRST_MARGIN, MARGIN, moments

ROWS = 4000  # of a set that is not text
SMALL = 1200  # rows up to which the folds are drawn three times
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 16.0)
ONCE = "one pass"
TEXT = ("20news-bydate", "rcv1-vw-sample", "rt-polarity", "sms-spam", "trec-qc")
PEERS = {
    "SGDClassifier": lambda seed: SGDClassifier(random_state=seed),
    "SGDClassifier, average": lambda seed: SGDClassifier(average=True, random_state=seed),
    "LinearSVC": lambda seed: LinearSVC(random_state=seed),
}


def run(quick: bool) -> None:
    found: dict[str, dict[str, list[float]]] = {}
    names = [name for name in datasets.names() if name not in ("iris", "wine")]  # which are in uci/ too
    for name in names[-3:] if quick else names:
        split = datasets.load(name)
        found[name] = cross_validated(split.X_train, split.y_train)
        if not sp.issparse(split.X_train) and name not in datasets.EVEN:
            found[f"{name}, standardised"] = cross_validated(datasets.standardised(split).X_train, split.y_train)
        print(name, {key: round(100 * float(np.mean(value)), 1) for key, value in found[name].items()}, flush=True)
    groups = {
        "all": list(found),
        "text": [name for name in found if name in TEXT],
        "tables as they are": [name for name in found if name.startswith("uci/") and "standardised" not in name],
        "standardised": [name for name in found if "standardised" in name],
    }
    means = {name: {key: 100 * float(np.mean(values)) for key, values in found[name].items()} for name in found}
    head = [
        "cross-validated accuracy, %",
        *[f"{group} ({len(groups[group])})" for group in groups],
        ONCE,
        "largest loss",
    ]
    lines = []
    for key in [key for key in next(iter(means.values())) if not key.endswith(ONCE)]:
        mean = [f"{np.mean([means[name][key] for name in group]):.2f}" if group else "" for group in groups.values()]
        loss, where = min((means[name][key] - means[name]["margin 0, constant 1"], name) for name in means)
        once = [of[key + ONCE] for of in means.values() if key + ONCE in of]
        mean.append(f"{np.mean(once):.2f}" if once else "")
        lines.append([key, *mean, f"{loss:+.1f} ({where})" if loss < 0 else ""])
    table = results.table(head, lines)
    results.write("margins", {"sets": means, "chosen": [FIRST_MARGIN, MARGIN]}, table, {"margins": table}, quick)


def cross_validated(X: Any, y: np.ndarray) -> dict[str, list[float]]:
    """The accuracies of every choice on every fold."""
    if X.shape[0] > ROWS and (not sp.issparse(X) or X.shape[0] > 3 * ROWS):
        some = np.sort(np.random.default_rng(1).permutation(X.shape[0])[:ROWS])
        X, y = X[some], y[some]
    accuracies: dict[str, list[float]] = defaultdict(list)
    for seed in range(3 if X.shape[0] < SMALL else 1):
        for train, test in StratifiedKFold(3, shuffle=True, random_state=seed).split(y, y):
            for key, model in contestants(X[train], seed).items():
                accuracies[key].append(model.fit(X[train], y[train]).score(X[test], y[test]))
                if isinstance(model, Perceptron):
                    model.set_params(max_iter=1, tol=None).fit(X[train], y[train])
                    accuracies[key + ONCE].append(model.score(X[test], y[test]))
    return dict(accuracies)


def contestants(X: Any, seed: int) -> dict[str, Any]:
    """All that is compared, for these training rows."""
    found = moments(as_rows(X))
    spread, constant = found.units()
    square = found.square / found.n
    ours: dict[str, tuple[float, float]] = {f"margin 0, constant {name}": (0.0, value) for name, value in (
        ("1", 1.0), ("typical value", constant), ("typical length", math.sqrt(square)))}  # fmt: skip
    for factor in FACTORS:
        ours[f"margin {factor:g} × spread, constant typical value"] = factor * spread, constant
    for factor in (1.0, 4.0, 8.0):
        ours[f"margin {factor:g} × mean square, constant typical value"] = factor * square, constant
        ours[f"margin {factor:g} × spread, constant 1"] = factor * spread, 1.0
        ours[f"margin {factor:g} × spread, constant typical length"] = factor * spread, math.sqrt(square)
    made = {key: Perceptron(margin=margin, intercept_scaling=scaling, random_state=seed)
            for key, (margin, scaling) in ours.items()}  # fmt: skip
    made["auto"] = Perceptron(random_state=seed)
    return made | {name: make(seed) for name, make in PEERS.items()}
