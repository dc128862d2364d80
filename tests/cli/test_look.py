"""`perceptrons look`: its numbers are those of pandas, what is suspicious is named, and nothing else is."""

import io
import json
import re
import shlex
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from perceptrons.cli import main
from perceptrons.data import stream
from perceptrons.data.look import look

COLUMNS = ["id", "age", "income", "city", "joined", "smoker", "review", "nothing", "plan", "bought"]


def people(n=400, seed=0):
    """A raw table: identifiers, missing values, categories, dates, yes and no, text, an empty and a constant column."""
    rng = np.random.default_rng(seed)
    age = rng.normal(41, 12, n).round(1)
    city = rng.choice(["Berlin", "Paris", "Rome", "Oslo"], n, p=[0.5, 0.3, 0.15, 0.05])
    frame = pd.DataFrame({
        "id": np.arange(n) + 17,
        "age": age,
        "income": rng.lognormal(10, 0.6, n).round(2),
        "city": city,
        "joined": [f"{day}" for day in np.datetime64("2020-01-01") + rng.integers(0, 900, n)],
        "smoker": rng.choice(["yes", "no"], n),
        "review": [f"it was {rng.choice(['good', 'bad'])} and number {k} of all" for k in range(n)],
        "nothing": "",
        "plan": "basic",
        "bought": np.where(age / 12 + 2 * (city == "Rome") + rng.normal(0, 1, n) > 4, "yes", "no"),
    })  # fmt: skip
    frame.loc[rng.choice(n, 30, replace=False), "age"] = np.nan
    frame.loc[rng.choice(n, 20, replace=False), "city"] = None
    return frame


@pytest.fixture
def looked(run, tmp_path):
    """What look says of a frame, for machines."""

    def ran(frame, *options, name="people.csv"):
        path = tmp_path / name
        if isinstance(frame, pd.DataFrame):
            frame.to_csv(path, index=False)
        else:
            path.write_text(frame)
        code, out, err = run("look", path, *options, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return ran


def of(found, name):
    return next(column for column in found["columns"] if column["name"] == name)


def test_numbers_of_columns_are_those_of_pandas(looked):
    frame = people()
    found = looked(frame)
    assert found["examples"] == len(frame)
    assert [column["name"] for column in found["columns"]] == COLUMNS
    frame = frame.replace("", np.nan)
    for column in found["columns"]:
        values = frame[column["name"]]
        assert column["n"] == len(frame)
        assert column["missing"] == values.isna().sum(), column["name"]
        assert column["missing_share"] == pytest.approx(values.isna().mean())
        assert column["distinct"] == values.nunique(), column["name"]
    for name in ("age", "income", "id"):
        column, values = of(found, name), frame[name]
        assert column["low"] == values.min()
        assert column["high"] == values.max()
        assert column["mean"] == pytest.approx(values.mean())
        assert column["deviation"] == pytest.approx(values.std(ddof=0))
        assert column["counts"] == np.histogram(values.dropna(), 8)[0].tolist()
    for name in ("city", "smoker", "bought"):
        times = frame[name].value_counts()
        assert {one["value"]: one["rows"] for one in of(found, name)["frequent"]} == times.to_dict()
        assert of(found, name)["counts"] == times.tolist()
    assert of(found, "joined")["span"] == [frame["joined"].min(), frame["joined"].max()]
    days = pd.to_datetime(frame["joined"]).astype("int64")
    assert of(found, "joined")["counts"] == np.histogram(days, 8)[0].tolist()


def test_kinds_are_those_by_which_train_reads(looked, tmp_path):
    found = looked(people())
    assert [column["kind"] for column in found["columns"]] == [
        "identifier", "number", "number", "category", "date", "yes/no", "text", "empty", "constant", "label",
    ]  # fmt: skip
    reader = stream(tmp_path / "people.csv", prepare=True)
    names = reader.read().feature_names
    used = {column["name"] for column in found["columns"] if column["used"]}
    assert used == {"age", "income", "city", "joined", "smoker", "plan"}
    assert {re.split("[=.]", name)[0] for name in names} == used
    assert found["notices"] == [one.notice() for one in reader.left_out]
    assert len(found["notices"]) == 3


def test_options_of_reading_are_those_of_train(looked):
    frame = people()
    found = looked(frame, "--keep", "id", "--text-column", "review", "--ignore", "income", "--categories", "age")
    assert of(found, "id")["used"]
    assert of(found, "review") | {"used": True, "kind": "text", "distinct": 400, "missing": 0} == of(found, "review")
    assert "income" not in [column["name"] for column in found["columns"]]
    assert of(found, "age")["kind"] == "category"
    assert found["next"][0]["command"].endswith("--text-column review --categories age --ignore income --keep id")


def test_classes_and_copies_are_those_of_pandas(looked):
    frame = people()
    frame = pd.concat([frame, frame.iloc[:7], frame.iloc[3:5]])
    other = frame.iloc[20:23].copy()
    other["bought"] = other["bought"].map({"yes": "no", "no": "yes"})
    frame = pd.concat([frame, other])
    found = looked(frame, "--ignore", "id")
    times = frame["bought"].value_counts()
    assert {one["class"]: one["examples"] for one in found["classes"]} == times.to_dict()
    assert [one["share"] for one in found["classes"]] == pytest.approx((times / len(frame)).tolist())
    learned = [name for name in COLUMNS if name not in ("id", "review", "nothing", "bought")]
    assert found["duplicates"] == frame.duplicated([*learned, "bought"]).sum() == 9
    labels = frame.groupby(learned, dropna=False)["bought"].transform("nunique")
    assert found["contradictions"] == (labels > 1).sum() == 6
    assert "best possible accuracy is 99.3%" in " ".join(found["warnings"])  # 3 of 412 must be wrong


def leaking(frame, **columns):
    return pd.concat([pd.DataFrame(columns), frame], axis=1)


def test_columns_that_give_the_label_away_are_named(looked):
    frame, rng = people(), np.random.default_rng(1)
    yes = (frame["bought"] == "yes").to_numpy()
    paid = np.where(yes, rng.uniform(5, 9, 400), rng.uniform(0, 5, 400)).round(3)
    frame = leaking(
        frame,
        same=frame["bought"],
        code=np.where(yes, rng.choice(["A", "B"], 400), rng.choice(["C", "D"], 400)),
        paid=np.where(rng.random(400) < 0.1, np.nan, paid),
        closed=np.where(yes, "2021-03-0", "2020-11-1") + pd.Series(rng.integers(1, 9, 400).astype(str)),
        ended=np.where(yes, rng.normal(size=400), np.nan),
    )
    found = looked(frame)
    assert {leak["column"]: leak["how"] for leak in found["leaks"]} == {
        "same": "equals",
        "code": "determines",
        "paid": "separates",
        "ended": "missing",
        "closed": "separates",
    }
    assert found["next"][1]["command"].count("--ignore") == 5
    assert "--ignore closed" in found["next"][1]["command"]


def test_what_chance_brings_about_is_no_leak(looked):
    rng = np.random.default_rng(2)
    frame = people()
    frame["rare"] = rng.permutation(200).repeat(2)  # two rows of each value: many have one class
    frame["alone"] = rng.normal(size=400)  # every value once
    frame = frame[[*[name for name in frame if name != "bought"], "bought"]]
    assert looked(frame)["leaks"] == []
    few = frame.iloc[:4].assign(bought=["no", "no", "yes", "yes"], age=[1, 2, 3, 4])  # too few to say
    assert looked(few)["leaks"] == []
    one = frame.assign(bought=["yes"] + ["no"] * 399, age=[99.0] + [1.0] * 399)
    assert looked(one)["leaks"] == []


def test_three_classes_may_be_separated_by_a_number(looked):
    iris = load_iris(as_frame=True).frame
    assert looked(iris, name="iris.csv")["leaks"] == []  # petals alone do not separate all three
    iris.insert(0, "grade", iris["target"] * 2 + np.random.default_rng(0).random(150))
    assert [(leak["column"], leak["how"]) for leak in looked(iris, name="iris.csv")["leaks"]] == [
        ("grade", "separates")
    ]


def test_rows_after_those_that_decide_are_looked_at_and_what_differs_is_said(looked):
    n = 6000
    frame = pd.DataFrame({"when": ["2020-01-02", "2021-05-06"] * 3000, "late": [""] * 5500 + ["a", "b"] * 250,
                          "x": np.random.default_rng(0).normal(size=n), "y": np.arange(n) % 2})  # fmt: skip
    frame.loc[5800:5801, "when"] = "soon"
    found = looked(frame)
    when, late = of(found, "when"), of(found, "late")
    assert (when["kind"], when["kind_of_all_rows"], when["distinct"]) == ("date", "category", 3)
    assert (late["kind"], late["kind_of_all_rows"], late["missing"]) == ("empty", "category", 5500)
    said = " ".join(found["warnings"])
    assert (
        "Column 'when': 2 values do not fit the type that train infers from the first rows. The first: 'soon'" in said
    )
    assert "Column 'late' looks like an empty column in the first 5,000 rows" in said
    only = looked(frame, "--max-examples", "5600")
    assert (only["examples"], only["more_examples"], of(only, "late")["missing"]) == (5600, True, 5500)
    assert "soon" not in " ".join(only["warnings"])


def test_malformed_records_are_counted_and_the_command_to_skip_them_is_suggested(looked):
    found = looked("a,b,kind\n1,2,x\n3,oops,y\n4,5,x\n6,7\n8,9,y\n")
    assert (found["examples"], found["skipped"]) == (3, 2)
    assert "3:2: " in found["complaints"][0]
    assert "train stops at the first" in " ".join(found["warnings"])
    assert found["next"][0]["command"].endswith("--on-error skip")


def test_labels_that_are_no_classes_are_named(looked, run, tmp_path):
    frame = people()[["age", "city", "bought", "income"]]
    found = looked(frame)
    assert "do not look like classes" in " ".join(found["warnings"])
    assert found["next"][0]["command"].endswith("--label-column NAME")
    assert len(found["classes"]) == 400
    out = run("look", tmp_path / "people.csv")[1]
    assert "and 397 classes more" in out
    assert looked(frame, "--label-column", "bought")["classes"][0]["class"] == "no"
    assert "only one class" in " ".join(looked(frame.assign(income=1))["warnings"])


def test_whole_numbers_are_one_label_however_they_are_written(looked):
    content = "a,kind\n" + "1,1\n2,1.0\n3,2\n" * 9
    assert [(one["class"], one["examples"]) for one in looked(content)["classes"]] == [(1, 18), (2, 9)]
    words = looked(content, "--text-labels")["classes"]
    assert [(one["class"], one["examples"]) for one in words] == [("1", 9), ("1.0", 9), ("2", 9)]


def test_scales_that_differ_are_named_with_the_option(looked):
    frame = people()[["age", "income", "bought"]]
    assert "'income' reaches" in (said := " ".join(looked(frame)["warnings"]))
    assert "train scales them (--scale auto)" in said
    assert "--scale none," in " ".join(looked(frame, "--scale", "none")["warnings"])
    assert "scale" not in " ".join(looked(frame[["age", "bought"]])["warnings"])


def test_records_frames_and_files_look_the_same(looked, tmp_path):
    frame = people()[["age", "city", "joined", "bought"]]
    expected = looked(frame)
    frame.to_json(tmp_path / "people.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "people.parquet")
    in_memory = [look(stream(given, prepare=True, text_labels=True, label_column="bought"), 10**6) for given in (
        frame, tmp_path / "people.jsonl", tmp_path / "people.parquet", frame.to_dict("records"))]  # fmt: skip
    for found in in_memory:
        columns = {column.facts.name: json.loads(json.dumps(column.to_dict())) for column in found.columns}
        for column in expected["columns"]:
            assert columns[column["name"]] == column
        assert found.duplicates() == expected["duplicates"]


def test_parquet_is_prepared_by_its_rows_as_csv_is(tmp_path):
    frame = people()
    frame["review"] = frame["review"].astype("category")
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    csv, parquet = (
        stream(tmp_path / f"people.{end}", prepare=True, label_column="bought") for end in ("csv", "parquet")
    )
    expected, found = csv.read(), parquet.read()
    assert sorted(found.feature_names) == sorted(expected.feature_names)
    assert sorted(found.notices) == sorted(expected.notices)
    order = [found.feature_names.index(name) for name in expected.feature_names]
    assert np.allclose(found.X.toarray()[:, order], expected.X.toarray(), rtol=1e-12, atol=1e-12)


def test_lists_of_records_are_categories(looked, tmp_path):
    rows = [{"tags": ["a", f"b{k % 4}"], "x": k % 9, "label": "yn"[k % 2]} for k in range(60)]
    rows[7]["tags"] = []
    path = tmp_path / "tags.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for given in (path, rows):
        found = look(stream(given, prepare=True), 1000)
        tags = next(column for column in found.columns if column.facts.name == "tags")
        assert (tags.kind, tags.used, tags.facts.missing, tags.facts.distinct) == ("category", True, 1, 5)
        assert tags.frequent[0] == ("a", 59)
    assert "tags=a" in stream(rows, prepare=True).read().feature_names


@pytest.mark.parametrize(("name", "content"), [
    ("p.svm", "+1 1:0.5 3:2\n-1 2:1\n+1 1:0.5 3:2\n-1 1:.5 3:2\n-1\n"),
    ("p.vw", "1 | a:0.5 c:2\n-1 | b:1\n1 | a:0.5 c:2\n-1 | a:0.5 c:2\n-1 |\n"),
])  # fmt: skip
def test_examples_that_are_no_table_are_counted(looked, name, content):
    found = looked(content, name=name)
    assert (found["examples"], found["columns"], found["duplicates"], found["contradictions"]) == (5, None, 1, 3)
    features = found["features"]
    assert (features["occurring"], features["nonzeros_least"], features["nonzeros_most"]) == (3, 0, 2)
    assert features["nonzeros_mean"] == pytest.approx(7 / 5)
    assert [(one["class"], one["examples"]) for one in found["classes"]] == [(-1, 3), (1, 2)]


def test_arrays_and_texts_are_counted(run, tmp_path):
    X = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [2000.0, 1.0]])
    np.savez(tmp_path / "p.npz", X=X, y=np.array([1, 2, 1, 2]))
    found = json.loads(run("look", tmp_path / "p.npz", "--json")[1])
    assert found["features"] == {"features": 2, "occurring": 2, "nonzeros_mean": 1.0, "nonzeros_least": 0,
                                 "nonzeros_most": 2, "empty": 1}  # fmt: skip
    assert found["duplicates"] == 1
    assert "StandardScaler" in " ".join(found["warnings"])
    (tmp_path / "mail.ft").write_text("__label__spam win a prize\n__label__ham see you\n__label__spam win a prize\n")
    found = json.loads(run("look", tmp_path / "mail.ft", "--json")[1])
    assert (found["features"]["occurring"], found["duplicates"], found["classes"][0]["class"]) == (5, 1, "spam")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_it_fits_a_screen_in_any_encoding(monkeypatch, tmp_path, encoding):
    monkeypatch.setenv("COLUMNS", "80")
    people().assign(**{"a column with a very long name": 1.5}).to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.chdir(tmp_path)
    written = io.TextIOWrapper(io.BytesIO(), encoding)
    monkeypatch.setattr(sys, "stdout", written)
    assert main(["look", "people.csv", "--label-column", "bought"]) == 0
    out = written.buffer.getvalue().decode(encoding)
    assert max(map(len, out.splitlines())) <= 80
    assert ("█" in out) == (encoding == "utf-8")
    assert "#" in out or encoding == "utf-8"
    for said in ("400 examples, 11 columns, 2 classes", "Examples by class", "Left out by train", "Warnings"):
        assert said in out


def test_suggested_commands_run(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = people()
    leaking(frame, same=frame["bought"]).to_csv("people.csv", index=False)
    _, out, _ = run("look", "people.csv")
    commands = re.findall(r"\n  perceptrons (.*)", out)
    assert len(commands) == 3
    for command in commands[:2]:
        assert run(*shlex.split(command))[0] == 0


def test_standard_input_is_looked_at_and_nothing_is_refused(run, monkeypatch, tmp_path):
    content = io.TextIOWrapper(io.BytesIO(people(50).to_csv(index=False).encode()))
    monkeypatch.setattr(sys, "stdin", content)
    code, out, _ = run("look", "-", "--format", "csv", "--json")
    assert code == 0
    assert json.loads(out)["examples"] == 50
    (tmp_path / "empty.csv").write_text("a,b\n")
    code, _, err = run("look", tmp_path / "empty.csv")
    assert code == 2
    assert "there are no examples in it" in err
