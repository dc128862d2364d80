"""The results of reading: blocks of examples, or a table of all; their labels; and errors that name the place."""

import codecs
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from perceptrons.data.labels import label_matrix, not_classes, target_of
from perceptrons.engine.training.matrices import stack_csr, widened
from perceptrons.engine.wording import short
from perceptrons.features import Columns
from perceptrons.features.cells import CodedColumn
from perceptrons.features.values import Recipe


class Identity(NamedTuple):
    """Size and time of the last change of a file: other values mean that it is another one."""

    size: int
    changed: int


class Source:
    """Something to read examples from that is not a file: an open stream, examples in memory or a folder of texts."""

    def __init__(self, name: str):
        self.name = name  # in messages

    def __str__(self) -> str:
        return self.name

    def identity(self) -> Identity | None:
        """Return what changes with the contents, or None if there is nothing that would show it."""
        return None


DataPath = Path | Source  # where examples come from


@runtime_checkable
class HasPlaces(Protocol):
    """A source whose examples have names of their own, as the files of a folder do."""

    def place(self, line: int | None, column: int) -> str: ...


class DataFileError(ValueError):
    """A file cannot be read as examples; the message is one line, "file:line:column: what is wrong: what to do"."""

    def __init__(self, path: DataPath, message: str, line: int | None = None, column: int = 1):
        self.path, self.line, self.column = path, line, None if line is None else column
        place = f"{path}: " if line is None else f"{path}:{line}:{column}: "
        if isinstance(path, HasPlaces):
            place = f"{path.place(line, column)}: "
        super().__init__(place + message)


@dataclass(frozen=True)
class Table:
    """All examples of one or more files, as `read` returns them.

    Attributes
    ----------
    X : array or CSR matrix of shape (n_examples, n_features)
    y : array of shape (n_examples,), CSR matrix of shape (n_examples, n_labels), or None
        The labels, or None if there are none. If examples may have several labels: an indicator matrix, as in
        scikit-learn, whose columns are `classes`.
    feature_names : list of str or None
        The names of the features; None if they have no names or are hashed.
    label_name : str or None
        The name of the label column.
    path : Path or Source
        The first file, or the name of the data in messages.
    lines : array of shape (n_examples,) or None
        The line on which each example starts, numbered from 1; the row in Parquet, Arrow and frames. None if there is
        neither.
    weight : array of shape (n_examples,) or None
        The weights of the examples; None if all are 1.
    files : list of Path or Source
        All files.
    of_file : array of shape (n_examples,) or None
        The number of the file of each example, numbered from 0; None if there is only one file.
    source : dict
        The arguments of `stream` that read other files in the same way.
    columns : Columns or None
        The features by name.
    skipped, complaints, notices : int, list of str, list of str
        The number of malformed records that were skipped, the messages for the first of them, and other notes about the
        files.
    keys : array of shape (n_examples,) or None
        A hash of each record as written, if features depend on other records, as scaled features do.
    classes : array of shape (n_labels,) or None
        The sorted labels, if examples may have several; otherwise None.
    """

    X: Any
    y: Any
    feature_names: list[str] | None
    label_name: str | None
    path: DataPath
    lines: np.ndarray | None = None
    weight: np.ndarray | None = None
    files: list[DataPath] = field(default_factory=list)
    of_file: np.ndarray | None = None
    source: Recipe = field(default_factory=dict)
    columns: Columns | None = None
    skipped: int = 0
    complaints: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    keys: np.ndarray | None = None
    classes: np.ndarray | None = None

    def part(self, rows: np.ndarray) -> "Table":
        """Return only these examples."""
        of_each: dict[str, Any] = {name: getattr(self, name) for name in ("y", "lines", "weight", "of_file", "keys")}
        selected = {name: values[rows] for name, values in of_each.items() if values is not None}
        return replace(self, X=self.X[rows], **selected)

    @property
    def several(self) -> bool:
        """May an example have several labels?"""
        return self.classes is not None

    @property
    def label_sets(self) -> list[tuple[Any, ...]]:
        """The labels of each example by name, where it may have several: as `Perceptron.fit` takes them."""
        if self.classes is None:
            raise ValueError("These examples have one label each: use y.")
        names, ends = self.classes[self.y.indices].tolist(), self.y.indptr.tolist()
        return [tuple(names[begin:end]) for begin, end in pairwise(ends)]

    @property
    def target(self) -> Any:
        """The labels as `Perceptron.fit` takes them, those of several with their names."""
        return self.y if self.classes is None else target_of(self.y, self.classes)

    @property
    def n_bytes(self) -> int:
        """The memory that the features take."""
        return _nbytes_of(self.X)

    def teach(self, model: Any) -> None:
        """Let a fitted model read other files as these were read, as after `fit_stream`."""
        if self.source:
            model.source_, model.columns_ = self.source, self.columns
        elif self.feature_names is not None:
            model.feature_names_in_ = self.feature_names


def describe_decoding_error(error: UnicodeDecodeError) -> str:
    """Return what is wrong with bytes that are not UTF-8."""
    start = bytes(error.object[:4]) if error.start == 0 else b""
    encoding = "latin-1"
    if start == codecs.BOM_UTF32_LE:
        encoding = "utf-32"
    elif start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    byte = error.object[error.start]
    return f"byte 0x{byte:02x} is not UTF-8 text: save the file as UTF-8, or give --encoding {encoding}"


def check_classes(table: Table, many_classes: bool) -> None:
    """Refuse labels that are not classes, such as prices or ids: nearly every row has its own."""
    if table.classes is not None:
        if not len(table.classes):
            raise DataFileError(table.path, "no example has a label, so there is nothing to learn from")
        return
    labels = np.unique(np.asarray(table.y)).tolist()
    message = None if many_classes else not_classes(labels, table.X.shape[0], table.label_name)
    if message is None and len(labels) < 2:
        message = f"has only one class, {short(repr(labels[0]), 28)}: a classifier needs at least two."
    if message is not None:
        raise DataFileError(table.path, message)


def named_lines(files: list[DataPath], of_file: np.ndarray | None, lines: np.ndarray | None) -> Any:
    """Return the line of every example, with the name of the file if there are several; in a folder the file."""
    folders = any(isinstance(path, HasPlaces) for path in files)
    if lines is None or not (folders or (of_file is not None and len(files) > 1)):
        return lines
    numbers = [0] * len(lines) if of_file is None else of_file.tolist()
    places = [(files[number], line) for number, line in zip(numbers, lines.tolist(), strict=True)]
    return [path.place(line, 1) if isinstance(path, HasPlaces) else f"{path}:{line}" for path, line in places]


def joined(parts: list[Any]) -> Any:
    """Return arrays as one, without a copy if it is only one; None if one of them is."""
    if any(part is None for part in parts):
        return None
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def concatenate_rows(parts: list[Any], n_features: int) -> Any:
    """Join matrices to one of at least this width. Empties the list, so that their memory is free early.

    A CSR matrix comes with its columns in order and without duplicates.
    """
    width = max(n_features, *(part.shape[1] for part in parts))
    if not any(map(sp.issparse, parts)):
        return _concatenate_arrays(parts, width)
    if len(parts) == 1:
        X = widened(parts.pop(), width)
    else:
        parts[:] = [part if sp.issparse(part) else sp.csr_matrix(part) for part in parts]
        X = stack_csr(parts, width)
    X.sum_duplicates()
    return X


def _concatenate_arrays(parts: list[Any], width: int) -> np.ndarray:
    if len(parts) == 1:
        return widened(parts.pop(), width)
    base = parts[0].base
    if base is not None and base.shape == (sum(map(len, parts)), width) and all(part.base is base for part in parts):
        parts.clear()  # they follow each other in one array already
        return base
    X = np.zeros((sum(len(part) for part in parts), width), np.result_type(*(part.dtype for part in parts)))
    begin = 0
    while parts:
        part = parts.pop(0)
        X[begin : begin + len(part), : part.shape[1]] = part
        begin += len(part)
    return X


class Block(NamedTuple):
    """Some examples that follow each other in a file.

    Labels are numbers of `distinct`, the labels of this block in order of appearance. Some of them may be equal, as 1
    and 1.0 are, and some may belong to no example. Both are None if there are no labels. If examples may have several
    labels, distinct ones are tuples.
    """

    X: Any  # CSR matrix or array; as many columns as features are known by now
    codes: np.ndarray | None  # int32
    distinct: list[Any] | None
    weight: np.ndarray | None
    path: DataPath
    lines: np.ndarray | None  # where each example begins, from 1
    keys: np.ndarray | None = None  # uint64: a hash of each record, where the rows are scaled by the data

    @property
    def several(self) -> bool:
        """May an example have several labels?"""
        return bool(self.distinct) and isinstance(self.distinct[0], tuple)  # type: ignore[index]

    @property
    def classes(self) -> np.ndarray | None:
        """The labels that codes number, or, of several labels, those of the columns of `sets`."""
        if self.distinct is None or self.several:
            return None if self.distinct is None else label_matrix(self.distinct)[0]
        return np.array(self.distinct) if self.distinct else np.empty(0, np.int64)

    @property
    def sets(self) -> sp.csr_matrix | None:
        """If examples may have several labels: which of the `classes` each of the distinct sets has."""
        return label_matrix(self.distinct or [])[1] if self.several else None

    @property
    def y(self) -> Any:
        """The label of each example, or an indicator matrix whose columns are `classes`."""
        distinct = self.sets if self.several else self.classes
        return None if self.codes is None or distinct is None else distinct[self.codes]

    def part(self, rows: np.ndarray) -> "Block":
        """Return only these examples."""
        values = {name: getattr(self, name) for name in ("X", "codes", "weight", "lines", "keys")}
        return self._replace(**{name: value[rows] for name, value in values.items() if value is not None})

    def labels(self) -> list[Any]:
        """Return the distinct labels of the examples, in order."""
        if self.codes is None or self.distinct is None:
            return []
        used = [self.distinct[code] for code in np.unique(self.codes).tolist()]
        return label_matrix(used)[0].tolist() if self.several else used


class BadRecord(NamedTuple):
    """A malformed record."""

    line: int  # within the piece, from 0
    message: str
    column: int = 1


class Skipped(NamedTuple):
    """A record that was left out."""

    path: DataPath
    line: int  # from 1
    message: str  # "file:line:column: what is wrong: what to do"


Outcome = tuple[Block | None, list[Skipped]]


class ParsedPiece(NamedTuple):
    """What a thread makes of a piece, before anything is known of the pieces before it."""

    n_lines: int
    lines: np.ndarray  # int64: of each example, within the piece, from 0
    labels: CodedColumn | None  # a tuple stands for several labels, or none
    rows: Any  # the format's own
    weight: np.ndarray | None
    bad: list[BadRecord]
    keys: np.ndarray | None = None
    label_column: int = 1  # where in a record the labels stand


def n_bytes(block: Block | None) -> int:
    """Return the size of the examples and labels of a block in memory."""
    return 0 if block is None else sum(map(_nbytes_of, (block.X, block.codes)))


def _nbytes_of(X: Any) -> int:
    """Return the memory that an array or a sparse matrix takes; 0 for None."""
    if sp.issparse(X):
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return 0 if X is None else X.nbytes
