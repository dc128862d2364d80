"""Examines data before training: columns, missing values, labels, and likely problems.

Rows are read by the reader that training uses, which also decides what each column is. A column that decides the label
in every row, more often than chance would, gives it away: it may be a very good feature, or was written after the label
was known. Who looks at the data decides.
"""

import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import lgamma, log
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.data.csv import read_rows
from perceptrons.data.labels import as_labels, joined_label_sets, target_of
from perceptrons.data.source import BOM, decoded_from, opened
from perceptrons.data.table import Block, DataPath, HasPlaces, concatenate_rows, joined
from perceptrons.data.table_reader import KIND_ROWS, TableReader, UnpreparedRows
from perceptrons.data.text import LABEL, Folder
from perceptrons.engine.streaming.blocks import row_hashes
from perceptrons.engine.training.labels import Target
from perceptrons.engine.training.matrices import widened
from perceptrons.engine.wording import count
from perceptrons.features.cells import CodedColumn, Contents, ListColumn, TextColumn, record_keys
from perceptrons.features.inference import SOME, ColumnFacts, ColumnKinds, infer_facts
from perceptrons.features.preparation import InvalidCell, seconds_of
from perceptrons.features.values import Recipe, shown

if TYPE_CHECKING:
    from perceptrons.data.reader import Reader

PLAIN = ("equals", "separates", "missing", "determines")  # what is said of a column, the plainest first
UNLIKELY = log(1e-6)  # that a column which has nothing to do with the label decides it in all rows


class Leak(NamedTuple):
    """A column that decides the label. how: equals, separates, determines or missing."""

    column: str
    how: str

    def in_words(self) -> str:
        """Return what is suspicious, as a sentence."""
        name = shown(self.column)
        return {
            "equals": f"column {name} equals the label in every row",
            "separates": f"column {name} separates the classes without a mistake: each class has its own range",
            "determines": f"column {name} determines the label: each of its values occurs in one class only",
            "missing": f"column {name} gives the label away by whether it is missing",
        }[self.how]


def leaks(contents: Contents, numbers: list[str], labels: CodedColumn, column_of: Mapping[str, str]) -> list[Leak]:
    """Return the columns that decide the label.

    contents: cells as they are learned from; numbers: the names of numbers; column_of: columns of the table that others
    are derived from, where they have another name.
    """
    if len(np.unique(labels.codes)) < 2:
        return []
    findings = [(name, _number_leak(contents.numbers[:, place], labels)) for place, name in enumerate(numbers)]
    findings += [(name, _category_leak(column, labels)) for name, column in contents.categories.items()]
    suspicious: dict[str, list[str]] = {}
    for name, kind in findings:
        if kind is not None:
            suspicious.setdefault(column_of.get(name, name), []).append(kind)
    return [Leak(name, min(hows, key=PLAIN.index)) for name, hows in suspicious.items()]


def _number_leak(values: np.ndarray, labels: CodedColumn) -> str | None:
    present = ~np.isnan(values)
    distinct, codes = np.unique(values, return_inverse=True)
    texts = [f"{value:.0f}" if value.is_integer() else repr(value) for value in distinct.tolist()]
    column = CodedColumn(codes.astype(np.int32), texts)
    if (kind := _category_leak(column, labels)) == "equals":
        return kind
    if _separates(values[present], labels.codes[present], len(labels.distinct)):
        return "separates"
    return "missing" if _determines(present.astype(np.int32), labels.codes) else kind


def _category_leak(column: CodedColumn, labels: CodedColumn) -> str | None:
    """Return whether a column equals the label or determines it; None for neither."""
    if not _determines(column.codes + 1, labels.codes):
        return None
    pairs = {*zip(column.codes.tolist(), labels.codes.tolist(), strict=True)}
    same = all(code >= 0 and column.distinct[code].strip() == labels.distinct[label] for code, label in pairs)
    return "equals" if same else "determines"


def _determines(values: np.ndarray, labels: np.ndarray) -> bool:
    """Return whether each value occurs with one label only, and chance would hardly bring that about."""
    label_of = np.zeros(values.max() + 1, np.int64)
    label_of[values] = labels
    if (label_of[values] != labels).any():
        return False
    shares = np.log(np.bincount(labels)[np.unique(labels)] / len(labels))
    # rows of a value all have label c with probability share(c)^rows
    sizes, times = np.unique(np.unique(values, return_counts=True)[1], return_counts=True)
    chances = [np.logaddexp.reduce(size * shares) for size in sizes.tolist()]
    return float(np.dot(chances, times)) < UNLIKELY


def _separates(values: np.ndarray, labels: np.ndarray, n_labels: int) -> bool:
    """Return whether each label has its own range of values, and chance would hardly bring that about."""
    counts = np.bincount(labels, minlength=n_labels)
    if not counts.all():
        return False
    ranges = sorted((values[labels == k].min(), values[labels == k].max()) for k in range(n_labels))
    if any(first[1] >= following[0] for first, following in pairwise(ranges)):
        return False
    orders = lgamma(len(labels) + 1) - sum(lgamma(n + 1) for n in counts.tolist())
    return lgamma(n_labels + 1) - orders < UNLIKELY


BINS = 8  # of histograms
KIND_NAMES = {"yes/no": "yes or no", "identifier": "an identifier", "empty": "an empty column", "text": "text"}


class Column(NamedTuple):
    """A column over all rows that were read. kind: by which it is learned from, as the first rows decided it.

    counts: a histogram of numbers and dates, or how often the most frequent values of others occur.
    """

    facts: ColumnFacts
    kind: str
    used: bool
    counts: list[int]
    frequent: list[tuple[str, int]]
    span: tuple[str, str] | None = None  # the first and the last date

    @property
    def changes(self) -> bool:
        """Do all rows look like something else than the first ones?"""
        return self.kind != self.facts.kind and "constant" not in (self.kind, self.facts.kind)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        facts = self.facts
        return {
            **facts.as_dict(), "kind": self.kind, "kind_of_all_rows": facts.kind, "used": self.used,
            "missing_share": facts.missing / facts.n if facts.n else 0.0, "counts": self.counts,
            "frequent": [{"value": value, "rows": n} for value, n in self.frequent], "span": self.span,
        }  # fmt: skip


class DataSummary(NamedTuple):
    """What was found. Of a table columns, of other data a matrix; labels: the number of each row's class."""

    n: int
    more: bool  # are there more rows than were read?
    labels: np.ndarray
    classes: list[Any]
    equal: np.ndarray  # the same number for rows that are equal in all that is learned from
    columns: list[Column] | None = None
    X: Any = None
    leaks: Sequence[Leak] = ()
    invalid: Sequence[InvalidCell] = ()  # cells that do not fit what the first rows decided
    by_label: list[int] | None = None  # where rows have several labels, how many have each; labels are then label sets

    def class_counts(self) -> list[tuple[Any, int]]:
        """Return the classes and how many rows each has, the most frequent first."""
        if self.by_label is not None:
            return sorted(zip(self.classes, self.by_label, strict=True), key=lambda one: -one[1])
        counts = np.bincount(self.labels, minlength=len(self.classes)).tolist()
        return sorted(zip(self.classes, counts, strict=True), key=lambda one: -one[1])

    def duplicates(self) -> int:
        """Return rows that repeat an earlier one, label included."""
        pairs = np.stack([self.equal, self.labels])
        return self.n - np.unique(pairs, axis=1).shape[1]

    def contradicting(self) -> np.ndarray:
        """Return rows that are equal to another one with a different label; they count from 0."""
        pairs = np.unique(np.stack([self.equal, self.labels]), axis=1)[0]
        groups, times = np.unique(pairs, return_counts=True)
        return np.flatnonzero(np.isin(self.equal, groups[times > 1]))

    def best_accuracy(self) -> float:
        """Return the best accuracy that any function of the features can have on these rows."""
        pairs, times = np.unique(np.stack([self.equal, self.labels]), axis=1, return_counts=True)
        best = np.zeros(self.equal.max() + 1, np.int64)
        np.maximum.at(best, pairs[0], times)
        return float(best.sum() / self.n)

    def largest_values(self) -> list[tuple[float, str]]:
        """Return the largest absolute value of each column of numbers that is learned from, without zeros."""
        numbers = [column.facts for column in self.columns or () if column.used and column.facts.low is not None]
        sizes = ((max(abs(facts.low or 0), abs(facts.high or 0)), facts.name) for facts in numbers)
        return [(size, name) for size, name in sizes if size > 0]

    def feature_counts(self) -> dict[str, Any] | None:
        """Return how many features there are and how many an example has, for JSON; None for a table."""
        X = self.X
        if X is None:
            return None
        is_sparse = sp.issparse(X)
        each = np.diff(X.indptr) if is_sparse else np.count_nonzero(X, axis=1)
        occurring = np.count_nonzero(np.bincount(X.indices, minlength=X.shape[1]) if is_sparse else X.any(axis=0))
        return {
            "features": X.shape[1], "occurring": int(occurring), "nonzeros_mean": float(each.mean()),
            "nonzeros_least": int(each.min()), "nonzeros_most": int(each.max()), "empty": int((each == 0).sum()),
        }  # fmt: skip

    def misfits(self) -> list[str]:
        """Return what is to be said of columns whose type in the first rows is not that of all rows."""
        n_invalid_of = Counter(value.column for value in self.invalid)
        first = {value.column: value for value in reversed(self.invalid)}
        misfit = "not fit the type that train infers from the first rows. The first:"
        messages = [
            f"column {name!r}: {count(n, 'value does', 'values do')} {misfit} {first[name].message}"
            for name, n in n_invalid_of.items()
        ]
        for column in self.columns or ():
            if column.changes and column.facts.name not in n_invalid_of:
                first_rows, all_rows = (KIND_NAMES.get(kind, f"a {kind}") for kind in (column.kind, column.facts.kind))
                difference = (
                    f"looks like {first_rows} in the first {KIND_ROWS:,} rows, from which train infers its type"
                )
                messages.append(f"column {column.facts.name!r} {difference}, but like {all_rows} in all rows")
        return messages

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "examples": self.n,
            "more_examples": self.more,
            "columns": None if self.columns is None else [column.to_dict() for column in self.columns],
            "features": self.feature_counts(),
            "classes": [{"class": label, "examples": n, "share": n / self.n} for label, n in self.class_counts()],
            "duplicates": self.duplicates(),
            "contradictions": len(self.contradicting()),
            "leaks": [{**leak._asdict(), "what": leak.in_words()} for leak in self.leaks],
        }


def look(reader: "Reader", at_most: int, text_labels: bool = False) -> DataSummary | None:
    """Read at most this many examples and describe what is in them; None if there are none.

    Parameters
    ----------
    reader : Reader
        Labels are best read as text, so that those of all rows decide what they are.
    at_most : int
    text_labels : bool, default=False
        Keep labels as strings even if all are whole numbers.
    """
    reader.unprepared = True
    blocks, n = list[Block](), 0
    for block in reader:
        rows = np.arange(min(block.X.shape[0], at_most - n))
        n += block.X.shape[0]
        if len(rows):
            blocks.append(block.part(rows))
        if n > at_most:
            break
    if not blocks:
        return None
    if several := blocks[0].several:  # every label set is a label, except where labels are counted
        y, texts = joined_label_sets(blocks)
        _, first, codes = np.unique(row_hashes(y), return_index=True, return_inverse=True)
    else:
        texts, codes = np.unique(np.concatenate([np.asarray(block.y) for block in blocks]), return_inverse=True)
    classes = as_labels(texts.tolist(), text_labels) if texts.dtype.kind == "U" else texts
    if several:
        names = [", ".join(str(label) for label in classes[y[row].indices].tolist()) for row in first.tolist()]
    else:
        classes, number_of = np.unique(classes, return_inverse=True)
        codes, names = number_of[codes], [str(label) for label in classes.tolist()]
    labels = CodedColumn(codes.astype(np.int32), names)
    if isinstance(blocks[0].X, UnpreparedRows):
        assert isinstance(reader, TableReader)
        assert reader.decided is not None
        summary = _summarize_table([block.X.contents for block in blocks], reader.decided, labels, n > at_most)
    else:
        X = concatenate_rows([block.X for block in blocks], reader.n_features)
        equal = np.unique(row_hashes(X), return_inverse=True)[1]
        summary = DataSummary(X.shape[0], n > at_most, labels.codes, [], equal, X=X)
    summary = summary._replace(classes=classes.tolist())
    if not several:
        return summary
    return summary._replace(by_label=np.bincount(y.indices, minlength=len(classes)).tolist(), leaks=())


def _summarize_table(parts: list[Contents], decided: ColumnKinds, labels: CodedColumn, more: bool) -> DataSummary:
    roles, n = decided.read, len(labels.codes)
    contents = _join_contents(parts)
    used = {*decided.roles.numbers, *decided.roles.categories, *decided.roles.texts}
    kinds = {column_facts.name: column_facts.kind for column_facts in decided.facts}
    place_of = {name: place for place, name in enumerate(roles.numbers)}
    columns = []
    for facts in infer_facts(contents, roles, decided.preparation.missing_values):
        if facts.name in decided.roles.texts:
            facts = facts._replace(kind="text")
        name, kind = facts.name, kinds[facts.name]
        if name in place_of:
            counts = _histogram(contents.numbers[:, place_of[name]])
            columns.append(Column(facts, kind, name in used, counts, []))
        else:
            columns.append(_describe_strings(facts, kind, name in used, contents, decided))
    keys = dict.fromkeys(text.partition("=")[0] for part in contents.lists for text in part.names)
    columns += [_describe_lists(name, contents) for name in keys if name not in kinds]
    columns += [_describe_texts(name, [part.texts[k] for part in parts], decided) for k, name in enumerate(roles.texts)]
    if roles.label is not None:
        counts = np.bincount(labels.codes, minlength=len(labels.distinct)).tolist()
        frequent = Counter(dict(zip(labels.distinct, counts, strict=True))).most_common(BINS)
        label_facts = ColumnFacts(roles.label, "label", n, 0, len(labels.distinct))
        columns.append(Column(label_facts, "label", False, [n for _, n in frequent], frequent[:SOME]))
    if decided.names:
        order = {name: place for place, name in enumerate(decided.names)}
        columns.sort(key=lambda column: order[column.facts.name])
    preparation = decided.preparation
    as_written = replace(preparation, missing_values=preparation.missing_values._replace(numbers=()))
    derived, invalid = as_written.derive(_select_columns(contents, roles.numbers, used))
    flags = {name: contents.categories[name] for name in preparation.flags}
    plain = derived._replace(categories=derived.categories | flags)
    numbers = [*decided.roles.numbers, *preparation.derived_numbers()]
    dated = [*preparation.derived_numbers(), *preparation.derived_categories()]
    column_of = {feature: name for name in preparation.dates for feature in dated if feature.startswith(f"{name}.")}
    suspicious = leaks(plain, numbers, labels, column_of)
    hashes = np.concatenate([record_keys(_select_columns(part, roles.numbers, used)) for part in parts])
    equal = np.unique(hashes, return_inverse=True)[1]
    return DataSummary(n, more, labels.codes, [], equal, columns, leaks=suspicious, invalid=invalid)


def _describe_strings(facts: ColumnFacts, kind: str, used: bool, contents: Contents, decided: ColumnKinds) -> Column:
    """Return a column of strings: dates by time, others by their most frequent values."""
    column = contents.categories[facts.name]
    rows = np.bincount(column.codes[column.codes >= 0], minlength=len(column.distinct)).tolist()
    times = Counter(dict(zip(column.distinct, rows, strict=True))) + _count_in_lists(facts.name, contents)[0]
    frequent = [(text, n) for text, n in times.most_common()
                if n and text.strip().lower() not in decided.preparation.missing_values.texts][:BINS]  # fmt: skip
    counts = [n for _, n in frequent]
    if kind != "date":
        return Column(facts, kind, used, [] if kind in ("identifier", "text") else counts, frequent[:SOME])
    seconds = np.array([*map(seconds_of, column.distinct), None], np.float64)
    dated = [text for text, at in zip(column.distinct, seconds.tolist(), strict=False) if at == at and times[text]]
    ends = [seconds_of(text) or 0.0 for text in dated]
    span = (dated[int(np.argmin(ends))], dated[int(np.argmax(ends))]) if dated else None
    return Column(facts, kind, used, _histogram(seconds[column.codes]), frequent[:SOME], span)


def _describe_lists(name: str, contents: Contents) -> Column:
    """Return a key of records that may have several values, or that only some records have."""
    times, rows = _count_in_lists(name, contents)
    common = tuple(value for value, _ in times.most_common(SOME))
    facts = ColumnFacts(name, "category", contents.n, contents.n - rows, len(times), examples=common)
    return Column(facts, "category", True, [n for _, n in times.most_common(BINS)], times.most_common(SOME))


def _count_in_lists(name: str, contents: Contents) -> tuple[Counter[str], int]:
    """Return how often values occur in the lists of a key, and in how many rows."""
    times, rows = Counter[str](), set[int]()
    for part in contents.lists:
        mine = [text.partition("=")[0] == name for text in part.names]
        for row, code in zip(part.rows.tolist(), part.codes.tolist(), strict=True):
            if mine[code]:
                times[part.names[code].partition("=")[2] or "1"] += 1
                rows.add(row)
    return times, len(rows)


def _describe_texts(name: str, texts: list[TextColumn], decided: ColumnKinds) -> Column:
    times: Counter[bytes] = Counter()
    for content, begin, end in texts:
        text_bytes = content.tobytes()
        times.update(text_bytes[a:b].strip() for a, b in zip(begin.tolist(), end.tolist(), strict=True))
    n, none = times.total(), {word.encode() for word in (*decided.preparation.missing_values.texts, "")}
    missing = sum(times[text] for text in times if text.lower() in none)
    distinct = sum(text.lower() not in none for text in times)
    return Column(ColumnFacts(name, "text", n, missing, distinct), "text", True, [], [])


def _histogram(values: np.ndarray) -> list[int]:
    present = values[~np.isnan(values)]
    return np.histogram(present, BINS)[0].tolist() if len(present) else []


def _join_contents(parts: list[Contents]) -> Contents:
    """Return all cells but the texts."""
    begins = np.cumsum([0, *(part.n for part in parts)])
    lists = [
        ListColumn(column.rows + begin, *column[1:])
        for part, begin in zip(parts, begins.tolist(), strict=False)
        for column in part.lists
    ]
    categories = {name: _join_strings([part.categories[name] for part in parts]) for name in parts[0].categories}
    return Contents(np.concatenate([part.numbers for part in parts]), categories, lists, [])


def _join_strings(parts: list[CodedColumn]) -> CodedColumn:
    number_of: dict[str, int] = {}
    codes = []
    for column in parts:
        numbers = [number_of.setdefault(text, len(number_of)) for text in column.distinct]
        codes.append(np.array([*numbers, -1], np.int32)[column.codes])
    return CodedColumn(np.concatenate(codes), list(number_of))


def _select_columns(contents: Contents, numbers: list[str], used: set[str]) -> Contents:
    """Return the cells of these columns."""
    places = [place for place, name in enumerate(numbers) if name in used]
    categories = {name: column for name, column in contents.categories.items() if name in used}
    return contents._replace(numbers=contents.numbers[:, places], categories=categories)


# ---- the first examples

NO_LINES = ("parquet", "arrow", "xlsx")  # formats whose bytes nobody can read
AS_LINES = ("text", "vw")  # formats whose lines can be read by people as they are


class Sample(NamedTuple):
    """The first examples of a reader. y, lines: None where there are none; of_file: the number of the file of each."""

    X: Any
    y: Any
    lines: np.ndarray | None
    of_file: np.ndarray
    seen: int  # examples that were read
    more: bool  # are there more than these?
    one: Any  # features and line, in a folder the file, of the example asked for by its number; None: there is none

    def texts(self, reader: "Reader") -> "Originals | None":
        """Return the examples as people can read them, if their files hold texts."""
        source = reader.recipe()
        has_texts = source["format"] in AS_LINES or (source.get("text_column") and source["format"] not in NO_LINES)
        return (
            Originals(reader.files, self.of_file, self.lines, source) if has_texts and self.lines is not None else None
        )


def first_examples(reader: "Reader", n_features: int, at_most: int, number: int | None = None) -> Sample | None:
    """Return up to `at_most` examples, and the one with this number (from 1); None if there are no examples."""
    blocks: list[Block] = []
    requested, n_read = None, 0
    for block in reader:
        X = widened(block.X, n_features)
        if n_read < at_most:
            blocks.append(block._replace(X=X))
        if number is not None and n_read < number <= n_read + X.shape[0]:
            place = number - n_read - 1
            line = None if block.lines is None else int(block.lines[place])
            requested = X[[place]], block.path.place(line, 1) if isinstance(block.path, HasPlaces) else line
        n_read += X.shape[0]
        if n_read > at_most and (number is None or requested is not None):
            break
    if not blocks:
        return None
    files = {path: number for number, path in enumerate(reader.files)}
    of_file = np.repeat([files[block.path] for block in blocks], [block.X.shape[0] for block in blocks])
    y, lines = labels_of(blocks), joined([block.lines for block in blocks])
    X = concatenate_rows([block.X for block in blocks], n_features)[:at_most]
    y = y.part(np.arange(min(at_most, len(y.codes)))) if isinstance(y, Target) else None if y is None else y[:at_most]
    lines = None if lines is None else lines[:at_most]
    return Sample(X, y, lines, of_file[:at_most], n_read, n_read > at_most, requested)


def labels_of(blocks: list[Block]) -> Any:
    """Return the labels of blocks; where examples may have several, with their names."""
    if all(block.several for block in blocks):
        return target_of(*joined_label_sets(blocks))
    return joined([block.y for block in blocks])


class Originals:
    """The texts of examples: of text files behind the label, of tables the columns of texts, of others whole lines."""

    def __init__(self, files: list[DataPath], of_row: np.ndarray, lines: np.ndarray, source: Recipe):
        self._files, self._of_row, self._lines, self._source = files, of_row, lines, source

    def __len__(self) -> int:
        return len(self._lines)

    def fetch(self, rows: list[int]) -> list[str | None]:
        """Return the texts of these rows; None for what is not there any more."""
        texts: dict[int, str | None] = dict.fromkeys(rows)
        for number in sorted({int(self._of_row[row]) for row in rows}):
            mine = {int(self._lines[row]): row for row in rows if self._of_row[row] == number}
            path = self._files[number]
            if isinstance(path, Folder):
                texts |= {row: path.text(line) for line, row in mine.items()}
                continue
            for line, text in self._read(path, sorted(mine)):
                texts[mine[line]] = text
        return [texts[row] for row in rows]

    def _read(self, path: DataPath, line_numbers: list[int]) -> Iterator[tuple[int, str | None]]:
        """Yield the texts of the records that begin on these lines, in one reading of the file."""
        format, columns = str(self._source.get("format")), self._columns()
        encoding = decoded_from(self._source.get("encoding"))
        if format in ("csv", "tsv") and columns:
            yield from self._read_cells(path, line_numbers, columns, encoding)
            return
        with opened(path, encoding=encoding) as file:
            lines = enumerate(io.BufferedReader(file), 1)
            for target in line_numbers:
                line = next((line for number, line in lines if number == target), None)
                if line is None:
                    return
                yield target, self._line(line, format, columns)

    def _read_cells(
        self, path: DataPath, line_numbers: list[int], columns: list[str], encoding: str | None
    ) -> Iterator[tuple[int, str]]:
        """Yield the cells of columns of text, a line each; all cells of a row that lacks them."""
        names: list[str] | None = None
        for line, cells in read_rows(path, self._source["format"] == "tsv", line_numbers, encoding):
            if names is None:
                header = [cell.strip() for cell in cells]
                names = header if {*columns} <= {*header} else list(self._source.get("names") or [])
            texts = [cell for name, cell in zip(names, cells, strict=False) if name in columns]
            if line in line_numbers:
                yield line, "\n".join(texts or cells)

    def _columns(self) -> list[str]:
        columns = self._source.get("text_column")
        return [] if columns is None else [columns] if isinstance(columns, str) else [str(name) for name in columns]

    def _line(self, line: bytes, format: str, columns: list[str]) -> str | None:
        line = line.removeprefix(BOM)
        if format == "text":
            if self._source.get("form") == "fasttext":
                return _text(LABEL.sub(b"", line)).strip()
            return _text(line.partition(b"\t")[2]).strip("\r\n")
        if format == "jsonl" and columns:
            try:
                record = json.loads(line)
                return "\n".join(str(record[name]) for name in columns if name in record)
            except (ValueError, TypeError, AttributeError):
                return None
        return _text(line).strip()


def _text(content: bytes) -> str:
    return content.removeprefix(BOM).decode("utf-8", "replace")
