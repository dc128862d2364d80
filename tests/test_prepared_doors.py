"""A raw table through every door: command, Python, frame, records, stream, saved model and one record agree by bits."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline

import perceptrons
from perceptrons import Perceptron
from perceptrons.cli import main
from perceptrons.data import read, stream
from perceptrons.features import TableFeatures
from tests.support.doors import check_doors, raw_records, rows_of, same_matrix, scores_by_command, write
from tests.support.tiers import slow

FORMS = ["csv", "parquet", *slow("tsv", "jsonl", "arrow")]
LEFT_OUT = {"id", "note"}
OPTIONS = {
    "as usual": ([], {}),
    "products and powers": (
        ["--interactions", "age*shop", "--interactions", "paid*", "--powers", "3", "--scale", "max-abs"],
        {"interactions": ["age*shop", "paid*"], "powers": 3, "scale": "max-abs"},
    ),
    "scaled products": (["--interactions", "*", "--powers", "2"], {"interactions": "*", "powers": 2}),
    "kept and missing": (
        ["--keep", "id", "--missing", "blue", "--missing", "7,8", "--scale", "none"],
        {"keep": ["id"], "missing": ["blue", "7", "8"], "scale": "none"},
    ),
    "hashed": (["--hash-bits", "7"], {"hash_bits": 7}),
    "words of the note": (["--text-column", "note"], {"text_column": "note"}),
}


def without_label(rows):
    return [{name: value for name, value in row.items() if name != "label"} for row in rows]


def in_memory(rows):
    """The same table as a pandas frame, a polars frame, an Arrow table and a list of records."""
    rows = without_label(rows)
    return {
        "pandas": pd.DataFrame(rows),
        "polars": pl.DataFrame(rows),
        "arrow": pa.Table.from_pylist(rows),
        "records": rows,
    }


def train(capsys, data, saved, *options):
    capsys.readouterr()
    assert main(["train", str(data), "--test-share", "0", *options, "-o", str(saved), "--json"]) == 0
    return perceptrons.load(saved), json.loads(capsys.readouterr().out)


def check_same_weights(one, other):
    for name in ("coef_average_", "coef_last_", "intercept_average_", "intercept_last_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("way", OPTIONS)
@pytest.mark.parametrize("form", FORMS)
def test_the_command_learns_what_a_pipeline_of_table_features_learns(capsys, tmp_path, form, way):
    options, parameters = OPTIONS[way]
    rows = raw_records()
    y = [row["label"] for row in rows]
    data = write(tmp_path / f"t.{form}", rows, form)
    model, _ = train(capsys, data, tmp_path / "m", *options)
    said, scores = scores_by_command(capsys, tmp_path / "m", data)
    for kind, table in in_memory(rows).items():
        pipeline = make_pipeline(TableFeatures(**parameters), Perceptron()).fit(table, y)
        features, learned = pipeline.named_steps["tablefeatures"], pipeline.named_steps["perceptron"]
        assert features.columns_.names() == model.columns_.names(), kind
        assert features.source_["preparation"] == model.source_["preparation"], kind
        check_same_weights(learned, model)
        assert pipeline.predict(table).tolist() == said
        np.testing.assert_array_equal(pipeline.decision_function(table), scores)
    names = " ".join(model.columns_.names())
    assert {name for name in LEFT_OUT if f"{name}" in names.split()} == ({"id"} if "--keep" in options else set())


@pytest.mark.parametrize("form", FORMS)
def test_a_saved_model_answers_files_frames_and_single_records_alike(capsys, tmp_path, form):
    rows = raw_records()
    data = write(tmp_path / f"t.{form}", rows, form)
    model, _ = train(capsys, data, tmp_path / "m", "--interactions", "age*paid")
    raw = [*in_memory(rows).values(), pd.DataFrame(rows).iloc[:, ::-1]]
    _, (said, scores) = check_doors(
        capsys, model, tmp_path / "m", data, {"prepare": True, "interactions": "age*paid"}, raw
    )
    records = without_label(rows)
    assert [model.predict_one(record) for record in records] == said
    np.testing.assert_array_equal([model.decision_function([record])[0] for record in records], scores)
    for table in raw:
        same_matrix(read(table, like=model, need_labels=False).X, read(data, like=model).X)


@pytest.mark.parametrize("form", ["csv", "jsonl", *slow("tsv", "parquet", "arrow")])
def test_one_block_of_a_stream_gives_the_weights_and_the_preparation_of_the_whole(capsys, tmp_path, form):
    data = write(tmp_path / f"t.{form}", raw_records(90), form)
    found = {}
    for name, way in (("whole", []), ("stream", ["--in-memory", "0"])):
        assert main(["train", str(data), "--test", str(data), *way, "-o", str(tmp_path / name), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["how"] == name
        assert told["examples"] == told["test_examples"] == 90
        assert sum("left out" in notice for notice in told["notices"]) == 2
        found[name] = perceptrons.load(tmp_path / name), told
    (whole, told), (streamed, also_told) = found.values()
    check_same_weights(whole, streamed)
    assert whole.source_ == streamed.source_
    for name in ("examples", "test_examples", "test_accuracy", "mistakes", "notices", "weights"):
        assert told[name] == also_told[name], name


PIECES = {
    "csv": "perceptrons.data.source.PIECE",
    "jsonl": "perceptrons.data.source.PIECE",
    "arrow": "perceptrons.data.arrow.ROWS",
    "pandas": "perceptrons.data.records.ROWS",
    "records": "perceptrons.data.records.ROWS",
}


@pytest.mark.parametrize("form", PIECES)
def test_rows_that_a_model_prepares_do_not_depend_on_how_files_are_cut(tmp_path, form, monkeypatch):
    rows = raw_records()
    kinds = in_memory(rows) | {"pandas": pd.DataFrame(rows), "records": rows}
    data = kinds[form] if form in ("pandas", "records") else write(tmp_path / f"t.{form}", rows, form)
    model = Perceptron().fit_stream(stream(data, prepare=True, interactions="shop*paid"), epochs=1)
    expected, _ = rows_of(stream(data, like=model))
    for size in (7, 300, 1000):
        monkeypatch.setattr(PIECES[form], size)
        blocks = list(stream(data, like=model))
        if size == 7:
            assert len(blocks) > 3
        X = [block.X for block in blocks]
        same_matrix(sp.vstack(X, format="csr") if sp.issparse(X[0]) else np.concatenate(X), expected)


def test_a_table_is_prepared_alike_however_it_is_cut_if_it_is_read_whole(tmp_path, monkeypatch):
    data = write(tmp_path / "t.csv", raw_records(), "csv")
    expected = read(data, prepare=True, keep=["id", "note"])
    monkeypatch.setattr("perceptrons.data.source.PIECE", 700)
    assert len(list(stream(data, prepare=True))) > 5
    found = read(data, prepare=True, keep=["id", "note"])
    same_matrix(found.X, expected.X)
    assert found.source == expected.source
    assert found.columns.names() == expected.columns.names()


def test_a_loaded_model_learns_from_records_with_missing_values(capsys, tmp_path):
    rows = raw_records(60)
    data = write(tmp_path / "t.csv", rows[:40], "csv")
    train(capsys, data, tmp_path / "m")
    later, labels = without_label(rows[40:]), [row["label"] for row in rows[40:]]
    later[0]["size"] = later[1]["day"] = later[2]["paid"] = later[3]["age"] = None
    later[4]["shop"] = "a new one"
    ones, block, frame = (perceptrons.load(tmp_path / "m") for _ in range(3))
    for model in (ones, block, frame):
        model.set_params(shuffle=False)
    for record, label in zip(later, labels, strict=True):
        ones.learn_one(record, label)
    block.partial_fit(later, labels)
    frame.partial_fit(pd.DataFrame(later), labels)
    assert ones.t_ == block.t_ == frame.t_ > perceptrons.load(tmp_path / "m").t_
    check_same_weights(ones, block)
    check_same_weights(ones, frame)
    perceptrons.save(ones, tmp_path / "n")
    again = perceptrons.load(tmp_path / "n")
    assert again.source_["preparation"] == perceptrons.load(tmp_path / "m").source_["preparation"]
    assert [again.predict_one(record) for record in later] == ones.predict(later).tolist()


def test_cache_checkpoint_and_resumption_keep_the_preparation(capsys, tmp_path):
    data = write(tmp_path / "t.csv", raw_records(90), "csv")
    for way in ([], ["--in-memory", "0"]):
        how = [*way, "--epochs", "4", "--powers", "2"]
        expected, _ = train(capsys, data, tmp_path / "plain", *how)
        point = tmp_path / f"point{len(way)}"
        train(capsys, data, tmp_path / "half", *way, "--epochs", "2", "--powers", "2", "--checkpoint", str(point))
        resumed, _ = train(capsys, data, tmp_path / "again", *how, "--checkpoint", str(point), "--resume")
        check_same_weights(resumed, expected)
        assert resumed.source_ == expected.source_
    for _ in range(2):  # the second run reads the cache
        cached, _ = train(capsys, data, tmp_path / "cached", *how, "--cache", str(tmp_path / "cache"))
        check_same_weights(cached, expected)
        assert cached.source_ == expected.source_
    assert (tmp_path / "cache").exists()
    assert cached.predict(raw_records(90)).tolist() == expected.predict(raw_records(90)).tolist()


def test_a_checkpoint_is_not_resumed_with_another_preparation(capsys, tmp_path):
    data = write(tmp_path / "t.csv", raw_records(90), "csv")
    how = ["--in-memory", "0", "--epochs", "2", "--checkpoint", str(tmp_path / "point")]
    train(capsys, data, tmp_path / "m", *how)
    for other in (["--scale", "none"], ["--powers", "2"], ["--missing", "blue"], ["--keep", "id"]):
        assert main(["train", str(data), "--test-share", "0", *how, *other, "--resume"]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_notices_are_the_same_whenever_a_table_is_read_again(tmp_path):
    reader = stream(write(tmp_path / "t.csv", raw_records(), "csv"), prepare=True)
    first, second = ((len(list(reader)), reader.notices) for _ in range(2))
    assert first == second
    assert [notice.split("'")[1] for notice in first[1]] == ["id", "note", "size"]
    assert reader.read().notices == first[1]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_columns_of_arrow_are_looked_at_by_their_rows(tmp_path, form):
    """The first batch of such a file has no rows, which says nothing of its columns."""
    rows = raw_records()
    found = read(write(tmp_path / f"t.{form}", rows, form), prepare=True)
    assert found.columns.names() == read(rows, prepare=True).columns.names()
    assert found.notices == read(rows, prepare=True).notices


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_column_of_nulls_is_left_out_and_later_missing(tmp_path, form):
    rows = [row | {"empty": None} for row in raw_records()]
    table = read(write(tmp_path / f"t.{form}", rows, form), prepare=True)
    assert "column 'empty' has no values and is left out" in table.notices
    model = Perceptron().fit(table.X, table.y)
    table.teach(model)
    for row in rows:
        row["age"] = row["shop"] = None
    later = write(tmp_path / f"u.{form}", rows, form)
    same_matrix(rows_of(stream(later, like=model))[0], rows_of(stream(rows, like=model))[0])


ENDINGS = {"fem": ["ina", "ella", "ia", "anne"], "masc": ["us", "ard", "olf", "ert"]}


def names(n=120, words=1):
    """Different names, whose endings tell their labels; with several words they are sentences."""
    rng = np.random.default_rng(words)
    rows = {}
    while len(rows) < n:
        label = ("fem", "masc")[len(rows) % 2]
        stem = "".join(rng.choice(list("bdfgklmnprst")) + rng.choice(list("aeiou")) for _ in range(3))
        rows[" ".join([stem.title() + rng.choice(ENDINGS[label]), *["is", "here", "now", "again"][: words - 1]])] = (
            label
        )
    return [{"name": name, "label": label} for name, label in rows.items()]


@pytest.mark.parametrize(("form", "words"), [("csv", 1), ("jsonl", 1), ("csv", 5), *slow(("parquet", 1), ("arrow", 1))])
def test_names_that_are_the_only_feature_are_read_as_text(capsys, tmp_path, form, words):
    rows, how = names(words=words), ["--text-column", "name", *(["--chars", "1-4"] if words == 1 else [])]
    data = write(tmp_path / f"t.{form}", rows, form)
    model, told = train(capsys, data, tmp_path / "m", "--epochs", "5")
    explicit, _ = train(capsys, data, tmp_path / "e", "--epochs", "5", *how)
    assert model.source_ == explicit.source_
    check_same_weights(model, explicit)
    assert [" ".join(how) in notice for notice in told["notices"]] == [True]
    streamed, _ = train(
        capsys, data, tmp_path / "s", "--epochs", "5", "--in-memory", "0", "--cache", str(tmp_path / "c")
    )
    again, _ = train(capsys, data, tmp_path / "a", "--epochs", "5", "--in-memory", "0", "--cache", str(tmp_path / "c"))
    for other in (streamed, again):
        check_same_weights(model, other)
        assert other.source_ == model.source_
    unseen = names(200, words)[120:]
    said, _ = scores_by_command(capsys, tmp_path / "m", write(tmp_path / f"u.{form}", unseen, form))
    if words == 1:
        assert sum(one == row["label"] for one, row in zip(said, unseen, strict=True)) > 70  # of 80
    y = [row["label"] for row in rows]
    for table in in_memory(rows).values():
        pipeline = make_pipeline(TableFeatures(), Perceptron(max_iter=5, tol=None)).fit(table, y)
        check_same_weights(pipeline.named_steps["perceptron"], model)
        assert pipeline.predict(without_label(unseen)).tolist() == said
    kept, told = train(capsys, data, tmp_path / "k", "--keep", "name")
    assert kept.columns_.names()[0] == f"name={rows[0]['name']}"
    assert told["notices"] == []
    assert main(["look", str(data), "--json"]) == 0
    (column, _) = json.loads(capsys.readouterr().out)["columns"]
    assert (column["kind"], column["kind_of_all_rows"], column["used"]) == ("text", "text", True)
