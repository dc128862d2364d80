"""The readers: what files mean, and that every bad record is named by file, line and column."""

import gzip
import io
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from perceptrons import Perceptron
from perceptrons.data import DataFileError, read


@pytest.fixture
def write(tmp_path):
    """Write content to a file of the given name and return its path."""

    def written(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def a_model(n_features, names=None):
    """A model that learned from arrays, with or without names of its features."""
    X = np.eye(2, n_features)
    return Perceptron(max_iter=1).fit(X if names is None else pd.DataFrame(X, columns=names), ["x", "y"])


def refused(path, place, about, **wanted):
    """Reading fails with one line that starts with the place and says what it is about."""
    with pytest.raises(DataFileError) as caught:
        read(path, **wanted)
    message = str(caught.value)
    assert message.startswith(f"{path}:{place}: " if place else f"{path}: "), message
    assert re.search(about, message), message
    assert "\n" not in message
    return message


# ---- CSV


def test_csv_takes_names_from_a_header_and_the_label_from_the_last_column(write):
    table = read(write("a.csv", "height,width,kind\n1.5,2,tall\n.5,-3e1,flat\n"))
    assert table.X.tolist() == [[1.5, 2.0], [0.5, -30.0]]
    assert table.X.dtype == np.float64
    assert table.y.tolist() == ["tall", "flat"]
    assert (table.feature_names, table.label_name) == (["height", "width"], "kind")


def test_csv_without_header_has_no_names(write):
    table = read(write("a.csv", "1,2,0\n3,4,1\n"))
    assert table.X.tolist() == [[1, 2], [3, 4]]
    assert table.y.tolist() == [0, 1]
    assert (table.feature_names, table.label_name) == (None, None)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "-1"], [1, -1]),
        (["+1", "0"], [1, 0]),
        (["1.0", "2."], [1, 2]),
        (["1.5", "2"], ["1.5", "2"]),
        (["01", "2"], ["01", "2"]),
        (["a", "2"], ["a", "2"]),
        (["9" * 30, "2"], ["9" * 30, "2"]),
        (["+", "-"], ["+", "-"]),
    ],
)
def test_labels_become_whole_numbers_only_if_all_look_like_it(write, labels, expected):
    path = write("a.csv", "".join(f"1,{label}\n" for label in labels))
    assert read(path).y.tolist() == expected
    assert read(path, text_labels=True).y.tolist() == labels


def test_csv_label_column_can_be_named_or_numbered(write):
    path = write("a.csv", "kind,height\na,1\nb,2\n")
    for name in ("kind", "1"):
        table = read(path, label_column=name)
        assert table.y.tolist() == ["a", "b"]
        assert table.feature_names == ["height"]
    assert read(write("b.csv", "7,1\n8,2\n"), label_column="1").y.tolist() == [7, 8]
    refused(path, "1:1", "'colour'.*'kind', 'height'", label_column="colour")
    refused(path, "1:1", "'3'", label_column="3")
    refused(write("b.csv", "7,1\n8,2\n"), "1:1", "no header.*number, from 1 to 2", label_column="kind")


@pytest.mark.parametrize(
    "content",
    [
        "a,b,c\r\n1,2,x\r\n3,4,y\r\n",
        "\ufeffa,b,c\n1,2,x\n3,4,y",
        "a,b,c\n\n1,2,x\n\n3,4,y\n\n  \n",
        'a, b ,"c"\n"1", 2 , x \n3,4,"y"\n',
        "a;b;c\n1;2;x\n3;4;y\n",
        "a\tb\tc\n1\t2\tx\n3\t4\ty\n",
    ],
    ids=["CRLF", "BOM and no last newline", "blank lines", "quotes and spaces", "semicolons", "tabs"],
)
def test_csv_of_every_habit_reads_the_same(write, content):
    table = read(write("a.csv", content))
    assert table.X.tolist() == [[1, 2], [3, 4]]
    assert table.y.tolist() == ["x", "y"]
    assert table.feature_names == ["a", "b"]


def test_csv_cells_may_hold_quoted_commas_and_newlines_and_lines_are_still_counted(write):
    table = read(write("a.csv", 'n,kind\n1,"a, b"\n2,"a\nb"\n'))
    assert table.y.tolist() == ["a, b", "a\nb"]
    refused(write("a.csv", 'n,kind\n1,"a\nb"\n2,c\nx,c\n'), "5:1", "'x' is not a number")


def test_tsv_and_gzip_are_known_by_name(write):
    assert read(write("a.tsv", "1\t2\ta\n")).X.tolist() == [[1, 2]]
    assert read(write("a.csv.gz", gzip.compress(b"1,2,a\n"))).X.tolist() == [[1, 2]]
    assert read(write("a.svm.gz", gzip.compress(b"1 1:2\n"))).X.toarray().tolist() == [[2]]
    refused(write("a.csv.gz", gzip.compress(b"1,2,a\n" * 99)[:30]), "", "gzip")
    refused(write("a.csv.gz", b"1,2,a\n"), "", "gzip")


def test_format_is_chosen_by_name_or_said(write):
    assert read(write("a.data", "1,2,a\n"), format="csv").y.tolist() == ["a"]
    assert read(write("a.txt", "1 1:2\n")).y.tolist() == [1]
    assert read(write("a.data", "1,2,a\n")).y.tolist() == ["a"]
    refused(write("a.data", "nothing\nto learn from\n"), "", "format: choose one of csv, tsv, whitespace, arff, .*npz")
    refused(write("data", ""), "", "the file is empty: choose one of csv.*--format")


@pytest.mark.parametrize(
    ("content", "place", "about"),
    [
        ("", "1:1", "empty"),
        ("\n\n", "1:1", "empty"),
        ("a,b\n", "2:1", "header, but no row"),
        ("a\nx\n", "1:1", "only one column"),
        ("1\n2\n", "1:1", "only one column"),
        ("a,b,a\n1,2,x\n", "1:3", "two columns have.*'a'"),
        (",b,c\n1,2,x\n", "1:1", "no name.*index=False"),
        ("a,b,c\n1,2,x\n1,2\n", "3:3", "2 cells here, but 3"),
        ("a,b,c\n1,2,x\n1,2,x,4\n", "3:4", "4 cells here, but 3"),
        ("a,b,c\n1,,x\n", "2:2", "column 'b'.*no number"),
        ("a,b,c\n1,2,\n", "2:3", "no label"),
        ("a,b,c\n1,2,nan\n", "2:3", "not a label"),
        ("a,b,c\n1,2,x\n1,3,y\n1,two,x\n", "4:2", "column 'b': 'two' is not a number"),
        ("a,b,c\n1,2,x\n1,3,y\n1,?,x\n", "4:2", "'\\?' is not a number"),
        ("a,b,c\n1,2,x\n1,3,y\n1,1_000,x\n", "4:2", "'1_000' is not a number"),
        ("a,b,c\n1,2,x\n1,3,y\n1,٣,x\n", "4:2", "is not a number"),
        ("a,b,c\n1,2,x\n1,3,y\n1,0x1f,x\n", "4:2", "is not a number"),
        ("a;b;c\n1.5;2,5;x\n", "2:2", "decimals with a point"),
        ("a,b,c\n1,2,x\n1,nan,x\n", "3:2", "'nan' is not a finite number"),
        ("a,b,c\n1,2,x\n-inf,1,x\n", "3:1", "not a finite number"),
        ("a,b,c\n1,1e999,x\n", "2:2", "too large"),
        ("a,b,c\n1,1e200,x\n", "2:2", "too large"),
        ("1,red,x\n2,3,y\n3,4,y\n", "1:2", "'red' is not a number.*a header contains no numbers"),
        ("0,1,2,kind\n5,6,7,a\n", "1:1", "header of column numbers"),
        ('a,b,c\n1,2,x\n1,"2,x\n1,2,x\n', "3:1", "a quote is opened"),
        ('a,b,c\n1,"2"3,x\n', "2:2", "quotes"),
        ('a,"b"b,c\n1,2,x\n', "1:2", "quotes"),
        (b"a,b,c\n1,2,x\n1,2,caf\xe9\n", "3:3", "0xe9 is not UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "1:1", "not UTF-8"),
    ],
)
def test_bad_csv_is_refused_at_its_place(write, content, place, about):
    refused(write("bad.csv", content), place, about)


def test_csv_for_a_model_is_matched_by_name_in_any_order(write):
    model = {"like": a_model(2, ["a", "b"])}
    table = read(write("a.csv", "id,b,kind,a\n9,2,x,1\n"), label_column="kind", **model)
    assert table.X.tolist() == [[1, 2]]
    assert table.y.tolist() == ["x"]
    assert table.feature_names == ["a", "b"]
    only_label_left = read(write("a.csv", "kind,b,a\nx,2,1\n"), **model)
    assert only_label_left.label_name == "kind"
    label_last = read(write("a.csv", "id,b,a,kind\n9,2,1,x\n"), **model)
    assert label_last.label_name == "kind"
    unlabelled = write("a.csv", "b,a\n2,1\n")
    assert read(unlabelled, need_labels=False, **model).y is None
    assert read(unlabelled, need_labels=False, **model).X.tolist() == [[1, 2]]
    refused(unlabelled, "1:1", "no label column.*--label-column", **model)
    refused(write("a.csv", "b,c,d,kind\n2,1,3,x\n"), "1:1", "lacks 'a'", **model)


def test_csv_for_a_model_without_names_is_matched_by_count(write):
    with_label, without = write("a.csv", "1,2,x\n"), write("b.csv", "1,2\n")
    assert read(with_label, like=a_model(2)).y.tolist() == ["x"]
    assert read(with_label, like=a_model(2, ["a", "b"])).y.tolist() == ["x"]
    assert read(without, like=a_model(2), need_labels=False).y is None
    refused(without, "1:1", "no label column", like=a_model(2))
    refused(with_label, "1:1", "3 columns here, but the model has 4 features", like=a_model(4))
    refused(with_label, "1:1", "3 columns here, but the model has 1 feature:", like=a_model(1), need_labels=False)


# ---- svmlight


def test_svmlight_counts_from_one_unless_a_zero_occurs(write):
    one = read(write("a.svm", "1 1:5 3:7\n-1 2:6\n"))
    assert sp.issparse(one.X)
    assert one.X.dtype == np.float64
    assert one.X.toarray().tolist() == [[5, 0, 7], [0, 6, 0]]
    assert (one.y.tolist(), one.feature_names) == ([1, -1], None)
    zero = read(write("a.svm", "1 0:5 2:7\n-1 1:6\n"))
    assert zero.X.toarray().tolist() == [[5, 0, 7], [0, 6, 0]]
    assert zero.feature_names == ["0", "1", "2"]


def test_svmlight_for_a_model_that_counts_from_zero_does_so_even_if_no_zero_occurs(write):
    path = write("a.svm", "1 1:5\n")
    assert read(path, like=a_model(3, ["0", "1", "2"])).X.toarray().tolist() == [[0, 5, 0]]
    assert read(path, like=a_model(3)).X.toarray().tolist() == [[5, 0, 0]]


@pytest.mark.parametrize(
    "content",
    [
        "1 1:1 2:2\n2\n",
        "1  1:1   2:2 \n2  \n",
        "1\t1:1\t2:2\n2\t\n",
        "1 1:1 2:2\r\n2\r\n",
        "\ufeff1 1:1 2:2\n2",
        "# heading\n1 1:1 2:2 # a comment: 7:7\n\n   \n2#\n",
        "1 qid:3 1:1 2:2\n2 qid:4\n",
        "1 2:2 1:1\n2\n",
        "1 1:0.25 2:2 1:.75\n2\n",
        "+1 01:1e0 2:+2.\n2\n",
        "1.0 1:1 2:2\n2.0\n",
        "1 1:1 2:2\n2 1:0\n",
    ],
)
def test_svmlight_of_every_habit_reads_the_same(write, content):
    table = read(write("a.svm", content))
    assert table.X.toarray().tolist() == [[1, 2], [0, 0]]
    assert table.y.tolist() == [1, 2]
    assert table.X.has_canonical_format


def test_svmlight_numbers_of_every_form_are_exact(write):
    values = ["1e-3", "-.5", "+3", "0.1", "1E5", "5.", "-0"]
    table = read(write("a.svm", "spam " + " ".join(f"{k}:{value}" for k, value in enumerate(values, 1)) + "\n"))
    assert table.X.toarray()[0].tolist() == [float(value) for value in values]
    assert table.y.tolist() == ["spam"]


@pytest.mark.parametrize(
    ("content", "place", "about"),
    [
        ("", "1:1", "no example"),
        ("# nothing\n\n", "1:1", "no example"),
        ("1\n2\n", "1:1", "no line has any features:"),
        ("1 1:2\n1:2 2:3\n", "2:1", "label is missing"),
        ("qid:1 1:2\n", "1:7", "label is missing"),
        ("1,,2 1:2\n", "1:1", "there is no label"),
        ("5.1,3.5,a\n", "1:1", "--format csv"),
        ("nan 1:2\n", "1:1", "not a label"),
        ("1 1:2\n1 1:2 3:abc\n", "2:7", "'abc' is not a number"),
        ("1 1:2 3:\n", "1:7", "no number"),
        ("1 1: 2\n", "1:3", "no number"),
        ("1 1:2 3\n", "1:7", "'3' is not of the form index:value"),
        ("1 1:2:3 4\n", "1:3", "not of the form index:value"),
        ("1 x:2\n", "1:3", "'x' is not an index"),
        ("1 -1:2\n", "1:3", "'-1' is not an index"),
        ("1 1.0:2\n", "1:3", "not an index"),
        ("1 1:nan\n", "1:3", "not a finite number"),
        ("1 1:2\n2 1:1 2:-inf # x\n", "2:7", "not a finite number"),
        ("1 1:1_0\n", "1:3", "not a number"),
        ("1 1:٣\n", "1:3", "not a number"),
        ("1 1:1e\n", "1:3", "not a number"),
        ("1 1:--1\n", "1:3", "not a number"),
        ("1 1:1\x1c2 2:5\x1c6\n", "1:7", "'2' is not of the form index:value"),
        ("1 1:1,5\n", "1:3", "decimals with a point"),
        ("1 1:2 2:1e999\n", "1:7", "too large"),
        ("1 1:2\n1 1:3 99999999999:1\n", "2:7", "index 99999999999 is too large"),
        ("1 99999999999999999999999:1\n", "1:3", "too large"),
        ("a 1:2 2000000000:4\nb 2:1\n", "1:7", "index 2000000000 is too large"),
        (b"1 1:2\n1 1:\xff\n", "2:5", "not UTF-8"),
    ],
)
def test_bad_svmlight_is_refused_at_its_place(write, content, place, about):
    refused(write("bad.svm", content), place, about)


def test_svmlight_is_padded_to_the_model_and_features_beyond_it_are_refused(write):
    path = write("a.svm", "1 1:1\n2 1:1 2:2\n")
    assert read(path, like=a_model(5)).X.shape == (2, 5)
    assert read(write("b.svm", "1\n"), like=a_model(5)).X.shape == (1, 5)
    refused(path, "2:7", "index 2, but the model has features 1 to 1", like=a_model(1))
    refused(write("c.svm", "1 0:1 2:2\n"), "1:7", "index 2, but the model has features 0 to 1", like=a_model(2))


def test_svmlight_reads_what_scikit_learn_writes(write, rng):
    from sklearn.datasets import dump_svmlight_file

    X, y = sp.random(50, 20, 0.3, format="csr", random_state=1), rng.integers(0, 3, 50)
    for zero_based in (True, False):
        text = io.BytesIO()
        dump_svmlight_file(X, y, text, zero_based=zero_based, comment="made for a test")
        table = read(write("a.svm", text.getvalue()))
        np.testing.assert_allclose(table.X.toarray(), X.toarray()[:, : table.X.shape[1]], rtol=1e-15)
        assert table.y.tolist() == y.tolist()


# ---- npz


@pytest.mark.parametrize(
    ("x", "y"), [("X", "y"), ("x", "y"), ("x_train", "y_train"), ("X_train", "y_train"), ("data", "target"),
                 ("train_images", "train_labels"), ("features", "labels")],
)  # fmt: skip
def test_npz_arrays_are_found_by_their_usual_names(tmp_path, x, y):
    path = tmp_path / "a.npz"
    np.savez(path, **{x: np.arange(6.0).reshape(3, 2), y: ["a", "b", "a"]})
    table = read(path)
    assert table.X.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert table.y.tolist() == ["a", "b", "a"]


def test_npz_with_train_and_test_gives_the_part_asked_for(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X_train=np.ones((2, 1)), y_train=[0, 1], X_test=np.zeros((3, 1)), y_test=[1, 0, 1])
    assert read(path).X.shape == (2, 1)
    assert read(path, part="test").y.tolist() == [1, 0, 1]


def test_npz_pictures_become_rows_and_types_stay(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.zeros((4, 2, 3), np.float32), y=np.array([[1], [2], [1], [2]], np.uint8))
    table = read(path)
    assert table.X.shape == (4, 6)
    assert table.X.dtype == np.float32
    assert table.y.tolist() == [1, 2, 1, 2]
    np.savez(path, X=np.zeros((2, 1)), y=np.array([True, False]))
    assert read(path).y.tolist() == [True, False]
    np.savez(path, X=np.zeros((2, 1)), y=np.array([1.0, -1.0]))
    assert read(path).y.tolist() == [1, -1]
    np.savez(path, X=np.zeros((2, 1)), y=np.array([b"a", b"b"]))
    assert read(path).y.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("arrays", "about"),
    [
        ({"X": np.ones((2, 2))}, "no array of labels"),
        ({"y": [1, 2]}, "no array of examples, only y"),
        ({"X": np.ones((2, 2)), "y": [1, 2, 3]}, "shape \\(3,\\), but there are 2 examples"),
        ({"X": np.ones(2), "y": [1, 2]}, "shape \\(2,\\)"),
        ({"X": np.ones((0, 2)), "y": []}, "the array is empty"),
        ({"X": np.array([["a"], ["b"]]), "y": [1, 2]}, "table of numbers"),
        ({"X": np.array([[1j], [2]]), "y": [1, 2]}, "table of numbers"),
        ({"X": np.array([[1.0, 2.0], [3.0, np.nan]]), "y": [1, 2]}, "row 1, column 1.*nan"),
        ({"X": np.array([[1.0], [np.inf]]), "y": [1, 2]}, "row 1, column 0.*inf"),
        ({"X": np.array([[1], [1e30]], np.float32), "y": [1, 2]}, "row 1, column 0.*1e\\+30"),
        ({"X": np.ones((2, 1)), "y": [0.5, np.nan]}, "label 1 is not finite"),
        ({"X": np.ones((2, 1)), "y": 2 * np.ones((2, 2))}, "one column per label"),
        ({"X": np.array([[1], [None]], dtype=object), "y": [1, 2]}, "Python objects, which are never loaded"),
    ],
)
def test_bad_npz_is_refused(tmp_path, arrays, about):
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    refused(path, "", about)


def test_files_that_are_no_npz_are_refused_and_run_nothing(tmp_path, write):
    import pickle

    class Hostile:
        def __reduce__(self):
            return (pytest.fail, ("code of a file was run",))

    refused(write("a.npz", pickle.dumps(Hostile())), "", "Python objects|not a complete npz")
    refused(write("a.npz", b""), "", "not a complete npz")
    refused(write("a.npz", b"PK\x03\x04 and then nothing"), "", "not a complete npz")
    refused(write("a.npz", b"1,2,a\n"), "", "not a complete npz|Python objects")
    whole = tmp_path / "whole.npz"
    np.savez(whole, X=np.ones((50, 3)), y=np.arange(50))
    refused(write("cut.npz", whole.read_bytes()[:500]), "", "not a complete npz")
    np.save(tmp_path / "one.npy", np.ones((2, 2)))
    refused(write("one.npz", (tmp_path / "one.npy").read_bytes()), "", "not a complete npz")


def test_a_sparse_matrix_saved_by_scipy_has_no_labels_but_can_be_predicted(tmp_path):
    X = sp.random(5, 4, 0.5, format="csc", random_state=0)
    path = tmp_path / "a.npz"
    sp.save_npz(path, X)
    refused(path, "", "without labels.*dump_svmlight_file")
    table = read(path, need_labels=False, like=a_model(4))
    assert (table.X != X).nnz == 0
    assert table.y is None
    refused(path, "", "4 columns, but the model has 3", need_labels=False, like=a_model(3))


def test_files_that_cannot_be_opened_are_errors_of_the_system(tmp_path):
    for name in ("none.csv", "none.svm", "none.npz"):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / name)
    for name in ("folder.csv", "folder.npz"):
        (tmp_path / name).mkdir()
        with pytest.raises(IsADirectoryError):
            read(tmp_path / name)


# ---- lines


def test_every_example_knows_the_line_it_starts_on(write):
    content = 'size,"two\nlines",kind\n\n1,2,a\n\n3,4,"b\nc"\n\n5,6,"a"\n'
    assert read(write("a.csv", content)).lines.tolist() == [4, 6, 9]
    assert read(write("a.csv", "\ufeff1,2,a\r\n\r\n3,4,b\r\n")).lines.tolist() == [1, 3]
    assert read(write("a.csv.gz", gzip.compress(b"a,kind\n1,x\n2,y\n"))).lines.tolist() == [2, 3]
    content = "# a comment\n\n1 1:2 # here\n   \n-1 qid:3 1:5\n# the end\n1\n"
    assert read(write("a.svm", content)).lines.tolist() == [3, 5, 7]
    assert read(write("a.svm", content)).lines.dtype == np.int64


def test_an_npz_file_has_no_lines(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.ones((2, 3)), y=np.arange(2))
    assert read(tmp_path / "a.npz").lines is None
    assert read(tmp_path / "a.npz").part(np.array([1])).lines is None


def test_a_part_of_a_table_keeps_examples_labels_and_lines_together(write):
    part = read(write("a.csv", "a,kind\n1,x\n\n2,y\n3,z\n")).part(np.array([2, 1]))
    assert (part.X.tolist(), part.y.tolist(), part.lines.tolist()) == ([[3], [2]], ["z", "y"], [5, 4])
    assert (part.feature_names, part.label_name) == (["a"], "kind")
    part = read(write("a.svm", "1 1:1\n\n2 1:2\n"), need_labels=False).part(np.array([1]))
    assert (part.X.toarray().tolist(), part.y.tolist(), part.lines.tolist()) == ([[2]], [2], [3])
