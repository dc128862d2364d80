"""Tables of all examples: joined blocks, limits, labels decided by the whole, data in memory, models of any kind."""

import io
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import perceptrons
import perceptrons.data.arrow  # takes its size from PIECE, which some tests make smaller
from perceptrons import KernelPerceptron, Perceptron
from perceptrons.data import DataFileError, read, source, stream
from perceptrons.data.table import concatenate_rows
from perceptrons.engine.training.matrices import widened
from tests.support.doors import records, write

FRAME = {"size": [1.5, 2.0, 0.0, 3.0], "color": ["red", "blue", "red", "grün"], "label": ["a", "b", "a", "b"]}
ROWS = [dict(zip(FRAME, row, strict=True)) for row in zip(*FRAME.values(), strict=True)]
MATRIX = [[1.5, 1, 0, 0], [2, 0, 1, 0], [0, 1, 0, 0], [3, 0, 0, 1]]


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def same(block, other):
    assert dense(block.X).tolist() == dense(other.X).tolist()
    assert block.y.tolist() == other.y.tolist()


@pytest.fixture
def small(monkeypatch):
    """Files have many blocks."""
    monkeypatch.setattr(source, "PIECE", 60)


@pytest.fixture
def csv(tmp_path, small):
    path = tmp_path / "a.csv"
    path.write_text("size,color,kind\n" + "".join(f"{k / 4},c{k % 7},{k % 2}\n" for k in range(100)))
    return path


# ---- joining


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet", "arrow", "tab", "fasttext", "vw", "svmlight"])
def test_a_table_holds_the_rows_of_all_blocks(tmp_path, monkeypatch, form):
    monkeypatch.setattr(source, "PIECE", 200)
    path = write(tmp_path / f"data.{form}", records(), form)
    format = {"tab": "text", "fasttext": "text"}.get(form, form)
    blocks, reader = list(stream(path, format=format)), stream(path, format=format)
    table = reader.read()
    assert table.X.shape == (sum(block.X.shape[0] for block in blocks), reader.n_features)
    rows = sp.vstack([widened(sp.csr_matrix(block.X), reader.n_features) for block in blocks])
    assert (sp.csr_matrix(table.X) != rows).nnz == 0
    assert table.y.tolist() == [label for block in blocks for label in block.y.tolist()]
    assert table.lines.tolist() == [line for block in blocks for line in block.lines.tolist()]
    assert (table.files, table.of_file, table.path, table.source) == ([path], None, path, reader.recipe())
    assert table.columns is reader.columns


def test_examples_of_several_files_know_their_file(tmp_path):
    for name, labels in (("a.svm", "12"), ("b.svm", "345")):
        (tmp_path / name).write_text("".join(f"{label} {label}:1\n" for label in labels))
    table = read(tmp_path / "a.svm", tmp_path / "b.svm")
    assert table.of_file.tolist() == [0, 0, 1, 1, 1]
    assert table.lines.tolist() == [1, 2, 1, 2, 3]
    assert table.X.toarray().tolist() == np.eye(5).tolist()
    part = table.part(np.array([4, 1]))
    assert (part.of_file.tolist(), part.y.tolist(), part.lines.tolist()) == ([1, 0], [5, 2], [3, 2])


def test_weights_of_examples_are_kept_unless_all_are_one(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("a 2 | x\nb | y\n")
    assert read(path, hash_bits=0).weight.tolist() == [2, 1]
    assert read(path, hash_bits=0).part(np.array([1])).weight.tolist() == [1]
    path.write_text("a 1 | x\nb | y\n")
    assert read(path, hash_bits=0).weight is None


def test_a_table_of_a_single_block_is_not_copied(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,kind\n1,2,x\n3,4,y\n")
    reader = stream(path)
    kept, make = [], reader._matrix

    def remember(parsed):
        kept.append(make(parsed))
        return kept[-1]

    reader._matrix = remember
    assert reader.read().X is kept[0]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_joining_needs_twice_the_memory_of_the_table_at_most(make):
    parts = [make(np.full((5000, 20), 1.0 + k)) for k in range(20)]
    tracemalloc.start()
    parts = [part.copy() for part in parts]
    size = tracemalloc.get_traced_memory()[0]
    X = concatenate_rows(parts, 25)
    now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (X.shape, parts) == ((100_000, 25), [])
    assert now < 1.3 * size
    assert most < 2.3 * size


def test_a_source_without_examples_is_an_error(tmp_path):
    (tmp_path / "a.jsonl").write_text("\n\n")
    with pytest.raises(DataFileError, match="no example"):
        read(tmp_path / "a.jsonl")
    (tmp_path / "a.vw").write_text("")
    with pytest.raises(DataFileError, match="no example"):
        read(tmp_path / "a.vw")
    with pytest.raises(DataFileError, match="no example"):
        read(pd.DataFrame({"a": [], "label": []}))
    with pytest.raises(DataFileError, match="no example"):
        read([])


# ---- limits


def test_a_limit_stops_reading_and_the_blocks_are_there_once(csv):
    expected = list(stream(csv))
    reader = stream(csv)
    assert len(expected) > 10
    assert reader.read(limit=150) is None
    for _ in range(2):
        for block, other in zip(reader, expected, strict=True):
            same(block, other)
    assert reader.read(limit=150) is None
    assert reader.read(limit=10**9).X.shape[0] == 100
    assert reader.read().X.shape[0] == 100
    assert reader.read(limit=10**9).y.tolist() == [k % 2 for k in range(100)]


def test_a_limit_is_one_of_parsed_bytes(tmp_path, small):
    path = tmp_path / "a.csv"
    path.write_text("a,b,kind\n" + "1,2,0\n3,4,1\n" * 50)
    size = 100 * (2 * 8 + 4)  # two numbers and the code of a label
    assert stream(path).read(limit=size).X.shape == (100, 2)
    assert stream(path).read(limit=size - 1) is None


def test_a_pipe_is_read_only_once_though_a_limit_stopped_it(csv, monkeypatch):
    expected = list(stream(csv))
    for limit in (0, 150, 2000):
        begin, end = os.pipe()
        with os.fdopen(end, "wb") as file:
            file.write(csv.read_bytes())
        with os.fdopen(begin, "rb") as file:
            reader = stream(file, format="csv")
            assert reader.read(limit=limit) is None
            for block, other in zip(reader, expected, strict=True):
                same(block, other)
            with pytest.raises(DataFileError, match="only once"):
                list(reader)


def test_skipped_records_are_counted_once_though_a_limit_stopped_reading(csv):
    csv.write_text(csv.read_text().replace("\n5.0,", "\nfive,"))
    reader = stream(csv, on_error="skip")
    assert reader.read(limit=150) is None
    found = list(reader.with_skipped())
    assert sum(len(skipped) for _, skipped in found) == reader.skipped == 1
    assert sum(block.X.shape[0] for block, _ in found if block is not None) == 99
    table = stream(csv, on_error="skip").read()
    assert (table.skipped, len(table.complaints), table.X.shape[0]) == (1, 1, 99)


def test_fit_stream_goes_on_where_a_limit_stopped_reading(csv):
    reader = stream(csv)
    assert reader.read(limit=500) is None
    model = Perceptron().fit_stream(reader, epochs=2)
    assert np.array_equal(model.coef_, Perceptron().fit_stream(stream(csv), epochs=2).coef_)


def test_an_error_behind_the_limit_comes_when_it_is_reached(csv):
    csv.write_text(csv.read_text() + "five,c1,0\n")
    reader = stream(csv)
    assert reader.read(limit=150) is None
    with pytest.raises(DataFileError, match="102:1"):
        list(reader)
    with pytest.raises(DataFileError, match="102:1"):
        stream(csv).read()


# ---- what the whole decides


def test_a_late_label_that_is_no_whole_number_makes_all_labels_text(tmp_path, small):
    path = tmp_path / "a.csv"
    path.write_text("a,kind\n" + "1,1.0\n2,2\n" * 20 + "3,three\n")
    with pytest.raises(DataFileError, match="text_labels=True"):
        list(stream(path))
    y = read(path).y
    assert y.dtype.kind == "U"
    assert {*y.tolist()} >= {"1.0", "2", "three"}
    reader = stream(path)
    assert reader.read(limit=40) is None
    with pytest.raises(DataFileError, match="text_labels=True"):
        list(reader)


def test_labels_are_whole_numbers_if_all_are(tmp_path, small):
    path = tmp_path / "a.csv"
    path.write_text("a,kind\n" + "1,1.0\n2,+2\n" * 20)
    assert read(path).y.tolist() == [1, 2] * 20
    assert read(path, text_labels=True).y.tolist() == ["1.0", "+2"] * 20


def test_a_late_index_of_zero_counts_all_from_zero(tmp_path, small):
    path = tmp_path / "a.svm"
    path.write_text("1 1:1 2:2\n" * 20 + "2 0:5\n" + "1 2:2\n" * 20)
    with pytest.raises(DataFileError, match="zero_based=True"):
        list(stream(path))
    reader = stream(path)
    table = reader.read()
    assert table.X.toarray().tolist() == [[0, 1, 2]] * 20 + [[5, 0, 0]] + [[0, 0, 2]] * 20
    assert table.source["zero_based"] is True
    assert np.concatenate([block.X.toarray() for block in reader]).tolist() == table.X.toarray().tolist()
    few = Perceptron(max_iter=1).fit(np.eye(2), [1, 2])
    with pytest.raises(DataFileError, match="zero_based=True"):
        read(path, like=few)


def test_labels_that_are_no_classes_are_judged_by_the_whole(tmp_path, small):
    path = tmp_path / "a.csv"
    path.write_text("a,kind\n" + "".join(f"1,{k}.5\n" for k in range(60)))
    with pytest.raises(DataFileError, match="60 different labels in column 'kind' among 60 examples"):
        read(path)
    assert len(read(path, many_classes=True).y) == 60


# ---- data in memory


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, lambda _: ROWS])
def test_frames_and_records_are_read_as_files_are(tmp_path, make):
    table = read(make(FRAME))
    assert table.X.toarray().tolist() == MATRIX
    assert table.y.tolist() == FRAME["label"]
    assert (table.feature_names, table.label_name) == (["size", "color=red", "color=blue", "color=grün"], "label")
    path = tmp_path / "a.csv"
    pd.DataFrame(FRAME).to_csv(path, index=False)
    model = Perceptron(max_iter=5).fit(table.X, table.y)
    table.teach(model)
    assert read(path, like=model).X.toarray().tolist() == MATRIX
    assert read(make(FRAME), like=Perceptron().fit_stream(stream(path))).X.toarray().tolist() == MATRIX
    assert model.predict(make(FRAME)).tolist() == model.predict(table.X).tolist()


def test_what_a_frame_holds_decides_what_its_columns_are():
    frame = pd.DataFrame(
        {
            "n": np.array([1, 2], np.float32), "flag": [True, False], "zip": pd.Categorical([10, 20]),
            "mixed": [1, 2.5], "words": ["a b", None], "kind": ["x", "y"],
        }
    )  # fmt: skip
    table = read(frame, label_column="kind", text_column="words", hash_bits=0)
    assert {"n=", "flag=true", "zip=10", "mixed=", "a", "b"} <= {*table.feature_names}
    assert read(frame[["n", "kind"]]).X.dtype == np.float32
    with pytest.raises(DataFileError, match=r"<frame>: column 'when' holds datetime64"):
        read(pd.DataFrame({"when": pd.to_datetime(["2020-01-01"]), "label": ["x"]}))
    with pytest.raises(DataFileError, match=r"<frame>:2:1: column 'n': there is no number here"):
        read(pd.DataFrame({"n": [1.0, np.nan], "label": ["x", "y"]}))
    with pytest.raises(DataFileError, match=r"<frame>:2:2: there is no label|<frame>:2:2: column 'label'"):
        read(pd.DataFrame({"n": [1.0, 2.0], "label": ["x", None]}))
    half = pd.DataFrame({"n": [1.0, 2.0], "label": ["x", None]})
    assert (read(half, need_labels=False).X.tolist(), read(half, need_labels=False).y) == ([[1], [2]], None)
    with pytest.raises(DataFileError, match="two columns have the name 'n'"):
        read(pd.DataFrame([[1, 2, "x"]], columns=["n", "n", "label"]))


def test_bad_records_in_memory_are_skipped_or_named():
    rows = [*ROWS, {"size": "large", "color": "red", "label": "a"}]
    with pytest.raises(DataFileError, match="<records>:5:1: key 'size': 'large' is not a number"):
        read(rows)
    assert read(rows, on_error="skip").skipped == 1


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_array])
def test_pairs_of_arrays_are_read_as_they_are(form):
    X = form(np.arange(6.0).reshape(3, 2))
    for table in (read((X, ["a", "b", "a"])), read(X, ["a", "b", "a"])):
        assert dense(table.X).tolist() == [[0, 1], [2, 3], [4, 5]]
        assert table.y.tolist() == ["a", "b", "a"]
        assert (table.lines, table.feature_names) == (None, None)
    assert read((X, None), need_labels=False).y is None
    assert read((X, [1.0, 0.0, 1.0])).y.tolist() == [1, 0, 1]
    model = Perceptron().fit_stream(stream((X, ["a", "b", "a"])), epochs=3)
    assert np.array_equal(model.coef_, Perceptron().fit_stream([(X, ["a", "b", "a"])], epochs=3).coef_)


def test_what_cannot_be_read_is_named(tmp_path):
    for wrong in (7, {"a": 1}, ["a.csv", 3], None):
        with pytest.raises(TypeError, match="cannot be read"):
            stream(wrong)
    with pytest.raises(TypeError, match="cannot be combined with other data:"):
        stream(pd.DataFrame(FRAME), pd.DataFrame(FRAME))
    with pytest.raises(ValueError, match="leave it out for examples in memory"):
        stream(pd.DataFrame(FRAME), format="csv")
    with pytest.raises(ValueError, match="label_column does not apply to"):
        stream(np.eye(2), [0, 1], label_column="a")


# ---- npz


def test_npz_files_are_streamed_a_block_each(tmp_path):
    for name in "ab":
        np.savez(tmp_path / f"{name}.npz", X_train=np.eye(2), y_train=[0, 1], X_test=np.ones((1, 2)), y_test=["2"])
    blocks = list(stream(tmp_path / "*.npz", format="npz"))
    assert [block.X.tolist() for block in blocks] == [np.eye(2).tolist()] * 2
    assert read(tmp_path / "a.npz", part="test").y.tolist() == [2]
    model = Perceptron().fit_stream(stream(tmp_path / "a.npz"))
    assert model.source_ == {"format": "npz", "text_labels": False}
    assert read(tmp_path / "b.npz", like=model).X.tolist() == np.eye(2).tolist()
    np.savez(tmp_path / "b.npz", X=np.eye(3), y=[0, 1, 0])
    with pytest.raises(DataFileError, match="3 columns, but earlier examples have 2 features"):
        read(tmp_path / "a.npz", tmp_path / "b.npz")
    assert stream(tmp_path / "b.npz").read(limit=10) is None


# ---- models of any kind


@pytest.mark.parametrize("make", [Perceptron, lambda: KernelPerceptron(kernel="poly")])
def test_a_model_that_was_taught_reads_other_files_as_its_own(tmp_path, make):
    path, other = tmp_path / "a.csv", tmp_path / "b.csv"
    pd.DataFrame(FRAME).to_csv(path, index=False)
    other.write_text('label,color,id,size\nb,"red",7,1\na,violet,8,2\n')
    table = read(path)
    model = make().fit(table.X, table.y)
    table.teach(model)
    perceptrons.save(model, tmp_path / "model")
    for known in (model, perceptrons.load(tmp_path / "model")):
        again = read(other, like=known)
        assert again.X.toarray().tolist() == [[1, 1, 0, 0], [2, 0, 0, 0]]
        assert again.y.tolist() == ["b", "a"]
    assert model.source_ == Perceptron().fit_stream(stream(path)).source_


def test_a_model_that_learned_from_a_frame_finds_its_columns_by_name(tmp_path):
    model = Perceptron().fit(pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]}), ["x", "y"])
    for format, text in (("csv", "id,b,a,kind\n7,2,1,x\n"), ("tsv", "b\ta\tkind\n2\t1\tx\n")):
        (tmp_path / f"a.{format}").write_text(text)
        assert read(tmp_path / f"a.{format}", like=model).X.tolist() == [[1, 2]]
    (tmp_path / "a.jsonl").write_text('{"kind": "x", "b": 2, "a": 1, "more": 3}\n')
    table = read(tmp_path / "a.jsonl", like=model, label_column="kind")
    assert (table.X.tolist(), table.y.tolist()) == ([[1, 2]], ["x"])
    frame = pd.DataFrame({"kind": ["x"], "b": [2], "a": [1]})
    assert read(frame, like=model).X.tolist() == [[1, 2]]
    frame.to_parquet(tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", like=model).X.tolist() == [[1, 2]]
    (tmp_path / "n.csv").write_text("1,2,x\n3,4,y\n")
    assert read(tmp_path / "n.csv", like=model).X.tolist() == [[1, 2], [3, 4]]


def test_a_model_without_names_reads_columns_by_their_place(tmp_path):
    model = Perceptron().fit([[0.0, 1.0], [1.0, 0.0]], ["x", "y"])
    (tmp_path / "a.csv").write_text("b,a,kind\n2,1,x\n")
    assert read(tmp_path / "a.csv", like=model).X.tolist() == [[2, 1]]
    frame = pd.DataFrame({"b": [2], "a": [1], "kind": ["x"]})
    assert read(frame, like=model).X.tolist() == [[2, 1]]
    (tmp_path / "a.jsonl").write_text('{"label": "x", "b": 2, "a": 1}\n')
    with pytest.raises(DataFileError, match="by position"):
        read(tmp_path / "a.jsonl", like=model)
    (tmp_path / "a.svm").write_text("x 2:1\n")
    assert read(tmp_path / "a.svm", like=model).X.toarray().tolist() == [[0, 1]]
    np.savez(tmp_path / "a.npz", X=[[3, 4]], y=["x"])
    assert read(tmp_path / "a.npz", like=model).X.tolist() == [[3, 4]]


def test_labels_for_a_model_are_of_the_kind_of_its_classes(tmp_path):
    (tmp_path / "a.csv").write_text("a,kind\n1,1\n2,2\n")
    words = Perceptron().fit([[0.0], [1.0]], ["1", "2"])
    numbers = Perceptron().fit([[0.0], [1.0]], [1, 2])
    assert read(tmp_path / "a.csv", like=words).y.tolist() == ["1", "2"]
    assert read(tmp_path / "a.csv", like=numbers).y.tolist() == [1, 2]


def test_a_model_of_numbered_features_reads_tables_by_their_place(tmp_path):
    (tmp_path / "a.svm").write_text("x 1:1 2:2\ny 2:3\n")
    (tmp_path / "a.csv").write_text("a,b,kind\n1,2,x\n")
    (tmp_path / "a.txt").write_text("x 2:1\n")
    model = Perceptron().fit_stream(stream(tmp_path / "a.svm"))
    assert read(tmp_path / "a.csv", like=model).X.tolist() == [[1, 2]]
    of_table = Perceptron().fit_stream(stream([{"a": 1, "b": 2, "label": "x"}, {"a": 3, "b": 0, "label": "y"}]))
    assert read(tmp_path / "a.svm", like=of_table).X.toarray().tolist() == [[1, 2], [0, 3]]
    assert read(tmp_path / "a.txt", like=model).X.toarray().tolist() == [[0, 1]]


# ---- CSV


def test_csv_is_read_and_refused_without_pyarrow(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('n,color,kind\n"1", "red, ""dark""" ,x\n2,blue,y\n3,blue,x\nfour,red,y\n')
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from perceptrons.data import read\n"
        f"table = read({str(path)!r}, on_error='skip')\n"
        "print(table.X.toarray().tolist(), table.feature_names, table.complaints)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[[1.0, 1.0, 0.0], [2.0, 0.0, 1.0], [3.0, 0.0, 1.0]]" in run.stdout
    assert 'color=red, "dark"' in run.stdout
    assert "'four' is not a number" in run.stdout


def test_blanks_before_quotes_do_not_count(tmp_path, small):
    path = tmp_path / "a.csv"
    path.write_text('a, b, kind\n1, "x, y", p\n2, "x ""y""\nz" , "q"\n3,\t"x, y", p\n')
    table = read(path)
    assert table.feature_names == ["a", "b=x, y", 'b=x "y"\nz']
    assert table.y.tolist() == ["p", "q", "p"]
    assert table.lines.tolist() == [2, 3, 5]


def test_a_lazy_frame_is_read_in_batches_like_the_frame(monkeypatch):
    frame = pl.DataFrame(records(50)).with_columns(shop=pl.col("shop").cast(pl.Categorical))
    expected = read(frame)
    monkeypatch.setattr("perceptrons.data.records.ROWS", 8)
    table = read(frame.lazy().filter(pl.col("size") < 1e9))
    assert (table.X != expected.X).sum() == 0
    assert table.y.tolist() == expected.y.tolist()
    assert table.lines.tolist() == expected.lines.tolist()
    assert len(list(stream(frame.lazy()))) > 5
    with pytest.raises(DataFileError, match="no examples"):
        read(frame.lazy().filter(pl.col("size") > 1e9))


@pytest.mark.parametrize("name", ["https://example.org/a.csv", "s3://data/a.csv.gz"])
def test_urls_are_refused_with_what_to_do(name):
    with pytest.raises(ValueError, match=rf"^{name}: files are not read over the network: .*urlopen"):
        read(name)
    with pytest.raises(ValueError, match="not read over the network"):
        stream(Path(name))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1"])
@pytest.mark.parametrize(("name", "text"), [
    ("a.csv", "a,k\n1,bär\n2,y\n"), ("a.jsonl", '{"a": 1, "label": "bär"}\n'),
])  # fmt: skip
def test_the_error_of_a_file_in_another_encoding_names_that_encoding(tmp_path, encoding, name, text):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    with pytest.raises(DataFileError, match=f"give --encoding {encoding}"):
        read(path)
    assert len(read(path, encoding=encoding).y) == text.count("\n") - name.endswith("csv")


def test_a_query_id_of_svmlight_is_left_out_which_is_said():
    table = read(io.StringIO("1 qid:3 1:0.5\n0 qid:4 2:1\n"), format="svmlight")
    assert table.X.toarray().tolist() == [[0.5, 0], [0, 1]]
    assert ["qid:n is left out" in notice for notice in table.notices] == [True]
    assert read(io.StringIO("1 1:0.5\n0 2:1 # qid\n"), format="svmlight").notices == []


TEXT = 'a;b;text;kind\n1;2,5;"x;1,5";x\n-2,5;"3,75";1.5;y\n"3";  4e0 ;1,5;x\n'


@pytest.mark.parametrize("how", [{}, {"decimal": ","}, {"format": "tsv"}, {"format": "whitespace"}])
def test_decimal_commas_are_read_and_the_model_remembers_them(tmp_path, how):
    cells = TEXT.replace("\n", " \n").replace("x;1", "x_1").replace("  4e0 ", "4e0") if "format" in how else TEXT
    between = {"tsv": "\t", "whitespace": " "}.get(how.get("format"), ";")
    path = tmp_path / "a.csv"
    path.write_text(cells.replace(";", between))
    table = read(path, **how)
    assert table.X.toarray()[:, :2].tolist() == [[1, 2.5], [-2.5, 3.75], [3, 4]]
    texts = ["x_1,5" if "format" in how else "x;1,5", "1.5", "1,5"]
    assert table.feature_names[2:] == [f"text={one}" for one in texts]  # cells of text stay as they are
    assert table.source["decimal"] == ","
    model = Perceptron().fit(table.X, table.y)
    table.teach(model)
    perceptrons.save(model, tmp_path / "m")
    (tmp_path / "b.csv").write_text("a;b;text\n1;2;1,5\n2;1,25;1.5\n".replace(";", between))
    like = {"need_labels": False, "format": how.get("format")}
    found = read(tmp_path / "b.csv", like=perceptrons.load(tmp_path / "m"), **like)
    assert found.X.toarray()[:, :2].tolist() == [[1, 2], [2, 1.25]]
    (tmp_path / "b.csv").write_text("a;b;text\n1;2;1,5\n2;1.25;1.5\n".replace(";", between))
    with pytest.raises(DataFileError, match=r"b.csv:3:2: column 'b': '1.25' has a point, .*\(--decimal \.\)"):
        read(tmp_path / "b.csv", like=model, **like)
    assert read(tmp_path / "b.csv", like=model, decimal=".", **like).X[1, 1] == 1.25


def test_decimal_commas_are_streamed_in_blocks_alike(tmp_path, monkeypatch):
    rows = [f'"{k},5";{k % 7},25;{"pq"[k % 2]}' for k in range(300)]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    expected = read(tmp_path / "a.csv")
    assert expected.X.tolist() == [[k + 0.5, k % 7 + 0.25] for k in range(300)]
    monkeypatch.setattr("perceptrons.data.source.PIECE", 100)
    blocks = list(stream(tmp_path / "a.csv"))
    assert len(blocks) > 20
    np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), expected.X)


@pytest.mark.parametrize(
    ("text", "how", "what"),
    [
        ("a;b;kind\n1.5;2,5;x\n2.5;3,75;y\n", {}, "2:2: column 'b': '2,5' is not a number: .*or give decimal=','"),
        ("a;b;kind\n1;2,5;x\n2;3,75;y\n", {"decimal": "."}, "2:2: column 'b': '2,5' is not a number: "),
        ("a;b;kind\n1;1.234,5;x\n2;2.345,5;y\n", {}, "2:2: column 'b': '1.234,5' is not a number"),
        ("a;b;kind\n1;2,5;x\n2;3.5;y\n2;3,5;y\n", {}, "3:2: column 'b': '3.5' has a point, but decimals have a comma"),
        ("a;b;kind\n1;2,5;x\n2;1e999;y\n2;3,5;y\n", {}, "3:2: column 'b': '1e999' is too large"),
        ("a;b;kind\n1;2,5;x\n", {"decimal": ";"}, "decimal=';': choose '.' or ','"),
        ("a,b,kind\n1,2.5,x\n", {"decimal": ","}, "2:2: column 'b': '2.5' has a point"),
    ],
)
def test_numbers_that_do_not_have_the_sign_for_decimals_are_refused(tmp_path, text, how, what):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=what):
        read(tmp_path / "a.csv", **how)


def test_every_bad_row_is_named_and_the_good_ones_are_read(tmp_path):
    path = tmp_path / "a.csv"
    bad = ["x,red,p", '7,"red"dark,p', "7,red", "7,red,p,q", "7,red,", "1e999,red,p"]
    rows = [f"{k},c{k % 3},{'pq'[k % 2]}" for k in range(200)]
    for place, row in enumerate(bad):
        rows.insert(30 * place + 5, row)
    path.write_text("a,b,kind\n" + "\n".join(rows) + "\n")
    table = read(path, on_error="skip")
    assert table.skipped == len(bad)
    assert [int(complaint.split(":")[1]) for complaint in table.complaints] == [30 * k + 7 for k in range(len(bad))]
    assert table.X[:, 0].toarray().ravel().tolist() == list(range(200))


def test_open_streams_are_read_as_tables():
    assert read(io.StringIO("a,kind\n1,x\n2,y\n"), format="csv").X.tolist() == [[1], [2]]
