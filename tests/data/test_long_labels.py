"""A label of a million characters is refused before it widens the array that all labels are in."""

import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron
from perceptrons.data import read, stream
from perceptrons.engine.training.labels import MAX_LABEL_CHARACTERS

LONG = "x" * 1_000_000
LABELS = [*(f"class {k}" for k in range(300)), LONG]
X = np.arange(301.0)[:, None]


@pytest.fixture(autouse=True)
def _little_memory():
    """No test here may take what an array of 301 labels of a million characters would: 1.2 GB."""
    tracemalloc.start()
    yield
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 500e6


@pytest.mark.parametrize(
    "form", [list, tuple, pd.Series, lambda y: np.array(y, object), lambda y: [[one] for one in y]]
)
def test_python_refuses_it_with_its_row(form):
    for model in (Perceptron(), KernelPerceptron()):
        with pytest.raises(ValueError, match=r"a label of 1,000,000 characters .at most 1,000.* at row 300"):
            model.fit(X, form(LABELS))
    with pytest.raises(ValueError, match="row 300"):
        Perceptron().partial_fit(X[:2], ["a", "b"], classes=LABELS)
    with pytest.raises(ValueError, match="row 0"):
        Perceptron().learn_one([1.0], LONG)


def test_label_sets_and_taggers_refuse_it():
    with pytest.raises(ValueError, match="a label of 1,000,000 characters"):
        Perceptron().fit(X[:2], [{"a", "b"}, {LONG}])
    with pytest.raises(ValueError, match="token 1 of sequence 0 is a label of 1,000,000 characters"):
        SequencePerceptron().fit([[{"a": 1}, {"b": 1}]], [["N", LONG]])


def test_readers_refuse_it_with_its_line(tmp_path):
    files = {
        "a.txt": "".join(f"__label__{label.replace(' ', '')} some words\n" for label in LABELS),
        "a.svm": "".join(f"{label.replace(' ', '')} 1:1\n" for label in LABELS),
        "a.jsonl": "".join(json.dumps({"size": 1.0, "label": label}) + "\n" for label in LABELS),
        "a.csv": "size,label\n" + "".join(f"1,{label[:100_000]}\n" for label in LABELS),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(ValueError, match=f"{name}:30[12].*a label of [10,]*000 characters"):
            list(stream(path, many_classes=True, **({"format": "text"} if name == "a.txt" else {})))
    with pytest.raises(ValueError, match=r"a\.csv:302:2: this is a label of 100,000 characters"):
        read(tmp_path / "a.csv")
    skipped = stream(tmp_path / "a.svm", many_classes=True, on_error="skip")
    assert sum(block.X.shape[0] for block in skipped) == 300


def test_a_label_of_the_longest_length_is_learned():
    y = ["a" * MAX_LABEL_CHARACTERS, "b"]
    model = Perceptron().fit([[0.0], [1.0]], y)
    assert model.predict([[0.0], [1.0]]).tolist() == y
