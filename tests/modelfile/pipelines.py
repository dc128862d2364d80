"""Fitted pipelines of every class that can be saved, and what must be the same of one that was saved and loaded."""

import warnings

import numpy as np
import pandas as pd
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

import perceptrons
from perceptrons import HashedFeatures, HashedText, KernelPerceptron, Perceptron
from perceptrons.features import TableFeatures

rng = np.random.default_rng(0)
N = 60
X = np.round(rng.standard_normal((N, 3)), 2)
Y = np.array(["low", "mid", "top"])[np.digitize(X[:, 0], [-0.4, 0.4])]
TWO = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
HOLES = np.where(rng.random((N, 3)) < 0.2, np.nan, X)
NUMBERS = pd.DataFrame(X, columns=["a", "b", "c"])
WORDS = [f"{'cheap' if x > 0 else 'home'} word{k % 7} now" for k, x in enumerate(X[:, 0])]
DICTS = [{"size": float(row[0]), "kind": "uv"[int(row[1] > 0)]} for row in X]
KINDS = np.array(["red", "green", "blue", "grey"])[rng.integers(0, 4, N) * rng.integers(0, 2, N)]
MIXED = np.array([["x", 1, None, "y", 2.5, True][k % 6] if k % 6 < 1 else f"v{k % 4}" for k in range(N)], object)
CLASSES = pd.DataFrame(
    {
        "kind": KINDS,
        "none": [[None, "p", "q"][k % 3] for k in range(N)],
        "nan": [[np.nan, "p", "q"][k % 3] for k in range(N)],
        "whole": np.arange(N) % 5,
        "real": np.where(np.arange(N) % 7 == 0, np.nan, np.arange(N) % 3 + 0.5),
        "flag": np.arange(N) % 2 == 0,
    }
)
OBJECTS = CLASSES[["kind", "none", "nan"]].astype(object).to_numpy()
OBJECTS[:, 1] = [[None, "p", "q"][k % 3] for k in range(N)]  # a frame may have made NaN of None
TABLE = NUMBERS.assign(kind=KINDS, text=WORDS, a=HOLES[:, 0])
SKEWED = {"handle_unknown": "infrequent_if_exist"}
INDEX = pd.Index(["a", "c"])

STEPS = {
    "standard": (StandardScaler(), X),
    "standard of float32": (StandardScaler(), X.astype(np.float32)),
    "standard of names": (StandardScaler(), NUMBERS),
    "standard with holes": (StandardScaler(), HOLES),
    "standard without mean": (StandardScaler(with_mean=False), sp.csr_matrix(X)),
    "standard without both": (StandardScaler(with_mean=False, with_std=False), X),
    "standard as a frame": (StandardScaler().set_output(transform="pandas"), NUMBERS),
    "standard as polars": (StandardScaler().set_output(transform="polars"), NUMBERS),
    "max abs": (MaxAbsScaler(), sp.csr_matrix(X)),
    "max abs of float32": (MaxAbsScaler(), X.astype(np.float32)),
    "min max": (MinMaxScaler((-1, 2.5), clip=True), X),
    "normalizer": (Normalizer("l1"), X),
    "polynomial": (PolynomialFeatures(3, include_bias=False), NUMBERS),
    "polynomial by range": (PolynomialFeatures((2, 3), interaction_only=True), sp.csr_matrix(X)),
    "function": (FunctionTransformer(feature_names_out="one-to-one"), NUMBERS),
    "one hot": (OneHotEncoder(), CLASSES),
    "one hot of objects": (OneHotEncoder(sparse_output=False), OBJECTS),
    "one hot of mixed objects": (OneHotEncoder(), MIXED.astype(str)[:, None].astype(object)),
    "one hot of NumPy strings": (OneHotEncoder(handle_unknown="ignore"), KINDS[:, None]),
    "one hot of whole numbers": (OneHotEncoder(dtype=np.float32), np.arange(N)[:, None] % 5),
    "one hot of int8": (OneHotEncoder(dtype="int32"), (np.arange(N)[:, None] % 5).astype(np.int8)),
    "one hot without the first": (OneHotEncoder(drop="first", dtype=np.dtype("float32")), CLASSES),
    "one hot of two": (OneHotEncoder(drop="if_binary"), CLASSES),
    "one hot without some": (OneHotEncoder(drop=["red", 2]), CLASSES[["kind", "whole"]]),
    "one hot without NaN": (OneHotEncoder(drop=np.array(["p", np.nan], object)), CLASSES[["nan", "real"]]),
    "one hot of given categories": (
        OneHotEncoder(categories=[["grey", "red", "green", "blue", "pink"], np.arange(6)]),
        CLASSES[["kind", "whole"]],
    ),
    "one hot with rare ones": (OneHotEncoder(min_frequency=8, drop="first", **SKEWED), CLASSES),
    "one hot with few": (OneHotEncoder(max_categories=2, drop="if_binary", **SKEWED), CLASSES),
    "one hot with rare shares": (OneHotEncoder(min_frequency=0.3, sparse_output=False), CLASSES),
    "ordinal": (OrdinalEncoder(), CLASSES),
    "ordinal of objects": (OrdinalEncoder(encoded_missing_value=-1), OBJECTS),
    "ordinal of unknown ones": (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), CLASSES),
    "ordinal of int16": (
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-7, dtype=np.int16), KINDS[:, None]),
    "ordinal with rare ones": (OrdinalEncoder(min_frequency=8, encoded_missing_value=-2), CLASSES),
    "mean": (SimpleImputer(), HOLES),
    "median and where": (
        SimpleImputer(strategy="median", add_indicator=True), pd.DataFrame(HOLES, columns=list("abc"))),
    "most frequent": (SimpleImputer(strategy="most_frequent"), OBJECTS[:, 2:]),
    "most frequent of None": (SimpleImputer(strategy="most_frequent", missing_values=None), OBJECTS[:, 1:2]),
    "constant": (SimpleImputer(strategy="constant", fill_value=3), HOLES),
    "constant word": (SimpleImputer(strategy="constant", fill_value="gone", add_indicator=True), OBJECTS[:, 2:]),
    "mean of float32": (SimpleImputer(), HOLES.astype(np.float32)),
    "median of sparse": (SimpleImputer(strategy="median", missing_values=-1), sp.csc_matrix(np.round(X))),
    "an empty column": (SimpleImputer(), np.column_stack([HOLES, np.full(N, np.nan)])),
    "an empty column kept": (
        SimpleImputer(keep_empty_features=True, add_indicator=True), np.column_stack([HOLES, np.full(N, np.nan)])),
    "minus one": (SimpleImputer(missing_values=-1, strategy="most_frequent"), np.round(X).astype(np.int64)),
    "indicator": (MissingIndicator(features="all"), HOLES),
    "idf": (TfidfTransformer(), sp.csr_matrix(np.abs(np.round(X)))),
    "idf of float32": (TfidfTransformer(sublinear_tf=True), sp.csr_matrix(np.abs(np.round(X)), dtype=np.float32)),
    "no idf": (TfidfTransformer(use_idf=False, norm=None), sp.csr_matrix(np.abs(np.round(X)))),
    "hashed text": (HashedText(bits=6, words=(1, 2), chars=(2, 3)), WORDS),
    "text by names": (HashedText(bits=None, min_count=2, norm=None), WORDS),
    "hashed features": (HashedFeatures(bits=5), DICTS),
    "features by names": (HashedFeatures(bits=None), DICTS),
    "table": (TableFeatures(interactions="a*kind", text_column="text"), TABLE),
    "table of numbers": (TableFeatures(powers=2), NUMBERS),
    "table as a frame": (TableFeatures(ignore=["text"]).set_output(transform="pandas"), TABLE),
    "table of records": (TableFeatures(scale="max-abs", missing=["x"]), DICTS),
    "table with a rule for texts": (TableFeatures(text_column=["text"], text=HashedText(bits=5, words=(1, 2))), TABLE),
    "union": (FeatureUnion([("a", StandardScaler()), ("b", "passthrough"), ("c", "drop"),
                            ("d", make_pipeline(MinMaxScaler(), PolynomialFeatures(2)))],
                           transformer_weights={"a": 0.5}), NUMBERS),
    "union as a frame": (
        FeatureUnion([("a", StandardScaler()), ("b", MaxAbsScaler())]).set_output(transform="pandas"), NUMBERS),
    "nothing": (Pipeline([("a", "passthrough"), ("b", StandardScaler()), ("c", None)]), NUMBERS),
    "columns by name": (ColumnTransformer(
        [("number", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["a", "b"]),
         ("kind", OneHotEncoder(handle_unknown="ignore"), ["kind"]), ("text", HashedText(bits=5), "text")]), TABLE),
    "columns by number": (ColumnTransformer(
        [("one", StandardScaler(), [0, 2]), ("two", "passthrough", [-2]), ("three", "drop", [1])]), X),
    "columns by mask": (ColumnTransformer(
        [("one", StandardScaler(), [True, False, True]), ("two", MaxAbsScaler(), np.array([False, True, True]))],
        remainder=MinMaxScaler()), X),
    "columns by slice": (ColumnTransformer(
        [("one", StandardScaler(), slice(0, 2)), ("two", MaxAbsScaler(), slice("b", "c")),
         ("three", MinMaxScaler(), slice("b", None))]), NUMBERS),
    "columns by step": (ColumnTransformer([("one", StandardScaler(), slice(0, None, 2))]), X),
    "columns by index": (ColumnTransformer([("one", StandardScaler(), INDEX)], remainder="passthrough"), NUMBERS),
    "columns by array": (ColumnTransformer(
        [("one", StandardScaler(), np.array([2, 0])), ("none", MaxAbsScaler(), [])], remainder="passthrough"), X),
    "other columns by name": (ColumnTransformer(
        [("one", StandardScaler(), ["b"])], remainder=StandardScaler(), verbose_feature_names_out=False), NUMBERS),
    "other columns by mask": (ColumnTransformer(
        [("one", StandardScaler(), [True, False, False])], remainder="passthrough", transformer_weights={"one": 3}), X),
    "columns as a frame": (ColumnTransformer(
        [("one", StandardScaler(), ["b"]), ("two", OrdinalEncoder(), ["kind"])], remainder="drop",
    ).set_output(transform="pandas"), TABLE),
    "columns that are all dropped": (ColumnTransformer([("one", "drop", [0])]), X),
    "sparse columns": (ColumnTransformer(
        [("one", OneHotEncoder(), [0]), ("two", StandardScaler(), [1])], sparse_threshold=1.0), np.round(X)),
    "columns in columns": (ColumnTransformer([("outer", ColumnTransformer(
        [("inner", StandardScaler(), ["a"])], remainder="passthrough"), ["a", "b"])]), NUMBERS),
}  # fmt: skip


def frozen(model):
    return FrozenEstimator(model)


def calibrated(model, y=TWO, **choices):
    return lambda: CalibratedClassifierCV(model, **choices).fit(X, y)


MODELS = {
    "perceptron": lambda: make_pipeline(StandardScaler(), Perceptron(max_iter=3)).fit(X, Y),
    "perceptron of names": lambda: make_pipeline(StandardScaler().set_output(transform="pandas"), Perceptron()).fit(
        NUMBERS, Y
    ),
    "vote": lambda: make_pipeline(MinMaxScaler(), Perceptron(combine="vote", max_iter=2)).fit(X, TWO),
    "arow of text": lambda: make_pipeline(HashedText(bits=8), TfidfTransformer(), Perceptron(step="arow")).fit(
        WORDS, TWO
    ),
    "kernel": lambda: make_pipeline(StandardScaler(), KernelPerceptron(kernel="rbf", max_iter=2)).fit(X, TWO),
    "sigmoid": calibrated(Perceptron(max_iter=2), cv=3),
    "sigmoid of three": calibrated(Perceptron(max_iter=2), Y, cv=3),
    "isotonic": calibrated(Perceptron(max_iter=2), Y, cv=2, method="isotonic"),
    "isotonic by one": calibrated(Perceptron(max_iter=2), cv=3, method="isotonic", ensemble=False),
    "sigmoid of a pipeline": calibrated(make_pipeline(StandardScaler(), Perceptron(max_iter=2)), Y, cv=2),
    "kernel in a calibrated one": calibrated(KernelPerceptron(kernel="rbf", max_iter=2), cv=2),
    "frozen": lambda: CalibratedClassifierCV(frozen(Perceptron(max_iter=2).fit(X[:30], TWO[:30]))).fit(
        X[30:], TWO[30:]
    ),
    "frozen pipeline": lambda: CalibratedClassifierCV(
        frozen(make_pipeline(StandardScaler(), Perceptron(max_iter=2)).fit(NUMBERS, Y)), method="isotonic"
    ).fit(NUMBERS, Y),
    "calibrated at the end": lambda: make_pipeline(
        StandardScaler(), CalibratedClassifierCV(Perceptron(max_iter=2, class_weight={"yes": 2.0}), cv=2)
    ).fit(X, TWO),
    "a table": lambda: make_pipeline(
        clone(STEPS["columns by name"][0]), CalibratedClassifierCV(Perceptron(max_iter=2), cv=2)
    ).fit(TABLE, Y),
}


if [int(part) for part in sklearn.__version__.split(".")[:2]] >= [1, 8]:
    MODELS["temperature"] = calibrated(Perceptron(max_iter=2), Y, cv=2, method="temperature")
else:
    MODELS["prefit"] = lambda: quietly(
        CalibratedClassifierCV(Perceptron(max_iter=2).fit(X, TWO), cv="prefit").fit, X, TWO
    )
MADE = {"f_", "_transformers_feature_names_out"}  # by the first call of predict, or transform


def again(model, path):
    perceptrons.save(model, path)
    return perceptrons.load(path)


def quietly(call, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments)


def alike(one, other, where="it"):
    """Assert that two values, arrays, frames or estimators are the same in every type, attribute and bit."""
    assert type(one) is type(other), (where, type(one), type(other))
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        assert one.shape == other.shape, where
        if one.dtype == object:
            alike(one.tolist(), other.tolist(), where)
        else:
            assert one.tobytes() == other.tobytes(), where
    elif sp.issparse(one):
        for part in ("data", "indices", "indptr"):
            alike(getattr(one, part), getattr(other, part), f"{where}.{part}")
        assert one.shape == other.shape, where
    elif hasattr(one, "columns") and hasattr(one, "to_numpy"):
        assert list(one.columns) == list(other.columns), where
        alike(one.to_numpy(), other.to_numpy(), where)
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for k, (item, of_other) in enumerate(zip(one, other, strict=True)):
            alike(item, of_other, f"{where}[{k}]")
    elif isinstance(one, dict):
        assert list(one) == list(other), where
        for key, value in one.items():
            alike(value, other[key], f"{where}[{key!r}]")
    elif hasattr(one, "__dict__") and not callable(one) and type(one).__module__.startswith("sklearn."):
        mine, others = ({key: value for key, value in vars(it).items() if key not in MADE} for it in (one, other))
        for key in sorted(mine.keys() | others.keys() - {"_fill_dtype"}):  # which scikit-learn 1.8 was first to have
            alike(mine[key], others[key], f"{where}.{key}")
    elif not hasattr(one, "get_params") and type(one).__name__ != "Columns":  # ours are compared by what they answer
        assert one == other or (one != one and other != other), (where, one, other)
