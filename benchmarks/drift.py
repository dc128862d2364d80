"""Streams that drift: every example is predicted, then learned, by ours and by River's learners behind a scaler.

The synthetic streams are of a seed that chose no default. Rows marked "chosen" take the setting that was best on the
first examples of the stream, and then start again from its beginning; all other rows choose nothing.
"""

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from river import ensemble, linear_model, multiclass, optim, preprocessing

from benchmarks import datasets, results
from perceptrons import Perceptron
from perceptrons.features import RunningScaler
from perceptrons.online import progressive

SEED = 0
BLOCK = 5_000  # examples that are made into dicts at a time, and that settings are chosen on
SHORT = 10_000  # examples for the ensembles, which take a hundred times as long
QUICK = 1_000


class Stream(NamedTuple):
    name: str
    X: np.ndarray
    y: np.ndarray

    @property
    def classes(self) -> int:
        return int(self.y.max()) + 1


class River:
    """A learner of River's, in the pipeline that its pages recommend, with our names."""

    classes_ = ()  # it answers from the first example on

    def __init__(self, model: Any) -> None:
        self._model = preprocessing.StandardScaler() | model
        self.predict_one, self.learn_one = self._model.predict_one, self._model.learn_one


def streams() -> Iterator[Stream]:
    yield Stream("elec2", *datasets.elec2_in_order())
    X, y = datasets.covtype_in_order()
    yield Stream("covtype, class 2 or not", X, (y == 1).astype(int))
    yield Stream("covtype, 7 classes, first 50,000", X[:50_000], y[:50_000])
    for kind in ("abrupt", "gradual"):
        yield Stream(f"hyperplane, {kind}", *hyperplane(kind, SEED))


def hyperplane(kind: str, seed: int, n: int = 100_000, d: int = 10, noise: float = 0.05) -> tuple[Any, Any]:
    """A hyperplane that jumps ten times ("abrupt") or turns twice in all ("gradual"); features on different scales."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if kind == "abrupt":
        w = np.repeat(rng.standard_normal((10, d)), n // 10, axis=0)
    else:
        first, second = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
        angle = np.linspace(0, 4 * np.pi, n)[:, None]
        w = np.cos(angle) * first + np.sin(angle) * second
    y = (np.einsum("ij,ij->i", X, w) > 0) ^ (rng.random(n) < noise)
    return (X + rng.normal(0, 3, d)) * np.exp(rng.normal(0, 2, d)), y.astype(int)


# ---- the learners


Make = Callable[[], Any]


def ours(**options: Any) -> Make:
    return partial(Perceptron, **options)


OURS: dict[str, Make] = {
    "ours: average": ours(),
    "ours: last": ours(combine="last"),
    "ours: recent": ours(combine="recent"),
    "ours: last, pa1": ours(combine="last", step="pa1"),
    "ours: recent, pa1": ours(combine="recent", step="pa1"),
}
STEPS: list[dict[str, Any]] = [{}, *({"step": "pa1", "C": C} for C in (0.01, 0.1, 1.0))]
WAYS: list[dict[str, Any]] = [{"combine": "last"}, *({"combine": "recent", "window": w} for w in (100, 500, 2000))]
OUR_GRID = {_name: ours(**way, **step) for way in WAYS for step in STEPS
            for _name in [", ".join(f"{key}={value}" for key, value in {**way, **step}.items())]}  # fmt: skip


def rivers(classes: int) -> dict[str, Make]:
    kinds = ("Perceptron", "PAClassifier", "LogisticRegression")
    return {f"River {kind}": _river(getattr(linear_model, kind), classes) for kind in kinds}


def river_grid(classes: int) -> dict[str, Make]:
    found = {f"PAClassifier, C={C}": _river(partial(linear_model.PAClassifier, C=C), classes) for C in (0.01, 0.1, 1.0)}
    for rate in (0.01, 0.1, 1.0):
        found[f"LogisticRegression, SGD({rate})"] = _river(partial(_logistic, rate), classes)
    return found | {"Perceptron": _river(linear_model.Perceptron, classes)}


def ensembles() -> dict[str, Make]:
    kinds = ("ADWINBaggingClassifier", "ADWINBoostingClassifier", "LeveragingBaggingClassifier")
    return {f"River {kind}": partial(_ensemble, kind) for kind in kinds}


def _logistic(rate: float) -> Any:
    return linear_model.LogisticRegression(optim.SGD(rate))


def _ensemble(kind: str) -> River:
    return River(getattr(ensemble, kind)(linear_model.LogisticRegression(), n_models=10, seed=SEED))


def _river(make: Make, classes: int) -> Make:
    return lambda: River(make() if classes == 2 else multiclass.OneVsRestClassifier(make()))


# ---- measuring


def run(quick: bool) -> None:
    found = []
    for stream in streams():
        n = QUICK if quick else len(stream.y)
        stream = stream._replace(X=stream.X[:n], y=stream.y[:n])
        found.append({
            "name": stream.name, "examples": n, "features": stream.X.shape[1], "classes": stream.classes,
            "results": measure(stream),
        })  # fmt: skip
        print(f"{stream.name}: {len(found[-1]['results'])} learners", flush=True)
    markdown = "\n\n".join([
        describe(found), f"### Ensembles, on the first {SHORT:,} examples\n\n{describe_short(found)}", note(found),
    ])  # fmt: skip
    results.write("drift", {"streams": found}, markdown, {"drift": describe(found)}, quick)


def measure(stream: Stream) -> list[dict[str, Any]]:
    learners = OURS | rivers(stream.classes)
    chosen = {}
    for name, grid in (("ours: chosen", OUR_GRID), ("River: chosen", river_grid(stream.classes))):
        start = stream._replace(X=stream.X[:BLOCK], y=stream.y[:BLOCK])
        best = max(grid, key=lambda one, grid=grid, start=start: prequential(start, grid[one])["accuracy"])
        learners[name], chosen[name] = grid[best], best
    rows = [{"name": name, "setting": chosen.get(name, ""), **prequential(stream, learners[name])} for name in learners]
    if stream.classes == 2:
        short = stream._replace(X=stream.X[:SHORT], y=stream.y[:SHORT])
        rows += [{"name": name, "setting": "", **prequential(short, make)} for name, make in ensembles().items()]
    return rows


def prequential(stream: Stream, make: Make) -> dict[str, Any]:
    """The share of right answers, over all examples and over the first ones, and microseconds per example."""
    model = make()
    scaler = None if isinstance(model, River) else RunningScaler()
    names, mistakes, early, seconds = [f"f{j}" for j in range(stream.X.shape[1])], 0, 0, 0.0
    labels = (stream.y == 1).tolist() if stream.classes == 2 else stream.y.tolist()
    for start in range(0, len(labels), BLOCK):
        block = [dict(zip(names, x, strict=True)) for x in stream.X[start : start + BLOCK].tolist()]
        began = perf_counter()
        mistakes += progressive(model, zip(block, labels[start : start + BLOCK], strict=True), scaler=scaler).mistakes
        seconds += perf_counter() - began
        early = mistakes if start < SHORT else early
    n = len(labels)
    return {
        "examples": n, "accuracy": 1 - mistakes / n, "early": 1 - early / min(n, SHORT),
        "microseconds": 1e6 * seconds / n,
    }  # fmt: skip


# ---- in words


def _rows(stream: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in stream["results"]}


def describe(found: list[dict[str, Any]]) -> str:
    names = [name for name in _rows(found[0]) if all(name in _rows(stream) for stream in found)]
    lines = []
    for name in names:
        rows = [_rows(stream)[name] for stream in found]
        cells = [f"{100 * row['accuracy']:.2f}" for row in rows]
        cells += [f"{row['microseconds']:.0f}" for row in rows[:2]]
        lines.append([name, *cells])
    head = [f"{stream['name']}, %" for stream in found] + [f"{stream['name']}, µs" for stream in found[:2]]
    return results.table(["predicted, then learned", *head], lines)


def describe_short(found: list[dict[str, Any]]) -> str:
    two = [stream for stream in found if stream["classes"] == 2]
    lines = []
    for name in _rows(two[0]):
        rows = [_rows(stream)[name] for stream in two]
        cells = [f"{100 * row['early']:.2f}" for row in rows]
        lines.append([name, *cells, f"{rows[0]['microseconds']:.0f}"])
    return results.table([f"first {SHORT:,}, %", *[stream["name"] for stream in two], f"{two[0]['name']}, µs"], lines)


def note(found: list[dict[str, Any]]) -> str:
    chosen = [
        f"{stream['name']}: ours {_rows(stream)['ours: chosen']['setting']}; "
        f"River {_rows(stream)['River: chosen']['setting']}" for stream in found
    ]  # fmt: skip
    return (
        "Every example is predicted before it is learned, as a dict of all its features. Ours stand behind "
        "RunningScaler(), River's behind StandardScaler(), and both scalers count an example before it is scaled. "
        "River's learners are one-vs-rest for several classes; its ensembles are of ten logistic regressions. Time is "
        "of scaling, predicting and learning, on a machine that did other work too. Chosen on the first "
        f"{BLOCK:,} examples of {len(OUR_GRID)} settings of ours and {len(river_grid(2))} of River's: "
        f"{'. '.join(chosen)}."
    )
