"""Tables that nobody hopes for: every command ends with a right model, or with code 2 and one clear line."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import perceptrons
from perceptrons.data import DataFileError, read, stream
from perceptrons.features import TableFeatures

RNG = np.random.default_rng(2)
ROWS = [[f"{RNG.normal(50, 10):.3f}", "abc"[int(RNG.integers(3))], "xy"[k % 2]] for k in range(60)]
N, C, LABEL = zip(*ROWS, strict=True)
TRAIN = ["--test-share", "0", "--max-iter", "5"]


def write(path, **columns):
    """A CSV file of columns; one value stands for a constant column."""
    n = max(len(values) for values in columns.values() if not isinstance(values, str))
    values = [[one] * n if isinstance(one, str) else list(map(str, one)) for one in columns.values()]
    rows = [",".join(row) for row in zip(*values, strict=True)]
    path.write_text("\n".join([",".join(columns), *rows]) + "\n")
    return path


@pytest.fixture
def trained(run, tmp_path):
    def made(*options, **columns):
        data = write(tmp_path / "t.csv", **columns)
        code, out, err = run("train", data, *TRAIN, *options, "-o", tmp_path / "m", "--json")
        assert (code, err) == (0, "")
        return perceptrons.load(tmp_path / "m"), json.loads(out)["notices"]

    return made


# ---- tables that are learned from


def test_a_column_without_values_is_left_out(trained):
    model, notices = trained(n=N, empty="NA", none="", label=LABEL)
    assert model.columns_.names() == ["n"]
    assert [notice.split("'")[1] for notice in notices] == ["empty", "none"]


def test_constant_columns_do_no_harm(trained):
    model, _ = trained(k="3", s="z", n=N, label=LABEL)
    plain, _ = trained(n=N, label=LABEL)
    assert model.columns_.names() == ["k", "n", "s=z"]
    assert model.source_["preparation"]["scales"][0] == 1
    X = np.array([[50.0]])
    assert np.isfinite(plain.decision_function(pd.DataFrame(X, columns=["n"]))).all()
    assert np.isfinite(model.decision_function([{"k": 3, "s": "z", "n": 50.0}])).all()


def test_only_constant_columns_are_learned_as_the_majority(trained):
    model, _ = trained(k="3", s="z", label=[*"xxxxxxy"])
    assert model.predict([{"k": 3, "s": "z"}]).tolist() == ["x"]


def test_a_table_of_nothing_but_identifiers_keeps_them(trained):
    model, notices = trained(id=range(60), label=LABEL)
    assert notices == []
    assert model.n_features_in_ == 1


def test_strings_that_differ_in_all_rows_are_texts_if_there_is_nothing_else_to_learn_from(trained):
    model, notices = trained(id=range(60), code=[f"u{k}" for k in range(60)], empty="", label=LABEL)
    assert model.source_["text_column"] == ["code"]
    assert model.source_["text"]["chars"] == [1, 4]
    left_out = [notice.partition(" is left out")[0].partition(" looks")[0] for notice in notices[:2]]
    assert left_out == ["column 'id'", "column 'empty' has no values and"]
    assert "'code', with different values in nearly all rows, is read as text" in notices[2]


def test_identifiers_are_kept_rather_than_empty_columns(trained):
    model, notices = trained(id=range(60), empty="", label=LABEL)
    assert model.columns_.names() == ["id"]
    assert notices == ["column 'empty' has no values and is left out"]


def test_a_table_of_nothing_but_missing_values_says_so_and_does_not_fail(trained):
    model, _ = trained(e="", label=LABEL)
    assert model.predict([{"e": None}]).tolist()[0] in ("x", "y")


def test_two_rows_are_enough(trained):
    model, _ = trained(n=["1", "2"], c=["a", ""], label=["x", "y"])
    assert model.predict([{"n": 1, "c": "a"}, {"n": 2, "c": ""}]).tolist() == ["x", "y"]


def test_a_hundred_thousand_categories_are_columns_of_their_own(tmp_path):
    n = 100_000
    codes = RNG.permutation(np.concatenate([np.arange(n), np.arange(n)]))
    frame = pd.DataFrame({"code": [f"c{k}" for k in codes], "x": np.arange(2 * n) % 7, "label": np.arange(2 * n) % 2})
    table = read(frame, prepare=True, categories=["code"], label_column="label")
    assert table.X.shape == (2 * n, n + 1)
    assert (table.X.getnnz(axis=0)[1:] == 2).all()


def test_ten_thousand_columns_are_prepared():
    n = 10_000
    X = RNG.normal(3, 2, (30, n))
    X[RNG.random(X.shape) < 0.1] = np.nan
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(n)])
    found = TableFeatures().fit_transform(frame)
    assert found.shape == (30, 2 * n - int((~np.isnan(X)).all(axis=0).sum()))
    expected = np.where(np.isnan(X), 0.0, (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0))
    np.testing.assert_allclose(found[:, :n], expected, atol=1e-9)


def test_products_of_categories_have_names_until_there_are_very_many(trained, monkeypatch):
    codes = [f"c{k % 30}" for k in range(60)]
    model, _ = trained("--interactions", "*", a=codes, b=codes[::-1], n=N, label=LABEL)
    assert model.columns_.bits is None
    assert any(name.startswith("a=c0*b=") for name in model.columns_.names())
    monkeypatch.setattr("perceptrons.features.inference.MAX_PRODUCT_NAMES", 20)
    hashed, _ = trained("--interactions", "*", a=codes, b=codes[::-1], n=N, label=LABEL)
    assert hashed.columns_.bits == 20
    record = {"a": "c0", "b": "c29", "n": 50.0}
    assert np.isclose(hashed.decision_function([record]), model.decision_function([record]), rtol=1e-4)


# ---- tables that are refused

REFUSED = {
    "an infinite number": ({"n": [*N, "inf"]}, r"t.csv:62:1: column 'n': 'inf' is not a finite number"),
    "a number that is too large": ({"n": [*N, "1e200"]}, r"t.csv:62:1: column 'n': '1e200' is too large"),
    "text among numbers": ({"n": [*N, "many"]}, r"t.csv:62:1: column 'n': 'many' is not a number.*--missing many"),
    "a row without a label": ({"n": N, "label": [*LABEL[1:], ""]}, r"t.csv:61:2: there is no label here"),
    "one row": ({"n": ["1"], "label": ["x"]}, r"t.csv: has only one class, 'x'"),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("command", ["train", "tune", "compare", "diagnose"])
def test_what_cannot_be_learned_is_refused_with_its_place(refused, tmp_path, what, command):
    columns, message = REFUSED[what]
    data = write(tmp_path / "t.csv", **{"n": (), "label": [*LABEL, "x"][: len(columns["n"])], **columns})
    options = ["--ledger", tmp_path / "looks"] if command in ("tune", "compare") else []

    line = refused(command, data, *options)
    assert re.search(message, line), line


def test_two_columns_of_one_name_are_refused(refused, tmp_path):
    (tmp_path / "t.csv").write_text("n,n,label\n1,2,x\n2,1,y\n")
    assert "t.csv:1:2: two columns have the name 'n'" in refused("train", tmp_path / "t.csv")
    frame = pd.DataFrame([[1, 2], [2, 1]], columns=["n", "n"])
    with pytest.raises((ValueError, DataFileError), match="two columns have the name 'n'"):
        TableFeatures().fit(frame)


BAD_OPTIONS = {
    "--keep nowhere": "names 'nowhere', which is not a feature column",
    "--interactions n*nowhere": "no feature comes from a column 'nowhere'",
    "--interactions n*n": "write 'a*b', 'a\\*' or '\\*'",
    "--powers 0": "--powers",
    "--powers 10": "--powers",
    "--scale best": "--scale.*auto.*standard.*max-abs.*none",
    "--on-missing drop": "--on-missing.*fill.*raise",
}


@pytest.mark.parametrize("options", BAD_OPTIONS)
def test_options_of_preparing_that_make_no_sense_are_refused(refused, tmp_path, options):

    line = refused("train", write(tmp_path / "t.csv", n=N, c=C, label=LABEL), *options.split())
    assert re.search(BAD_OPTIONS[options].replace("a*b", r"a\*b"), line), line


def test_powers_that_overflow_are_refused_in_one_line(refused, tmp_path):
    data = write(tmp_path / "t.csv", n=[f"{value}e97" for value in N], label=LABEL)
    assert "too large" in refused("train", data, "--scale", "none", "--powers", 9)
    huge = write(tmp_path / "u.csv", n=["1e100", "1e99"], label=["x", "y"])
    assert "--interactions" not in refused("train", huge, "--scale", "none", "--powers", 2)


# ---- files that differ from those learned from

LATER = {
    "text where a number was": ("n,c,d,f\nhello,a,2024-01-02,yes\n", "u.csv:2:1: column 'n': 'hello' is not a number"),
    "no date": ("n,c,d,f\n1,a,soon,yes\n", "u.csv:2:3: column 'd': 'soon' is not a date"),
    "no day of the calendar": ("n,c,d,f\n1,a,2024-02-31,yes\n", "column 'd': '2024-02-31' is not a date"),
    "not yes or no": ("n,c,d,f\n1,a,2024-01-02,maybe\n", "u.csv:2:4: column 'f': 'maybe' is not yes or no"),
    "a column too few": ("n,c,d\n1,a,2024-01-02\n", "there is no column 'f', which the model was trained on"),
    "an infinite number": ("n,c,d,f\n-inf,a,2024-01-02,yes\n", "'-inf' is not a finite number"),
}
SOUND = "n,c,d,f\n1,a,2024-01-02,yes\n"


@pytest.fixture
def mixed(trained):
    days = [f"2024-{k % 12 + 1:02d}-{k % 28 + 1:02d}" for k in range(60)]
    return trained(n=N, c=C, d=days, f=["yes", "no"] * 30, label=LABEL)[0]


@pytest.mark.parametrize("what", LATER)
def test_a_later_file_that_does_not_fit_is_refused_with_its_place(refused, run, tmp_path, mixed, what):
    text, message = LATER[what]
    (tmp_path / "u.csv").write_text(text)
    for command in ("predict", "evaluate"):
        if command == "evaluate":
            (tmp_path / "u.csv").write_text(
                "".join(f"{line},{'label' if k == 0 else 'x'}\n" for k, line in enumerate(text.splitlines()))
            )
        assert message in refused(command, tmp_path / "m", tmp_path / "u.csv")
    if "column too few" in what:
        return
    (tmp_path / "u.csv").write_text(SOUND + text.splitlines()[1] + "\n")
    code, out, err = run("predict", tmp_path / "m", tmp_path / "u.csv", "--on-error", "skip")
    assert (code, len(out.splitlines()), err.count("\n")) == (0, 2, 1)
    assert "1 record was skipped" in err


def test_the_same_in_memory_is_a_value_error_that_names_row_and_column(mixed):
    sound = {"n": 1.0, "c": "a", "d": "2024-01-02", "f": "yes"}
    for name, value in {"n": "hello", "d": "soon", "f": "maybe"}.items():
        for given in ([sound, sound | {name: value}], pd.DataFrame([sound, sound | {name: value}])):
            with pytest.raises(ValueError, match=rf"X, row 1.*'{name}'.*'{value}'"):
                mixed.predict(given)


def test_what_was_never_seen_is_answered(mixed):
    """A new category, a time of day, all values missing: no feature of theirs has a weight, the others count."""
    sound = {"n": 50.0, "c": "a", "d": "2024-01-02", "f": "yes"}
    new = mixed.decision_function([sound | {"c": "unheard"}])
    assert new == pytest.approx(mixed.decision_function([sound]) - mixed.coef_[0][mixed.columns_.names().index("c=a")])
    assert mixed.decision_function([sound | {"d": "2024-01-02T13:00"}]) == mixed.decision_function([sound])
    assert np.isfinite(mixed.decision_function([dict.fromkeys(sound)])).all()


def test_a_column_that_changes_its_kind_after_the_first_block_is_a_bad_record(tmp_path, monkeypatch):
    data = write(tmp_path / "t.csv", n=[*N, "tall", "1"], c=[*C, "7", "8"], label=[*LABEL, "x", "y"])
    monkeypatch.setattr("perceptrons.data.source.PIECE", 300)
    with pytest.raises(DataFileError, match=r"t.csv:62:1: column 'n': 'tall' is not a number"):
        list(stream(data, prepare=True))
    reader = stream(data, prepare=True, on_error="skip")
    blocks = list(reader)
    assert len(blocks) > 2
    assert reader.skipped == 1
    assert sum(block.X.shape[0] for block in blocks) == 61
    assert "c=8" in reader.columns.names()
