"""What a file of a pipeline cannot hold is named when it is saved; files of other versions of scikit-learn."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

import perceptrons
from perceptrons import ModelFileError, Perceptron, StructuredPerceptron
from tests.modelfile.pipelines import NUMBERS, TWO, X, again
from tests.modelfile.test_modelfile import forge


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pipeline.perceptron"


class Mine(StandardScaler):
    """A subclass may do anything."""


class Impostor(StandardScaler):
    """One with the name of another."""


Impostor.__name__ = "StandardScaler"


def deep(depth):
    step = StandardScaler()
    for _ in range(depth):
        step = make_pipeline(step)
    return step


def weird(step, **attributes):
    for name, value in attributes.items():
        setattr(step, name, value)
    return step


FITTED = {
    "another class": (make_pipeline(RobustScaler(), Perceptron()), TypeError,
                      r"^step 'robustscaler' is a RobustScaler, which cannot be saved safely: use one of .*Standard"),
    "another class within": (
        Pipeline([("prep", ColumnTransformer([("num", make_pipeline(RobustScaler()), [0])])), ("m", Perceptron())]),
        TypeError, r"^step 'prep', step 'num', step 'robustscaler' is a RobustScaler"),
    "another class in a union": (make_pipeline(FeatureUnion([("a", RobustScaler())])), TypeError,
                                 "step 'featureunion', step 'a' is a RobustScaler"),
    "another model": (make_pipeline(StandardScaler(), LogisticRegression()), TypeError, "is a LogisticRegression"),
    "another model that is calibrated": (CalibratedClassifierCV(LogisticRegression(), cv=2), TypeError,
                                         "^estimator is a LogisticRegression"),
    "a subclass": (make_pipeline(Mine()), TypeError, "step 'mine' is a Mine, which"),
    "a subclass of that name": (make_pipeline(Impostor()), TypeError, r"is a tests\.modelfile\..*\.StandardScaler"),
    "a function": (make_pipeline(FunctionTransformer(np.log1p)), ValueError, "func=<ufunc 'log1p'> cannot be"),
    "columns by a function": (make_pipeline(ColumnTransformer([("a", StandardScaler(), make_column_selector())])),
                              TypeError, "transformers holds a make_column_selector, which cannot be saved safely"),
    "names by a function": (make_pipeline(ColumnTransformer(
        [("a", StandardScaler(), [0])], verbose_feature_names_out=lambda a, b: a + b)), ValueError, "verbose_fea"),
    "names of any width": (make_pipeline(ColumnTransformer(
        [("a", StandardScaler(), [0])], verbose_feature_names_out="{feature_name:>9}")), ValueError, "verbose_fea"),
    "splits by an object": (CalibratedClassifierCV(Perceptron(), cv=StratifiedKFold(2)), ValueError, "cv=Strat"),
    "a random state": (CalibratedClassifierCV(Perceptron(random_state=np.random.RandomState(0)), cv=2), TypeError,
                       r"^estimator \(Perceptron\): random_state holds a RandomState, which cannot be saved safely"),
    "a kernel that is a function": (
        make_pipeline(perceptrons.KernelPerceptron(kernel=lambda a, b: a @ b.T, max_iter=1)), TypeError,
        "step 'kernelperceptron' .KernelPerceptron.: A model with the kernel"),
    "a type of its own": (make_pipeline(OneHotEncoder(dtype=np.complex64)), ValueError, "dtype=<class"),
    "a type with fields": (make_pipeline(OneHotEncoder(dtype=np.longdouble)), TypeError, "dtype holds the class"),
    "a cache on disk": (Pipeline([("a", StandardScaler())], memory="cache"), ValueError, "memory='cache'"),
    "very many processes": (make_pipeline(FeatureUnion([("a", StandardScaler())], n_jobs=-999)), ValueError, "n_jobs"),
    "too deep": (deep(30), ValueError, "nested more than 24 deep"),
    "a term of very high degree": (make_pipeline(PolynomialFeatures((1, 1001), interaction_only=True)), ValueError,
                                   "degree=.1, 1001. cannot"),
}  # fmt: skip


@pytest.mark.parametrize("name", FITTED)
def test_what_cannot_be_saved_is_named(name, path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    model, kind, message = FITTED[name]
    if name != "very many processes":
        model = model.fit(NUMBERS if "function" in name else X, TWO)
    with pytest.raises(kind, match=message):
        perceptrons.save(model, path)
    assert not path.exists()


AFTERWARDS = {
    "an attribute of somebody": (lambda m: weird(m[0], note="mine"), TypeError, "has the attribute 'note', which this"),
    "a scale of NaN": (lambda m: m[0].scale_.__setitem__(0, np.nan), ValueError, "step 'standardscaler' .* scale_"),
    "a scale of nothing": (lambda m: m[0].scale_.__setitem__(0, 0.0), ValueError, "step 'standardscaler' .* scale_"),
    "a step that is not fitted": (lambda m: m.steps.__setitem__(0, ("s", MaxAbsScaler())), NotFittedError,
                                  r"^step 's' \(MaxAbsScaler\) is not fitted: call fit before you save it"),
    "a model that is not fitted": (lambda m: m.steps.__setitem__(1, ("p", Perceptron())), NotFittedError,
                                   r"^step 'p' \(Perceptron\)"),
    "a parameter out of its domain": (lambda m: m[0].set_params(copy="yes"), ValueError, "'copy' parameter"),
    "steps that do not fit": (lambda m: m.steps.insert(0, ("w", MaxAbsScaler().fit(X[:, :2]))), ValueError,
                              "take the 2 columns"),
    "a structured model": (lambda m: m.steps.__setitem__(1, ("p", StructuredPerceptron(None))), TypeError,
                           "step 'p' is a StructuredPerceptron"),
}  # fmt: skip


@pytest.mark.parametrize("name", AFTERWARDS)
def test_what_was_changed_after_fit_is_named(name, path):
    model = make_pipeline(StandardScaler(), Perceptron(max_iter=2)).fit(X, TWO)
    change, kind, message = AFTERWARDS[name]
    change(model)
    with pytest.raises(kind, match=message):
        perceptrons.save(model, path)
    assert not path.exists()


def test_parameters_that_were_changed_after_fit_and_would_change_the_answers_are_refused(path):
    encoder = make_pipeline(OneHotEncoder(drop="first").fit([["a"], ["b"]]))
    encoder[0].set_params(drop=None)
    with pytest.raises(ValueError, match="changed after fit"):
        perceptrons.save(encoder, path)
    columns = make_pipeline(ColumnTransformer([("a", StandardScaler(), [0])]).fit(X))
    columns[0].set_params(remainder="passthrough")
    with pytest.raises(ValueError, match=r"step 'columntransformer' .* cannot be saved"):
        perceptrons.save(columns, path)


def test_a_pipeline_that_was_never_fitted_is_refused(path):
    for model in (make_pipeline(StandardScaler(), Perceptron()), CalibratedClassifierCV(Perceptron())):
        with pytest.raises(NotFittedError, match="is not fitted"):
            perceptrons.save(model, path)


def test_a_transformer_by_itself_is_refused(path):
    with pytest.raises(TypeError, match=r"Only a .*Pipeline.* can be saved, not StandardScaler"):
        perceptrons.save(StandardScaler().fit(X), path)


def test_values_that_json_and_arrays_do_not_know_are_refused(path):
    dates = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    with pytest.raises(TypeError, match=r"step 'onehotencoder' .*categories_ holds an array of type datetime64"):
        perceptrons.save(make_pipeline(OneHotEncoder()).fit(dates), path)
    with pytest.raises(TypeError, match=r"categories_ holds an array of type .S1"):
        perceptrons.save(make_pipeline(OneHotEncoder()).fit(np.array([[b"a"], [b"b"]])), path)


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("command", ["inspect", "predict", "evaluate"])
def test_commands_say_that_a_pipeline_is_for_python(command, calibrated, path, refused):
    model = make_pipeline(StandardScaler(), Perceptron(max_iter=2))
    perceptrons.save((CalibratedClassifierCV(model, cv=2) if calibrated else model).fit(X, TWO), path)
    kind = "CalibratedClassifierCV" if calibrated else "Pipeline"
    said = refused(command, path, *([] if command == "inspect" else [path.with_name("data.csv")]))
    assert f"{path}: this is a {kind} of scikit-learn" in said
    assert "load it in Python" in said


def saved_by(version, **change):
    def changed(header, arrays):
        header["sklearn"] = version
        header["pipeline"]["params"]["steps"][0]["tuple"][1]["params"] |= change

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


def test_what_only_another_version_of_scikit_learn_knows_is_refused(path):
    model = make_pipeline(MaxAbsScaler()).fit(X)
    forge(model, path, saved_by("9.5.0", quantile=3))
    message = r"saved with scikit-learn 9\.5\.0, whose MaxAbsScaler has 'quantile'.*: install scikit-learn 9\.5\."
    with pytest.raises(ModelFileError, match=message):
        perceptrons.load(path)
