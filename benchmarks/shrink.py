"""What shrinking costs: an epoch over sparse rows of 50,000 columns with it and without.

Shrinking changes the weights, so also which examples are updates. Beside the usual epoch stands therefore one whose
margin nobody reaches: every example is an update there, with whatever shrinking.
"""

from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks import datasets, peers, results
from perceptrons import Perceptron

ROWS, COLUMNS, NONZEROS = 50_000, 50_000, 100
SHRINKS = (0.0, 1e-6, 1e-4, 1e-2, 0.1)
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
            work = {str(shrink): partial(take, X, y, margin, shrink) for shrink in SHRINKS}
            for compile_first in work.values():
                compile_first()
            takes = peers.in_turns(work, 3 if quick else REPEATS)
            found += [
                {
                    "classes": classes,
                    "margin": margin,
                    "shrink": shrink,
                    "rows": rows,
                    **figures(takes[str(shrink)], takes["0.0"]),
                }
                for shrink in SHRINKS
            ]
            print(f"{classes} classes, margin {margin:g}", flush=True)
    table = describe(found)
    note = (
        f"CSR, {rows:,} × {columns:,}, about {NONZEROS} non-zeros a row, float32, averaged; {EPOCHS} epochs, the "
        f"median of {REPEATS} fits in turns; ratios are medians over the turns."
    )
    results.write("shrink", {"fits": found}, f"{table}\n\n{note}", {"shrink": summary(found)}, quick)


def take(X: Any, y: np.ndarray, margin: float, shrink: float) -> Take:
    model = Perceptron(margin=margin, intercept_scaling=1, shrink=shrink, max_iter=EPOCHS, tol=None).fit(X, y)
    history = model.history_
    seconds = sum(row["seconds"] for row in history)
    updates = sum(row["updates"] for row in history)
    return Take(seconds / len(history), updates / (len(history) * len(y)))


def figures(takes: list[Take], without: list[Take]) -> dict[str, float]:
    """Medians, and the median of the ratios to the same turn without shrinking."""
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
            row["classes"], "every example" if every else "mistakes", f"{row['shrink']:g}",
            1000 * row["seconds_per_epoch"], 1e6 * row["seconds_per_epoch"] / row["rows"],
            f"{100 * row['updates_per_example']:.1f}", f"{row['ratio']:.2f}×",
            f"≤ {ASKED:g}×" if every and row["shrink"] else "",
        ])  # fmt: skip
    head = ["classes", "updates at", "shrink", "ms an epoch", "µs an example", "updates, %", "times shrink 0", "asked"]
    return results.table(head, lines)


def summary(found: list[dict[str, Any]]) -> str:
    """The ratios alone."""
    lines = []
    for classes in (2, 20):
        for margin, title in ((0.0, "updates at mistakes"), (FAR, "every example an update")):
            ratios = [r["ratio"] for r in found if r["classes"] == classes and r["margin"] == margin and r["shrink"]]
            lines.append([f"{classes} classes, {title}", *[f"{ratio:.2f}×" for ratio in ratios]])
    return results.table(["time of an epoch, times that of shrink=0", *[f"{s:g}" for s in SHRINKS if s]], lines)
