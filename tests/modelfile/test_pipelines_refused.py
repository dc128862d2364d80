"""What a file of a pipeline cannot hold is named when it is saved; files of other versions of scikit-learn."""

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.impute import KNNImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC

import perceptrons
from perceptrons import ModelFileError, Perceptron, StructuredPerceptron
from tests.modelfile.pipelines import NUMBERS, TWO, X, again
from tests.modelfile.test_pipelines_hostile import forge


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pipeline.perceptron"


class Mine(StandardScaler):
    """A subclass may do anything."""


class Impostor(StandardScaler):
    """One with the name of another."""


Impostor.__name__ = "StandardScaler"


def tripled(X):
    return 3 * X


def all_columns(X):
    return list(X.columns)


FITTED = {
    "another class": (make_pipeline(KNNImputer(), Perceptron()), r"contains a sklearn\.impute\._knn\.KNNImputer"),
    "another class within": (
        Pipeline([("prep", ColumnTransformer([("num", make_pipeline(KNNImputer()), [0])])), ("m", Perceptron())]),
        "KNNImputer, which cannot be saved safely"),
    "another model": (make_pipeline(StandardScaler(), RandomForestClassifier(2)), "which cannot be saved safely"),
    "another model that is calibrated": (CalibratedClassifierCV(LinearSVC(), cv=2), "LinearSVC, which cannot be saved"),
    "a subclass": (make_pipeline(Mine()), r"contains a tests\.modelfile\.test_pipelines_refused\.Mine"),
    "a subclass of that name": (make_pipeline(Impostor()), r"contains a tests\.modelfile\..*\.StandardScaler"),
    "a function": (make_pipeline(FunctionTransformer(tripled)), r"contains a tests\..*\.tripled, which"),
    "a lambda": (make_pipeline(FunctionTransformer(lambda X: X)), r"^step 'functiontransformer' .*: a lambda cannot"),
    "columns by a function": (
        make_pipeline(ColumnTransformer([("a", StandardScaler(), all_columns)])), r"contains a tests\..*\.all_columns"),
    "a kernel that is a function": (
        make_pipeline(perceptrons.KernelPerceptron(kernel=lambda a, b: a @ b.T, max_iter=1)),
        "step 'kernelperceptron' .KernelPerceptron.: A model with the kernel"),
    "a cache on disk": (Pipeline([("a", StandardScaler())], memory="cache"), "a pipeline without memory"),
}  # fmt: skip


@pytest.mark.parametrize("name", FITTED)
def test_what_cannot_be_saved_is_named(name, path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    model, message = FITTED[name]
    model = model.fit(NUMBERS if "function" in name else X, TWO)
    with pytest.raises((TypeError, ValueError), match=message):
        perceptrons.save(model, path)
    assert not path.exists()


def test_models_that_cannot_be_saved_are_named_as_a_step(path):
    model = make_pipeline(StandardScaler(), Perceptron(max_iter=2)).fit(X, TWO)
    for step in (StructuredPerceptron(None), Perceptron()):
        model.steps[1] = ("p", step)
        with pytest.raises((TypeError, NotFittedError)):
            perceptrons.save(model, path)
    assert not path.exists()


def test_a_pipeline_that_was_never_fitted_is_refused(path):
    for model in (make_pipeline(StandardScaler(), Perceptron()), CalibratedClassifierCV(Perceptron())):
        with pytest.raises(NotFittedError, match="is not fitted"):
            perceptrons.save(model, path)


def test_very_many_processes_are_refused(path):
    model = make_pipeline(FeatureUnion([("a", StandardScaler())])).fit(X)
    model[0].n_jobs = -999
    with pytest.raises(ValueError, match=r"^step 'featureunion' .*n_jobs of at most"):
        perceptrons.save(model, path)


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("command", ["inspect", "predict", "evaluate"])
def test_commands_say_that_a_pipeline_is_for_python(command, calibrated, path, refused):
    model = make_pipeline(StandardScaler(), Perceptron(max_iter=2))
    perceptrons.save((CalibratedClassifierCV(model, cv=2) if calibrated else model).fit(X, TWO), path)
    kind = "CalibratedClassifierCV" if calibrated else "Pipeline"
    said = refused(command, path, *([] if command == "inspect" else [path.with_name("data.csv")]))
    assert f"{path}: this is a {kind} of scikit-learn" in said
    assert "load it in Python" in said


def saved_by(version, **attributes):
    def changed(header, file):
        header["sklearn"] = version
        scaler = file.schema["content"]["content"]["steps"]["content"][0]["content"][1]
        scaler["content"]["content"].update(attributes)

    return changed


def test_another_version_of_scikit_learn_is_warned_of(path):
    model = make_pipeline(MaxAbsScaler()).fit(X)
    forge(model, path, saved_by("0.99.3"))
    with pytest.warns(UserWarning, match=r"saved with scikit-learn 0\.99\.3, but scikit-learn .* is installed"):
        loaded = perceptrons.load(path)
    assert np.array_equal(loaded.transform(X), model.transform(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again(model, path)


def test_what_only_another_version_of_scikit_learn_can_read_is_refused(path):
    model = make_pipeline(MaxAbsScaler()).fit(X)
    gone = {
        "__loader__": "ObjectNode", "__module__": "sklearn.preprocessing._gone", "__class__": "Gone", "content": None,
    }  # fmt: skip
    forge(model, path, saved_by("9.5.0", copy=gone))
    message = r"saved with scikit-learn 9\.5\.0, which scikit-learn .* cannot read .*: install scikit-learn 9\.5\."
    with pytest.raises(ModelFileError, match=message):
        perceptrons.load(path)
