"""Models of texts: C cuts and hashes words as the library does; ONNX takes words that were cut."""

import gzip

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import perceptrons.onnx
from perceptrons import Perceptron
from perceptrons.data.bundled import SMS
from perceptrons.export import ExportError, as_bytes
from perceptrons.features import HashedText
from tests.export.programs import answers, compiled, far, onnx_answers

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


@pytest.mark.parametrize(
    "how",
    [
        {"bits": 18},
        {"bits": 6, "words": (1, 3), "seed": 7},
        {"bits": 10, "words": None, "chars": (2, 4), "signed": False},
        {"bits": None, "words": (1, 2), "chars": (1, 3), "values": "count"},
        {"bits": 12, "lowercase": False, "values": "binary", "norm": None, "chars": (3, 3)},
        {"bits": None, "min_count": 2},
    ],
)
def test_c_cuts_counts_and_hashes_texts_as_the_library_does(how, tmp_path):
    model = fitted(**how)
    texts = TEXTS + ODD
    labels, scores = answers(compiled(model, tmp_path), [text.encode() for text in texts])
    assert labels == model.predict(texts).tolist()
    assert far(scores, exact_scores(model, texts)) < 1e-12


def test_bytes_that_are_not_utf8_separate_words_in_c_too(tmp_path):
    model = fitted(bits=8, chars=(1, 2))
    texts = [b"free\xffprize", b"\xc3", b"\xed\xa0\x80call", b"\xf0\x9f\x8e", b"\xc0\xafnow \xf5home", b"\xe2\x82"]
    _, scores = answers(compiled(model, tmp_path), texts)
    assert far(scores, exact_scores(model, texts)) < 1e-12


def test_every_code_point_is_folded_in_c_as_in_python(tmp_path):
    model = fitted(bits=16, chars=(1, 1), values="count", norm=None)
    points = [p for p in range(1, 0x40000, 7) if not 0xD800 <= p < 0xE000 and p != 10] + list(range(0x20, 0x600))
    texts = ["".join(chr(p) for p in points[at : at + 50] if p != 10) for at in range(0, len(points), 50)]
    _, scores = answers(compiled(model, tmp_path), [text.encode() for text in texts])
    assert far(scores, exact_scores(model, texts)) < 1e-12


def test_a_text_that_is_too_long_for_its_room_is_refused_by_c(tmp_path):
    program = compiled(fitted(bits=8), tmp_path, options=("-DPERCEPTRONS_MAIN", "-DPERCEPTRONS_MAX_TEXT=16"))
    assert answers(program, [b"free prize", b"much too long a text for so little room"])[0] == ["spam", ""]


def test_the_messages_of_the_package_have_equal_labels_in_c(tmp_path):
    lines = [line.split("\t", 1) for line in gzip.decompress(SMS.read_bytes()).decode().splitlines()]
    lines = [line for line in lines if len(line) == 2]
    texts, labels = [line[1] for line in lines], [line[0] for line in lines]
    model = make_pipeline(HashedText(), Perceptron()).fit(texts[:3000], labels[:3000])
    found, scores = answers(compiled(model, tmp_path), [text.encode() for text in texts])
    assert found == model.predict(texts).tolist()
    assert far(scores, exact_scores(model, texts)) < 1e-12


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
