"""`HashedText` gives exactly what slow and plain Python gives, whatever the text, the threads and the way it comes."""

import math
import pickle
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks, get_tags, murmurhash3_32

from perceptrons import Perceptron
from perceptrons.engine.scan.words import LIMIT, folded
from perceptrons.engine.training.matrices import stack_csr
from perceptrons.features import HashedFeatures, HashedText, columns, hashed
from perceptrons.features.cells import TextColumn
from perceptrons.features.hashed import cut_texts
from tests.reference import text as reference

TEXTS = [
    "To be, or not to be: that is the question.",
    "",
    "   \n\t ",
    "new york New  York NEW-YORK snake_case x2 __ 7",
    "Straße STRASSE ΑΣ ας İstanbul ıI ǅ Ⱥ K Å ﬁn",
    "日本語 テスト 한국어 हिन्दी עברית العربية 🙂🙂 𝒳𝟙 𐐀𐐨 e\u0301 x\u200dy",
    "a\x00b\x01c \ud800x \udfff ²½ ٣ Ⅷ",
    "the the the the cat",
]
CUTS = [
    {},
    {"words": (1, 3)},
    {"words": (2, 2), "lowercase": False},
    {"words": None, "chars": (1, 4)},
    {"words": (1, 1), "chars": (3, 7), "lowercase": False},
    {"words": (3, 16), "chars": (16, 16)},
]


def rows_of(X):
    """A matrix as dicts, in the order of its entries."""
    return [dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True)) for a, b in pairwise(X.indptr)]


def assert_rows(X, expected):
    rows = rows_of(X)
    assert [list(row.items()) for row in rows] == [list(row.items()) for row in expected]
    assert X.dtype == np.float32


def test_every_character_is_of_a_word_and_has_the_lower_case_that_python_says():
    lower, as_is = folded(True), folded(False)
    for point in range(sys.maxunicode + 1):
        character = chr(point)
        of_word = character.isalnum() or character == "_"
        if point >= LIMIT:
            assert not of_word, hex(point)
        else:
            assert lower[point] == (ord(character.lower()[0]) if of_word else 32), hex(point)
            assert as_is[point] == (point if of_word else 32), hex(point)
        if of_word:  # room_for counts on it
            assert 2 * len(character.lower()[0].encode()) <= 3 * len(character.encode()), hex(point)


@pytest.mark.parametrize("cutting", CUTS)
@pytest.mark.parametrize("values", ["log", "count", "binary"])
def test_rows_are_those_of_the_reference(cutting, values):
    for norm, signed, bits, seed in [("l2", True, 20, 0), (None, False, 31, 7), ("l2", True, 3, 2**32 - 1)]:
        options = {"values": values, "norm": norm, "signed": signed, "bits": bits, "seed": seed, **cutting}
        assert_rows(HashedText(**options).transform(TEXTS), reference.transformed(TEXTS, **options))


@pytest.mark.parametrize("cutting", CUTS)
@pytest.mark.parametrize("min_count", [1, 2])
def test_a_vocabulary_is_that_of_the_reference(cutting, min_count):
    vocabulary, counts = reference.vocabulary_of(TEXTS, min_count, **cutting)
    text = HashedText(bits=None, min_count=min_count, **cutting)
    X = text.fit_transform(TEXTS)
    names = [f"‹{name[1:]}›" if name[0] == "\x01" else name for name in vocabulary]
    assert list(text.vocabulary_.items()) == list(zip(names, range(len(names)), strict=True))
    assert text.counts_.tolist() == counts
    assert text.get_feature_names_out().tolist() == names
    assert X.shape == (len(TEXTS), len(vocabulary))
    assert_rows(X, reference.transformed(TEXTS, bits=None, vocabulary=vocabulary, **cutting))
    other = ["new york is not Chicago", "question"]
    assert_rows(text.transform(other), reference.transformed(other, bits=None, vocabulary=vocabulary, **cutting))


SPECIAL = "aAbB zZ09_-'\n\x00\x01İıßẞΣσςǅÅKȺȾ日本ก\u0301\u200dé\ud800\udc00🙂𝒳𐐀\U000e0041\U0010ffff"
texts = st.text(st.one_of(st.sampled_from(SPECIAL), st.characters(codec=None)), max_size=60)
PIECES = (
    b"a", b" ", b"\xc3\xa9", b"\xe6\x97\xa5", b"\xf0\x90\x90\x80",  # characters; the rest is no UTF-8
    b"\xed\xa0\x80", b"\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xf8", b"\xe0\x80\x80", b"\xf0\x9f",
)  # fmt: skip
bytestrings = st.one_of(st.binary(max_size=40), st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join))
spans = st.tuples(st.integers(1, 5), st.integers(0, 3)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.one_of(texts, bytestrings), max_size=5),
    st.fixed_dictionaries(
        {
            "words": st.one_of(st.none(), spans),
            "chars": st.one_of(st.none(), spans),
            "lowercase": st.booleans(),
            "values": st.sampled_from(["log", "count", "binary"]),
            "norm": st.sampled_from(["l2", None]),
            "signed": st.booleans(),
            "seed": st.integers(0, 2**32 - 1),
            "bits": st.one_of(st.none(), st.sampled_from([1, 2, 5, 20, 31])),
        }
    ).filter(lambda options: options["words"] or options["chars"]),
)
def test_any_texts_give_the_rows_of_the_reference(rows, options):
    cutting = {name: options[name] for name in ("words", "chars", "lowercase")}
    vocabulary, counts = reference.vocabulary_of(rows, **cutting)
    text = HashedText(**options)
    X = text.fit_transform(rows)
    assert_rows(X, reference.transformed(rows, vocabulary=vocabulary, **options))
    assert_rows(text.transform(rows), rows_of(X))
    assert text.counts_.tolist() == counts
    if options["bits"] is not None:
        assert_rows(HashedText(**options).transform(rows), rows_of(X))
        assert list(text.vocabulary_.values()) == [
            reference.hashed(name, options["bits"], seed=options["seed"])[0] for name in vocabulary
        ]


def test_the_reference_hashes_as_scikit_learn_does():
    for name in ["", "a", "ab", "abc", "abcd", "abcde", "日本語", "x" * 1000]:
        for seed in (0, 1, 2**31, 2**32 - 1):
            theirs = murmurhash3_32(name.encode(), seed=int(np.int64(seed)), positive=True) if seed < 2**31 else None
            if theirs is not None:
                assert reference.murmur3_32(name.encode(), seed) == theirs
    assert reference.murmur3_32(b"test", 0x9747B28C) == 0x704B81DC  # from the algorithm's own test vectors
    assert reference.murmur3_32(b"Hello, world!", 0x9747B28C) == 0x24884CBA


def test_character_n_grams_are_those_of_scikit_learns_char_wb():
    rows = ["to be or not", "a", "abcdefg xy"]
    for span in [(1, 1), (2, 4), (3, 5), (5, 8)]:
        theirs = CountVectorizer(analyzer="char_wb", ngram_range=span).build_analyzer()
        text = HashedText(bits=None, words=None, chars=span).fit(rows)
        counts = reference.counted(gram for row in rows for gram in theirs(row))
        assert dict(zip(text.vocabulary_, text.counts_, strict=True)) == {f"‹{k}›": v for k, v in counts.items()}


def test_a_word_of_a_megabyte_and_a_text_of_ten_are_like_any_other():
    long = "Éa" * 500_000
    rows = [long + " b", "b " + long, " ".join(f"w{i % 7919}" for i in range(1_700_000)), "x" * 2_000_000 + "İ"]
    assert len(rows[2]) > 9_000_000
    for cutting in ({}, {"words": (1, 2)}):
        assert_rows(HashedText(**cutting).transform(rows), reference.transformed(rows, **cutting))
    grams = HashedText(bits=None, words=None, chars=(2, 3), values="count", norm=None)
    X = grams.fit_transform([long])
    assert dict(zip(grams.vocabulary_, X.data.tolist(), strict=True)) == {
        "‹ é›": 1, "‹éa›": 500_000, "‹aé›": 499_999, "‹a ›": 1,
        "‹ éa›": 1, "‹éaé›": 499_999, "‹aéa›": 499_999, "‹éa ›": 1,
    }  # fmt: skip


def test_a_feature_that_comes_more_than_255_times_has_its_logarithm_exactly():
    rows = ["a " * n for n in (254, 255, 256, 257, 100_003)]
    X = HashedText(norm=None, signed=False).transform(rows)
    assert X.data.tolist() == [np.float32(1 + math.log(n)) for n in (254, 255, 256, 257, 100_003)]


def test_tables_grow_in_the_middle_of_a_row(monkeypatch):
    monkeypatch.setattr(columns, "MIN_SLOTS", 4)
    monkeypatch.setattr(hashed, "MIN_SLOTS", 4)
    monkeypatch.setattr(columns, "USUAL_SLOTS", 4)
    rows = [" ".join(f"{'word' * (i % 5)}{i * i % 97}" for i in range(first, first + 300)) for first in (0, 150, 10)]
    options = {"words": (1, 2), "chars": (2, 5)}
    assert_rows(HashedText(**options).transform(rows), reference.transformed(rows, **options))


def test_pieces_of_any_size_have_their_names_in_order_of_occurrence():
    text = HashedText(values="count")
    rule = text.rule()
    for rows in (["a b c"], [" ".join(map(str, range(3000)))], [], ["", ""], ["c a a"], ["x" * 9000]):
        content = np.frombuffer("".join(rows).encode(), np.uint8)
        ends = np.cumsum([len(row) for row in rows], dtype=np.int64)
        found = cut_texts(text, TextColumn(content, ends - [len(row) for row in rows], ends), rule)
        names = [found.names.arena[a:b].tobytes().decode() for a, b in pairwise(found.names.ends)]
        counts = [reference.counted(reference.features_of(row)) for row in rows]
        assert names == list(dict.fromkeys(name for row in counts for name in row))
        assert [names[k] for k in found.numbers] == [name for row in counts for name in row]
        assert found.amounts.tolist() == [count for row in counts for count in row.values()]
        assert found.names.counts.sum() == found.amounts.sum()


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_neither_threads_nor_pieces_change_anything(threads, piece, monkeypatch):
    rows = [text * (i % 3) for i, text in enumerate(TEXTS * 9)]
    expected = [HashedText(bits=bits, words=(1, 2)).fit(rows) for bits in (12, None)]
    matrices = [text.transform(rows) for text in expected]
    monkeypatch.setattr(hashed, "PIECE_BYTES", piece)
    monkeypatch.setattr("perceptrons.engine.streaming.threads.cores", lambda: threads)
    for whole, X in zip(expected, matrices, strict=True):
        text = clone(whole)
        assert_rows(text.fit_transform(rows), rows_of(X))
        assert_rows(text.transform(rows), rows_of(X))
        assert text.fit(rows).vocabulary_ == whole.vocabulary_
        assert text.counts_.tolist() == whole.counts_.tolist()


def test_an_error_in_a_thread_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(hashed, "PIECE_BYTES", 8)
    monkeypatch.setattr("perceptrons.engine.streaming.threads.cores", lambda: 3)

    def failing(*arguments):
        raise RuntimeError("in a thread")

    monkeypatch.setattr(hashed, "cut_texts", failing)
    with pytest.raises(RuntimeError, match="in a thread"):
        HashedText().transform(TEXTS * 20)


def arrow(rows, kind=None):
    return pytest.importorskip("pyarrow").array(rows, kind)


def test_columns_of_other_libraries_are_texts_too():
    pa = pytest.importorskip("pyarrow")
    rows = [row for row in TEXTS if "\ud800" not in row]
    X = rows_of(HashedText().transform(rows))
    for column in (
        tuple(rows), iter(rows), [row.encode() for row in rows], [*map(np.str_, rows)],
        np.array(rows), np.array(rows, object),
        pd.Series(rows), pd.Series(rows, index=range(9, 2, -1), dtype="string"), pd.Series(rows, dtype=object),
        pd.Series(rows, dtype="category"), pd.Series(rows, dtype=pd.ArrowDtype(pa.string())),
        pl.Series(rows), pl.Series(rows, dtype=pl.Categorical), arrow(rows), arrow(rows, pa.large_string()),
        arrow(rows, pa.string_view()), arrow(rows).dictionary_encode(), arrow([row.encode() for row in rows]),
        pa.chunked_array([rows[:2], [], rows[2:]]), arrow(["x", *rows, "y"])[1:-1],
    ):  # fmt: skip
        assert_rows(HashedText().transform(column), X)
    for empty in (
        [],
        np.array([], str),
        pd.Series([], dtype=str),
        arrow([], pa.string()),
        pl.Series([], dtype=pl.String),
    ):
        assert HashedText(bits=4).transform(empty).shape == (0, 16)
        assert HashedText(bits=None).fit_transform(empty).shape == (0, 0)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ("one text", ValueError, "X is one text, 'one text': .*put a single text in a list"),
        (b"one text", ValueError, "put a single text in a list"),
        (None, TypeError, "X is None"),
        (3, TypeError, "X is 3"),
        (["a", None], ValueError, "Row 1 is None: replace missing texts"),
        (["a", math.nan], ValueError, "Row 1 is nan: replace missing texts"),
        (pd.Series(["a", "b", None]), ValueError, "Row 2 is (nan|None)"),
        (pd.Series(["a", None], dtype="string"), ValueError, "Row 1 is <NA>"),
        (pl.Series(["a", None]), ValueError, "Row 1 is None"),
        (["a", 7], TypeError, r"Row 1 is 7 \(int\): every row must be a text"),
        ([["a"]], TypeError, r"Row 0 is \['a'\] \(list\)"),
        (np.arange(3), TypeError, r"Row 0 is 0 \(int\)"),
        (np.array([["a"], ["b"]]), ValueError, r"X is a ndarray of shape \(2, 1\): give one column"),
        (pd.DataFrame({"text": ["a"]}), ValueError, r"X is a DataFrame of shape \(1, 1\): give one column of texts"),
        ({"text": ["a"]}, ValueError, "X is a dict: give one column"),
    ],
)
def test_what_is_no_text_is_refused_and_the_row_named(X, error, message):
    for text in (HashedText(), HashedText(bits=None).fit(["a"])):
        for method in (text.transform, clone(text).fit, clone(text).fit_transform):
            with pytest.raises(error, match=message):
                method(X)


def test_missing_texts_of_arrow_are_refused_and_the_row_named():
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="Row 3 is None: replace missing texts"):
        HashedText().transform(pa.chunked_array([["a", "b"], ["c", None]]))
    with pytest.raises(TypeError, match=r"Row 0 is 1 \(int\)"):
        HashedText().transform(pa.array([1, 2]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bits": 0}, r"HashedText\(bits=0\): bits must be a whole number between 1 and 31 or None"),
        ({"bits": 32}, "bits must be"),
        ({"words": (0, 1)}, r"HashedText\(words=\(0, 1\)\): words must be None or two whole numbers from 1 to 16"),
        ({"words": (2, 1)}, "the smaller first"),
        ({"words": 2}, "words must be None or two"),
        ({"chars": (1, 17)}, "chars must be None or two"),
        ({"chars": "ab"}, "chars must be"),
        ({"words": None}, "leaves no features"),
        ({"values": "tf"}, "values must be one of 'log', 'count', 'binary'"),
        ({"norm": "l1"}, "norm must be 'l2' or None"),
        ({"lowercase": "yes"}, "lowercase must be True or False"),
        ({"signed": None}, "signed must be"),
        ({"seed": -1}, "seed must be"),
        ({"min_count": 0}, "min_count must be"),
        ({"min_count": 2}, r"HashedText\(bits=20, min_count=2\) does not work"),
    ],
)
def test_parameters_outside_their_domain_are_refused(options, message):
    for method in ("fit", "transform", "fit_transform"):
        with pytest.raises(ValueError, match=message):
            getattr(HashedText(**options), method)(["a"])


@pytest.mark.parametrize("transformer", [HashedText(), HashedText(bits=None), HashedFeatures()])
def test_scikit_learns_checks_that_need_no_matrix_pass(transformer):
    """`check_estimator` passes over transformers of texts."""
    for check in (
        "no_attributes_set_in_init", "get_params_invariance", "set_params", "valid_tag_types", "mixin_order",
        "parameters_default_constructible", "do_not_raise_errors_in_init_or_set_params", "estimator_cloneable",
        "estimator_repr",
    ):  # fmt: skip
        getattr(estimator_checks, f"check_{check}")(type(transformer).__name__, transformer)


def test_hashing_needs_no_fit_and_a_vocabulary_does():
    assert not get_tags(HashedText()).requires_fit
    tags = get_tags(HashedText(bits=None))
    assert (tags.requires_fit, tags.input_tags.string, tags.input_tags.two_d_array) == (True, True, False)
    with pytest.raises(NotFittedError):
        HashedText(bits=None).transform(["a"])
    with pytest.raises(NotFittedError):
        HashedText().vocabulary_  # noqa: B018
    assert HashedText(bits=2).get_feature_names_out().tolist() == ["#0", "#1", "#2", "#3"]


def test_transform_changes_nothing():
    text = HashedText(bits=8).fit(["a b"])
    before = pickle.dumps(text)
    text.transform(["c d e"])
    assert pickle.dumps(text) == before
    rows = list(TEXTS)
    text.fit_transform(rows)
    assert rows == TEXTS


@pytest.mark.parametrize("bits", [9, None])
def test_fitted_transformers_survive_pickling_and_copies_are_not_fitted(bits):
    text = HashedText(bits=bits, words=(1, 2)).fit(TEXTS)
    back = pickle.loads(pickle.dumps(text))
    assert back.vocabulary_ == text.vocabulary_
    assert back.counts_.tolist() == text.counts_.tolist()
    assert_rows(back.transform(TEXTS), rows_of(text.transform(TEXTS)))
    assert clone(text).get_params() == text.get_params()
    assert not hasattr(clone(text), "columns_")


def test_it_works_in_pipelines_searches_and_before_idf():
    rows = ["good film", "bad film", "a good one", "a bad one", "very good", "very bad"] * 5
    y = ["pos", "neg"] * 15
    model = make_pipeline(HashedText(bits=10), TfidfTransformer(), Perceptron())
    search = GridSearchCV(model, {"hashedtext__bits": [8, None], "hashedtext__words": [(1, 1), (1, 2)]}, cv=3, n_jobs=2)
    search.fit(rows, y)
    assert search.best_score_ == 1.0
    fitted = make_pipeline(HashedText(bits=10), Perceptron()).fit(rows, y)
    names = fitted[:-1].get_feature_names_out()
    assert names[fitted[-1].coef_[0].argmax()].startswith(("good", "bad"))
    assert fitted[0].columns_.name_of(fitted[0].vocabulary_["good"]) == ["good"]


def test_texts_outside_their_content_are_refused():
    content, text = np.frombuffer(b"abc", np.uint8), HashedText()
    for begin, end in (([0], [4]), ([-1], [2]), ([2], [1]), ([0, 1], [1])):
        with pytest.raises(ValueError, match="must lie within the content, which has 3 bytes"):
            cut_texts(text, TextColumn(content, begin, end), text.rule())


def test_stacking_needs_no_rows_at_all():
    assert stack_csr([], 5).shape == (0, 5)
