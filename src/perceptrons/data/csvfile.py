"""CSV: a row per example, a cell per feature, the label in a named column or the last. A header is optional."""

import csv
import io
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from perceptrons.data.table import DataFileError, Table, Wanted, as_labels
from perceptrons.data.text import read_text
from perceptrons.features.values import LARGEST, is_label, listed, no_label, number, shown, what_is_wrong

Record = tuple[int, list[str]]  # the line it starts on, its cells


def read_csv(path: Path, wanted: Wanted) -> Table:
    """Read a CSV or TSV file; see `read`."""
    text = read_text(path)
    records = _records(path, text)
    first = next(records, None)
    if first is None:
        raise DataFileError(path, "the file is empty: give a row for each example", 1)
    header = header_of(path, *first)
    places, label = _columns(path, header, len(first[1]), first[0], wanted)
    values, labels, lines = array("d"), [], array("q")
    to_number = float if text.isascii() and "_" not in text else number
    for line, cells in _from(None if header else first, records):
        if len(cells) != len(first[1]):
            raise DataFileError(
                path,
                f"{_count(len(cells), 'cell')} here, but {len(first[1])} in line {first[0]}: "
                "every row needs the same number; a comma within a cell needs quotes around it",
                line,
                min(len(cells), len(first[1])) + 1,
            )
        try:
            values.extend([to_number(cells[place]) for place in places])
        except ValueError:
            _refuse(path, line, cells, places, header, first_row=line == first[0])
        if label is not None:
            labels.append(cells[label].strip())
            if not is_label(labels[-1]):
                what = f"{no_label(labels[-1])}: give one, or remove the row"
                raise DataFileError(path, what, line, label + 1)
        lines.append(line)
    if not lines:
        raise DataFileError(path, "there is a header, but no row below it: give a row for each example", first[0] + 1)
    X = np.frombuffer(values, dtype=np.float64).reshape(len(lines), len(places))
    bad = ~(np.abs(X) <= LARGEST)
    if bad.any():
        row, column = (int(place) for place in np.argwhere(bad)[0])
        cells = next(cells for line, cells in _records(path, text) if line == lines[row])
        raise DataFileError(path, what_is_wrong(cells[places[column]]), lines[row], places[column] + 1)
    return Table(
        X=X,
        y=None if label is None else as_labels(labels, wanted.text_labels),
        feature_names=None if header is None else [header[place] for place in places],
        label_name=None if header is None or label is None else header[label],
        path=path,
        lines=np.frombuffer(lines, dtype=np.int64),
    )


def _records(path: Path, text: str) -> Iterator[Record]:
    """The rows of the file; blank lines are passed over."""
    first_line = text[: text.find("\n") + 1] or text
    delimiter = "\t" if ".tsv" in path.suffixes else ","
    if delimiter not in first_line:
        delimiter = next((other for other in ",;\t" if other in first_line), delimiter)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            what = "close its quotes, and keep cells shorter than 131,072 characters"
            raise DataFileError(path, f"the row that starts here is broken ({error}): {what}", line) from error
        if len(cells) > 1 or (cells and cells[0].strip()):
            yield line, cells


def _from(first: Record | None, rest: Iterator[Record]) -> Iterator[Record]:
    if first is not None:
        yield first
    yield from rest


def header_of(path: Path, line: int, cells: list[str]) -> list[str] | None:
    """The names of the columns if the first row is a header: if none of its cells is a number."""
    names = [cell.strip() for cell in cells]
    if any(_is_number(name) for name in names):
        features = names[:-1]
        if (
            len(features) > 2
            and features == [str(place) for place in range(len(features))]
            and not _is_number(names[-1])
        ):
            raise DataFileError(
                path, "is this a header of column numbers, as pandas writes it? Name the columns, or leave it out", line
            )
        return None
    seen: set[str] = set()
    for place, name in enumerate(names):
        if not name:
            raise DataFileError(
                path,
                "this column has no name: name it, or leave it out (pandas writes its index so: use index=False)",
                line,
                place + 1,
            )
        if name in seen:
            raise DataFileError(path, f"a second column has the name {shown(name)}: names must differ", line, place + 1)
        seen.add(name)
    return names


def _columns(
    path: Path, header: list[str] | None, width: int, line: int, wanted: Wanted
) -> tuple[list[int], int | None]:
    """Which columns hold the features, in the model's order, and which the label."""
    label = _named_label(path, header, width, line, wanted)
    if header is not None and wanted.feature_names is not None:
        place_of = {name: place for place, name in enumerate(header)}
        missing = [name for name in wanted.feature_names if name not in place_of]
        if missing:
            raise DataFileError(
                path, f"the header lacks {listed(missing)}, which the model was trained on: add what is missing", line
            )
        places = [place_of[name] for name in wanted.feature_names]
        others = sorted(set(range(width)) - set(places))
        if label is None and others:
            label = width - 1 if others[-1] == width - 1 else others[0] if len(others) == 1 else None
    else:
        if label is None and (wanted.n_features is None or width == wanted.n_features + 1):
            label = width - 1
        places = [place for place in range(width) if place != label]
        if wanted.n_features is not None and len(places) != wanted.n_features:
            raise DataFileError(
                path,
                f"{_count(width, 'column')} here, but the model has {_count(wanted.n_features, 'feature')}: "
                "give one column for each, and if you like the label behind them",
                line,
            )
    if not places:
        raise DataFileError(
            path, "there is only one column: give a label and at least one feature, separated by commas", line
        )
    if label is None and wanted.need_labels:
        raise DataFileError(path, "there is no label column: add it, or name it with --label-column", line)
    return places, label


def _named_label(path: Path, header: list[str] | None, width: int, line: int, wanted: Wanted) -> int | None:
    name = wanted.label_column
    if name is None:
        return None
    if header is not None and name in header:
        return header.index(name)
    if name.isascii() and name.isdecimal() and 1 <= int(name) <= width:
        return int(name) - 1
    if header is None:
        what = f"there is no header, so no column is called {shown(name)}: give its number, from 1 to {width}"
    else:
        what = f"no column is called {shown(name)}: there are {listed(header)}"
    raise DataFileError(path, what, line)


def _is_number(text: str) -> bool:
    try:
        number(text)
    except ValueError:
        return False
    return True


def _refuse(
    path: Path, line: int, cells: list[str], places: list[int], header: list[str] | None, first_row: bool
) -> None:
    """Raise the error for the first cell that is no number."""
    place = min(place for place in places if not _is_number(cells[place]))
    what = what_is_wrong(cells[place])
    if header is not None:
        what = f"column {shown(header[place])}: {what}"
    elif first_row:
        what += "; a header has no numbers at all"
    raise DataFileError(path, what, line, place + 1)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
