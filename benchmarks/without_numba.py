"""Loading and predicting with and without numba: seconds of CPU time of both, and whether they answer the same.

Every model is trained and saved here, then asked by two processes of its own: one as it is, one in which numba and
llvmlite cannot be imported, so that NumPy takes the place of compiled loops. Both have one core.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

import perceptrons
from benchmarks import datasets, results
from benchmarks.tagging import on_one_core
from perceptrons import HashedText, KernelPerceptron, Perceptron, SequencePerceptron
from perceptrons.sequence import FeatureTemplates

CHILD = """
import json, sys, time
from pathlib import Path
if sys.argv[2] == "without":
    sys.modules["numba"] = sys.modules["llvmlite"] = None
import numpy as np
start = time.process_time()
import perceptrons
model = perceptrons.load(f"{sys.argv[1]}.perceptron")
loaded = time.process_time() - start
given = Path(f"{sys.argv[1]}.npy")
X = np.load(given) if given.exists() else json.loads(Path(f"{sys.argv[1]}.json").read_text())
seconds, few = [], 50
for _ in range(4):
    start = time.process_time()
    labels = model.predict(X)
    seconds.append(time.process_time() - start)
start = time.process_time()
for i in range(few):
    model.predict(X[i : i + 1])
one = (time.process_time() - start) / few
flat = labels.tolist() if isinstance(labels, np.ndarray) else labels
print(json.dumps({"load": loaded, "first": seconds[0], "again": min(seconds), "one": one, "labels": flat}))
"""


def run(quick: bool) -> None:
    on_one_core()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, unit, size, model, X in models(quick):
            path = str(Path(folder, name.replace(" ", "_")))
            perceptrons.save(model, f"{path}.perceptron")
            if isinstance(X, np.ndarray):
                np.save(f"{path}.npy", X)
            else:
                Path(f"{path}.json").write_text(json.dumps(X))
            asked = {how: _asked(path, how) for how in ("with", "without")}
            same = asked["with"].pop("labels") == asked["without"].pop("labels")
            rows.append({"model": name, "size": size, "unit": unit, "same": same, **asked})
            print(json.dumps(rows[-1]), flush=True)
    results.write("without_numba", {"rows": rows}, describe(rows), {"without numba": describe(rows)}, quick)


def models(quick: bool) -> Any:
    """Of each: its name, what is counted and how many there are, the fitted model, and what to predict."""
    few = 300 if quick else None
    mnist = datasets.load("mnist")
    test = np.ascontiguousarray(mnist.X_test[:few])
    yield "linear, MNIST", "rows", len(test), Perceptron(max_iter=2).fit(mnist.X_train, mnist.y_train), test
    part = slice(0, few or 10_000)
    kernel = KernelPerceptron(kernel="poly", degree=4, max_iter=2).fit(mnist.X_train[part], mnist.y_train[part])
    yield "kernel, MNIST", "rows", len(test), kernel, test
    messages = {part: found[:: 40 if quick else 1] for part, found in datasets.newsgroup_messages().items()}
    (train, y), texts = zip(*messages["train"], strict=True), [text for text, _ in messages["test"]]
    megabytes = round(sum(len(text.encode()) for text in texts) / 1e6, 1)
    for name, text in (
        ("text, hashed words", HashedText()),
        ("text, vocabulary of words and pairs", HashedText(bits=None, words=(1, 2))),
        ("text, hashed characters", HashedText(words=None, chars=(3, 4))),
    ):
        model = make_pipeline(text, Perceptron(max_iter=2)).fit(list(train), list(y))
        yield f"{name}, 20 newsgroups", "MB", megabytes, model, texts
    chunks = datasets.load_sentences("conll2000", few)
    tagger = SequencePerceptron(templates=FeatureTemplates("chunking", ["word", "pos"]), max_iter=3)
    tokens = sum(map(len, chunks.X_test))
    yield "tagger, CoNLL-2000", "tokens", tokens, tagger.fit(chunks.X_train, chunks.y_train), chunks.X_test


def _asked(path: str, how: str) -> dict[str, Any]:
    command = [sys.executable, "-c", CHILD, path, how]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def describe(rows: list[dict[str, Any]]) -> str:
    head = ["model", "predicted", "load, with", "load, without", "predict, with", "predict, without", "one, with",
            "one, without", "same labels"]  # fmt: skip
    body = [
        [
            row["model"],
            f"{row['size']:,} {row['unit']}",
            *(f"{row[how]['load']:.2f} s" for how in ("with", "without")),
            *(f"{row[how]['again']:.3f} s" for how in ("with", "without")),
            *(f"{row[how]['one'] * 1e3:.2f} ms" for how in ("with", "without")),
            "yes" if row["same"] else "no",
        ]
        for row in rows
    ]
    return results.table(head, body)
