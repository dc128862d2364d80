"""How people use the package. Nothing here is run: mypy --strict and pyright check it (test_typing.py)."""

from collections.abc import Iterator
from typing import Any, assert_type

import numpy as np

import perceptrons
from perceptrons import (
    Checkpoint,
    FeatureTemplates,
    HashedFeatures,
    HashedText,
    KernelPerceptron,
    ModelFileError,
    Perceptron,
    SequencePerceptron,
    StructuredPerceptron,
    data,
    lab,
    load,
    losses,
    online,
    plots,
    report,
    save,
    selection,
    teaching,
    theory,
)
from perceptrons.client import Client, ServerError
from perceptrons.distributed import ClusterError, mixing_bound
from perceptrons.distributed import fit as fit_on_cluster
from perceptrons.features import RunningScaler, TableFeatures

X = np.array([[0.0, 1.0], [1.0, 0.0]])
y = np.array(["a", "b"])


def served() -> None:
    client = Client("http://localhost:8080", token="a token", timeout=1.0, retries=0)
    assert_type(client.url, str)
    assert_type(client.predict(["a text"]), list[Any])
    assert_type(client.details(["a text"], scores=True, top=3), dict[str, Any])
    assert_type(client.feedback({"id": "label"}), dict[str, Any])
    assert_type(client.download("model"), int)
    assert_type(client.snapshots(), list[dict[str, Any]])
    assert_type(client.is_ready(), bool)
    try:
        client.learn(["a text"], ["a"], key="k")
    except ServerError as error:
        assert_type(error.status, int)


def linear() -> None:
    model = Perceptron(combine="last", margin=0.5, max_iter=10, tol=None, random_state=0).fit(X, y)
    assert_type(model, Perceptron)
    assert_type(model.partial_fit(X, y, classes=["a", "b"]), Perceptron)
    assert_type(model.learn_one({"word": 1.0}, "a"), Perceptron)
    assert_type(model.score(X, y), float)
    assert_type(model.n_iter_, int)
    assert_type(model.n_updates_, int)
    assert_type(model.n_nonzero_, int)
    assert_type(model.n_mistakes_, int)
    assert_type(model.n_features_in_, int)
    assert_type(model.t_, float)
    assert_type(model.margin_, float)
    assert_type(model.threshold_, float | None)
    assert_type(Perceptron(keep_learning="average").fit(X, y).combine_, str)
    assert_type(model.converged_, bool)
    assert_type(model.stop_reason_, str | None)
    assert_type(model.history_, list[dict[str, Any]])
    print(model.predict(X).shape, model.decision_function(X).mean(), model.vote_shares(X), model.predict_one(X[0]))
    print(
        f"{model.mistakes_[0]} {model.classes_[0]} {model.coef_.shape} {model.intercept_} {model.never_updated_.sum()}"
    )
    print(model.feature_names_in_.size, model.explain(X[0]))
    print(Perceptron().fit_stream(data.stream("part-*.svm"), epochs=5, checkpoint=Checkpoint("run.checkpoint")).n_iter_)
    print(model.fit(X, y, sample_weight=[1, 2]).set_params(combine="average").score(X, y))


def other_estimators() -> None:
    curved = KernelPerceptron(kernel="rbf", gamma=0.5, budget=100).fit(X, y)
    assert_type(curved, KernelPerceptron)
    assert_type(curved.score(X, y), float)
    print(curved.predict(X), curved.support_vectors_, curved.dual_coef_, curved.n_support_, curved.learn_one(X[0], "a"))
    tagger = SequencePerceptron(templates=FeatureTemplates(columns=["word", "pos"]), allowed="bio", max_iter=3)
    assert_type(tagger.fit([["a", "b"]], [["A", "B"]]), SequencePerceptron)
    assert_type(tagger.score([["a"]], [["A"]]), float)
    print(tagger.predict([["a"]]), tagger.predict_one(["a"]), tagger.classes_, tagger.coef_, tagger.transitions_)
    any_output = StructuredPerceptron(object(), margin=1.0).fit([1], [2])
    assert_type(any_output, StructuredPerceptron)
    assert_type(any_output.predict([1]), list[Any])
    assert_type(FeatureTemplates().fit([["a"]]).n_features_, int)


def features() -> None:
    print(HashedText(bits=18, words=(1, 2), chars=None).fit_transform(["a b"]))
    print(HashedFeatures(bits=None, signed=False).fit_transform([{"a": 1}]))
    print(RunningScaler().fit_transform(X), TableFeatures(scale="standard").fit_transform([{"a": 1}]))


def files() -> None:
    model = Perceptron().fit(X, y)
    save(model, "model.perceptron")
    try:
        again = load("model.perceptron")
    except ModelFileError as error:
        raise SystemExit(str(error)) from error
    print(again)
    table = data.read("data.csv")
    assert_type(table, data.Table)
    print(perceptrons.__version__)


def a_stream() -> Iterator[tuple[dict[str, float], str]]:
    yield {"free": 1.0}, "spam"


def streams() -> None:
    assert_type(online.progressive(Perceptron(), a_stream()), online.Progress)
    print(losses.hinge, losses.perceptron, losses.ALL)


def theorems() -> None:
    certificate = theory.separability(X, y)
    assert_type(certificate, theory.Certificate)
    print(certificate, theory.margins(X, y, X[0]), theory.max_margin(X, y), theory.mistake_bound(X, y))
    print(theory.radius(X), theory.diagnose(X, y), theory.vector_projection(X, X[0]))
    assert_type(Perceptron.rosenblatt(eta0=0.1), Perceptron)
    neuron = Perceptron.from_weights(X[0], -1.0, classes=["a", "b"], eta0=0.1)
    assert_type(neuron, Perceptron)
    steps = theory.trace(X, y, neuron, visits=20)
    assert_type(steps, theory.Trace)
    assert_type(steps[0], theory.Visit)
    print(steps, steps.to_frame(), steps.to_latex(), steps.to_csv(), steps.to_dict(), steps[0].coef, steps[0].margin)


def exercises() -> None:
    result = teaching.check(lambda w, b, x: 1, "predict")
    assert_type(result, teaching.Checked)
    assert_type(result.passed, bool)
    print(result.message, teaching.EXERCISES["predict"].arguments, teaching.Exercise)


def choosing() -> None:
    assert_type(selection.recipe(Perceptron(), X, y), selection.Recipe)
    assert_type(selection.compare(X, y), selection.Compared)
    assert_type(selection.wilson(9, 10), selection.Interval)


def pictures() -> None:
    model = Perceptron().fit(X, y)
    print(plots.BoundaryDisplay.from_estimator(model, X, y), plots.HistoryDisplay.from_estimator(model))
    print(report.report(model, X, y))
    assert_type(lab.show(X[:, :2], y, title="Two features"), lab.Lab)


def cluster() -> None:
    try:
        print(fit_on_cluster(Perceptron(), X, y, client=None, shards=2, epochs=3), mixing_bound)
    except ClusterError as error:
        print(error)
