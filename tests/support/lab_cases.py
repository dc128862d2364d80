"""Random runs of the lab page: points and settings, and the same as the library takes them."""

from typing import Any

import numpy as np

SETTINGS: dict[str, Any] = {
    "classes": 2, "rule": "perceptron", "eta": 1.0, "C": 1.0, "margin": 1.0, "decay": 0.1, "batch": 0,
    "zero": "mistake", "start": "zeros", "w1": 0.0, "w2": 0.0, "b": 0.0, "order": "given", "seed": 1,
    "bias": True, "features": "none", "degree": 3, "gamma": 0.5, "epochs": 3,
}  # fmt: skip
RULES = ("perceptron", "margin", "pa", "pa1", "arow", "batch", "decay")
ZEROS = ("mistake", "correct", "positive", "negative")

# a run of the page's engine as plain numbers
RAN = """(cases => cases.map(({points, settings}) => {
  const run = new Run(points, settings), end = run.state(run.length), m = end.m;
  return {orders: run.epochs.map((_, e) => visitingOrder(points.length, settings, e)), last: lastOf(m),
    average: averageOf(m), pocket: end.pocket && end.pocket.weights, mistakes: m.mistakes, updates: m.updates,
    stop: run.stop, rule: run.rule, start: startOf(settings, run.size),
    scores: run.points().map(run.predictor("last", run.length, end))};
}))"""


def random_cases(n: int, seed: int, on_grid: bool = False) -> list[dict[str, Any]]:
    """Runs over all rules, conventions, starts, maps, orders and numbers of classes; every fourth has three classes.

    on_grid: points and learning rates are multiples of powers of two, so that every sum of the plain rules is exact.
    """
    rng = np.random.default_rng(seed)
    cases = []
    for number in range(n):
        rules = ("perceptron", "margin", "batch") if on_grid else RULES
        classes, size = (3 if number % 4 == 3 else 2), int(rng.integers(6, 40))
        settings = SETTINGS | {
            "classes": classes, "rule": rules[number % len(rules)], "zero": ZEROS[number // 7 % 4],
            "eta": float(rng.choice([1.0, 0.5, 0.25] if on_grid else [1.0, 0.1, 0.3, 1 / 3])),
            "C": float(rng.choice([1.0, 0.1, 0.37])),
            "margin": float(rng.choice([1.0, 0.5, 2.0] if on_grid else [1.0, 0.3, 2.5])),
            "decay": float(rng.choice([0.5, 0.1, 0.01, 1e-4])), "batch": int(rng.choice([0, 4, 7])),
            "start": ("zeros", "ones", "own")[int(rng.integers(3 if classes == 2 else 2))],
            "order": ("given", "shuffled")[int(rng.integers(2))], "seed": int(rng.integers(1000)),
            "bias": bool(rng.random() < 0.8), "features": ("none", "squares")[int(rng.integers(2))],
            "epochs": int(rng.integers(1, 6)),
        }  # fmt: skip
        xy = rng.standard_normal((size, 2)) * rng.choice([1.0, 1.0, 100.0])
        own = rng.standard_normal(3)
        if on_grid:
            xy, own = np.round(xy * 4) / 4, np.round(own * 4) / 4
        settings |= dict(zip(("w1", "w2", "b"), own.tolist(), strict=True))
        codes = rng.integers(0, classes, size)
        codes[:classes] = np.arange(classes)
        cases.append({"points": points(xy, codes), "settings": settings})
    return cases


def kernel_cases(n: int, seed: int) -> list[dict[str, Any]]:
    """Runs of the kernel perceptron, in the given order."""
    rng = np.random.default_rng(seed)
    cases = []
    for number in range(n):
        classes, size = (3 if number % 4 == 3 else 2), int(rng.integers(6, 40))
        codes = rng.integers(0, classes, size)
        codes[:classes] = np.arange(classes)
        settings = SETTINGS | {
            "classes": classes, "features": ("poly", "rbf")[number % 2], "degree": int(rng.integers(1, 5)),
            "gamma": float(rng.choice([1.0, 0.5, 0.3])), "eta": float(rng.choice([1.0, 0.1])),
            "epochs": int(rng.integers(1, 6)),
        }  # fmt: skip
        cases.append({"points": points(rng.standard_normal((size, 2)), codes), "settings": settings})
    return cases


def points(xy: Any, codes: Any) -> list[dict[str, Any]]:
    return [
        {"x": x, "y": y, "c": c}
        for (x, y), c in zip(np.asarray(xy, float).tolist(), np.asarray(codes).tolist(), strict=True)
    ]


def for_library(case: dict[str, Any], ran: dict[str, Any]) -> dict[str, Any]:
    """A case as `lab_library.train` takes it: features made by NumPy, the page's orders, rule and start."""
    settings, own = case["settings"], case["points"]
    x1, x2, c = (np.array([point[name] for point in own]) for name in ("x", "y", "c"))
    columns = [x1, x2] if settings["features"] != "squares" else [x1, x2, x1 * x1, x2 * x2, x1 * x2]
    two = settings["classes"] == 2
    kernel = {"name": settings["features"], "gamma": settings["gamma"], "degree": settings["degree"]}
    return {
        "x": np.stack(columns, 1).tolist(), "y": (np.where(c == 1, 1, -1) if two else c).tolist(),
        "classes": [-1, 1] if two else list(range(settings["classes"])), "rule": ran["rule"],
        "w": ran["start"]["w"], "b": ran["start"]["b"], "bias": settings["bias"], "orders": ran["orders"],
        "kernel": kernel if settings["features"] in ("poly", "rbf") else None,
    }  # fmt: skip
