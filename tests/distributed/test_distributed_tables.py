"""Raw tables on a cluster: the first block says how all shards are prepared, and prepared rows are mixed as others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from perceptrons import distributed
from perceptrons.cli import main
from perceptrons.data import stream
from tests.distributed.test_distributed_reference import assert_same_mix, chunked, cut, mixed_reference, orders_of
from tests.support.doors import raw_records, rows_of, write
from tests.support.lecture import rosenblatt

EPOCHS, SIZE = 3, 30
CODES = {"ham": 0, "spam": 1, "odd": 2}


def parts(folder, form, columns=None):
    """Two files of raw records."""
    found = []
    for k in range(2):
        rows = [row | {"label": CODES[row["label"]]} for row in raw_records(SIZE, seed=k)]
        rows = [{name: row[name] for name in columns or row} for row in rows]
        found.append(str(write(folder / f"{k}.{form}", rows, form)))
    return found


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_two_shards_are_prepared_as_one_reader_prepares_and_mixed_as_prepared_rows(client, tmp_path, form):
    paths = parts(tmp_path, form)
    model = distributed.fit(
        rosenblatt(), paths, client=client, shards=2, epochs=EPOCHS, prepare=True, label_column="label"
    )
    reader = stream(*paths, prepare=True, label_column="label")
    for _ in reader:
        pass
    assert model.source_["preparation"] == reader.recipe()["preparation"]
    assert sorted(model.columns_.names()) == sorted(reader.columns.names())
    X, y = rows_of(stream(*paths, like=model))
    again = distributed.fit(rosenblatt(), *chunked([SIZE, SIZE], X.toarray(), y), client, shards=2, epochs=EPOCHS)
    assert_allclose(model.coef_, again.coef_, rtol=1e-9, atol=1e-9)
    assert_allclose(model.intercept_, again.intercept_, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mixing", ["mistakes", "uniform"])
def test_numbers_of_raw_tables_are_mixed_as_in_the_reference(client, tmp_path, mixing):
    paths = parts(tmp_path, "csv", ["size", "age", "paid", "label"])
    model = rosenblatt()
    distributed.fit(model, paths, None, client, mixing, shards=2, epochs=EPOCHS, prepare=True)
    X, y = rows_of(stream(*paths, like=model))
    assert X.shape[1] == 4  # size, age, paid and size=missing
    run = mixed_reference(cut([SIZE] * 2, X, y), orders_of([SIZE] * 2, EPOCHS), 3, mixing)
    assert_same_mix(model, run, [SIZE] * 2, mixing)


def test_a_file_that_is_shared_by_lines_is_prepared_by_its_beginning(client, tmp_path):
    rows = raw_records(2 * SIZE)
    path = str(write(tmp_path / "t.jsonl", rows, "jsonl"))
    model = distributed.fit(rosenblatt(), path, client=client, shards=2, epochs=EPOCHS, prepare=True)
    reader = stream(path, prepare=True)
    for _ in reader:
        pass
    assert model.source_["preparation"] == reader.recipe()["preparation"]
    X, _ = rows_of(stream(path, like=model))
    assert model.n_features_in_ == X.shape[1]
    np.testing.assert_array_equal(model.decision_function(rows), model.decision_function(X))


def test_the_command_prepares_tables_on_workers_as_on_one_machine(capsys, tmp_path):
    """One shard learns what a stream learns."""
    import json

    import perceptrons

    data = write(tmp_path / "t.csv", raw_records(), "csv")
    how = [str(data), "--epochs", "2", "--keep", "id", "--powers", "2", "--scale", "max-abs"]
    assert main(["train", *how, "--workers", "1", "--shards", "1", "-o", str(tmp_path / "a"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert main(["train", *how, "--in-memory", "0", "--test-share", "0", "-o", str(tmp_path / "b"), "--json"]) == 0
    also_told = json.loads(capsys.readouterr().out)
    one, other = perceptrons.load(tmp_path / "a"), perceptrons.load(tmp_path / "b")
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.source_ == other.source_ | {"text_labels": True}  # the first block said so to all workers
    assert told["notices"] == also_told["notices"] != []
