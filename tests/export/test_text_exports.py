"""Models of texts: ONNX takes words that were cut."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import perceptrons.onnx
from perceptrons import Perceptron
from perceptrons.export import ExportError, as_bytes
from perceptrons.features import HashedText
from tests.export.programs import far, onnx_answers

ODD = [
    "", " ", "İstanbul ΑΣ ǅ ﬁ Straße", "naïve café 東京 x²", "a", "a a a a a b", "tab\there", "x" * 300, "Ⱥ Ⱥ ȺȺ",
    "١٢٣ _under_score_ don't", "𝔘𝔫𝔦 𐐀 🎉 ok", "\x01 mark", "word\u00a0word\u2003word", "ǅ" * 9,
]  # fmt: skip
TEXTS = [
    "free prize, call now", "see you at home", "you won a prize", "call me at home now", "win cash prize now",
    "are you home", "İstanbul naïve Straße", "東京 x² free ١٢٣", "_under_score_ don't",
]  # fmt: skip
LABELS = ["spam", "ham", "spam", "ham", "spam", "ham", "odd", "odd", "ham"]


def fitted(**how):
    return make_pipeline(HashedText(**how), Perceptron(max_iter=20)).fit(TEXTS, LABELS)


def exact_scores(model, texts):
    """Scores in float64 of the library's rows."""
    return model.steps[-1][1].decision_function(model.steps[0][1].transform(texts).astype(np.float64))


@pytest.mark.parametrize("values", ["log", "count", "binary"])
def test_remembered_words_and_their_n_grams_are_counted_by_onnx(values):
    model = fitted(bits=None, words=(1, 3), values=values)
    texts = TEXTS + ODD
    labels, scores = onnx_answers(model, texts)
    assert labels.tolist() == model.predict(texts).tolist()
    assert far(scores, exact_scores(model, texts)) < 1e-9


def test_hashed_texts_are_refused_by_onnx_which_takes_their_columns():
    model = fitted(bits=18)
    with pytest.raises(ExportError, match=r"no operator that hashes words\. .*--inputs columns"):
        as_bytes(model, ".onnx")
    with pytest.raises(ExportError, match=r"n-grams of characters"):
        perceptrons.onnx.convert(fitted(bits=None, chars=(2, 3)))
    texts = TEXTS + ODD
    labels, scores = onnx_answers(model, texts, inputs="columns")
    assert labels.tolist() == model.predict(texts).tolist()
    assert far(scores, exact_scores(model, texts)) < 1e-9
