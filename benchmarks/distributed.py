"""Mixing on a Dask cluster: seconds per epoch beside one machine and dask-ml, accuracy by shards, what a mix costs.

Workers are processes of this machine with one thread each, the data are chunks that lie on them. What a mix costs and
what follows for larger clusters is in `mixing.py`.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

from benchmarks import datasets, mixing, results
from benchmarks.peers import timed
from perceptrons import FeatureTemplates, Perceptron, SequencePerceptron
from perceptrons.distributed import fit
from perceptrons.sequence.phrases import phrase_scores

LOCAL, DASK_ML = "Perceptron.fit, no Dask", "dask-ml Incremental(SGDClassifier), 2 workers"
ONE, TWO_ON_ONE, TWO, FOUR = "1 worker, 1 shard", "1 worker, 2 shards", "2 workers, 2 shards", "4 workers, 4 shards"
CLUSTERS = {ONE: (1, 1), TWO_ON_ONE: (1, 2), TWO: (2, 2), FOUR: (4, 4)}  # workers, shards
EPOCHS, WARM, REPEATS = 9, 2, 3  # the first epochs compile and load; they are not counted
COLUMNS = 50_000
SHAPES = {"2 classes, 200 a row": (2, 200), "2 classes, 60 a row": (2, 60), "20 classes, 60 a row": (20, 60)}
JUDGED = "2 classes, 200 a row"  # where a pass takes one core about half a second
SETS = ("20news-bydate", "a9a", "mnist")
MIXES = [(shards, how) for shards in (4, 16) for how in ("mistakes", "uniform")]
TAGGING_EPOCHS = (10, 40)  # tried one after another, until the tagger is near enough
ASKED = {"faster": 1.6, "overhead": 15.0, "points": 0.3}


class Sizes(NamedTuple):
    rows: int = 1_000_000
    test: int = 50_000
    repeats: int = REPEATS
    sets: tuple[str, ...] = SETS
    sentences: int | None = None


QUICK = Sizes(20_000, 2000, 1, ("a9a",), 100)


def run(quick: bool) -> None:
    sizes = QUICK if quick else Sizes()
    found: dict[str, Any] = {"rows": sizes.rows, "speed": {}}
    for name, shape in SHAPES.items():
        found["speed"][name] = said(f"speed, {name}", speed(*shape, sizes))
    with cluster(2) as client:
        found["mixing"] = said("mixing", mixing.costs(client, quick))
    found["many"] = said("many workers", mixing.many_workers(quick))
    found["accuracy"] = said("accuracy", accuracy(sizes))
    found["model"] = said("model", mixing.model_of(found))
    parts = {
        "distributed": describe_short(found),
        "distributed speed": describe_speed(found),
        "distributed accuracy": describe_accuracy(found),
        "distributed scaling": describe_scaling(found),
        "distributed mixing": mixing.describe_costs(found),
        "distributed model": mixing.describe_model(found),
    }
    heads = ("In short", "Speed", "Accuracy", "More workers", "What a mix costs", "On paper")
    sections = [f"### {head}\n\n{text}" for head, text in zip(heads, parts.values(), strict=True)]
    results.write("distributed", found, "\n\n".join(sections), parts, quick)


def said(name: str, found: Any) -> Any:
    print(f"{name}: {json.dumps(found)[:3000]}", flush=True)
    return found


@contextmanager
def cluster(workers: int) -> Iterator[Client]:
    """Processes of this machine, a thread each."""
    options = {"threads_per_worker": 1, "processes": True, "memory_limit": 0, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=workers, **options) as local, Client(local) as client:
        client.wait_for_workers(workers)
        yield client


# ---- seconds per epoch


def speed(k: int, nonzeros: int, sizes: Sizes) -> dict[str, Any]:
    """On the same rows, which are on the workers before the clock starts; one cluster at a time, as idle ones cost."""
    X, y, test = text_like(k, nonzeros, sizes)
    model = partial(Perceptron, max_iter=EPOCHS, tol=None)
    found = {LOCAL: epochs_of([model().fit(X, y) for _ in range(sizes.repeats)], test)}
    for workers in dict.fromkeys(workers for workers, _ in CLUSTERS.values()):
        with cluster(workers) as client:
            for name, (_, shards) in CLUSTERS.items():
                if CLUSTERS[name][0] == workers:
                    data = mixing.on_workers(client, X, y, shards)
                    models = [mixed(model, *data, client, shards) for _ in range(sizes.repeats)]
                    found[name] = epochs_of(models, test)
            if workers == 2:
                found[DASK_ML] = dask_ml(client, *mixing.on_workers(client, X, y, 2), np.unique(y), test)
    return found


def text_like(k: int, nonzeros: int, sizes: Sizes) -> tuple[sp.csr_matrix, np.ndarray, tuple[Any, np.ndarray]]:
    n, shape = sizes.rows + sizes.test, (COLUMNS, nonzeros)
    X, y = datasets.sparse(n, *shape) if k == 2 else datasets.sparse_classes(n, *shape, k)
    return X[: sizes.rows], y[: sizes.rows], (X[sizes.rows :], y[sizes.rows :])


def mixed(model: Callable[[], Perceptron], X: Any, y: Any, client: Client, shards: int) -> Perceptron:
    return fit(model(), X, y, client, shards=shards)


def epochs_of(models: list[Perceptron], test: tuple[Any, np.ndarray]) -> dict[str, float]:
    """The median epoch of each run: the best of them, and the median. slowest: the pass of the slowest shard in it."""
    rows = [model.history_[WARM:] for model in models]
    seconds = [median(row["seconds"] for row in history) for history in rows]
    best = rows[int(np.argmin(seconds))]
    shards = [row["shards"]["seconds"] for row in best if "shards" in row]
    return {
        "best": min(seconds),
        "median": median(seconds),
        "slowest": median(map(max, shards)) if shards else min(seconds),
        "right": models[0].score(*test),
    }


def dask_ml(client: Client, X: Any, y: Any, classes: np.ndarray, test: tuple[Any, np.ndarray]) -> dict[str, float]:
    """The chunks one after another, the model going to where each is; default loss and parameters."""
    from dask_ml.wrappers import Incremental
    from sklearn.linear_model import SGDClassifier

    model = Incremental(SGDClassifier(random_state=0), random_state=0)
    epochs = 3 if len(classes) == 2 else 1
    with client.as_current():
        seconds = [timed(lambda: model.partial_fit(X, y, classes=classes))[1] for _ in range(epochs)]
    right = float(model.estimator_.score(*test))
    return {"best": min(seconds), "median": median(seconds), "slowest": min(seconds), "right": right}


# ---- accuracy


def accuracy(sizes: Sizes) -> list[dict[str, Any]]:
    """In percent, and after how many epochs. Workers are threads here: the result does not depend on them."""
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as client:
        linear = [line for name in sizes.sets for line in of_set(client, datasets.load(name))]
        return linear + of_tagger(client, datasets.load_sentences("conll2000", sizes.sentences))


def of_set(client: Client, data: datasets.Split) -> list[dict[str, Any]]:
    train, test = (data.X_train, data.y_train), (data.X_test, data.y_test)
    local = Perceptron().fit(*train)
    lines = [line(data.name, local, local.score(*test))]
    for shards, how in MIXES:
        model = fit(Perceptron(), *train, client, how, shards=shards)
        lines.append(line(data.name, model, model.score(*test), shards, how, lines[0]["right"]))
    return lines


def of_tagger(client: Client, data: datasets.Sentences) -> list[dict[str, Any]]:
    """F1 of phrases. Where the default number of epochs does not do, more of them; and then locally too."""
    train, name = (data.X_train, data.y_train), f"{data.name}, F1"
    templates = FeatureTemplates("chunking", columns=["word", "pos"])

    def f1(model: SequencePerceptron) -> float:
        return phrase_scores(data.y_test, model.predict(data.X_test)).f1

    def local(epochs: int) -> dict[str, Any]:
        model = SequencePerceptron(templates=templates, max_iter=epochs).fit(*train)
        return line(name, model, f1(model))

    lines = [local(TAGGING_EPOCHS[0])]
    most = TAGGING_EPOCHS[0]
    for shards, how in MIXES:
        for epochs in TAGGING_EPOCHS:
            model = SequencePerceptron(templates=templates, max_iter=epochs)
            fit(model, *train, client, how, shards=shards)
            lines.append(line(name, model, f1(model), shards, how, lines[0]["right"]))
            if lines[-1]["points"] >= -ASKED["points"]:
                break
        most = max(most, epochs)
    return [*lines, local(most)] if most > TAGGING_EPOCHS[0] else lines


def line(
    name: str, model: Any, right: float, shards: int = 0, how: str = "", local: float | None = None
) -> dict[str, Any]:
    """How good a model is, and what it took. points: more than locally, if that is known."""
    points = 0.0 if local is None else 100 * right - local
    found = {"set": name, "shards": shards, "mixing": how, "right": 100 * right, "points": points}
    return found | {"epochs": model.n_iter_, "stopped": model.stop_reason_}


# ---- in words


def describe_short(found: dict[str, Any]) -> str:
    """For the page about clusters: what was asked."""
    lines = []
    for name, speeds in found["speed"].items():
        rows, data = {how: row["best"] for how, row in speeds.items()}, mixing.per_row(name)
        faster, longer = rows[ONE] / rows[TWO], 100 * (rows[ONE] / rows[LOCAL] - 1)
        wanted, most = ASKED["faster"], ASKED["overhead"]
        both = [
            judged(f"{data}: 2 workers, speed-up over 1", f"{faster:.2f}", f"≥ {wanted}", faster >= wanted),
            judged(
                f"{data}: 1 worker, % slower than `fit`",
                f"{longer:.0f}",
                f"< {most:.0f}",
                longer < most,
            ),
        ]
        lines += both if name == JUDGED else [[*line[:2], "", ""] for line in both]
    ends = {(row["set"], row["shards"], row["mixing"]): row for row in found["accuracy"] if row["shards"]}
    for name, shards in dict.fromkeys((name, shards) for name, shards, _ in ends):
        rows = [ends[name, shards, how] for how in ("mistakes", "uniform")]
        least, epochs, wanted = min(row["points"] for row in rows), max(row["epochs"] for row in rows), -ASKED["points"]
        what = f"{name}: {shards} shards, {epochs} epochs, points above `fit`"
        lines.append(judged(what, f"{least:+.2f}", f"≥ {wanted}", least >= wanted))
    return results.table(["", "result", "target", "met"], lines)


def judged(what: str, value: str, asked: str, met: bool) -> list[str]:
    return [what, value, asked, "yes" if met else "no"]


def describe_speed(found: dict[str, Any]) -> str:
    lines = []
    for shape, rows in found["speed"].items():
        for name in (LOCAL, ONE, TWO_ON_ONE, TWO, DASK_ML):
            row = rows[name]
            ratio = f"{rows[ONE]['best'] / row['best']:.2f}×"
            lines.append([mixing.per_row(shape), name, row["best"], row["median"], ratio, f"{100 * row['right']:.1f}%"])
    head = ["", "", "s per epoch", "median", "speed-up over 1 worker, 1 shard", "accuracy"]
    return (
        f"{results.table(head, lines)}\n\nThe data are a CSR matrix of {found['rows']:,} × {COLUMNS:,}, float32, in "
        "chunks that lie on the workers, one per shard. Workers are processes with one thread, on 2 cores. The times "
        f"are the median of {EPOCHS - WARM} epochs after {WARM} warm-up epochs: that of the best of {REPEATS} runs, "
        f"and that of the median run. Accuracy is on held-out rows after {EPOCHS} epochs; dask-ml after 3, with 20 "
        "classes after 1. dask-ml passes over one chunk after another, whatever the cluster."
    )


def describe_accuracy(found: dict[str, Any]) -> str:
    lines = [
        [
            row["set"], row["shards"] or "local", row["mixing"], f"{row['right']:.2f}",
            f"{row['points']:+.2f}" if row["shards"] else "", row["epochs"], row["stopped"],
        ]
        for row in found["accuracy"]
    ]  # fmt: skip
    head = ["", "shards", "mixing", "accuracy, %", "points above local", "epochs", "stopped by"]
    return (
        f"{results.table(head, lines)}\n\nResults on the test set; for conll2000, F1 instead of accuracy. The models "
        "are `Perceptron()`, and for conll2000 `SequencePerceptron` with chunking templates, whose default is "
        f"{TAGGING_EPOCHS[0]} epochs. Where the tagger was more than {ASKED['points']} points below the local one, it "
        f"was also trained for {TAGGING_EPOCHS[-1]} epochs, the only other number tried. The last line is the local "
        f"tagger with {TAGGING_EPOCHS[-1]} epochs. Points compare with the first local line of the same data."
    )


def describe_scaling(found: dict[str, Any]) -> str:
    lines = []
    for shape, rows in found["speed"].items():
        for name in (ONE, TWO, FOUR):
            row = rows[name]
            outside = row["best"] - row["slowest"]
            share = f"{100 * outside / row['best']:.0f}%"
            lines.append([mixing.per_row(shape), CLUSTERS[name][0], row["best"], row["slowest"], outside, share])
    head = ["", "workers = shards", "s per epoch", "slowest pass, s", "outside it, s", "share"]
    return (
        f"{results.table(head, lines)}\n\nThe same data and runs. There are only 2 cores, which 4 workers share. So "
        "the third and the fourth worker can only add cost."
    )
