"""The page's table of what exports to what is what the code does."""

import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron, StructuredPerceptron
from perceptrons.export import ExportError, as_bytes
from perceptrons.features import HashedText, TableFeatures
from tests.conftest import ROOT

X, Y = load_iris(return_X_y=True)
TEXTS, LABELS = ["a b", "b c", "c d", "d a"], ["x", "y", "x", "y"]
RECORDS = [{"n": i, "m": -i, "kind": "pq"[i % 2], "note": TEXTS[i % 4]} for i in range(8)]
ONE = {"max_iter": 1}


def texts(**how):
    return make_pipeline(HashedText(**how), Perceptron(**ONE)).fit(TEXTS, LABELS)


def table(**how):
    how = {"ignore": ["note"]} | how
    return make_pipeline(TableFeatures(**how), Perceptron(**ONE)).fit(RECORDS, LABELS * 2)


MODELS = {
    "Perceptron, two classes": lambda: Perceptron(**ONE).fit(X, Y == 1),
    "Perceptron, joint": lambda: Perceptron(**ONE).fit(X, Y),
    "Perceptron, ovr": lambda: Perceptron(multiclass="ovr", **ONE).fit(X, Y),
    "Perceptron, ovo": lambda: Perceptron(multiclass="ovo", **ONE).fit(X, Y),
    "Perceptron, several labels": lambda: Perceptron(**ONE).fit(*make_multilabel_classification(20, random_state=0)),
    'Perceptron, combine="vote"': lambda: Perceptron(combine="vote", **ONE).fit(X, Y),
    "KernelPerceptron": lambda: KernelPerceptron(**ONE).fit(X, Y),
    "KernelPerceptron, precomputed": lambda: KernelPerceptron(kernel="precomputed", **ONE).fit(X @ X.T, Y),
    'KernelPerceptron, combine="vote"': lambda: KernelPerceptron(combine="vote", **ONE).fit(X, Y),
    "SequencePerceptron, Viterbi outside": lambda: SequencePerceptron(**ONE).fit([[{"w": 1}, {"v": 1}]], [["A", "B"]]),
    "StructuredPerceptron": lambda: StructuredPerceptron(None),
    "StandardScaler before it": lambda: make_pipeline(StandardScaler(), Perceptron(**ONE)).fit(X, Y),
    "other steps of scikit-learn before it": lambda: make_pipeline(Normalizer(), Perceptron(**ONE)).fit(X, Y),
    "CalibratedClassifierCV and others around it": lambda: CalibratedClassifierCV(Perceptron(**ONE)).fit(X, Y),
    "hashed texts": lambda: texts(bits=8),
    "remembered words": lambda: texts(bits=None, words=(1, 2)),
    "remembered n-grams of characters": lambda: texts(bits=None, chars=(1, 2)),
    "tables": table,
    "tables, products of columns": lambda: table(interactions="*", powers=2),
    "tables, hashed": lambda: table(hash_bits=8),
    "tables with texts, weighted by idf": lambda: table(ignore=None, text_column="note"),
    "tables with texts, `scale` other than standard": lambda: table(ignore=None, text_column="note", scale="none"),
}


def line(name):
    """A line of the table, by trying."""
    model, cells = MODELS[name](), []
    for ending in (".onnx", ".json"):
        try:
            cells.append("yes" if as_bytes(model, ending) else "empty")
        except ExportError:
            cells.append("no")
    return f"| {name} | {' | '.join(cells)} |"


def test_the_page_says_what_exports_to_what():
    page = (ROOT / "docs/howto/export.md").read_text()
    shown = page.split("## What exports to what")[1].split("|---|---|---|\n")[1].split("\n\n")[0].splitlines()
    assert shown == [line(name) for name in MODELS]


def test_unknown_wishes_are_refused(tmp_path):
    model = Perceptron(**ONE).fit(X, Y)
    with pytest.raises(ValueError, match="choose one of raw, columns"):
        as_bytes(model, ".json", inputs="all")
    from perceptrons import export

    with pytest.raises(ExportError, match=r"must be one of \.onnx, \.json\."):
        export.write(model, tmp_path / "model.pkl")
