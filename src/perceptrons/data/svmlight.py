"""svmlight (libsvm) text: a line per example, "label index:value index:value ... # comment"."""

import re
from array import array
from pathlib import Path
from typing import NoReturn

import numpy as np
import scipy.sparse as sp

from perceptrons.data.table import LARGEST, DataFileError, Table, Wanted, as_labels, is_label, shown
from perceptrons.data.text import NUMBER, read_text, what_is_wrong

LINE = re.compile(r"\s*([^\s:,]+)((?:\s+\d+:[-+.\deE]+)*+)\s*", re.ASCII)
QUERY = re.compile(r"(?<!\S)qid:\S*")
PAIR = re.compile(r"(?<!\S)(\d+):(\S+)", re.ASCII)
LARGEST_INDEX = 2**26  # a weight for each: more would not fit in memory; hash the features to fewer columns


def read_svmlight(path: Path, wanted: Wanted) -> Table:
    """Read an svmlight file; see `read`. Repeated indices are summed.

    Indices count from 1, unless a 0 occurs. A file that counts from 0 names its features "0", "1", ..., so that a model
    trained on it knows how to read a file in which no 0 occurs.
    """
    text_lines = read_text(path).split("\n")
    values, columns, starts = array("d"), array("q"), array("q", [0])
    labels, lines = [], array("q")
    for number, text in enumerate(text_lines, 1):
        line = _example(text)
        if not line or line.isspace():
            continue
        match = LINE.fullmatch(line)
        if match is None or not is_label(match[1]):
            _refuse(path, number, line)
        pairs = match[2].replace(":", " ").split()
        try:
            columns.extend(map(int, pairs[0::2]))
            values.extend(map(float, pairs[1::2]))
        except (ValueError, OverflowError):
            _refuse(path, number, line)
        starts.append(len(values))
        labels.append(match[1])
        lines.append(number)
    if not lines:
        raise DataFileError(path, "there is no example in the file: give a line for each", 1)
    data, indices, indptr = (np.array(part) for part in (values, columns, starts))

    def refuse_pair(bad: np.ndarray, why: str | None = None) -> None:
        """Raise the error for the first pair that is bad, if any is."""
        if bad.any():
            place = int(np.argmax(bad))
            row = int(np.searchsorted(indptr, place, side="right")) - 1
            pair = list(PAIR.finditer(text_lines[lines[row] - 1]))[place - indptr[row]]
            what = why or what_is_wrong(pair[2])
            raise DataFileError(path, what.format(pair[1]), lines[row], pair.start() + 1)

    refuse_pair(~(np.abs(data) <= LARGEST))
    refuse_pair(indices > LARGEST_INDEX, f"index {{}} is too large (at most {LARGEST_INDEX}): number the features anew")
    names = wanted.feature_names
    from_zero = bool(names and names[0] == "0") or (len(indices) > 0 and int(indices.min()) == 0)
    indices -= 0 if from_zero else 1
    width = int(indices.max(initial=-1)) + 1
    if wanted.n_features is not None:
        range_ = f"0 to {wanted.n_features - 1}" if from_zero else f"1 to {wanted.n_features}"
        refuse_pair(
            indices >= wanted.n_features,
            f"index {{}}, but the model has features {range_}: remove it, or train on data that have it",
        )
        width = wanted.n_features
    if not width:
        raise DataFileError(path, "no line has a feature: write them as index:value behind the label", lines[0])
    X = sp.csr_matrix((data, indices, indptr), shape=(len(lines), width))
    X.sum_duplicates()
    return Table(
        X=X,
        y=as_labels(labels, wanted.text_labels),
        feature_names=[str(index) for index in range(width)] if from_zero else None,
        label_name=None,
        path=path,
        lines=np.frombuffer(lines, dtype=np.int64),
    )


def _example(text: str) -> str:
    """The line without its comment and query id, every other character in its place."""
    line = text.partition("#")[0]
    return QUERY.sub(lambda match: " " * len(match[0]), line) if "qid:" in line else line


def _refuse(path: Path, line: int, text: str) -> NoReturn:
    """Raise the error for the first word of the line that is wrong."""
    label, *pairs = re.finditer(r"\S+", text)
    what = None
    if ":" in label[0]:
        what = "the label is missing: start the line with it (0 will do if you only predict)"
    elif "," in label[0]:
        what = f"{shown(label[0])} has a comma: give one label a line; are these comma-separated values (--format csv)?"
    elif not is_label(label[0]):
        what = f"{shown(label[0])} is no label: give one, or remove the line"
    if what is not None:
        raise DataFileError(path, what, line, label.start() + 1)
    for pair in pairs:
        index, colon, value = pair[0].partition(":")
        if not colon or ":" in value:
            what = f"{shown(pair[0])} is not of the form index:value: mend or remove it"
        elif not (index.isascii() and index.isdecimal()):
            what = f"{shown(index)} is not an index: use whole numbers from 1 (or 0)"
        elif len(index) > 18:
            what = f"index {index[:20]} is too large (at most {LARGEST_INDEX}): number the features anew"
        elif not NUMBER.fullmatch(value):
            what = what_is_wrong(value)
        else:
            continue
        raise DataFileError(path, what, line, pair.start() + 1)
    raise DataFileError(path, "not of the form label index:value index:value ...: mend or remove the line", line)
