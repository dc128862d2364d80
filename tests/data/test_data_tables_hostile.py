"""Tables of any bytes: what is read is what the plain versions read, every other record is counted, nothing crashes."""

import gzip
import io
import json
import random
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from perceptrons.data import DataFileError, read, source, stream
from perceptrons.data.arrow import _Watched
from perceptrons.data.conll import read_conll
from perceptrons.features.cells import Contents
from perceptrons.features.preparation import Preparation
from perceptrons.features.values import Missing
from tests.reference import tables as reference

SHARED = {"on_error": "skip", "text_labels": True, "need_labels": True, "many_classes": True}
CSV_BITS = [
    b",", b",", b",", b"\n", b"\n", b"\n", b"\r\n", b"\r", b'"', b'""', b" ", b"\t", b";", b"1", b"2.5", b"-3e2",
    b"+.5", b"nan", b"inf", b"1e400", b"1e101", b"0x10", b"1_000", b"x", b"red", b"\xc3\xa9", b"\xff", b"\x00",
    b"\xef\xbb\xbf", b"1,a,b\n", b'1,"a\n",b\n',
]  # fmt: skip
JSON_BITS = [
    b'{"n": 1, "c": "x", "label": "y"}', b'{"n":2.5,"c":"x","label":1}', b"\n", b"\n", b"\n", b"\r\n", b"{", b"}", b"[",
    b"]", b",", b":", b'"', b"null", b"true", b'"n"', b'"c"', b'"label"', b'"z"', b"1", b"-2.5e3", b"1e999", b"NaN",
    b"Infinity", b"\\ud800", b"\\u00e9", b"\xff", b"\xc3\xa9", b'"x"', b" ", b"\x00", b'["x", "y"]', b'{"label": "a"}',
    b'{"label": 1, "z": {"n": 3}}',
]  # fmt: skip


@pytest.fixture(params=[40, 2**20], ids=["small pieces", "one piece"])
def piece(request, monkeypatch):
    monkeypatch.setattr(source, "PIECE", request.param)


def examples_of(reader):
    """What was read as the plain versions give it, and the lines complained of."""
    found = []
    for block in reader:
        names = reader.columns.names()
        X = block.X.toarray()
        for row, line, label in zip(X, block.lines.tolist(), block.y.tolist(), strict=True):
            marks = [names[column].partition("=")[2] for column in np.flatnonzero(row[1:]) + 1]
            found.append(reference.Example(line, float(row[0]), marks[0] if marks else None, label))
            assert set(row[1:].tolist()) <= {0.0, 1.0}
            assert len(marks) <= 1
    return found


def complained(reader):
    return [int(complaint.split(":")[1]) for complaint in reader.complaints]


@given(st.lists(st.sampled_from(CSV_BITS) | st.binary(max_size=3), max_size=40).map(b"".join))
@settings(deadline=None, max_examples=150)
def read_csv_as_the_plain_version(path, content):
    first_line = next((line for line in content.splitlines() if line.strip()), b"")
    assume(b";" not in first_line)  # it could be taken for the delimiter; the plain version knows commas only
    path.write_bytes(content)
    reader = stream(path, format="csv", header=False, numbers=["1"], categories=["2"], label_column=3, **SHARED)
    examples, bad, open_line = reference.csv_examples(content)
    narrow = reference.width_of(content) in (1, 2)
    if open_line is not None or narrow:
        with pytest.raises(DataFileError, match="not closed" if not narrow else "no column|no header|not closed"):
            examples_of(reader)
        return
    assert examples_of(reader) == examples
    assert reader.skipped == len(bad)
    assert complained(reader) == bad[:10]


def test_csv_of_any_bytes_is_read_as_the_plain_version_reads_it(tmp_path, piece):
    read_csv_as_the_plain_version(tmp_path / "any.csv")


def known_columns(path, values):
    """Columns of a model that knows the number n and these values of c."""
    path.write_text("".join(json.dumps({"n": 1, "c": value, "label": "a"}) + "\n" for value in values))
    reader = stream(path, format="jsonl", **SHARED)
    assert sum(len(block.lines) for block in reader) == len(values)
    reader.columns.frozen = True
    return reader.recipe() | {"columns": reader.columns}


@given(st.lists(st.sampled_from(JSON_BITS) | st.binary(max_size=2), max_size=30).map(b"".join))
@settings(deadline=None, max_examples=150)
def read_json_as_the_plain_version(path, recipe, content):
    path.write_bytes(content)
    reader = stream(path, **SHARED | recipe)
    found = examples_of(reader)
    examples, bad = reference.json_examples(content)
    known = {name.partition("=")[2] for name in recipe["columns"].names()[1:]}
    assert found == [
        example._replace(category=example.category if example.category in known else None) for example in examples
    ]
    assert reader.skipped == len(bad)
    assert complained(reader) == bad[:10]


def test_json_of_any_bytes_is_read_as_the_plain_version_reads_it(tmp_path, piece):
    recipe = known_columns(tmp_path / "known.jsonl", ["x", "", "y", "true", "1"])
    read_json_as_the_plain_version(tmp_path / "any.jsonl", recipe | {"text_labels": True})


@given(st.lists(st.sampled_from(CSV_BITS + JSON_BITS) | st.binary(max_size=3), max_size=40).map(b"".join))
@settings(deadline=None, max_examples=60)
def read_or_refuse(path, format, options, content):
    path.write_bytes(content)
    reader = stream(path, format=format, **SHARED | options)
    try:
        blocks = list(reader)
    except DataFileError:
        return
    for block in blocks:
        assert np.isfinite(block.X.data if sp.issparse(block.X) else block.X).all()
        assert block.X.shape[0] == len(block.lines)
        assert (np.diff(block.lines) > 0).all()


@pytest.mark.parametrize("options", [{}, {"hash_bits": 3, "need_labels": False}, {"text_column": "n"}], ids=str)
@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_any_bytes_are_read_or_refused(tmp_path, format, options):
    read_or_refuse(tmp_path / "any", format, options)


def parquet(table):
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink, row_group_size=50)
    return sink.getvalue()


def arrow(table, kind):
    sink = io.BytesIO()
    with getattr(pa.ipc, f"new_{kind}")(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=40)
    return sink.getvalue()


@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
def test_broken_parquet_and_arrow_is_read_or_refused(tmp_path, kind):
    table = pa.table(
        {
            "a": np.arange(100.0),
            "c": pa.array([f"v{k % 7}" for k in range(100)]).dictionary_encode(),
            "s": [f"text {k}" for k in range(100)],
            "tags": [["p", "q"][: k % 3] for k in range(100)],
            "label": ["x", "y"] * 50,
        }
    )
    whole = parquet(table) if kind == "parquet" else arrow(table, kind)
    rng, path, refused = random.Random(1), tmp_path / "a", 0
    for _ in range(80):
        content = bytearray(whole)
        if rng.random() < 0.3:
            del content[rng.randrange(len(content)) :]
        for _ in range(rng.randrange(1, 4)):
            if content:
                content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content)
        reader = stream(path, format="parquet" if kind == "parquet" else "arrow", text_column="s", **SHARED)
        try:
            rows = sum(len(block.lines) for block in reader)
        except DataFileError as error:
            complaint = str(error)
        else:
            complaint = ""
            assert rows + reader.skipped == 100
        refused += complaint != ""
        assert "\n" not in complaint
    assert refused > 30


def test_parquet_that_says_of_a_column_what_does_not_fit_it_is_read_or_refused(tmp_path):
    """pyarrow's metadata of a column would end the process: "Definition level histogram size mismatch"."""
    table = pa.table({"size": [1.0, None, 3.0], "kind": ["a", "b", None], "label": ["y", "n", "y"]})
    whole, path, complaints = parquet(table), tmp_path / "a", []
    for place in range(len(whole) // 4, len(whole) - 8):
        path.write_bytes(whole[:place] + b"A" + whole[place + 1 :])
        try:
            list(stream(path, format="parquet", **SHARED))
        except DataFileError as error:
            complaints.append(str(error))
    assert any("histogram" in complaint for complaint in complaints)


def test_of_an_arrow_stream_that_says_it_is_longer_than_memory_is_read_what_is_there():
    assert _Watched(io.BytesIO(b"twelve bytes")).read(2**62) == b"twelve bytes"


def test_a_small_compressed_file_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("perceptrons.data.source.memory", lambda: 400_000_000)
    monkeypatch.setattr("perceptrons.data.reader.memory", lambda: 200_000_000)
    monkeypatch.setattr("perceptrons.data.source.WHOLE_FILE_CHUNK", 2**20)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,kind\n" + b"1,x\n" * 25_000_000, 1))
    tracemalloc.start()
    with pytest.raises(ValueError, match="more than 80,000,000 bytes of parsed data"):
        read(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 300e6
    column = tmp_path / "a.conll.gz"
    column.write_bytes(gzip.compress(b"a\tx\n" * 25_000_000, 1))
    with pytest.raises(ValueError, match="when uncompressed"):
        read_conll(column)


class CountedName(str):
    """A name that counts with how many others it is compared."""

    n_compared = 0

    def __eq__(self, other):
        CountedName.n_compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_columns_with_missing_numbers_are_found_without_comparing_all_names():
    names = tuple(CountedName(f"k{k}") for k in range(500))
    zeros, ones = np.zeros(500), np.ones(500)
    again = tuple(CountedName(name) for name in names)
    prepared = Preparation(
        "standard", Missing.of((), True), names=names, fills=zeros, centres=zeros, scales=ones, indicators=again
    )  # fmt: skip
    CountedName.n_compared = 0
    numbers, _ = prepared.apply(Contents(np.full((2, 500), np.nan), {}, [], []))
    assert (numbers[:, 500:] == 1).all()
    assert CountedName.n_compared < 20 * 500


def changed_workbook(path, old, new):
    """A small workbook in whose sheet some text is another."""
    pd.DataFrame({"a": [1, 2], "label": ["x", "y"]}).to_excel(path, index=False)
    content = io.BytesIO()
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(content, "w") as target:
        for part in source.infolist():
            text = source.read(part)
            target.writestr(part, text.replace(old, new) if part.filename.endswith("sheet1.xml") else text)
    path.write_bytes(content.getvalue())
    return path


def test_a_row_that_no_sheet_has_is_refused_soon(tmp_path):
    path = changed_workbook(tmp_path / "a.xlsx", b'<row r="3"', b'<row r="1000000000000"')
    with pytest.raises(DataFileError, match="more than 1,048,576 rows"):
        read(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'<c r="A3"', b'<c r="A900000"'),
        (b'<row r="3"', b'<row r="900000"'),
        (b'<c r="B3"', b"<c\tr = 'XFD900000'"),
        (b"</sheetData>", b'<row r="900000"/><row>' + 3000 * b"<c/>" + b"<c><v>1</v></c></row></sheetData>"),
    ],
)
def test_cells_that_are_far_apart_are_refused_before_the_area_is_allocated(tmp_path, old, new, monkeypatch):
    path = changed_workbook(tmp_path / "a.xlsx", old, new)
    monkeypatch.setattr("perceptrons.data.xlsx.memory", lambda: 50_000_000)
    with pytest.raises(DataFileError, match=r"its cells are spread over .* too many for the memory"):
        read(path)


@pytest.mark.parametrize("part", ["content.xml", "xl/workbook.bin"])
def test_an_archive_of_another_program_is_not_read_as_a_workbook(tmp_path, part):
    path = changed_workbook(tmp_path / "a.xlsx", b"", b"")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(part, "")
    with pytest.raises(DataFileError, match="not a complete xlsx file"):
        read(path)


def test_what_a_workbook_says_of_its_size_does_not_count(tmp_path):
    path = changed_workbook(tmp_path / "a.xlsx", b"A1:B3", b"A1:ZZ1000000000000")
    assert read(path).X.tolist() == [[1], [2]]


def test_a_workbook_is_read_from_a_pipe(tmp_path):
    content = changed_workbook(tmp_path / "a.xlsx", b"", b"").read_bytes()
    pipe = io.BufferedReader(OnlyOnce(content))
    assert read(pipe, format="xlsx").X.tolist() == [[1], [2]]


class OnlyOnce(io.RawIOBase):
    """Bytes that come once, as those of a pipe."""

    def __init__(self, content):
        self._stream = io.BytesIO(content)

    def readable(self):
        return True

    def readinto(self, buffer):
        return self._stream.readinto(buffer)


def test_a_workbook_that_is_too_large_uncompressed_is_refused(tmp_path, monkeypatch):
    path = changed_workbook(tmp_path / "a.xlsx", b"", b"")
    monkeypatch.setattr("perceptrons.data.xlsx.memory", lambda: 1000)
    with pytest.raises(DataFileError, match="bytes when uncompressed, too many for the memory"):
        read(path)


def test_a_compressed_file_that_is_no_workbook_is_refused_by_its_first_bytes(tmp_path, monkeypatch):
    (tmp_path / "a.xlsx.gz").write_bytes(gzip.compress(bytes(2**20)))
    monkeypatch.setattr("perceptrons.data.source.WHOLE_FILE_CHUNK", 1000)
    monkeypatch.setattr("perceptrons.data.source.memory", lambda: 5000)  # it is refused before so much has been read
    with pytest.raises(DataFileError, match="not a complete xlsx file"):
        read(tmp_path / "a.xlsx.gz")


@pytest.mark.parametrize("form", ["csv", "arff"])
def test_more_columns_than_a_table_may_have_are_refused(form, monkeypatch):
    monkeypatch.setattr("perceptrons.data.table_reader.MAX_COLUMNS", 50)
    monkeypatch.setattr("perceptrons.data.arff.MAX_COLUMNS", 50)
    text = ",".join(f"c{k}" for k in range(51)) + "\n" + ",".join("1" * 51) + "\n"
    if form == "arff":
        text = "@relation r\n" + "".join(f"@attribute c{k} numeric\n" for k in range(51)) + "@data\n"
    with pytest.raises(DataFileError, match="a table may have 50"):
        read(io.StringIO(text), format=form)
