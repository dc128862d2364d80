"""One pass over the data, every step rule of ours beside scikit-learn, VW and River: test accuracy and time.

Everyone sees the same rows in the same seeded order, once. C is 1, or chosen on a tenth of the training rows held out;
the test rows choose nothing.
"""

from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.linear_model import SGDClassifier

from benchmarks import datasets, peers, results
from perceptrons import Perceptron

DATA = ("mnist", "a9a", "letter-scaled", "20news-bydate")
QUICK = 600  # training rows
GRID = (0.001, 0.01, 0.1, 1.0, 10.0)
REPEATS = 3
ASKED = 0.922  # of AROW on MNIST
CHOSEN = ", C held out"  # ends the name of a learner whose C was chosen
SHOWN = (  # in the pages that quote a few rows: nobody's parameters are chosen
    "ours: default, average",
    "ours: constant, average", "ours: constant, margin 1, average", "ours: pa1, average", "ours: pa2, average",
    "ours: arow, average", "ours: arow, last", "sklearn Perceptron", "sklearn PA-I", "sklearn SGD hinge, average",
    "sklearn SGD log_loss, average", "vw --sgd", "vw", "vw, logistic", "river PAClassifier",
)  # fmt: skip


def ours() -> dict[str, Perceptron]:
    """Learners by name, all with C=1."""
    lecture: dict[str, Any] = {"margin": 0.0, "intercept_scaling": 1.0}
    rules: dict[str, dict[str, Any]] = {"default": {}, "constant": lecture}
    rules["constant, margin 1"] = {**lecture, "margin": 1.0}
    rules |= {step: {"step": step} for step in ("pa", "pa1", "pa2", "arow")}
    rules["arow, one-vs-rest"] = {"step": "arow", "multiclass": "ovr"}
    ways = ("last", "average")
    return {f"ours: {rule}, {way}": Perceptron(combine=way, **rules[rule]) for rule in rules for way in ways}


def theirs() -> dict[str, Any]:
    """scikit-learn's; PA-I is what takes the place of its PassiveAggressiveClassifier, with the same weights."""
    sgd = partial(SGDClassifier, shuffle=False)
    return {
        "sklearn Perceptron": SklearnPerceptron(shuffle=False),
        "sklearn PA-I": sgd(penalty=None, learning_rate="pa1", eta0=1.0),
        "sklearn SGD hinge": sgd(),
        "sklearn SGD hinge, average": sgd(average=True),
        "sklearn SGD log_loss": sgd(loss="log_loss"),
        "sklearn SGD log_loss, average": sgd(loss="log_loss", average=True),
    }


def run(quick: bool) -> None:
    found = []
    for name in DATA:
        split = datasets.shuffled(datasets.load(name), QUICK if quick else None)
        rows, chosen = measure(split, quick)
        size = {"rows": len(split.y_train), "features": split.X_train.shape[1], "classes": int(split.y_train.max()) + 1}
        found.append({"name": name, **size, "results": [asdict(row) for row in rows], "C": chosen})
        print(f"{name}: {len(rows)} learners", flush=True)
    markdown = "\n\n".join([
        describe(found), f"### C, chosen on a held-out tenth of the training rows\n\n{describe_chosen(found)}",
        f"### What was asked\n\n{verdict(found)}", *notes(found),
    ])  # fmt: skip
    results.write("single_pass", {"sets": found}, markdown, {"single_pass": summary(found)}, quick)


def measure(split: datasets.Split, quick: bool) -> tuple[list[peers.Result], dict[str, float]]:
    """What every learner did, and the C of those whose C was chosen."""
    models, chosen = {}, {}
    for name, model in ours().items():
        models[name] = model
        if model.step in ("pa1", "pa2", "arow"):
            chosen[name + CHOSEN] = choose(model, split)
            models[name + CHOSEN] = clone(model).set_params(C=chosen[name + CHOSEN])
    data = split[1:]
    rounds = peers.in_turns(
        {name: partial(peers.one_pass, name, model, *data) for name, model in (models | theirs()).items()}, REPEATS
    )
    rows = [min(takes, key=lambda take: take.seconds_total) for takes in rounds.values()]
    for options in ({"plain": True}, {"plain": False}, {"plain": False, "loss": "logistic"}):
        rows.append(peers.vw(*data, 1, repeats=1 if quick else 2, **options))
    sparse = [sp.csr_matrix(part) if part.ndim == 2 else part for part in data]  # River is not given zeros, nor is VW
    for kind in ("Perceptron", "PAClassifier", "ALMAClassifier"):
        rows.append(peers.river(kind, *sparse, 1, limit=QUICK if quick else None))
    return rows, chosen


def choose(model: Perceptron, split: datasets.Split) -> float:
    """The C of the grid that is best on the last tenth of the training rows after a pass over the others."""
    cut = len(split.y_train) * 9 // 10
    X, y, classes = split.X_train, split.y_train, np.unique(split.y_train)
    scores = {
        C: clone(model).set_params(C=C).partial_fit(X[:cut], y[:cut], classes=classes).score(X[cut:], y[cut:])
        for C in GRID
    }
    return max(scores, key=lambda C: scores[C])


# ---- in words


def _by_name(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {result["name"]: result for result in row["results"]}


def _percent(row: dict[str, Any], name: str) -> str:
    return f"{100 * _by_name(row)[name]['accuracy']:.2f}"


def describe(found: list[dict[str, Any]]) -> str:
    lines = []
    for name in _by_name(found[0]):
        cells = [[_percent(row, name), _by_name(row)[name]["seconds_per_epoch"]] for row in found]
        lines.append([name, *[cell for pair in cells for cell in pair]])
    return results.table(["one pass", *[f"{row['name']}, {unit}" for row in found for unit in ("%", "s")]], lines)


def describe_chosen(found: list[dict[str, Any]]) -> str:
    lines = [[name.removesuffix(CHOSEN), *[f"{row['C'][name]:g}" for row in found]] for name in found[0]["C"]]
    return results.table(["", *[row["name"] for row in found]], lines)


def summary(found: list[dict[str, Any]]) -> str:
    lines = [[name, *[_percent(row, name) for row in found]] for name in SHOWN]
    return results.table(["one pass, accuracy in %", *[row["name"] for row in found]], lines)


def verdict(found: list[dict[str, Any]]) -> str:
    """AROW on MNIST, each way there is."""
    mnist = next(row for row in found if row["name"] == "mnist")
    lines = [[n, f"≥ {100 * ASKED:.1f}", _percent(mnist, n)] for n in _by_name(mnist) if "ours: arow" in n]
    return results.table(["AROW on MNIST, %", "asked", "measured"], lines)


def notes(found: list[dict[str, Any]]) -> list[str]:
    """What the times are, and which learners did not see everything."""
    all_results = [(row["name"], result) for row in found for result in row["results"]]
    limited = [f"{r['name']} on {data}: {r['note']}." for data, r in all_results if "scaled" in r["note"]]
    options = {r["name"]: r["note"] for r in found[0]["results"] if r["name"].startswith("vw")}
    return [
        f"Seconds are of training alone: the least of {REPEATS} takes for ours and scikit-learn; VW's is a pass over "
        "its binary cache, by two threads, text and cache written before; River's is without making the dicts, which "
        "hold no zeros. Sets with more than two classes are one-vs-rest but for ours, which is joint unless it says "
        f"so. VW on {found[0]['name']}: {'; '.join(f'{name}: {note}' for name, note in options.items())}.",
        *limited,
    ]
