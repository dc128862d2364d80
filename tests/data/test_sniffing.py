"""Formats that the name of a file does not tell are found by looking into it, and a pipe is read once all the same."""

import gzip
import io
import os
import re
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perceptrons.data import FORMATS, DataFileError, read, stream
from perceptrons.data.sniffing import LOOK, format_of
from perceptrons.data.source import COMPRESSIONS
from tests.support.doors import records, rows_of, same_matrix, write

LONG = "x" * (LOOK + 10)
EXAMPLES = [
    # svmlight
    ("+1 1:0.5 3:2\n-1 2:1\n", "svmlight"),
    ("1 qid:3 1:2 # a|b, c\n2 qid:3 7:1e-3\n", "svmlight"),
    ("\n\n1 1:2\n1\n2\n", "svmlight"),
    ("spam 3:1\nham 4:1\nnot an example\n", "svmlight"),
    ("1 1:2 2:x\n1 1:2\n", "svmlight"),
    ("1 " + " ".join(f"{k}:1" for k in range(1, 20_000)), "svmlight"),
    ("1 2\n1 3\n", "whitespace"),
    # vw
    ("1 |a good news:2\n-1 |a bad\n", "vw"),
    ("1 0.5 'tag|words x y\n-1 2 |words z\n", "vw"),
    ("|a x y\n|b z\n", "vw"),
    # text
    ("__label__a some text, with a comma\nno label\n", "text"),
    ("  __label__a x\n", "text"),
    ("ham\tsee you\nspam\tfree prize, call now\n", "text"),
    ("ham\tsee you\tat noon\nspam\tfree prize\n", "text"),
    ("1\tsee you\n2\tfree prize\n", "text"),
    ("label\ttext\nham\tsee you\nspam\tfree prize\n", "tsv"),
    ("ham\tyes\nspam\tno\n", "tsv"),
    # tables
    ("1,2,a\n3,4,b\n", "csv"),
    ("a;b;c\n1;2;x\n", "csv"),
    ('a,b\n"x, y",1\n"z",2\n', "csv"),
    ("1, 2, a\n3, 4, b\n", "csv"),
    ("1\t2\ta\n3\t4\tb\n", "tsv"),
    ("a\tb\n1\t2\n3\t4\n", "tsv"),
    ("1 22.08 11.46 2 4\n0 22.67 7 2 8\n", "whitespace"),
    (" 1   2 a\n 3   4 b\n", "whitespace"),
    ("1\t 2 a\n 3   4 b\n", "whitespace"),
    ("height width kind\n1 2 a\n3 4 b\n", "whitespace"),
    # json, arff
    ('{"a": 1}\n{"a": 2}\n', "jsonl"),
    ('\n\n{"a": [1, 2], "b": {"c": "d"}}', "jsonl"),
    (f'{{"a": "{LONG}"}}\n', "jsonl"),
    ("% about\n\n@RELATION x\n@attribute a real\n@data\n1\n", "arff"),
    ("  @attribute a real\n", "arff"),
    # a byte order mark, CRLF, no last newline
    ("\ufeff1,2,a\r\n3,4,b", "csv"),
    ("\ufeff__label__a x", "text"),
    # nothing, or nothing that is known
    ("", None),
    (" \n\t\n\r\n", None),
    ("a word\n", None),
    ("Some prose, of one line.\nAnd another\n", None),
    ("<html>, a page</html>\n", None),
    ("one two three\nfour five six\n", None),
    ("[1, 2]\n", None),
    ("{1 X, 3 Y}\n", None),
    ("1\n2\n3\n", None),
    ("a|b|c\n1|2|3\n", "vw"),  # tables separated by bars are none of the formats
    (LONG, None),
    ("1," * LOOK, "csv"),
    ("1,2\0,3\n", None),
]


@pytest.mark.parametrize(("text", "expected"), EXAMPLES, ids=lambda value: repr(value)[:30])
def test_the_format_of_a_text_is_found(text, expected):
    assert format_of(text.encode()[:LOOK]) == expected


@pytest.mark.parametrize(
    "content", [b"\x89PNG\r\n\x1a\n\0\0\0", b"\xff\xfe1\0,\0", b"PK\x03\x04rest", b"\x7fELF\2\1\1\0"]
)
def test_other_binary_files_have_no_format(content):
    assert format_of(content) is None


def test_latin_1_is_looked_into_all_the_same():
    assert format_of("größe,art\n1,a\n2,b\n".encode("latin-1")) == "csv"


@settings(max_examples=300)
@given(st.binary(max_size=300) | st.text("a1:,;|\t \n\r\"'{}@%_", max_size=60).map(str.encode))
def test_any_bytes_have_a_format_that_there_is_or_none(content):
    assert format_of(content) in (None, *FORMATS)


def test_binary_formats_are_known_by_their_first_bytes(tmp_path):
    table = pa.table({"a": [1.0, 2.0], "label": ["x", "y"]})
    pyarrow.parquet.write_table(table, tmp_path / "parquet")
    pyarrow.feather.write_feather(table, tmp_path / "arrow")
    with pa.OSFile(str(tmp_path / "arrow.stream"), "wb") as file, pa.ipc.new_stream(file, table.schema) as out:
        out.write_table(table)
    write(tmp_path / "book.xlsx", [{"a": 1.0, "label": "x"}, {"a": 2.0, "label": "y"}], "xlsx").rename(
        tmp_path / "book"
    )
    np.savez(tmp_path / "b.npz", X=[[1.0], [2.0]], y=["x", "y"])
    (tmp_path / "b.npz").rename(tmp_path / "npz")
    np.savez_compressed(tmp_path / "c.npz", X=[[1.0], [2.0]], y=["x", "y"])
    (tmp_path / "c.npz").rename(tmp_path / "npz2")
    found = {name: stream(tmp_path / name) for name in ("parquet", "arrow", "arrow.stream", "book", "npz", "npz2")}
    assert [reader.format for reader in found.values()] == ["parquet", "arrow", "arrow", "xlsx", "npz", "npz"]
    for reader in found.values():
        X, y = rows_of(reader)
        assert (X.tolist(), y.tolist()) == ([[1.0], [2.0]], ["x", "y"])


@pytest.mark.parametrize("name", ["a", "a.txt", "a.data", "a.dat", "a.unknown", "a.txt.gz"])
def test_files_without_a_telling_name_are_read_as_what_they_hold(tmp_path, name):
    expected, labels = rows_of(stream(write(tmp_path / "t.svm", records(30), "svmlight")))
    content = (tmp_path / "t.svm").read_bytes()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    reader = stream(tmp_path / name)
    assert reader.format == "svmlight"
    X, y = rows_of(reader)
    same_matrix(X, expected)
    assert y.tolist() == labels.tolist()


def test_an_ending_that_says_the_format_wins(tmp_path):
    (tmp_path / "a.csv").write_text("1 1:2\n1 2:3\n")
    assert stream(tmp_path / "a.csv").format == "csv"
    assert stream(tmp_path / "a.csv", format="svmlight").format == "svmlight"


@pytest.mark.parametrize(
    ("content", "what"), [(b"", "the file is empty"), (b"some prose\n", "neither its name nor its")]
)
def test_what_has_no_format_is_an_error_that_names_all_formats(tmp_path, content, what):
    (tmp_path / "a.dat").write_bytes(content)
    with pytest.raises(DataFileError, match=re.escape(f"choose one of {', '.join(FORMATS)} (--format)")) as caught:
        read(tmp_path / "a.dat")
    assert f"a.dat: {what}" in str(caught.value)
    with pytest.raises(ValueError, match=f"format='excel': choose one of {', '.join(FORMATS)}"):
        read(tmp_path / "a.dat", format="excel")


# ---- what can be read only once


class Piped(io.BytesIO):
    """Bytes that come some at a time and cannot be sought in."""

    def seekable(self):
        return False

    def read(self, n=-1):
        return super().read(min(n, 700) if n > 0 else n)


@pytest.mark.parametrize("compression", [None, *COMPRESSIONS], ids=lambda one: getattr(one, "name", "plain"))
@pytest.mark.parametrize("n", [30, 4000])
def test_a_pipe_is_looked_into_and_read_from_its_beginning(tmp_path, compression, n):
    content = write(tmp_path / "t.svm", records(n), "svmlight").read_bytes()
    assert (len(content) > LOOK) == (n == 4000)
    expected, labels = rows_of(stream(tmp_path / "t.svm"))
    packed = content if compression is None else compression.compress(content)
    reader = stream(Piped(packed))
    assert reader.format == "svmlight"
    X, y = rows_of(reader)
    same_matrix(X, expected)
    assert y.tolist() == labels.tolist()
    with pytest.raises(DataFileError, match="only once"):
        list(reader)


def test_a_compressed_pipe_longer_than_the_look_is_read_whole(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{k % 2} " + " ".join(f"{c}:{rng.random()}" for c in range(1, 20)) for k in range(2000)]
    content = "\n".join(lines).encode() + b"\n"
    packed = gzip.compress(content)
    assert len(packed) > 2 * LOOK
    table = read(Piped(packed))
    assert table.X.shape == (2000, 19)
    same_matrix(table.X, read(io.BytesIO(content)).X)


def test_standard_input_is_looked_into_and_read_once(monkeypatch):
    out, into = os.pipe()
    content = b"height,kind\n" + b"".join(b"%d,%s\n" % (k, b"ab"[k % 2 : k % 2 + 1]) for k in range(20_000))

    def feed():
        with os.fdopen(into, "wb") as pipe:
            pipe.write(content)

    thread = threading.Thread(target=feed)
    thread.start()
    with os.fdopen(out) as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        table = read("-")
        thread.join()
    assert table.source["format"] == "csv"
    assert table.X.ravel().tolist() == list(range(20_000))
    assert str(table.path) == "<stdin>"


def test_streams_that_can_seek_are_read_from_where_they_stood():
    text = io.StringIO("not this\n1,2,a\n3,4,b\n")
    text.readline()
    reader = stream(text)
    for _ in range(2):
        assert rows_of(reader)[0].tolist() == [[1, 2], [3, 4]]


def test_text_in_another_encoding_is_decoded_before_it_is_looked_into(tmp_path):
    (tmp_path / "a.txt").write_bytes("größe,art\n1,a\n2,b\n".encode("utf-16"))
    with pytest.raises(DataFileError, match="utf-16"):
        read(tmp_path / "a.txt")
    assert read(tmp_path / "a.txt", encoding="utf-16").feature_names == ["größe"]
