"""learn_one and predict_one: the short way for usual examples learns and answers what the general way would."""

import copy
import os
import pickle
import signal
import threading
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from perceptrons import KernelPerceptron, Perceptron
from perceptrons.engine.training.learner import LinearLearner
from perceptrons.modelfile import load, save
from perceptrons.online import progressive
from tests.conftest import as_numbers

settings.register_profile("steady", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("steady")

VALUES = st.floats(-100, 100, allow_subnormal=False) | st.integers(-3, 3)
RULES = (
    {},
    {"eta0": 0.3, "fit_intercept": False},
    {"margin": 1.5},
    {"step": "pa1", "C": 0.1},
    {"step": "pa2", "penalty": "l2", "alpha": 0.01},
    {"penalty": "l1", "alpha": 0.01},
    {"penalty": "elasticnet", "alpha": 0.1, "l1_ratio": 0.5, "margin": 0.5},
    {"step": "arow"},
    {"penalty": "l2", "alpha": 0.3},
    {"zero_score": "correct", "margin": 0.5, "penalty": "l2", "alpha": 1e-5},
)


class General(Perceptron):
    """Always goes the general way."""

    def learn_one(self, x, y):
        self._learn_one_general(x, y)
        return self

    def predict_one(self, x):
        self._fast = None
        return super().predict_one(x)


def state(model):
    """Everything that was learned, as bytes: weights, averages, counts, names, classes."""
    learner, weights = model._learner, model._learner.weights
    d = weights.n_features
    arrays = {name: (a[:, :d] if a.ndim == 2 and "w" in name else a) for name, a in weights.arrays.items()}
    numbers = {name: np.ascontiguousarray(as_numbers(a) + 0.0).tobytes() for name, a in arrays.items()}  # + 0: of -0, 0
    return {**numbers, "counts": (learner.mistakes, learner.updates, d), "classes": learner.classes.tolist()}


def names(model):
    return model.feature_names_in_.tolist()


@st.composite
def streams(draw):
    """Dicts of some of a few features, zeros among the values, and labels; features and classes come as they like.

    A dict has its features in their order of coming into the stream, so that a matrix has sorted columns.
    """
    n_features, k = draw(st.integers(1, 20)), draw(st.integers(2, 4))
    labels = draw(st.sampled_from([["a", "b", "c", "d"], [3, -1, 7, 0]]))[:k]
    some = st.dictionaries(st.sampled_from([f"f{j}" for j in range(n_features)]), VALUES, max_size=n_features)
    places, stream = {}, []
    for x, label in draw(st.lists(st.tuples(some, st.sampled_from(labels)), min_size=3, max_size=40)):
        for name in (name for name, value in x.items() if value):
            places.setdefault(name, len(places))
        stream.append((dict(sorted(x.items(), key=lambda item: places.get(item[0], -1))), label))
    return stream


def as_columns(stream):
    """The same examples as CSR rows: a column for every feature in its order of coming, entries in the dict's order."""
    places, rows = {}, []
    for x, _ in stream:
        rows.append([(places.setdefault(name, len(places)), value) for name, value in x.items() if value])
    ends = np.cumsum([0, *(len(row) for row in rows)])
    entries = [entry for row in rows for entry in row]
    parts = np.array([value for _, value in entries], float), np.array([place for place, _ in entries], int), ends
    return sp.csr_matrix(parts, shape=(len(rows), max(1, len(places))))


@given(streams(), st.sampled_from(RULES), st.sampled_from(["average", "last"]))
def test_learn_one_gives_the_bits_of_partial_fit_on_the_same_rows(stream, rule, combine):
    X, y = as_columns(stream), [label for _, label in stream]
    single, blocks = Perceptron(combine=combine, **rule), Perceptron(combine=combine, **rule)
    n_new = max(y.index(label) for label in set(y)) + 1  # after these, all classes are known
    filled = np.flatnonzero(np.diff(X.indptr))
    n_new = max(n_new, filled[0] + 1 if len(filled) else 0)  # and the first row that is not 0 has set the unit
    for i, (x, label) in enumerate(stream):
        single.learn_one(x, label)
        if i < n_new:
            blocks.partial_fit(X[i], [label])
        if i == n_new - 1 and n_new < len(y):
            blocks.partial_fit(X[n_new:], y[n_new:])
    d = single.n_features_in_
    # Truncations of several examples are summed before they are done, so an L1 penalty is the same to rounding
    tolerance = 1e-9 if rule.get("penalty") in ("l1", "elasticnet") else 0
    for one, block in (
        (single.coef_last_, blocks.coef_last_[:, :d]),
        (single.coef_average_, blocks.coef_average_[:, :d]),
        (single.intercept_last_, blocks.intercept_last_),
        (single.intercept_average_, blocks.intercept_average_),
    ):
        np.testing.assert_allclose(one, block, rtol=tolerance, atol=tolerance)
    assert (single.t_, single.n_updates_, single.n_mistakes_) == (blocks.t_, blocks.n_updates_, blocks.n_mistakes_)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@given(streams(), st.sampled_from(RULES), st.sampled_from(["average", "last"]))
def test_predict_one_answers_what_predict_does(stream, rule, combine):
    stream.insert(0, ({"first": 1.0}, stream[0][1]))  # predict wants a feature
    X = as_columns(stream)
    model = Perceptron(combine=combine, **rule)
    for i, (x, label) in enumerate(stream):
        model.learn_one(x, label)
        assert model.predict_one(x) == model.predict(X[i, : model.n_features_in_])[0]
    assert [model.predict_one(x) for x, _ in stream] == model.predict(X).tolist()


@given(streams(), st.sampled_from(RULES))
def test_the_short_way_and_the_general_way_are_the_same(stream, rule):
    short, general = Perceptron(**rule), General(**rule)
    for x, label in stream:
        assert state(short.learn_one(x, label)) == state(general.learn_one(x, label))
        assert short.predict_one(x) == general.predict_one(x)
    assert names(short) == names(general)


# ---- which examples go the short way


def stream_of(rng, n, d=8, k=2, dtype=float):
    X = rng.standard_normal((n, d)).astype(dtype)
    y = (X @ rng.standard_normal((d, k)) + rng.standard_normal((n, k))).argmax(axis=1)
    y[:k] = np.arange(k)
    return [({f"f{j}": float(v) for j, v in enumerate(x)}, int(label)) for x, label in zip(X, y, strict=True)]


@pytest.mark.parametrize("shape", [dict, "zeros", "words", list, tuple, np.array])
@pytest.mark.parametrize("k", [2, 3])
def test_known_examples_do_not_go_the_general_way(monkeypatch, rng, shape, k):
    def example(x):
        if shape == "zeros":
            return x | {"f0": 0.0, "f3": 0}
        if shape == "words":
            return x | {"colour": "red" if x["f0"] > 0 else "blue"}
        return x if shape is dict else shape(list(x.values()))

    stream = [(example(x), label) for x, label in stream_of(rng, 60, k=k)]
    model, general = Perceptron(), General()
    for x, label in stream[:20]:
        general.learn_one(x, label)
        model.learn_one(x, label).predict_one(x)
    monkeypatch.setattr(Perceptron, "_learn_one_general", None)
    monkeypatch.setattr(LinearLearner, "score_one", None)
    for x, label in stream[20:]:
        model.learn_one(x, label).predict_one(x)
    answers = [model.predict_one(x) for x, _ in stream]
    monkeypatch.undo()
    for x, label in stream[20:]:
        general.learn_one(x, label)
    assert state(model) == state(general)
    assert answers == [general.predict_one(x) for x, _ in stream]


OTHERS = ({"combine": "vote"}, {"combine": "pocket"}, {"multiclass": "ovr"}, {"multiclass": "ovo"})


@pytest.mark.parametrize("parameters", [*OTHERS, {"class_weight": {0: 2.0}}, {"cost": {0: {1: 2.0}}}])
def test_other_models_learn_and_answer_as_ever(rng, parameters):
    stream = stream_of(rng, 60, k=3)
    short, general = Perceptron(**parameters), General(**parameters)
    for x, label in stream:
        short.learn_one(x, label)
        general.learn_one(x, label)
    assert state(short) == state(general)
    assert [short.predict_one(x) for x, _ in stream] == [general.predict_one(x) for x, _ in stream]


def test_many_classes_and_label_sets_learn_as_ever(rng):
    rows = rng.standard_normal((400, 3))
    many = [(x, i % 200) for i, x in enumerate(rows)]
    sets = [(x, {"a", "b"} if x[0] > 0 else {"c"}) for x in rows[:40]]
    for stream in (many, sets):
        short, general = Perceptron(), General()
        for x, label in stream:
            short.learn_one(x, label)
            general.learn_one(x, label)
        assert state(short) == state(general)
        assert [short.predict_one(x) for x, _ in stream] == [general.predict_one(x) for x, _ in stream]


def test_a_float32_model_goes_on_in_float32(rng):
    stream = stream_of(rng, 60)
    frame = pd.DataFrame([x for x, _ in stream[:20]]).astype(np.float32)
    models = Perceptron(), General()
    for model in models:
        model.partial_fit(frame, [label for _, label in stream[:20]])
        for x, label in stream[20:]:
            model.learn_one(x, label).predict_one(x)
    assert models[0].coef_.dtype == np.float32
    assert state(models[0]) == state(models[1])
    assert [models[0].predict_one(x) for x, _ in stream] == [models[1].predict_one(x) for x, _ in stream]


# ---- what makes it prepare again


def saved(model, tmp_path):
    save(model, tmp_path / "model")
    return load(tmp_path / "model")


CHANGES = {
    "combine": lambda model, _: model.set_params(combine="last"),
    "zero_score": lambda model, _: model.set_params(zero_score="positive"),
    "eta0": lambda model, _: setattr(model, "eta0", 0.1),
    "margin": lambda model, _: setattr(model, "margin", 2.0),
    "step": lambda model, _: model.set_params(step="pa1", C=0.5),
    "penalty": lambda model, _: setattr(model, "penalty", "l2"),
    "class_weight": lambda model, _: model.set_params(class_weight={0: 3.0}),
    "cost": lambda model, _: setattr(model, "cost", {0: {1: 3.0}}),
    "a class": lambda model, _: model.learn_one({"f0": 1.0}, 5),
    "a class in a block": lambda model, _: model.partial_fit(sp.csr_matrix(np.eye(8)), range(8)),
    "a feature": lambda model, _: model.learn_one({"f0": 1.0, "new": 2.0}, 1),
    "a dense block": lambda model, _: model.partial_fit(np.eye(8), [0, 1] * 4),
    "fit": lambda model, _: model.fit(pd.DataFrame(np.eye(8), columns=[f"f{j}" for j in range(8)]), [0, 1] * 4),
    "names": lambda model, _: setattr(model, "feature_names_in_", [f"f{j}" for j in (3, 2, 1, 0, 4, 5, 6, 7)]),
    "deepcopy": lambda model, _: copy.deepcopy(model),
    "copy": lambda model, _: copy.copy(model).set_params(combine="last", eta0=0.1),
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "clone": lambda model, _: clone(model).learn_one({"f1": 1.0}, 0).learn_one({"f0": 1.0}, 1),
    "fewer classes": lambda model, _: clone(model).learn_one({"f1": 1.0}, "only"),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("k", [2, 3])
def test_a_change_is_noticed_by_the_next_example(rng, tmp_path, change, k):
    stream = stream_of(rng, 60, k=k)
    models = []
    for kind in (Perceptron, General):
        model = kind()
        for x, label in stream[:20]:
            model.learn_one(x, label).predict_one(x)
        model = CHANGES[change](model, tmp_path) or model
        answers = [model.predict_one(x) for x, _ in stream]
        for x, label in stream[20:]:
            label = f"{label}" if change == "fewer classes" else label
            answers.append(model.learn_one(x, label).predict_one(x))
        models.append((state(model), names(model), answers))
    assert models[0] == models[1]


def test_a_copy_learns_for_itself_alone(rng):
    stream = stream_of(rng, 40)
    model = Perceptron()
    for x, label in stream[:20]:
        model.learn_one(x, label).predict_one(x)
    before = state(model)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        for x, label in stream[20:]:
            twin.learn_one(x, label)
        assert state(model) == before != state(twin)


def test_a_loaded_model_goes_on_with_the_same_bits(rng, tmp_path):
    stream = stream_of(rng, 60)
    model = Perceptron()
    for x, label in stream[:20]:
        model.learn_one(x, label).predict_one(x)
    other = saved(model, tmp_path)
    for x, label in stream[20:]:
        assert model.learn_one(x, label).predict_one(x) == other.learn_one(x, label).predict_one(x)
    assert state(model) == state(other)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"fit_intercept": False}, "fit_intercept was changed"),
        ({"batch_size": 4}, "learn_one learns from one example"),
        ({"multiclass": "ovo"}, "multiclass="),
        ({"step": "arow"}, "arow"),
        ({"combine": "vote"}, "holds no votes"),
        ({"eta0": -1.0}, "eta0 must be"),
        ({"class_weight": "balanced"}, "balanced"),
    ],
)
def test_parameters_are_checked_when_they_change(rng, parameters, message):
    model = Perceptron()
    for x, label in stream_of(rng, 20):
        model.learn_one(x, label).predict_one(x)
    before = state(model)
    with pytest.raises(ValueError, match=message):
        model.set_params(**parameters).learn_one(x, label)
    assert state(model) == before


# ---- examples that are refused


BAD = [
    {"f0": np.nan},
    {"f0": np.inf, "f1": 1.0},
    {"f0": -np.inf},
    {"f0": 1e200},
    {"f0": 10**400},
    {"f0": None},
    {"f0": [1.0]},
    {"f0": 1j},
    {0.5: 1.0},
    {None: 1.0},
    [1.0] * 7,
    [np.nan] * 8,
    [1e200] * 8,
    ["red"] * 8,
    np.full(8, np.inf),
    np.ones((2, 8)),
    "text",
    3.0,
    None,
]


@pytest.mark.parametrize("x", BAD, ids=repr)
def test_a_bad_example_is_refused_as_in_the_general_way_and_changes_nothing(rng, x):
    models = Perceptron(), General()
    for model in models:
        for good, label in stream_of(np.random.default_rng(1), 20):
            model.learn_one(good, label).predict_one(good)
    before = state(models[0])
    for call in (lambda model: model.learn_one(x, 1), lambda model: model.predict_one(x)):
        said = []
        for model in models:
            with pytest.raises((ValueError, TypeError)) as error:
                call(model)
            said.append((error.type, str(error.value)))
        assert said[0] == said[1]
        assert state(models[0]) == before
        assert names(models[0]) == [f"f{j}" for j in range(8)]


def test_an_empty_dict_says_nothing_to_a_model_without_names():
    model = Perceptron().learn_one([1.0, 0.0], 0).learn_one([0.0, 1.0], 1)
    for _ in range(3):
        model.predict_one([1.0, 0.0])
        with pytest.raises(ValueError, match="columns without names"):
            model.learn_one({}, 1)
        with pytest.raises(ValueError, match="columns without names"):
            model.predict_one({})


def test_a_step_that_would_overflow_is_refused_in_the_short_way_too():
    model = Perceptron(step="pa", fit_intercept=False)
    for x, label in 3 * [({"a": 1.0}, 0), ({"a": -1.0}, 1)]:
        model.learn_one(x, label)
    before = model.coef_last_
    with pytest.raises(ValueError, match="would overflow"), np.errstate(over="ignore"):  # where nothing is compiled
        model.learn_one({"a": 1e-160}, 1)
    assert np.array_equal(model.coef_last_, before)


# ---- interrupts and threads


@pytest.mark.parametrize("step", ["meet_features", "meet_classes", "begin"])
def test_ctrl_c_while_a_feature_or_a_class_is_added_leaves_a_model_that_can_be_loaded(monkeypatch, tmp_path, step):
    before, after = getattr(LinearLearner, step), []

    def interrupted(*arguments, **keywords):
        made = before(*arguments, **keywords)
        if not after:
            after.append(1)
            os.kill(os.getpid(), signal.SIGINT)
            signal.getsignal(signal.SIGINT)  # Python runs the handler before the next line
        return made

    model = Perceptron()
    if step != "begin":
        model.learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y")
    monkeypatch.setattr(LinearLearner, step, interrupted if step != "begin" else staticmethod(interrupted))
    with pytest.raises(KeyboardInterrupt):
        model.learn_one({"b": 1.0, "c": 1.0}, "z")
    assert after
    assert names(model)[-1] == "c"
    assert model.n_features_in_ == len(names(model)) == model.coef_.shape[1]
    loaded = saved(model, tmp_path)
    for each in (model, loaded):
        each.learn_one({"c": 1.0, "d": -1.0}, "z").learn_one({"b": 1.0}, "y")
    assert state(model) == state(loaded)
    assert names(model) == names(loaded)


def test_a_failure_to_make_room_names_nothing(monkeypatch):
    model = Perceptron().learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y")
    before = state(model)

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(LinearLearner, "meet_features", fail)
    with pytest.raises(MemoryError):
        model.learn_one({"c": 1.0}, "x")
    assert names(model) == ["a", "b"]
    assert model.n_features_in_ == 2
    assert state(model) == before


def test_threads_may_predict_at_once(rng):
    stream = stream_of(rng, 200)
    model = Perceptron()
    for x, label in stream:
        model.learn_one(x, label)
    expected = [model.predict_one(x) for x, _ in stream]
    found = [[] for _ in range(4)]

    def predict(answers):
        for _ in range(20):
            answers[:] = [model.predict_one(x) for x, _ in stream]
            if answers != expected:
                return

    threads = [threading.Thread(target=predict, args=(answers,)) for answers in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_progressive_validation_goes_the_short_way(monkeypatch, rng):
    stream = stream_of(rng, 60)
    model, general = Perceptron(), General()
    expected = progressive(general, stream)
    first = progressive(model, stream[:20])
    monkeypatch.setattr(Perceptron, "_learn_one_general", None)
    monkeypatch.setattr(LinearLearner, "score_one", None)
    rest = progressive(model, stream[20:])
    assert first.mistakes + rest.mistakes == expected.mistakes
    assert state(model) == state(general)


@pytest.mark.parametrize("as_dict", [False, True])
def test_voting_keeps_of_each_example_little_more_than_the_example(as_dict, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 5)), rng.integers(0, 3, 1500).tolist()
    rows = [{f"f{k}": value for k, value in enumerate(x)} for x in X.tolist()] if as_dict else list(X)

    def taught():
        model, before = Perceptron(combine="vote"), 0
        for i, (x, label) in enumerate(zip(rows, y, strict=True)):
            if i == 200:
                tracemalloc.start()
                before = tracemalloc.get_traced_memory()[0]
            model.learn_one(x, label)
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        return model, grown / 1300

    model, grown = taught()
    assert grown < 600  # an update is 48 bytes, an example 40 or 100; the rest waits to be joined
    monkeypatch.setattr("perceptrons.engine.training.votes.MAX_SINGLE_ROWS", 10**9)
    apart, _ = taught()
    asked = rows if as_dict else X
    np.testing.assert_array_equal(model.decision_function(asked), apart.decision_function(asked))


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.get("penalty", "l2") == "l2"], ids=str)
def test_a_feature_that_has_always_been_0_is_no_reason_for_the_general_way(rule, rng, monkeypatch):
    rows = [dict(zip("abcd", [*x, 0.0, 0], strict=True)) for x in rng.standard_normal((60, 2)).tolist()]
    short, general = Perceptron(**rule), General(**rule)
    for i, x in enumerate(rows):
        label = ("no", "yes")[x["a"] > x["b"]]
        general.learn_one(x, label)
        if i > 10:
            monkeypatch.setattr(Perceptron, "_learn_one_general", None)
            monkeypatch.setattr(Perceptron, "_one_row", None)
        short.learn_one(x, label)
        if i >= 10:
            short.predict_one(x)
        monkeypatch.undo()
    assert short.feature_names_in_.tolist() == ["a", "b"]
    assert state(short) == state(general)
    assert [short.predict_one(x) for x in rows] == [general.predict_one(x) for x in rows]


@pytest.mark.parametrize("kind", [Perceptron, KernelPerceptron])
def test_a_row_of_a_frame_is_read_by_the_names_of_its_index(kind, rng):
    X = pd.DataFrame(rng.standard_normal((60, 4)), columns=list("pqrs"))
    y = np.where(X["p"] > 0, "a", "b")
    model = kind(max_iter=5, tol=None).fit(X, y)
    for order in ("pqrs", "srqp"):
        assert [model.predict_one(X.iloc[i][list(order)]) for i in range(60)] == model.predict(X).tolist()
    taught = [copy.deepcopy(model) for _ in range(2)]
    for i in range(20):
        taught[0].learn_one(X.iloc[i].to_dict(), y[i])
        taught[1].learn_one(X.iloc[i][list("srqp")], y[i])
    np.testing.assert_allclose(taught[0].decision_function(X), taught[1].decision_function(X), rtol=1e-9)
    with pytest.raises(ValueError, match="twice"):
        model.predict_one(X.iloc[0][list("ppqr")])


def test_a_row_of_a_frame_begins_a_model_with_the_names_of_its_index():
    model = Perceptron()
    for _ in range(5):
        model.learn_one(pd.Series({"q": 1.0, "p": 0.0}), "a").learn_one(pd.Series({"p": 1.0, "q": 0.0}), "b")
    assert [model.predict_one(pd.Series({"p": p, "q": 1 - p})) for p in (0.0, 1.0)] == ["a", "b"]
    unnamed = Perceptron().fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    assert unnamed.predict_one(pd.Series({"x": 1.0, "y": 0.0})) == "a"  # it has no names: by position
