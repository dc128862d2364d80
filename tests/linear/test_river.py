"""`perceptrons.river`: River's own checks, its pipelines and metrics, and the same weights as `learn_one`."""

import inspect
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from river import base, checks, compose, datasets, ensemble, evaluate, metrics, preprocessing, stream

import perceptrons
from perceptrons import Perceptron
from perceptrons.river import RiverMultiLabelPerceptron, RiverPerceptron

KINDS = [RiverPerceptron, RiverMultiLabelPerceptron]
CASES = [
    pytest.param(kind, params, id=f"{kind.__name__}-{params}") for kind in KINDS for params in kind._unit_test_params()
]


class SeveralLabels:
    """Stands for River's data set Music, which River would have to download."""

    def take(self, n):
        rng = np.random.default_rng(0)
        rule = rng.standard_normal((8, 4))
        for x in rng.standard_normal((n, 8)):
            labels = (x @ rule > 0.5).tolist()
            yield (
                {f"f{j}": value for j, value in enumerate(x.tolist())},
                {f"l{k}": there for k, there in enumerate(labels)},
            )


@pytest.mark.parametrize(("kind", "params"), CASES)
def test_all_of_rivers_checks_pass(kind, params, monkeypatch):
    monkeypatch.setattr(datasets, "Music", SeveralLabels)
    model, done = kind(**params), []
    assert model._unit_test_skips() == set()
    for check in checks.yield_checks(model):
        check(model.clone())
        done.append(check.__name__)
    assert {"check_learn_one", "check_emerging_features", "check_clone_is_independent"} <= set(done)
    if kind is RiverPerceptron:
        assert {"check_predict_many_matches_predict_one", "check_learn_many_matches_learn_one"} <= set(done)


def test_its_parameters_have_the_defaults_of_perceptron():
    theirs = inspect.signature(Perceptron).parameters
    for kind in KINDS:
        for name, parameter in inspect.signature(kind).parameters.items():
            assert parameter.default == theirs[name].default, name
    for name in inspect.signature(RiverPerceptron).parameters:
        assert f"{name}" in RiverPerceptron.__doc__


def drawn(rng, n=300, classes=("ham", "spam", "other")):
    """Examples whose features come and go, with words and numbers, and classes that come later."""
    for i in range(n):
        x = {f"f{j}": value for j, value in enumerate(rng.standard_normal(6 + i // 100).tolist()) if rng.random() < 0.7}
        known = classes[: 2 + (i > n // 2)]
        yield {**x, "colour": ("red", "blue")[i % 2]}, known[int(sum(x.values()) * 3) % len(known)]


@pytest.mark.parametrize("params", list(RiverPerceptron._unit_test_params()), ids=str)
def test_weights_are_those_of_learn_one_to_the_bit(params, rng):
    ours, theirs = RiverPerceptron(**params), Perceptron(**params)
    for x, y in drawn(rng):
        if hasattr(theirs, "_learner"):
            assert ours.predict_one(x) == theirs.predict_one(x)
        assert ours.learn_one(x, y) is None
        theirs.learn_one(x, y)
    assert ours.perceptron.classes_.tolist() == ["ham", "other", "spam"]
    assert ours.perceptron.feature_names_in_.tolist() == theirs.feature_names_in_.tolist()
    for name in ("coef_", "coef_last_", "intercept_"):
        assert np.array_equal(getattr(ours.perceptron, name), getattr(theirs, name))


def test_frames_teach_what_their_rows_teach_and_answer_with_their_index(rng):
    rows, labels = zip(*drawn(rng, 120), strict=True)
    frame = pd.DataFrame(rows).fillna(0.0).rename(index=lambda i: f"row {i}")
    one, many = RiverPerceptron(), RiverPerceptron()
    for x, y in zip(frame.to_dict("records"), labels, strict=True):
        one.learn_one(x, y)
    many.learn_many(frame, pd.Series(labels))
    assert np.array_equal(one.perceptron.coef_, many.perceptron.coef_)
    answers = many.predict_many(frame)
    assert answers.index.tolist() == frame.index.tolist()
    assert answers.tolist() == [one.predict_one(x) for x in frame.to_dict("records")]
    assert len(many.predict_many(frame[:0])) == 0
    with pytest.raises(ValueError, match="X has 120 rows, but y has 119 labels"):
        many.learn_many(frame, pd.Series(labels[1:]))


def test_before_the_first_example_there_is_no_answer():
    assert RiverPerceptron().predict_one({"a": 1.0}) is None
    assert RiverPerceptron().predict_many(pd.DataFrame({"a": [1.0, 2.0]})).tolist() == [None, None]
    assert RiverMultiLabelPerceptron().predict_one({"a": 1.0}) == {}


def test_features_may_be_numbered(rng):
    X = rng.standard_normal((200, 4))
    y = (X @ [1.0, -2.0, 0.5, 0.0] > 0).tolist()
    numbered, by_text = RiverPerceptron(), RiverPerceptron()
    for x, label in stream.iter_array(X, y):
        numbered.learn_one(x, label)
        by_text.learn_one({str(name): value for name, value in x.items()}, label)
    assert all(type(name) is int for name in x)
    assert numbered.perceptron.feature_names_in_.tolist() == ["0", "1", "2", "3"]
    assert np.array_equal(numbered.perceptron.coef_, by_text.perceptron.coef_)
    frame = pd.DataFrame(X)
    assert numbered.predict_many(frame).tolist() == [numbered.predict_one(dict(enumerate(x))) for x in X.tolist()]
    with pytest.raises(ValueError, match="two features have the same name"):
        numbered.learn_one({1: 1.0, "1": 2.0}, True)


def test_a_pipeline_is_evaluated_by_rivers_metrics():
    model = preprocessing.StandardScaler() | RiverPerceptron()
    metric = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy() + metrics.F1())
    by_hand, right, n = preprocessing.StandardScaler() | RiverPerceptron(), 0, 0
    for x, y in datasets.Phishing():
        answer = by_hand.predict_one(x)
        right, n = right + (answer == y), n + (answer is not None)
        by_hand.learn_one(x, y)
    assert metric[0].get() == right / n > 0.87
    assert isinstance(model, base.Classifier)


def test_several_classes_in_a_union_of_transformers():
    numbers = compose.SelectType(float, int) | preprocessing.StandardScaler()
    model = numbers | RiverPerceptron(step="pa1", C=0.1)
    metric = evaluate.progressive_val_score(datasets.ImageSegments().take(1500), model, metrics.MacroF1())
    assert metric.get() > 0.7


def test_several_vote_by_labels():
    several = ensemble.VotingClassifier(
        [preprocessing.StandardScaler() | RiverPerceptron(combine=how) for how in ("average", "last", "recent")],
        use_probabilities=False,
    )
    assert evaluate.progressive_val_score(datasets.Phishing().take(500), several, metrics.Accuracy()).get() > 0.85


def test_probabilities_are_refused_with_a_reason():
    for model in (RiverPerceptron(), RiverMultiLabelPerceptron()):
        with pytest.raises(NotImplementedError, match="not probabilities"):
            model.predict_proba_one({"a": 1.0})


def test_a_clone_has_the_parameters_and_has_learned_nothing(rng):
    model = RiverPerceptron(step="pa1", C=0.25)
    for x, y in drawn(rng, 20):
        model.learn_one(x, y)
    clone = model.clone()
    assert clone.perceptron.get_params() == model.perceptron.get_params()
    assert clone.predict_one({"f0": 1.0}) is None
    assert model.clone({"C": 0.5}).perceptron.C == 0.5


def test_a_saved_perceptron_keeps_training_in_river(rng, tmp_path):
    examples = list(drawn(rng))
    whole, first = RiverPerceptron(combine="last"), RiverPerceptron(combine="last")
    for i, (x, y) in enumerate(examples):
        whole.learn_one(x, y)
        if i < 100:
            first.learn_one(x, y)
    perceptrons.save(first.perceptron, tmp_path / "a.model")
    resumed = RiverPerceptron.of(perceptrons.load(tmp_path / "a.model"))
    assert resumed.combine == "last"
    for x, y in examples[100:]:
        resumed.learn_one(x, y)
    assert np.array_equal(resumed.perceptron.coef_, whole.perceptron.coef_)


def test_every_label_is_a_perceptron_of_two_classes(rng):
    model = RiverMultiLabelPerceptron()
    single = {f"l{k}": RiverPerceptron() for k in range(4)}
    examples = list(SeveralLabels().take(400))
    examples[0] = examples[0][0], dict.fromkeys(single, True)  # all begin with the first example
    for x, y in examples:
        model.learn_one(x, y)
        for label, alone in single.items():
            alone.learn_one(x, y[label])
    right = [model.predict_one(x)[label] == there for x, y in examples for label, there in y.items()]
    assert np.mean(right) > 0.9
    assert model.predict_one({}).keys() == single.keys()
    agree = [
        model.predict_one(x)[label] == alone.predict_one(x) for x, _ in examples for label, alone in single.items()
    ]
    assert np.mean(agree) > 0.95


def test_a_label_that_never_was_true_is_answered_with_false():
    model = RiverMultiLabelPerceptron()
    model.learn_one({"a": 1.0}, {"x": False})
    assert model.predict_one({"a": 1.0}) == {"x": False}
    model.learn_one({"a": 1.0}, {"x": False, 7: True})
    model.learn_one({"b": 1.0}, {"x": False, 7: False})
    assert model.predict_one({"a": 1.0}) == {"x": False, 7: True}


def test_without_river_the_import_says_what_to_install():
    code = "import sys; sys.modules['river'] = None; import perceptrons.river"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode
    assert "pip install 'perceptrons[river]'" in run.stderr
