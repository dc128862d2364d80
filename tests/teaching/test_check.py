"""The checker of the exercises: solutions pass, and wrong solutions get the first example that differs, and a hint."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from perceptrons import Perceptron
from perceptrons.teaching import EXERCISES, check

HOME = Path(__file__).parent.parent.parent / "docs/exercises"


def written(path, name):
    """The function that a file of the exercises defines."""
    return runpy.run_path(str(path))[name]


@pytest.mark.parametrize("name", EXERCISES)
def test_the_solution_of_every_exercise_is_correct(name, capsys):
    solution = written(HOME / f"solutions/{name}.py", name)
    said = capsys.readouterr().out
    result = check(solution)
    assert result
    assert result.passed
    assert str(result) == said.strip() == f"{name}: correct. All {result.examples} examples agree with the library."
    assert result.examples >= 30


@pytest.mark.parametrize("name", EXERCISES)
def test_every_exercise_starts_unwritten_and_says_so(name, capsys):
    result = check(written(HOME / f"{name}.py", name))
    assert not result
    assert result.examples == 1
    assert "has no answer to compare" in str(result)
    assert "not written yet" in str(result)
    assert capsys.readouterr().out.strip() == str(result)


def test_every_exercise_has_its_two_files_and_a_line_on_the_page():
    page = (HOME / "index.md").read_text()
    assert {path.stem for path in HOME.glob("*.py")} == {*EXERCISES}
    assert {path.stem for path in HOME.glob("solutions/*.py")} == {*EXERCISES}
    for name in EXERCISES:
        assert f"({name}.py)" in page
        assert f"(solutions/{name}.py)" in page


@pytest.mark.parametrize(("name", "k"), [(name, k) for name, one in EXERCISES.items() for k in range(len(one.slips))])
def test_every_known_slip_is_found_and_explained(name, k):
    slip, hint = EXERCISES[name].slips[k]
    result = check(slip, name)
    assert not result
    hints = [text for other, text in EXERCISES[name].slips]
    assert any(str(result).endswith(f"Hint: {text}") for text in hints), str(result)
    first = next(text for text in hints if str(result).endswith(text))
    assert first == hint or hints.index(first) < k  # two slips may give the same first wrong answer


# Wrong as students are, in code of their own


def update_with_the_wrong_sign(w, b, x, y, eta):
    return (w - eta * y * x, b - eta * y) if y * (w @ x + b) <= 0 else (w, b)


def update_at_a_negative_score_only(w, b, x, y, eta):
    if y * (np.dot(w, x) + b) < 0:
        w += eta * y * x
        b += eta * y
    return w, b


def update_without_the_bias(w, b, x, y, eta):
    return [w[j] + eta * y * x[j] if y * (w @ x + b) <= 0 else w[j] for j in range(len(w))], b


def average_after_updates(X, y):
    w, b, kept = np.zeros(X.shape[1]), 0.0, []
    for x, label in zip(X, y, strict=True):
        if label * (w @ x + b) <= 0:
            w, b = w + label * x, b + label
            kept.append((w, b))
    return sum(w for w, _ in kept) / len(kept), sum(b for _, b in kept) / len(kept)


def kernel_score_without_labels(alpha, X, y, kernel, x):
    return sum(alpha[j] * kernel(X[j], x) for j in range(len(X)))


def viterbi_word_by_word(emissions, transitions):
    return [list(row).index(max(row)) for row in emissions]


@pytest.mark.parametrize(
    ("function", "name", "example", "words"),
    [
        (update_with_the_wrong_sign, "update", 1, ["w = [0.2, 0], b = -0.1", "difference is 0.2, in w[0]", "sign"]),
        (update_at_a_negative_score_only, "update", 4, ["w = [0, 0], b = 0, x = [1, 2]", "difference is 2", "<= 0"]),
        (update_without_the_bias, "update", 1, ["difference is 0.1, in b", "bias must be updated"]),
        (average_after_updates, "average", 1, ["w = [", "updates only"]),
        (kernel_score_without_labels, "kernel_score", 1, ["kernel = squared", "multiplied by its label"]),
        (viterbi_word_by_word, "viterbi", 3, ["expected: labels = [0, 1]", "yours:    labels = [0, 0]", "ignores"]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_wrong_solution_is_told_the_first_example_that_differs(function, name, example, words):
    result = check(function, name)
    assert not result
    assert result.examples == example
    total = len(EXERCISES[name].cases())
    assert str(result).startswith(f"{name}: example {example} of {total} differs from the library.")
    for word in words:
        assert word in str(result)


@pytest.mark.parametrize(
    ("function", "name", "hint"),
    [
        (lambda w, b, x: 1 if w @ x + b >= 0 else -1, "predict", "score is exactly 0, and the library answers -1"),
        (lambda w, b, x: int(w @ x + b > 0), "predict", "labels are -1 and +1, not 0 and 1"),
        (
            lambda w, b, x, y, eta, margin: (w + eta * y * x, b + eta * y) if y * (w @ x + b) < margin else (w, b),
            "update_margin",
            "y s is exactly the margin: use <=, not <",
        ),
    ],
    ids=["predicts +1 at 0", "answers 0 and 1", "a strict margin"],
)
def test_the_hint_names_a_slip_that_is_right_about_the_examples_before(function, name, hint):
    """The first answer that differs is also that of another slip, which the examples before rule out."""
    assert hint in str(check(function, name))


def test_a_wrong_answer_that_is_no_known_slip_gets_no_hint():
    result = check(lambda w, b, x: 17.25, "distance")
    assert "yours:    distance = 17.25" in str(result)
    assert "Hint" not in str(result)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda w, b, x: None, "returned None. Is there a `return` at its end?"),
        (lambda w, b, x: 1 / 0, "raised ZeroDivisionError: division by zero"),
        (lambda w, b, x: "spam", "returned spam, which cannot be read as label"),
        (lambda w, b, x: [1, 1], "label has the shape (2,); expected ()"),
    ],
)
def test_an_answer_that_cannot_be_compared_is_explained(function, words):
    assert words in str(check(function, "predict"))


def test_weights_without_a_bias_cannot_be_read():
    assert "cannot be read as w, b" in str(check(lambda w, b, x, y, eta: w[:1], "update"))


def test_a_function_may_change_what_it_is_given():
    def predict(w, b, x):
        x *= w
        return 1 if x.sum() + b > 0 else -1

    assert check(predict)
    assert check(predict)  # and the examples are the same the next time


def test_a_name_that_is_no_exercise_is_refused_with_the_nearest():
    def updates(w, b, x, y, eta):
        raise AssertionError("never called")

    with pytest.raises(ValueError, match=r"no exercise 'updates'\. Did you mean 'update'"):
        check(updates)
    with pytest.raises(TypeError, match=r"must take 3 arguments: predict\(w, b, x\)"):
        check(updates, "predict")
    with pytest.raises(TypeError, match="takes the function itself, not str"):
        check("update")


def test_a_notebook_shows_the_message_as_text():
    shown = check(lambda w, b, x: "<b>", "predict")._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<pre>" in shown


def test_the_perceptron_that_students_are_led_to_has_the_weights_of_the_library(capsys):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), np.where(y, 1, -1)
    w, b = written(HOME / "solutions/perceptron.py", "perceptron")(X.tolist(), y.tolist(), 5)
    rule = {"margin": 0, "intercept_scaling": 1, "combine": "last", "shuffle": False}
    model = Perceptron(**rule, max_iter=5, tol=None).fit(X, y)
    assert model.n_updates_ > 50
    np.testing.assert_allclose(w, model.coef_[0], rtol=1e-9)
    assert b == model.intercept_[0]


def test_the_perceptron_on_the_page_is_that_of_the_solution():
    solution = (HOME / "solutions/perceptron.py").read_text()
    function = solution[solution.index("def perceptron") : solution.index("\n\n\nprint")]
    assert len(function.splitlines()) <= 20
    assert function in (HOME.parent / "tutorial/online.md").read_text()
