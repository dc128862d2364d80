"""One example at a time: the time of `learn_one` and `predict_one` for dicts of 8 features, beside River's Perceptron.

All take the same examples in turns, a few hundred at a time, over and over; what is reported is the least time of a
turn, divided by its examples. The weights are compared with those of `partial_fit` on the same rows.
"""

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from river import evaluate, linear_model, metrics, multiclass, preprocessing

from benchmarks import datasets, peers, results
from perceptrons import Perceptron
from perceptrons.river import RiverPerceptron

FEATURES = 8
EXAMPLES = 250  # a turn: short, so that some turns are not interrupted by whatever else runs
REPEATS = 400
ASKED = {"learn": 8.0, "predict": 4.0}  # microseconds, for the cases marked below
TIMES_RIVER = 3.0
WANTED = ("two classes, strings", "two classes, numbers")

Stream = list[tuple[Any, Any]]


def draw(seed: int, noise: float, classes: int = 2, features: int = FEATURES) -> tuple[np.ndarray, np.ndarray]:
    """Normal features, and the classes that a linear rule gives; a share of the labels is drawn at random."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((EXAMPLES, features))
    y = (X @ rng.standard_normal((features, classes))).argmax(axis=1)
    return X, np.where(rng.random(EXAMPLES) < noise, rng.integers(0, classes, EXAMPLES), y)


def dicts(X: np.ndarray, labels: list[Any]) -> Stream:
    names = [f"f{j}" for j in range(X.shape[1])]
    return [(dict(zip(names, x, strict=True)), label) for x, label in zip(X.tolist(), labels, strict=True)]


def cases() -> dict[str, tuple[Callable[[], Any], Stream]]:
    """By name, a model that has learned nothing, and its stream."""
    found: dict[str, tuple[Callable[[], Any], Stream]] = {}
    for often, noise in (("rare updates", 0.0), ("frequent updates", 1.0)):
        X, y = draw(0, noise)
        found[f"River Perceptron, {often}"] = linear_model.Perceptron, dicts(X, (y == 1).tolist())
        found[f"two classes, strings, {often}"] = Perceptron, dicts(X, [("ham", "spam")[k] for k in y])
        found[f"two classes, numbers, {often}"] = Perceptron, dicts(X, y.tolist())
        found[f"RiverPerceptron, {often}"] = RiverPerceptron, dicts(X, (y == 1).tolist())
    X, y = draw(0, 0.3)
    labels = y.tolist()
    decay = {"penalty": "l2", "alpha": 1e-3}
    for options in ({"combine": "last"}, {"margin": 1.0}, {"step": "pa1"}, {"step": "arow"}, decay):
        name = ", ".join(f"{key}={value!r}" for key, value in options.items())
        found[name] = partial(Perceptron, **options), dicts(X, labels)  # type: ignore[arg-type]
    X5, y5 = draw(0, 0.3, classes=5)
    found["River one-vs-rest, 5 classes"] = _river_five, dicts(X5, y5.tolist())
    found["5 classes"] = Perceptron, dicts(X5, y5.tolist())
    halved = np.where(np.random.default_rng(1).random(X.shape) < 0.5, 0.0, X)
    found["half of the values 0"] = Perceptron, dicts(halved, labels)
    wide, of_wide = draw(0, 0.3, features=100)
    found["River Perceptron, 100 features"] = linear_model.Perceptron, dicts(wide, (of_wide == 1).tolist())
    found["100 features"] = Perceptron, dicts(wide, of_wide.tolist())
    words = [{name: "high" if value > 0 else "low" for name, value in x.items()} for x, _ in dicts(X, labels)]
    found["8 string values"] = Perceptron, list(zip(words, labels, strict=True))
    found["a list of 8 numbers"] = Perceptron, list(zip(X.tolist(), labels, strict=True))
    found["an array of 8 numbers"] = Perceptron, list(zip(X, labels, strict=True))
    return found


def _river_five() -> Any:
    return multiclass.OneVsRestClassifier(linear_model.Perceptron())


def run(quick: bool) -> None:
    models: dict[str, Any] = {}
    work: dict[str, Callable[[], tuple[float, float]]] = {}
    streams = cases()
    for name, (make, stream) in streams.items():
        models[name] = make()
        work[name] = partial(turn, models[name], stream)
        work[name]()  # compiles, and meets all features and classes
    takes = peers.in_turns(work, 20 if quick else REPEATS)
    found = [
        {
            "name": name,
            "learn": min(learn for learn, _ in takes[name]),
            "predict": min(predict for _, predict in takes[name]),
            "updates": updates_per_example(*streams[name]),
            "same": same_bits(*streams[name]),
        }
        for name in work
    ]
    pipelines = in_pipelines(quick)
    markdown = "\n\n".join(
        [describe(found), f"### What was asked\n\n{verdict(found)}", note(), "### In River's pipelines",
         describe_pipelines(pipelines)]
    )  # fmt: skip
    results.write("online", {"cases": found, "elec2": pipelines}, markdown, {"online": verdict(found)}, quick)


def turn(model: Any, stream: Stream) -> tuple[float, float]:
    """Microseconds an example: to learn from each, then to predict each."""
    learn, predict = model.learn_one, model.predict_one
    start = perf_counter()
    for x, label in stream:
        learn(x, label)
    middle = perf_counter()
    for x, _ in stream:
        predict(x)
    end = perf_counter()
    return (middle - start) / len(stream) * 1e6, (end - middle) / len(stream) * 1e6


def updates_per_example(make: Callable[[], Any], stream: Stream, rounds: int = 20) -> float:
    """Of ours, after some rounds: what a turn of the measurement does."""
    model, before = make(), 0
    if not isinstance(model, Perceptron):
        return float("nan")
    for _ in range(rounds):
        before = getattr(model, "n_updates_", 0) if hasattr(model, "classes_") else 0
        for x, label in stream:
            model.learn_one(x, label)
    return (model.n_updates_ - before) / len(stream)


def same_bits(make: Callable[[], Any], stream: Stream) -> str:
    """Are last and averaged weights those of `partial_fit`? Only dicts of numbers have rows to compare with."""
    single, block = make(), make()
    if not isinstance(single, Perceptron) or not isinstance(next(iter(stream))[0], dict):
        return "-"
    if isinstance(next(iter(stream[0][0].values())), str):
        return "-"
    for x, label in stream:
        single.learn_one(x, label)
    names = single.feature_names_in_.tolist()
    place = {name: number for number, name in enumerate(names)}
    rows = [[(place[name], value) for name, value in x.items() if value] for x, _ in stream]
    ends = np.cumsum([0, *(len(row) for row in rows)])
    columns, values = (np.array(part) for part in zip(*(entry for row in rows for entry in row), strict=True))
    X, y = sp.csr_matrix((values, columns, ends), shape=(len(rows), len(names))), [label for _, label in stream]
    known = max(y.index(label) for label in set(y)) + 1
    for i in range(known):
        block.partial_fit(X[i], y[i : i + 1])
    block.partial_fit(X[known:], y[known:])
    pairs = [(getattr(single, name), getattr(block, name)) for name in ("coef_last_", "coef_average_")]
    return "yes" if all(np.array_equal(one, other) for one, other in pairs) else "no"


# ---- elec2, in River's pipelines


PIPELINES: dict[str, Callable[[], Any]] = {
    "River Perceptron": linear_model.Perceptron,
    "River PAClassifier": linear_model.PAClassifier,
    "River LogisticRegression": linear_model.LogisticRegression,
    "RiverPerceptron": RiverPerceptron,
    'RiverPerceptron(combine="recent")': partial(RiverPerceptron, combine="recent"),
    'RiverPerceptron(combine="last")': partial(RiverPerceptron, combine="last"),
    'RiverPerceptron(step="pa1", C=0.1)': partial(RiverPerceptron, step="pa1", C=0.1),
}


def in_pipelines(quick: bool) -> list[dict[str, Any]]:
    """StandardScaler | model on elec2 in the order of time, by River's progressive validation: the least of turns."""
    X, y = datasets.elec2_in_order()
    stream = dicts(X[: 1000 if quick else None], (y == 1).tolist()[: 1000 if quick else None])
    rows = []
    for name, takes in peers.in_turns(
        {name: partial(_in_pipeline, make, stream) for name, make in PIPELINES.items()}, 1 if quick else 3
    ).items():
        seconds, accuracy = min(takes)
        rows.append({"name": name, "examples": len(stream), "seconds": seconds, "accuracy": accuracy})
    return rows


def _in_pipeline(make: Callable[[], Any], stream: Stream) -> tuple[float, float]:
    model, metric = preprocessing.StandardScaler() | make(), metrics.Accuracy()
    start = perf_counter()
    evaluate.progressive_val_score(stream, model, metric)
    return perf_counter() - start, metric.get()


def describe_pipelines(rows: list[dict[str, Any]]) -> str:
    first, n = rows[0], rows[0]["examples"]
    lines = [
        [row["name"], f"{row['accuracy']:.2%}", row["seconds"], row["seconds"] / n * 1e6,
         f"{row['seconds'] / first['seconds']:.2f}"]
        for row in rows
    ]  # fmt: skip
    said = (
        f"elec2, {n:,} examples in the order of time, `StandardScaler() | model`, by River's "
        "`progressive_val_score`: the time is that of the scaler, the model, the metric and the loop."
    )
    head = ["model", "accuracy", "seconds", "µs an example", "of River Perceptron's"]
    return f"{said}\n\n{results.table(head, lines)}"


# ---- in words


def _river(found: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """River's row to compare with: the one for the same number of classes and features, and the same updates."""
    kind = "5 classes" if "5 classes" in name else "100 features" if "100 features" in name else name.split(", ")[-1]
    rows = [row for row in found if row["name"].startswith("River ")]
    return next((row for row in rows if row["name"].endswith(kind)), rows[1])


def describe(found: list[dict[str, Any]]) -> str:
    lines = []
    for row in found:
        river = _river(found, row["name"])
        ratios = ["", ""] if river is row else [f"{row[key] / river[key]:.2f}" for key in ("learn", "predict")]
        lines.append([row["name"], row["learn"], ratios[0], row["predict"], ratios[1], row["updates"], row["same"]])
    head = ["case", "learn_one, µs", "of River's", "predict_one, µs", "of River's", "updates per example"]
    return results.table([*head, "same weights as partial_fit"], lines)


def verdict(found: list[dict[str, Any]]) -> str:
    lines = []
    for row in found:
        if row["name"].startswith(WANTED):
            river = _river(found, row["name"])
            for key, asked in ASKED.items():
                ratio = f"{row[key] / river[key]:.2f}"
                lines.append([row["name"], f"{key}_one", asked, row[key], river[key], TIMES_RIVER, ratio])
    head = ["dict of 8 known features", "", "asked, µs", "measured", "River's", "times River's, at most", "measured"]
    return results.table(head, lines)


def note() -> str:
    return (
        f"Dicts of {FEATURES} known features with float values, and known classes, unless the case says otherwise. "
        f"The least of {REPEATS} turns of {EXAMPLES} examples. River's learn_one includes a prediction; so does ours. "
        "River's Perceptron does not average its weights. Where the case has other options, other rows or strings, it "
        "stands beside River's Perceptron with frequent updates."
    )
