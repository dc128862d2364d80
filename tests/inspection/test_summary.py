"""The summary of a model says the same as text, as HTML and as plain values for JSON."""

import json

import numpy as np
import pytest

from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron
from perceptrons.inspection.summary import ModelSummary

X, Y = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.5, 2.0]]), ["a<b", "c", "c", "a<b"]
MODELS = {
    "linear": lambda: Perceptron(max_iter=2, tol=None).fit(X, Y),
    "kernel": lambda: KernelPerceptron(max_iter=2, tol=None).fit(X, Y),
    "tagger": lambda: SequencePerceptron(max_iter=2, tol=None).fit([[["the"], ["dog"]]], [["a<b", "c"]]),
}


@pytest.mark.parametrize("kind", MODELS)
def test_a_summary_is_text_html_and_plain_values(kind):
    model = MODELS[kind]()
    summary = ModelSummary(model, top=3)
    lines, facts = summary.lines(), json.loads(json.dumps(summary.to_dict(), default=str))
    assert facts["kind"] == type(model).__name__
    assert facts.get("classes", facts.get("labels")) == ["a<b", "c"]
    assert len(facts["support" if kind == "kernel" else "weights"]) == 2
    assert str(summary).splitlines()[0].split() == ["kind", *dict(lines)["kind"].split()]
    assert all(text in line for line, (_, text) in zip(str(summary).splitlines(), lines, strict=True))
    page = summary._repr_html_()
    assert page.count("<tr>") == len(lines)
    assert "a&lt;b" in page
    assert "a<b" not in page


@pytest.mark.parametrize("kind", MODELS)
def test_a_summary_can_be_about_one_class(kind):
    model = MODELS[kind]()
    summary = ModelSummary(model, label="c")
    assert [row.classes for row in summary.rows] == [("c",)]
    assert not ModelSummary(model, label="d").rows
    assert len(ModelSummary(model, mirrored=False).rows) == (2 if kind == "tagger" else 1)
