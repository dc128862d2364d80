"""Comma-separated values and JSON Lines with one number, one category and one label, slow and plain."""

import json
import math
import re
from typing import NamedTuple

NUMBER = re.compile(rb"[ \t\n\r\f\v]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t\n\r\f\v]*")
LARGEST = 1e100
MISQUOTED = object()  # a cell with text behind its closing quotes
NO_LABEL = ("nan", "inf", "infinity")


class Example(NamedTuple):
    line: int
    number: float
    category: str | None  # None: none is given
    label: str


def delimiter_of(content):
    """A comma, or if the first line has none, a semicolon or a tab."""
    line = re.sub(rb"^([ \t]*[\r\n])*", b"", content).split(b"\n")[0]
    return next((mark for mark in (b",", b";", b"\t") if mark in line), b",")


def csv_records(content, delimiter):
    """(line, cells) of every record, and the line on which quotes are opened that are never closed, else None."""
    records, line, p = [], 1, 0
    while p < len(content):
        begin, begin_line, cells = p, line, []
        while True:
            cell, begins = b"", p
            while content[p : p + 1] in (b" ", b"\t") and content[p : p + 1] != delimiter:
                p += 1
            quoted = content[p : p + 1] == b'"'
            p = p if quoted else begins
            if quoted:
                p += 1
                while True:
                    if p >= len(content):
                        return records, begin_line
                    if content[p : p + 2] == b'""':
                        cell, p = cell + b'"', p + 2
                    elif content[p : p + 1] == b'"':
                        p += 1
                        break
                    else:
                        line += content[p : p + 1] == b"\n"
                        cell, p = cell + content[p : p + 1], p + 1
            begins = p
            while content[p : p + 1] not in (b"", b"\n", b"\r", delimiter):
                p += 1
            rest = content[begins:p]
            cells.append(cell + rest if not quoted else cell if not rest.strip() else MISQUOTED)
            if content[p : p + 1] != delimiter:
                break
            p += 1
        if content[begin:p].strip(b" \t" if delimiter != b"\t" else b" "):
            records.append((begin_line, cells))
        p += 2 if content[p : p + 2] == b"\r\n" else 1
        line += 1
    return records, None


def sound_number(value):
    return not math.isnan(value) and abs(value) <= LARGEST


def sound_label(text):
    return text != "" and text.lower().lstrip("+-") not in NO_LABEL and "\0" not in text


def prepared(content):
    """Without a byte order mark, and with a newline behind the last line."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    return content if not content or content.endswith(b"\n") else content + b"\n"


def width_of(content):
    """The number of cells of the first record, 0 if there is none."""
    content = prepared(content)
    records, _ = csv_records(content, delimiter_of(content))
    return len(records[0][1]) if records else 0


def csv_examples(content):
    """Examples of number, category, label in the first three columns, no header; bad lines; the line of open quotes."""
    content = prepared(content)
    records, open_line = csv_records(content, delimiter_of(content))
    examples, bad = [], []
    for line, cells in records:
        if MISQUOTED in cells:
            bad.append(line)
            continue
        try:
            number, category, label = float(cells[0]), cells[1].decode().strip(), cells[2].decode().strip()
        except (ValueError, IndexError):
            bad.append(line)
            continue
        width = len(cells) == len(records[0][1])
        if width and NUMBER.fullmatch(cells[0]) and sound_number(number) and sound_label(label):
            examples.append(Example(line, number, category, label))
        else:
            bad.append(line)
    return examples, bad, open_line


def without_doubles(pairs):
    """An object in which a key that stands twice has a value that is good for nothing."""
    found = {}
    for key, value in pairs:
        found[key] = ... if key in found else value
    return found


def json_examples(content):
    """Examples of keys n, c (empty if it is not there) and label; bad lines. Other keys do not count."""
    examples, bad = [], []
    for line, text in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not text.strip():
            continue
        try:
            record = json.loads(text.decode(), object_pairs_hook=without_doubles)
            json.dumps(record, ensure_ascii=False, default=str).encode()
            number, category, label = record["n"], record.get("c"), record["label"]
            if isinstance(number, bool) or not isinstance(number, int | float) or not sound_number(number):
                raise ValueError("no number")
            category, label = written(category), written(label).strip()
            if not sound_label(label):
                raise ValueError("no label")
        except (ValueError, KeyError, AttributeError, RecursionError, TypeError):
            bad.append(line)
            continue
        examples.append(Example(line, float(number), category, label))
    return examples, bad


def written(value):
    """A value as a category or label."""
    if value is None or isinstance(value, bool):
        return {None: "", True: "true", False: "false"}[value]
    if not isinstance(value, str | int | float):
        raise ValueError("no text")
    text = value if isinstance(value, str) else repr(value)
    text.encode()
    return text
