"""JSON holds all that predicting needs, for readers in plain Python; taggers' scores meet Viterbi outside."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_multilabel_classification
from sklearn.pipeline import make_pipeline

from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron, StructuredPerceptron
from perceptrons.export import ExportError, as_bytes
from perceptrons.features import HashedText, TableFeatures
from tests.export.programs import onnx_answers


def told(model, inputs="raw"):
    return json.loads(as_bytes(model, ".json", inputs))


def rows_of_scores(model, x):
    """Scores of the rows of weights of one example, a dict of values by column: plain Python, by the JSON alone."""
    if model["kind"] == "kernel":
        values = [kernel(model["kernel"], x, dict(map(tuple, z))) for z in model["support"]]
        return [
            sum(k * row[r] for k, row in zip(values, model["coefficients"], strict=True))
            for r in range(len(model["rows"]))
        ]
    scores = list(model["intercept"])
    for feature in model["weights"]:
        value = x.get(feature["column"], 0.0)
        scores = [s + value * w for s, w in zip(scores, feature["weights"], strict=True)]
    return votes(model, x, scores) if model["kind"] == "votes" else scores


def kernel(how, x, z):
    dot = sum(value * z.get(column, 0.0) for column, value in x.items())
    if how["name"] == "rbf":
        apart = sum((x.get(c, 0.0) - z.get(c, 0.0)) ** 2 for c in {*x, *z})
        return math.exp(-how["gamma"] * apart)
    return (how["gamma"] * dot + how["coef0"]) ** how["degree"]


def votes(model, x, scores):
    binary, survived = model["scheme"] == "binary", model["survived"]
    totals = [0.0] * len(scores)

    def vote(count):
        if binary:
            totals[0] += count if scores[0] > 0 else -count
        else:
            totals[scores.index(max(scores))] += count

    vote(survived[0])
    for (m, y, y_hat, step), count in zip(model["updates"], survived[1:], strict=True):
        add = step * (sum(value * x.get(column, 0.0) for column, value in model["support"][m]) + model["one"])
        if binary:
            scores[0] += add if y == 1 else -add
        else:
            scores[y] += add
            scores[y_hat] -= add
        vote(count)
    return [total / sum(survived) for total in totals]


def answer(model, scores):
    """The label, or with several all that hold."""
    classes, at_zero = model["classes"], model["zero_score"] == "positive"
    if model["several_labels"]:
        return [one for one, s in zip(classes, scores, strict=True) if s > 0 or (s == 0 and at_zero)]
    if model["scheme"] == "binary":
        least = model["threshold"]
        return classes[scores[0] >= least if least is not None else scores[0] > 0 or (scores[0] == 0 and at_zero)]
    if model["scheme"] == "ovo":
        won, sums = dict.fromkeys(classes, 0.0), dict.fromkeys(classes, 0.0)
        for (first, second), s in zip(model["rows"], scores, strict=True):
            won[second if s > 0 or (s == 0 and at_zero) else first] += 1
            sums[second] += s
            sums[first] -= s
        scores = [won[one] + sums[one] / (3 * (abs(sums[one]) + 1)) for one in classes]
    return classes[scores.index(max(scores))]


def predicted(model, X):
    return [answer(model, rows_of_scores(model, dict(enumerate(row)))) for row in np.asarray(X).tolist()]


@pytest.mark.parametrize(
    "model",
    [
        Perceptron(max_iter=5),
        Perceptron(max_iter=5, multiclass="ovr", combine="last"),
        Perceptron(max_iter=5, multiclass="ovo", zero_score="positive"),
        Perceptron(max_iter=2, combine="vote"),
        Perceptron(max_iter=2, penalty="l1", alpha=0.01),
        KernelPerceptron(max_iter=2),
        KernelPerceptron(max_iter=2, kernel="poly", degree=2),
    ],
)
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_json_alone_predicts_every_row_in_plain_python(model, load):
    X, y = load(return_X_y=True)
    X, y = X[::2], np.array(["a", "b", "c"])[y[::2]]
    model.fit(X / X.std(axis=0), y)
    assert predicted(told(model), X / X.std(axis=0)) == model.predict(X / X.std(axis=0)).tolist()


def probabilities(model, scores):
    """Probabilities of the classes of one example, by its scores."""
    how, several = model["calibration"], model["several_labels"]
    if how["method"] == "isotonic":
        p = [rising(s, curve) for s, curve in zip(scores, how["curves"], strict=True)]
    elif how["method"] == "temperature" and len(scores) > 1 and not several:
        powers = [math.exp(how["slope"][0] * (s - max(scores))) for s in scores]
        return [power / sum(powers) for power in powers]
    else:
        parts = zip(scores, how["slope"], how["offset"], strict=True)
        p = [1 / (1 + math.exp(min(-(slope * s + offset), 700))) for s, slope, offset in parts]
    if several:
        return p
    return [1 - p[0], p[0]] if len(p) == 1 else [one / sum(p) if sum(p) else 1 / len(p) for one in p]


def rising(s, curve):
    """The height of a curve at s: straight between its corners, level outside."""
    for (x, p), (next_x, next_p) in pairwise(curve):
        if s < next_x:
            return p if s <= x else p + (next_p - p) * (s - x) / (next_x - x)
    return curve[-1][1]


@pytest.mark.parametrize("method", ["sigmoid", "temperature", "isotonic"])
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, make_multilabel_classification])
def test_json_alone_gives_the_probabilities_of_a_calibrated_model(load, method):
    X, y = load(**({} if load is make_multilabel_classification else {"return_X_y": True}))
    model = Perceptron(probability=method, max_iter=3, random_state=0).fit(X, y)
    found = [probabilities(told(model), scores) for scores in model.decision_function(X).reshape(len(X), -1).tolist()]
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-12)


def test_json_has_thresholds_and_several_labels():
    X, y = load_breast_cancer(return_X_y=True)
    model = Perceptron(max_iter=3).fit(X, y)
    model.threshold_ = float(np.sort(model.decision_function(X))[250:252].mean())  # between two scores
    assert predicted(told(model), X) == model.predict(X).tolist()
    X, Y = make_multilabel_classification(100, random_state=1)
    several = Perceptron(max_iter=3).fit(X, Y)
    assert predicted(told(several), X) == [np.flatnonzero(row).tolist() for row in several.predict(X)]


def test_json_of_remembered_words_is_read_by_name():
    texts, labels = ["free prize now", "see you now", "free cash", "you see me"], ["spam", "ham", "spam", "ham"]
    model = make_pipeline(HashedText(bits=None, values="binary", norm=None), Perceptron()).fit(texts, labels)
    found = told(model)
    weight = {one["feature"]: one["weights"][0] for one in found["weights"]}
    for text in [*texts, "free you", "nothing known"]:
        score = found["intercept"][0] + sum(weight.get(word, 0.0) for word in set(text.split()))
        assert found["classes"][score > 0] == model.predict([text])[0]
    hashed = told(make_pipeline(HashedText(bits=8), Perceptron()).fit(texts, labels))
    assert hashed["inputs"]["hashing"] == {"hash": "MurmurHash3_x86_32", "bits": 8, "signed": True, "seed": 0}
    assert {name for one in hashed["weights"] for name in one["features"]} >= {"free", "see"}


def test_json_of_a_table_is_computed_from_its_cells():
    records = [{"age": a, "job": j} for a in (20, 30, None, 50) for j in ("nurse", "smith")]
    y = ["in" if (r["age"] or 0) > 25 or r["job"] == "nurse" else "out" for r in records]
    model = make_pipeline(TableFeatures(interactions="age*job"), Perceptron(max_iter=9)).fit(records, y)
    found = told(model)
    how, weight = found["inputs"], {one["feature"]: one["weights"][0] for one in found["weights"]}
    for record in records:
        raw = math.nan if record["age"] is None else record["age"]
        filled = how["fills"][0] if math.isnan(raw) else raw
        values = [(filled - how["centres"][0]) / how["scales"][0], float(math.isnan(raw))]
        named = dict(zip(how["number_features"], values, strict=True))
        for one in how["category_features"]:
            named[one["name"][0] + record["job"]] = 1.0 if one["number"] < 0 else values[one["number"]]
        score = found["intercept"][0] + sum(value * weight.get(name, 0.0) for name, value in named.items())
        assert found["classes"][score > 0] == model.predict([record])[0]


# ---- taggers

SENTENCES = [
    [("the", "DET"), ("cat", "NOUN"), ("sleeps", "VERB")], [("a", "DET"), ("dog", "NOUN"), ("runs", "VERB")],
    [("dogs", "NOUN"), ("run", "VERB")], [("the", "DET"), ("old", "ADJ"), ("cat", "NOUN"), ("runs", "VERB")],
]  # fmt: skip


@pytest.fixture(scope="module")
def tagger():
    X = [[{"word": word, "end": word[-1]} for word, _ in one] for one in SENTENCES]
    return SequencePerceptron(max_iter=10).fit(X, [[tag for _, tag in one] for one in SENTENCES]), X


def viterbi(emissions, arcs):
    k, path = emissions.shape[1], []
    s = emissions.copy()
    s[-1] += arcs[:k, k]
    for t in range(len(s) - 2, -1, -1):
        s[t] += (arcs[:k, :k] + s[t + 1]).max(axis=1)
    for t in range(len(s)):
        path.append(int(np.argmax(arcs[path[-1] if path else k, :k] + s[t])))
    return path


def test_scores_and_arcs_of_a_tagger_give_its_labels_by_viterbi_outside(tagger):
    model, X = tagger
    emissions, arcs = onnx_answers(model, X)
    ends = np.cumsum([0, *map(len, X)])
    found = [[model.classes_[k] for k in viterbi(emissions[a:b], arcs)] for a, b in pairwise(ends)]
    assert found == model.predict(X)
    kept = told(model)
    assert kept["classes"] == model.classes_.tolist()
    assert len(kept["weights"]) > 5
    for one in kept["weights"]:
        assert one["weights"] == model.coef_[:, model.attributes_.tolist().index(one["feature"])].tolist()


def test_models_that_need_code_are_refused_by_name():
    with pytest.raises(ExportError, match="A StructuredPerceptron cannot be exported"):
        as_bytes(StructuredPerceptron(None), ".json")
    with pytest.raises(ExportError, match=r"combine='vote' cannot be exported: set combine='average'"):
        as_bytes(KernelPerceptron(combine="vote").fit([[0.0], [1.0]], [0, 1]), ".json")
