"""In notebooks: scikit-learn's view, how training went below it, and answers of the theory; all escaped and static."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron
from perceptrons.engine.html import Html, block, escaped, note, sparkline, table, training_summary
from perceptrons.theory import check_bound, convergence, mistake_bound, separability
from tests.conftest import whole_numbers

AND = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
XOR = AND[0], [0, 1, 1, 0]


def parsed(html):
    """Well-formed, and nothing in it runs or is fetched."""
    assert not re.search(r"<script|<link|<img|<iframe|\bon\w+=|javascript:|url\(|href|src=", html, re.IGNORECASE), html
    return ElementTree.fromstring(html)


def words(html):
    return " ".join("".join(parsed(html).itertext()).split())


@pytest.mark.parametrize("Model", [Perceptron, KernelPerceptron])
def test_a_fitted_model_shows_how_training_went_below_scikit_learns_view(Model, rng):
    X, y = whole_numbers(rng, 60, 5, 3)
    model = Model(max_iter=7, tol=None)
    html = model._repr_html_()
    assert training_summary(model) == ""
    assert "sk-top-container" in html
    assert "perceptrons" not in html
    model.fit(X, np.array(["a", "<b>", "c"])[y])
    shown = model._repr_html_()
    assert "sk-top-container" in shown
    assert shown.endswith(training_summary(model))
    assert model._repr_mimebundle_()["text/html"].endswith(training_summary(model))
    said = words(training_summary(model))
    mistakes = model.mistakes_
    for piece in ("3: <b>, a, c", "features5", f"epochs{model.n_iter_}", f"updates{model.n_updates_:,}",
                  f"{model.stop_reason_}: ", f"{mistakes[0]} in the first of {model.n_iter_} epochs",
                  f"{mistakes[-1]} in the last"):  # fmt: skip
        assert piece in said
    assert len(parsed(training_summary(model)).findall(".//svg/polyline")) == 1


def test_a_model_that_learned_one_by_one_has_no_epochs_to_show():
    model = Perceptron().learn_one({"a": 1}, "yes").learn_one({"b": 1}, "no")
    said = words(training_summary(model))
    assert "examples seen2" in said
    assert "epoch" not in said
    assert "svg" not in training_summary(model)


def test_a_tagger_shows_itself_too():
    tagger = SequencePerceptron(max_iter=4).fit([[["x"], ["y"]], [["y"], ["x"]]], [["A", "B"], ["B", "A"]])
    assert "2: A, B" in words(training_summary(tagger))
    assert tagger._repr_html_().endswith(training_summary(tagger))
    assert "token" in words(tagger.explain([["x"], ["<y>"]])._repr_html_())


def test_where_scikit_learn_shows_text_so_do_we(rng):
    X, y = whole_numbers(rng, 20, 3, 2)
    model = Perceptron(max_iter=2).fit(X, y)
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert list(model._repr_mimebundle_()) == ["text/plain"]


def test_pipelines_show_models_as_before(rng):
    X, y = whole_numbers(rng, 20, 3, 2)
    pipeline = make_pipeline(StandardScaler(), Perceptron(max_iter=2)).fit(X, y)
    assert "Perceptron" in pipeline._repr_html_()
    assert "Perceptron" in sklearn.utils.estimator_html_repr(pipeline)


def test_a_line_of_many_epochs_is_thinned_out_and_keeps_its_peaks():
    numbers = [5] * 10_000
    numbers[4321] = 50
    drawing = ElementTree.fromstring(f"<div>{sparkline(numbers)}</div>")
    points = drawing.find(".//polyline").get("points").split()
    heights = [float(point.split(",")[1]) for point in points]
    assert len(points) <= 240
    assert min(heights) == 4.0
    assert heights.count(4.0) == 1
    assert "nan" not in sparkline([0, 0, 0])


@pytest.mark.parametrize(
    ("make", "pieces"),
    [
        (lambda: separability(*AND), ["separableyes", "samples4", "Linearly separable"]),
        (lambda: separability(*XOR), ["separableno", "Not linearly separable"]),
        (lambda: mistake_bound(*AND), ["updates", "radius", "margin", "whatever the order"]),
        (lambda: check_bound(Perceptron(tol=None).fit(*AND), *AND), ["at most", "holdsyes", "as the theory says"]),
        (lambda: convergence(*AND), ["convergesyes", "epochs", "The perceptron converges"]),
        (lambda: convergence(*XOR), ["convergesno", "never converges"]),
    ],
)
def test_answers_of_the_theory_show_a_table_and_words(make, pieces):
    found = make()
    said = words(found._repr_html_())
    assert all(piece in said for piece in pieces), said
    assert " ".join(found.explain().split()) in said


def test_labels_of_certificates_are_escaped():
    said = separability([[0.0], [1.0]], ["<script>alert(1)</script>", "b"])._repr_html_()
    assert "&lt;script&gt;" in said
    parsed(said)


def test_explanations_are_escaped_and_whole():
    model = Perceptron()
    for text, label in [
        ("<img> cash", "<script>alert(1)</script>"),
        ("see you", 'a" onclick="b'),
        ("a b", "c\x00\x07"),
    ]:
        model.learn_one(dict.fromkeys(text.split(), 1), label)
    said = model.explain({"<img>": 2, "see": 1, "<new>": 1})._repr_html_()
    for piece in ("&lt;img&gt;", "&lt;new&gt;", "Predicted", "together"):
        assert piece in said
    ElementTree.fromstring(said)
    assert not re.search(r"<(script|img|new)", said)
    assert "\x00" not in training_summary(model)


def test_numbers_stand_on_the_right_and_html_stays_html():
    html = table([("a < b", 1.5, "+2.5e+03", "12%", Html("<b>3</b>"))], ["name", "n", "m", "share", ""])
    cells = parsed(html).findall(".//td")
    sides = [re.search("text-align:(\\w+)", cell.get("style")).group(1) for cell in cells]
    assert sides == ["left", "right", "right", "right", "left"]
    heads = [re.search("text-align:(\\w+)", cell.get("style")).group(1) for cell in parsed(html).findall(".//th")]
    assert heads == sides
    assert escaped(escaped("<")) == "&lt;"
    assert parsed(block(note("a & b"), table([]))).find("p").text == "a & b"
    assert escaped("\ud800\x00é") == "\\ud800\\x00é"
