"""Fitted models that keep learning: do they follow what changed, and lose nothing where nothing changed?

"follow" is the default. "average" is keep_learning="average", which counts a new example as much as one visit of the
fit, as all models did before they followed. "last" and "recent" were fitted with that `combine`.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import thread_time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

import perceptrons
from benchmarks import datasets, results
from benchmarks.drift import hyperplane
from perceptrons import Perceptron
from perceptrons.cli import main

SEED = 0
WAYS: dict[str, dict[str, Any]] = {
    "follow": {}, "average": {"keep_learning": "average"}, "last": {"combine": "last"}, "recent": {"combine": "recent"},
}  # fmt: skip
UNCHANGED = (
    "a9a", "adult", "letter-scaled", "usps", "sms-spam", "rt-polarity", "trec-qc", "covtype", "mushrooms", "mnist",
)  # fmt: skip
ROWS, WIDE_ROWS, WIDE = 30_000, 8_000, 2_000  # rows of a set at most, fewer of those with many features
TEXT, MAX_REPETITIONS = "spam offer today", 5_000
MAIL_BLOCK = 50  # messages between two updates
QUICK = 400
TIMED, REPEATS = 200, 7


class Stream(NamedTuple):
    """Data in their order, of which the first are fitted. block: rows that are predicted, and then learned, at once."""

    name: str
    X: Any
    y: np.ndarray
    first: int
    block: int = 1


def run(quick: bool) -> None:
    found = {
        "repeated": repeated(quick),
        "concept": second_concept(quick),
        "drifting": [measure(stream, list(WAYS), quick) for stream in drifting()],
        "unchanged": [measure(stream, ["follow", "average"], quick) for stream in unchanged()],
        "times": times(quick),
    }
    write(found, quick)


def write(found: dict[str, Any], quick: bool) -> None:
    tables = [
        f"### What was asked\n\n{verdict(found)}",
        f"### Streams that drift\n\n{describe(found['drifting'])}",
        f"### Unchanged data\n\n{describe(found['unchanged'])}",
        f"### A second concept\n\n{describe_concept(found['concept'])}",
        f"### Time of `learn_one`\n\n{describe_times(found['times'])}",
        NOTE,
    ]
    results.write("continued", found, "\n\n".join(tables), {"continued": verdict(found)}, quick)


# ---- the data


def drifting() -> Iterator[Stream]:
    yield newsgroups()
    X, y = datasets.elec2_in_order()
    yield Stream("elec2", standardised(X), y, len(y) // 2)
    X, y = datasets.covtype_in_order()
    yield Stream("covtype, in its order", standardised(X[:60_000]), y[:60_000], 30_000)
    for kind in ("abrupt", "gradual"):
        for noise in (0.05, 0.2):
            X, y = hyperplane(kind, SEED, n=60_000, noise=noise)
            yield Stream(f"hyperplane, {kind}, {noise:.0%} noise", standardised(X), y, len(y) // 2)


def newsgroups() -> Stream:
    """Subject and body of every message, with the 7 top groups as labels; those of the earlier part are fitted.

    The messages have no dates, but the numbers of each group rise with time: groups are merged by rank.
    """
    rows = []
    for part, messages in datasets.newsgroup_messages_in_order().items():
        rows += [(part == "test", place, text, group.split(".")[0]) for place, group, text in messages]
    rows.sort(key=lambda row: row[:2])
    first = sum(not row[0] for row in rows)
    texts = [row[2] for row in rows]
    vectors = TfidfVectorizer(sublinear_tf=True, min_df=2).fit(texts[:first])
    y = np.unique([row[3] for row in rows], return_inverse=True)[1]
    return Stream("20 newsgroups, in order of date", sp.csr_matrix(vectors.transform(texts)), y, first, MAIL_BLOCK)


def unchanged() -> Iterator[Stream]:
    for name in UNCHANGED:
        split = datasets.load(name)
        if name == "covtype":
            split = datasets.standardised(split)
        n = WIDE_ROWS if split.X_train.shape[1] > WIDE else ROWS
        split = datasets.shuffled(split, min(n, 10_000) if name == "mnist" else n)
        X, y = split.X_train, split.y_train
        yield Stream(name, sp.csr_matrix(X) if sp.issparse(X) else X, y, len(y) // 2)


def concept(n: int, seed: int, d: int = 20, noise: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Points on the two sides of a random hyperplane, of which some have the wrong label."""
    rng = np.random.default_rng(seed)
    u, X = rng.standard_normal(d), rng.standard_normal((n, d))
    return X, ((X @ u > 0) ^ (rng.random(n) < noise)).astype(int)


def standardised(X: Any) -> np.ndarray:
    X = np.asarray(X, np.float64)
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


# ---- measuring


def measure(stream: Stream, ways: list[str], quick: bool) -> dict[str, Any]:
    """The share of right predictions after the fit, each made before the example was learned from."""
    X, y, n = stream.X, stream.y, stream.first
    end = n + QUICK if quick else len(y)
    if quick:
        X, y, n, end = X[n - QUICK : n + QUICK], y[n - QUICK : n + QUICK], QUICK, 2 * QUICK
    accuracy = {}
    for way in ways:
        model = Perceptron(**WAYS[way]).fit(X[:n], y[:n])
        starts = range(n, end, stream.block)
        if stream.block == 1 and not sp.issparse(X):
            right = sum(_predict_and_learn(model, X[i], y[i]) for i in starts)
        else:
            ends = [start + stream.block for start in starts]
            right = sum(_predict_and_learn_block(model, X[a:b], y[a:b]) for a, b in zip(starts, ends, strict=True))
        accuracy[way] = right / (end - n)
    print(stream.name, {way: f"{share:.2%}" for way, share in accuracy.items()}, flush=True)
    return {"name": stream.name, "fitted": n, "learned": end - n, "features": X.shape[1], "accuracy": accuracy}


def _predict_and_learn(model: Perceptron, x: np.ndarray, label: Any) -> bool:
    right = model.predict_one(x) == label
    model.learn_one(x, label)
    return bool(right)


def _predict_and_learn_block(model: Perceptron, X: Any, y: np.ndarray) -> int:
    right = int((model.predict(X) == y).sum())
    model.partial_fit(X, y)
    return right


def repeated(quick: bool) -> dict[str, Any]:
    """How often a text has to be taught as spam to the model of `train --example sms` until it is predicted so."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sms.model"
        main(["train", "--example", "sms", "-o", str(path), "--quiet"])
        for way in ("follow", "average", "last"):
            model, n = perceptrons.load(path).set_params(**WAYS[way]), 0
            while model.predict_one(TEXT) != "spam" and n < (QUICK if quick else MAX_REPETITIONS):
                model.learn_one(TEXT, "spam")
                n += 1
            found[way] = n if model.predict_one(TEXT) == "spam" else None
    return found


def second_concept(quick: bool) -> list[dict[str, Any]]:
    """Accuracy on held-out rows of the second concept, after a fit on rows of the first and blocks of the second."""
    n = QUICK if quick else 50_000
    X, y = concept(n + 20_000, SEED + 1)
    first, held_out, found = concept(n, SEED), (X[n:], y[n:]), []
    early = n // 10
    for way, options in WAYS.items():
        model = Perceptron(**options).fit(*first)
        after = [model.partial_fit(X[a:b], y[a:b]).score(*held_out) for a, b in ((0, early), (early, n))]
        found.append({"way": way, "early": after[0], "end": after[1]})
    fresh = [Perceptron().fit(X[:size], y[:size]).score(*held_out) for size in (early, n)]
    return [*found, {"way": "a fresh fit on the second concept", "early": fresh[0], "end": fresh[1]}]


def times(quick: bool) -> list[dict[str, Any]]:
    """Microseconds of CPU time of a `learn_one`, of the fastest of many short turns."""
    n = QUICK if quick else 4_000
    X, y = concept(n, SEED)
    cases: dict[str, tuple[list[Any], list[Any]]] = {"20 numbers, two classes": (X.tolist(), y.tolist())}
    names = [f"f{j}" for j in range(X.shape[1])]
    cases["a dict of 20 features, two classes"] = [dict(zip(names, x, strict=True)) for x in X.tolist()], y.tolist()
    y = (X @ np.random.default_rng(SEED).standard_normal((X.shape[1], 10))).argmax(axis=1)
    cases["20 numbers, ten classes"] = (X.tolist(), y.tolist())
    return [{"name": name, **_timed(*case)} for name, case in cases.items()]


def _timed(examples: list[Any], labels: list[Any]) -> dict[str, float]:
    models: dict[str, Perceptron] = {}
    for way in ("follow", "average"):
        models[way] = Perceptron(**WAYS[way])
        if isinstance(examples[0], dict):
            import pandas as pd

            models[way].fit(pd.DataFrame(examples), labels)
        else:
            models[way].fit(np.array(examples), labels)
    best = dict.fromkeys(models, np.inf)
    for start in [*range(0, len(labels), TIMED)] * REPEATS:  # in short turns: other work of the machine hits both
        part = list(zip(examples[start : start + TIMED], labels[start : start + TIMED], strict=True))
        for way, model in models.items():
            began = thread_time()
            for x, label in part:
                model.learn_one(x, label)
            best[way] = min(best[way], 1e6 * (thread_time() - began) / len(part))
    return best


# ---- in words


NOTE = (
    "Every example is predicted before it is learned from. The newsgroups are updated every "
    f"{MAIL_BLOCK} messages, everything else after every example. Unchanged data are shuffled."
)
LEAST = 0.1  # points that may be lost


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}%"


def _lost(one: dict[str, Any]) -> float:
    """Points of "follow" above "average"."""
    return float(100 * (one["accuracy"]["follow"] - one["accuracy"]["average"]))


def _ahead(one: dict[str, Any]) -> float:
    """Points of "follow" above the better of "last" and "recent"."""
    shares = one["accuracy"]
    return float(100 * (shares["follow"] - max(shares["last"], shares["recent"])))


def verdict(found: dict[str, Any]) -> str:
    concept = {one["way"]: one for one in found["concept"]}
    mail, ahead, changes = found["drifting"][0], [*map(_ahead, found["drifting"])], [*map(_lost, found["unchanged"])]
    ratio = max(one["follow"] / one["average"] for one in found["times"])
    needed, needed_before = found["repeated"]["follow"], found["repeated"]["average"]
    best = max(mail["accuracy"]["last"], mail["accuracy"]["recent"]) - LEAST / 100
    rows = [
        ["a text, taught as spam again and again, is spam after", "≤ 50 times", f"{needed} times",
         f"more than {MAX_REPETITIONS:,} times" if needed_before is None else f"{needed_before:,} times"],
        *[
            [f"a second concept, after {n:,} rows", f"≥ {asked}%", _percent(concept["follow"][when]),
             _percent(concept["average"][when])]
            for n, asked, when in ((5_000, 90, "early"), (50_000, 92, "end"))
        ],
        ["newsgroups in order of date", f"≥ {_percent(best, 2)} (the better of last and recent, minus {LEAST} points)",
         _percent(mail["accuracy"]["follow"], 2), _percent(mail["accuracy"]["average"], 2)],
        [f"{len(ahead)} drifting streams, points above the better of last and recent: mean (least)", f"≥ -{LEAST}",
         f"{np.mean(ahead):+.2f} ({min(ahead):+.2f})", ""],
        [f"{len(changes)} unchanged sets, change in points: mean (least)", f"≥ -{LEAST}",
         f"{np.mean(changes):+.2f} ({min(changes):+.2f})", "0"],
        ["time of `learn_one`, largest ratio", "≤ 1.3×", f"{ratio:.2f}×", "1×"],
    ]  # fmt: skip
    return results.table(["learning after a fit", "asked", "now", "before"], rows)


def describe(found: list[dict[str, Any]]) -> str:
    ways = list(found[0]["accuracy"])
    lines = [
        [one["name"], f"{one['fitted']:,} + {one['learned']:,}", *[f"{100 * one['accuracy'][way]:.2f}" for way in ways]]
        for one in found
    ]
    return results.table(["correct after the fit, %", "fitted + learned", *ways], lines)


def describe_concept(found: list[dict[str, Any]]) -> str:
    lines = [[one["way"], f"{100 * one['early']:.1f}", f"{100 * one['end']:.1f}"] for one in found]
    return results.table(["correct on the second concept, %", "after 5,000 rows", "after 50,000 rows"], lines)


def describe_times(found: list[dict[str, Any]]) -> str:
    lines = [
        [one["name"], f"{one['average']:.1f}", f"{one['follow']:.1f}", f"{one['follow'] / one['average']:.2f}×"]
        for one in found
    ]
    return results.table(["µs", "average", "follow", ""], lines)
