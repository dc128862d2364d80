"""ARFF, whitespace tables and xlsx: the same tables as CSV and JSON Lines give, bit for bit, and clear errors."""

import csv
import datetime
import io
import json

import numpy as np
import openpyxl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from perceptrons import Perceptron
from perceptrons.data import DataFileError, read, source, stream
from perceptrons.data.arff import ArffTable
from perceptrons.data.csv import _separate_by_tabs
from perceptrons.data.source import Piece
from perceptrons.engine.scan.bytes import ROOM
from tests.reference import arff, sources
from tests.support.doors import as_arff, rows_of, same_matrix, write

ENDINGS = {"csv": ".csv", "arff": ".arff", "whitespace": ".data", "xlsx": ".xlsx", "jsonl": ".jsonl"}
SOME_WORDS = st.text("abcé,;'\"%\\{}?= \u4e2d", max_size=8).map(lambda text: f"w{text}w")


@st.composite
def tables(draw):
    """Records of the same keys: numbers, words and a label."""
    kinds = draw(st.lists(st.booleans(), min_size=1, max_size=4))
    numbers = st.integers(-(10**9), 10**9).map(lambda n: n / 1024)  # whose digits openpyxl writes in full
    columns = {f"c{place}": numbers if number else SOME_WORDS for place, number in enumerate(kinds)}
    rows = draw(st.lists(st.fixed_dictionaries({**columns, "label": st.sampled_from(["a", "b c"])}), min_size=1))
    return [{name: row[name] for name in (*columns, "label")} for row in rows]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(tables(), st.sampled_from([2**21, 64]))
def test_the_same_table_is_read_alike_from_every_format(tmp_path, rows, piece):
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "PIECE", piece)
        for form, ending in ENDINGS.items():
            data = write(tmp_path / f"t{ending}", rows, form)
            found[form] = table = read(data, format=form, many_classes=True)
            assert table.feature_names == found["csv"].feature_names
            same_matrix(table.X, found["csv"].X)
            assert table.y.tolist() == found["csv"].y.tolist() == [row["label"] for row in rows]
            assert table.label_name == "label"
            same_matrix(rows_of(stream(data, format=form, many_classes=True))[0], table.X)


# ---- whitespace


@settings(max_examples=300, deadline=None)
@given(st.text('a1," \t\t\n\n\r', max_size=40))
@example('"a b" "c""d" "e"f g"h "i j\n')
@example(" \t \n")
def test_runs_of_blanks_become_tabs_as_slow_code_has_it(text):
    content = text.encode() + b"\n"
    room = np.frombuffer(content + bytes(ROOM), np.uint8)
    tabbed = bytes(_separate_by_tabs(Piece("x", room, len(content), True))).decode()
    assert tabbed.count("\n") == content.count(b"\n")
    assert tabbed.count("\r") == content.count(b"\r")
    lines = tabbed.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    rows = [(number, line) for number, line in enumerate(lines, 1) if line.strip(" ")]
    found = [(number, next(csv.reader([line], delimiter="\t"))) for number, line in rows]
    assert found == sources.table(text)


def test_whitespace_tables_have_a_header_or_not_and_lines_are_counted(tmp_path):
    path = tmp_path / "a.dat"
    path.write_text('\n  height  "kind of" \n 1.5\t\ttall  \n\n -2e1   flat\n', "utf-8")
    table = read(path, format="whitespace")
    assert (table.X.tolist(), table.y.tolist(), table.feature_names) == ([[1.5], [-20.0]], ["tall", "flat"], ["height"])
    assert table.lines.tolist() == [3, 5]
    path.write_text("1 2 x\n3 4 y\n5 z y\n")
    with pytest.raises(DataFileError, match=r"a.dat:3:2: column '2': 'z' is not a number"):
        read(path)
    reader = stream(path, on_error="skip")
    assert rows_of(reader)[0].tolist() == [[1, 2], [3, 4]]
    assert reader.skipped == 1


def test_a_model_of_a_whitespace_table_reads_other_files_alike(tmp_path):
    (tmp_path / "a.data").write_text("1 0 no\n0 1 yes\n2 0 no\n0 3 yes\n")
    (tmp_path / "b.data").write_text("\n   4  0\n0\t5\n")
    table = read(tmp_path / "a.data")
    model = Perceptron().fit(table.X, table.y)
    table.teach(model)
    (block,) = stream(tmp_path / "b.data", like=model, need_labels=False)
    assert model.predict(block.X).tolist() == ["no", "yes"]
    assert block.lines.tolist() == [2, 3]


# ---- ARFF

HEADER = """% about
@Relation 'some data'

@ATTRIBUTE height   NUMERIC   % in metres
@attribute 'colour of \\'it\\'' {red, 'light blue', "dark \\"blue\\""}
@attribute note STRING
@attribute "day" date "yyyy-MM-dd"
@attribute size integer
@attribute class {yes,no}
@DATA
"""
ROWS = """1.5, red, 'a, b', '2024-01-02', 3, yes
% 2, red, x, y, 3, no

 -1e3 ,'light blue', ? ,"2024-01-03",0, no % said so
{0 2.5, 2 'it\\'s', 5 no}
{}
2	red	none	?	1	yes
0,"dark \\"blue\\"", 50%, x, 1, no
"""


def test_arff_is_read_as_slow_code_reads_it(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text(HEADER + ROWS)
    columns, rows = arff.read(HEADER + ROWS)
    assert [name for name, _, _ in columns] == ["height", "colour of 'it'", "note", "day", "size", "class"]
    as_csv = io.StringIO()
    writer = csv.writer(as_csv, lineterminator="\n")
    writer.writerow([name for name, _, _ in columns])
    writer.writerows([["" if cell is None else cell for cell in cells] for _, cells in rows])
    (tmp_path / "a.csv").write_text(as_csv.getvalue())
    for options in ({}, {"text_column": "note"}, {"ignore": ["day"], "categories": ["size"]}, {"hash_bits": 5}):
        table, expected = (read(tmp_path / name, many_classes=True, **options) for name in ("a.arff", "a.csv"))
        same_matrix(table.X, expected.X)
        assert table.y.tolist() == expected.y.tolist()
        assert table.feature_names == expected.feature_names
        assert table.lines.tolist() == [line for line, _ in rows]
    assert "colour of 'it'=light blue" in read(path).feature_names
    assert "note=it's" in read(path).feature_names


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(tables(), st.booleans(), st.sampled_from([2**21, 1, 40]), st.data())
def test_sparse_rows_of_arff_are_dense_rows_with_zeros_and_first_values(tmp_path, rows, quotes, piece, data):
    names = list(rows[0])
    lines = as_arff(rows).split("\n")
    begin = lines.index("@Data") + 1
    for number, row in enumerate(rows):
        kept = data.draw(st.sets(st.sampled_from(range(len(names)))))
        pairs = [f"{place} {cell}" for place, cell in enumerate(cells_of(row)) if place in kept | {len(names) - 1}]
        lines[begin + number] = "{" + (", " if quotes else ",").join(pairs) + "}"
        for place, name in enumerate(names[:-1]):
            if place not in kept:
                row[name] = 0.0 if isinstance(row[name], float) else ""
    (tmp_path / "a.arff").write_text("\n".join(lines), "utf-8")
    _, expected = arff.read("\n".join(lines))
    for (_, cells), row in zip(expected, rows, strict=True):
        assert [float(a) if isinstance(b, float) else a for a, b in zip(cells, row.values(), strict=True)] == [
            *row.values()
        ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "PIECE", piece)
        X, y = rows_of(stream(tmp_path / "a.arff", many_classes=True))
    dense, same = rows_of(stream(write(tmp_path / "b.arff", rows, "arff"), many_classes=True))
    same_matrix(X, dense)
    assert y.tolist() == same.tolist()


def cells_of(row):
    return [line.strip() for line in as_arff_cells(row)]


def as_arff_cells(row):
    return [as_arff([{"x": value}]).split("\n")[-2] for value in row.values()]


def test_short_sparse_rows_of_many_columns_take_bounded_memory(tmp_path, monkeypatch):
    wide = "".join(f"@attribute a{k} real\n" for k in range(200)) + "@attribute c {x,y}\n@data\n"
    (tmp_path / "a.arff").write_text(wide + "{7 1}\n{200 y}\n{}\n" * 100)
    monkeypatch.setattr(source, "PIECE", 2**12)
    assert max(piece.size for piece in ArffTable().pieces(tmp_path / "a.arff", False)) < 2**12 + 2 * 201 + 400
    table = read(tmp_path / "a.arff")
    assert table.X.shape == (300, 200)
    assert (table.X.sum(), table.X[0, 7]) == (100, 1)
    assert table.y.tolist() == ["x", "y", "x"] * 100
    assert table.lines.tolist() == list(range(203, 503))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("@relation x\n@attribute a numeric\n", "a.arff:2:1: there is no @data"),
        ("@relation x\n@data\n1,2\n", "a.arff:2:1: there is no @attribute before @data"),
        ("@attribute a\n@data\n", "a.arff:1:1: an attribute needs a name and a type"),
        ("@attribute a real\n@attribute 'a' real\n@data\n", "a.arff:2:1: two attributes have the name 'a'"),
        ("@attribute a relational\n@data\n", "a.arff:1:1: attribute 'a' has the type 'relational'"),
        ("hello\n@data\n", "a.arff:1:1: 'hello' is not @relation, @attribute or @data:"),
        ("@attribute a real\n@attribute c {x,y}\n@data\n1,x\n1\n", "a.arff:5:2: 1 cell here, but 2"),
        ("@attribute a real\n@attribute c {x,y}\n@data\n1,x\ntwo,y\n", "a.arff:5:1: column 'a': 'two' is not a number"),
        ("@attribute a real\n@attribute c {x,y}\n@data\n1,x\n?,y\n", "a.arff:5:1: column 'a'"),
        ("@attribute a real\n@attribute c {x,y}\n@data\n1,x\n2,'y\n", "a.arff:5:2: there is text after the closing"),
        ("@attribute a real\n@attribute c {x,y}\n@data\n1,x\n{0 1, 7 y}\n", "a.arff:5:2: 1 cell here, but 2"),
        ("@attribute a real\n@attribute c {x,y}\n@data\n1,x\n{1 y, 0 1}\n", "a.arff:5:2: 1 cell here, but 2"),
        ("@attribute a real\n@attribute c {x,y}\n@data\n% nothing\n", "a.arff:4:1: there are no rows below @data"),
        (
            "@relation 'x: -C 2'\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n",
            "-C 2, but there are 2 attributes",
        ),
        ("", "a.arff:1:1: there is no @data"),
    ],
)
def test_arff_that_makes_no_sense_is_refused_with_the_place(tmp_path, content, what):
    path = tmp_path / "a.arff"
    path.write_text(content)
    with pytest.raises(DataFileError, match=what):
        read(path)


def test_a_label_of_several_can_be_chosen(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text(
        "@relation 'x: -C 2'\n@attribute p {0,1}\n@attribute q {0,1}\n@attribute a real\n@data\n0,1,5\n1,0,6\n"
    )
    table = read(path, label_column="p", ignore=["q"])
    assert (table.X.tolist(), table.y.tolist()) == ([[5.0], [6.0]], [0, 1])


def test_a_model_of_arff_reads_csv_and_one_of_csv_reads_arff(tmp_path):
    rows = [{"size": float(k), "shop": "ab"[k % 2], "label": ("no", "yes")[k % 2]} for k in range(12)]
    files = {form: write(tmp_path / f"t.{form}", rows, form) for form in ("arff", "csv", "xlsx", "jsonl")}
    for form, path in files.items():
        model = Perceptron().fit_stream(stream(path), epochs=2)
        assert model.source_["format"] == form
        for other in files.values():
            same_matrix(rows_of(stream(other, like=model))[0], rows_of(stream(path))[0])


# ---- xlsx


def saved(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.create_sheet("other").append(["not", "read"])
    book.save(path)
    return path


def test_a_workbook_is_the_table_of_its_first_sheet(tmp_path):
    day, moment = datetime.date(2024, 5, 17), datetime.datetime(2024, 5, 17, 10, 30)
    path = saved(
        tmp_path / "a.xlsx",
        [["n", "day", "seen", "ok", "label"], [1, day, moment, True, "a"], [], [2.5, day, None, False, "b"]],
    )
    table = read(path)
    assert table.feature_names == ["n", "day=2024-05-17", "seen=2024-05-17T10:30:00", "ok=true", "seen=", "ok=false"]
    assert table.X.toarray().tolist() == [[1, 1, 1, 1, 0, 0], [2.5, 1, 0, 0, 1, 1]]
    assert table.y.tolist() == ["a", "b"]
    assert table.lines.tolist() == [2, 4]
    saved(path, [["n", "label"], [1, "a"], ["x", "b"], [3, "a"]])
    with pytest.raises(DataFileError, match=r"a.xlsx:3:1: column 'n'"):
        read(path)
    assert read(path, on_error="skip").X.tolist() == [[1], [3]]
    saved(path, [["n", "label"], [1, "a"], [2, "b", "what"]])
    with pytest.raises(DataFileError, match=r"a.xlsx:3:3: this cell's column has no name in the first row"):
        read(path)
    saved(path, [[1, "a"], [2, "b"]])
    assert read(path).X.tolist() == [[1], [2]]


def test_error_cells_of_a_workbook_are_not_missing_values(tmp_path):
    rows = [["n", "kind", "label"], [1, "#N/A", "a"], ["#DIV/0!", "x", "b"], [3, "y", "a"]]
    path = saved(tmp_path / "a.xlsx", rows)
    with pytest.raises(DataFileError, match=r"a.xlsx:3:1: column 'n': '#DIV/0!'"):
        read(path)
    assert read(path, on_error="skip").feature_names == ["n", "kind=#N/A", "kind=y"]


def test_numbers_of_a_workbook_are_the_same_in_columns_of_one_kind_and_of_both(tmp_path):
    rows = [["whole", "half", "both", "label"], [1, 0.5, 1, "a"], [2, 1.5, 2.5, "b"], [3, 2.5, 3, "a"]]
    path = saved(tmp_path / "a.xlsx", rows)
    np.testing.assert_array_equal(read(path).X, [[1, 0.5, 1], [2, 1.5, 2.5], [3, 2.5, 3]])
    names = read(path, categories=["whole", "half", "both"]).feature_names
    assert names[:3] == ["whole=1", "half=0.5", "both=1"]


def test_a_table_that_begins_in_another_column_lacks_names(tmp_path):
    with pytest.raises(DataFileError, match=r"a.xlsx:1:1: this column has no name"):
        read(saved(tmp_path / "a.xlsx", [[None, "n", "label"], [None, 1, "a"]]))


def test_a_workbook_is_read_from_a_stream_and_a_broken_one_is_refused(tmp_path):
    path = saved(tmp_path / "a.xlsx", [["n", "label"], [1, "a"], [2, "b"]])
    content = path.read_bytes()
    assert read(io.BytesIO(content)).X.tolist() == [[1], [2]]
    assert read(saved(tmp_path / "empty.xlsx", [["n", "label"], [1, "a"]])).y.tolist() == ["a"]
    for broken in (content[:-500], b"PK"):
        path.write_bytes(broken)
        with pytest.raises(DataFileError, match=r"not a complete xlsx file.*--format"):
            read(path)
    with pytest.raises(DataFileError, match="no example"):
        read(saved(path, []))


def test_json_lines_of_the_same_name_are_no_workbook(tmp_path):
    path = tmp_path / "a.xlsx"
    path.write_text(json.dumps({"n": 1, "label": "a"}) + "\n")
    assert read(path, format="jsonl").y.tolist() == ["a"]
