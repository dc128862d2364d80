"""The comparison: same parts for all, one opening of the seal, fair settings, sizes, significance, demonstrations."""

import json
import re
import warnings
from dataclasses import replace
from functools import partial
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_circles
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import balanced_accuracy_score, f1_score, log_loss, roc_auc_score
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from perceptrons import KernelPerceptron, Perceptron
from perceptrons.selection import (
    LEARNERS,
    Compared,
    LeastSquares,
    OpenedBeforeError,
    Setting,
    compare,
    copied_features,
    holm,
    parts_of,
    size_of,
    swapping,
    too_correct,
    wilson,
)
from perceptrons.selection import test_set_ledger as sealing
from perceptrons.selection.learners import learners_for
from tests.conftest import gaussian

tuning = import_module("perceptrons.selection.compare")  # the package has a function of that name
F1_MACRO = partial(f1_score, average="macro", zero_division=0)


class Spy(ClassifierMixin, BaseEstimator):
    """Answers the most frequent class, and remembers in a list of the class what it saw."""

    seen: list = []  # noqa: RUF012 (shared by clones on purpose)

    def __init__(self, name="spy", level=0):
        self.name, self.level = name, level

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.most_ = self.classes_[np.bincount(codes).argmax()]
        self.seen.append((self.name, "fit", self.level, np.asarray(X)[:, 0].tolist()))
        return self

    def predict(self, X):
        self.seen.append((self.name, "predict", self.level, np.asarray(X)[:, 0].tolist()))
        return np.full(len(X), self.most_)


@pytest.fixture(autouse=True)
def a_ledger_of_its_own(monkeypatch):
    monkeypatch.setattr(sealing.Ledger, "_here", {})


@pytest.fixture(scope="module")
def cancer():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealing.Ledger, "_here", {})
        return compare(*load_breast_cancer(return_X_y=True))


@pytest.fixture
def spies():
    Spy.seen = []
    return [(name, Spy(name), {"level": [1, 2]}) for name in ("a", "b", "c")]


@pytest.fixture
def numbered():
    """Examples whose one feature is their number."""
    return np.arange(100.0).reshape(-1, 1), np.arange(100) % 2


# ---- the same for all


def test_all_learners_see_the_same_parts_and_the_test_only_at_the_end(spies, numbered):
    X, y = numbered
    compare(X, y, learners=spies, scale=False)
    parts = parts_of(X, y)
    train, dev, test = (part.rows.tolist() for part in (parts.train, parts.dev, parts.test))
    learnable = sorted(train + dev)
    for name in "abc":
        mine = [(what, level, rows) for who, what, level, rows in Spy.seen if who == name]
        tried = [event for level in (1, 2) for event in (("fit", level, train), ("predict", level, dev))]
        assert mine[:4] == tried
        assert mine[4:6] == [("fit", 1, learnable), ("predict", 1, learnable)]
        assert {(what, tuple(rows)) for what, _, rows in mine[6:]} == {("predict", tuple(test))}
    first_test = next(k for k, event in enumerate(Spy.seen) if event[3] == test)
    assert all(event[3] == test for event in Spy.seen[first_test:])


def test_the_seal_is_opened_once_for_all(spies, numbered, monkeypatch):
    opened = []
    really = sealing.SealedTest.open
    monkeypatch.setattr(sealing.SealedTest, "open", lambda self: opened.append(1) or really(self))
    found = compare(*numbered, learners=spies)
    assert (len(opened), found.looks) == (1, 1)
    with pytest.raises(OpenedBeforeError, match="used before"):
        compare(*numbered, learners=spies)
    forced = compare(*numbered, learners=spies, force=True)
    assert forced.looks == 2
    assert "FORCED: this test set was used 2 times," in forced.explain()


def test_a_refused_comparison_tries_nothing(spies, numbered):
    compare(*numbered, learners=spies[:1])
    Spy.seen = []
    with pytest.raises(OpenedBeforeError):
        compare(*numbered, learners=spies)
    assert Spy.seen == []


def test_a_ledger_in_a_file_is_shared_with_the_recipe(numbered, spies, tmp_path):
    from perceptrons.selection import recipe

    recipe(Perceptron(max_iter=2), *numbered, ledger=tmp_path / "looks.json")
    with pytest.raises(OpenedBeforeError):
        compare(*numbered, learners=spies, ledger=tmp_path / "looks.json")


def test_standardising_knows_only_what_is_learned_from(spies, rng):
    X, y = gaussian(rng, 60, 2, 2)
    X[:, 0] *= 1000
    found = compare(X, y, learners=spies[:1])
    assert found.scaled
    parts = parts_of(X, y)
    column = X[parts.train.rows, 0]
    fitted = next(rows for _, what, _, rows in Spy.seen if what == "fit")
    np.testing.assert_allclose(fitted, (column - column.mean()) / column.std())
    assert "standardised for all learners" in found.explain()


def test_scale_is_as_said_and_sparse_data_are_never_standardised(rng):
    X, y = gaussian(rng, 60, 2, 2)
    assert not compare(X, y, learners=["average"]).scaled
    assert compare(X, y, learners=["average"], scale=True, force=True).scaled
    X[:, 0] *= 1000
    assert not compare(X, y, learners=["average"], scale=False).scaled
    assert not compare(sp.csr_matrix(X), y, learners=["average"], force=True).scaled
    with pytest.raises(ValueError, match="sparse data cannot be standardised,"):
        compare(sp.csr_matrix(X), y, scale=True, force=True)


@pytest.mark.parametrize("unit", [1e-90, 1e7])
def test_data_in_any_unit_can_be_compared(rng, unit):
    X, y = gaussian(rng, 80, 3, 2)
    names = ["margin", "pa1", "arow", "svm", "ridge"]
    found = [compare(data, y, learners=names, scale=scale) for data, scale in ((X, True), (X * unit, "auto"))]
    assert found[1].scaled
    figures = [[(row.name, row.score, row.dev_score) for row in one.rows] for one in found]
    assert figures[0] == figures[1]
    compare(sp.csr_matrix(X * unit), y, learners=["margin", "pa1", "arow", "ridge"], force=True)


def test_a_pipeline_of_ones_own_is_watched_epoch_by_epoch_and_keeps_its_names(rng):
    X, y = gaussian(rng, 80, 3, 2)
    X[:, 0] *= 1000
    own = ("mine", make_pipeline(StandardScaler(), Perceptron(max_iter=4)), {"perceptron__step": ["constant", "pa1"]})
    row = compare(X, y, learners=[own]).row("mine")
    assert row.family == "perceptron"
    assert row.setting.epochs is not None
    assert set(row.setting.params) == {"perceptron__step"}
    assert row.to_dict()["params"].keys() == {"step"}


def test_epochs_and_settings_are_those_of_the_recipe(rng):
    from perceptrons.selection import recipe

    X, y = gaussian(rng, 120, 4, 3)
    row = compare(X, y, learners=["arow"]).row("arow")
    (learner,) = learners_for(parts_of(X, y).train.taken()[0], ["arow"], 0)
    found = recipe(learner.estimator, X, y, learner.grid, force=True)
    assert (row.setting.params, row.setting.epochs, row.dev_score) == (
        found.best.params, found.best.epochs, found.dev_score,
    )  # fmt: skip
    assert (row.score, row.interval) == (found.test_score, found.test_interval)
    assert np.array_equal(row.model.coef_, found.model.coef_)


def test_no_learner_tries_more_than_five_settings(rng):
    X, _ = gaussian(rng, 30, 3, 2)
    sizes = {one.name: sum(np.prod([len(v) for v in grid.values()]) for grid in one.grid)
             for one in learners_for(X, None, 0)}  # fmt: skip
    assert tuple(sizes) == LEARNERS
    assert {name for name in sizes if sizes[name] == 1} == {"last", "average", "vote", "pocket", "least_squares"}
    assert {sizes[name] for name in sizes} == {1, 5}


# ---- who


def test_naive_bayes_is_of_the_kind_that_the_values_suggest(rng):
    def kind(X):
        (learner,) = learners_for(X, ["naive_bayes"], 0)
        return type(learner.estimator), learner.what

    counts = rng.poisson(1.0, (20, 5)).astype(float)
    assert kind((counts > 0).astype(float)) == (BernoulliNB, "Bernoulli naive Bayes")
    assert kind(counts) == (MultinomialNB, "multinomial naive Bayes")
    assert kind(sp.csr_matrix(counts / 7)) == (MultinomialNB, "multinomial naive Bayes")
    assert kind(counts / 7) == (GaussianNB, "Gaussian naive Bayes")
    assert kind(-counts) == (GaussianNB, "Gaussian naive Bayes")
    assert kind(sp.csr_matrix(-counts)) == (Pipeline, "naive Bayes of |x|")


def test_naive_bayes_of_signed_sparse_features_is_that_of_their_sizes(rng):
    X = sp.random(120, 40, 0.2, format="csr", random_state=0)
    y = (np.asarray(X[:, :20].sum(axis=1)).ravel() > 2).astype(int)
    signs = sp.diags(np.where(np.arange(40) % 2, -1.0, 1.0))
    plain, signed = (compare(data, y, learners=["naive_bayes"]).row("naive_bayes") for data in (X, X @ signs))
    assert (plain.predicted == signed.predicted).all()
    assert signed.size == plain.size


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_least_squares_is_linear_regression_on_plus_and_minus_one(rng, classes, form):
    X, y = gaussian(rng, 60, 5, classes)
    targets = np.where(y[:, None] == np.arange(classes), 1.0, -1.0)[:, classes == 2 :]
    other = LinearRegression().fit(X, targets)
    model = LeastSquares().fit(form(X), y)
    close = 5e-3 if sp.issparse(form(X)) else 1e-9  # of sparse data it is found step by step
    np.testing.assert_allclose(model.coef_, other.coef_, atol=close)
    np.testing.assert_allclose(model.decision_function(form(X)).reshape(60, -1), other.predict(X), atol=close)
    X_with_nan = X.copy()
    X_with_nan[3, 2] = np.nan
    for wrong in (form(X_with_nan), form(X[:, :4])):
        with pytest.raises(ValueError, match=r"NaN|4 features, but LeastSquares is expecting 5"):
            model.predict(wrong)
    with pytest.raises(ValueError, match="NaN"):
        LeastSquares().fit(form(X_with_nan), y)
    ridge = RidgeClassifier(alpha=1e-10).fit(X, y)
    assert (model.predict(form(X)) == ridge.predict(X)).mean() > 0.98


def test_all_learners_take_sparse_data_and_words_as_labels(rng):
    X = sp.random(120, 40, 0.2, format="csr", random_state=0)
    y = np.array(["odd", "even"])[(np.asarray(X[:, :20].sum(axis=1)).ravel() > 2).astype(int)]
    X.indices = X.indices.astype(np.int64)
    found = compare(X, y)
    assert {row.name for row in found.rows} == set(LEARNERS)
    assert found.row("naive_bayes").what == "multinomial naive Bayes"


def test_the_kernel_is_left_out_with_a_reason_where_examples_are_too_many(rng, monkeypatch):
    monkeypatch.setattr(tuning, "MAX_KERNEL_EXAMPLES", 40)
    X, y = gaussian(rng, 60, 2, 2)
    found = compare(X, y, learners=["kernel", "average"])
    assert [row.name for row in found.rows] == ["average"]
    assert "48 are more than 40" in found.left_out["kernel"]
    assert "Left out: kernel: its time grows" in found.explain()
    assert "Left out: kernel: " in str(found)
    with pytest.raises(KeyError, match=r"was not compared \(its time"):
        found.row("kernel")
    with pytest.raises(ValueError, match="No learner is left to compare: kernel: its time"):
        compare(X, y, learners=["kernel"], force=True)


def test_who_needs_too_long_is_left_out_and_says_so(rng):
    X, y = gaussian(rng, 3000, 20, 3)
    found = compare(X, y, learners=["margin", "naive_bayes"], max_seconds=1e-9)
    assert "are not enough for one epoch" in found.left_out["margin"]
    row = found.row("naive_bayes")  # cannot be stopped: its first setting counts
    assert row.settings_tried == 1
    assert any("with setting 1 of 5" in note for note in row.notes)


def test_epochs_that_were_whole_when_the_time_was_spent_count(rng, monkeypatch):
    X, y = gaussian(rng, 200, 5, 3)
    really = tuning.try_settings

    def slow(*arguments):
        (found,) = really(*arguments)
        return [replace(found, curve=(0.5, 0.7, 0.6, 0.9), stop_reason="max_seconds")]

    monkeypatch.setattr(tuning, "try_settings", slow)
    row = compare(X, y, learners=["margin"], max_seconds=60).row("margin")
    assert (row.setting.epochs, row.dev_score, row.settings_tried) == (2, 0.7, 1)
    assert row.model.n_iter_ == 2
    assert row.notes == ("tuning ended at the time limit of 60 seconds, with setting 1 of 5",)


def test_a_time_limit_in_the_grid_of_a_learner_is_its_own_setting(rng):
    X, y = gaussian(rng, 300, 5, 3)
    result = compare(X, y, learners=[("limited", Perceptron(), {"max_seconds": [1e-9]}), "average"])
    row = result.row("limited")
    assert (row.setting.params, row.setting.stop_reason, row.notes) == ({"max_seconds": 1e-9}, "max_seconds", ())


def test_not_converging_is_a_note_and_other_warnings_stay_warnings(rng):
    X, y = gaussian(rng, 80, 5, 3)
    found = compare(X, y, learners=[("short", LogisticRegression(max_iter=2), {})])
    assert found.row("short").notes == ("did not converge in 2 iterations",)
    assert "short: did not converge in 2 iterations." in found.notes()

    class Grumbling(GaussianNB):
        def fit(self, X, y):
            warnings.warn("look here", UserWarning, stacklevel=1)
            return super().fit(X, y)

    with pytest.warns(UserWarning, match="look here"):
        compare(X, y, learners=[("grumbling", Grumbling(), {})], force=True)


def test_a_learner_of_ones_own_that_fails_is_left_out_with_the_reason(numbered):
    class Broken(GaussianNB):
        def fit(self, X, y):
            raise ZeroDivisionError("broken")

    found = compare(*numbered, learners=["average", ("broken", Broken(), {})])
    assert found.left_out == {"broken": "it failed with ZeroDivisionError: broken"}
    assert "Left out: broken: it failed" in found.explain()


def test_an_unexpected_error_of_the_librarys_own_is_not_swallowed(numbered, monkeypatch):
    monkeypatch.setattr(GaussianNB, "fit", lambda *arguments: 1 / 0)
    monkeypatch.setattr(MultinomialNB, "fit", lambda *arguments: 1 / 0)
    monkeypatch.setattr(BernoulliNB, "fit", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        compare(*numbered, learners=["average", "naive_bayes"])


# ---- figures


def test_mcnemar_against_the_best_is_as_counted_by_hand(spies, numbered):
    class Fixed(Spy):
        """Right on the test examples with these numbers only."""

        def __init__(self, name="fixed", level=0, wrong=()):
            super().__init__(name, level)
            self.wrong = wrong

        def predict(self, X):
            y = np.asarray(X)[:, 0].astype(int) % 2
            return np.where(np.isin(np.asarray(X)[:, 0], self.wrong), 1 - y, y)

    X, y = numbered
    test = parts_of(X, y).test.rows
    learners = [
        ("first", Fixed(wrong=test[:1]), {}), ("second", Fixed(wrong=test[1:9]), {}),
        ("third", Fixed(wrong=test[1:5]), {}),
    ]  # fmt: skip
    found = compare(X, y, learners=learners, scale=False)
    assert [row.name for row in found.rows] == ["first", "third", "second"]
    first, third, second = found.rows
    assert second.p_alone == binomtest(1, 9, 0.5).pvalue == 2 * (1 + 9) / 2**9
    assert third.p_alone == 2 * (1 + 5) / 2**5
    assert (second.p, third.p, first.p) == (2 * second.p_alone, third.p_alone, 1.0)
    assert not second.worse  # 0.078 after the correction, 0.039 before
    assert found.mcnemar("first", "second") == second.p_alone
    assert (first.score, first.interval) == (0.95, wilson(19, 20))


def test_holms_correction_is_as_in_the_book():
    assert holm([0.01, 0.02, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
    assert holm([0.03, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_other_figures_have_a_bootstrap_interval_and_rank_the_learners(rng, monkeypatch):
    monkeypatch.setattr("perceptrons.selection.statistics.RESAMPLES", 40)
    X, y = gaussian(rng, 100, 3, 2)
    found = compare(X, y, learners=["last", "average", "ridge"], metric="f1_macro")
    assert found.best.interval.method.startswith("bootstrap")
    assert [row.score for row in found.rows] == sorted((row.score for row in found.rows), reverse=True)
    best, second = found.rows[:2]
    assert second.p_alone == swapping(F1_MACRO, found.y_test, best.predicted, second.predicted)
    assert "swapping predictions," in str(found)
    assert "McNemar" not in str(found)


def test_areas_below_curves_rank_learners_with_scores_and_with_probabilities_and_ranks_are_swapped(rng, monkeypatch):
    monkeypatch.setattr("perceptrons.selection.statistics.RESAMPLES", 40)
    X, y = gaussian(rng, 200, 3, 2)
    found = compare(X, y, learners=["average", "naive_bayes", "logistic"], metric="roc_auc")
    X_test, y_test = found.parts.test.taken()
    for row in found.rows:
        ask = getattr(row.model, "decision_function", lambda X, row=row: row.model.predict_proba(X)[:, 1])
        assert row.score == pytest.approx(roc_auc_score(y_test, ask(X_test)))
        assert row.interval.low <= row.score <= row.interval.high
        assert row.p_alone == 1 or row.p_alone == swapping(roc_auc_score, y_test, found.best.answers, row.answers)
    with pytest.raises(ValueError, match="needs probabilities, but Perceptron has none: calibrate it"):
        compare(X, y, learners=["average"], metric="neg_log_loss", random_state=1)
    chances = compare(X, y, learners=["naive_bayes", "logistic"], metric="neg_log_loss", random_state=2)
    X_test, y_test = chances.parts.test.taken()
    for row in chances.rows:
        assert row.score == pytest.approx(-log_loss(y_test, row.model.predict_proba(X_test)))


def test_areas_of_several_classes_are_compared_too(rng, monkeypatch):
    monkeypatch.setattr("perceptrons.selection.statistics.RESAMPLES", 20)
    X, y = gaussian(rng, 150, 3, 3)
    found = compare(X, y, learners=["average", "logistic"], metric="average_precision")
    assert 0 < found.rows[1].score <= found.rows[0].score <= 1
    assert 0 < found.rows[1].p <= 1
    with pytest.raises(ValueError, match="metric='f1' is for two classes, but there are 3: choose another"):
        compare(X, y, learners=["average"], metric="f1", random_state=3)


@pytest.mark.slow
def test_whoever_is_right_more_often_is_not_called_worse_by_another_figure(rng):
    """McNemar's test counts right answers, and would call the more accurate one significantly worse."""
    X = rng.standard_normal((1500, 2))
    y = (X[:, 0] + 1.2 * rng.standard_normal(1500) > 2.2).astype(int)
    balanced = ("balanced", LogisticRegression(class_weight="balanced"), {})
    found = compare(X, y, learners=["average", balanced], metric="balanced_accuracy")
    assert found.best.name == "balanced"
    assert found.best.right.mean() < found.row("average").right.mean()
    p = swapping(balanced_accuracy_score, found.y_test, found.best.predicted, found.row("average").predicted)
    assert found.row("average").p == p


@pytest.mark.slow
def test_swapping_finds_no_difference_where_there_is_none(rng):
    y = rng.integers(0, 2, 200)
    noisy = [np.where(rng.random(200) < 0.2, 1 - y, y) for _ in range(2)]
    assert swapping(F1_MACRO, y, *noisy) > 0.05
    assert swapping(F1_MACRO, y, y, noisy[0]) < 0.01


def test_sizes_are_the_numbers_that_predicting_needs(rng):
    X, y = gaussian(rng, 80, 6, 3)
    assert size_of(Perceptron().fit(X, y)) == 8 * (3 * 6 + 3)
    assert size_of(Perceptron(step="arow").fit(X, y)) == 8 * (3 * 6 + 3)
    assert size_of(GaussianNB().fit(X, y)) == 8 * (2 * 3 * 6 + 3)
    assert size_of(MultinomialNB().fit(abs(X), y)) == 8 * (3 * 6 + 3)
    assert size_of(LogisticRegression().fit(X, y)) == 8 * (3 * 6 + 3)
    assert size_of(make_pipeline(StandardScaler(), Perceptron()).fit(X, y)) == 8 * (6 + 6 + 3 * 6 + 3)
    kernel = KernelPerceptron().fit(X, y)
    assert size_of(kernel) == 8 * kernel.n_support_ * (6 + 3)
    vote = Perceptron(combine="vote", max_iter=3).fit(X, y)
    support = len(np.unique(vote._learner.votes.log[:, 1]))
    assert size_of(vote) == 8 * (support * 6 + 5 * vote.n_updates_ + 3 * 6 + 3)
    sparse = KernelPerceptron().fit(sp.csr_matrix(X), y)
    assert size_of(sparse) > 12 * sparse.support_vectors_.nnz
    assert size_of(KernelPerceptron(combine="vote").fit(X, y)) > size_of(kernel)
    assert size_of(Spy().fit(X, y)) is None


# ---- what is said


def test_the_result_holds_every_figure_of_every_learner(cancer):
    assert {row.name for row in cancer.rows} | set(cancer.left_out) == set(LEARNERS)
    assert [row.name for row in cancer.rows if row.probabilistic] == [
        row.name for row in cancer.rows if row.name in ("naive_bayes", "logistic")
    ]
    for row in cancer.rows:
        assert row.score == row.right.mean() == (row.predicted == cancer.y_test).mean()
        assert row.interval.low <= row.score <= row.interval.high
        assert min(row.training_seconds, row.tuning_seconds, row.prediction_seconds) > 0
        assert row.size > 0
        assert row.score == row.model.score(*cancer.parts.test.taken())


def test_it_is_the_same_from_run_to_run_but_for_the_times():
    X, y = load_iris(return_X_y=True)
    first, second = (compare(X, y, force=True, learners=["vote", "arow", "svm", "ridge"]) for _ in range(2))
    assert first.to_markdown(times=False) == second.to_markdown(times=False)
    assert first.explain().splitlines() == second.explain().splitlines()[:-1]  # which ends with the looks
    assert len(first.to_markdown().splitlines()[0].split("|")) == 2 + len(
        first.to_markdown(False).split("\n")[0].split("|")
    )


def test_tables_and_words_go_into_terminals_pages_and_json(cancer):
    text = str(cancer)
    for part in ("logistic regression", "p < 0.05", "Holm's correction for 12 comparisons", "C=", "epoch"):
        assert part in text, part
    markdown = cancer.to_markdown().splitlines()
    assert len(markdown) == 2 + len(cancer.rows)
    assert {line.count("|") for line in markdown} == {10}
    told = json.loads(json.dumps(cancer.to_dict(), allow_nan=False))
    assert told["rows"][0]["name"] == cancer.best.name
    assert told["correction"] == "Holm"
    assert repr(cancer).startswith("<Compared: 13 learners on 114 test examples, best ")


def test_html_is_escaped(numbered):
    own = [("<script>a|b</script>", Spy(), {}), ("b", Spy("<b>"), {"name": ["<i>"]})]
    X, y = numbered
    found = compare(X, np.where(y, "<u>", "&"), learners=own)
    page = found._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    for tag in ("<i>", "<u>", "<b>"):
        assert tag not in page
    assert "a\\|b" in found.to_markdown()


def test_it_says_when_a_relative_is_ahead_of_every_perceptron_and_when_not(rng):
    y = rng.integers(0, 2, 600)
    X = (rng.random((600, 200)) < np.where(y[:, None] == 1, 0.54, 0.46)).astype(float)
    ahead = compare(X, y, learners=["last", "naive_bayes"])
    assert ahead.best.name == "naive_bayes"
    assert "Another model beats every perceptron: Bernoulli naive Bayes is" in ahead.explain()
    assert "A likely reason, not tested: its assumption" in ahead.explain()
    behind = compare(*load_digits(return_X_y=True), learners=["average", "naive_bayes"])
    assert "No other model beats every perceptron: averaged perceptron is" in behind.explain()
    assert "predicted as" in behind.explain()
    assert "Only averaged perceptron gets" in behind.explain()


@pytest.mark.parametrize(
    ("name", "ours", "theirs", "features", "reason"),
    [
        ("naive_bayes", 1.0, 0.9, 500, r"fewer examples \(100\) than features \(500\)"),
        ("naive_bayes", 1.0, 0.9, 5, "independent given the class, does little harm"),
        ("svm", 1.0, 0.9, 5, "overfits, while theirs does not, with a penalty"),
        ("svm", 1.0, 1.0, 5, "of the many decision boundaries that fit, theirs finds a better one, with a penalty."),
        ("logistic", 0.9, 0.9, 5, "classes overlap .*one loss over all examples, with a penalty on large weights .C=2"),
        ("least_squares", 0.9, 0.9, 5, "one loss over all examples.$"),
    ],
)
def test_why_a_relative_is_ahead_is_told_by_what_both_learned(name, ours, theirs, features, reason):
    found = SimpleNamespace(sizes={"train": 80, "dev": 20}, n_features=features)
    setting = Setting({"C": 2.0}, None, 1.0, (), 0.1, None)
    perceptron, relative = (
        SimpleNamespace(name=who, what=what, train_accuracy=share, setting=setting)
        for who, what, share in (("average", "ours", ours), (name, "theirs", theirs))
    )
    assert re.search(reason, Compared.guess_reason(found, relative, perceptron))


def test_it_says_that_a_curved_boundary_is_needed():
    X, y = make_circles(400, noise=0.1, factor=0.4, random_state=0)
    found = compare(X, y, learners=["average", "kernel", "logistic"])
    assert found.best.name == "kernel"
    assert found.row("logistic").worse
    assert "A curved decision boundary is needed: the kernel (" in found.explain()
    assert "Significantly worse: " in found.explain()


def test_one_learner_alone_is_no_comparison_but_a_table(rng):
    found = compare(*gaussian(rng, 60, 2, 2), learners=["average"])
    assert found.notes() == []
    assert found.best_relative is None
    assert "Not significantly worse" not in found.explain()


# ---- refusals


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"learners": ["averaged"]}, "'averaged' is not one of 'last', 'average'"),
        ({"learners": "average"}, r"give a list, such as \['average'\]"),
        ({"learners": []}, "name at least one"),
        ({"learners": ["average", "average"]}, "twice"),
        ({"learners": [("average", Perceptron(), {})]}, "built-in learner"),
        ({"learners": [("mine", 3, {})]}, "not a scikit-learn estimator:"),
        ({"learners": [("mine", Perceptron())]}, "not a name or a tuple"),
        ({"learners": [("mine", Perceptron(early_stopping=True), {})]}, "early_stopping"),
        ({"metric": "loss"}, "metric='loss'"),
        ({"scale": "yes"}, "scale='yes'"),
        ({"max_seconds": 0}, "above 0"),
        ({"max_seconds": float("nan")}, "above 0"),
        ({"test": 0}, "leaves no test set to compare on:"),
        ({"dev": 0}, "leaves no validation set:"),
        ({"dev": 0.5, "test": 0.5}, "no training set"),
        ({"split": "random"}, "split='random'"),
        ({"test": (np.ones((4, 9)), [0, 1, 0, 1])}, "test has 9 features, but X has 2:"),
    ],
)
def test_what_cannot_be_compared_is_refused(rng, given, message):
    with pytest.raises(ValueError, match=message):
        compare(*gaussian(rng, 40, 2, 2), **given)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (["a text", "another"], [0, 1], "contains texts:"),
        (np.ones((9, 2)), np.ones(9), "only one class"),
        (np.ones((3, 2)), [{1}, {2}, {1, 2}], "several labels"),
        (np.ones((4, 2)), np.eye(4), "2 dimensions"),
        (np.ones((4, 2)), [0.5, 1, 1.5, 2], "fractions"),
        (np.full((4, 2), np.nan), [0, 1, 0, 1], "NaN"),
        (np.ones((4, 2)), [0, 1, 0], "4 examples, but y has 3 labels:"),
    ],
)
def test_data_that_fit_no_learner_are_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        compare(X, y)


# ---- the demonstrations


@pytest.mark.parametrize("seed", range(4))
def test_least_squares_is_moved_by_points_that_are_too_correct_and_the_perceptron_is_not(seed):
    shown = too_correct(seed)
    squares, ours = shown.row("least squares on ±1"), shown.row("averaged perceptron")
    assert shown.rows[0] is squares
    assert squares.lost > 7
    assert squares.turned > 35
    assert ours.lost < 0.5
    assert ours.turned < 4
    for name in ("logistic regression", "linear SVM"):
        assert shown.row(name).lost < 0.1
    added = shown.after[0][len(shown.before[0]) :]
    for row in shown.rows:
        assert (row.model_before.predict(added) == 1).all()


@pytest.mark.parametrize("seed", range(4))
def test_naive_bayes_is_misled_by_copied_features_and_the_perceptron_is_not(seed):
    shown = copied_features(random_state=seed)
    assert shown.rows[0].name == "Gaussian naive Bayes"
    assert shown.rows[0].lost > 10
    assert shown.row("averaged perceptron").lost < 0.5
    assert shown.row("least squares on ±1").lost == 0
    weights = shown.row("averaged perceptron").model_after[-1].coef_[0]
    assert len(weights) == 21
    assert np.ptp(weights[:20]) == 0  # every copy has its share
    assert copied_features(copies=60, random_state=seed).rows[0].lost > shown.rows[0].lost


@pytest.mark.parametrize("demonstration", [too_correct, copied_features])
def test_a_demonstration_is_the_same_from_run_to_run_and_takes_two_features(demonstration):
    shown = demonstration()
    assert str(shown) == str(demonstration())
    assert json.loads(json.dumps(shown.to_dict()))["rows"][0]["lost"] == shown.rows[0].lost
    assert shown.explain() in str(shown)
    assert f"{shown.rows[0].lost:.1f} points" in shown.explain()
    assert "<table" in shown._repr_html_()
    X, y = shown.test
    for row in shown.rows:
        assert X.shape[1] == row.model_after.n_features_in_ == 2
        assert (row.model_after.predict(X) == y).mean() == row.after
    with pytest.raises(KeyError, match="the learners are"):
        shown.row("nobody")


def test_the_boundary_turns_by_the_angle_between_the_weights():
    row = too_correct().row("least squares on ±1")
    first, second = row.model_before.coef_[0], row.model_after.coef_[0]
    angle = np.degrees(np.arccos(first @ second / np.linalg.norm(first) / np.linalg.norm(second)))
    assert row.turned == pytest.approx(angle, abs=1e-3)


def test_what_the_perceptron_is_said_to_do_with_new_points_that_are_right_is_so():
    shown = too_correct()
    before = Perceptron().fit(*shown.before)
    updates, n = before.n_updates_, len(shown.before[0])
    before.partial_fit(shown.after[0][n:], shown.after[1][n:])
    assert before.n_updates_ == updates
    assert "makes no update" in shown.explain()


@pytest.mark.parametrize("copies", [0, 1, 2.5, True, 10**6])
def test_copies_must_be_a_number_of_them(copies):
    with pytest.raises(ValueError, match="copies="):
        copied_features(copies)
