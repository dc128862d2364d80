"""Detects the format of a file by the ending of its name, or else by its first bytes."""

import codecs
import csv
import io
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

from perceptrons.data.labels import USUAL_LABELS
from perceptrons.data.source import (
    BOM,
    BROKEN,
    STDIN,
    Beginning,
    InMemory,
    Inputs,
    OpenStream,
    compression_of,
    decoded_from,
    find_files,
    is_stream,
    opened,
    standard_input,
)
from perceptrons.data.table import DataFileError
from perceptrons.features.values import NUMBER

ENDINGS = {
    ".csv": "csv", ".tsv": "tsv", ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
    ".npz": "npz", ".vw": "vw", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".arrow": "arrow",
    ".feather": "arrow", ".ft": "text", ".labelled": "text", ".arff": "arff", ".xlsx": "xlsx",
}  # fmt: skip
LOOK = 2**16  # bytes
MOST, NEARLY_ALL = 0.5, 0.9  # of the lines that must be alike
SVMLIGHT = re.compile(r"[^\s:|]+([ \t]+qid:\d+)?([ \t]+\d+:[^\s:]+)*[ \t]*(#.*)?")
PAIR = re.compile(r"[ \t]\d+:[^\s:]")
VW = re.compile(r"([^\s|,]+[ \t]+){0,3}([^\s|,]*)\|")
ARFF = re.compile(r"(\s*%.*\n|\s*\n)*\s*@(relation|attribute)\b", re.IGNORECASE)
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def format_of_name(path: Any) -> str | None:
    """Return the format that the ending of a name, or that before .gz and the like, stands for, if any."""
    name = _name_of(path)
    return ENDINGS.get(Path(name.stem if compression_of(name) else name.name).suffix.lower())


def is_folder(path: Any) -> bool:
    """Return whether it is a folder of files."""
    return not is_stream(path) and not isinstance(path, InMemory) and os.path.isdir(path)


def stream_format(paths: Inputs) -> str:
    """Return the format that the ending of the first name stands for."""
    format = format_of_name(paths[0])
    if format is None:
        raise _unknown_format(paths[0], "the file extension does not tell the format:")
    return format


def detect_format(paths: Inputs, encoding: str | None) -> tuple[str, Inputs]:
    """Return the format by the first name, or by what is in that file; and what to read, from its beginning."""
    named_format = format_of_name(paths[0]) if paths else None
    if named_format is not None or not paths:
        return named_format or "text", paths  # of nothing: the reader says that there is nothing to read
    if is_folder(paths[0]):
        return "text", paths
    content, paths = first_bytes(paths, encoding)
    format = format_of(content)
    if format is None:
        reason = "neither its name nor its content tells the format:" if content.strip() else "the file is empty:"
        if content.startswith(UTF_16):
            reason = "it looks like text in UTF-16: give --encoding utf-16, or"
        raise _unknown_format(paths[0], reason)
    return format, paths


def _unknown_format(path: Any, message: str) -> DataFileError:
    """Return the error for a file of unknown format, which names all formats."""
    from perceptrons.data.options import FORMATS

    return DataFileError(_name_of(path), f"{message} choose one of {', '.join(FORMATS)} (--format)")


def _name_of(path: Any) -> Path:
    """Return the name of a file or of an open stream."""
    return Path(str(OpenStream(path, 1)) if is_stream(path) else path)


def first_bytes(paths: Inputs, encoding: str | None) -> tuple[bytes, tuple[Any, ...]]:
    """Return the first bytes of the first path, uncompressed and in UTF-8, and all paths, to be read from the start.

    What can be read only once, such as a pipe, is kept in memory as far as it was looked at.
    """
    first = paths[0]
    if is_stream(first) and not first.seekable():
        first = Beginning(OpenStream(first, 1).bytes(), LOOK, getattr(first, "name", None))
    elif not is_stream(first) and str(first) == "-":
        first = Beginning(standard_input(), LOOK, str(STDIN))
    paths, source = (first, *paths[1:]), first
    if isinstance(first, Beginning):
        source = io.BytesIO(first.peek())
    content = b""
    path = find_files((source,))[0]
    try:
        with opened(path, encoding=decoded_from(encoding)) as file:
            while len(content) < LOOK and (more := file.read(1024)):
                content += more
    except DataFileError as error:
        if not (isinstance(first, Beginning) and isinstance(error.__cause__, (*BROKEN, OSError))):
            raise  # of a pipe that is compressed only the beginning is there, and breaks off
    finally:
        if isinstance(path, OpenStream):
            path.bytes()  # from where it stood
    return content, paths


def format_of(content: bytes) -> str | None:
    """Return the format of a file that begins with these bytes; None: none of those that are known.

    The first that fits, in this order:

    1. by magic bytes: parquet, arrow; of zip archives those with arrays (npz) or with sheets (xlsx);
    2. no other format has NUL bytes;
    3. arff: the first line that is neither blank nor a comment begins with @relation or @attribute;
    4. jsonl: the first line that is not blank is a JSON object, or begins as one and is cut off here;
    5. text: the first line that is not blank begins with __label__;
    6. svmlight: most lines are a label and pairs such as 3:0.5, and at least one has a pair;
    7. vw: most lines have a bar, with at most a label, an importance, a base and a tag before it;
    8. text: nearly all lines have a tab, and most a label without blanks before it and words with blanks between them
       behind it; but the first line has no column name such as "label" or "text";
    9. none if the first line begins with {, [ or <, as other JSON, XML and HTML do;
    10. tsv: nearly all records have the same number of tabs, at least one;
    11. csv: the same of commas, or else of semicolons;
    12. whitespace: nearly all lines have the same number of cells between blanks, two or more, and at least half of the
        cells are numbers. So prose is not a table, and neither is a list of words.

    A last line that is cut off does not count if there are others. So a CSV file of prose whose commas happen to agree
    is a table, and numbers with decimal commas between blanks are CSV: say --format where the guess is wrong.
    """
    magic = _by_magic(content)
    if magic is not None or b"\0" in content:
        return magic
    text, is_cut = content.removeprefix(BOM).decode("utf-8", "replace"), len(content) >= LOOK
    complete = text[: text.rfind("\n") + 1] or text.rpartition(" ")[0] or text if is_cut else text
    lines = [line for line in complete.splitlines() if line.strip()]
    if not lines:
        return None
    if ARFF.match(text):
        return "arff"
    if _is_json(lines[0], cut=is_cut and len(lines) == 1):
        return "jsonl"
    if lines[0].lstrip().startswith("__label__"):
        return "text"
    if _fraction(SVMLIGHT.fullmatch(line.strip()) for line in lines) > MOST and any(map(PAIR.search, lines)):
        return "svmlight"
    if _fraction(VW.match(line.lstrip()) for line in lines) > MOST:
        return "vw"
    if _fraction("\t" in line.strip() for line in lines) >= NEARLY_ALL and _are_texts(lines):
        return "text"
    if lines[0].lstrip().startswith(("{", "[", "<")):
        return None
    if _same_width(lines, "\t"):
        return "tsv"
    if _same_width(lines, ",") or _same_width(lines, ";"):
        return "csv"
    return "whitespace" if _is_table(lines) else None


def _by_magic(content: bytes) -> str | None:
    if content.startswith(b"PAR1"):
        return "parquet"
    if content.startswith((b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")):
        return "arrow"
    if content.startswith(b"PK\x03\x04"):
        if b"[Content_Types].xml" in content or b"xl/" in content:
            return "xlsx"
        return "npz" if b".npy" in content else None
    return None


def _fraction(flags: Any) -> float:
    values = [bool(flag) for flag in flags]
    return sum(values) / len(values)


def _is_json(line: str, cut: bool) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except RecursionError:
        return line.lstrip().startswith("{")
    except ValueError:
        return cut and re.match(r'\s*\{\s*"', line) is not None


def _same_width(lines: list[str], delimiter: str) -> bool:
    """Return whether nearly all records have the same number of cells, two or more."""
    try:
        widths = Counter(len(row) for row in csv.reader([f"{line}\n" for line in lines], delimiter=delimiter) if row)
    except csv.Error:  # a cell of more than 131,072 letters
        return False
    ((width, n),) = widths.most_common(1)
    return width > 1 and n >= NEARLY_ALL * widths.total()


def _are_texts(lines: list[str]) -> bool:
    """Return whether this is a label, a tab and a text on every line."""
    pairs = [line.partition("\t") for line in lines]
    column_names = {cell.strip().lower() for cell in lines[0].split("\t")} & {*USUAL_LABELS, "text"}
    worded = _fraction(label and " " not in label.strip() and " " in text.strip() for label, _, text in pairs) > MOST
    return worded and not column_names


def _is_table(lines: list[str]) -> bool:
    rows = [line.split() for line in lines]
    ((width, n),) = Counter(map(len, rows)).most_common(1)
    numbers = _fraction(NUMBER.fullmatch(cell) for row in rows[1:100] or rows for cell in row)  # the first may be names
    return width > 1 and n >= NEARLY_ALL * len(rows) and numbers >= MOST
