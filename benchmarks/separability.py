"""Is it separable? Beside SciPy's linear programming on the same question; then every real set, proved and checked."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import linprog

from benchmarks import datasets, results
from perceptrons.theory import separability

ROWS, COLUMNS, MARGIN, FLIPPED = 100_000, 100, 0.01, 100
REPEATS = 3
LIMIT = 120.0  # seconds that linear programming gets
PATIENCE = 120.0  # seconds that each real set gets
ASKED = 10


def run(quick: bool) -> None:
    rows, limit = (3000, 10.0) if quick else (ROWS, LIMIT)
    separability(*datasets.with_margin(200, 5, MARGIN, 0))  # compile, or load what was compiled
    contests = [contest(rows, flipped, limit) for flipped in (0, FLIPPED)]
    names = ["iris", "sonar"] if quick else datasets.names()
    found = [real(name) for name in names]
    note = (
        f"{rows:,} × {COLUMNS}, float64, margin {MARGIN:g} of the radius; perceptrons: search, certificate and "
        f"verification, best of {REPEATS}; linprog: `linprog(0, A_ub=-y[X, 1], b_ub=-1)`, which ends with the word "
        f"'infeasible' and no proof, once, at most {limit:g} s."
    )
    head = ["", "perceptrons, s", "of it verifying", "linprog highs, s", "times", "asked", "linprog highs-ipm, s"]
    faster = results.table(head, [line(row, limit) for row in contests])
    sets = results.table(
        ["training set", "rows", "features", "classes", "separable", "margin, or witness", "seconds", "verified in"],
        [described(row) for row in found],
    )
    results.write(
        "separability",
        {"contests": contests, "sets": found},
        f"{faster}\n\n{note}\n\n{sets}",
        {"separability": f"{faster}\n\n{note}", "separable sets": sets},
        quick,
    )


def contest(rows: int, flipped: int, limit: float) -> dict[str, Any]:
    """One made-up set, decided by everybody."""
    X, y = datasets.with_margin(rows, COLUMNS, MARGIN, flipped)
    Z = np.hstack([X, np.ones((rows, 1))]) * np.where(y == 1, 1.0, -1.0)[:, None]
    row: dict[str, Any] = {"flipped": flipped, "seconds": np.inf}
    for _ in range(REPEATS):
        (certificate, deciding), (holds, verifying) = _timed(lambda: separability(X, y)), (False, 0.0)
        holds, verifying = _timed(lambda certificate=certificate: certificate.verify(X, y))
        if not holds or certificate.separable is not (flipped == 0):
            raise AssertionError(f"separable={certificate.separable}, verified={holds}, with {flipped} labels flipped")
        if deciding + verifying < row["seconds"]:
            row |= {"seconds": deciding + verifying, "verifying": verifying}
    for method in ("highs", "highs-ipm"):
        outcome, seconds = _timed(
            lambda method=method: linprog(
                np.zeros(Z.shape[1]), A_ub=-Z, b_ub=-np.ones(rows), bounds=(None, None), method=method,
                options={"time_limit": limit},
            )
        )  # fmt: skip
        row[method] = {"seconds": seconds, "status": outcome.status, "message": outcome.message}
    print(f"{flipped} flipped: {row['seconds']:.2f} s, highs {row['highs']['seconds']:.1f} s", flush=True)
    return row


def line(row: dict[str, Any], limit: float) -> list[Any]:
    right = 2 if row["flipped"] else 0  # linprog's words for infeasible and solved
    times = [
        f"{row[m]['seconds']:.1f}" + ("" if row[m]["status"] == right else " (no answer)")
        for m in ("highs", "highs-ipm")
    ]
    ratio = row["highs"]["seconds"] / row["seconds"]
    title = f"{row['flipped']} labels flipped" if row["flipped"] else "separable"
    return [title, row["seconds"], row["verifying"], times[0], f"{ratio:.0f}×", f"≥ {ASKED}×", times[1]]


def real(name: str) -> dict[str, Any]:
    """A real training set: decided, and the certificate verified."""
    split = datasets.load(name)
    X, y = split.X_train, split.y_train
    certificate, seconds = _timed(lambda: separability(X, y, max_seconds=PATIENCE))
    holds, verifying = _timed(lambda: certificate.verify(X, y))
    if holds is not (certificate.separable is not None):
        raise AssertionError(f"{name}: separable={certificate.separable}, verified={holds}")
    print(f"{name}: {certificate.separable} in {seconds:.2f} s", flush=True)
    return {
        "name": name, "rows": X.shape[0], "features": X.shape[1], "classes": len(certificate.classes),
        "separable": certificate.separable, "margin": certificate.margin,
        "witness": None if certificate.witness is None else len(certificate.witness.rows),
        "seconds": seconds, "verifying": verifying,
    }  # fmt: skip


def described(row: dict[str, Any]) -> list[Any]:
    proof = f"{row['witness']} pairs cancel" if row["witness"] else "-"
    if row["margin"]:
        proof = f"{row['margin'][0]:.3g} to {row['margin'][1]:.3g}"
    answer = {True: "yes", False: "no", None: "undecided"}[row["separable"]]
    return [
        row["name"], f"{row['rows']:,}", f"{row['features']:,}", row["classes"], answer, proof,
        row["seconds"], row["verifying"],
    ]  # fmt: skip


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return work(), time.perf_counter() - start
