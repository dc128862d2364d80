"""What users of scikit-learn expect of an estimator: weights, parameters, warnings, files, and the way back."""

import importlib
import pickle
import subprocess
import sys
import warnings
from contextlib import suppress
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils import shuffle
from sklearn.utils.estimator_checks import check_class_weight_classifiers

import perceptrons
from perceptrons import FeatureTemplates, KernelPerceptron, Perceptron, SequencePerceptron, StructuredPerceptron
from perceptrons.features import HashedFeatures, HashedText, RunningScaler, TableFeatures
from tests.support.structures import Classes

X, Y = load_iris(return_X_y=True)
SENTENCES, TAGS = [["a", "dog"], ["the", "cat"]], [["D", "N"]] * 2

# ---- weights


def test_weights_cannot_be_written_in_place():
    model = Perceptron(combine="last").fit(X, Y)
    for name in ("coef_", "intercept_", "coef_last_", "intercept_last_", "coef_average_", "intercept_average_"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(model, name)[0] = 99
    tagger = SequencePerceptron(templates=FeatureTemplates(["word[0]"])).fit(SENTENCES, TAGS)
    for name in ("coef_", "transitions_", "start_", "stop_"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(tagger, name)[0] = 99


def test_weights_are_made_once_until_something_is_learned():
    model = Perceptron().fit(X, Y)
    assert model.coef_ is model.coef_
    assert model.coef_ is model.coef_average_
    assert model.intercept_ is model.intercept_
    assert pickle.loads(pickle.dumps(model)).coef_.flags.writeable is False


CHANGES = {
    "fit": lambda m: m.fit(X[:120], Y[:120]),
    "warm fit": lambda m: m.set_params(warm_start=True, max_iter=2, tol=None).fit(X, Y),
    "partial_fit": lambda m: m.partial_fit(*shuffle(X, Y, random_state=0)),
    "learn_one": lambda m: m.learn_one(X[0], 2),
    "combine": lambda m: m.set_params(combine="last" if m.combine == "average" else "average"),
    "new class": lambda m: m.learn_one(X[0], 3),
    "stream": lambda m: m.fit_stream([(X, Y)]),
}


@pytest.mark.parametrize("combine", ["average", "last"])
@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_the_weights_is_seen_in_them(change, combine, tmp_path):
    model = Perceptron(combine=combine, margin=0).fit(X, Y)
    model.learn_one(X[1], 1)  # so that the short way of learn_one is ready
    seen = model.coef_
    before = seen.copy()
    CHANGES[change](model)
    assert np.array_equal(seen, before), "an array that was handed out does not change under the user"
    perceptrons.save(model, tmp_path / "m")
    found = perceptrons.load(tmp_path / "m")
    assert not np.array_equal(model.coef_, before)
    assert np.array_equal(model.coef_, found.coef_)
    scores = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(scores, model.decision_function(X))


def test_a_watcher_of_a_stream_sees_the_weights_of_the_moment():
    model, seen = Perceptron(combine="last", shuffle=False), []
    model.fit_stream([tuple(shuffle(X, Y, random_state=0))], watch=lambda row: seen.append(model.coef_.sum()))
    assert len(set(seen)) > 3


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("penalty", [{}, {"penalty": "l2", "alpha": 0.01}], ids=str)
def test_last_weights_can_be_set_and_learning_goes_on_from_them(form, penalty):
    rows, y = shuffle(X, Y, random_state=0)
    rows = sp.csr_matrix(rows) if form == "sparse" else rows
    how = {"combine": "last", "margin": 0, "intercept_scaling": 1, "shuffle": False, "tol": None, **penalty}
    model = Perceptron(**how).partial_fit(rows[:50], y[:50], classes=[0, 1, 2])
    average = model.coef_average_.copy()
    coef, intercept = np.arange(12.0).reshape(3, 4), np.array([1.0, 0.0, -1.0])
    model.coef_, model.intercept_ = coef, intercept
    np.testing.assert_allclose(model.coef_, coef)
    np.testing.assert_allclose(model.intercept_, intercept)
    np.testing.assert_allclose(model.coef_average_, average, err_msg="what was averaged so far stays")
    np.testing.assert_allclose(model.decision_function(rows), rows @ coef.T + intercept)
    model.partial_fit(rows[50:], y[50:])
    other = Perceptron(**how, max_iter=1).fit(rows[50:], y[50:], coef_init=coef, intercept_init=intercept)
    np.testing.assert_allclose(model.coef_, other.coef_)
    np.testing.assert_allclose(model.intercept_, other.intercept_)
    mean = (50 * average + 100 * other.coef_average_) / 150
    np.testing.assert_allclose(model.coef_average_, mean, err_msg="the average is that of all weights after an example")


def test_weights_of_clients_are_averaged_as_in_federated_learning():
    rows, y = shuffle(StandardScaler().fit_transform(X), Y, random_state=0)
    clients = [Perceptron(combine="last").partial_fit(rows[k::3], y[k::3], classes=[0, 1, 2]) for k in range(3)]
    server = clone(clients[0]).partial_fit(rows[:1], y[:1], classes=[0, 1, 2])
    server.coef_ = np.mean([client.coef_ for client in clients], axis=0)
    server.intercept_ = np.mean([client.intercept_ for client in clients], axis=0)
    assert server.score(rows, y) > 0.8


@pytest.mark.parametrize(
    ("model", "error", "says"),
    [
        (lambda: Perceptron(), NotFittedError, "coef_init"),
        (lambda: Perceptron().fit(X, Y), AttributeError, "combine='last'"),
        (lambda: Perceptron(combine="pocket").fit(X, Y), AttributeError, "combine='last'"),
        (lambda: Perceptron(combine="vote").fit(X, Y).set_params(combine="last"), AttributeError, "votes"),
    ],
)
def test_weights_that_cannot_be_set_say_what_to_do(model, error, says):
    model = model()
    with pytest.raises(error, match=says):
        model.coef_ = np.zeros((3, 4))


@pytest.mark.parametrize("wrong", [np.zeros((2, 4)), np.full((3, 4), np.nan), "weights"])
def test_wrong_weights_change_nothing(wrong):
    model = Perceptron(combine="last").fit(X, Y)
    before = model.coef_
    with pytest.raises(ValueError, match="coef_"):
        model.coef_ = wrong
    assert np.array_equal(model.coef_, before)


def test_an_intercept_cannot_be_set_where_there_is_none():
    model = Perceptron(combine="last", fit_intercept=False).fit(X, Y)
    with pytest.raises(ValueError, match="fit_intercept=False"):
        model.intercept_ = np.ones(3)


def test_sparsify_shows_sparse_weights_and_changes_no_answer():
    model = Perceptron().fit(X, Y)
    dense, answers = model.coef_, model.decision_function(X)
    assert sp.issparse(model.sparsify().coef_)
    assert np.array_equal(model.coef_.toarray(), dense)
    assert np.array_equal(model.decision_function(X), answers)
    assert str(model.explain(X[0])) == str(clone(model).fit(X, Y).explain(X[0]))
    assert isinstance(model.densify().coef_, np.ndarray)
    assert isinstance(model.sparsify().fit(X, Y).coef_, np.ndarray), "as in scikit-learn"
    with pytest.raises(NotFittedError):
        Perceptron().sparsify()


# ---- parameters


def test_the_parameters_of_scikit_learns_perceptron_are_accepted():
    asked = SklearnPerceptron().get_params()
    model = Perceptron(**asked)
    assert {name: model.get_params()[name] for name in asked} == asked
    assert clone(model).set_params(alpha=1e-4).fit(X, Y).score(X, Y) > 0.9
    assert np.array_equal(
        Perceptron(penalty=None, alpha=0.0001, l1_ratio=0.15).fit(X, Y).coef_, Perceptron().fit(X, Y).coef_
    )


LIKE_SCIKIT_LEARN = {"combine": "last", "multiclass": "ovr", "margin": 0, "intercept_scaling": 1}


def their_tests():
    module = importlib.import_module("sklearn.linear_model.tests.test_perceptron")
    for name in sorted(vars(module)):
        if name.startswith("test_"):
            function = getattr(module, name)
            marks = getattr(function, "pytestmark", [])
            cases = [(value,) for mark in marks if mark.name == "parametrize" for value in mark.args[1]] or [()]
            yield from (pytest.param(name, case, id=f"{name}-{k}") for k, case in enumerate(cases))


@pytest.mark.parametrize(("name", "case"), list(their_tests()))
def test_scikit_learns_own_tests_of_its_perceptron_pass(name, case, monkeypatch):
    module = importlib.import_module("sklearn.linear_model.tests.test_perceptron")
    monkeypatch.setattr(module, "Perceptron", partial(Perceptron, **LIKE_SCIKIT_LEARN))
    getattr(module, name)(*case)


def test_one_pass_of_both_libraries_gives_the_same_weights():
    for y in (Y, (Y == 1).astype(int)):
        theirs = SklearnPerceptron(max_iter=3, shuffle=False, tol=None).fit(X, y)
        ours = Perceptron(max_iter=3, shuffle=False, tol=None, **LIKE_SCIKIT_LEARN).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-9)


@pytest.mark.parametrize("model", [Perceptron(), Perceptron(**LIKE_SCIKIT_LEARN), KernelPerceptron()])
def test_a_class_of_great_weight_gets_nearly_all_of_the_plane(model):
    check_class_weight_classifiers("ours", model)


# ---- partial_fit


def digits_by_label():
    rows, y = load_digits(return_X_y=True)
    order = np.argsort(y, kind="stable")
    return rows[order], y[order]


@pytest.mark.parametrize("model", [Perceptron(), KernelPerceptron()])
def test_a_block_that_comes_sorted_by_label_is_warned_of(model):
    rows, y = digits_by_label()
    with pytest.warns(UserWarning, match="sorted by label.*[Ss]huffle"):
        in_order = clone(model).partial_fit(rows, y)
    mixed = clone(model).partial_fit(*shuffle(rows, y, random_state=0))
    assert mixed.score(rows, y) > 0.85
    assert in_order.score(rows, y) < mixed.score(rows, y) - 0.05
    with pytest.warns(UserWarning, match="sorted by label"):
        clone(model).partial_fit(rows[y < 2], y[y < 2][:], classes=range(10))


def test_blocks_of_few_examples_or_of_one_class_or_in_any_order_are_not_warned_of():
    rows, y = digits_by_label()
    model = Perceptron().partial_fit(rows[:100], y[:100], classes=range(10))
    assert len(set(y[:100])) == 1
    model.partial_fit(*shuffle(rows, y, random_state=0))
    small = np.flatnonzero(y < 2)[[0, 1, 2, -3, -2, -1]]
    model.partial_fit(rows[small], y[small])
    rare = np.append(np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:9])  # nine of a class may come last by chance
    model.partial_fit(rows[rare], y[rare])


@pytest.mark.parametrize(
    ("model", "block"),
    [
        (Perceptron(), (X, Y)),
        (KernelPerceptron(), (X, Y)),
        (SequencePerceptron(templates=FeatureTemplates(["word[0]"])), (SENTENCES, TAGS)),
        (StructuredPerceptron(Classes(3, 4)), (X, Y)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_early_stopping_is_refused_where_examples_come_in_blocks(model, block):
    model = clone(model).set_params(early_stopping=True)
    with pytest.raises(ValueError, match=r"partial_fit.*early_stopping=False"):
        model.partial_fit(*block)
    with pytest.raises(ValueError, match="early_stopping=False"):
        model.learn_one(block[0][0], block[1][0])
    assert not hasattr(model, "_learner")
    model.set_params(early_stopping=False).fit(*block)
    model.set_params(early_stopping=True).partial_fit(*shuffle(*block, random_state=0))  # as in scikit-learn


def test_partial_fit_is_not_offered_for_precomputed_kernels():
    for name in ("partial_fit", "learn_one"):
        assert hasattr(KernelPerceptron(), name)
        assert not hasattr(KernelPerceptron(kernel="precomputed"), name)
        with pytest.raises(AttributeError, match=name):
            getattr(KernelPerceptron(kernel="precomputed"), name)


# ---- stopping


@pytest.mark.parametrize(
    "model",
    [
        Perceptron(max_iter=2),
        Perceptron(max_iter=2, combine="last"),
        Perceptron(max_iter=2, early_stopping=True),
        KernelPerceptron(kernel="linear", max_iter=2, tol=1e-6),
    ],
    ids=str,
)
def test_the_end_of_max_iter_is_warned_of_once_with_what_to_do(model):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = clone(model).fit(X, Y)
    assert model.stop_reason_ == "max_iter"
    assert [warning.category for warning in said] == [ConvergenceWarning]
    assert "max_iter=2" in str(said[0].message)
    assert "Increase max_iter" in str(said[0].message)
    assert said[0].filename == __file__


def quiet(function):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return function()


def test_no_end_that_was_asked_for_is_warned_of():
    assert quiet(lambda: Perceptron(max_iter=2, tol=None).fit(X, Y)).stop_reason_ == "max_iter"
    assert quiet(lambda: Perceptron().fit(X, Y)).stop_reason_ == "tol"
    assert quiet(lambda: Perceptron().fit(X, Y == 0)).stop_reason_ == "converged"
    assert quiet(lambda: Perceptron().fit_stream([(X, Y)], epochs=2)).stop_reason_ == "max_iter"
    assert quiet(lambda: Perceptron(max_seconds=1e-9).fit(X, Y)).stop_reason_ == "max_seconds"
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        Perceptron(max_iter=2).fit_stream([(X, Y)], epochs=None)


def test_a_model_is_whole_though_its_warning_is_an_error():
    model = Perceptron(max_iter=2)
    with pytest.raises(ConvergenceWarning):
        quiet(lambda: model.fit(X, Y))
    assert np.array_equal(model.coef_, Perceptron(max_iter=2, tol=None).fit(X, Y).coef_)


RUN = "import perceptrons.cli; perceptrons.cli.main()"


def test_the_command_says_why_it_stopped_and_shows_no_warning(tmp_path):
    lines = [",".join(map(str, [*row, f"k{label}"])) for row, label in zip(X, Y, strict=True)]
    (tmp_path / "iris.csv").write_text("a,b,c,d,kind\n" + "\n".join(lines) + "\n")
    ran = subprocess.run(
        [sys.executable, "-c", RUN, "train", "iris.csv", "--max-iter", "2", "-o", "m"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Warning" not in ran.stderr
    assert "tol=None" not in ran.stderr + ran.stdout


# ---- early stopping


@pytest.mark.parametrize("model", [Perceptron(), KernelPerceptron()])
def test_every_class_is_learned_and_validated_or_the_error_says_why_not(model):
    rows, y = X[[0, 1, 50, 51, 100, 101, 102]], Y[[0, 1, 50, 51, 100, 101, 102]]
    model = clone(model).set_params(early_stopping=True, validation_fraction=0.99)
    with pytest.raises(ValueError, match=r"validation_fraction=0.99 of 7 examples leaves 0.*classes"):
        model.fit(rows, y)
    model.set_params(validation_fraction=0.1, max_iter=3, tol=None).fit(rows, y)  # a row of every class
    assert model.history_[0]["examples"] == 4
    assert {row["validation_accuracy"] * 3 % 1 for row in model.history_} == {0.0}


@pytest.mark.parametrize("given", [{"early_stopping": True}, {"probability": "sigmoid"}, {"probability": "isotonic"}])
@pytest.mark.parametrize("model", [Perceptron(), KernelPerceptron()])
def test_the_only_example_of_a_class_is_learned_and_never_held_out(model, given):
    rows, y = np.vstack([X[:100], [[20, 20, 20, 20]]]), np.append(Y[:100], 2)
    model = clone(model).set_params(**given, validation_fraction=0.2, tol=None, max_iter=30).fit(rows, y)
    assert model.history_[0]["examples"] == 81
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict(rows[-1:]).tolist() == [2]
    if "probability" in given:
        assert np.isfinite(model.predict_proba(rows)).all()


def test_rare_classes_are_validated_too():
    from perceptrons.engine.training.epochs import hold_out

    codes = np.repeat([0, 1, 2, 3], [200, 100, 3, 2])
    train, aside = hold_out(codes, None, 0.1, 0)
    assert np.bincount(codes[aside]).min() == 1
    assert np.bincount(codes[train]).min() == 1
    assert len(aside) == round(0.1 * len(codes)) == 30
    assert sorted([*train, *aside]) == list(range(len(codes)))


# ---- names of features


@pytest.mark.parametrize("kind", [Perceptron, KernelPerceptron])
def test_whole_numbers_are_names_of_features_and_the_same_as_in_strings(kind, tmp_path):
    examples = [({3: 1.0, 7: 2.0}, "a"), ({7: 1.0, 8: 1.0}, "b"), ({np.int64(3): 2.0}, "a"), ({8: "x"}, "b")] * 3
    numbers, words = kind(), kind()
    for x, y in examples:
        numbers.learn_one(x, y)
        words.learn_one({str(name): value for name, value in x.items()}, y)
    assert numbers.feature_names_in_.tolist() == ["3", "7", "8", "8=x"]
    perceptrons.save(numbers, tmp_path / "m")
    asked = [x for x, _ in examples]
    for model in (numbers, perceptrons.load(tmp_path / "m")):
        assert model.predict(asked).tolist() == words.predict(asked).tolist()
        assert [model.predict_one(x) for x in asked] == words.predict(asked).tolist()
        np.testing.assert_array_equal(model.decision_function(asked), words.decision_function(asked))
        assert "'3'" in str(model.explain({3: 1.0})) or "3" in str(model.explain({3: 1.0}))
        assert model.predict_one({"3": 5.0}) == model.predict_one({3: 5.0}) == "a"


def test_names_that_are_neither_and_names_twice_are_refused():
    model = Perceptron().learn_one({3: 1.0}, "a")
    with pytest.raises(TypeError, match="strings or whole numbers"):
        model.learn_one({2.5: 1.0}, "a")
    with pytest.raises(TypeError, match="strings or whole numbers"):
        model.learn_one({True: 1.0}, "a")
    with pytest.raises(ValueError, match="'3' have the same name"):
        model.learn_one({3: 1.0, "3": 2.0}, "b")
    assert model.n_features_in_ == 1
    assert model.t_ == 1


# ---- configuration


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    "model",
    [
        Perceptron(max_iter=3),
        Perceptron(max_iter=3, combine="vote"),
        Perceptron(max_iter=3, combine="pocket"),
        Perceptron(max_iter=3, multiclass="ovo"),
        Perceptron(max_iter=3, step="arow"),
        KernelPerceptron(max_iter=3),
    ],
    ids=str,
)
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_assume_finite_skips_the_check_and_stays_safe(model, form, bad):
    rows = X.copy()
    rows[7, 2] = bad
    rows = form(rows)
    with pytest.raises(ValueError, match="row 7"):
        clone(model).fit(rows, Y)
    with config_context(assume_finite=True), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        sound = clone(model).fit(X, Y)
        assert np.array_equal(sound.predict(X), clone(model).fit(X, Y).predict(X))
        with suppress(ValueError):  # kernels refuse values that are not numbers
            assert set(sound.predict(rows)) <= {0, 1, 2}
        learned = clone(model)
        with suppress(ValueError):  # where a step overflows
            learned.fit(rows, Y)
        assert not hasattr(learned, "_learner") or set(learned.predict(X)) <= {0, 1, 2}


@pytest.mark.parametrize(
    ("transformer", "rows"),
    [
        (HashedText(), ["free prize", "see you"]),
        (HashedText(bits=None), ["free prize", "see you"]),
        (HashedText(bits=None, min_count=2), ["free prize", "free you"]),
        (HashedFeatures(), [{"a": 1}, {"b": 2}]),
        (RunningScaler(), sp.csr_matrix(X)),
    ],
    ids=str,
)
def test_sparse_answers_come_in_the_interface_that_is_configured(transformer, rows):
    plain = transformer.fit_transform(rows)
    assert sp.isspmatrix(plain)
    with config_context(sparse_interface="sparray"):
        for found in (clone(transformer).fit_transform(rows), transformer.fit(rows).transform(rows)):
            assert isinstance(found, sp.sparray)
            assert np.array_equal(found.toarray(), plain.toarray())
        labels = sp.csr_array(np.eye(3, dtype=int)[Y])
        assert isinstance(Perceptron().fit(X, labels).predict(X), sp.sparray)


def test_tags_say_what_kind_of_input_is_taken():
    words = SequencePerceptron(templates=FeatureTemplates(["word[0]"]))
    structured = StructuredPerceptron(Classes(3, 4))
    for estimator in (SequencePerceptron(), words, structured, FeatureTemplates(["word[0]"])):
        assert not estimator.__sklearn_tags__().input_tags.two_d_array, estimator
    assert words.__sklearn_tags__().input_tags.string
    assert FeatureTemplates(["word[0]"]).__sklearn_tags__().input_tags.string
    assert SequencePerceptron().__sklearn_tags__().input_tags.dict
    for estimator in (words, structured):
        target = estimator.__sklearn_tags__().target_tags
        assert target.required
        assert not target.single_output


# ---- files of skops

FITTED = {
    "linear": lambda: (Perceptron().fit(X, Y), X),
    "pocket": lambda: (Perceptron(combine="pocket", max_iter=3).fit(X, Y), X),
    "vote": lambda: (Perceptron(combine="vote", max_iter=3).fit(X, Y), X),
    "arow": lambda: (Perceptron(step="arow", max_iter=3).fit(sp.csr_matrix(X), Y), X),
    "labels": lambda: (Perceptron(max_iter=3).fit(X, np.eye(3, dtype=int)[Y]), X),
    "by name": lambda: (Perceptron().learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y"), [{"a": 2.0}, {"b": 1.0}]),
    "kernel": lambda: (KernelPerceptron().fit(X, Y), X),
    "kernel on a budget": lambda: (KernelPerceptron(budget=9).fit(X, Y), X),
    "kernel, sparse": lambda: (KernelPerceptron(combine="vote").fit(sp.csr_matrix(X), Y), X),
    "kernel, precomputed": lambda: (KernelPerceptron(kernel="precomputed").fit(X @ X.T, Y), X @ X.T),
    "tagger": lambda: (SequencePerceptron(templates=FeatureTemplates(["word[0]"])).fit(SENTENCES, TAGS), SENTENCES),
    "tagger takes features": lambda: (SequencePerceptron().fit([[["w=a"], ["w=b"]]] * 2, TAGS), [[["w=a"]]]),
    "structured": lambda: (StructuredPerceptron(Classes(3, 4)).fit(X, Y), X),
    "texts": lambda: (HashedText(bits=None).fit(["free prize", "see you"]), ["free you"]),
    "features": lambda: (HashedFeatures().fit([{"a": 1}]), [{"a": 2}]),
    "table": lambda: (TableFeatures().fit(X), X),
    "scaler": lambda: (RunningScaler().fit(X), X),
    "templates": lambda: (FeatureTemplates(["word[0]"]).fit(SENTENCES), SENTENCES),
}


@pytest.mark.parametrize("name", FITTED)
def test_skops_writes_and_reads_every_estimator(name):
    model, rows = FITTED[name]()
    if hasattr(model, "predict_one") and name != "kernel, precomputed":
        model.predict_one(rows[0])  # after which more is kept
    if name == "by name":
        model.learn_one({"a": 1.0}, "x")
    written = skops.io.dumps(model)
    unknown = skops.io.get_untrusted_types(data=written)
    assert all(kind.startswith(("perceptrons.", "tests.", "scipy.")) for kind in unknown), unknown
    found = skops.io.loads(written, trusted=unknown)
    answers = [one.predict(rows) if hasattr(one, "predict") else one.transform(rows) for one in (model, found)]
    if name == "templates":
        answers = [answer.matrix for answer in answers]
    if sp.issparse(answers[0]):
        answers = [answer.toarray() for answer in answers]
    np.testing.assert_array_equal(*answers)
    if name in ("linear", "kernel", "kernel on a budget"):
        for one in (model, found):
            one.partial_fit(*shuffle(X, Y, random_state=1))
        np.testing.assert_array_equal(found.decision_function(X), model.decision_function(X))


def test_a_file_of_skops_cannot_have_any_library_imported():
    from perceptrons.kernel.arrays import HOST, Place

    with pytest.raises(ValueError, match="not a library of arrays"):
        Place.__new__(Place).__setstate__({"library": "antigravity", "device": "cpu"})
    assert pickle.loads(pickle.dumps(HOST)) == HOST


# ---- to scikit-learn


def check_same(model, rows):
    """The model of scikit-learn answers the same, here and after a copy."""
    theirs = model.to_sklearn()
    assert type(theirs).__module__.startswith("sklearn.")
    mine, other = model.predict(rows), theirs.predict(rows)
    if sp.issparse(mine):
        assert sp.issparse(other)
        mine, other = mine.toarray(), other.toarray()
    np.testing.assert_array_equal(mine, other)
    close = 1e-9 if rows.dtype == np.float64 else 1e-4
    np.testing.assert_allclose(theirs.decision_function(rows), model.decision_function(rows), rtol=close, atol=close)
    assert theirs.n_features_in_ == model.n_features_in_
    return theirs


@pytest.mark.parametrize("y", [Y, Y == 1, np.array(["a", "b", "c"])[Y]], ids=["three", "two", "words"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"combine": "last"},
        {"combine": "recent"},
        {"combine": "pocket"},
        {"multiclass": "ovr"},
        {"multiclass": "ovo"},
        {"multiclass": "ovo", "zero_score": "positive"},
        {"zero_score": "positive"},
        {"fit_intercept": False, "penalty": "l2", "alpha": 0.001},
        {"step": "arow"},
    ],
    ids=str,
)
def test_a_model_of_scikit_learn_answers_the_same(y, parameters):
    for rows in (X, X.astype(np.float32), sp.csr_matrix(X)):
        model = Perceptron(max_iter=5, **parameters).fit(rows, y)
        theirs = check_same(model, rows)
        assert np.array_equal(theirs.classes_, model.classes_)
        if isinstance(theirs, SklearnPerceptron):
            assert np.array_equal(theirs.coef_, model.coef_)
            assert np.array_equal(theirs.intercept_, model.intercept_)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("zero_score", ["mistake", "positive"])
def test_several_labels_become_one_model_of_scikit_learn_for_each(form, zero_score):
    labels = form(np.stack([Y > 0, Y == 1, Y == 2], axis=1).astype(int))
    theirs = check_same(Perceptron(max_iter=5, zero_score=zero_score).fit(X, labels), X)
    assert isinstance(theirs, OneVsRestClassifier)
    assert theirs.multilabel_


def ties():
    """Whole numbers, and weights for which many scores are exactly 0 or equal."""
    rows = np.array([[a, b, c] for a in (-1.0, 0, 1) for b in (-1.0, 0, 1) for c in (-1.0, 0, 1)])
    return rows, np.array([[1.0, -1, 0], [0, 1, -1], [1, 0, -1]])


@pytest.mark.parametrize("zero_score", ["mistake", "correct", "positive", "negative"])
@pytest.mark.parametrize("multiclass", ["joint", "ovr", "ovo"])
@pytest.mark.parametrize("classes", [2, 3])
def test_scores_of_exactly_0_and_ties_are_answered_alike(zero_score, multiclass, classes):
    rows, coef = ties()
    y = np.arange(len(rows)) % classes
    n_rows = 1 if classes == 2 else 3
    model = Perceptron(
        combine="last", zero_score=zero_score, multiclass=multiclass, margin=0, init="ones", max_iter=1, tol=None
    ).fit(rows, y)
    for intercept in (0.0, 1.0, -2.0):
        model.coef_, model.intercept_ = coef[:n_rows], np.full(n_rows, intercept)
        scores = rows @ coef[:n_rows].T + intercept
        assert (scores == 0).any()
        check_same(model, rows)


def test_a_threshold_is_kept_also_where_a_score_is_exactly_there():
    rows, y = load_breast_cancer(return_X_y=True)
    for kind in (np.float64, np.float32):
        model = Perceptron().fit((rows / rows.max(axis=0)).astype(kind), y)
        scores = model.decision_function((rows / rows.max(axis=0)).astype(kind))
        for threshold in (np.sort(scores)[100], 0.5, -1.0):
            model.threshold_ = float(threshold)
            theirs = check_same(model, (rows / rows.max(axis=0)).astype(kind))
            assert np.array_equal(theirs.classes_, model.classes_)


def test_names_of_features_go_along_and_scikit_learn_can_keep_training():
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = Perceptron().fit(frame, Y)
    theirs = model.to_sklearn()
    assert np.array_equal(theirs.decision_function(frame), model.decision_function(frame))
    assert theirs.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    before = model.coef_.copy()
    theirs.partial_fit(frame, Y)
    assert not np.array_equal(theirs.coef_, before)
    assert np.array_equal(model.coef_, before)
    assert isinstance(Perceptron(multiclass="ovo").fit(frame, Y).to_sklearn(), OneVsOneClassifier)


@pytest.mark.parametrize(
    ("model", "error", "says"),
    [
        (
            lambda: Perceptron(combine="vote").fit(X, Y),
            ValueError,
            "the training history votes, which is not linear..*combine='average'",
        ),
        (lambda: KernelPerceptron().fit(X, Y), ValueError, "no kernel.*Nystroem"),
        (lambda: Perceptron(), NotFittedError, "not fitted"),
        (lambda: Perceptron().learn_one([1.0], "a"), ValueError, "only one class"),
    ],
)
def test_what_scikit_learn_has_no_model_for_is_refused_with_a_reason(model, error, says):
    model = model()
    with pytest.raises(error, match=says):
        model.to_sklearn()


def test_a_search_over_scikit_learns_parameters_runs():
    grid = {"alpha": [0.0001], "penalty": [None], "fit_intercept": [True, False]}
    assert GridSearchCV(Perceptron(), grid, cv=3, error_score="raise").fit(X, Y).best_score_ > 0.8
