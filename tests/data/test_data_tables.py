"""Tables by pyarrow: CSV, JSON Lines, Parquet and Arrow as blocks of rows."""

import bz2
import copy
import csv
import gzip
import io
import json
import lzma
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from perceptrons import Perceptron
from perceptrons.data import DataFileError, source, stream
from perceptrons.data import arrow as json_reader
from perceptrons.data.look import first_examples
from perceptrons.features import Columns, HashedText

SHARED = {"on_error": "raise", "text_labels": False, "need_labels": True, "many_classes": True}
FORMATS = {"csv": "a.csv", "tsv": "a.tsv", "jsonl": "a.jsonl", "parquet": "a.parquet", "arrow": "a.arrow"}


def reader_of(path, format=None, **options):
    paths = path if isinstance(path, tuple) else (path,)
    return stream(*paths, format=format or paths[0].name.partition(".")[2].partition(".")[0], **SHARED | options)


def write(folder, content, name="a.csv"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def write_table(folder, rows, format):
    """The same rows in a file of any format."""
    path, table = folder / FORMATS[format], pa.Table.from_pylist(rows)
    if format in ("csv", "tsv"):
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, table.column_names, delimiter="\t" if format == "tsv" else ",")
            writer.writeheader()
            for row in rows:
                bools = {name: str(value).lower() for name, value in row.items() if isinstance(value, bool)}
                writer.writerow(row | bools)
    elif format == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif format == "parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        pyarrow.feather.write_feather(table, path)
    return path


def all_of(reader):
    """X as an array, labels and lines of all blocks."""
    blocks = list(reader)
    width = reader.n_features
    parts = [block.X.toarray() if sp.issparse(block.X) else block.X for block in blocks]
    X = np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts])
    y = [label for block in blocks for label in block.y.tolist()] if blocks[0].y is not None else None
    return X, y, np.concatenate([block.lines for block in blocks]).tolist()


def error_of(reader):
    with pytest.raises(DataFileError) as caught:
        list(reader)
    error = caught.value
    return error.line, error.column, str(error).partition(": ")[2]


ROWS = [
    {"height": 1.5, "color": "red", "tall": True, "text": "Free money now", "label": "a"},
    {"height": -2.0, "color": "blue", "tall": False, "text": "hello, you", "label": "b"},
    {"height": 0.0, "color": "red", "tall": True, "text": "", "label": "a"},
]


@pytest.mark.parametrize("format", FORMATS)
def test_numbers_and_categories_of_every_format_are_the_same_rows(tmp_path, format):
    reader = reader_of(write_table(tmp_path, ROWS, format), format, ignore=["text"])
    X, y, lines = all_of(reader)
    assert reader.columns.names() == ["height", "color=red", "tall=true", "color=blue", "tall=false"]
    assert X.tolist() == [[1.5, 1, 1, 0, 0], [-2, 0, 0, 1, 1], [0, 1, 1, 0, 0]]
    assert X.dtype == np.float64
    assert y == ["a", "b", "a"]
    assert lines == ([2, 3, 4] if format in ("csv", "tsv") else [1, 2, 3])


@pytest.mark.parametrize("format", FORMATS)
def test_numbers_alone_are_arrays(tmp_path, format):
    rows = [{"a": 1.5, "b": 3, "label": 1}, {"a": -2.25, "b": 4, "label": 0}]
    reader = reader_of(write_table(tmp_path, rows, format), format)
    (block,) = reader
    assert isinstance(block.X, np.ndarray)
    assert block.X.dtype == np.float64
    assert block.X.tolist() == [[1.5, 3], [-2.25, 4]]
    assert block.y.dtype == np.int64
    assert block.y.tolist() == [1, 0]
    assert reader.columns.names() == ["a", "b"]
    assert reader.n_features == 2


@pytest.mark.parametrize("format", FORMATS)
def test_texts_are_words_by_the_rules_of_hashed_text(tmp_path, format):
    text = HashedText(bits=12, words=(1, 2), values="count")
    path = write_table(tmp_path, [{"text": row["text"], "label": row["label"]} for row in ROWS], format)
    (block,) = reader_of(path, format, text_column="text", text=text)
    expected = text.transform([row["text"] for row in ROWS])
    assert block.X.dtype == np.float32
    assert (expected != block.X).nnz == 0
    assert block.y.tolist() == ["a", "b", "a"]


@pytest.mark.parametrize("format", FORMATS)
def test_words_numbers_and_categories_stand_side_by_side(tmp_path, format):
    reader = reader_of(write_table(tmp_path, ROWS, format), format, text_column="text", hash_bits=0)
    X, _, _ = all_of(reader)
    names = ["height=", "color=red", "tall=true", "free", "money", "now", "color=blue", "tall=false", "hello", "you"]
    assert reader.columns.names() == names
    third, half = np.float32(1 / np.sqrt(3)), np.float32(1 / np.sqrt(2))
    assert X[0].tolist() == pytest.approx([1.5, 1, 1, third, third, third, 0, 0, 0, 0], rel=1e-6)
    assert X[1].tolist() == pytest.approx([-2, 0, 0, 0, 0, 0, 1, 1, half, half], rel=1e-6)
    assert X[2].tolist() == [0, 1, 1, 0, 0, 0, 0, 0, 0, 0]


def test_a_number_is_not_taken_for_the_word_of_its_name(tmp_path):
    path = write(tmp_path, "length,text,label\n3,length matters,a\n2,other,b\n")
    reader = reader_of(path, text_column="text", hash_bits=0, text={"norm": None})
    X, _, _ = all_of(reader)
    assert reader.columns.names() == ["length=", "length", "matters", "other"]
    assert X.tolist() == [[3, 1, 1, 0], [2, 0, 0, 1]]


TWO_TEXTS = [
    {"subject": "big prize", "body": "big win, win", "label": "a"},
    {"subject": "", "body": "see you", "label": "b"},
    {"subject": "you", "body": "big", "label": "b"},
]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("columns", ["subject,body", ["subject", "body"]])
def test_the_words_of_several_columns_of_text_are_kept_apart(tmp_path, format, columns):
    path = write_table(tmp_path, TWO_TEXTS, format)
    reader = reader_of(path, format, text_column=columns, hash_bits=0, text={"norm": None, "values": "count"})
    X, _, _ = all_of(reader)
    names = ["subject=big", "subject=prize", "body=big", "body=win", "body=see", "body=you", "subject=you"]
    assert reader.columns.names() == names
    assert X.tolist() == [[1, 1, 1, 2, 0, 0, 0], [0, 0, 0, 0, 1, 1, 0], [0, 0, 1, 0, 0, 0, 1]]


def test_characters_of_several_columns_are_shown_with_their_column(tmp_path):
    path = write_table(tmp_path, TWO_TEXTS[2:] + TWO_TEXTS[:1], "csv")
    reader = reader_of(path, text_column=["subject", "body"], hash_bits=0, text={"words": None, "chars": (3, 3)})
    all_of(reader)
    assert reader.columns.names()[:4] == ["subject=‹ yo›", "subject=‹you›", "subject=‹ou ›", "body=‹ bi›"]


@pytest.mark.parametrize("format", FORMATS)
def test_several_columns_of_text_are_one_text_for_models_that_learned_so(tmp_path, format):
    path = write_table(tmp_path, TWO_TEXTS, format)
    how = {"text_column": "subject,body", "hash_bits": 0, "text": {"norm": None, "values": "count"}}
    reader = reader_of(path, format, **how, prefix=False)
    X, _, _ = all_of(reader)
    assert reader.columns.names() == ["big", "prize", "win", "see", "you"]
    assert X.tolist() == [[2, 1, 2, 0, 0], [0, 0, 0, 1, 1], [1, 0, 0, 0, 1]]


@pytest.mark.parametrize("format", FORMATS)
def test_features_can_be_hashed(tmp_path, format):
    reader = reader_of(write_table(tmp_path, ROWS, format), format, ignore=["text"], hash_bits=10)
    (block,) = reader
    names = ["height", "color=red", "tall=true", "color=blue", "tall=false"]
    assert block.X.shape == (3, 1024)
    assert block.X.dtype == np.float32
    assert reader.columns.names() == names
    values = np.abs(block.X.toarray()[:, [reader.columns.columns[names.index(name)] for name in names]])
    assert values.tolist() == [[1.5, 1, 1, 0, 0], [2, 0, 0, 1, 1], [0, 1, 1, 0, 0]]


@pytest.mark.parametrize("format", FORMATS)
def test_numbers_that_float32_cannot_hold_are_refused_where_it_is_used(tmp_path, format):
    rows = [{"a": 1e30, "b": 2.0, "label": "p"}, {"a": 1.0, "b": 1e50, "label": "q"}]
    path = write_table(tmp_path, rows, format)
    assert all_of(reader_of(path, format))[0].tolist() == [[1e30, 2], [1, 1e50]]
    line, _, what = error_of(reader_of(path, format, hash_bits=4))
    assert line == (3 if format in ("csv", "tsv") else 2)
    assert what == "'1e+50' is too large (at most 1e+30 for hashed features and words): scale the values"


# ---- what columns are


def test_a_column_is_of_numbers_if_most_of_its_cells_are(tmp_path):
    path = write(tmp_path, "a,b,label\n1,x,p\n2,y,q\nNA,3,p\n")
    reader = reader_of(path, on_error="skip")
    assert all_of(reader)[0].tolist() == [[1, 1, 0], [2, 0, 1]]
    assert reader.columns.names() == ["a", "b=x", "b=y"]
    line, column, what = error_of(reader_of(path))
    assert (line, column) == (4, 1)
    assert what == "column 'a': 'NA' is not a number: correct it, or list the column in categories (--categories)"


def test_columns_named_as_categories_are(tmp_path):
    reader = reader_of(write(tmp_path, "zip,a,label\n01234,1,p\n1234,2,q\n"), categories=["zip"])
    assert all_of(reader)[0].tolist() == [[1, 1, 0], [2, 0, 1]]
    assert reader.columns.names() == ["a", "zip=01234", "zip=1234"]


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_numbers_can_be_categories_in_every_format(tmp_path, format):
    rows = [{"zip": 1234, "a": 1.0, "label": "p"}, {"zip": 99, "a": 2.0, "label": "q"}]
    reader = reader_of(write_table(tmp_path, rows, format), format, categories=["zip"])
    assert all_of(reader)[0].tolist() == [[1, 1, 0], [2, 0, 1]]
    assert reader.columns.names() == ["a", "zip=1234", "zip=99"]


def test_names_may_have_commas_between_them(tmp_path):
    reader = reader_of(write(tmp_path, "zip,id,a,label\n12,7,1,p\n13,8,2,q\n"), categories="zip, a", ignore="id")
    list(reader)
    assert reader.columns.names() == ["zip=12", "a=1", "zip=13", "a=2"]


def test_an_empty_category_is_a_value_like_others(tmp_path):
    reader = reader_of(write(tmp_path, "a,label\nx,p\n,q\n  ,q\n x ,p\n"))
    assert all_of(reader)[0].tolist() == [[1, 0], [0, 1], [0, 1], [1, 0]]
    assert reader.columns.names() == ["a=x", "a="]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.timestamp("us"), [0, 1]),
        (pa.date32(), [0, 1]),
        (pa.list_(pa.float64()), [[1.0], []]),
        (pa.struct([("x", pa.float64())]), [{"x": 1.0}, {"x": 2.0}]),
        (pa.binary(), [b"x", b"y"]),
        (pa.null(), [None, None]),
    ],
    ids=str,
)
def test_columns_of_other_types_are_refused_by_name(tmp_path, kind, values):
    table = pa.table({"a": [1.0, 2.0], "when": pa.array(values, kind), "label": ["p", "q"]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(
        DataFileError, match=r"column 'when' holds .*, but features must be numbers or strings: .*\(--ignore\)"
    ):
        list(reader_of(tmp_path / "a.parquet"))
    assert all_of(reader_of(tmp_path / "a.parquet", ignore=["when"]))[0].tolist() == [[1], [2]]


def test_dates_are_categories_if_they_are_named_so(tmp_path):
    table = pa.table({"when": pa.array([0, 1], pa.date32()), "label": ["p", "q"]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    reader = reader_of(tmp_path / "a.parquet", categories=["when"])
    list(reader)
    assert reader.columns.names() == ["when=1970-01-01", "when=1970-01-02"]


def test_types_of_arrow_are_read_for_what_they_are(tmp_path):
    table = pa.table(
        {
            "int": pa.array([1, 2**60 + 1], pa.int64()),
            "small": pa.array([1, 255], pa.uint8()),
            "half": pa.array(np.array([0.5, 2], np.float16)),
            "decimal": pa.array([1, 2], pa.decimal128(21, 2)),
            "float": pa.array([0.1, 0.2], pa.float32()),
            "kind": pa.array(["x", None]).dictionary_encode(),
            "level": pa.DictionaryArray.from_arrays([1, 0], [10, 20]),
            "long": pa.array(["u", "v"], pa.large_string()),
            "tags": pa.array([["p", "q", "p"], []], pa.list_(pa.string())),
            "y": [True, False],
            "z": [1.0, 2.0],
        }
    )
    pyarrow.feather.write_feather(table, tmp_path / "a.arrow")
    reader = reader_of(tmp_path / "a.arrow")
    X, y, _ = all_of(reader)
    assert y == ["true", "false"]
    assert reader.columns.names() == [
        "int", "small", "half", "decimal", "float", "z", "kind=x", "level=20", "long=u", "tags=p", "tags=q", "kind=",
        "level=10", "long=v",
    ]  # fmt: skip
    assert X[0].tolist() == [1, 1, 0.5, 1, np.float32(0.1), 1, 1, 1, 1, 1, 1, 0, 0, 0]
    assert X[1].tolist() == [2.0**60, 255, 2, 2, np.float32(0.2), 2, 0, 0, 0, 0, 0, 1, 1, 1]


def test_float32_stays_float32_in_arrays(tmp_path):
    table = pa.table({"a": pa.array([0.1, 2], pa.float32()), "b": pa.array([1, 2], pa.float32()), "label": [0, 1]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    (block,) = reader_of(tmp_path / "a.parquet")
    assert block.X.dtype == np.float32
    assert block.X.tolist() == [[np.float32(0.1), 1], [2, 2]]


def test_columns_whose_features_could_have_one_name_are_refused(tmp_path):
    path = write(tmp_path, "a,a=b,label\nx,1,p\ny,2,q\n")
    with pytest.raises(DataFileError, match="'a' and 'a=b' could produce features of the same name: rename one"):
        list(reader_of(path))


# ---- labels


@pytest.mark.parametrize("asked", ["kind", 1, "1"])
def test_the_label_column_is_found_by_name_or_number(tmp_path, asked):
    reader = reader_of(write(tmp_path, "kind,a,b\np,1,2\nq,3,4\n"), label_column=asked)
    X, y, _ = all_of(reader)
    assert y == ["p", "q"]
    assert X.tolist() == [[1, 2], [3, 4]]
    assert reader.recipe()["label_column"] == "kind"


def test_without_a_header_columns_are_called_by_their_numbers(tmp_path):
    reader = reader_of(write(tmp_path, "1,2,p\n3,4,q\n"))
    X, y, lines = all_of(reader)
    assert X.tolist() == [[1, 2], [3, 4]]
    assert y == ["p", "q"]
    assert lines == [1, 2]
    assert reader.columns.names() == ["1", "2"]
    reader = reader_of(write(tmp_path, "1,2,p\n3,4,q\n"), label_column=2)
    assert all_of(reader)[1] == [2, 4]
    assert reader.columns.names() == ["1", "3=p", "3=q"]


def test_whether_there_is_a_header_can_be_told(tmp_path):
    path = write(tmp_path, "ham,see you\nspam,free prize\n")
    _, y, lines = all_of(reader_of(path, header=False, label_column=1, text_column="2", hash_bits=0))
    assert y == ["ham", "spam"]
    assert lines == [1, 2]
    path = write(tmp_path, "2019,2020,label\n1,2,p\n3,4,q\n")
    reader = reader_of(path, header=True)
    assert all_of(reader)[0].tolist() == [[1, 2], [3, 4]]
    assert reader.columns.names() == ["2019", "2020"]


@pytest.mark.parametrize("format", ["jsonl", "parquet", "arrow"])
@pytest.mark.parametrize("name", ["label", "y", "target", "class"])
def test_the_usual_names_of_labels_are_known(tmp_path, format, name):
    rows = [{"a": 1.0, name: "p", "b": 2.0}, {"a": 3.0, name: "q", "b": 4.0}]
    X, y, _ = all_of(reader_of(write_table(tmp_path, rows, format), format))
    assert y == ["p", "q"]
    assert X.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("format", [format for format in FORMATS if format != "jsonl"])
def test_else_the_last_column_is_the_label(tmp_path, format):
    rows = [{"a": 1.0, "b": 2.0, "kind": "p"}, {"a": 3.0, "b": 4.0, "kind": "q"}]
    assert all_of(reader_of(write_table(tmp_path, rows, format), format))[1] == ["p", "q"]


def test_json_without_a_usual_label_is_refused_with_the_keys_there_are(tmp_path):
    rows = [{"id": k, "text": f"words number {k}"} for k in range(100)]
    path = write_table(tmp_path, rows, "jsonl")
    what = r"jsonl:1:1: no key is called label, y, target or class: name .* \(--label-column\); there are 'id', 'text'"
    with pytest.raises(DataFileError, match=what):
        list(reader_of(path, "jsonl"))
    with pytest.raises(DataFileError, match=what):
        list(reader_of(path, "jsonl", text_column="text"))
    assert all_of(reader_of(path, "jsonl", label_column="id", text_column="text", hash_bits=4))[1] == list(range(100))


def test_the_text_is_never_the_label(tmp_path):
    path = write(tmp_path, "kind,words\np,free prize\nq,see you\n")
    assert all_of(reader_of(path, text_column="words"))[1] == ["p", "q"]
    with pytest.raises(DataFileError, match="cannot be both label and text"):
        list(reader_of(path, text_column="words", label_column="words"))


@pytest.mark.parametrize("format", FORMATS)
def test_a_missing_label_is_a_bad_record(tmp_path, format):
    rows = [{"a": 1.0, "label": "p"}, {"a": 3.0, "label": None}, {"a": 4.0, "label": "nan"}, {"a": 5.0, "label": "q"}]
    reader = reader_of(write_table(tmp_path, rows, format), format, on_error="skip")
    X, y, _ = all_of(reader)
    assert X.tolist() == [[1], [5]]
    assert y == ["p", "q"]
    assert reader.skipped == 2
    assert "no label" in reader.complaints[0]


@pytest.mark.parametrize("format", FORMATS)
def test_where_labels_are_not_needed_they_may_be_missing(tmp_path, format):
    rows = [{"a": 1.0, "b": 2.0, "label": "p"}, {"a": 3.0, "b": 4.0, "label": "q"}]
    recipe = trained(write_table(tmp_path, rows, format), format)
    bare = [{name: value for name, value in row.items() if name != "label"} for row in rows]
    path = write_table(tmp_path, bare, format)
    (block,) = stream(path, **SHARED | {"need_labels": False} | recipe)
    assert block.y is None
    assert block.X.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(DataFileError, match="label"):
        list(stream(path, **SHARED | recipe))
    some = write_table(tmp_path, [{**row, "label": None} for row in rows], format)
    if format != "parquet" and format != "arrow":  # a column of nothing has no type
        assert [block.y for block in stream(some, **SHARED | {"need_labels": False} | recipe)] == [None]


# ---- other files, read alike


def trained(path, format, **options):
    """How a model reads files, once it has read this one; through JSON, as a model file keeps it."""
    reader = reader_of(path, format, **options)
    list(reader)
    state, arrays = reader.columns.state()
    columns = Columns.from_state(state, arrays)
    columns.frozen = True
    return json.loads(json.dumps(reader.recipe())) | {"columns": columns}


@pytest.mark.parametrize("options", [{}, {"hash_bits": 8}, {"hash_bits": 0}], ids=str)
@pytest.mark.parametrize("format", FORMATS)
def test_another_file_is_read_alike_whatever_the_order_of_its_columns(tmp_path, format, options):
    options = options | {"text_column": "text", "text": HashedText(bits=10, words=(1, 2))}
    recipe = trained(write_table(tmp_path, ROWS, format), format, **options)
    expected = all_of(reader_of(write_table(tmp_path, ROWS, format), format, **options))
    permuted = [
        {
            "label": row["label"],
            "more": 7.5,
            "text": row["text"],
            "tall": row["tall"],
            "color": row["color"],
            "height": row["height"],
        }
        for row in ROWS
    ]
    ignored = {"ignore": ["more"]} if format == "jsonl" and recipe["hash_bits"] else {}
    X, y, _ = all_of(stream(write_table(tmp_path, permuted, format), **SHARED | recipe | ignored))
    assert (expected[0] == X).all()
    assert y == expected[1]


@pytest.mark.parametrize("format", FORMATS)
def test_values_that_a_model_does_not_know_are_nothing_to_it(tmp_path, format):
    recipe = trained(write_table(tmp_path, ROWS, format), format, ignore=["text"])
    path = write_table(tmp_path, [ROWS[0] | {"color": "green"}, ROWS[1]], format)
    X, _, _ = all_of(stream(path, **SHARED | recipe))
    assert X.tolist() == [[1.5, 0, 1, 0, 0], [-2, 0, 0, 1, 1]]


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_columns_that_are_missing_are_named(tmp_path, format):
    recipe = trained(write_table(tmp_path, ROWS, format), format, ignore=["text"])
    path = write_table(tmp_path, [{"color": "red", "label": "a"}], format)
    with pytest.raises(DataFileError, match="there is no column 'height', 'tall', which the model was trained on"):
        list(stream(path, **SHARED | recipe))


def test_a_model_reads_arrays_in_its_own_order(tmp_path):
    recipe = trained(write(tmp_path, "a,b,label\n1,2,p\n3,4,q\n"), "csv")
    (block,) = stream(write(tmp_path, "label,b,a\np,2,1\n"), **SHARED | recipe)
    assert isinstance(block.X, np.ndarray)
    assert block.X.tolist() == [[1, 2]]


def test_a_file_without_a_header_is_read_by_the_order_of_columns_in_training(tmp_path):
    recipe = trained(write(tmp_path, "a,label,b\n1,p,2\n3,q,4\n"), "csv", label_column="label")
    (block,) = stream(write(tmp_path, "5,p,6\n"), **SHARED | recipe)
    assert block.X.tolist() == [[5, 6]]
    (block,) = stream(write(tmp_path, "5,6\n"), **SHARED | {"need_labels": False} | recipe)
    assert block.X.tolist() == [[5, 6]]
    with pytest.raises(DataFileError, match="there is no header, so 'a', 'b', 'label' cannot be found"):
        list(stream(write(tmp_path, "5,6,7,8\n"), **SHARED | recipe))


def test_several_files_are_read_by_the_names_of_the_first(tmp_path):
    first = write(tmp_path, "a,b,label\n1,2,p\n", "1.csv")
    second = write(tmp_path, "label,b,extra,a\nq,4,9,3\n", "2.csv")
    third = write(tmp_path, "5,6,p\n7,8,q\n", "3.csv")
    reader = reader_of((first, second, third), "csv")
    blocks = list(reader)
    assert [block.X.tolist() for block in blocks] == [[[1, 2]], [[3, 4]], [[5, 6], [7, 8]]]
    assert [block.y.tolist() for block in blocks] == [["p"], ["q"], ["p", "q"]]
    assert [block.lines.tolist() for block in blocks] == [[2], [2], [1, 2]]
    assert [block.path for block in blocks] == [first, second, third]
    again = list(reader)
    assert all((one.X == other.X).all() for one, other in zip(blocks, again, strict=True))


def test_what_is_known_of_files_can_be_kept(tmp_path):
    path = write_table(tmp_path, ROWS, "csv")
    reader = reader_of(path, ignore=["text"])
    list(reader)
    facts, arrays = reader.learned_state()
    other = reader_of(path, ignore=["text"])
    other.restore(json.loads(json.dumps(facts)), arrays)
    assert other.recipe() == reader.recipe()
    assert other.columns.names() == reader.columns.names()
    assert other.n_features == reader.n_features


# ---- CSV as it is written


@given(
    st.lists(
        st.tuples(
            st.floats(-1e100, 1e100) | st.sampled_from([0.1, 1e-3, -0.5, 5e-324, 1e22, 2**53 + 1.0]),
            st.integers(-(2**63), 2**63 - 1),
            st.text(st.sampled_from("ab ,;\"'\n\r\té=|"), max_size=6),
            st.sampled_from(["yes", "no", 'may"be', "two\nlines"]),
        ),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_NONNUMERIC, csv.QUOTE_ALL]),
    st.sampled_from([30, 100, 2**20]),
    st.booleans(),
)
@settings(deadline=None, max_examples=120)
def read_as_pyarrow(path, rows, newline, quoting, piece, last_newline):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=newline, quoting=quoting)
    writer.writerows([("x", "i", "c", "label"), *((x, i, f"c{c}c", label) for x, i, c, label in rows)])
    content = text.getvalue().encode()
    path.write_bytes(content if last_newline else content.removesuffix(newline.encode()))
    table = pyarrow.csv.read_csv(path, parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "PIECE", piece)
        reader = reader_of(path, text_labels=True)
        X, y, lines = all_of(reader)
        numbers, _, _ = all_of(reader_of(path, text_labels=True, ignore=["c"]))
    for place, name in enumerate(("x", "i")):
        expected = table.column(name).to_numpy().astype(np.float64)
        assert numbers[:, place].tobytes() == expected.tobytes()
        assert (X[:, place] == expected).all()
    names = reader.columns.names()
    marks = [[names[column] for column in np.flatnonzero(row) if column > 1] for row in X]
    assert marks == [[f"c={value}"] for value in table.column("c").to_pylist()]
    assert y == table.column("label").to_pylist()
    begins = [2]
    for _, _, c, label in rows:
        begins.append(begins[-1] + 1 + c.count("\n") + label.count("\n"))
    assert lines == begins[:-1]


def test_what_is_read_is_what_pyarrow_reads(tmp_path):
    read_as_pyarrow(tmp_path / "a.csv")


@pytest.mark.parametrize("piece", [1, 7, 50, 2**20])
def test_blocks_hold_whole_records_however_the_file_is_cut(tmp_path, piece, monkeypatch):
    monkeypatch.setattr(source, "PIECE", piece)
    content = 'a,b,label\n1,"x\ny",p\n\n2,"q""r\n\n",q\n   \n3,"s,t",p\r\n4,u"v,q'
    reader = reader_of(write(tmp_path, content))
    X, y, lines = all_of(reader)
    assert X[:, 0].tolist() == [1, 2, 3, 4]
    assert reader.columns.names() == ["a", "b=x\ny", 'b=q"r', "b=s,t", 'b=u"v']
    assert X[:, 1:].tolist() == np.eye(4).tolist()
    assert y == ["p", "q", "p", "q"]
    assert lines == [2, 5, 9, 10]


@pytest.mark.parametrize("piece", [1, 5, 2**20])
def test_a_file_may_begin_with_blank_lines(tmp_path, piece, monkeypatch):
    monkeypatch.setattr(source, "PIECE", piece)
    X, y, lines = all_of(reader_of(write(tmp_path, "\n  \n\r\n \t \n\na;b;label\n\n1;2;p\n  \n3;4;q\n")))
    assert (X.tolist(), y, lines) == ([[1, 2], [3, 4]], ["p", "q"], [8, 10])


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_cells_are_separated_by_commas_semicolons_or_tabs(tmp_path, delimiter):
    content = "a,b,label\n1,2,p\n3,4,q\n".replace(",", delimiter)
    for name in ("a.csv", "a.tsv"):
        assert all_of(reader_of(write(tmp_path, content, name)))[0].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "number", ["1e-3", "-.5", "+3", " 7 ", "\t7", "1.", "0010", "1E+5", '"2.5"', "1e-400", "\v1\f"]
)
def test_every_way_to_write_a_number_is_read(tmp_path, number):
    X, _, _ = all_of(reader_of(write(tmp_path, f"a,b,label\n{number},1,p\n2,2,q\n")))
    assert X.tolist() == [[float(number.strip('"')), 1], [2, 2]]


@pytest.mark.parametrize(
    ("number", "what"),
    [
        ("", "there is no number here: add it, or remove the record"),
        ("  ", "there is no number here: add it, or remove the record"),
        ("nan", "'nan' is not a finite number: replace it, or remove the record"),
        ("-inf", "'-inf' is not a finite number: replace it, or remove the record"),
        ("1e400", "'1e400' is too large (at most 1e+100): scale the values"),
        ("-1e101", "'-1e101' is too large (at most 1e+100): scale the values"),
        ("1_000", "'1_000' is not a number: correct it, or list the column in categories (--categories)"),
        ("0x10", "'0x10' is not a number: correct it, or list the column in categories (--categories)"),
        ("١", "'١' is not a number: correct it, or list the column in categories (--categories)"),
        ('"1,5"', "'1,5' is not a number: write decimals with a point, or give decimal=',' (--decimal ,)"),
        ("1 2", "'1 2' is not a number: correct it, or list the column in categories (--categories)"),
    ],
)
def test_a_cell_that_is_no_number_is_named_with_its_place(tmp_path, number, what):
    path = write(tmp_path, f'c,a,label\n"x\ny",1,p\nz,{number},q\nz,3,q\n')
    assert error_of(reader_of(path)) == (4, 2, f"column 'a': {what}")
    reader = reader_of(path, on_error="skip")
    assert all_of(reader)[2] == [2, 5]
    assert reader.skipped == 1
    assert reader.complaints == [f"{path}:4:2: column 'a': {what}"]


@pytest.mark.parametrize(
    ("row", "cells", "column"), [("1,p", "2 cells", 3), ("7", "1 cell", 2), ("1,2,3,4,p", "5 cells", 4)]
)
def test_a_row_of_another_width_is_named_with_its_place(tmp_path, row, cells, column):
    path = write(tmp_path, f"a,b,label\n1,2,p\n{row}\n3,4,q\n")
    line, where, what = error_of(reader_of(path))
    assert (line, where) == (3, column)
    assert what.startswith(f"{cells} here, but 3 in the first row: every row needs the same number")
    assert what.endswith("; if the file has another format, name it with --format")
    reader = reader_of(path, on_error="skip")
    assert all_of(reader)[0].tolist() == [[1, 2], [3, 4]]
    assert reader.skipped == 1


def test_bytes_that_are_no_text_are_bad_records(tmp_path):
    path = write(tmp_path, b"a,b,label\n1,x,p\n2,\xff,q\n3,y,\xfe\n4,z,q\n")
    reader = reader_of(path, on_error="skip")
    assert all_of(reader)[0][:, 0].tolist() == [1, 4]
    assert [complaint.partition(":")[2] for complaint in reader.complaints] == [
        "3:2: byte 0xff is not UTF-8 text: save the file as UTF-8, or give --encoding latin-1",
        "4:3: byte 0xfe is not UTF-8 text: save the file as UTF-8, or give --encoding latin-1",
    ]
    with pytest.raises(DataFileError, match="1:2: byte 0xff is not UTF-8 text"):
        list(reader_of(write(tmp_path, b"a,\xff,label\n1,x,p\n")))


def test_a_bad_record_adds_no_feature(tmp_path):
    reader = reader_of(write(tmp_path, "c,a,label\nx,1,p\nbad,,q\ny,3,q\n"), on_error="skip")
    list(reader)
    assert reader.columns.names() == ["a", "c=x", "c=y"]


def test_blocks_before_a_bad_record_are_given(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "PIECE", 12)
    reader = reader_of(write(tmp_path, "a,b,label\n1,2,p\n3,4,q\n5,6,p\n7,x,q\n"))
    found = []
    with pytest.raises(DataFileError, match=r"5:2: column 'b': 'x' is not a number"):
        found.extend(block.X.tolist() for block in reader)
    assert found == [[[1, 2], [3, 4]], [[5, 6]]]


def test_quotes_that_are_never_closed_are_an_error_even_if_bad_records_are_skipped(tmp_path):
    path = write(tmp_path, 'a,b,label\n1,2,p\n3,"4,q\n5,6,p\n')
    line, _, what = error_of(reader_of(path))
    assert line == 3
    assert what.endswith("or before the end of the file: close it")
    reader = reader_of(path, on_error="skip")
    with pytest.raises(DataFileError, match="what follows cannot be read"):
        list(reader)
    assert reader.skipped == 1


def test_a_cell_of_ten_megabytes_is_read(tmp_path):
    text = "word\n" * 2**21
    path = write(tmp_path, f'a,text,label\n1,"{text}",p\n2,other,q\n')
    reader = reader_of(path, text_column="text", hash_bits=0, text={"values": "count", "norm": None})
    X, _, lines = all_of(reader)
    assert X.tolist() == [[1, 2**21, 0], [2, 0, 1]]
    assert lines == [2, 3 + 2**21]


@pytest.mark.parametrize(
    ("ending", "pack"),
    [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zst", zstandard.compress)],
)
@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_packed_files_give_the_same_blocks(tmp_path, format, ending, pack, monkeypatch):
    monkeypatch.setattr(source, "PIECE", 60)
    plain = write_table(tmp_path, ROWS, format)
    packed = write(tmp_path, pack(plain.read_bytes()), f"{plain.name}.{ending}")
    for one, other in zip(reader_of(plain, format), reader_of(packed, format), strict=True):
        assert (one.X != other.X).nnz == 0
        assert one.lines.tolist() == other.lines.tolist()


@pytest.mark.parametrize("content", ["", "\n\n", "a,b,label\n", "\ufeff"])
def test_files_without_examples_give_no_blocks(tmp_path, content):
    assert list(reader_of(write(tmp_path, content))) == []
    full = write(tmp_path, "a,b,label\n1,2,p\n", "b.csv")
    (block,) = reader_of((write(tmp_path, content), full), "csv")
    assert block.X.tolist() == [[1, 2]]


def test_a_first_block_of_bad_rows_does_not_decide(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "PIECE", 16)
    reader = reader_of(write(tmp_path, "a,b,label\n1,2\n3\n5,6\n7,8,p\n3,4,q\n9,x,q\n"), on_error="skip")
    X, y, lines = all_of(reader)
    assert (X.tolist(), y, lines) == ([[7, 8], [3, 4]], ["p", "q"], [5, 6])
    assert reader.skipped == 4


# ---- JSON Lines


JSON = [
    {"a": 1, "b": {"c": "x", "d": 2.5}, "tags": ["p", "q", "p"], "label": "u"},
    {"a": 2, "tags": [], "label": "v"},
    {"b": {"c": None, "d": -1}, "new": True, "label": "u"},
]


@pytest.mark.parametrize("fast", [True, False])
def test_json_is_flat_features(tmp_path, fast, monkeypatch):
    if not fast:
        monkeypatch.setattr(json_reader, "_shape", lambda *_: None)
    path = write(tmp_path, "".join(json.dumps(record) + "\n" for record in JSON), "a.jsonl")
    reader = reader_of(path)
    X, y, lines = all_of(reader)
    assert reader.columns.names() == ["a", "b.d", "b.c=x", "tags=p", "tags=q", "b.c=", "new=true"]
    assert X.tolist() == [[1, 2.5, 1, 1, 1, 0, 0], [2, 0, 0, 0, 0, 0, 0], [0, -1, 0, 0, 0, 1, 1]]
    assert (y, lines) == (["u", "v", "u"], [1, 2, 3])


@pytest.mark.parametrize(
    ("line", "column", "what"),
    [
        (
            '{"a": null, "label": 1}',
            2,
            "key 'a': there is no number here: add it, or remove the record",
        ),
        (
            '{"a": "x", "label": 1}',
            2,
            "key 'a': 'x' is not a number: correct it, or list the key in categories",
        ),
        ('{"a": true, "label": 1}', 2, "key 'a': 'True' is not a number"),
        ('{"a": 1e999, "label": 1}', 2, "key 'a': 'inf' is not a finite number"),
        ('{"a": NaN, "label": 1}', 2, "key 'a': 'nan' is not a finite number"),
        (
            '{"a": 1e101, "label": 1}',
            2,
            "key 'a': '1e+101' is too large (at most 1e+100): scale the values",
        ),
        ('{"a": [1, 2], "label": 1}', 2, "key 'a': '[1, 2]' is not a number"),
        ('{"a": 1, "a": 2, "label": 1}', 2, "key 'a': the key appears twice: remove one"),
        ('{"a": 1}', 1, "there is no label (key 'label'): add one, or remove the record"),
        ('{"a": 1, "label": null}', 10, "key 'label': there is no label here: add one, or remove the record"),
        (
            '{"a": 1, "label": [[1]]}',
            10,
            "key 'label': a list of labels contains null or something that is not a label: write strings or whole "
            "numbers",
        ),
        ('{"a": 1, "label": 1', 20, "this is not JSON (Expecting ',' delimiter): correct or remove the line"),
        ('{"a": 1, "label": 1} {}', 22, "this is not JSON (Extra data): correct or remove the line"),
        ("[1, 2]", 1, "'[1, 2]' is not an object: write one per example,"),
        ("null", 1, "'null' is not an object:"),
        (
            '{"a": 1, "label": "\\ud800"}',
            20,
            "half of a surrogate pair, such as \\ud800, is not text: correct it, or remove",
        ),
        (
            '{"z": ' + "[" * 5000 + "]" * 5000 + "}",
            1,
            "the JSON is nested too deeply, or has a number that is too long: correct or remove the line",
        ),
        (
            '{"a": ' + "1" * 5000 + ', "label": 1}',
            1,
            "the JSON is nested too deeply, or has a number that is too long: correct or remove the line",
        ),
    ],
)
def test_a_bad_line_of_json_is_named_with_its_place(tmp_path, line, column, what):
    path = write(tmp_path, f'{{"a": 1, "label": 1}}\n\n{line}\n{{"a": 2, "label": 0}}\n', "a.jsonl")
    where, at, why = error_of(reader_of(path))
    assert (where, at) == (3, column)
    assert why.startswith(what)
    reader = reader_of(path, on_error="skip")
    X, y, lines = all_of(reader)
    assert (X.tolist(), y, lines) == ([[1], [2]], [1, 0], [1, 4])
    assert reader.skipped == 1


def test_json_lines_with_bytes_that_are_no_text_are_bad(tmp_path):
    path = write(tmp_path, b'{"a": 1, "label": "p"}\n{"a": 2, "label": "\xff"}\n', "a.jsonl")
    assert error_of(reader_of(path)) == (
        2,
        20,
        "byte 0xff is not UTF-8 text: save the file as UTF-8, or give --encoding latin-1",
    )


def test_a_new_key_of_json_is_a_feature_unless_rows_are_arrays(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "PIECE", 40)
    first = '{"a": 1, "c": "x", "label": 1}\n{"a": 2, "c": "y", "label": 0}\n'
    path = write(tmp_path, first + '{"a": 3, "z": 5, "c": "x", "label": 0}\n', "a.jsonl")
    reader = reader_of(path)
    assert all_of(reader)[0].tolist() == [[1, 1, 0, 0], [2, 0, 1, 0], [3, 1, 0, 5]]
    assert reader.columns.names() == ["a", "c=x", "c=y", "z"]
    where, _, what = error_of(reader_of(path, ignore=["c"]))
    assert where == 3
    assert what.startswith("key 'z' appears here for the first time: list it in numbers or categories")
    assert all_of(reader_of(path, ignore=["c", "z"]))[0].tolist() == [[1], [2], [3]]
    recipe = trained(write(tmp_path, first, "first.jsonl"), "jsonl", ignore=["c"])
    assert all_of(stream(path, **SHARED | recipe))[0].tolist() == [[1], [2], [3]]


def test_json_of_many_keys_takes_the_room_of_its_values(tmp_path):
    path = write(
        tmp_path, "".join(f'{{"k{n}": 1.5, "c{n}": "x", "label": {n % 2}}}\n' for n in range(20_000)), "a.jsonl"
    )
    reader = reader_of(path)
    values = [np.sort(block.X.data) for block in reader]
    assert np.concatenate(values).sum() == 50_000
    assert reader.n_features == 40_000
    assert reader.columns.names()[:3] == ["k0", "c0=x", "k1"]


values = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**70), 2**70),
    st.sampled_from(["x", "y", "é", "", "1"]),
    st.booleans(),
    st.none(),
    st.lists(st.sampled_from(["p", "q"]), max_size=3),
)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"label": st.sampled_from(["u", "v"])},
            optional={
                "n": st.floats(allow_nan=False) | st.integers(),
                "c": st.sampled_from(["x", "é", "", None]),
                "l": st.lists(st.sampled_from("pq"), max_size=3),
                "o": st.fixed_dictionaries({}, optional={"n": st.integers(0, 3), "c": st.sampled_from("xy")}),
                "z": values,
                "b": st.booleans(),
            },
        ),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from([50, 2**20]),
)  # fmt: skip
@settings(deadline=None, max_examples=120)
def read_json_twice(path, records, piece):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = []
    for fast in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(source, "PIECE", piece)
            if not fast:
                patch.setattr(json_reader, "_shape", lambda *_: None)
            reader = reader_of(path, on_error="skip", text_labels=True)
            blocks = [(block.X, block.y.tolist(), block.lines.tolist()) for block in reader]
            rows = [(sp.csr_matrix(X).toarray().tolist(), y, lines) for X, y, lines in blocks]
            found.append((rows, reader.columns.names(), reader.skipped, reader.complaints))
    assert found[0] == found[1]


def test_pyarrow_and_python_read_json_alike(tmp_path):
    read_json_twice(tmp_path / "a.jsonl")


# ---- Parquet and Arrow


def test_batches_are_bounded(tmp_path):
    n = 200_000
    table = pa.table({"a": np.arange(n, dtype=np.float64), "unused": ["x" * 50] * n, "label": np.arange(n) % 2})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=n)
    pyarrow.feather.write_feather(table, tmp_path / "a.arrow", chunksize=n)
    for name in ("a.parquet", "a.arrow"):
        blocks = list(reader_of(tmp_path / name, ignore=["unused"]))
        assert max(len(block.lines) for block in blocks) <= 2**16
        assert np.concatenate([block.X for block in blocks]).ravel().tolist() == list(range(n))
        assert np.concatenate([block.lines for block in blocks]).tolist() == list(range(1, n + 1))


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_missing_numbers_of_parquet_and_arrow_are_bad_records(tmp_path, format):
    rows = [{"a": 1.0, "i": 5, "label": "p"}, {"a": None, "i": 6, "label": "q"}, {"a": 2.0, "i": None, "label": "q"}]
    rows += [{"a": float("nan"), "i": 7, "label": "p"}, {"a": 1e101, "i": 8, "label": "p"}]
    path = write_table(tmp_path, rows, format)
    assert error_of(reader_of(path)) == (2, 1, "column 'a': there is no number here: add it, or remove the record")
    reader = reader_of(path, on_error="skip")
    assert all_of(reader)[0].tolist() == [[1, 5]]
    assert [complaint.partition(":")[2] for complaint in reader.complaints] == [
        "2:1: column 'a': there is no number here: add it, or remove the record",
        "3:2: column 'i': there is no number here: add it, or remove the record",
        "4:1: column 'a': 'nan' is not a finite number: replace it, or remove the record",
        "5:1: column 'a': '1e+101' is too large (at most 1e+100): scale the values",
    ]


def stream_of(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=2):
            writer.write_batch(batch)
    return sink.getvalue()


def test_arrow_streams_are_read_packed_or_not(tmp_path):
    content = stream_of(pa.Table.from_pylist(ROWS))
    expected = all_of(reader_of(write_table(tmp_path, ROWS, "arrow"), ignore=["text"]))
    for name, packed in (("s.arrow", content), ("s.arrow.gz", gzip.compress(content))):
        X, y, lines = all_of(reader_of(write(tmp_path, packed, name), "arrow", ignore=["text"]))
        assert (X.tolist(), y, lines) == (expected[0].tolist(), *expected[1:])
    file = gzip.compress((tmp_path / "a.arrow").read_bytes())
    assert all_of(reader_of(write(tmp_path, file, "f.arrow.gz"), "arrow", ignore=["text"]))[1] == expected[1]


def test_an_arrow_stream_that_breaks_off_is_an_error(tmp_path):
    content = stream_of(pa.Table.from_pylist(ROWS))
    path = write(tmp_path, content[:-8], "s.arrow")
    with pytest.raises(DataFileError, match="the stream is truncated: write it again"):
        list(reader_of(path, "arrow", ignore=["text"]))


@pytest.mark.parametrize("format", ["csv", "jsonl", "arrow"])
def test_standard_input_is_read(tmp_path, format, monkeypatch):
    content = write_table(tmp_path, ROWS, format).read_bytes()
    expected = all_of(reader_of(tmp_path / FORMATS[format], ignore=["text"]))
    for bytes_in in (content, stream_of(pa.Table.from_pylist(ROWS)) if format == "arrow" else gzip.compress(content)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bytes_in)))
        X, y, lines = all_of(stream("-", format=format, ignore=["text"], **SHARED))
        assert (X.tolist(), y, lines) == (expected[0].tolist(), *expected[1:])


@pytest.mark.parametrize("header", ["a,b,label\n", ""])
def test_every_line_that_is_typed_is_answered_at_once(tmp_path, header, monkeypatch):
    recipe = trained(write(tmp_path, "a,b,label\n1,2,p\n3,4,q\n"), "csv")
    out, into = os.pipe()
    with open(out) as stdin, open(into, "w") as typed:
        monkeypatch.setattr(sys, "stdin", stdin)
        blocks = iter(stream("-", **SHARED | {"prompt": True, "need_labels": False} | recipe))
        typed.write(header)
        for row in ("5,6,p", "7,8,q", "9,1,p"):
            typed.write(f"{row}\n")
            typed.flush()
            assert next(blocks).X.tolist() == [[float(row[0]), float(row[2])]]
        typed.close()
        assert list(blocks) == []


def test_parquet_is_not_read_from_standard_input():
    with pytest.raises(DataFileError, match="Parquet cannot be read from a stream: give the file,"):
        stream("-", format="parquet", **SHARED)


# ---- what callers do wrong


@pytest.mark.parametrize("format", ["jsonl", "parquet", "arrow"])
def test_a_reader_of_anything_but_csv_needs_pyarrow(monkeypatch, format):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'perceptrons\[files\]'"):
        stream("a", format=format, **SHARED)


def test_wrong_options_are_named(tmp_path):
    path = write_table(tmp_path, ROWS, "csv")
    for options, what in [
        ({"label_column": "kind"}, "no column is called 'kind': there are 'height', 'color'"),
        ({"text_column": "words"}, "no column is called 'words': there are"),
        ({"categories": ["zip"]}, "no column is called 'zip'"),
        ({"ignore": ["id"]}, "no column is called 'id'"),
    ]:
        with pytest.raises(DataFileError, match=what):
            list(reader_of(path, **options))
    with pytest.raises(ValueError, match="name it in text_column"):
        reader_of(path, text=HashedText())
    with pytest.raises(ValueError, match="min_count needs to see all texts"):
        reader_of(path, text_column="text", text=HashedText(bits=None, min_count=2))
    with pytest.raises(ValueError, match="choose one of csv, tsv, whitespace, arff, jsonl, parquet, arrow, xlsx"):
        reader_of(path, "excel")
    with pytest.raises(ValueError, match="hash_bits=3, but the columns have 0 bits"):
        reader_of(path, hash_bits=3, columns=Columns())
    with pytest.raises(FileNotFoundError):
        list(reader_of(tmp_path / "none.parquet"))


def test_labels_that_do_not_fit_name_the_cell_of_the_label(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "PIECE", 20)
    path = write(tmp_path, "a,label,b\n1,1,2\n3,0,4\n5,x,6\n")
    line, column, what = error_of(reader_of(path, label_column="label"))
    assert (line, column) == (4, 2)
    assert "text_labels=True" in what


@pytest.mark.parametrize("hash_bits", [None, 8])
def test_names_are_numbered_and_counted_row_by_row_however_many_rows_come_at_a_time(tmp_path, hash_bits):
    rows = [
        {
            "size": k % 3,
            "shop": f"s{k % 7}",
            "tags": [f"t{k % 5}", "t"],
            "note": f"w{k} w{k // 2}",
            "label": "ab"[k % 2],
        }
        for k in range(60)
    ]
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[:20]))
    reader = stream(
        path,
        label_column="label",
        text_column="note",
        categories=["shop", "tags"],
        hash_bits=hash_bits,
        numbers=["size"],
    )
    model = Perceptron().fit_stream(reader)
    together, singly = (copy.deepcopy(model.columns_) for _ in range(2))
    whole = together.rows(rows[20:], model.source_)
    alone = [singly.rows([row], model.source_) for row in rows[20:]]
    assert together.names() == singly.names()
    assert together.counts.tolist() == singly.counts.tolist()
    for i, X in enumerate(alone):
        assert whole[i].indices.tolist() == X.indices.tolist()
        assert whole[i].data.tolist() == X.data.tolist()


def test_texts_to_show_come_from_their_own_column_in_every_file(tmp_path):
    """Records may span lines, and files may have their columns in another order, or no header."""
    (tmp_path / "a.csv").write_text('text,n,label\n"hello, ""you""\nthere",1,p\n\n"x y",2,q\n')
    (tmp_path / "b.csv").write_text('label,n,text\np,1,"second; file"\nq,2,last\n')
    (tmp_path / "c.csv").write_text('p,1,some text\nq,2,"other, text"\n')
    reader = stream(tmp_path / "a.csv", tmp_path / "b.csv", text_column="text", label_column="label")
    sample = first_examples(reader, 2**20, 100)
    assert sample.texts(reader).fetch([3, 0, 1]) == ["last", 'hello, "you"\nthere', "x y"]
    reader = stream(tmp_path / "c.csv", text_column="3", label_column="1")
    sample = first_examples(reader, 2**20, 100)
    assert sample.texts(reader).fetch([1, 0]) == ["other, text", "some text"]
