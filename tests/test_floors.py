"""The library (floors 1 to 3) stands on its own: without the studies and programs above it, and without any extra."""

import ast
import subprocess
import sys

import pytest

from tests.conftest import ROOT

ABOVE = {
    "theory", "plots", "selection", "report", "distributed", "teaching",
    "cli", "serve", "client", "lab",
}  # fmt: skip
TESTS_OF_THE_LIBRARY = (
    "data", "export", "features", "inspection", "kernel", "linear", "modelfile", "passes", "sequence", "streaming",
    "structured", "training",
)  # fmt: skip
EXTRAS = (
    "pyarrow", "polars", "pandas", "dask", "distributed", "matplotlib", "starlette", "uvicorn", "msgspec", "onnx",
    "skl2onnx", "onnxruntime", "river", "zstandard", "python_calamine", "jinja2", "rich", "typer",
)  # fmt: skip

BLOCK_EXTRAS = f"""
import importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(EXTRAS)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""

PROGRAM = """
import pathlib
import numpy as np
import perceptrons
from perceptrons import (
    Checkpoint, FeatureTemplates, HashedFeatures, HashedText, KernelPerceptron, Perceptron, SequencePerceptron,
    StructuredPerceptron,
)
from perceptrons.data import read, stream
from perceptrons.inspection.evaluation import measure
from perceptrons.inspection.weights import rows_of
from perceptrons.inspection.summary import ModelSummary
from perceptrons.online import progressive

folder = pathlib.Path(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = np.where(X[:, 0] - X[:, 1] > 0, "yes", "no")

def saved(model):
    perceptrons.save(model, folder / "model")
    return perceptrons.load(folder / "model")

# fit, predict, explain, inspect, save and load models of every kind
for model in (Perceptron(), Perceptron(combine="vote", tol=None, max_iter=5), KernelPerceptron(tol=None, max_iter=5)):
    model.fit(X, y)
    loaded = saved(model)
    assert (loaded.predict(X) == model.predict(X)).all()
    assert loaded.explain(X[0]).prediction == model.predict(X[:1])[0]
    assert "together" in str(loaded.explain(X[0]))
    assert len(rows_of(loaded)) == 2
    assert ModelSummary(loaded).to_dict()["classes"] == ["no", "yes"]
    loaded.partial_fit(X, y).learn_one(X[0], y[0])
    assert measure(model.classes_, y, np.searchsorted(model.classes_, model.predict(X))).accuracy > 0.8

# three classes, several labels, probabilities
labels = np.argmax(X, axis=1)
assert Perceptron(multiclass="ovo").fit(X, labels).score(X, labels) > 0.7
assert Perceptron().fit(X, [{"a"} if x[0] > 0 else {"b", "c"} for x in X]).predict(X[:1])
assert saved(Perceptron(probability="sigmoid").fit(X, y)).predict_proba(X).shape == (60, 2)

# files: CSV in memory and as a stream, svmlight, text
lines = [f"{k % 7},{'rg'[k % 2]},{'ab'[k % 2]}" for k in range(40)]
(folder / "a.csv").write_text("\\n".join(["size,colour,label", *lines]))
table = read(folder / "a.csv", label_column="label")
model = Perceptron().fit(table.X, table.y)
assert model.score(table.X, table.y) == 1
source = stream(folder / "a.csv", label_column="label")
model = Perceptron().fit_stream(source, epochs=2, checkpoint=Checkpoint(folder / "run.checkpoint"))
assert saved(model).predict_one({"size": 3, "colour": "g"}) == "b"
assert "colour=" in str(model.explain({"size": 3, "colour": "g"}))

(folder / "a.svm").write_text("".join(f"{k % 2} 1:{k % 3} 2:{k % 2 + 1}\\n" for k in range(40)))
points = read(folder / "a.svm")
assert Perceptron().fit(points.X, points.y).score(points.X, points.y) == 1
assert Perceptron().fit_stream(stream(folder / "a.svm"), epochs=3).t_ > 0

text = HashedText(bits=10)
assert Perceptron().fit(text.fit_transform(["free cash", "see you"]), ["spam", "ham"]).coef_.shape[1] == 2**10
assert HashedFeatures(bits=8).fit_transform([{"a": 1}, {"b": "c"}]).shape == (2, 2**8)

# progressive validation, taggers, structured models
steps = progressive(Perceptron(), ((x, label) for x, label in zip(X.tolist(), y.tolist())))
assert steps.error < 0.5

sentences = [["a", "cat"], ["cats", "sleep"]]
tags = [["DET", "NOUN"], ["NOUN", "VERB"]]
tagger = SequencePerceptron(templates=FeatureTemplates(["word[0]"])).fit(sentences, tags)
assert saved(tagger).predict(sentences) == tags
assert tagger.explain(sentences[1]).labels == tags[1]

class Sign:
    size = 1
    def decode(self, x, w, cost_with=None): return 1 if w[0] * x > 0 else -1
    def features(self, x, y): return {0: x * y}
    def loss(self, y, y_hat): return float(y != y_hat)

model = StructuredPerceptron(Sign()).fit([1.0, -2.0, 3.0], [1, -1, 1])
assert model.predict([5.0, -1.0]) == [1, -1]

ABOVE = {above!r}
loaded = sorted(name for name in sys.modules if name.startswith("perceptrons.") and name.split(".")[1] in ABOVE)
assert not loaded, loaded
assert not {extras!r} & {name.partition(".")[0] for name in sys.modules}
print("all of it works")
"""


def test_the_library_works_without_extras_and_without_what_is_built_on_it(tmp_path):
    program = BLOCK_EXTRAS + PROGRAM.replace("{above!r}", repr(ABOVE)).replace("{extras!r}", repr(set(EXTRAS)))
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "all of it works\n", done.stderr


def imported_packages(path):
    """The packages of the library that a Python file imports, also inside functions."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "perceptrons":
            modules |= {f"perceptrons.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in modules if name.startswith("perceptrons.")}


@pytest.mark.parametrize("folder", TESTS_OF_THE_LIBRARY)
def test_tests_of_the_library_import_nothing_that_is_built_on_it(folder):
    paths = sorted((ROOT / "tests" / folder).glob("*.py"))
    assert paths
    assert {path.name: found for path in paths if (found := imported_packages(path) & ABOVE)} == {}
