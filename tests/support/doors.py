"""What tests of all doors share: records in files of every format, and every way to ask a model about them."""

import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import scipy.sparse as sp

import perceptrons
from perceptrons.cli import main
from perceptrons.data import read, stream
from perceptrons.data.splitting import parts_of
from perceptrons.engine.training.matrices import widened
from perceptrons.serve.state import State

LABELS = ("ham", "odd", "spam")
WORDS = ["free", "money", "hello", "you", "prize", "Call", "now", "see", "überall", "naïve"]


def records(n=60, seed=0):
    """Records with numbers, categories, texts and one of three labels that depends on all of them."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(n):
        label = ("ham", "spam", "odd")[k % 3]
        rows.append(
            {
                "size": float(np.round(rng.normal() + k % 3, 3)),
                "age": float(rng.integers(0, 50)),
                "shop": str(rng.choice(["red", "blue", "green, or so"])),
                "code": str(rng.choice(["007", "08", "9.0"])),
                "title": " ".join(rng.choice(WORDS[: 4 + 3 * (k % 3)], 3)),
                "body": " ".join(rng.choice(WORDS[k % 3 :], 5)),
                "label": label,
            }
        )
    return rows


def raw_records(n=60, seed=0):
    """Records as people have them: an identifier, missing numbers, categories, dates, flags, a note."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(n):
        label = ("ham", "spam", "odd")[k % 3]
        rows.append(
            {
                "id": k + 1000,
                "size": None if rng.random() < 0.2 else float(np.round(1000 * rng.normal() + 900 * (k % 3), 3)),
                "age": float(rng.integers(0, 50)),
                "shop": str(rng.choice(["red", "blue", "green, or so", ""])),
                "day": None if rng.random() < 0.1 else f"2024-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}",
                "at": f"2024-05-0{rng.integers(1, 9)}T{rng.integers(0, 24):02d}:30",
                "paid": str(rng.choice(["yes", "no"])),
                "note": f"{' '.join(rng.choice(WORDS, 5))} {k}",
                "label": label,
            }
        )
    return rows


def write(path, rows, form):
    """Records as a file of some format; texts and points take part of them."""
    if form in ("csv", "tsv"):
        pd.DataFrame(rows).to_csv(path, index=False, sep="," if form == "csv" else "\t")
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == "whitespace":
        lines = ["  ".join(rows[0]), *(" \t".join(map(_with_quotes, row.values())) for row in rows)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    elif form == "arff":
        path.write_text(as_arff(rows), encoding="utf-8")
    elif form == "xlsx":
        pd.DataFrame(rows).to_excel(path, index=False)
    elif form == "folder":
        for number, row in enumerate(rows):
            (path / row["label"]).mkdir(parents=True, exist_ok=True)
            (path / row["label"] / f"{number:04}.txt").write_text(row["body"].replace(" ", "\n", 1), encoding="utf-8")
    elif form == "parquet":
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
    elif form == "arrow":
        pyarrow.feather.write_feather(pa.Table.from_pylist(rows), path)
    elif form == "tab":
        path.write_text("".join(f"{row['label']}\t{row['body']}\n" for row in rows))
    elif form == "fasttext":
        path.write_text("".join(f"__label__{row['label']} {row['body']}\n" for row in rows))
    elif form == "vw":
        names = {"ham": 1, "spam": 2, "odd": 3}
        path.write_text("".join(f"{names[row['label']]} |n size:{row['size']} |w {row['body']}\n" for row in rows))
    else:
        assert form == "svmlight"
        path.write_text("".join(f"{row['label']} 1:{row['size']} 3:{row['age']}\n" for row in rows))
    return path


def _with_quotes(value):
    return str(value) if isinstance(value, float | int) else '"' + value.replace('"', '""') + '"'


def as_arff(rows):
    """Records as ARFF: numbers, and strings in single quotes."""
    kinds = {name: "NUMERIC" if isinstance(value, float | int) else "string" for name, value in rows[0].items()}
    lines = ["% a comment", "@RELATION test", *(f"@attribute '{name}' {kind}" for name, kind in kinds.items())]
    lines.append("@Data")
    for row in rows:
        cells = [
            str(value) if isinstance(value, float | int)
            else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
            for value in row.values()
        ]  # fmt: skip
        lines.append(", ".join(cells))
    return "\n".join(lines) + "\n"


def trained(capsys, folder, data, *options):
    """Train by the command, and test on the same file: the model, its file and the accuracies that it prints."""
    saved = folder / f"{len(list(folder.iterdir()))}.model"
    assert main(["train", str(data), *options, "--test", str(data), "-o", str(saved), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    return perceptrons.load(saved), saved, (told.get("train_accuracy"), told["test_accuracy"])


def scores_by_command(capsys, saved, data, *options):
    """Labels and scores that `predict` prints, in full precision."""
    capsys.readouterr()
    assert main(["predict", str(saved), str(data), "--scores", "--json", *options]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    scores = np.array([list(row["scores"].values()) for row in rows])
    return [row["label"] for row in rows], scores.ravel() if scores.shape[1] == 1 else scores


def accuracies(capsys, saved, data):
    """What `evaluate` says, and `inspect` of the first example."""
    capsys.readouterr()
    assert main(["evaluate", str(saved), str(data), "--json"]) == 0
    evaluated = json.loads(capsys.readouterr().out)["accuracy"]
    assert main(["inspect", str(saved), "--data", str(data), "--example", "1", "--json"]) == 0
    return evaluated, json.loads(capsys.readouterr().out)["on_data"]["example"]


def rows_of(reader):
    """All rows and labels of a reader."""
    blocks = list(reader)
    width = blocks[-1].X.shape[1]
    parts = [widened(block.X, width) for block in blocks]
    X = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
    return X, np.concatenate([block.y for block in blocks])


def without_tested(path):
    """A prepared table, measured on all examples but those that `tune` and `compare` test on."""
    reader, y = stream(path, prepare=True), read(path).y
    learned = np.ones(len(y), bool)
    learned[parts_of(y, y).test.rows] = False
    reader.learn_from = lambda blocks: np.split(learned, np.cumsum([block.X.shape[0] for block in blocks])[:-1])
    return reader.read()


def same_matrix(one, other):
    assert sp.issparse(one) == sp.issparse(other)
    assert one.dtype == other.dtype
    assert one.shape == other.shape
    difference = one != other
    assert not (difference.nnz if sp.issparse(difference) else difference.any())


def check_served(saved, examples, labels, scores):
    """What a server of this model answers to the same examples, which come to it as JSON."""
    found = State(perceptrons.load(saved)).predict(json.loads(json.dumps(examples)), scores=True)
    assert [one.label for one in found] == labels
    np.testing.assert_array_equal([list(one.scores.values()) for one in found], scores.reshape(len(labels), -1))


def check_doors(capsys, model, saved, data, reading, raw):
    """All doors for one model. reading: how `stream` read in training; raw: the same examples in memory."""
    X, y = rows_of(stream(data, **reading))
    same_matrix(rows_of(stream(data, like=model))[0], X)
    labels, scores = model.predict(X), model.decision_function(X)
    said, by_command = scores_by_command(capsys, saved, data)
    assert said == labels.tolist()
    np.testing.assert_array_equal(by_command, scores)
    text = ""
    if data.is_file() and not str(data).endswith((".parquet", ".arrow", ".xlsx")):
        with open(data, encoding="utf-8", errors="surrogateescape", newline="") as file:
            text = file.read()
    if text:
        np.testing.assert_array_equal(
            model.decision_function(rows_of(stream(io.StringIO(text, newline=""), like=model))[0]), scores
        )
    for given_raw in raw:
        assert model.predict(given_raw).tolist() == said
        np.testing.assert_array_equal(model.decision_function(given_raw), scores)
        if isinstance(given_raw, list):
            check_served(saved, given_raw, said, scores)
    accuracy = float(np.mean(labels == y))
    evaluated, example = accuracies(capsys, saved, data)
    assert evaluated == accuracy
    assert example["prediction"] == said[0]
    np.testing.assert_allclose(np.ravel(example["decision"]), np.ravel(scores[0]), rtol=1e-5, atol=1e-6)
    return accuracy, (said, scores.tolist())
