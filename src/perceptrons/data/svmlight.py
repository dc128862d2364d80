"""svmlight (libsvm) text: a line per example, "label index:value index:value ... # comment".

A label with commas, as 1,3, stands for several. A line that begins with a pair has none. The scan is compiled.
"""

import re
from collections.abc import Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.data.labels import COMMA, is_encodable, split_all
from perceptrons.data.options import ReadOptions
from perceptrons.data.reader import Reader, bad_records, read_labels
from perceptrons.data.source import Inputs, Piece
from perceptrons.data.table import ParsedPiece, describe_decoding_error
from perceptrons.engine.compiling import compiled, inlined
from perceptrons.engine.scan.bytes import BAD, OPEN, U1, ZERO, is_digit, leading_digits, load, number, value_of_digits
from perceptrons.engine.training.matrices import widened
from perceptrons.features.cells import CodedColumn
from perceptrons.features.values import LARGEST, NUMBER, Recipe, is_label, shown, what_is_wrong

QUERY = re.compile(r"(?<!\S)qid:\S*")
INDEX_VALUE = re.compile(r"(?<!\S)(\d+):(\S+)", re.ASCII)
MAX_INDEX = 2**26  # a weight for each: more would not fit in memory; hash the features to fewer columns
MAX_INDEX_DIGITS = 19
MAX_INT64 = 2**63 - 1
COUNTED = (
    "index {}, but the first lines have indices from 1: if indices start at 0, give zero_based=True (--zero-based)"
)
TOO_LARGE = f"index {{}} is too large (at most {MAX_INDEX}): renumber the features, or hash them (--hash-bits)"
OR_COMMAS = "or use --format csv, if these are comma-separated values"
NEWLINE, COLON, HASH = 10, 58, 35


# ---- the compiled scan


class SvmlightBuffers(NamedTuple):
    """Arrays for what a piece of text can hold at most; untouched memory costs nothing."""

    values: np.ndarray  # float64 or float32
    columns: np.ndarray  # int32 or int64: indices as written
    starts: np.ndarray  # int32 (rows + 1,)
    labels: np.ndarray  # int64 (rows, 2): where each label begins and ends
    lines: np.ndarray  # int64 (rows,): from 0
    bad: np.ndarray  # int64 (lines, 3): number, begin and end of malformed lines
    opened: np.ndarray  # int64 (values, 3): values left to `float`: their place, and where they are written


WORD, SPACE, END = range(3)
KINDS = np.zeros(256, np.uint8)  # of a byte within a line: of a word, between words, or behind the last
KINDS[[9, 11, 12, 13, 32]] = SPACE
KINDS[[NEWLINE, HASH]] = END


@inlined
def is_query(content: np.ndarray, p: np.uint64) -> bool:
    """Return whether a query id begins here, which ranking needs and classification does not."""
    q, i, d, colon = content[p], content[p + U1], content[p + U1 + U1], content[p + np.uint64(3)]
    return q == 113 and i == 105 and d == 100 and colon == COLON


@compiled
def scan_svmlight(
    content: np.ndarray, n_bytes: int, buffers: SvmlightBuffers
) -> tuple[int, np.int64, np.int64, int, int]:
    """Read all lines. The text is content[:n_bytes], ends with a newline, and has ROOM bytes behind it.

    Changes the buffers. Returns the numbers of lines, rows, values, bad lines and values left open. The first is -1 if
    an index needs more bits than columns have.
    """
    end, p = np.uint64(n_bytes), np.uint64(0)
    n_lines, rows, n, n_bad, n_open = 0, np.uint64(0), np.uint64(0), 0, 0
    narrow = buffers.columns.itemsize == 4
    values, columns, starts, labels, lines, bad, opened = buffers  # once: each access by name would count references
    starts[0] = 0
    while p < end:
        begin, is_valid, n_before, n_open_before = p, True, n, n_open
        while KINDS[content[p]] == SPACE:
            p += U1
        label, has_label = p, True
        while KINDS[content[p]] == WORD:
            has_label = has_label and content[p] != COLON
            p += U1
        if not has_label:
            p = label
        label_end = p
        while is_valid:
            while KINDS[content[p]] == SPACE:
                p += U1
            if not is_digit(content[p]):  # one question for most words
                if KINDS[content[p]] == END:
                    break
                if not is_query(content, p):
                    is_valid = False
                while KINDS[content[p]] == WORD:
                    p += U1
                continue
            word = load(content, p)
            width = leading_digits(word)
            index = value_of_digits(word, width) if width > 0 else np.uint64(0)
            p += width
            while is_digit(content[p]):
                index = index * np.uint64(10) + np.uint64(content[p] - ZERO)
                width += U1
                p += U1
            if width == 0 or width > MAX_INDEX_DIGITS or index > np.uint64(MAX_INT64) or content[p] != COLON:
                is_valid = False
                break
            if narrow and index >> np.uint64(31) != 0:
                return -1, np.int64(0), np.int64(0), 0, 0
            p += U1
            value_begin = p
            value, p, status = number(content, p)
            if status == BAD or KINDS[content[p]] == WORD or not abs(value) <= LARGEST:
                is_valid = False
                break
            if status == OPEN:
                opened[n_open, 0], opened[n_open, 1], opened[n_open, 2] = n, value_begin, p
                n_open += 1
            values[n], columns[n] = value, np.int64(index)
            n += U1
        while content[p] != NEWLINE:
            p += U1
        if not is_valid:
            n, n_open = n_before, n_open_before
            bad[n_bad, 0], bad[n_bad, 1], bad[n_bad, 2] = n_lines, begin, p
            n_bad += 1
        elif label_end > label or not has_label:
            labels[rows, 0], labels[rows, 1], lines[rows] = label, label_end, n_lines
            rows += U1
            starts[rows] = n
        p += U1
        n_lines += 1
    return n_lines, np.int64(rows), np.int64(n), n_bad, n_open


# ---- the reader


class SvmlightReader(Reader):
    """Reads svmlight files. Repeated indices both stand, and so add up.

    Options: zero_based, whether indices count from 0 (None: they do if a 0 occurs in the first block); hash_bits, for
    column = index modulo 2^hash_bits, as in Vowpal Wabbit; dtype, where "float32" takes half the memory, and learns in
    float32, as Vowpal Wabbit does.
    """

    more_on_labels = True
    no_features = f"no line has any features: write them as index:value after the label; {OR_COMMAS}"

    def __init__(self, paths: Inputs, options: ReadOptions) -> None:
        super().__init__(paths, options)
        width, hash_bits = options.n_features, options.hash_bits
        if options.zero_based not in (None, True, False):
            raise ValueError(f"zero_based={options.zero_based!r}: give True, False or None.")
        if width is not None and (not isinstance(width, Integral) or width < 0):
            raise ValueError(f"n_features={width!r}: give a whole number of at least 0.")
        if options.dtype not in ("float32", "float64"):
            raise ValueError(f"dtype={options.dtype!r}: give 'float32' or 'float64'.")
        self.format, self.hash_bits, self._model_width = "svmlight", hash_bits, width
        self._requested_zero_based = True if hash_bits else options.zero_based
        self._begin()

    def _begin(self) -> None:
        self.zero_based = self._requested_zero_based
        self._has_queries = False  # has a file qid:n in its first piece?
        self.n_features = 2**self.hash_bits if self.hash_bits else self._model_width or 0

    def _recipe(self) -> Recipe:
        return {"zero_based": self.zero_based, "hash_bits": self.hash_bits, "dtype": self.options.dtype}

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
            buffers = self._new_buffers(piece, np.int32)
            if (counts := scan_svmlight(piece.content, piece.size, buffers))[0] < 0:
                buffers = self._new_buffers(piece, np.int64)
                counts = scan_svmlight(piece.content, piece.size, buffers)
        n_lines, n_rows, n_values, n_bad, n_open = counts
        for place, begin, end in buffers.opened[:n_open].tolist():
            buffers.values[place] = float(piece.content[begin:end].tobytes())
        codes, texts = read_labels(piece.content, buffers.labels[:n_rows])
        labels = CodedColumn(codes, split_all(texts, COMMA))
        rows = buffers.values[:n_values], buffers.columns[:n_values], buffers.starts[: n_rows + 1]
        bad = bad_records(piece, buffers.bad[:n_bad], _describe_line)
        return ParsedPiece(n_lines, buffers.lines[:n_rows], labels, rows, None, bad)

    def _new_buffers(self, piece: Piece, index_type: Any) -> SvmlightBuffers:
        n_lines = int(np.count_nonzero(piece.content[: piece.size] == NEWLINE))
        n_values = piece.size // 4 + 1
        starts, shapes = np.empty(n_lines + 1, np.int32), ((n_lines, 2), n_lines, (n_lines, 3), (n_values, 3))
        others = (np.empty(shape, np.int64) for shape in shapes)
        return SvmlightBuffers(np.empty(n_values, self.options.dtype), np.empty(n_values, index_type), starts, *others)

    def _unfit(self, parsed: ParsedPiece, piece: Piece) -> dict[int, tuple[str, int]]:
        columns = parsed.rows[1]
        if not len(columns) and self._labels.model_gives_one:
            return _separated_by_commas(parsed)
        if not self.zero_based and self._requested_zero_based is None and len(columns) and int(columns.min()) == 0:
            self._count_from_zero(parsed)
        elif self.zero_based is None and len(columns):
            self.zero_based = False
        least = 0 if self.zero_based else 1
        max_index, too_large = MAX_INDEX, TOO_LARGE
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
        elif self._labels.is_deferred:
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
            self.n_features = max(self.n_features, min(int(columns.max(initial=-1)) + 1, MAX_INDEX + 1))
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
    return row, list(INDEX_VALUE.finditer(_example(line)))[place - starts[row]]


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
    if not parts or (":" in parts[0][0] and not INDEX_VALUE.match(text, parts[0].start())):
        return _describe_missing_label(text)
    for pair in parts if ":" in parts[0][0] else parts[1:]:
        index, colon, value = pair[0].partition(":")
        if not colon or ":" in value:
            message = f"{shown(pair[0])} is not of the form index:value: correct or remove it"
            if not colon and "," in parts[0][0]:
                message = f"{message}; {OR_COMMAS}"
        elif not (index.isascii() and index.isdecimal()):
            message = f"{shown(index)} is not an index: use whole numbers from 1 (or 0)"
        elif len(index) > MAX_INDEX_DIGITS or int(index) > MAX_INT64:
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
