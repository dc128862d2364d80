"""A stream of a million examples on a budget, with each way to keep it: speed, memory and error along the way.

Two moons in a plane of 20 noisy features. In one stream nothing changes; in the other the plane turns once around, so
that what was learned in the beginning is wrong half-way. Every example is predicted before it is learned.
"""

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks import results
from benchmarks.memory import MB, resident
from benchmarks.peers import timed
from perceptrons import KernelPerceptron, Perceptron

EXAMPLES, FEATURES, NOISE = 1_000_000, 20, 0.15
BUDGET = 200
POLICIES = ("remove_random", "forget_oldest", "project")
PARTS = 10  # of the stream; the first, the middle and the last are shown
BLOCK = 1000  # examples given at a time
QUICK = 20_000
FRESH = 10_000  # examples to test on in the end, as the last ones were
WAYS = ("last", "average")


def run(quick: bool) -> None:
    n = QUICK if quick else EXAMPLES
    models: dict[str, Any] = {p: KernelPerceptron(budget=BUDGET, on_full=p, gamma=1.0) for p in POLICIES}
    models["linear Perceptron"] = Perceptron()
    found = []
    for name, model in models.items():
        clone(model).partial_fit(*moons(2000, 0.0, 1.0, np.random.default_rng(1)))  # compile, or load what was compiled
        for turns in (0, 1):
            learner = clone(model)
            parts = stream(learner, n, turns)
            found.append({"name": name, "turns": turns, "parts": parts, "wrong": fresh_errors(learner, turns)})
            print(f"{name}, turns {turns}: {sum(part['seconds'] for part in parts):.1f} s", flush=True)
    markdown = describe(found, n)
    results.write(
        "budgets", {"examples": n, "budget": BUDGET, "streams": found}, markdown, {"budgets": markdown}, quick
    )


def moons(n: int, begin: float, end: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Examples with the plane turned from begin to end, in turns, while they come."""
    y, along = rng.integers(2, size=n), np.pi * rng.random(n)
    side = 1 - 2 * y
    plane = np.stack([side * (np.cos(along) - 0.5), side * (np.sin(along) - 0.25)], axis=1)
    turn = 2 * np.pi * np.linspace(begin, end, n, endpoint=False)
    X = NOISE * rng.standard_normal((n, FEATURES), dtype=np.float32)
    X[:, 0] += np.cos(turn) * plane[:, 0] - np.sin(turn) * plane[:, 1]
    X[:, 1] += np.sin(turn) * plane[:, 0] + np.cos(turn) * plane[:, 1]
    return X, y


def stream(model: Any, n: int, turns: int) -> list[dict[str, float]]:
    """What happened in each part of the stream; examples are made as they are needed and forgotten."""
    rng, parts, size, step = np.random.default_rng(0), [], n // PARTS, turns / n
    for part in range(PARTS):
        before, seconds = model.n_mistakes_ if part else 0, 0.0
        for begin in range(part * size, (part + 1) * size, BLOCK):
            X, y = moons(BLOCK, step * begin, step * (begin + BLOCK), rng)
            _, took = timed(partial(model.partial_fit, X, y, classes=[0, 1]))
            seconds += took
        wrong = (model.n_mistakes_ - before) / size
        parts.append({"seconds": seconds, "rate": size / seconds, "wrong": wrong, "resident": resident() / MB})
    return parts


def fresh_errors(model: Any, turns: int) -> dict[str, float]:
    """Of the model as it is in the end, on examples as the last ones were."""
    X, y = moons(FRESH, turns, turns, np.random.default_rng(2))
    return {way: 1 - model.set_params(combine=way).score(X, y) for way in WAYS}


def describe(found: list[dict[str, Any]], n: int) -> str:
    still, turning = ([row for row in found if row["turns"] == turns] for turns in (0, 1))
    lines = []
    for row in turning:
        shown = [row["parts"][at] for at in (0, PARTS // 2, PARTS - 1)]
        lines.append([
            row["name"], *[f"{part['rate']:,.0f}" for part in shown], *[f"{part['resident']:.1f}" for part in shown],
            *[f"{100 * part['wrong']:.2f}" for part in shown],
        ])  # fmt: skip
    units = ("examples/s", "process MB", "wrong, %")
    along = results.table(["", *[f"{u}: {when}" for u in units for when in ("first", "middle", "last")]], lines)
    lines = [
        [a["name"], *[f"{100 * row['wrong'][way]:.2f}" for row in (a, b) for way in WAYS]]
        for a, b in zip(still, turning, strict=True)
    ]
    in_the_end = results.table(["", *[f"{what}: {way}, %" for what in ("still", "turning") for way in WAYS]], lines)
    return (
        f"{along}\n\n{n:,} examples with {FEATURES} features, float32, in blocks of {BLOCK:,}. The plane of the "
        f"examples turns once. The kernel is rbf with gamma=1, and budget={BUDGET}. First, middle and last are parts "
        f'of {n // PARTS:,} examples each. "Wrong" counts the predictions before learning, which the last function '
        f"makes.\n\n{in_the_end}\n\nThe final error on new examples, of the last and of the averaged function: where "
        "nothing changed (still), and where the plane turned (turning)."
    )
