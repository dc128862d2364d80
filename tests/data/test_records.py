"""Records that lack something, have too much, or are not examples: said aloud, never answered in silence."""

import io
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import perceptrons
from perceptrons import KernelPerceptron, Perceptron
from perceptrons.data import DataFileError, stream
from perceptrons.engine.training import memory
from tests.support.doors import records, rows_of, same_matrix, write

POINTS = [{"height": 1.5, "color": "red", "label": "a"}, {"height": -1.0, "color": "blue", "label": "b"}]


def json_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def points(run, tmp_path):
    """A model that learned from JSON Lines, and its file."""
    data = json_lines(tmp_path / "points.jsonl", POINTS * 5)
    assert run("train", data, "--epochs", 2, "--quiet", "-o", tmp_path / "points.model")[0] == 0
    return tmp_path / "points.model"


# ---- one line of output for every record

BAD = {
    "csv": ("size,label\n1,a\n-1,b\n2,a\n-2,b\n", "x,a\n3,a\ninf,b\n\n-3,b\n1,2,3\n", [0, 2, 4]),
    "jsonl": (
        '{"size": 1, "label": "a"}\n{"size": -1, "label": "b"}\n',
        '{"size": 1\n{"size": 2}\n[]\n\n{"size": -3, "label": 1}\n{"size": "x"}\n',
        [0, 2, 4],
    ),
    "svm": ("a 1:1\nb 1:-1\n", "a 1:x\na 1:1\na 1:0 1\nb 1:-2\nb z\n", [0, 2, 4]),
    "vw": ("1 | x:1\n2 | x:-1\n", "1 | x:nan\n1 | x:2\n1 2 3 4 5 | x\n2 | x:-3\n1\n", [0, 2, 4]),
}


@pytest.mark.parametrize("form", BAD)
def test_a_record_that_is_skipped_keeps_its_line_of_the_output(run, tmp_path, form):
    good, bad, places = BAD[form]
    (tmp_path / f"good.{form}").write_text(good)
    header = good.partition("\n")[0] + "\n" if form == "csv" else ""
    (tmp_path / f"bad.{form}").write_text(header + bad)
    assert run("train", tmp_path / f"good.{form}", "--epochs", 3, "--quiet", "-o", tmp_path / "m")[0] == 0
    code, out, err = run("predict", tmp_path / "m", tmp_path / f"bad.{form}", "--on-error", "skip")
    lines = out.split("\n")[:-1]
    assert code == 0
    assert len(lines) == 5
    assert [place for place, line in enumerate(lines) if not line] == places
    sound = [line for line in bad.splitlines() if line]
    (tmp_path / f"rest.{form}").write_text(header + f"{sound[1]}\n{sound[3]}\n")
    assert [line for line in lines if line] == run("predict", tmp_path / "m", tmp_path / f"rest.{form}")[1].split()
    assert err.startswith("3 records were skipped")
    _, out, _ = run("predict", tmp_path / "m", tmp_path / f"bad.{form}", "--on-error", "skip", "--json", "--scores")
    objects = [json.loads(line) for line in out.splitlines()]
    assert [place for place, one in enumerate(objects) if one["label"] is None] == places
    for place in places:
        line = objects[place]["line"]
        assert objects[place]["error"].startswith(f"{tmp_path}/bad.{form}:{line}:")
        assert (header + bad).split("\n")[line - 1] == sound[place]
    _, out, _ = run("predict", tmp_path / "m", tmp_path / f"bad.{form}", "--on-error", "skip", "--scores")
    assert {line.count("\t") for line in out.splitlines()} == {1}


def test_blocks_without_a_good_record_have_their_lines_too(run, tmp_path, points, monkeypatch):
    monkeypatch.setattr("perceptrons.data.source.PIECE", 200)
    rows = [{"height": 1.0, "color": "red"}] * 10 + [{"height": "high", "color": "red"}] * 30 + POINTS
    code, out, _ = run("predict", points, json_lines(tmp_path / "some.jsonl", rows), "--on-error", "skip")
    assert code == 0
    assert out == "a\n" * 10 + "\n" * 30 + "a\nb\n"


# ---- keys that are missing, and keys that are unknown


@pytest.mark.parametrize("piece", [50, 2**21])
def test_a_number_that_is_missing_is_the_mean_and_a_misspelt_key_is_told(run, tmp_path, points, piece, monkeypatch):
    monkeypatch.setattr("perceptrons.data.source.PIECE", piece)

    def scores(*rows):
        code, out, err = run("predict", points, json_lines(tmp_path / "some.jsonl", rows), "--scores", "--json")
        assert code == 0
        return [json.loads(line)["scores"] for line in out.splitlines()], err

    found, err = scores(*POINTS, {"color": "red"}, {"color": "red", "height": None}, {"color": "red", "height": "NA"})
    assert err == ""
    mean, zero = scores({"color": "red", "height": 0.25}, {"color": "red", "height": 0})[0]
    assert found[2:] == [mean] * 3
    assert zero != mean
    misspelt, err = scores(*[{"heigth": 1.0, "color": "red"}] * 3)
    assert misspelt == [mean] * 3
    assert err.splitlines() == [
        f"{tmp_path}/some.jsonl: key 'heigth' is unknown to the model and is left out (did you mean 'height'?)"
    ]


@pytest.mark.parametrize("piece", [50, 2**21])
def test_a_number_that_is_missing_is_not_0(run, tmp_path, piece, monkeypatch):
    data, points = json_lines(tmp_path / "points.jsonl", POINTS * 5), tmp_path / "points.model"
    assert run("train", data, "--epochs", 2, "--quiet", "--on-missing", "raise", "-o", points)[0] == 0
    monkeypatch.setattr("perceptrons.data.source.PIECE", piece)
    for rows in ([*POINTS, {"color": "red"}], [*POINTS, {"color": "red", "height": None}]):
        data = json_lines(tmp_path / "some.jsonl", rows)
        code, _, err = run("predict", points, data)
        assert code == 2
        assert err.startswith(f"{data}:3:")
        assert "key 'height': there is no number here" in err
    data = json_lines(tmp_path / "all.jsonl", [{"heigth": 1.0, "color": "red"}] * 3)
    code, _, err = run("predict", points, data)
    assert code == 2
    assert "key 'height' (did you mean 'heigth'?): there is no number here" in err


def test_a_category_that_is_missing_is_an_empty_one(tmp_path):
    rows = [*POINTS, {"height": 0.0, "color": None, "label": "b"}] * 3
    model = Perceptron(init="random").fit_stream(stream(json_lines(tmp_path / "t.jsonl", rows)), epochs=2)
    without, null = ([{"height": 2.0, **color}] for color in ({}, {"color": None}))
    expected = model.decision_function(null)
    assert model.decision_function(without) == expected
    read = stream(json_lines(tmp_path / "u.jsonl", without), like=model, need_labels=False)
    assert model.decision_function(next(iter(read)).X) == expected
    assert model.decision_function([{"height": 2.0, "color": "green"}]) != expected


def test_missing_means_missing_while_learning_too(tmp_path, monkeypatch):
    monkeypatch.setattr("perceptrons.data.source.PIECE", 100)
    data = json_lines(tmp_path / "t.jsonl", [*(POINTS * 5), {"color": "red", "label": "a"}])
    with pytest.raises(DataFileError, match=r"t.jsonl:11:1: key 'height': there is no number here"):
        list(stream(data))


def test_keys_that_some_records_of_the_first_block_lack_may_be_lacking(tmp_path):
    rows = [{"a": 1.0, "b": 2.0, "label": "p"}, {"a": -1.0, "label": "q"}, {"a": 3.0, "b": 1.0, "label": "p"}]
    model = Perceptron().fit_stream(stream(json_lines(tmp_path / "t.jsonl", rows)), epochs=2)
    assert model.source_["optional"] == ["b"]
    np.testing.assert_array_equal(model.decision_function([{"a": 1.0}]), model.decision_function([{"a": 1.0, "b": 0}]))
    with pytest.raises(ValueError, match="row 0: key 'a': there is no number"):
        model.predict([{"b": 1.0}])


def test_bags_of_features_have_no_key_that_must_be_there(tmp_path):
    rng = np.random.default_rng(0)
    rows = [{**{f"w{j}": 1.0 for j in rng.integers(0, 99, 4)}, "label": k % 2} for k in range(50)]
    model = Perceptron().fit_stream(stream(json_lines(tmp_path / "t.jsonl", rows)))
    assert model.predict([{"w3": 1.0}, {"w3": 1.0, "w98": 1.0}]).shape == (2,)


def test_an_unknown_key_is_reported_once_with_what_may_be_meant(run, tmp_path, points):
    rows = [{"height": row["height"], "colour": row["color"], "weight": 3} for row in POINTS]
    data = json_lines(tmp_path / "some.jsonl", rows * 3)
    code, out, err = run("predict", points, data)
    assert (code, out) == (0, "a\nb\n" * 3)
    assert err.splitlines() == [
        f"{data}: key 'colour' is unknown to the model and is left out (did you mean 'color'?)",
        f"{data}: key 'weight' is unknown to the model and is left out",
    ]
    labelled = json_lines(tmp_path / "labelled.jsonl", [{**row, "label": "a"} for row in rows])
    code, out, err = run("evaluate", points, labelled, "--json")
    assert len(json.loads(out)["notices"]) == 2
    model = perceptrons.load(points)
    with pytest.warns(
        UserWarning, match=r"the model does not know them: 'colour' \(did you mean 'color'\?\), 'weight'"
    ):
        assert model.predict(rows[:1]).tolist() == ["a"]


def test_keys_that_came_in_a_later_block_are_known(run, tmp_path, monkeypatch):
    monkeypatch.setattr("perceptrons.data.source.PIECE", 1000)
    rows = records(90)
    for row in rows[40:]:
        row |= {"late": row["size"], "kind": "old" if row["label"] == "odd" else "new"}
    data = json_lines(tmp_path / "t.jsonl", rows)
    for options in ({}, {"text_column": "body"}, {"hash_bits": 6}, {"text_column": "body", "hash_bits": 0}):
        model = Perceptron().fit_stream(stream(data, **options), epochs=2)
        X = rows_of(stream(data, **options))[0]
        reader = stream(data, like=model)
        same_matrix(rows_of(reader)[0], X)
        assert reader.notices == []
        np.testing.assert_array_equal(model.decision_function(rows), model.decision_function(X))


# ---- labels that are not classes


@pytest.mark.parametrize("form", ["csv", "jsonl", "tab", "svmlight", "parquet"])
def test_labels_that_nearly_all_differ_stop_before_anything_is_learned(run, tmp_path, form):
    rows = [{**row, "label": f"text {k}"} for k, row in enumerate(records(60))]
    if form == "svmlight":
        rows = [{**row, "label": k} for k, row in enumerate(rows)]
    data = write(tmp_path / f"t.{'svm' if form == 'svmlight' else form}", rows, form)
    how = ["--epochs", 1, *(["--format", "text", "--hash-bits", 8] if form == "tab" else [])]
    code, out, err = run("train", data, *how)
    assert (code, out) == (2, "")
    assert err.startswith(f"{data}: 60 different labels")
    assert "--many-classes" in err
    assert err.count("\n") == 1
    assert run("train", data, *how, "--many-classes", "--quiet", "-o", tmp_path / "m")[0] == 0
    assert len(perceptrons.load(tmp_path / "m").classes_) == 60
    assert run("evaluate", tmp_path / "m", data)[0] == 0
    reading = {"format": "text", "hash_bits": 8} if form == "tab" else {}
    with pytest.raises(DataFileError, match="many_classes=True"):
        Perceptron().fit_stream(stream(data, **reading))
    assert len(Perceptron().fit_stream(stream(data, **reading, many_classes=True)).classes_) == 60


def test_labels_that_nearly_all_differ_stop_data_that_are_read_whole(run, refused, tmp_path):
    rows = [{"a": float(k), "price": 100 + k} for k in range(50)]
    data = write(tmp_path / "t.csv", rows, "csv")
    for command in ("train", "diagnose"):
        assert "50 different labels in column 'price' among 50 examples" in refused(command, data)
    assert run("train", data, "--many-classes", "--test-share", 0, "--max-iter", 1, "--quiet")[0] == 0


def test_weights_that_do_not_fit_into_memory_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr(memory, "memory", lambda: 10**6)
    X, y = sp.eye(60, 2000, format="csr"), np.arange(60)
    with pytest.raises(ValueError, match=r"of 60 classes × 2,000 features would need about 1.9 MB of memory, but"):
        Perceptron().fit(X, y)
    model = Perceptron().partial_fit(X[:5], y[:5])
    before = model.coef_
    with pytest.raises(ValueError, match="would need about"):
        model.partial_fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(model.coef_, before)
    assert Perceptron().fit(X, y % 3).classes_.tolist() == [0, 1, 2]
    assert KernelPerceptron().fit(X.toarray(), y % 3).classes_.tolist() == [0, 1, 2]


# ---- examples in memory, in the form that the model learned from


@pytest.fixture(scope="module")
def cars(tmp_path_factory):
    """A model of a table with a number, a category and a text."""
    rows = [{name: row[name] for name in ("size", "shop", "body", "label")} for row in records(30)]
    data = write(tmp_path_factory.mktemp("cars") / "t.csv", rows, "csv")
    return rows, Perceptron().fit_stream(stream(data, text_column="body", hash_bits=0), epochs=2)


def test_the_label_and_other_columns_may_be_there_or_not(cars):
    rows, model = cars
    without = [{name: value for name, value in row.items() if name != "label"} for row in rows]
    expected = model.predict(rows).tolist()
    assert model.predict(without).tolist() == expected
    assert model.predict(pd.DataFrame(without).assign(more=1)).tolist() == expected
    assert model.score(pd.DataFrame(rows), [row["label"] for row in rows]) == np.mean(
        model.predict(rows) == [row["label"] for row in rows]
    )


def test_what_does_not_fit_is_named_by_row_and_column(cars):
    rows, model = cars
    frame = pd.DataFrame(rows)
    with pytest.raises(ValueError, match=r"X has no column 'size' \(did you mean 'sizes'\?\)"):
        model.predict(frame.rename(columns={"size": "sizes"}))
    with pytest.raises(ValueError, match="X, row 3, column 'size': there is no number here"):
        model.predict(frame.assign(size=[None if k == 3 else 1.0 for k in range(30)]))
    with pytest.raises(ValueError, match="X, row 0, column 'size': 'big' is not a number"):
        model.predict(frame.assign(size="big"))
    with pytest.raises(ValueError, match="X, row 2: key 'size': 'inf' is not a finite number"):
        model.predict([*rows[:2], {**rows[2], "size": np.inf}])
    with pytest.raises(TypeError, match="X is one record"):
        model.predict(rows[0])
    with pytest.raises(TypeError, match=r"row 0: a text is not a record: .* 'size', 'shop', 'body'"):
        model.predict(["free money"])


def test_a_model_of_one_column_of_texts_takes_a_list_of_texts(tmp_path):
    rows = [{"body": row["body"], "label": row["label"]} for row in records(30)]
    data = write(tmp_path / "t.csv", rows, "csv")
    model = Perceptron().fit_stream(stream(data, text_column="body"), epochs=2)
    texts = [row["body"] for row in rows]
    np.testing.assert_array_equal(model.decision_function(texts), model.decision_function(rows))


def test_a_model_of_texts_refuses_what_is_no_list_of_texts(tmp_path):
    data = write(tmp_path / "t.txt", records(30), "tab")
    model = Perceptron().fit_stream(stream(data, format="text"))
    with pytest.raises((TypeError, ValueError), match=r"a list of texts|one column of texts|every row must be a text"):
        model.predict([{"text": "free money"}])
    with pytest.raises(ValueError, match="one column of texts"):
        model.predict(pd.DataFrame({"text": ["free money"]}))


def test_frames_of_float32_are_read_as_files_of_it_are(tmp_path):
    frame = pd.DataFrame({"a": [1.0, -1.0, 0.1], "b": [0.3, 2.0, 1.0]}, dtype="float32").assign(label=["p", "q", "p"])
    frame.to_parquet(tmp_path / "t.parquet")
    reader = stream(tmp_path / "t.parquet")
    model = Perceptron().fit_stream(reader, epochs=3)
    X = rows_of(reader)[0]
    assert X.dtype == np.float32
    found = model.decision_function(frame)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, model.decision_function(X))


def test_open_streams_are_read_as_files_are(tmp_path):
    rows = records(30)
    data = write(tmp_path / "t.csv", rows, "csv")
    text = data.read_text()
    expected = rows_of(stream(data, text_column="body"))
    for opened in (io.StringIO(text), io.BytesIO(text.encode()), data.open(), data.open("rb")):
        with opened:
            reader = stream(opened, format="csv", text_column="body")
            for _ in range(2):  # as often as you like, where it can seek
                found = rows_of(reader)
                same_matrix(found[0], expected[0])
                assert found[1].tolist() == expected[1].tolist()
    assert stream(io.StringIO(text)).format == "csv"
    with pytest.raises(DataFileError, match="<stream 1>: neither its name nor its content tells the format"):
        stream(io.StringIO("some words\n"))
    with data.open() as named:
        assert stream(named).format == "csv"


class Piped(io.StringIO):
    def seekable(self):
        return False


def test_a_stream_that_cannot_seek_is_read_once(tmp_path):
    reader = stream(Piped("a,label\n1,p\n2,q\n"), format="csv")
    assert rows_of(reader)[1].tolist() == ["p", "q"]
    with pytest.raises(DataFileError, match="<stream 1>: it has already been read, and can be read only once"):
        list(reader)
