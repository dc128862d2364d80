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


@pytest.mark.parametrize(
    ("name", "k"), [(name, k) for name, exercise in EXERCISES.items() for k in range(len(exercise.common_mistakes))]
)
def test_every_common_mistake_is_found_and_explained(name, k):
    mistake, hint = EXERCISES[name].common_mistakes[k]
    result = check(mistake, name)
    assert not result
    hints = [text for _, text in EXERCISES[name].common_mistakes]
    assert any(str(result).endswith(f"Hint: {text}") for text in hints), str(result)
    first = next(text for text in hints if str(result).endswith(text))
    assert first == hint or hints.index(first) < k  # two mistakes may give the same first wrong answer


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
            "y s is exactly the margin: use y s <= margin",
        ),
    ],
    ids=["predicts +1 at 0", "answers 0 and 1", "a strict margin"],
)
def test_the_hint_names_a_mistake_that_is_right_about_the_examples_before(function, name, hint):
    """The first answer that differs is also that of another mistake, which the examples before rule out."""
    assert hint in str(check(function, name))


# Every wrong solution of this table must be caught, and its hint must name what is wrong with it.


def visits(X, y, epochs=1, w=0.0, b=0.0, rule=lambda s, label: s * label <= 0, rate=lambda s, label: label):
    """Weights and biases after every example, by a rule that students may have got wrong."""
    w, kept = np.full(X.shape[1], w), []
    for _ in range(epochs):
        for x, label in zip(X, y, strict=True):
            s = w @ x + b
            if rule(s, label):
                w, b = w + rate(s, label) * x, b + rate(s, label)
            kept.append((w, b))
    return kept


def positive(s):
    return 1 if s > 0 else -1


def positive_at_zero(s):
    return 1 if s >= 0 else -1


def concise(half, sign):
    """The concise form: w + eta/2 (y - y_hat) x."""

    def update(w, b, x, y, eta):
        step = eta * half * (y - sign(w @ x + b))
        return w + step * x, b + step

    return update


def one_update(triggers, on_w=lambda y, eta: eta * y, on_b=lambda y, eta: eta * y, bias=1):
    """One visit, with a slip."""

    def update(w, b, x, y, eta, *margin):
        if triggers(y, w @ x + bias * b, w, *margin):
            return w + on_w(y, eta) * x, b + on_b(y, eta)
        return w, b

    return update


def perceptron_in_batches(X, y, epochs):
    w, b = np.zeros(X.shape[1]), 0.0
    for _ in range(epochs):
        wrong = y * (X @ w + b) <= 0
        w, b = w + (y * wrong) @ X, b + (y * wrong).sum()
    return w, b


def average_of_aliases(X, y):
    w, b, ws, bs = np.zeros(X.shape[1]), 0.0, [], []
    for x, label in zip(X, y, strict=True):
        if label * (w @ x + b) <= 0:
            w += label * x
            b += label
        ws.append(w)  # the same array every time
        bs.append(b)
    return sum(ws) / len(ws), sum(bs) / len(bs)


def average_before_the_update(X, y):
    w, b, total, bias = np.zeros(X.shape[1]), 0.0, np.zeros(X.shape[1]), 0.0
    for x, label in zip(X, y, strict=True):
        total, bias = total + w, bias + b
        if label * (w @ x + b) <= 0:
            w, b = w + label * x, b + label
    return total / len(X), bias / len(X)


def mean(pairs):
    return np.mean([w for w, _ in pairs], axis=0), np.mean([b for _, b in pairs])


def classes(is_mistake):
    def update_classes(theta, x, y):
        s = theta @ x
        if is_mistake(s, y):
            theta[s.argmax()] -= x
            theta[y] += x
        return theta

    return update_classes


def one_by_one(theta, x, y):
    """Every class that is at least as good as the true one is punished."""
    s = theta @ x
    for k in range(len(theta)):
        if k != y and s[k] >= s[y]:
            theta[k] -= x
            theta[y] += x
    return theta


def kernel_score_right(alpha, X, y, kernel, x):
    return sum(a * label * kernel(z, x) for a, label, z in zip(alpha, y, X, strict=True))


def last_of_equals(theta, x, y):
    s = theta @ x
    y_hat = max(range(len(s)), key=lambda k: (s[k], k))
    if y_hat != y:
        theta[y] += x
        theta[y_hat] -= x
    return theta


WRONG = {
    "predict": [
        (lambda w, b, x: positive(w @ x - b), "add the bias"),
        (lambda w, b, x: positive_at_zero(w @ x + b), "exactly 0"),
        (lambda w, b, x: int(np.sign(w @ x + b)), "not 0"),
        (lambda w, b, x: positive(w @ x), "without the bias"),
    ],
    "distance": [
        (lambda w, b, x: (w @ x + b) / np.sqrt(x @ x) if x.any() else 0.0, "length of x"),
        (lambda w, b, x: (w @ x + b) / abs(w).sum(), "sum of the absolute values"),
        (lambda w, b, x: (w @ x - b) / np.sqrt(w @ w), "add the bias"),
        (lambda w, b, x: (w @ x + b) / (w @ w), "|w|²"),
        (lambda w, b, x: abs(w @ x + b) / np.sqrt(w @ w), "keep it"),
    ],
    "update": [
        (one_update(lambda y, s, w: positive(s) != y), "both labels"),
        (one_update(lambda y, s, w: positive_at_zero(s) != y), "both labels"),
        (one_update(lambda y, s, w: y * s < 0), "exactly 0"),
        (concise(0.5, positive), "both labels"),
        (concise(0.5, positive_at_zero), "both labels"),
        (concise(0.5, np.sign), "np.sign(0) is 0"),
        (concise(1.0, positive), "½"),
        (one_update(lambda y, s, w: y * s <= 0, on_b=lambda y, eta: -eta * y), "do not subtract it"),
        (one_update(lambda y, s, w: y * s <= 0, on_b=lambda y, eta: eta), "b + eta y"),
        (one_update(lambda y, s, w: y * s <= 0, on_b=lambda y, eta: y), "b + eta y"),
        (one_update(lambda y, s, w: y * s <= 0, on_w=lambda y, eta: eta, on_b=lambda y, eta: eta), "label y"),
        (one_update(lambda y, s, w: y * s <= 0, bias=-1), "add the bias"),
        (one_update(lambda y, s, w: s <= 0), "label"),
    ],
    "perceptron": [
        (lambda X, y, epochs: visits(X, y, epochs, rule=lambda s, label: positive(s) != label)[-1], "both labels"),
        (lambda X, y, epochs: visits(X, y, epochs, w=1.0, b=1.0)[-1], "from zeros, not from ones"),
        (lambda X, y, epochs: visits(X, y, epochs, w=1.0)[-1], "from zeros, not from ones"),
        (perceptron_in_batches, "batch"),
        (lambda X, y, epochs: mean(visits(X, y, epochs)), "averaged"),
        (
            lambda X, y, epochs: visits(
                X, y, epochs, rule=lambda s, label: True, rate=lambda s, label: label - positive(s)
            )[-1],
            "½",
        ),
        (
            lambda X, y, epochs: visits(
                X, y, epochs, rule=lambda s, label: True, rate=lambda s, label: 0.5 * (label - np.sign(s))
            )[-1],
            "np.sign(0) is 0",
        ),
        (lambda X, y, epochs: visits(X, y, 1)[-1], "one epoch"),
    ],
    "bound": [
        (lambda X, y, u: (abs(X).sum(axis=1).max() / (y * (X @ u)).min()) ** 2, "sum of the absolute values"),
        (lambda X, y, u: np.linalg.norm(X, axis=1).max() / (y * (X @ u)).min(), "square"),
    ],
    "average": [
        (average_of_aliases, "the same array"),
        (average_before_the_update, "before the update"),
        (lambda X, y: mean(visits(X, y, rule=lambda s, label: positive(s) != label)), "both labels"),
        (lambda X, y: mean(visits(X, y, w=1.0, b=1.0)), "from zeros, not from ones"),
    ],
    "stop": [
        (lambda accuracies, patience: (len(accuracies), int(np.argmax(accuracies)) + 1), "`patience` epochs"),
    ],
    "update_classes": [
        (classes(lambda s, y: s[y] < max(s)), "as good"),
        (one_by_one, "only two rows"),
        (last_of_equals, "first class"),
    ],
    "update_margin": [
        (one_update(lambda y, s, w, margin: y * s <= margin * np.sqrt(w @ w)), "geometric margin"),
        (one_update(lambda y, s, w, margin: y * s < margin), "exactly the margin"),
        (one_update(lambda y, s, w, margin: s <= margin), "label"),
        (one_update(lambda y, s, w, margin: y * s <= margin, bias=-1), "add the bias"),
        (one_update(lambda y, s, w, margin: y * s <= margin, on_b=lambda y, eta: eta), "b + eta y"),
        (one_update(lambda y, s, w, margin: y * s <= 0), "without a margin"),
    ],
    "kernel_score": [
        (lambda alpha, X, y, kernel, x: sum(a * k * (z @ x) for a, k, z in zip(alpha, y, X, strict=True)), "dot prod"),
        (lambda *arguments: positive(kernel_score_right(*arguments)), "sign"),
    ],
    "viterbi": [(viterbi_word_by_word, "ignores")],
    "feature_map": [(lambda x: [x[0] * x[1]], "keep x₁ and x₂")],
}  # fmt: skip


@pytest.mark.parametrize(("name", "k"), [(name, k) for name, functions in WRONG.items() for k in range(len(functions))])
def test_wrong_solutions_are_caught_and_the_hint_names_what_is_wrong(name, k):
    function, hint = WRONG[name][k]
    result = check(function, name)
    assert not result
    assert "Hint: " in str(result), str(result)
    assert hint in str(result).partition("Hint: ")[2]


def test_every_exercise_has_wrong_solutions():
    assert set(WRONG) == set(EXERCISES)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("update", one_update(lambda y, s, w: y * s <= 0, on_w=lambda y, eta: 3 * eta * y)),
        ("distance", lambda w, b, x: 2 * (w @ x + b) / np.sqrt(w @ w)),
        ("predict", lambda w, b, x: positive(w[0] * x[0] + b)),
    ],
)
def test_other_mistakes_get_no_hint_even_if_the_first_answer_is_that_of_a_known_one(name, function):
    result = check(function, name)
    assert not result
    assert "Hint" not in str(result)


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
