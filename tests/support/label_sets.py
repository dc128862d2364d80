"""Examples with several labels as files of every format."""

import json

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from tests.support.doors import as_arff

CELLS = ("csv", "tsv", "whitespace", "arff", "xlsx")  # formats in which a separator is between labels
COLUMNS = {"columns": ".csv", "mulan": ".arff", "label_keys": ".jsonl", "label_parquet": ".parquet"}  # 1 or 0 for each
FORMATS = ("svmlight", "vw", "fasttext", "tab", *CELLS, "jsonl", "parquet", "arrow", *COLUMNS)


def write_sets(folder, form, X, sets):
    """Numbers and label sets as a file; formats of text get a word for each number above 0.5."""
    path = folder / f"sets.{ {'svmlight': 'svm', 'fasttext': 'ft', 'tab': 'labelled'}.get(form, form) }"
    names = [f"x{k}" for k in range(X.shape[1])]
    between = "|" if form == "whitespace" else ";"
    rows = [dict(zip(names, row.tolist(), strict=True)) for row in X]
    if form in COLUMNS:
        return _with_label_columns(folder / f"sets{COLUMNS[form]}", rows, sets)
    words = [" ".join(name for name in names if row[name] > 0.5) or "none" for row in rows]
    if form in CELLS:
        rows = [{**row, "label": between.join(labels)} for row, labels in zip(rows, sets, strict=True)]
    else:
        rows = [{**row, "label": list(labels)} for row, labels in zip(rows, sets, strict=True)]
    if form == "svmlight":
        values = [" ".join(f"{k + 1}:{row[name]!r}" for k, name in enumerate(names)) for row in rows]
        lines = [f"{','.join(labels)} {text}" for labels, text in zip(sets, values, strict=True)]
    elif form == "vw":
        values = [" ".join(f"{name}:{row[name]!r}" for name in names) for row in rows]
        lines = [f"{','.join(labels)} | {text}" for labels, text in zip(sets, values, strict=True)]
    elif form == "fasttext":
        lines = [
            " ".join([*(f"__label__{one}" for one in labels), text]) for labels, text in zip(sets, words, strict=True)
        ]
    elif form == "tab":
        lines = [f"{';'.join(labels)}\t{text}" for labels, text in zip(sets, words, strict=True)]
    elif form == "jsonl":
        lines = [json.dumps(row) for row in rows]
    elif form == "whitespace":
        quoted = [f'"{row["label"]}"' for row in rows]
        lines = [" ".join([*names, "label"])]
        lines += [" ".join([*(repr(row[name]) for name in names), one]) for row, one in zip(rows, quoted, strict=True)]
    else:
        return _written(path, form, rows)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _written(path, form, rows):
    if form in ("csv", "tsv"):
        pd.DataFrame(rows).to_csv(path, index=False, sep="," if form == "csv" else "\t")
    elif form == "xlsx":
        pd.DataFrame(rows).to_excel(path, index=False)
    elif form == "arff":
        path.write_text(as_arff(rows), encoding="utf-8")
    else:
        table = pa.Table.from_pylist(rows)
        (pyarrow.parquet.write_table if form == "parquet" else pyarrow.feather.write_feather)(table, path)
    return path


def _with_label_columns(path, rows, sets):
    """A column of 1 and 0 for each label, behind the features; ARFF says in its header which these are."""
    labels = sorted({one for labels in sets for one in labels})
    rows = [{**row, **{one: int(one in have) for one in labels}} for row, have in zip(rows, sets, strict=True)]
    if path.suffix == ".csv":
        pd.DataFrame(rows).to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".parquet":
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
    else:
        kinds = {name: "{0,1}" if name in labels else "numeric" for name in rows[0]}
        header = [f"@relation 'test: -C -{len(labels)}'", *(f"@attribute {name} {kinds[name]}" for name in kinds)]
        lines = [",".join(map(str, row.values())) for row in rows]
        path.write_text("\n".join([*header, "@data", *lines]) + "\n", encoding="utf-8")
    return path


def reading_of(form, labels=("blue", "green", "red", "white")):
    """How `stream` reads them."""
    if form in COLUMNS:
        return {} if form == "mulan" else {"label_column": list(labels)}
    if form == "whitespace":
        return {"format": "whitespace", "label_separator": "|"}
    return {"label_separator": ";"} if form in (*CELLS, "tab") else {}
