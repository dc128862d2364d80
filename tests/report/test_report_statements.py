"""What a report says agrees with itself: labels that no class has, features that share columns, ones among many."""

import re

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.metrics import average_precision_score, balanced_accuracy_score, matthews_corrcoef, roc_auc_score
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union

from perceptrons import Perceptron
from perceptrons.engine.wording import why_it_stopped
from perceptrons.features import HashedText
from perceptrons.report import report
from perceptrons.report.subject import hashed_columns
from perceptrons.theory import separability
from tests.conftest import gaussian
from tests.support.pages import Outline


class Drawn:
    """Remembers what would have been drawn: drawing is most of the work of a page."""

    def __init__(self):
        self.displays = []

    def __call__(self, display, **how):
        self.displays.append(display)
        return b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>', "image/svg+xml"

    def the(self, kind):
        (found,) = (display for display in self.displays if kind in [one.__name__ for one in type(display).__mro__])
        return found


@pytest.fixture(autouse=True)
def drawn(monkeypatch):
    found = Drawn()
    monkeypatch.setattr("perceptrons.report.page.render", found)
    return found


def said(model, X, y, **more):
    return Outline(report(model, X, y, **more).html).text


def alts(model, X, y):
    return " ".join(image["alt"] for image in Outline(report(model, X, y).html).all("img"))


# ---- weights of one sign


@pytest.mark.parametrize(("sign", "lacks", "has"), [(1.0, "n", "p"), (-1.0, "p", "n")])
def test_where_all_weights_have_one_sign_no_feature_speaks_for_the_other_class(sign, lacks, has):
    X, y = sign * np.array([[2.0, 1.0], [-2.0, -1.0]]), ["p", "n"]
    model = Perceptron(max_iter=3).fit(X, y)
    assert (sign * model.coef_ > 0).all()
    text = said(model, X, y)
    assert f"no feature is evidence for {lacks}" in text
    assert f"no feature is evidence for {has}" not in text
    assert "all weights are 0" not in text


def test_weights_that_are_all_0_are_called_so():
    model = Perceptron(max_iter=1).fit([[0.0], [0.0]], ["p", "n"])
    text = said(model, [[1.0], [2.0]], ["p", "n"])
    assert text.count("all weights are 0") == 2
    assert "no feature is evidence" not in text


def test_of_very_many_weights_only_the_heaviest_are_spoken_of():
    x = np.where(np.arange(600) < 550, 2.0, -1.0)
    X, y = np.array([x, -x]), ["p", "n"]
    text = said(Perceptron(max_iter=3).fit(X, y), X, y)
    assert "none of the 500 largest weights is evidence for n" in text
    assert "no feature is evidence for n" not in text


# ---- labels that the model does not know


UP = np.array([[2.0, 0.0], [-2.0, 0.5], [1.0, 1.0], [-3.0, 1.0], [0.5, 0.0]])


@pytest.fixture
def updown():
    return Perceptron(combine="last", fit_intercept=False).fit([[1.0, 0.0], [-1.0, 0.0]], ["up", "down"])


def test_unknown_labels_are_counted_alike_everywhere_and_left_out_aloud(updown, drawn):
    text = said(updown, UP, ["zzz", "down", "up", "up", "up"])
    assert "2 of the model's 2 occur, and 1 label that it does not know" in text
    assert "3 of 5 right" in text
    assert "1 example with a label that the model does not know (zzz) counts as a mistake" in text
    assert "There are 2 mistakes; 1 has a label that the model does not know, and is not shown" in text
    assert "Of 1 mistake" not in text
    boundary = text[text.index("Each region has the colour of the predicted class; the") :]
    left_out = "1 of the 5 examples has a label that the model does not know and is left out"
    assert boundary[: boundary.index("Separability")].count(left_out) == 1
    assert boundary[boundary.index("Separability") :].count(left_out) == 1
    assert text.count(left_out) == 3  # the third stands with the curves
    assert len(drawn.the("BoundaryDisplay").codes) == len(drawn.the("MarginsDisplay").margins) == 4


def test_the_picture_of_margins_counts_the_rows_that_the_page_counts(updown, drawn):
    text = said(updown, UP, ["zzz", "down", "up", "up", "up"])
    assert "The smallest margin is that of example 4 (the plot numbers examples from 0)." in text
    assert drawn.the("MarginsDisplay").smallest == 3
    assert len(drawn.the("MarginsDisplay").margins) == 4


def test_if_only_unknown_labels_are_wrong_the_page_does_not_say_that_all_is_right(updown):
    text = said(updown, UP, ["zzz", "down", "yyy", "down", "up"])
    assert "every prediction is right." not in text
    assert "There are 2 mistakes; 2 have labels that the model does not know, and are not shown" in text
    assert "2 of the 5 examples have labels that the model does not know and are left out" in text
    text = said(updown, UP, ["zzz", "down", "up", "down", "up"])
    assert "There is 1 mistake; it has a label that the model does not know, and is not shown." in text


def test_how_many_mistakes_there_are_and_which_are_shown(updown):
    X = np.c_[np.arange(1.0, 31.0), np.zeros(30)]  # up, all of them
    for down, strange, words in (
        (12, 0, "The 10 of 12 mistakes in which the wrong class leads by most."),
        (3, 0, "All 3 mistakes, starting with those in which"),
        (12, 2, "There are 14 mistakes; 2 have labels that the model does not know, and are not shown. Here are the 10 "
         "of the other 12 in which the wrong"),
        (3, 1, "There are 4 mistakes; 1 has a label that the model does not know, and is not shown. Here are the other "
         "3, starting with those in which"),
    ):  # fmt: skip
        y = ["down"] * down + ["zzz"] * strange + ["up"] * (30 - down - strange)
        assert words in said(updown, X, y)


def test_a_page_of_known_labels_does_not_speak_of_others(updown):
    text = said(updown, UP, ["up", "down", "up", "down", "down"])
    assert "does not know" not in text
    assert "left out" not in text
    assert "There is 1 mistake." in text
    assert "2 of the model's 2 occur" in text


def test_the_commonest_label_may_be_one_that_the_model_does_not_know(updown):
    text = said(updown, UP, ["zzz", "zzz", "zzz", "down", "up"])
    assert re.search("60.0% always predicting zzz ?, the most frequent label, which the model does not know", text)


def test_no_bound_is_given_where_labels_show_that_it_learned_from_others():
    X = UP
    model = Perceptron(max_iter=2, tol=None).fit(X, ["up", "down", "up", "down", "up"])
    text = said(model, X, ["zzz", "down", "up", "down", "up"])
    assert "model can have made at most" not in text
    assert "some labels here are not known to the model" in text


# ---- features that share columns


def test_equal_rows_of_hashed_texts_are_not_called_impossible():
    texts = [f"word{k} thing{k}" for k in range(40)]
    labels = ["a" if k % 2 else "b" for k in range(40)]
    model = make_pipeline(HashedText(bits=2, norm=None), Perceptron(max_iter=3)).fit(texts, labels)
    text = said(model, texts, labels)
    assert "Equal in the hashed features, with different labels" in text
    assert "no classifier can be right on all of these" not in text
    found = re.search(
        r"no classifier that uses these features can be right on all of them, so [\d.]+% is the best", text
    )
    assert found
    assert "the examples themselves may differ: features are hashed to 4 columns (2 bits), and may share one" in text
    assert "More bits" in text


def test_equal_rows_behind_other_steps_are_equal_there():
    model = make_pipeline(FeatureUnion([("same", "passthrough")]), Perceptron(max_iter=3))
    X, y = [[1.0], [1.0], [2.0]], ["a", "b", "b"]
    text = said(model.fit(X, y), X, y)
    assert "Equal in the features that the model gets, with different labels" in text
    assert "hashed" not in text


def test_two_examples_in_one_direction_are_not_called_the_same_point():
    X, y = [[1.0, 1.0], [2.0, 2.0], [1.0, -3.0], [-1.0, 3.0]], ["a", "b", "a", "b"]
    text = said(Perceptron(fit_intercept=False, max_iter=5).fit(X, y), X, y)
    assert "example 1, example 2 lie in one direction, or opposite ones, from the origin" in text
    assert "are the same point" not in text


def test_two_hashed_examples_that_no_boundary_parts_are_equal_in_their_features():
    texts, labels = ["one", "two", "three", "four", "five", "six"], ["a", "b"] * 3
    model = make_pipeline(HashedText(bits=1, signed=False), Perceptron(max_iter=3)).fit(texts, labels)
    text = said(model, texts, labels)
    assert "are equal in the hashed features, with different labels" in text
    assert "are the same point" not in text


def test_hashing_is_found_inside_pipelines_and_unions():
    plain = Perceptron()
    assert hashed_columns(plain, None) is None
    for step, columns in (
        (HashedText(bits=5), 32),
        (HashedText(bits=None), None),
        (HashingVectorizer(n_features=1000), 1000),
        (make_union(HashedText(bits=3), HashingVectorizer(n_features=100)), 8),  # the narrowest
        (ColumnTransformer([("text", HashedText(bits=4), "body")]), 16),
        (make_pipeline(make_pipeline(HashedText(bits=6))), 64),
    ):
        assert hashed_columns(plain, make_pipeline(step)) == columns, step


def test_the_command_says_that_hashed_lines_may_differ(run, tmp_path):
    data, model, page = tmp_path / "a.txt", tmp_path / "m.model", tmp_path / "r.html"
    data.write_text("".join(f"{'spam' if k % 2 else 'ham'}\tword{k}\n" for k in range(40)))
    options = ("--format", "text", "--hash-bits", "2", "--epochs", "1", "--quiet")
    assert run("train", data, *options, "-o", model) == (0, "", "")
    assert run("report", model, data, "-o", page, "--quiet") == (0, "", "")
    assert "features are hashed to 4 columns (2 bits)" in Outline(page.read_text("utf-8")).text


# ---- words


def test_one_epoch_is_not_called_all_of_them():
    X, y = gaussian(np.random.default_rng(0), 60, 2, 3)
    model = Perceptron(max_iter=1, tol=None).fit(X, y)
    assert why_it_stopped(model).startswith("The maximum of 1 epoch was reached")
    text, pictures = said(model, X, y), alts(model, X, y)
    mistakes = model.history_[0]["mistakes"]
    assert f"{mistakes} mistakes in its only epoch" in text
    for part in ("All 1 epochs", "first of 1 epoch"):
        assert part not in text + pictures
    two = Perceptron(max_iter=2, tol=None).fit(X, y)
    assert why_it_stopped(two).startswith("The maximum of 2 epochs was reached")
    assert "in the first of 2 epochs" in said(two, X, y)


def test_one_second_and_one_epoch_of_patience_are_singular():
    X, y = gaussian(np.random.default_rng(0), 60, 2, 3)
    model = Perceptron(max_iter=1, max_seconds=1, early_stopping=True, n_iter_no_change=1).fit(X, y)
    model.stop_reason_ = "max_seconds"
    assert why_it_stopped(model) == "The time limit was reached (1 second)."
    model.stop_reason_ = "early_stopping"
    assert "had not improved for 1 epoch, so" in why_it_stopped(model)


def test_both_figures_of_a_margin_have_their_names():
    shown = Outline(separability([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]], [0, 0, 1, 1])._repr_html_())
    assert re.search(r"margin reached 1\.5\d* margin at most 1\.5", shown.text)
    none = Outline(separability([[0.0], [0.0]], [0, 1])._repr_html_())
    assert "margin reached" not in none.text


# ---- the recipe


@pytest.fixture
def tuned():
    X, y = gaussian(np.random.default_rng(1), 60, 2, 2)
    model = Perceptron(max_iter=3).fit(X, y)
    model.recipe_ = {
        "split": "stratified", "sizes": {"train": 36, "dev": 12, "test": 12}, "metric": "accuracy", "dev_score": 0.9,
        "test_score": 0.875, "test_interval": {"low": 0.8, "high": 0.95, "level": 0.95, "method": "Wilson"}, "looks": 1,
        "settings_tried": 4, "twice": 0, "examples_seen": model.t_,
    }  # fmt: skip
    return model, X, y


def test_a_recipes_page_says_if_the_model_has_learned_on_since(tuned):
    model, X, y = tuned
    before = said(model, X, y)
    assert "was trained further since," not in before
    text = said(model.partial_fit(X, y), X, y)
    assert "Mind: the model was trained further since" in text
    assert "yes: the scores above are those of an earlier version" in text


def test_a_recipes_page_says_if_test_examples_were_learned_from(tuned):
    model, X, y = tuned
    assert "also in the training" not in said(model, X, y)
    model.recipe_["twice"] = 3
    text = said(model, X, y)
    assert "Mind: 3 of the test examples were also in the training or validation set," in text
    model.recipe_["twice"] = 1
    assert "Mind: 1 of the test examples was also in the training or validation set," in said(model, X, y)


def test_metrics_and_curves_are_those_of_evaluate_and_of_scikit_learn(rng):
    X, y = gaussian(rng, 150, 4, 3)
    names = np.array(["a", "b", "c"])[y]
    model = Perceptron(max_iter=2).fit(X, names)
    found = Outline(report(model, X, names, max_seconds=1).html).text
    scores, said = model.decision_function(X), model.predict(X)
    area = np.mean([roc_auc_score(names == label, scores[:, k]) for k, label in enumerate(model.classes_)])
    assert f"ROC AUC {area:.3f}" in found
    assert f"Matthews correlation {matthews_corrcoef(names, said):.3f}" in found
    assert f"Balanced accuracy {balanced_accuracy_score(names, said):.1%}" in found
    first = roc_auc_score(names == "a", scores[:, 0]), average_precision_score(names == "a", scores[:, 0])
    assert f"a {first[0]:.3f} {first[1]:.3f} {(names == 'a').sum()}" in found


def test_a_threshold_moves_answers_mistakes_and_margins_and_is_said(rng):
    X, y = gaussian(rng, 200, 3, 2)
    model = Perceptron(max_iter=2).fit(X, y)
    model.threshold_ = 20.0
    right = int((model.predict(X) == y).sum())
    assert right != int(((model.decision_function(X) > 0) == y).sum())
    found = Outline(report(model, X, y, max_seconds=1).html).text
    assert f"{right} of 200 right" in found
    assert "The model predicts the second class for scores of 20 or more." in found
    assert "the threshold is +20" in found
    assert f"{200 - right:,} examples of 200 wrong" in report(model, X, y, max_seconds=1).html


def test_examples_of_one_class_make_no_curve(rng):
    X, y = gaussian(rng, 60, 3, 2)
    found = Outline(report(Perceptron(max_iter=2).fit(X, y), X[y == 1], y[y == 1], max_seconds=1).html).text
    assert "All examples belong to one class, so there are no curves." in found
