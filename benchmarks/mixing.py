"""What one mix costs by weights, shards and classes, and from that, on paper, an epoch on a cluster of any size.

On paper an epoch of S shards, each on a worker of its own, takes

    t(S) = P / S + a + c S + N (b g(S) + 2 e)

P: seconds that one core needs for a pass over all data. a: of an epoch with nothing to do. c: of every shard, since one
client and one scheduler ask for it. N: weights. b: of a weight that moved, from the worker to the sum, g(S) of which
follow each other: `MAX_SUMMANDS` at every level of the tree. e: of a weight whether it moved or not, where two workers
share it.
They are fitted to epochs with next to nothing to learn from, on 2 workers, where t = a + c S + S (b moved + e N).
"""

import logging
import math
import time
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from distributed import Client
from scipy.optimize import nnls

from benchmarks import results
from perceptrons import Perceptron
from perceptrons.distributed import fit
from perceptrons.distributed.cluster_fit import MAX_SUMMANDS, MixedFit

EPOCHS, WARM = 6, 1
WEIGHTS = (10**4, 10**5, 10**6, 10**7)  # with 2 shards and 2 classes
SHARDS = (2, 4, 8, 16, 32, 64)  # with 10^5 weights, and with few
MANY_SHARDS = (100, 1000)  # to check, not to fit
MIX_CLASSES = (2, 20, 200)  # with 10^6 weights and 2 shards
FEW, NOISE = 100, 8  # weights, and rows a shard, where only the tasks count
TOUCHED = 60  # features that a shard has, where moves are sparse
IN_PROCESS = (10, 30, 100)  # workers that are threads of one process
PREDICTED = (1, 10, 100, 1000)  # workers


def on_workers(client: Client, X: Any, y: np.ndarray, chunks: int) -> tuple[Any, Any]:
    """The rows as dask arrays, whose chunks of consecutive ones already lie on the workers."""
    import dask.array as da
    from dask import delayed

    cuts = np.linspace(0, X.shape[0], chunks + 1).astype(int)
    blocks = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
    rows, labels = (client.scatter([whole[a:b] for a, b in blocks], hash=False) for whole in (X, y))

    def joined(parts: list[Any], whole: Any) -> Any:
        shapes = [(b - a, *whole.shape[1:]) for a, b in blocks]
        made = zip(map(delayed, parts), shapes, strict=True)
        return da.concatenate([da.from_delayed(part, shape, meta=whole[:0]) for part, shape in made])

    return joined(rows, X), joined(labels, y)


# ---- measured


def costs(client: Client, quick: bool) -> list[dict[str, Any]]:
    """Epochs with next to nothing to learn from, on processes of this machine."""
    weights, shards, classes, many = (
        (WEIGHTS[:2], SHARDS[:3], MIX_CLASSES[:2], (20,)) if quick else (WEIGHTS, SHARDS, MIX_CLASSES, MANY_SHARDS)
    )
    large = 10**4 if quick else 10**6
    asked = [("weights", n, 2, 2, dense) for dense in (True, False) for n in weights]
    asked += [("shards", n, 2, s, True) for n in (FEW, 10**5) for s in shards]
    asked += [("classes", large, k, 2, True) for k in classes]
    one_mix(client, FEW, 2, 2, True)  # compiled, imported
    found = [{"about": about} | one_mix(client, *rest) for about, *rest in asked]
    return found + [{"about": "many"} | tasks_alone(client, s) for s in many]


def one_mix(client: Client, weights: int, classes: int, shards: int, dense: bool) -> dict[str, Any]:
    """The median epoch, where every shard has one row twice, with two labels: there is always an update.

    dense: all weights move; otherwise those of few features, different ones in every shard.
    """
    d = weights // (1 if classes == 2 else classes)
    rng = np.random.default_rng(0)
    few = min(TOUCHED, d // 2)
    if dense:
        X: Any = np.repeat(rng.standard_normal((shards, d), dtype=np.float32), 2, axis=0)
    else:
        columns = np.concatenate([np.sort(rng.choice(d, few, replace=False)) for _ in range(shards)])
        values, starts = np.ones(len(columns), np.float32), np.arange(shards + 1) * few
        X = sp.csr_matrix((values, columns, starts), (shards, d))[np.repeat(np.arange(shards), 2)]
    moved = weights if dense else few * weights // d
    data = on_workers(client, X, np.tile([0, 1], shards), shards)
    return measured(client, data, classes, shards) | {"weights": weights, "moved": moved}


def tasks_alone(client: Client, shards: int) -> dict[str, Any]:
    """The median epoch of many shards with next to no weights: a few rows of noise each, dealt by `fit`."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((NOISE * shards, FEW), dtype=np.float32), rng.integers(2, size=NOISE * shards)
    return measured(client, (X, y), 2, shards) | {"weights": FEW, "moved": FEW}


def measured(client: Client, data: tuple[Any, Any], classes: int, shards: int) -> dict[str, Any]:
    """The median epoch and its steps."""
    spent: dict[str, list[float]] = {"sending": [], "adding": []}
    with (
        patch.object(MixedFit, "_submit", clocked(MixedFit._submit, spent["sending"])),
        patch.object(MixedFit, "_take", clocked(MixedFit._take, spent["adding"])),
    ):
        model = fit(Perceptron(), *data, client, shards=shards, epochs=EPOCHS, classes=range(classes))
    seconds = median(row["seconds"] for row in model.history_[WARM:])
    steps = {name: median(times[WARM:]) for name, times in spent.items()}
    workers = seconds - sum(steps.values())
    return {"classes": classes, "shards": shards, "seconds": seconds, **steps, "workers": workers}


def clocked(work: Any, spent: list[float]) -> Any:
    def timed_work(*arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return work(*arguments)
        finally:
            spent.append(time.perf_counter() - began)

    return timed_work


def many_workers(quick: bool) -> list[dict[str, Any]]:
    """Dask's own cluster within one process: as many workers as asked, each with a shard of next to nothing."""
    found = []
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        for workers in IN_PROCESS[:1] if quick else IN_PROCESS:
            began = time.perf_counter()
            options = {"processes": False, "threads_per_worker": 1, "memory_limit": 0}
            with Client(n_workers=workers, dashboard_address="127.0.0.1:0", **options) as client:
                client.wait_for_workers(workers)
                start = time.perf_counter() - began
                row = tasks_alone(client, workers)
                found.append(row | {"workers_in_process": workers, "start": start})
    finally:
        logger.setLevel(level)
    return found


# ---- on paper


def model_of(found: dict[str, Any]) -> dict[str, Any]:
    """a, b, c and e by least squares of relative errors, none below 0; what they say of larger clusters."""
    rows = [row for row in found["mixing"] if row["about"] != "many"]
    table = np.array([[1, row["shards"], *(row["shards"] * row[of] for of in ("moved", "weights"))] for row in rows])
    seconds = np.array([row["seconds"] for row in rows])
    scale = 1 / table.max(axis=0)
    answer = nnls(table * scale / seconds[:, None], np.ones(len(rows)))[0] * scale
    a, c, b, e = answer.tolist()
    errors = np.abs(table @ answer / seconds - 1)
    numbers = {"a": a, "b": b, "c": c, "e": e, "error": float(np.median(errors)), "worst": float(errors.max())}
    predicted = []
    for name, speed in found["speed"].items():
        classes = int(name.split()[0])
        weights = 50_000 * (1 if classes == 2 else classes)
        for rows_times in (1, 100, 10_000):
            whole = min(row["best"] for how, row in speed.items() if how.startswith("Perceptron.fit")) * rows_times
            best = quickest(numbers, whole, weights)
            predicted.append({
                "classes": name, "rows": found["rows"] * rows_times, "pass": whole, "weights": weights,
                "epochs": {str(s): epoch(numbers, whole, weights, s) for s in PREDICTED},
                "best": best, "best_epoch": epoch(numbers, whole, weights, best), "even": even(numbers, whole, weights),
            })  # fmt: skip
    checks = [row for row in found["mixing"] if row["about"] == "many"] + found["many"]
    checked = [
        {
            "shards": row["shards"], "in_process": row.get("workers_in_process", 0), "measured": row["seconds"],
            "predicted": overhead(numbers, row["weights"], row["shards"]),
        }
        for row in checks
    ]  # fmt: skip
    return {**numbers, "predicted": predicted, "checked": checked}


def chain(shards: int) -> int:
    """g: moves that are added up one after another on the way to the common weights."""
    if shards <= MAX_SUMMANDS:
        return shards
    return MAX_SUMMANDS + chain(math.ceil(shards / MAX_SUMMANDS))


def overhead(numbers: dict[str, float], weights: int, shards: int) -> float:
    """Seconds of an epoch outside the passes, every shard on a worker of its own."""
    if shards == 1:
        return numbers["a"]
    each = numbers["b"] * chain(shards) + 2 * numbers["e"]
    return numbers["a"] + numbers["c"] * shards + weights * each


def epoch(numbers: dict[str, float], whole: float, weights: int, shards: int) -> float:
    return whole / shards + overhead(numbers, weights, shards)


def quickest(numbers: dict[str, float], whole: float, weights: int) -> int:
    """The number of shards with the shortest epoch."""
    candidates = np.unique(np.geomspace(1, 10**5, 2000).astype(int)).tolist()
    return min(candidates, key=lambda s: epoch(numbers, whole, weights, s))


def even(numbers: dict[str, float], whole: float, weights: int) -> int:
    """The largest number of shards whose pass takes as long as the rest of the epoch."""
    candidates = np.unique(np.geomspace(1, 10**5, 2000).astype(int)).tolist()
    return max((s for s in candidates if whole / s >= overhead(numbers, weights, s)), default=1)


# ---- in words


def describe_costs(found: dict[str, Any]) -> str:
    lines = [
        [
            f"{row['weights']:,}", f"{row['moved']:,}", row["classes"], row["shards"],
            *(milliseconds(row[name]) for name in ("seconds", "sending", "workers", "adding")),
        ]
        for row in found["mixing"]
    ]  # fmt: skip
    head = ["weights", "moved by a shard", "classes", "shards", "epoch, ms", "sending", "workers", "adding up"]
    return (
        f"{results.table(head, lines)}\n\nOn 2 worker processes, with one or a few rows per shard, float32. Times are "
        f"the median of {EPOCHS - WARM} epochs after {WARM} warm-up epoch.\n\n"
        "- **Sending**: sending the common weights to the workers, and one task per shard.\n"
        "- **Workers**: waiting until all moves have arrived. This includes the time to find out what moved, and to "
        f"add up moves if there are more than {MAX_SUMMANDS} shards.\n"
        "- **Adding up**: adding what arrived to the new common weights.\n\n"
        "A weight that moved is two numbers."
    )


def describe_model(found: dict[str, Any]) -> str:
    m = found["model"]
    checks = [
        [
            row["shards"], f"{row['in_process']}, in one process" if row["in_process"] else "2 processes",
            milliseconds(row["measured"]), milliseconds(row["predicted"]),
        ]
        for row in m["checked"]
    ]  # fmt: skip
    lines = [
        [
            per_row(row["classes"]), f"{row['rows']:,}", seconds(row["pass"]),
            *(seconds(row["epochs"][str(s)]) for s in PREDICTED[1:]),
            f"{row['even']:,}", f"{row['best']:,}", seconds(row["best_epoch"]),
        ]
        for row in m["predicted"]
    ]  # fmt: skip
    workers = [f"{s:,} workers, s" for s in PREDICTED[1:]]
    head = ["", "rows", "one core, s", *workers, "half is mixing at", "best at", "s there"]
    started = found["many"][-1]
    off = [
        [r["measured"] / r["predicted"] for r in m["checked"] if bool(r["in_process"]) == here]
        for here in (False, True)
    ]
    return (
        f"a = {1000 * m['a']:.3g} ms, c = {1000 * m['c']:.3g} ms per shard, b = {1e9 * m['b']:.3g} ns per weight and "
        f"move, e = {1e9 * m['e']:.3g} ns per weight. These constants miss the measured epochs by "
        f"{100 * m['error']:.0f}% (median) and {100 * m['worst']:.0f}% (at most).\n\n"
        f"{results.table(['shards', 'workers', 'measured, ms', 'predicted, ms'], checks)}\n\nThese epochs were not "
        f"used for the fit. They have {FEW} weights and nothing to do. {started['workers_in_process']} workers in one "
        f"process took {started['start']:.1f} s to start. One thread of Python does the work of all of them, which "
        "many machines would otherwise share, so a cluster likely takes less. With 2 processes, the measured epochs "
        f"take {min(off[0]):.1f} to {max(off[0]):.1f} times as long as predicted; with workers in one process, "
        f"{min(off[1]):.1f} to {max(off[1]):.1f} times. The predictions below for many workers may be off by as "
        "much.\n\n"
        f"{results.table(head, lines)}\n\nPredicted seconds per epoch, for rows like those of the table of speeds. "
        "There are as many shards as workers, the network is as fast as between processes here, and no worker is "
        'slower than the others. "Half is mixing at" is the number of workers with which the pass takes as long as all '
        "the rest."
    )


def per_row(shape: str) -> str:
    """The name of a shape of data, for people: "60 a row" are features that are not 0."""
    return shape.replace("a row", "non-zeros per row")


def milliseconds(value: float) -> str:
    return f"{1000 * value:.3g}" if value < 0.1 else f"{1000 * value:.0f}"


def seconds(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"
