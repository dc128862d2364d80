"""svmlight (libsvm) text: a line per example, "label index:value index:value ... # comment". Compiled: `scan/`.

A label with commas, as 1,3, stands for several; a line that begins with a pair has none.
"""

import re
import threading
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.data.labels import COMMA, is_encodable, split_all
from perceptrons.data.reader import Reader, bad_records, read_labels
from perceptrons.data.source import PIECE, Inputs, Piece
from perceptrons.data.table import BadRecord, ParsedPiece, describe_decoding_error
from perceptrons.engine.scan.svmlight import INDEX_DIGITS, LARGEST_NUMBER, Found, scan_svmlight
from perceptrons.engine.training.matrices import widened
from perceptrons.features.cells import CodedColumn
from perceptrons.features.values import LARGEST, NUMBER, LearnedState, Recipe, is_label, shown, what_is_wrong

QUERY = re.compile(r"(?<!\S)qid:\S*")
PAIR = re.compile(r"(?<!\S)(\d+):(\S+)", re.ASCII)
LARGEST_INDEX = 2**26  # a weight for each: more would not fit in memory; hash the features to fewer columns
COUNTED = (
    "index {}, but the first lines have indices from 1: if indices start at 0, give zero_based=True (--zero-based)"
)
TOO_LARGE = f"index {{}} is too large (at most {LARGEST_INDEX}): renumber the features, or hash them (--hash-bits)"
OR_COMMAS = "or use --format csv, if these are comma-separated values"


class SvmlightReader(Reader):
    """Reads svmlight files. Repeated indices both stand, and so add up.

    zero_based: do indices count from 0? None: they do if a 0 occurs in the first block, and else count from 1, as
    columns count from 0. hash_bits: column = index modulo 2^hash_bits, as in Vowpal Wabbit. dtype: "float32" takes half
    the memory, and learns in float32, as Vowpal Wabbit does.
    """

    format = "svmlight"
    more_on_labels = True
    no_features = f"no line has any features: write them as index:value after the label; {OR_COMMAS}"

    def __init__(
        self,
        paths: Inputs,
        *,
        zero_based: bool | None = None,
        hash_bits: int | None = None,
        n_features: int | None = None,
        dtype: str = "float64",
        **shared: Any,
    ):
        super().__init__(paths, **shared)
        if zero_based not in (None, True, False):
            raise ValueError(f"zero_based={zero_based!r}: give True, False or None.")
        if n_features is not None and (not isinstance(n_features, Integral) or n_features < 0):
            raise ValueError(f"n_features={n_features!r}: give a whole number of at least 0.")
        if dtype not in ("float32", "float64"):
            raise ValueError(f"dtype={dtype!r}: give 'float32' or 'float64'.")
        self.hash_bits, self._model_width, self.dtype = hash_bits, n_features, dtype
        self._requested_zero_based = True if hash_bits else zero_based
        self._buffers = threading.local()  # of each thread its own
        self._begin()

    def _begin(self) -> None:
        self.zero_based = self._requested_zero_based
        self._has_queries = False  # has a file qid:n in its first piece?
        self.n_features = 2**self.hash_bits if self.hash_bits else self._model_width or 0

    def recipe(self) -> Recipe:
        return {
            "format": self.format,
            "zero_based": self.zero_based,
            "hash_bits": self.hash_bits,
            "dtype": self.dtype,
            "text_labels": self.text_labels,
        } | self._shared()

    def learned_state(self) -> LearnedState:
        return {"zero_based": self.zero_based, "n_features": self.n_features}, {}

    def _restore(self, facts: Recipe, arrays: dict[str, np.ndarray]) -> None:
        self.zero_based, n_features = facts["zero_based"], int(facts["n_features"])
        if not self.n_features <= n_features <= max(self.n_features, LARGEST_INDEX + 1):
            raise ValueError(f"expected a number of features that the files can have, not {n_features}")
        self.n_features = n_features

    @property
    def notices(self) -> list[str]:
        message = "qid:n is left out: examples are classified one by one, not ranked by query"
        return [message] if self._has_queries else []

    def _pieces(self) -> Iterator[Piece]:
        for piece in super()._pieces():
            if piece.first:
                self._has_queries |= b" qid:" in piece.content[: piece.size].tobytes()
            yield piece

    def _parse(self, piece: Piece) -> ParsedPiece:
        with np.errstate(over="ignore"):  # what drops out of 64 bits does, where nothing is compiled
            buffers = self._new_buffers(piece.size, np.int32)
            if (counts := scan_svmlight(piece.content, piece.size, buffers))[0] < 0:
                buffers = self._new_buffers(piece.size, np.int64)
                counts = scan_svmlight(piece.content, piece.size, buffers)
        n_lines, n_rows, n_values, n_bad, n_open = counts
        values, columns, starts = (
            buffers.values[:n_values],
            buffers.columns[:n_values],
            buffers.starts[: n_rows + 1].copy(),
        )
        lines, label_spans = buffers.lines[:n_rows].copy(), buffers.labels[:n_rows]
        bad = bad_records(piece, buffers.bad[:n_bad], _describe_line)
        for place, first, last in buffers.opened[:n_open].tolist():
            values[place] = float(piece.content[first:last].tobytes())
        if n_open and len(huge := np.flatnonzero(~(np.abs(values) <= LARGEST))):
            pairs = dict(_pair(starts, lines, piece, place) for place in huge[::-1].tolist())  # the first of each row
            bad += [BadRecord(int(lines[row]), what_is_wrong(pair[2]), pair.start() + 1) for row, pair in pairs.items()]
            keep, sizes = np.ones(n_rows, bool), np.diff(starts)  # malformed records have no say in how others are read
            keep[list(pairs)] = False
            values, columns = (part[np.repeat(keep, sizes)] for part in (values, columns))
            starts = np.append(0, np.cumsum(sizes[keep])).astype(starts.dtype)
            lines, label_spans = lines[keep], label_spans[keep]
        codes, texts = read_labels(piece.content, label_spans)
        labels = CodedColumn(codes, split_all(texts, COMMA))
        return ParsedPiece(n_lines, lines, labels, (values, columns, starts), None, bad)

    def _new_buffers(self, size: int, index_type: Any) -> Found:
        """Room for what a piece may hold; for the values so that they need not be copied."""
        buffers = getattr(self._buffers, "last", None)
        if buffers is None or len(buffers[-1]) <= size // 4:
            values, lines = max(size, PIECE) // 4 + 1, max(size, PIECE) + 1  # a line may be empty
            shapes = (lines, 2), lines, (lines, 3), (values, 3)
            buffers = (np.empty(lines + 1, np.int32), *(np.empty(shape, np.int64) for shape in shapes))
            self._buffers.last = buffers
        room = max(size, PIECE) // 4 + 1
        return Found(np.empty(room, self.dtype), np.empty(room, index_type), *buffers)

    def _unfit(self, parsed: ParsedPiece, piece: Piece) -> dict[int, tuple[str, int]]:
        columns = parsed.rows[1]
        if not len(columns) and self._labels.model_gives_one:
            return _separated_by_commas(parsed)
        if not self.zero_based and self._requested_zero_based is None and len(columns) and int(columns.min()) == 0:
            self._count_from_zero(parsed)
        elif self.zero_based is None and len(columns):
            self.zero_based = False
        least = 0 if self.zero_based else 1
        max_index, too_large = LARGEST_INDEX, TOO_LARGE
        if self._model_width is not None:
            max_index = self._model_width - 1 + least
            too_large = (
                f"index {{}}, but the model has features {least} to {max_index}: remove it, or train on data that "
                "include it"
            )
        if self.hash_bits or not len(columns) or least <= int(columns.min()) <= int(columns.max()) <= max_index:
            return {}
        unfit = {}
        outside = np.flatnonzero((columns < least) | (columns > max_index))
        for place in outside[::-1].tolist():  # backwards, so that the first of a row stays
            row, pair = _pair(parsed.rows[2], parsed.lines, piece, place)
            unfit[row] = (too_large if columns[place] > max_index else COUNTED).format(pair[1]), pair.start() + 1
        return unfit

    def _count_from_zero(self, parsed: ParsedPiece) -> None:
        """An index is 0: do indices count from 0? While a whole table is read, the blocks before follow."""
        if not _has_zero(parsed, self._labels.multilabel is not False):
            self.zero_based = bool(self.zero_based)
        elif self.zero_based is None:
            self.zero_based = True
        elif self._labels.wait:
            self._count_all_from_zero()

    def _count_all_from_zero(self) -> None:
        """The blocks that a table is made of, up to here, were counted from 1: count them from 0 if there is room."""
        blocks = [block for block, _ in self._buffered if block is not None]
        highest = max((int(block.X.indices.max(initial=-1)) for block in blocks), default=-1)
        if self._model_width is not None and highest + 1 >= self._model_width:
            return
        self.zero_based = self._requested_zero_based = True  # also if it is read again, from the beginning
        if self._model_width is None:
            self.n_features += 1
        for place, (block, skipped) in enumerate(self._buffered):
            if block is not None:
                block.X.indices += 1
                self._buffered[place] = block._replace(X=widened(block.X, self.n_features)), skipped

    def _describe_unlabelled(self, line: bytes) -> tuple[str, int]:
        return _describe_missing_label(_example(line.decode("utf-8", "replace")))

    def _feature_names(self) -> list[str] | None:
        """Return names that say that indices count from 0."""
        are_zero_based = self.zero_based and not self.hash_bits
        return [str(index) for index in range(self.n_features)] if are_zero_based else None

    def _matrix(self, parsed: ParsedPiece) -> Any:
        values, columns, starts = parsed.rows
        if self.hash_bits:
            columns = (columns & (self.n_features - 1)).astype(np.int32, copy=False)
        elif not self.zero_based:
            columns -= 1
        if self._model_width is None and not self.hash_bits:
            self.n_features = max(self.n_features, min(int(columns.max(initial=-1)) + 1, LARGEST_INDEX + 1))
        return sp.csr_matrix((values, columns, starts), shape=(len(starts) - 1, self.n_features), copy=False)


def _has_zero(parsed: ParsedPiece, several: bool) -> bool:
    """Return whether an example that is not skipped for its label has an index of 0."""
    _, columns, starts = parsed.rows
    rows = np.searchsorted(starts, np.flatnonzero(columns == 0), side="right") - 1
    assert parsed.labels is not None
    texts = [parsed.labels.distinct[number] for number in np.unique(parsed.labels.codes[rows])]
    return any(several if isinstance(text, tuple) else is_label(text) and is_encodable(text) for text in texts)


def _separated_by_commas(parsed: ParsedPiece) -> dict[int, tuple[str, int]]:
    """Return what is wrong with rows whose label has commas, where none has features and the model gives one label."""
    assert parsed.labels is not None
    message = (
        "no line has any features, and the labels contain commas: write one label, then features as index:value; "
        f"{OR_COMMAS}"
    )
    commas = [
        number for number, label in enumerate(parsed.labels.distinct) if isinstance(label, tuple) and len(label) > 1
    ]
    return dict.fromkeys(np.flatnonzero(np.isin(parsed.labels.codes, commas)).tolist(), (message, 1))


def _pair(starts: np.ndarray, lines: np.ndarray, piece: Piece, place: int) -> tuple[int, re.Match[str]]:
    """Return the row of a value, and the pair of index and value as it is written in its line."""
    row = int(np.searchsorted(starts, place, side="right")) - 1
    line = piece.content[: piece.size].tobytes().split(b"\n")[lines[row]].decode("utf-8", "replace")
    return row, list(PAIR.finditer(_example(line)))[place - starts[row]]


def _example(text: str) -> str:
    """Return the line without its comment and query id, every other character in its place."""
    line = text.partition("#")[0]
    return QUERY.sub(lambda match: " " * len(match[0]), line) if "qid:" in line else line


def _describe_line(content: bytes) -> tuple[str, int]:
    """Return what is wrong with a line, and the place, from 1, of the first word that is."""
    try:
        text = _example(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        return f"{describe_decoding_error(error)}, or give its format with --format", error.start + 1
    parts = list(re.finditer(r"\S+", text))
    if not parts or (":" in parts[0][0] and not PAIR.match(text, parts[0].start())):
        return _describe_missing_label(text)
    for pair in parts if ":" in parts[0][0] else parts[1:]:
        index, colon, value = pair[0].partition(":")
        if not colon or ":" in value:
            message = f"{shown(pair[0])} is not of the form index:value: correct or remove it"
            if not colon and "," in parts[0][0]:
                message = f"{message}; {OR_COMMAS}"
        elif not (index.isascii() and index.isdecimal()):
            message = f"{shown(index)} is not an index: use whole numbers from 1 (or 0)"
        elif len(index) > INDEX_DIGITS or int(index) > LARGEST_NUMBER:
            message = f"index {index[:20]} is too large (more than 64 bits): renumber the features"
        elif not NUMBER.fullmatch(value) or not abs(float(value)) <= LARGEST:
            message = what_is_wrong(value)
        else:
            continue
        return message, pair.start() + 1
    return "not of the form label index:value index:value ...: correct or remove the line", 1


def _describe_missing_label(text: str) -> tuple[str, int]:
    """Return what to say of a line without a label, and the place of its first word."""
    word = re.search(r"\S", text)
    message = (
        "the label is missing: start the line with it, or, if examples may have no label or several, give --multilabel"
    )
    return message, (len(text) if word is None else word.start()) + 1
