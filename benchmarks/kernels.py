"""The kernel perceptron beside scikit-learn's SVC and beside approximations of its kernel, and the memory it takes."""

import json
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from benchmarks import datasets, results
from benchmarks.memory import MB, highest, resident
from benchmarks.peers import timed
from perceptrons import KernelPerceptron, Perceptron

EPOCHS = 10
POLY: dict[str, Any] = {"kernel": "poly", "degree": 4, "gamma": 1, "coef0": 1}
SETS = ("mnist", "letter", "usps")
COMPONENTS = (100, 500, 2000)
CACHES = (0, 200, 1000)  # megabytes
CACHED_EPOCHS = 3
QUICK = 2000  # training rows


def run(quick: bool) -> None:
    rows = QUICK if quick else None
    rehearse()
    mnist = datasets.shuffled(datasets.load("mnist"), rows)
    machines = against_svc(mnist)
    mapped = [r for n in SETS for r in approximations(datasets.shuffled(datasets.load(n), rows), quick)]
    memory = memories(mnist)
    parts = {
        "kernels svc": describe_svc(machines, mnist),
        "kernels features": describe_features(mapped),
        "kernels memory": describe_memory(memory, mnist),
    }
    heads = ("Beside SVC", "Beside approximations of the kernel", "Memory of a fit")
    markdown = "\n\n".join(f"### {head}\n\n{text}" for head, text in zip(heads, parts.values(), strict=True))
    results.write("kernels", {"svc": machines, "features": mapped, "memory": memory}, markdown, parts, quick)


def rehearse() -> None:
    """Compile, or load what was compiled."""
    X, y = datasets.dense_classes(500, 20, 10)
    for scheme in ("ovr", "joint"):
        KernelPerceptron(multiclass=scheme, combine="vote", max_iter=2).fit(X, y).predict(X)
    Perceptron(max_iter=2).fit(X, y).predict(X)


# ---- beside SVC


def against_svc(split: datasets.Split) -> list[dict[str, Any]]:
    """The same kernel on the same rows, each with its default cache of 200 megabytes."""
    ours = KernelPerceptron(**POLY, multiclass="ovr", combine="vote", max_iter=EPOCHS, tol=None)
    found = []
    for name, model in ((f"KernelPerceptron, {EPOCHS} epochs, voted", ours), ("scikit-learn SVC", SVC(**POLY))):
        row = {"name": name, **judged(model, split)}
        found.append(row | {"support": int(np.sum(model.n_support_)), "classes": len(model.classes_)})
    return found


def judged(model: Any, split: datasets.Split) -> dict[str, float]:
    _, training = timed(partial(model.fit, split.X_train, split.y_train))
    right, testing = timed(partial(model.score, split.X_test, split.y_test))
    print(f"{split.name}: {' '.join(str(model).split())[:80]}: {training:.1f} s, {right:.2%}", flush=True)
    return {"training_seconds": training, "testing_seconds": testing, "accuracy": right}


# ---- beside approximations


def approximations(split: datasets.Split, quick: bool) -> list[dict[str, Any]]:
    """The exact rbf kernel, then a map to so many features in front of the linear perceptron."""
    exact = KernelPerceptron(max_iter=EPOCHS, tol=None)
    rows = [{"set": split.name, "how": "exact", **judged(exact, split)}]
    rows[0]["components"] = exact.n_support_
    for n in COMPONENTS[:2] if quick else COMPONENTS:
        for kind in (RBFSampler, Nystroem):
            features = kind(gamma=exact.gamma_, n_components=n, random_state=0)
            model = make_pipeline(features, Perceptron(max_iter=EPOCHS, tol=None))
            rows.append({"set": split.name, "how": kind.__name__, "components": n, **judged(model, split)})
    return rows


# ---- memory


def memories(split: datasets.Split) -> list[dict[str, Any]]:
    """Fits in processes of their own, each with another cache."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "X.npy"), split.X_train)
        np.save(Path(folder, "y.npy"), split.y_train)
        return [_alone(folder, cache) for cache in CACHES]


def _alone(folder: str, cache: float) -> dict[str, Any]:
    code = f"from benchmarks.kernels import fit_alone; fit_alone({folder!r}, {cache!r})"
    child = subprocess.run([sys.executable, "-c", code], cwd=results.ROOT, capture_output=True, text=True, check=True)
    return json.loads(child.stdout)


def fit_alone(folder: str, cache: float) -> None:
    """In the child: print what a fit added to the memory of the process at its peak, and what it may add as stated."""
    rehearse()
    X, y = (np.load(Path(folder, file)) for file in ("X.npy", "y.npy"))
    model = KernelPerceptron(**POLY, multiclass="ovr", max_iter=CACHED_EPOCHS, tol=None, cache_size=cache)
    before, start = resident(), time.perf_counter()
    model.fit(X, y)
    seconds, peak = time.perf_counter() - start, highest()
    parts = stated(model, X) | {"kept": min(cache * MB, X.itemsize * len(X) ** 2)}
    print(json.dumps({"cache": cache, "seconds": seconds, "peak_bytes": peak - before, **parts}))


def stated(model: KernelPerceptron, X: np.ndarray) -> dict[str, int]:
    """The parts that kernel/training.py names: the model, scores of all examples, a block, a chunk of values."""
    classes = len(model.classes_)
    support = X.itemsize * X.shape[1] + 16 * classes + 8  # bytes of each: the row, two coefficients a class, its number
    return {
        "model": 2 * model.n_support_ * support + 48 * model.n_updates_,  # arrays that grow have up to as much to spare
        "scores": 8 * len(X) * classes,
        "block": 64 * MB,
        "chunk": 16 * MB,
    }


# ---- in words


def describe_svc(found: list[dict[str, Any]], split: datasets.Split) -> str:
    ours, svc = found
    lines = [
        [
            r["name"],
            r["training_seconds"],
            r["testing_seconds"],
            f"{100 - 100 * r['accuracy']:.2f}",
            f"{r['support']:,}",
        ]
        for r in found
    ]
    table = results.table(["", "training, s", "testing, s", "test error, %", "support vectors"], lines)
    return (
        f"{table}\n\nKernel (1 + x·z)⁴, {split.name}, {len(split.y_train):,} examples, one run on "
        f"{results.environment()['cores']} CPU cores. Training takes SVC "
        f"{svc['training_seconds'] / ours['training_seconds']:.1f} times as long. SVC is one-vs-one with C=1, the "
        "perceptron is one-vs-rest. Everything else has its default."
    )


def describe_features(found: list[dict[str, Any]]) -> str:
    lines = []
    for how, n in dict.fromkeys((r["how"], None if r["how"] == "exact" else r["components"]) for r in found):
        cells: list[Any] = []
        for name in SETS:
            row = next(r for r in found if (r["set"], r["how"]) == (name, how) and n in (None, r["components"]))
            cells += [f"{100 * row['accuracy']:.2f}", row["training_seconds"], row["testing_seconds"]]
        lines.append(["KernelPerceptron" if n is None else f"{how}, {n}, Perceptron", *cells])
    head = [f"{name}, {unit}" for name in SETS for unit in ("%", "training s", "testing s")]
    exact = [f"{r['components']:,} on {r['set']}" for r in found if r["how"] == "exact"]
    return (
        f'{results.table(["", *head], lines)}\n\nThe kernel is rbf with gamma="scale"; {EPOCHS} epochs, averaged, on '
        f"data without preprocessing. Support vectors of the exact kernel: {', '.join(exact)}. Times include the "
        "feature map, and testing covers the whole test set."
    )


def describe_memory(found: list[dict[str, Any]], split: datasets.Split) -> str:
    parts = ("model", "scores", "block", "chunk", "kept")
    lines = [
        [r["cache"], f"{r['peak_bytes'] / MB:.0f}", f"{sum(r[p] for p in parts) / MB:.0f}",
         *[f"{r[p] / MB:.0f}" for p in parts], r["seconds"]]
        for r in found
    ]  # fmt: skip
    head = ["cache_size", "peak, MB", "stated bound, MB", "model", "scores", "block", "chunk", "kept columns"]
    return (
        f"{results.table([*head, f'{CACHED_EPOCHS} epochs, s'], lines)}\n\n{split.name}, {len(split.y_train):,} "
        f"examples, float32, one-vs-rest, degree 4. The peak is what `fit` added to the memory of a process of its "
        f"own that already held the data ({split.X_train.nbytes / MB:.0f} MB)."
    )
