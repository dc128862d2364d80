"""Prepared tables have the features, by name and value, of a slow reference that reads them cell by cell."""

import csv
import datetime
import io
import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perceptrons.data import read, stream
from perceptrons.data.splitting import ByHash
from tests.reference.preparation import prepare

WORDS = ["", "?", "NA", "n/a", "NaN", "null", "None", "-", "-999", "unknown"]
NAMED = ["-999", "unknown"]
lacking = st.sampled_from(WORDS)
whole = st.integers(-50, 50).map(str)
decimal = st.integers(-5000, 5000).map(lambda k: f"{k / 8}")
day = st.dates(min_value=datetime.date(1900, 1, 1)).map(str)
moment = st.datetimes(min_value=datetime.datetime(1900, 1, 1)).map(lambda t: t.isoformat(timespec="minutes"))
zoned = st.tuples(moment, st.sampled_from(["", "Z", "+02:00", "-05:30"])).map("".join)
COLUMNS = {
    "whole": whole | lacking,
    "decimal": decimal | lacking,
    "constant": st.just("2.5"),
    "empty": st.sampled_from(["", "NA"]),
    "colour": st.sampled_from(["red", "blue", "light, blue", "NA", ""]),
    "zip": st.sampled_from(["001", "021", "7"]),
    "day": day | st.sampled_from(["", "NA"]),
    "when": zoned | st.sampled_from(["", "-"]),
    "ok": st.sampled_from(["yes", "No", ""]),
    "fine": st.sampled_from(["TRUE", "false"]),
    "code": st.integers(0, 10**9).map("x{}".format),
    "customer_id": st.integers(0, 10**9).map(str),
    "note": st.integers(0, 10**9).map("this is note {} here".format),
}
tables = st.lists(st.fixed_dictionaries({**COLUMNS, "label": st.sampled_from(["a", "b"])}), min_size=1, max_size=40)
wishes = st.fixed_dictionaries(
    {},
    optional={
        "scale": st.sampled_from(["standard", "max-abs", "none"]),
        "categories": st.just(["zip"]),
        "keep": st.sampled_from([["code"], ["customer_id", "note"]]),
        "powers": st.integers(1, 4),
        "interactions": st.lists(
            st.sampled_from(["whole*decimal", "decimal*colour", "colour*", "constant*whole"]), max_size=3
        ),
    },
)


def as_csv(records):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def features(table):
    """From the name of a feature to its value, of every row; zeros are left out."""
    names, X = table.columns.names(), sp.csr_matrix(table.X)
    X.eliminate_zeros()
    return [dict(zip((names[j] for j in row.indices), row.data.tolist(), strict=True)) for row in X]


def without_label(records):
    return [{name: value for name, value in record.items() if name != "label"} for record in records]


def sure(records):
    """The records with a first one whose numbers are numbers and whose categories are words."""
    first = {"whole": "3", "decimal": "0.5", "constant": "2.5", "colour": "green"}
    return [{**records[0], **first}, *records[1:]]


def check_same(found, expected):
    assert len(found) == len(expected)
    for row, wanted in zip(found, expected, strict=True):
        close = {name: value for name, value in wanted.items() if abs(value) > 1e-9}
        assert {name for name, value in row.items() if abs(value) > 1e-9} == close.keys()
        for name, value in close.items():
            assert row[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(tables, wishes)
def test_every_row_has_the_features_of_the_slow_reference(records, wish):
    records = sure(records)
    table = read(
        io.StringIO(as_csv(records)),
        format="csv",
        prepare=True,
        label_column="label",
        missing=NAMED,
        hash_bits=0,
        **wish,
    )
    expected, out = prepare(without_label(records), missing=NAMED, **wish)
    check_same(features(table), expected)
    said = " ".join(table.notices)
    assert all(f"column {name!r} " in said for name in out)
    assert said.count("left out") == len(out)


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(tables, wishes)
def test_records_have_the_features_of_the_slow_reference(records, wish):
    """The same cells in JSON, where numbers are strings and missing values may be null."""
    records = sure(records)
    lines = "".join(
        json.dumps({name: None if value == "NA" and name != "colour" else value for name, value in record.items()})
        + "\n"
        for record in records
    )
    table = read(io.StringIO(lines), format="jsonl", prepare=True, missing=NAMED, hash_bits=0, **wish)
    expected, _ = prepare(without_label(records), missing=NAMED, **wish)
    check_same(features(table), expected)


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(tables, st.sampled_from(["standard", "max-abs", "none"]), st.integers(0, 5))
def test_only_rows_that_are_learned_from_are_measured(records, scale, seed):
    records = sure(records)
    reader = stream(
        io.StringIO(as_csv(records)), format="csv", prepare=True, label_column="label", missing=NAMED, scale=scale
    )
    by = ByHash(0.3, seed)
    by.tell(reader)
    table = reader.read()
    aside = by.held_out(table)
    labels = {record["label"] for record in records}
    kept = {record["label"] for record, out in zip(records, aside, strict=True) if not out}
    learned = ~aside if kept == labels else np.ones(len(aside), bool)
    expected, _ = prepare(without_label(records), missing=NAMED, scale=scale, learned=learned.tolist())
    check_same(features(table), expected)


@pytest.mark.parametrize("scale", ["standard", "max-abs", "none"])
def test_a_table_by_hand(scale):
    """Three rows whose features can be checked by eye."""
    text = "age,job,day,ok,label\n20,nurse,2024-02-29,yes,a\nNA,,2024-03-01T13:30,no,b\n40,nurse,,Yes,a\n"
    table = read(io.StringIO(text), format="csv", prepare=True, scale=scale, powers=2, interactions="age*job")
    age = {"standard": [-1.0, 0.0, 1.0], "max-abs": [0.5, 0.75, 1.0], "none": [20.0, 30.0, 40.0]}[scale]
    half = 0.5**0.5  # 1, 0, 1 have the mean 2/3 and the deviation √2/3
    square = {"standard": [half, -2 * half, half], "max-abs": [0.25, 0.5625, 1.0], "none": [400.0, 900.0, 1600.0]}
    found = features(table)
    for row, value, squared in zip(found, age, square[scale], strict=True):
        assert row.get("age", 0.0) == value
        assert row.get("age^2", 0.0) == pytest.approx(squared)
    assert [row.get("age=missing") for row in found] == [None, 1.0, None]
    assert [row.get("age*job=nurse", 0.0) for row in found] == [age[0], 0.0, age[2]]
    assert [row.get("job=") for row in found] == [None, 1.0, None]
    assert [row.get("day.month=Feb") for row in found] == [1.0, None, None]
    assert [row.get("day.weekday=Fri") for row in found] == [None, 1.0, None]
    assert [row.get("day.hour=13") for row in found] == [None, 1.0, None]
    assert [row.get("day.days=missing") for row in found] == [None, None, 1.0]
    days = {"standard": [-1.0, 1.0, 0.0], "max-abs": [0.0, 1.0, 0.5], "none": [0.0, 1.0, 0.5]}[scale]
    assert [row.get("day.days", 0.0) for row in found] == days
