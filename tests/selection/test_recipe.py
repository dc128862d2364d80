"""The recipe: settings chosen on development data, epochs from one run, the test part opened once."""

import json
import subprocess
import sys
from itertools import chain

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.exceptions import DataConversionWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 (scikit-learn asks for it)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import perceptrons
from perceptrons import (
    FeatureTemplates,
    HashedText,
    KernelPerceptron,
    Perceptron,
    SequencePerceptron,
    StructuredPerceptron,
    modelfile,
)
from perceptrons.selection import OpenedBeforeError, mcnemar, parts_of, recipe, usual_grid, wilson
from perceptrons.selection.test_set_ledger import Ledger, digest_of
from perceptrons.sequence.phrases import phrase_scores
from tests.conftest import gaussian
from tests.support.lecture import rosenblatt
from tests.support.tagged import of_columns, sentences


@pytest.fixture(autouse=True)
def a_fresh_memory(monkeypatch):
    monkeypatch.setattr(Ledger, "_here", {})


@pytest.fixture
def data(rng):
    return gaussian(rng, 240, 6, 3)


def separate_runs(estimator, found, params):
    """The development figures of one run for every number of epochs, each from the start."""
    X, y = found.parts.train.taken()
    X_dev, y_dev = found.parts.dev.taken()
    figures = []
    for epochs in range(1, 1 + len(found.best.curve)):
        model = clone(estimator).set_params(**params, max_iter=epochs, tol=None).fit(X, y)
        figures.append(model.score(X_dev, y_dev))
    return tuple(figures)


ESTIMATORS = {
    "average": Perceptron(max_iter=7),
    "until it settles": Perceptron(tol=0.1),
    "last": Perceptron(combine="last", max_iter=7),
    "vote": Perceptron(combine="vote", max_iter=5),
    "pocket": Perceptron(combine="pocket", max_iter=7),
    "arow": Perceptron(step="arow", max_iter=6),
    "margin and weight decay": Perceptron(margin=2.0, penalty="l2", alpha=0.01, max_iter=6),
    "ovr": Perceptron(multiclass="ovr", max_iter=6),
    "ovo, in the order given": Perceptron(multiclass="ovo", shuffle=False, max_iter=6),
    "batches": Perceptron(batch_size=16, max_iter=6),
    "kernel": KernelPerceptron(max_iter=6),
    "voted kernel": KernelPerceptron(combine="vote", max_iter=4),
    "budget": KernelPerceptron(budget=20, max_iter=5),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_epochs_tuned_by_one_run_have_exactly_the_figures_of_separate_runs(name, data, form):
    X, y = data
    found = recipe(ESTIMATORS[name], form(X), y)
    assert found.best.stop_reason == ("tol" if name == "until it settles" else "max_iter")
    assert found.best.curve == separate_runs(ESTIMATORS[name], found, {})
    assert found.best.score == max(found.best.curve)
    assert found.best.epochs == 1 + int(np.argmax(found.best.curve))


def test_epochs_of_taggers_are_tuned_by_one_run_too():
    words = ["the", "dog", "barks", "a", "cat", "sleeps", "loud"]
    tags = dict(zip(words, ["D", "N", "V", "D", "N", "V", "A"], strict=True))
    rng = np.random.default_rng(0)
    X = [[{"word": words[k]} for k in rng.integers(0, 7, 5)] for _ in range(60)]
    y = [[tags[token["word"]] if rng.random() < 0.8 else "N" for token in sentence] for sentence in X]
    found = recipe(SequencePerceptron(max_iter=4), X, y)
    assert found.best.curve == separate_runs(SequencePerceptron(max_iter=4), found, {})
    assert found.sizes == {"train": 36, "dev": 12, "test": 12}
    X_test, y_test = found.parts.test.taken()
    right = np.equal(list(chain(*y_test)), list(chain(*found.model.predict(X_test))))
    assert found.test_score == np.mean(right)


def test_taggers_are_chosen_and_tested_by_the_f1_of_phrases():
    made = sentences(3, 80)
    rng = np.random.default_rng(0)
    X = of_columns(made, 0)
    y = [[label if rng.random() < 0.8 else "O" for label in one] for one in of_columns(made, 2)]
    tagger = SequencePerceptron(templates=FeatureTemplates(["word[0]", "word[-1]"]), max_iter=4)
    grid = {"margin": [0.0, 5.0]}
    found = recipe(tagger, X, y, grid, metric="phrase_f1")
    own = recipe(tagger, X, y, grid, metric=lambda true, told: phrase_scores(true, told).f1, force=True)
    assert found.metric == "phrase_f1"
    assert [setting.curve for setting in found.settings] == [setting.curve for setting in own.settings]
    assert (found.test_score, found.best.params) == (own.test_score, own.best.params)
    assert found.test_interval == own.test_interval  # though phrases are found once, and not for every sample
    by_tokens = recipe(tagger, X, y, grid, force=True)
    assert by_tokens.best.curve != found.best.curve
    with pytest.raises(ValueError, match="metric='phrase_f1': give one of 'accuracy'"):
        recipe(Perceptron(), [[0.0], [1.0]] * 20, [0, 1] * 20, metric="phrase_f1")


def test_numbers_of_epochs_in_the_grid_cost_one_run(data, monkeypatch):
    runs = []
    fit = Perceptron.fit
    monkeypatch.setattr(Perceptron, "fit", lambda self, *a, **k: runs.append(self.max_iter) or fit(self, *a, **k))
    estimator = Perceptron(tol=None)
    found = recipe(estimator, *data, grid={"max_iter": [1, 3, 8], "step": ["constant", "pa1"]})
    assert runs == [8, 8, found.best.epochs]  # a run for each step, and the final one
    assert len(found.settings) == 6
    assert sorted(setting.epochs for setting in found.settings) == [1, 1, 3, 3, 8, 8]
    X, y = found.parts.train.taken()
    X_dev, y_dev = found.parts.dev.taken()
    for setting in found.settings:
        model = Perceptron(tol=None, max_iter=setting.epochs, **setting.params).fit(X, y)
        assert model.score(X_dev, y_dev) == setting.score == setting.curve[-1]


def test_the_best_setting_is_that_of_scikit_learns_search_on_the_same_split(data):
    X, y = data
    grid = {"step": ["constant", "pa1", "arow"], "C": [0.01, 0.1, 1.0], "max_iter": [1, 2, 5, 10]}
    estimator = Perceptron(tol=None)
    found = recipe(estimator, X, y, grid=grid)
    search = GridSearchCV(estimator, grid, cv=parts_of(X, y).cv(), refit=False).fit(X, y)
    ours = {json.dumps(s.params | {"max_iter": s.epochs}, sort_keys=True): s.score for s in found.settings}
    tried, figures = search.cv_results_["params"], search.cv_results_["mean_test_score"]
    theirs = {json.dumps(params, sort_keys=True): figure for params, figure in zip(tried, figures, strict=True)}
    assert ours == theirs
    assert found.dev_score == search.best_score_


class Spy(ClassifierMixin, BaseEstimator):
    """Always answers the first class, and writes down which rows (their first feature) it was fitted and asked on."""

    seen: list = []  # noqa: RUF012 (all clones write to one list)

    def __init__(self, a=0):
        self.a = a

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen.append(("fit", self.a, frozenset(X[:, 0].tolist())))
        return self

    def predict(self, X):
        self.seen.append(("predict", self.a, frozenset(X[:, 0].tolist())))
        return np.full(len(X), self.classes_[0])


def test_the_test_part_is_touched_once_at_the_end_by_the_chosen_model_alone():
    Spy.seen.clear()
    X, y = np.arange(100.0).reshape(-1, 1), np.arange(100) % 2
    found = recipe(Spy(), X, y, grid={"a": [1, 2, 3]})
    parts = found.parts
    train, dev, test = (frozenset(part.rows.astype(float).tolist()) for part in (parts.train, parts.dev, parts.test))
    assert train | dev | test == frozenset(X[:, 0])
    assert (len(train), len(dev), len(test)) == (60, 20, 20)
    assert Spy.seen == [
        *((what, a, rows) for a in (1, 2, 3) for what, rows in (("fit", train), ("predict", dev))),
        ("fit", 1, train | dev),
        ("predict", 1, test),
    ]


def test_without_retraining_the_model_is_that_of_the_best_epoch(data):
    X, y = data
    found = recipe(Perceptron(max_iter=9, tol=None), X, y, retrain=False)
    X_train, y_train = found.parts.train.taken()
    assert found.model.score(*found.parts.dev.taken()) == found.dev_score
    again = Perceptron(max_iter=found.best.epochs, tol=None).fit(X_train, y_train)
    assert np.array_equal(again.coef_, found.model.coef_)


class TestTheSeal:
    def test_a_second_look_is_refused_before_any_work_is_done(self, data):
        recipe(Perceptron(), *data)
        Spy.seen.clear()
        with pytest.raises(OpenedBeforeError, match=r"48 test examples were used before \(once.*force=True"):
            recipe(Spy(), *data)
        assert not Spy.seen

    def test_a_forced_look_is_marked_in_the_report_and_in_the_model_file(self, data, tmp_path):
        first = recipe(Perceptron(), *data)
        assert "FORCED" not in str(first)
        assert first.model.recipe_["looks"] == 1
        again = recipe(Perceptron(combine="last"), *data, force=True)
        assert "set was used 2 times," in str(again)
        assert "set was used 2 times," in again._repr_html_()
        perceptrons.save(again.model, tmp_path / "model")
        kept = perceptrons.load(tmp_path / "model").recipe_
        assert kept["looks"] == again.to_dict()["looks"] == 2
        assert kept["test_score"] == again.test_score

    def test_other_examples_may_be_looked_at(self, data):
        recipe(Perceptron(), *data)
        assert recipe(Perceptron(), *data, random_state=1).looks == 1

    def test_the_same_examples_are_known_in_any_order_dense_or_sparse(self, data):
        X, y = data
        X[np.abs(X) < 0.5] = 0.0
        order = np.random.default_rng(0).permutation(len(y))
        assert digest_of(X, y) == digest_of(sp.csr_matrix(X[order]), y[order].tolist())
        assert digest_of(X, y) == digest_of(sp.csc_matrix(X).tocsr(), y)
        assert digest_of(X, y) != digest_of(X, 1 - y)
        assert digest_of(X, y) == digest_of(X.tolist(), list(y))
        assert digest_of(["a", "b"], [0, 1]) == digest_of(np.array(["b", "a"]), [1, 0])
        with pytest.raises(OpenedBeforeError):
            [
                recipe(Perceptron(combine=combine), X[:150], y[:150], test=(x, t))
                for combine, x, t in (("average", X[150:], y[150:]), ("last", X[:149:-1], y[:149:-1]))
            ]

    def test_a_ledger_remembers_from_process_to_process(self, data, tmp_path, monkeypatch):
        ledger = tmp_path / "folder" / "looks.json"
        recipe(Perceptron(), *data, ledger=ledger)
        monkeypatch.setattr(Ledger, "_here", {})
        assert recipe(Perceptron(), *data, ledger=ledger).looks == 1  # just the same again
        with pytest.raises(OpenedBeforeError):
            recipe(Perceptron(combine="last"), *data, ledger=ledger)
        assert recipe(Perceptron(combine="last"), *data, ledger=ledger, force=True).looks == 2
        assert recipe(Perceptron(), *data).looks == 1  # another ledger

    @pytest.mark.parametrize("content", [b"", b"[]", b'{"looks": 3}', b'{"looks": {"a": 3}}', b"\xff\xfe"])
    def test_a_file_that_is_no_ledger_is_refused_and_left_alone(self, content, data, tmp_path):
        ledger = tmp_path / "ledger"
        ledger.write_bytes(content)
        with pytest.raises(ValueError, match="is not a record"):
            recipe(Perceptron(), *data, ledger=ledger)
        assert ledger.read_bytes() == content

    def test_a_failure_before_the_test_breaks_no_seal(self, data):
        with pytest.raises(ValueError, match="step"):
            recipe(Perceptron(), *data, grid={"step": ["constant", "nonsense"]})
        assert recipe(Perceptron(), *data).looks == 1

    def test_a_model_fitted_anew_forgets_what_was_said_of_the_old(self, data, tmp_path):
        model = recipe(Perceptron(), *data).model
        model.fit(*data)
        assert not hasattr(model, "recipe_")


FORGED = {
    "not a dict": lambda told: 3,
    "looks that are words": lambda told: told | {"looks": "many"},
    "a negative count": lambda told: told | {"settings_tried": -1},
    "sizes that are missing": lambda told: told | {"sizes": {}},
    "a figure that is a list": lambda told: told | {"test_score": []},
    "a figure without an interval": lambda told: told | {"test_interval": None},
    "nothing at all": lambda told: {},
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_recipe_in_a_model_file_is_refused(case, data, tmp_path):
    path = tmp_path / "model"
    perceptrons.save(recipe(Perceptron(), *data).model, path)
    model, header = modelfile.load_with_header(path)
    arrays = modelfile.linear.contents(model)[1]
    for told, sound in ((header["recipe"], True), (FORGED[case](header["recipe"]), False)):
        path.write_bytes(modelfile.sealed(json.dumps(header | {"recipe": told}), arrays))
        if sound:
            assert perceptrons.load(path).recipe_ == told
        else:
            with pytest.raises(perceptrons.ModelFileError):
                perceptrons.load(path)


class TestSplits:
    def test_every_class_has_its_share(self):
        y = np.repeat([0, 1, 2], [600, 300, 100])
        parts = parts_of(np.zeros((1000, 1)), y)
        assert [np.bincount(y[part.rows]).tolist() for part in (parts.train, parts.dev, parts.test)] == [
            [360, 180, 60], [120, 60, 20], [120, 60, 20],
        ]  # fmt: skip

    def test_time_order_tests_on_the_last(self):
        parts = parts_of(np.zeros((10, 1)), [0, 1] * 5, split="time", dev=0.3, test=0.1)
        assert [part.rows.tolist() for part in (parts.train, parts.dev, parts.test)] == [list(range(6)), [6, 7, 8], [9]]

    def test_given_parts_are_taken_as_they_are(self, data):
        X, y = data
        found = recipe(Perceptron(), X[:100], y[:100], dev=(X[100:150], y[100:150]), test=(X[150:], y[150:]))
        again = Perceptron(max_iter=found.best.epochs, tol=None).fit(X[:150], y[:150])
        assert np.array_equal(found.model.coef_, again.coef_)
        assert found.test_score == again.score(X[150:], y[150:])
        assert found.parts.how == "as given"

    def test_no_test_is_possible(self, data):
        found = recipe(Perceptron(), *data, test=0)
        assert (found.test_score, found.test_interval, found.looks) == (None, None, 0)
        assert "no test" in found.explain()

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"dev": 0}, "no validation set:"),
            ({"dev": 0.6, "test": 0.5}, "no training set"),
            ({"dev": 1.5}, "dev=1.5"),
            ({"test": True}, "test=True"),
            ({"test": "a"}, "test='a'"),
            ({"test": ([[1.0] * 6], [])}, "1 examples and 0 labels"),
            ({"split": "nonsense"}, "split='nonsense'"),
            ({"split": "grouped"}, "groups need"),
            ({"split": "time", "groups": [0] * 240}, "groups need"),
            ({"groups": [0, 1]}, "2 entries for 240"),
            ({"groups": [0] * 240}, "Only one group"),
            ({"metric": "nonsense"}, "metric='nonsense'"),
            ({"grid": "nonsense"}, "grid='nonsense'"),
            ({"grid": {"nonsense": [1]}}, "nonsense"),
            ({"grid": {"max_iter": [3, None]}}, "whole numbers"),
            ({"grid": {"early_stopping": [False, True]}}, "early_stopping"),
            ({"grid": [3]}, "not a dict"),
            ({"test": (np.zeros((3, 5)), [0, 1, 2])}, "5 features, but X has 6:"),
            ({"dev": (sp.csr_matrix((3, 6)), [0, 1, 2])}, "sparse matrix"),
            ({"test": (np.zeros((2, 6)), ["a", "b"])}, "None of the labels of the test examples"),
            ({"metric": lambda y, said: float("nan")}, "nan"),
        ],
    )
    def test_what_cannot_be_done_is_refused_with_a_reason(self, given, message, data):
        with pytest.raises(ValueError, match=message):
            recipe(Perceptron(), *data, **given)

    def test_early_stopping_would_hold_out_twice_and_is_refused(self, data):
        with pytest.raises(ValueError, match="early_stopping"):
            recipe(Perceptron(early_stopping=True), *data)

    def test_labels_of_another_number_are_refused(self, data):
        with pytest.raises(ValueError, match="240 examples, but y has 239"):
            recipe(Perceptron(), data[0], data[1][:-1])


class TestInsideAndBesideScikitLearn:
    def test_pipelines_fit_their_first_steps_once_for_all_settings_that_share_them(self, data):
        X, y = data
        calls = []
        step = FunctionTransformer(lambda X: calls.append(len(X)) or 2 * X)
        pipeline = make_pipeline(StandardScaler(), step, Perceptron(tol=None, max_iter=4))
        found = recipe(pipeline, X, y, grid={"perceptron__step": ["constant", "pa1", "arow"]})
        n = {name: len(part) for name, part in (("train", found.parts.train), ("dev", found.parts.dev))}
        assert calls == [n["train"], n["dev"], n["train"] + n["dev"], len(found.parts.test)]
        assert found.model[-1].recipe_["params"] == {
            "perceptron__step": found.best.params["perceptron__step"], "perceptron__max_iter": found.best.epochs,
        }  # fmt: skip

    def test_a_pipeline_gets_the_figures_of_separate_fits(self, data):
        X, y = data
        pipeline = make_pipeline(StandardScaler(), Perceptron(tol=None, max_iter=5))
        grid = {"standardscaler__with_mean": [True, False], "perceptron__combine": ["average", "last"]}
        found = recipe(pipeline, X, y, grid=grid)
        X_train, y_train = found.parts.train.taken()
        for setting in found.settings:
            for epochs in range(1, 1 + len(setting.curve)):
                model = clone(pipeline).set_params(**setting.params, perceptron__max_iter=epochs).fit(X_train, y_train)
                assert model.score(*found.parts.dev.taken()) == setting.curve[epochs - 1]

    def test_texts_go_through(self):
        texts = ["free cash now", "see you at noon", "free prize", "noon is fine"] * 15
        y = ["spam", "ham"] * 30
        found = recipe(make_pipeline(HashedText(), Perceptron()), texts, y, grid={"hashedtext__chars": [None, (3, 3)]})
        assert found.test_score == 1.0

    def test_frames_and_lists_go_through(self, data):
        import polars as pl

        X, y = data
        expected = recipe(Perceptron(), X, y).test_score
        for other in (pd.DataFrame(X, columns=list("abcdef")), pl.DataFrame(X, schema=list("abcdef")), X.tolist()):
            assert recipe(Perceptron(), other, y.tolist(), force=True).test_score == expected
        given = pd.DataFrame(X, columns=list("abcdef"))
        found = recipe(Perceptron(), given[:150], y[:150], dev=(given[150:200], y[150:200]), test=0)
        assert found.model.feature_names_in_.tolist() == list("abcdef")

    def test_other_estimators_and_searches_go_through(self, data):
        X, y = data
        found = recipe(LogisticRegression(), X, y, grid={"C": [0.01, 1.0]})
        assert [(s.epochs, s.curve) for s in found.settings] == [(None, ()), (None, ())]
        search = GridSearchCV(Perceptron(), {"step": ["constant", "pa1"]}, cv=3)
        found = recipe(search, X, y, force=True)
        assert found.model.best_params_["step"] in ("constant", "pa1")

    def test_halving_searches_take_epochs_as_their_resource(self, data):
        search = HalvingGridSearchCV(
            Perceptron(tol=None), {"step": ["constant", "pa1", "arow"]}, resource="max_iter", max_resources=9, cv=3,
            random_state=0,
        )  # fmt: skip
        search.fit(*data)
        assert search.best_estimator_.n_iter_ == 9
        assert set(search.cv_results_["n_resources"]) == {3, 9}

    def test_several_labels_go_through(self, rng):
        X = rng.standard_normal((120, 4))
        Y = (X @ rng.standard_normal((4, 3)) > 0).astype(int)
        found = recipe(Perceptron(max_iter=5), X, Y)
        assert found.best.curve == separate_runs(Perceptron(max_iter=5), found, {})
        assert found.test_score == found.model.score(*found.parts.test.taken())

    def test_general_structured_models_go_through(self):
        class Signs:
            size = 2

            def decode(self, x, w, cost_with=None):
                return tuple(1 if value * w[place] > 0 else -1 for place, value in enumerate(x))

            def features(self, x, y):
                return {place: value * y[place] for place, value in enumerate(x)}

            def loss(self, y, said):
                return sum(one != other for one, other in zip(y, said, strict=True))

        rng = np.random.default_rng(0)
        X = [tuple(row) for row in rng.standard_normal((50, 2)).tolist()]
        y = [tuple(1 if value > 0 else -1 for value in row) for row in X]
        found = recipe(StructuredPerceptron(Signs(), max_iter=3), X, y)
        assert found.test_score == 1.0


def test_threads_change_nothing_and_the_usual_grid_fits_the_scale(data):
    X, y = data
    one = recipe(Perceptron(), X, y, "usual")
    two = recipe(Perceptron(), X, y, "usual", n_jobs=2, force=True)
    assert [(s.params, s.curve) for s in one.settings] == [(s.params, s.curve) for s in two.settings]
    origin = Perceptron(fit_intercept=False)
    small, large = (recipe(origin, scale * X, y, "usual", force=True).settings for scale in (1.0, 1024.0))
    assert [s.score for s in large] == pytest.approx([s.score for s in small], abs=0.03)
    steps = [settings["step"] for settings in usual_grid(Perceptron(combine="vote"), X)]
    assert steps == [["constant"], ["pa1"]]
    assert usual_grid(SequencePerceptron(), [["a"]]) == [
        {"step": ["constant"], "margin": [0.0, 10.0, 30.0]},
        {"step": ["pa1"], "C": [0.01, 0.1]},
    ]
    assert usual_grid(StructuredPerceptron(None), X) == [{}]


def test_other_figures_choose_and_are_tested_with_an_interval(data):
    X, y = data
    found = recipe(Perceptron(max_iter=5), X, y, metric="f1_macro")
    assert found.test_interval.low <= found.test_score <= found.test_interval.high
    assert "bootstrap" in found.explain()
    own = recipe(Perceptron(max_iter=5), X, y, metric=lambda y, said: -float(np.mean(y != said)), force=True)
    assert own.dev_score <= 0


def test_an_interrupted_search_leaves_no_watch_behind_and_the_seal_whole(data):
    def interrupted(setting):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recipe(Perceptron(), *data, tell=interrupted)
    assert recipe(Perceptron(), *data).looks == 1


class Masked(TransformerMixin, BaseEstimator):
    """Keeps some columns, and has nothing to show that it was fitted."""

    def __init__(self, mask=None):
        self.mask = mask

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[:, self.mask]


class TestWhatAnAttackFound:
    def test_settings_that_are_written_alike_are_different(self, rng):
        X = rng.standard_normal((60, 2000))
        y = (X[:, 1000] > 0).astype(int)
        X[:, 1000] *= 100
        masks = np.zeros(2000, bool), np.zeros(2000, bool)
        masks[0][999], masks[1][1000] = True, True
        assert repr(masks[0]) == repr(masks[1])
        pipeline = make_pipeline(Masked(), rosenblatt(max_iter=3))
        found = recipe(pipeline, X, y, {"masked__mask": list(masks)})
        assert found.settings[0].score < found.settings[1].score == 1.0
        costs = [1.0 - np.eye(40), 1.0 - np.eye(40)]
        costs[1][5:35, 5:35] *= 100.0
        X, y = rng.standard_normal((400, 5)), np.arange(400) % 40
        both = recipe(Perceptron(), X, y, {"cost": costs, "max_iter": [2, 3]})
        assert [id(setting.params["cost"]) for setting in both.settings] == [id(costs[k]) for k in (0, 0, 1, 1)]

    def test_estimators_in_the_grid_stay_the_callers_own(self, data):
        last = Perceptron(combine="last")
        pipeline = Pipeline([("s", StandardScaler()), ("p", Perceptron())])
        found = recipe(pipeline, *data, {"p": [last, Perceptron()], "p__margin": [0.0, 1.0]}, n_jobs=4)
        assert not hasattr(last, "coef_")
        assert last.get_params() == Perceptron(combine="last").get_params()
        assert found.model[-1] is not last
        with pytest.raises(ValueError, match="LogisticRegression is not an estimator of this library"):
            recipe(pipeline, *data, {"p": [Perceptron(), LogisticRegression()]}, random_state=5)

    def test_of_two_runs_at_once_one_is_refused(self, data, tmp_path):
        ledger = tmp_path / "looks"

        def another_comes_first(setting):
            Ledger(ledger).note(digest_of(*parts_of(*data).test.taken()))

        with pytest.raises(OpenedBeforeError):
            recipe(Perceptron(max_iter=1), *data, ledger=ledger, tell=another_comes_first)

    def test_of_two_runs_of_the_same_at_once_both_are_the_same_look(self, data, tmp_path):
        ledger, found = tmp_path / "looks", []

        def the_same_comes_first(setting):
            if not found:
                found.append(None)
                found.append(recipe(Perceptron(max_iter=1), *data, ledger=ledger))

        outer = recipe(Perceptron(max_iter=1), *data, ledger=ledger, tell=the_same_comes_first)
        assert outer.looks == found[1].looks == 1
        assert outer.test_score == found[1].test_score
        assert len(Ledger(ledger).looks(digest_of(*parts_of(*data).test.taken()))) == 1

    def test_a_ledger_of_before_requests_were_kept_is_read_and_its_looks_count(self, data, tmp_path):
        ledger, digest = tmp_path / "looks", digest_of(*parts_of(*data).test.taken())
        ledger.write_text(json.dumps({"looks": {digest: ["2026-01-01T00:00:00+00:00"]}}))
        with pytest.raises(OpenedBeforeError):
            recipe(Perceptron(), *data, ledger=ledger)
        assert recipe(Perceptron(), *data, ledger=ledger, force=True).looks == 2
        assert recipe(Perceptron(), *data, ledger=ledger).rerun
        ledger.write_text(json.dumps({"looks": {}, "requests": {digest: "x"}}))
        with pytest.raises(ValueError, match="not a record of test set uses"):
            recipe(Perceptron(), *data, ledger=ledger)

    def test_what_may_differ_from_run_to_run_is_a_second_look(self, data):
        X, y = data
        asked = [
            {"estimator": Perceptron(max_seconds=100.0, max_iter=2)},
            {"metric": lambda true, predicted: float((true == predicted).mean())},
            {"estimator": make_pipeline(Masked(np.arange(3)), Perceptron(max_iter=2))},
            {"estimator": Perceptron(random_state=None, max_iter=2)},
        ]
        for place, one in enumerate(asked):
            own = {"estimator": Perceptron(max_iter=2), "X": X + place, "y": y} | one
            assert recipe(**own).looks == 1
            with pytest.raises(OpenedBeforeError):
                recipe(**own)

    @pytest.mark.parametrize(
        "change",
        [
            {"estimator": Perceptron(max_iter=4)},
            {"grid": {"margin": [0.0, 2.0]}},
            {"grid": {"margin": [0.0]}},
            {"retrain": False},
            {"metric": "f1_macro"},
            {"X": "float32"},
            {"X": "other rows to learn from"},
        ],
    )
    def test_any_change_of_what_is_asked_is_a_second_look(self, data, change):
        X, y = data[0].round(2).astype(np.float32).astype(float), data[1]
        test = X[200:], y[200:]
        asked = {"estimator": Perceptron(max_iter=3), "grid": {"margin": [0.0, 1.0]}, "X": X[:200], "y": y[:200]}
        first = recipe(**asked, test=test)
        again = recipe(**asked, test=test)
        assert (again.rerun, again.looks, again.test_score) == (True, 1, first.test_score)
        assert np.array_equal(again.model.coef_, first.model.coef_)
        assert "not a second use of the test set" in again.explain()
        assert again.model.recipe_ == first.model.recipe_
        changed = asked | change
        if change.get("X") == "float32":
            changed["X"] = X[:200].astype(np.float32)
        elif "X" in change:
            changed["X"] = np.vstack([X[:1] + 1, X[1:200]])
        with pytest.raises(OpenedBeforeError):
            recipe(**changed, test=test)

    @pytest.mark.slow
    def test_no_look_is_lost_between_processes(self, tmp_path):
        path = tmp_path / "looks"
        start = "from perceptrons.selection.test_set_ledger import Ledger"
        code = f"{start}\nfor _ in range(25): Ledger({str(path)!r}).note('x')"
        runs = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
        assert [run.wait(timeout=300) for run in runs] == [0, 0, 0]
        assert len(Ledger(path).looks("x")) == 75

    def test_a_test_that_is_learned_or_chosen_by_is_refused(self, data):
        X, y = data
        part = X[200:], y[200:]
        with pytest.raises(ValueError, match="All 40 test examples are also in the training"):
            recipe(Perceptron(), X[:200], y[:200], dev=part, test=part)
        with pytest.raises(ValueError, match="not a test"):
            recipe(Perceptron(), X, y, test=(X[:10], y[:10]))
        found = recipe(Perceptron(), X[:200], y[:200], test=(X[190:], y[190:]))
        assert 0 < found.twice <= 10
        assert f"{found.twice} of the 50 test examples also occur in the training or validation set." in found.explain()

    def test_a_column_of_labels_means_the_labels(self, data):
        X, y = data
        expected = recipe(Perceptron(), X, y)
        with pytest.warns(DataConversionWarning):
            assert recipe(Perceptron(), X, y[:, None], force=True).settings[0].curve == expected.settings[0].curve

    def test_several_labels_count_alike_in_every_form(self, rng):
        X = rng.standard_normal((100, 4))
        Y = (X @ rng.standard_normal((4, 3)) > 0).astype(int)
        sets = [{"abc"[k] for k in np.flatnonzero(row)} for row in Y]
        lists = [sorted(one, reverse=True) for one in sets]
        forms = [Y, sp.csr_matrix(Y), pd.DataFrame(Y), sets, lists, np.array(sets, dtype=object)]
        curves = [recipe(Perceptron(max_iter=3), X, form, force=True).best.curve for form in forms]
        assert all(curve == curves[0] for curve in curves)

    def test_ragged_sequences_and_arrays_of_them_go_through(self):
        X = [[["a", "b"], ["c"]], [["a"], ["b", "c", "d"]], [["c"], ["a"]]] * 8
        y = [["x", "y"], ["x", "z"], ["y", "x"]] * 8
        expected = recipe(SequencePerceptron(max_iter=3), X, y)
        arrays = np.empty(24, object), np.empty(24, object)
        arrays[0][:], arrays[1][:] = X, y
        assert recipe(SequencePerceptron(max_iter=3), *arrays, force=True).best.curve == expected.best.curve

    def test_a_seed_is_a_seed_whatever_its_type(self, data):
        assert np.array_equal(
            parts_of(*data, random_state=np.int64(3)).test.rows, parts_of(*data, random_state=3).test.rows
        )

    def test_every_form_of_sparse_matrix_and_arrow_tables_go_through(self, data):
        import pyarrow as pa

        X, y = data
        for form in (sp.coo_matrix, sp.bsr_matrix, sp.lil_matrix, sp.coo_array):
            assert (
                recipe(
                    Perceptron(max_iter=2), form(X[:200]), y[:200], test=(form(X[200:]), y[200:]), force=True
                ).test_score
                > 0
            )
        table = pa.table({name: X[:, k] for k, name in enumerate("abcdef")})
        assert recipe(Perceptron(max_iter=2), table, y).test_score > 0

    def test_pipelines_within_pipelines_are_watched(self, data):
        inner = Pipeline([("t", StandardScaler()), ("p", Perceptron(max_iter=4, tol=None))])
        outer = Pipeline([("s", Masked(slice(0, 3))), ("inner", inner)])
        found = recipe(outer, *data, {"inner__p__step": ["constant", "pa1"]})
        X_train, y_train = found.parts.train.taken()
        for setting in found.settings:
            for epochs in (1, 4):
                model = clone(outer).set_params(**setting.params, inner__p__max_iter=epochs).fit(X_train, y_train)
                assert model.score(*found.parts.dev.taken()) == setting.curve[epochs - 1]
        assert found.model[-1][-1].recipe_["looks"] == 1

    def test_what_is_no_classifier_of_examples_is_refused(self, data):
        with pytest.raises(ValueError, match="predicts numbers"):
            recipe(LinearRegression(), *data)
        with pytest.raises(ValueError, match="precomputed kernel matrix"):
            recipe(KernelPerceptron(kernel="precomputed"), *data)
        with pytest.raises(ValueError, match="y is None"):
            recipe(Perceptron(), data[0], None)
        with pytest.raises(ValueError, match="only one example"):
            recipe(Perceptron(), data[0][:9], list(range(9)))

    def test_of_equal_numbers_of_epochs_the_fewest_win(self):
        X = np.vstack([np.full((20, 1), -1.0), np.full((20, 1), 1.0)])
        found = recipe(Perceptron(), X, np.repeat([0, 1], 20), {"max_iter": [5, 1, 3]})
        assert found.best.epochs == 1

    def test_statistics_refuse_what_makes_no_sense(self):
        for arguments in ((0, 0), (6, 5), (3, 5, 1.5)):
            with pytest.raises(ValueError, match="give"):
                wilson(*arguments)
        for pair in (([True, False], [True]), (["a"], ["b"])):
            with pytest.raises(ValueError, match="True and False"):
                mcnemar(*pair)

    def test_a_ledger_that_cannot_be_written_is_refused_before_any_work(self, data, tmp_path):
        (tmp_path / "file").write_text("")
        Spy.seen.clear()
        for path, error in ((tmp_path, ValueError), (tmp_path / "file" / "looks", OSError)):
            with pytest.raises(error):
                recipe(Spy(), *data, ledger=path)
        assert not Spy.seen


def test_the_report_shows_every_setting_and_the_curve_of_the_best(data):
    found = recipe(Perceptron(max_iter=30, tol=None), *data, {"step": ["constant", "pa1", "arow"]})
    for shown in (str(found), found._repr_html_()):
        assert all(f"step={step}" in shown for step in ("constant", "pa1", "arow"))
        assert f"{found.test_score:.4f}" in shown
    assert f"1: {found.best.curve[0]:.4f}, " in str(found)
    assert str(found).endswith(f"30: {found.best.curve[-1]:.4f}")
    assert "<svg" in found._repr_html_()
    assert "<svg" not in recipe(Perceptron(max_iter=1), *data, force=True)._repr_html_()
