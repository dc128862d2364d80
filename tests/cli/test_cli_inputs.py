"""The commands on folders of texts, on files that their name does not tell the format of, and with --encoding."""

import json
import re
from typing import get_args

import numpy as np
import pytest

import perceptrons
from perceptrons.cli.options import Format
from perceptrons.data import FORMATS, read
from tests.reference.folder import in_reading_order
from tests.support.doors import LABELS, records, write


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "texts", records(90), "folder")


@pytest.fixture
def model(run, tmp_path, folder):
    assert run("train", folder, "-o", tmp_path / "m", "--quiet") == (0, "", "")
    return tmp_path / "m"


def texts_of(folder):
    """Labels and texts in the order in which they are read."""
    return [(path.parent.name, path.read_text("utf-8")) for path in named_files(folder)]


def named_files(folder):
    return [path for _, path in in_reading_order({label: sorted((folder / label).iterdir()) for label in LABELS})]


def test_predict_names_the_file_of_every_answer(run, tmp_path, folder, model):
    flat = tmp_path / "flat"
    flat.mkdir()
    for name, text in (("b.txt", "free money hello"), ("a.txt", "Call now see"), ("c.txt", b"\0")):
        (flat / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    said = perceptrons.load(model).predict(["Call now see", "free money hello"]).tolist()
    code, out, err = run("predict", model, flat, "--on-error", "skip")
    assert (code, out) == (0, f"{said[0]}\t{flat}/a.txt\n{said[1]}\t{flat}/b.txt\n\t{flat}/c.txt\n")
    assert "1 record was skipped" in err
    assert f"{flat}/c.txt: line 1, byte 1: a NUL byte" in err
    out = run("predict", model, flat, "--on-error", "skip", "--scores")[1].splitlines()
    assert [line.count("\t") for line in out] == [out[0].count("\t")] * 4
    assert out[0].endswith("\tfile")
    rows = [json.loads(line) for line in run("predict", model, flat, "--on-error", "skip", "--json")[1].splitlines()]
    assert [row["label"] for row in rows] == [*said, None]
    assert [row["file"] for row in rows] == [str(flat / name) for name in ("a.txt", "b.txt", "c.txt")]
    assert run("predict", model, flat / "a.txt") == (0, f"{said[0]}\n", "")
    out = [line.split("\t") for line in run("predict", model, folder)[1].splitlines()]
    table = read(folder)
    assert [label for label, _ in out] == perceptrons.load(model).predict(table.X).tolist()
    assert [name.split("/")[-2] for _, name in out] == table.y.tolist()


FEW = ["--hash-bits", 12]  # columns: a million of them for several models would fill the memory


def test_all_commands_read_a_folder(run, refused, tmp_path, folder, model):
    evaluated = json.loads(run("evaluate", model, folder, "--json")[1])
    assert evaluated["examples"] == 90
    table, fitted = read(folder), perceptrons.load(model)
    assert evaluated["right"] == int((fitted.predict(table.X) == table.y).sum())
    found = json.loads(run("inspect", model, "--data", folder, "--example", 2, "--json")[1])["on_data"]["example"]
    assert found["line"] == str(folder / "odd" / "0002.txt")
    assert f"({folder}/odd/0002.txt)" in run("inspect", model, "--data", folder, "--example", 2)[1].replace("\n", "")
    found = json.loads(run("diagnose", folder, *FEW, "--max-seconds", 5, "--json")[1])
    assert found["examples"] == 90
    named = [f"{label}\t{' '.join(text.split())}\n" for label, text in texts_of(folder)]
    (tmp_path / "lines.ft").write_text("".join(named))
    scores = []
    for data in (folder, tmp_path / "lines.ft"):
        tuned = run("tune", data, *FEW, "--max-iter", 3, "--ledger", tmp_path / "ledger", "--force", "--json")[1]
        scores.append([json.loads(tuned)["test_score"], json.loads(tuned)["parameters"]])
    assert scores[0] == scores[1]
    page = tmp_path / "page.html"
    assert run("report", model, folder, "-o", page, "--max-seconds", 1, "--quiet") == (0, "", "")
    wrong = [row for row in range(90) if fitted.predict(table.X[[row]])[0] != table.y[row]]
    assert f"{90 - len(wrong)} of 90" in page.read_text()
    code, out, _ = run("train", folder, *FEW, "--test", folder, "--json")
    assert (code, json.loads(out)["source"]["form"]) == (0, "files")
    (tmp_path / "table.csv").write_text("1,a\n2,b\n" * 10)
    assert run("train", tmp_path / "table.csv", "-o", tmp_path / "t", "--quiet")[0] == 0
    assert "is a directory" in refused("predict", tmp_path / "t", folder)
    assert "is a directory" in refused("train", folder, "--format", "csv")
    lone = tmp_path / "lone" / "only"
    lone.mkdir(parents=True)
    (lone / "a").write_text("x")
    assert "has only one class" in refused("train", lone.parent)


def test_a_report_shows_the_text_of_the_worst_mistake_with_its_file(run, tmp_path, folder):
    model, page = tmp_path / "m", tmp_path / "page.html"
    assert run("train", folder, "-o", model, "--epochs", "1", "--test-share", "0", "--quiet")[0] == 0
    assert run("report", model, folder, "-o", page, "--max-seconds", 1, "--quiet") == (0, "", "")
    fitted, texts = perceptrons.load(model), texts_of(folder)
    scores = fitted.decision_function([text for _, text in texts])
    true = np.array([label for label, _ in texts])[:, None] == fitted.classes_
    worst = np.argmin(scores[true] - np.where(true, -np.inf, scores).max(axis=1))
    section = page.read_text().partition('id="mistakes"')[2]
    shown = re.sub("<[^>]+>", "", section)  # words are marked by tags
    assert " ".join(texts[worst][1].split()) in " ".join(shown.split())
    assert str(named_files(folder)[worst]) in shown


def test_files_beside_the_classes_are_told(run, folder):
    (folder / "README").write_text("about")
    words = " ".join(run("train", folder)[1].split())
    assert words.count("1 file outside the class folders left out, such as README") == 1


def test_encoding_is_an_option_of_all_commands_and_remembered(run, refused, tmp_path):
    rows = records(60)
    text = write(tmp_path / "t.csv", rows, "csv").read_text("utf-8")
    (tmp_path / "l.csv").write_bytes(text.encode("latin-1"))
    reading = ["--text-column", "body", "--categories", "code"]
    error = refused("train", tmp_path / "l.csv", *reading)
    assert "is not UTF-8 text: save the file as UTF-8, or give --encoding latin-1" in error
    tested = ["--test", tmp_path / "t.csv"]
    assert run("train", tmp_path / "t.csv", *reading, *tested, "-o", tmp_path / "a", "--quiet")[0] == 0
    told = ["--encoding", "latin-1", "--test", tmp_path / "l.csv"]
    assert run("train", tmp_path / "l.csv", *reading, *told, "-o", tmp_path / "b", "--quiet")[0] == 0
    saved, model = perceptrons.load(tmp_path / "a"), perceptrons.load(tmp_path / "b")
    assert model.source_ == {**saved.source_, "encoding": "iso8859-1"}
    expected = run("predict", tmp_path / "b", tmp_path / "l.csv", "--scores")
    assert expected[0] == 0
    assert run("predict", tmp_path / "b", tmp_path / "t.csv", "--scores", "--encoding", "utf-8") == expected
    assert "klingon" in refused("predict", tmp_path / "b", tmp_path / "l.csv", "--encoding", "klingon")
    page = tmp_path / "page.html"
    assert run("report", tmp_path / "b", tmp_path / "l.csv", "-o", page, "--max-seconds", 1, "--quiet")[0] == 0
    assert "--encoding iso8859-1" in page.read_text()
    assert "überall" in page.read_text()


def test_data_that_no_name_tells_are_looked_into(run, refused, tmp_path):
    rows = records(60)
    for form, name in (("svmlight", "a.txt"), ("tab", "b.txt"), ("csv", "c.data"), ("vw", "d"), ("arff", "e.dat")):
        code, out, err = run("train", write(tmp_path / name, rows, form), "--json", "--epochs", "1")
        assert (code, err) == (0, "")
        assert json.loads(out)["source"]["format"] == {"tab": "text"}.get(form, form)
    (tmp_path / "f.dat").write_text("nothing\n")
    assert "choose one of csv, tsv, whitespace, arff, " in refused("train", tmp_path / "f.dat")
    assert "no such file" in refused("train", tmp_path / "none.dat")


def test_the_command_knows_the_formats_of_python():
    assert get_args(Format) == tuple(FORMATS)
