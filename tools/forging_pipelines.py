"""Small fitted pipelines of every class that can be saved, and all that is done with one that was loaded."""

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from perceptrons import HashedFeatures, HashedText, KernelPerceptron, Perceptron
from perceptrons.features import TableFeatures
from tools.forging import DICTS, TWO, Sample, X, Y, forged

WIDEST = 10_000  # columns whose names are asked for
TABLE = pd.DataFrame(X, columns=list("abcde")).assign(
    kind=np.array(["u", "v", None, "w"], object)[np.arange(len(X)) % 4],
    size=np.where(np.arange(len(X)) % 5 == 0, np.nan, np.arange(len(X)) % 3),
    text=[f"{'cheap' if row[0] > 0 else 'home'} {k % 5} now" for k, row in enumerate(X)],
)
BY_NUMBER = ColumnTransformer(
    [
        ("one", StandardScaler(), [0, 2]),
        ("two", "passthrough", slice(1, 3)),
        ("three", MaxAbsScaler(), [False, False, True, True, False]),
    ],
    remainder="passthrough",
)
BY_NAME = ColumnTransformer(
    [
        ("number", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["a", "size"]),
        ("kind", OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=7), ["kind"]),
        ("order", OrdinalEncoder(encoded_missing_value=-1), ["kind", "size"]),
        ("text", HashedText(bits=5), "text"),
    ]
)


class SkopsFile:
    """A skops file taken apart: its schema and its arrays, to be changed and put together again."""

    def __init__(self, schema: Any, entries: dict[str, bytes]) -> None:
        self.schema, self.entries, self.compression = schema, entries, zipfile.ZIP_STORED

    @classmethod
    def of(cls, content: np.ndarray) -> "SkopsFile":
        with zipfile.ZipFile(io.BytesIO(content.tobytes())) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
        return cls(json.loads(entries.pop("schema.json")), entries)

    def content(self) -> np.ndarray:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", self.compression) as archive:
            for name, value in self.entries.items():
                archive.writestr(name, value)
            archive.writestr("schema.json", json.dumps(self.schema))
        return np.frombuffer(buffer.getvalue(), np.uint8)


def forged_pipeline(
    draw: np.random.Generator, header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> tuple[dict[str, Any], dict[str, np.ndarray], list[str]]:
    """Change the header, the schema or the arrays of a pipeline's file. Returns them, and what was changed."""
    file = SkopsFile.of(arrays["skops"])
    loaded = {name: np.load(io.BytesIO(value)) for name, value in file.entries.items() if name.endswith(".npy")}
    changed, loaded, changes = forged(draw, {"header": header, "schema": file.schema}, loaded)
    for name, array in loaded.items():
        buffer = io.BytesIO()
        np.save(buffer, array)
        file.entries[name] = buffer.getvalue()
    file.schema = changed.get("schema")
    return changed.get("header", {}), {"skops": file.content()}, changes


def fitted(*steps: Any, X: Any = X, y: Any = TWO) -> Callable[[], Sample]:
    return lambda: Sample(make_pipeline(*map(clone, steps)).fit(X, y), X, y)


def calibrated(model: Any, X: Any = X, y: Any = TWO, **choices: Any) -> Callable[[], Sample]:
    return lambda: Sample(CalibratedClassifierCV(model, **choices).fit(X, y), X, y)


def frozen() -> Sample:
    model = FrozenEstimator(make_pipeline(StandardScaler(), Perceptron(max_iter=2)).fit(X, Y))
    return Sample(CalibratedClassifierCV(model, method="isotonic").fit(X, Y), X, Y)


LAST = Perceptron(max_iter=2)
PIPELINES: dict[str, Callable[[], Sample]] = {
    "scaled": fitted(StandardScaler(), MinMaxScaler(clip=True), Normalizer(), LAST),
    "columns by number": fitted(BY_NUMBER, LAST),
    "columns by name": fitted(BY_NAME, LAST, X=TABLE, y=Y),
    "union": fitted(FeatureUnion([("a", StandardScaler()), ("b", PolynomialFeatures(2))]), LAST),
    "encoded": fitted(OneHotEncoder(drop="first"), LAST, X=TABLE[["kind", "size"]]),
    "encoded as numbers": fitted(OrdinalEncoder(encoded_missing_value=9), LAST, X=TABLE[["kind", "size"]]),
    "filled": fitted(SimpleImputer(strategy="constant", fill_value=2, add_indicator=True), LAST, X=TABLE[["size"]]),
    "components": fitted(PCA(3), LAST),
    "words of scikit-learn": fitted(TfidfVectorizer(), LAST, X=TABLE["text"].tolist()),
    "text in a pipeline": fitted(HashedText(bits=6), TfidfTransformer(), LAST, X=TABLE["text"].tolist()),
    "named text in a pipeline": fitted(HashedText(bits=None), MaxAbsScaler(), LAST, X=TABLE["text"].tolist()),
    "features in a pipeline": fitted(HashedFeatures(bits=None), LAST, X=DICTS),
    "table in a pipeline": fitted(TableFeatures(text_column="text", interactions="kind*size"), LAST, X=TABLE, y=Y),
    "kernel in a pipeline": fitted(StandardScaler(), KernelPerceptron(kernel="rbf", max_iter=2)),
    "calibrated": calibrated(LAST, y=Y, cv=2),
    "calibrated by steps": calibrated(LAST, cv=2, method="isotonic", ensemble=False),
    "calibrated by temperature": calibrated(LAST, y=Y, cv=2, method="temperature"),
    "calibrated pipeline": calibrated(make_pipeline(MinMaxScaler(), LAST), cv=2),
    "frozen": frozen,
}


def _begins_with(model: Any) -> str:
    """The class of the first step."""
    return type(model.steps[0][1] if hasattr(model, "steps") else model).__name__


def uses(model: Any, sample: Sample) -> dict[str, Callable[[], Any]]:
    """Everything that people do with a pipeline, by name."""
    X, y = sample.X, sample.y
    if _begins_with(model) != _begins_with(sample.model):
        return {}  # it takes other examples, as numbers instead of texts

    def ask(name: str) -> Callable[[], Any]:
        return lambda: getattr(model, name)(X) if hasattr(model, name) else None

    def names() -> Any:
        before = model[:-1] if hasattr(model, "steps") and len(model.steps) > 1 else None
        if before is not None and before.transform(X[:2]).shape[1] <= WIDEST:
            return before.get_feature_names_out()
        return None

    def learn() -> None:
        if hasattr(model, "steps") and hasattr(model[-1], "partial_fit"):
            model[-1].partial_fit(model[:-1].transform(X), y)

    asked = {name: ask(name) for name in ("predict", "decision_function", "predict_proba", "transform")}
    return asked | {"names": names, "clone": lambda: clone(model).fit(X, y), "partial_fit": learn}
