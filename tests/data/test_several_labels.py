"""Files whose examples have several labels, or none: every format gives the same label sets, and says what is wrong."""

import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import perceptrons
from perceptrons import Perceptron
from perceptrons.data import DataFileError, read, stream
from perceptrons.engine.streaming.blocks import blocks_of
from tests.support.label_sets import FORMATS, reading_of, write_sets

SETS = [("b", "a"), ("a",), (), ("c", "b", "a"), ("c",), (), ("a", "c")]


def examples(sets):
    rng = np.random.default_rng(len(sets))
    return np.round(rng.normal(size=(len(sets), 3)), 3) + 0.5


def svmlight(text, **options):
    return read(io.BytesIO(text.encode()), format="svmlight", **options)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_gives_the_same_label_sets(tmp_path, form):
    table = read(write_sets(tmp_path, form, examples(SETS), SETS), **reading_of(form, "abc"))
    assert table.classes.tolist() == ["a", "b", "c"]
    assert table.label_sets == [tuple(sorted(one)) for one in SETS]
    assert sp.issparse(table.y)
    assert table.y.toarray().tolist() == [[int(label in one) for label in "abc"] for one in SETS]
    assert table.source["multilabel"] is True
    model = Perceptron().fit_stream(stream(table.path, **reading_of(form, "abc")))
    assert read(table.path, like=model).label_sets == table.label_sets


ARFF = """@relation '{relation}'
@attribute a {{0,1}}
@attribute b {{0,1}}
@attribute x numeric
@attribute y numeric
@attribute c {{0,1}}
@attribute d {{0,1}}
@data
1,0,5,6,0,1
0,0,7,8,1,1
1,1,6,5,0,0
"""


@pytest.mark.parametrize(
    ("relation", "options", "features", "sets"),
    [
        ("r: -C 2", {}, ["x", "y", "c=0", "c=1", "d=1", "d=0"], [("a",), (), ("a", "b")]),
        ("r: -C -2", {"multilabel": True}, ["a=1", "a=0", "b=0", "b=1", "x", "y"], [("d",), ("c", "d"), ()]),
        ("r", {"label_column": ["d", "a"]}, ["b=0", "b=1", "x", "y", "c=0", "c=1"], [("a", "d"), ("d",), ("a",)]),
        ("r: -C 2", {"label_column": [5, 6], "ignore": ["a", "b"]}, ["x", "y"], [("d",), ("c", "d"), ()]),
        ("r", {"labels": True}, ["b=0", "b=1", "x", "y"], [("a", "d"), ("c", "d"), ("a",)]),
    ],
)
def test_arff_says_which_columns_are_labels(tmp_path, relation, options, features, sets):
    (tmp_path / "a.arff").write_text(ARFF.format(relation=relation))
    if "labels" in options:
        options = {"labels": tmp_path / "a.xml"}
        xml = '<label name="a"><label name="d"></label></label><label name="c"/>'
        root = '<labels xmlns="http://mulan.sourceforge.net/labels">'
        options["labels"].write_text(f'<?xml version="1.0"?>{root}{xml}</labels>')
    table = read(tmp_path / "a.arff", **options)
    assert sorted(table.feature_names) == sorted(features)
    assert table.label_sets == sets
    model = Perceptron().fit(table.X, table.target)
    table.teach(model)
    perceptrons.save(model, tmp_path / "m")
    again = read(tmp_path / "a.arff", like=perceptrons.load(tmp_path / "m"))
    assert again.label_sets == sets
    assert (again.X != table.X).sum() == 0
    cells = dict(zip("abxycd", "105601", strict=True))
    unlabelled = {name: cells[name] for name in "yxdcba" if name in {one[0] for one in features}}
    (tmp_path / "b.csv").write_text(f"{','.join(unlabelled)}\n{','.join(unlabelled.values())}\n")
    assert (table.X[:1] != read(tmp_path / "b.csv", like=model, need_labels=False).X).sum() == 0


@pytest.mark.parametrize(
    ("relation", "options", "what"),
    [
        ("r", {"multilabel": True}, "does not say which columns are labels, .* --labels FILE.xml"),
        ("r: -C 6", {}, "-C 6, but there are 6 attributes"),
        ("r: -C 3", {}, r"a.arff:9:3: label column 'x': '5' is neither 1 nor 0"),
        ("r: -C 2", {"multilabel": False}, "multilabel=False"),
        ("r", {"label_column": ["a", "a"]}, "names 'a' twice"),
        ("r", {"label_column": ["a", "z"]}, "no column is called 'z'"),
        ("r", {"label_column": ["a", "b"], "label_separator": ";"}, "leave one of them out"),
        ("r", {"label_column": ["a", "b"], "multilabel": False}, "name one column"),
        ("r", {"label_column": ["a", "b"], "labels": "b.xml"}, "leave one of them out"),
    ],
)
def test_label_columns_that_are_none_are_refused(tmp_path, relation, options, what):
    (tmp_path / "a.arff").write_text(ARFF.format(relation=relation))
    with pytest.raises(ValueError, match=what):
        read(tmp_path / "a.arff", **options)


@pytest.mark.parametrize("content", ["", "<labels/>", "<labels><label/>", "no", '<!DOCTYPE x [<!ENTITY a "b">]><x/>'])
def test_a_list_of_labels_that_is_none_is_refused(tmp_path, content):
    (tmp_path / "a.arff").write_text(ARFF.format(relation="r"))
    (tmp_path / "a.xml").write_text(content)
    with pytest.raises(DataFileError, match=r"a\.xml: .*MULAN writes"):
        read(tmp_path / "a.arff", labels=tmp_path / "a.xml")


labels = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters=",;|:#\"'%\\{}?"), min_size=1
)
words = labels.filter(lambda one: one.lower().lstrip("+-") not in ("nan", "inf", "infinity"))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.lists(words, max_size=4).map(tuple), min_size=2, max_size=12))
def test_label_sets_of_any_words_come_through_every_format_of_text(tmp_path, sets):
    sets = [("x", "y"), *sets]
    want = [tuple(sorted(set(one))) for one in sets]
    for form in ("svmlight", "vw", "fasttext", "csv", "jsonl"):
        table = read(write_sets(tmp_path, form, examples(sets), sets), text_labels=True, **reading_of(form))
        assert table.label_sets == want, form


def test_whole_numbers_are_numbers_and_the_same_number_counts_once():
    table = svmlight("+1,1,3.0 1:1\n3 1:2\n2:1\n")
    assert table.label_sets == [(1, 3), (3,), ()]
    assert table.classes.dtype.kind == "i"
    assert svmlight("1,3 1:1\nx 1:2\n").label_sets == [("1", "3"), ("x",)]


def test_a_csv_cell_with_a_comma_is_one_label_unless_it_is_asked(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('x,label\n1,"a,b"\n2,a\n3,b\n')
    assert read(path).y.tolist() == ["a,b", "a", "b"]
    assert read(path, multilabel=True).label_sets == [("a", "b"), ("a",), ("b",)]
    assert read(path, label_separator=";").label_sets == [("a,b",), ("a",), ("b",)]


def test_strings_in_json_are_split_only_where_a_separator_is_named(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"x": 1, "label": ["a", "b"]}\n{"x": 2, "label": "a,b"}\n{"x": 3, "label": 7}\n')
    assert read(path).label_sets == [("a", "b"), ("a,b",), ("7",)]
    assert read(path, label_separator=",").label_sets == [("a", "b"), ("a", "b"), ("7",)]


def test_frames_and_records_hold_lists():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "label": [["a", "b"], [], ["b"]]})
    for given_frame in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), frame.to_dict("records")):
        assert read(given_frame).label_sets == [("a", "b"), (), ("b",)]
    arrays = read((frame[["x"]].to_numpy(), np.array([[1, 1], [0, 0], [0, 1]])))
    assert arrays.label_sets == [(0, 1), (), (1,)]


def test_labels_of_fasttext_may_stand_anywhere():
    text = "__label__a __label__b one two\none __label__c two\none __label__a two __label__b\none two\n\t__label__a\n"
    table = read(io.BytesIO(text.encode()), format="text", hash_bits=0)
    assert table.label_sets == [("a", "b"), ("c",), ("a", "b"), (), ("a",)]
    assert table.columns.names() == ["one", "two"]
    np.testing.assert_array_equal(table.X[:4].toarray() > 0, np.ones((4, 2)))


def test_vw_reads_what_multilabel_oaa_reads():
    table = read(io.BytesIO(b"1,3 'a|n x:2\n | x\n2 | x y\n4,1 0.5 | y\n"), format="vw", hash_bits=0)
    assert table.label_sets == [(1, 3), (), (2,), (1, 4)]
    assert table.weight.tolist() == [1, 1, 1, 0.5]


# ---- what is wrong is said, with its place


@pytest.mark.parametrize(
    ("format", "text", "where", "what"),
    [
        ("svmlight", "1 1:1\n1:2\n", ":2:1:", "--multilabel"),
        ("vw", "1 | a\n| b\n", ":2:1:", "--multilabel"),
        ("text", "__label__a b\nc d\n", ":2:1:", "--multilabel"),
        ("svmlight", "1,,2 1:1\n", ":1:1:", "no label"),
        ("svmlight", "1,nan 1:1\n", ":1:1:", "'nan' is not a label:"),
        ("text", "__label__a __label__ b\n", ":1:12:", "without a name"),
        ("jsonl", '{"x": 1, "label": ["a", ["b"]]}\n', ":1:", "lists within lists"),
        ("jsonl", '{"x": 1, "label": ["a", null]}\n', ":1:", "null"),
        ("jsonl", '{"x": 1, "label": ["a", ""]}\n', ":1:", "no label"),
        ("jsonl", '{"x": 1, "label": ["a", {"b": 1}]}\n', ":1:", "null"),
        ("csv", 'x,label\n1,"a,,b"\n', ":2:2:", "no label"),
    ],
)
def test_what_is_no_label_set_is_refused_with_its_place(format, text, where, what):
    options = {"multilabel": True} if format == "csv" else {}
    with pytest.raises(DataFileError) as error:
        read(io.BytesIO(text.encode()), format=format, **options)
    assert where in str(error.value)
    assert what in str(error.value)


def test_a_stream_whose_first_block_has_single_labels_names_line_and_option(monkeypatch, tmp_path):
    monkeypatch.setattr("perceptrons.data.source.PIECE", 100)
    path = tmp_path / "t.svm"
    path.write_text("".join(f"{k % 2} 1:{k}\n" for k in range(60)) + "0,1 1:3\n" + "1 1:2\n")
    with pytest.raises(DataFileError, match=r"t.svm:61:1: several labels, '0', '1'.*--multilabel"):
        list(stream(path))
    assert sum(block.y.sum() for block in stream(path, multilabel=True)) == 63
    assert read(path).label_sets[60] == (0, 1)  # all of a table decide
    reader = stream(path, on_error="skip")
    assert sum(len(block.y) for block in reader) == 61
    assert reader.skipped == 1


def test_one_label_per_example_can_be_demanded():
    with pytest.raises(DataFileError, match="multilabel=False means one"):
        svmlight("1,2 1:1\n", multilabel=False)
    with pytest.raises(ValueError, match="leave one of them out"):
        read(pd.DataFrame({"x": [1], "label": ["a"]}), multilabel=False, label_separator=";")
    for wrong in ("", " ", "a b", 3, "123456789"):
        with pytest.raises(ValueError, match="label_separator"):
            read(pd.DataFrame({"x": [1], "label": ["a"]}), label_separator=wrong)
    model = Perceptron().fit([[0.0], [1.0]], [1, 2])
    with pytest.raises(DataFileError, match="the model was trained on one label per example"):
        svmlight("1,2 1:1\n", like=model)


def test_a_line_may_have_a_hundred_thousand_labels():
    n = 100_000
    text = ",".join(str(k) for k in range(n)) + " 1:1\n" + ",".join(str(k) for k in range(n)) + " 1:1\n7 1:2\n"
    table = svmlight(text)
    assert table.y.shape == (3, n)
    assert table.y.nnz == 2 * n + 1
    sizes = [
        block.target.indicator.shape for block in blocks_of(stream(io.BytesIO(text.encode()), format="svmlight"), "")
    ]
    assert sizes == [(3, n)]


def test_blocks_are_cut_where_examples_times_labels_are_too_many(monkeypatch):
    text = "".join(f"{k},{k + 1} 1:{k}\n" for k in range(50))
    monkeypatch.setattr("perceptrons.engine.streaming.blocks.MAX_INDICATOR_BYTES", 51 * 20)
    blocks = list(blocks_of(stream(io.BytesIO(text.encode()), format="svmlight"), ""))
    assert [block.X.shape[0] for block in blocks] == [20, 20, 10]
    monkeypatch.setattr("perceptrons.data.reader.memory", lambda: 51 * 50 * 2.4)
    with pytest.raises(DataFileError, match="50 examples by 51 labels are too much"):
        svmlight(text)


# ---- learning


def test_new_labels_may_appear_in_later_blocks(monkeypatch, tmp_path):
    monkeypatch.setattr("perceptrons.data.source.PIECE", 200)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    sets = [
        tuple(label for label, x in zip("abcd", row, strict=True) if x > 0.3 and (label != "d" or k > 100))
        for k, row in enumerate(X)
    ]
    path = write_sets(tmp_path, "csv", X, sets)
    blocks = list(stream(path, label_separator=";"))
    assert len(blocks) > 10
    assert "d" not in blocks[0].classes
    model = Perceptron(shuffle=False).fit_stream(stream(path, label_separator=";"), epochs=5)
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    named = Perceptron(shuffle=False).fit_stream(
        [(block.X, [tuple(block.classes[row.indices]) for row in block.y]) for block in blocks], epochs=5
    )
    np.testing.assert_array_equal(model.coef_, named.coef_)
    assert model.predict(X[:5]) == [list(one) for one in named.predict(X[:5])]


@pytest.mark.parametrize("first", ["", "a"], ids=["no label at first", "a label at first"])
def test_a_block_without_any_label_is_learned_from(first):
    blocks = [f"{first} | x\n| y\n".encode(), b"b,a | x\na | y\nb,c | z\n"]
    model = Perceptron().fit_stream(stream(io.BytesIO(b"".join(blocks)), format="vw", multilabel=True), epochs=3)
    assert model.classes_.tolist() == ["a", "b", "c"]


def test_scikit_learn_takes_what_is_read(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 3))
    sets = [tuple(label for label, x in zip("abc", row, strict=True) if x > 0) for row in X]
    table = read(write_sets(tmp_path, "svmlight", X, sets))
    found = OneVsRestClassifier(LinearSVC()).fit(table.X, table.y).predict(table.X)
    assert (found != table.y).nnz < 10
    ours = Perceptron().fit(table.X, table.y)
    named = Perceptron().fit(table.X, table.label_sets)
    np.testing.assert_array_equal(ours.coef_, named.coef_)
    assert sp.issparse(ours.predict(table.X))
    assert named.predict(table.X)[0] == table.label_sets[0]


def test_a_cache_and_a_checkpoint_hold_label_sets(tmp_path):
    X = np.random.default_rng(2).normal(size=(60, 3))
    sets = [tuple(label for label, x in zip("abc", row, strict=True) if x > 0.5) for row in X]
    path = write_sets(tmp_path, "jsonl", X, sets)
    plain = Perceptron().fit_stream(stream(path), epochs=3)
    for _ in range(2):
        again = Perceptron().fit_stream(
            stream(path), epochs=3, cache=tmp_path / "cache", checkpoint=perceptrons.Checkpoint(tmp_path / "point")
        )
        np.testing.assert_array_equal(again.coef_, plain.coef_)
        (tmp_path / "point").unlink()
    perceptrons.save(plain, tmp_path / "m")
    loaded = perceptrons.load(tmp_path / "m")
    assert loaded.source_["multilabel"] is True
    assert read(path, like=loaded).label_sets == [tuple(sorted(one)) for one in sets]
    record = json.loads(path.read_text().splitlines()[0])
    assert loaded.predict_one(record) == loaded.predict([record])[0]
    loaded.learn_one(record, ["a", "new"])
    assert loaded.classes_.tolist() == ["a", "b", "c", "new"]
