"""This commit beside another one: `python -m benchmarks against --commit HEAD~1`.

Both run the same tasks in turns, each in its own process with its own compiled code. It prints ratios of best times,
by the clock and by the processor: the second holds on a busy machine too.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import bigfiles, results

ROOT = Path(__file__).parent.parent
REPEATS = 15
WORKER = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from benchmarks import datasets
import perceptrons
from perceptrons import FeatureTemplates, Perceptron, SequencePerceptron
from perceptrons.data import stream
folder = sys.argv[1]
numbers = {
    "dense": lambda: datasets.dense(100_000, 100),
    "CSR": lambda: datasets.sparse(100_000, 50_000, 60),
    "dense, 20 classes": lambda: datasets.dense_classes(30_000, 100, 20),
    "CSR, 20 classes": lambda: datasets.sparse_classes(50_000, 50_000, 60, 20),
}
kept = {}
def made(name, make):
    if name not in kept:
        kept[name] = make()
    return kept[name]
def fit(name, epochs):
    X, y = made(name, numbers[name])
    return lambda: Perceptron(max_iter=epochs, tol=None).fit(X, y)
def predict(name):
    X, y = made(name, numbers[name])
    model = made(name + "'s model", lambda: Perceptron(max_iter=1).fit(X[:5000], y[:5000]))
    return lambda: model.predict(X)
def small():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 20)); y = (X[:, 0] > 0).astype(int)
    return lambda: [Perceptron().fit(X, y) for _ in range(50)]
def streamed(file, **options):
    return lambda: Perceptron().fit_stream(stream(f"{folder}/{file}", **options))
def sentences():
    return made("sentences", lambda: datasets.load_sentences("conll2000", 3000))
def tagger():
    return SequencePerceptron(templates=FeatureTemplates("chunking", ("word", "pos")), max_iter=3)
def tag_fit():
    s = sentences()
    return lambda: tagger().fit(s.X_train, s.y_train)
def tag_predict():
    s = sentences()
    model = made("tagger", lambda: tagger().fit(s.X_train, s.y_train))
    return lambda: model.predict(s.X_test)
def load():
    def make():
        X, y = datasets.sparse_classes(20_000, 50_000, 60, 30)
        perceptrons.save(Perceptron(max_iter=2).fit(X, y), f"{folder}/{sys.argv[2]}.model")
    made("file", make)
    return lambda: perceptrons.load(f"{folder}/{sys.argv[2]}.model")
def one_by_one():
    X, y = made("dense", numbers["dense"])
    rows, labels = list(X[:5000]), y[:5000].tolist()
    def learn():
        model = Perceptron()
        for x, label in zip(rows, labels):
            model.learn_one(x, label)
    return learn
tasks = {
    **{f"linear: fit, {name}": (lambda name=name: fit(name, 3)) for name in numbers},
    **{f"linear: predict, {name}": (lambda name=name: predict(name)) for name in numbers},
    "linear: 50 fits on 100 x 20": small,
    "linear: learn_one, 5,000 examples": one_by_one,
    "files: svmlight": lambda: streamed("train.svm"),
    "files: VW": lambda: streamed("train.vw"),
    "files: text": lambda: streamed("train.txt", format="text"),
    "files: CSV": lambda: streamed("table.csv"),
    "files: JSON Lines": lambda: streamed("table.jsonl"),
    "files: Parquet": lambda: streamed("table.parquet"),
    "tagging: fit": tag_fit,
    "tagging: predict": tag_predict,
    "model files: load": load,
}
print(json.dumps(list(tasks)), flush=True)
for line in sys.stdin:
    task = tasks[json.loads(line)]()
    start = time.perf_counter(), time.process_time()
    task()
    print(json.dumps([time.perf_counter() - start[0], time.process_time() - start[1]]), flush=True)
"""


def run(quick: bool, commit: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = bigfiles.svmlight(folder, 2000 if quick else 40_000)
        bigfiles.as_vw(rows)
        bigfiles.newsgroups(folder, (2 if quick else 40) * 10**6)
        bigfiles.tables(folder, 2000 if quick else 50_000)
        sources(folder, commit)
        workers = {side: Worker(side, folder) for side in ("before", "now")}
        found = compared(workers, 3 if quick else REPEATS)
        for worker in workers.values():
            worker.end()
    head = ["", f"{commit}, ms", "this commit, ms", "ratio", "ratio of processor time"]
    print(results.table(head, found))


def sources(folder: Path, commit: str) -> None:
    """The package as it was at a commit, in before/src, and as it is, in now/src."""
    before = folder / "before"
    with tempfile.TemporaryFile() as archive:
        subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, stdout=archive, check=True)
        archive.seek(0)
        before.mkdir()
        subprocess.run(["tar", "-x", "-C", str(before)], stdin=archive, check=True)
    shutil.copytree(ROOT / "src", folder / "now" / "src", ignore=shutil.ignore_patterns("__pycache__"))


class Worker:
    """A process that runs tasks by the code of one side, on request."""

    def __init__(self, side: str, folder: Path) -> None:
        environment = {
            "PYTHONPATH": os.pathsep.join([str(folder / side / "src"), str(ROOT)]),
            "NUMBA_CACHE_DIR": str(folder / side / "cache"),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(folder), side],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | environment, cwd=folder,
        )  # fmt: skip
        self.tasks: list[str] = json.loads(self._said())

    def seconds(self, task: str) -> list[float]:
        """How long a task takes, by the clock and by the processor."""
        self._process.stdin.write(json.dumps(task) + "\n")  # type: ignore[union-attr]
        self._process.stdin.flush()  # type: ignore[union-attr]
        return json.loads(self._said())

    def end(self) -> None:
        self._process.communicate()

    def _said(self) -> str:
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise RuntimeError(f"the process ended with {self._process.wait()}")
        return line


def compared(workers: dict[str, Worker], repeats: int) -> list[list[Any]]:
    found = []
    for task in workers["now"].tasks:
        times: dict[str, list[list[float]]] = {side: [] for side in workers}
        for take in range(repeats + 1):
            for side in ("before", "now") if take % 2 else ("now", "before"):
                seconds = workers[side].seconds(task)
                if take:  # the first compiles
                    times[side].append(seconds)
        best = {side: [min(taken) for taken in zip(*takes, strict=True)] for side, takes in times.items()}
        ratios = [now / before for before, now in zip(best["before"], best["now"], strict=True)]
        found.append([task, 1000 * best["before"][0], 1000 * best["now"][0], *ratios])
        print(f"{task}: {ratios[0]:.3f}, {ratios[1]:.3f}", flush=True)
    return found
