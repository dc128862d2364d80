"""The cost of a penalty: an epoch over sparse rows of 50,000 columns with it and without.

A penalty changes the weights, and so which examples are updates. So beside the usual epoch stands one with a margin
that no example reaches: every example is an update there, with any penalty.
"""

from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks import datasets, peers, results
from perceptrons import Perceptron

ROWS, COLUMNS, NONZEROS = 50_000, 50_000, 100
PENALTIES: dict[str, dict[str, Any]] = {
    "none": {},
    **{f"l2, {alpha:g}": {"penalty": "l2", "alpha": alpha} for alpha in (1e-6, 1e-4, 1e-2)},
    **{f"l1, {alpha:g}": {"penalty": "l1", "alpha": alpha} for alpha in (1e-6, 1e-4)},
    "elasticnet, 1e-4": {"penalty": "elasticnet", "alpha": 1e-4},
}
EPOCHS = 3
REPEATS = 9
FAR = 1e6  # a margin beyond all scores, and yet small enough that float32 tells them apart beside it
ASKED = 1.3


class Take(NamedTuple):
    """One fit: the time of its passes alone, without the checks and copies that come before."""

    seconds_per_epoch: float
    updates_per_example: float


def run(quick: bool) -> None:
    found = []
    rows, columns = (2000, 5000) if quick else (ROWS, COLUMNS)
    data = {
        2: datasets.sparse(rows, columns, NONZEROS),
        20: datasets.sparse_classes(rows, columns, NONZEROS, 20),
    }
    for classes, (X, y) in data.items():
        for margin in (0.0, FAR):
            work = {name: partial(take, X, y, margin, penalty) for name, penalty in PENALTIES.items()}
            for compile_first in work.values():
                compile_first()
            takes = peers.in_turns(work, 3 if quick else REPEATS)
            found += [
                {
                    "classes": classes,
                    "margin": margin,
                    "penalty": name,
                    "rows": rows,
                    **figures(takes[name], takes["none"]),
                }
                for name in PENALTIES
            ]
            print(f"{classes} classes, margin {margin:g}", flush=True)
    table = describe(found)
    note = (
        f"CSR, {rows:,} × {columns:,}, about {NONZEROS} non-zeros a row, float32, averaged; {EPOCHS} epochs, the "
        f"median of {REPEATS} fits in turns; ratios are medians over the turns."
    )
    results.write("penalty", {"fits": found}, f"{table}\n\n{note}", {"penalty": summary(found)}, quick)


def take(X: Any, y: np.ndarray, margin: float, penalty: dict[str, Any]) -> Take:
    model = Perceptron(margin=margin, intercept_scaling=1, max_iter=EPOCHS, tol=None, **penalty).fit(X, y)
    history = model.history_
    seconds = sum(row["seconds"] for row in history)
    updates = sum(row["updates"] for row in history)
    return Take(seconds / len(history), updates / (len(history) * len(y)))


def figures(takes: list[Take], without: list[Take]) -> dict[str, float]:
    """Medians, and the median of the ratios to the same turn without a penalty."""
    ratios = [a.seconds_per_epoch / b.seconds_per_epoch for a, b in zip(takes, without, strict=True)]
    return {
        "seconds_per_epoch": median(take.seconds_per_epoch for take in takes),
        "updates_per_example": takes[0].updates_per_example,
        "ratio": median(ratios),
    }


def describe(found: list[dict[str, Any]]) -> str:
    lines = []
    for row in found:
        every = row["margin"] == FAR
        lines.append([
            row["classes"], "every example" if every else "mistakes", row["penalty"],
            1000 * row["seconds_per_epoch"], 1e6 * row["seconds_per_epoch"] / row["rows"],
            f"{100 * row['updates_per_example']:.1f}", f"{row['ratio']:.2f}×",
            f"≤ {ASKED:g}×" if every and row["penalty"] != "none" else "",
        ])  # fmt: skip
    head = [
        "classes",
        "updates at",
        "penalty, alpha",
        "ms an epoch",
        "µs an example",
        "updates, %",
        "times none",
        "asked",
    ]
    return results.table(head, lines)


def summary(found: list[dict[str, Any]]) -> str:
    """The ratios alone."""
    lines = []
    for classes in (2, 20):
        for margin, title in ((0.0, "updates at mistakes"), (FAR, "every example an update")):
            ratios = [r["ratio"] for r in found if r["classes"] == classes and r["margin"] == margin][1:]
            lines.append([f"{classes} classes, {title}", *[f"{ratio:.2f}×" for ratio in ratios]])
    return results.table(["time of an epoch, times that without a penalty", *list(PENALTIES)[1:]], lines)
