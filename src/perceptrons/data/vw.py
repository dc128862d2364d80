"""Vowpal Wabbit's text, "[label [importance]] ['tag]|namespace feature:value ..." per line, and its interactions.

Several labels have commas between them, as VW has them with --multilabel_oaa: "1,3 | a b". Lines that VW would read
only in part, or take for 0, are refused; everything else is read as VW reads it, to the same columns.

The scan is compiled. The name of a feature tells the hash that VW gives it (its --hash strings): "namespace^feature"
or, in the default namespace, "feature", with "^" before it if it has one. A "^" of a namespace is written "|", which no
name has. Behind the feature stands, if its value is a word, ":" and the value; a feature without a name is ":" and its
number among those of its namespace.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np

from perceptrons.data.labels import COMMA, split_all
from perceptrons.data.npz import LARGEST_FLOAT32
from perceptrons.data.options import ReadOptions
from perceptrons.data.reader import Reader, bad_records, check_bits, read_labels
from perceptrons.data.source import Inputs, Piece
from perceptrons.data.table import ParsedPiece
from perceptrons.engine.compiling import compiled, inlined, inner
from perceptrons.engine.hashing import murmur3_32
from perceptrons.engine.scan.bytes import BAD, CASE, LETTER_E, MINUS, READ, SPACE, ZERO, is_digit, number
from perceptrons.engine.scan.interactions import (
    BAR,
    CARET,
    COLON,
    LAST_PRINTED,
    NEWLINE,
    NONE,
    STAR,
    U0,
    U1,
    WILDCARD,
    cut_lines,
    hash_parts,
    interact,
    is_gap,
    join_names,
    place_of,
    spaces_of,
)  # fmt: skip
from perceptrons.engine.training.labels import MAX_WEIGHT, MIN_WEIGHT
from perceptrons.features import Columns
from perceptrons.features.cells import CodedColumn
from perceptrons.features.columns import NamedRows, Names, assemble, local_names
from perceptrons.features.values import NOT_FINITE, Recipe, shown

MAX_FEATURES_PER_ROW = 2**20  # features that interactions may make of one line
FEATURES_PER_PIECE = 2**18  # in one block, unless one line has more: memory is bounded by it
PART_BYTES = 12  # of the numbers of the parts of a feature
ORDERS = {"quadratic": 2, "cubic": 3}
HEX = re.compile(rb"\\x([0-9a-fA-F]{2})")
NUMBER = re.compile(r"[+-]?(\d++\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
LABEL = (
    "the label is missing: start the line with it and a space, or, if examples may have several labels or none, give "
    "--multilabel"
)
ONE_LABEL = "write one label, or several separated by commas, then at most an importance"
Fault = tuple[str, int]  # and its place, from 0
DEFAULT_BITS = 18  # as VW has it


# ---- the compiled scan

U10 = np.uint64(10)
RETURN, TAB, APOSTROPHE, UNDERSCORE, DELETE = 13, 9, 39, 95, 127
LETTER_A, LETTER_F, LETTER_I, LETTER_N, LETTER_Z = (ord(letter) for letter in "afinz")
MAX_NAMESPACE_BYTES = 255  # bytes: names of features have it before them, so that long ones would fill the memory
MAX_EXTRA_BYTES = np.uint64(24)  # bytes at most of what a name has beside its text
FULL = 3  # a status beside those of `number`: there is no room
ORDINARY, OF_NAMESPACES, ENDS = 0, 1, 2  # bytes: "^" sets off a namespace in names; some end a name
KINDS = np.zeros(256, np.uint8)
KINDS[CARET] = OF_NAMESPACES
for _byte in (NEWLINE, RETURN, SPACE, TAB, BAR, COLON):
    KINDS[_byte] = ENDS


class VwBuffers(NamedTuple):
    """Arrays for what a piece of text can hold at most; untouched memory costs nothing."""

    values: np.ndarray  # float64
    ends: np.ndarray  # int64 (values + 1): name e is names[ends[e]:ends[e + 1]]
    names: np.ndarray  # uint8: of the features
    prefix: np.ndarray  # uint8: "namespace^"
    starts: np.ndarray  # int64 (rows + 1)
    labels: np.ndarray  # int64 (rows, 2): where each label begins and ends
    weights: np.ndarray  # float64 (rows,)
    lines: np.ndarray  # int64 (rows,): from 0
    bad: np.ndarray  # int64 (lines, 3): number, begin and end of malformed lines


@inlined
def ends_word(byte: int) -> bool:
    """Does a word behind a colon end here?"""
    return KINDS[byte] == ENDS and byte != COLON


@inner
def behind_returns(content: np.ndarray, p: np.uint64) -> np.uint64:
    while content[p] == RETURN:
        p += U1
    return p


@inner
def plain_number(content: np.ndarray, p: np.uint64, end: np.uint64) -> float:
    """Return the number that content[p:end] is; NaN if it is none."""
    value, behind, status = number(content, p)
    return np.nan if status == BAD or behind != end else value


@inner
def word_end(content: np.ndarray, p: np.uint64) -> np.uint64:
    """The place behind a value that is a word, p itself if it is none, or not for VW: it reads "nano" as NaN and
    something behind it, "e5" as 0, and takes a "|" for a part of the word."""
    begin, letter = p, content[p] | CASE
    if not (LETTER_A <= letter <= LETTER_Z or content[p] == UNDERSCORE or content[p] >= 128):
        return p
    while not ends_word(content[p]):
        p += U1
    if content[p] == BAR:
        return begin
    second, third = content[begin + U1] | CASE, content[begin + U1 + U1] | CASE
    if letter == LETTER_N and second == LETTER_A and third == LETTER_N:
        return begin
    if letter == LETTER_I and second == LETTER_N and third == LETTER_F:
        return begin
    if letter == LETTER_E:
        q = begin + U1
        if content[q] == MINUS:
            q += U1
        while is_digit(content[q]):
            q += U1
        if q == p:
            return begin
    return p


@inner
def scan_head(
    content: np.ndarray, p: np.uint64, row: np.uint64, labels: np.ndarray, weights: np.ndarray,
) -> tuple[Any, bool, int]:  # fmt: skip
    """Read what stands before the first "|". Returns its place, whether it is valid, and the number of words that are
    no tag: label, importance, base."""
    words, is_valid = 0, True
    labels[row, 0] = labels[row, 1] = p
    weights[row] = 1.0
    while True:
        while content[p] == SPACE:
            p += U1
        if ends_word(content[p]):
            break
        begin, plain = p, True
        while not ends_word(content[p]):
            plain = plain and content[p] > SPACE and content[p] != COLON and content[p] != DELETE
            p += U1
        end = p
        if content[end] == BAR:
            break  # a word that touches it is a tag
        while content[p] == SPACE:
            p += U1
        if content[begin] == APOSTROPHE and content[p] == BAR:
            break
        if words == 0:
            labels[row, 0], labels[row, 1] = begin, end
            is_valid = plain
        else:
            value = plain_number(content, begin, end)
            if words == 1:
                weights[row] = abs(value)
                is_valid = is_valid and (value == 0 or MIN_WEIGHT <= value <= MAX_WEIGHT)
            else:
                is_valid = is_valid and words == 2 and value == 0.0
        words += 1
    return p, is_valid and content[p] == BAR, words


@inner
def scan_namespace(content: np.ndarray, p: np.uint64, prefix: np.ndarray) -> tuple[Any, Any, float, Any]:
    """Read a namespace and its scale from p, behind the "|", on. Changes prefix; returns the place behind them, the
    bytes of the prefix, the scale, and whether they are valid."""
    begin, scale = p, 1.0
    while KINDS[content[p]] != ENDS:
        p += U1
    width = p - begin
    is_valid = width <= MAX_NAMESPACE_BYTES and (width > U0 or content[p] != COLON)
    if is_valid and width > U0:
        for i in range(width):
            byte = content[begin + i]
            prefix[i] = BAR if byte == CARET else byte
        prefix[width] = CARET
        width += U1
    if content[p] == COLON:
        begin = p + U1
        while not ends_word(content[p]):
            p += U1
        scale = plain_number(content, begin, p)
        is_valid = is_valid and abs(scale) <= LARGEST_FLOAT32
    return p, width, scale, is_valid


@inner
def write_number(names: np.ndarray, at: np.uint64, k: np.uint64) -> np.uint64:
    """The name of a feature that has none: a colon and its number."""
    names[at] = COLON
    at += U1
    size = U1
    rest = k // U10
    while rest > U0:
        size += U1
        rest //= U10
    for i in range(size):
        names[at + size - U1 - i] = np.uint8(ZERO + k % U10)
        k //= U10
    return at + size


@inner
def scan_features(
    content: np.ndarray, p: np.uint64, width: np.uint64, scale: float, n: np.uint64, buffers: VwBuffers
) -> tuple[Any, Any, int]:
    """Read features from p on, up to the next "|" or the end of the line; the n-th and so on that are buffers.

    Changes buffers, of which prefix[:width] stands before names. Returns the place behind them, the number of features
    buffers by then, and a status.
    """
    values, ends, names, prefix = buffers.values, buffers.ends, buffers.names, buffers.prefix
    at, unnamed = np.uint64(ends[n]), U0
    while True:
        while is_gap(content[p]):
            p += U1
        if ends_word(content[p]):
            return p, n, READ
        begin, value, caret = p, scale, ORDINARY
        while KINDS[content[p]] != ENDS:
            caret |= KINDS[content[p]]
            p += U1
        end = p
        if content[p] == COLON:
            p += U1
            written, behind, status = number(content, p)
            if status != BAD and ends_word(content[behind]):
                value *= written
                p = behind
                unnamed += np.uint64(end == begin)
            else:
                behind, value = word_end(content, p), 1.0
                if behind == p:
                    return p, n, BAD
                while p < behind:
                    caret |= KINDS[content[p]] & OF_NAMESPACES
                    p += U1
                end = p
        if not abs(value) <= LARGEST_FLOAT32:
            return p, n, BAD
        if np.float32(value) == 0:
            continue
        if at + width + (end - begin) + MAX_EXTRA_BYTES > np.uint64(len(names)):
            return p, n, FULL
        for i in range(width):
            names[at] = prefix[i]
            at += U1
        if width == U0 and caret != ORDINARY:
            names[at] = CARET
            at += U1
        for i in range(begin, end):
            names[at] = content[i]
            at += U1
        if end == begin:
            at = write_number(names, at, unnamed - U1)
        values[n] = value
        n += U1
        ends[n] = at


@compiled
def scan_vw(content: np.ndarray, n_bytes: int, buffers: VwBuffers) -> tuple[int, np.int64, np.int64, int, int]:
    """Read all lines. The text is content[:n_bytes], ends with a newline, and has ROOM bytes behind it.

    Changes buffers, where a label that is missing is empty; returns the numbers of lines, rows, values, bad lines and
    rows with an importance. The number of values is -1 if there is no room for the names.
    """
    limit, p = np.uint64(n_bytes), U0
    n_lines, rows, n, n_bad, n_weighted = 0, U0, U0, 0, 0
    starts, labels, weights, lines, bad = buffers.starts, buffers.labels, buffers.weights, buffers.lines, buffers.bad
    starts[0] = buffers.ends[0] = 0
    while p < limit:
        line, was = p, n
        while is_gap(content[p]):
            p += U1
        p = behind_returns(content, p)
        if content[p] == NEWLINE:
            p += U1
            n_lines += 1
            continue
        p, is_valid, words = scan_head(content, line, rows, labels, weights)
        while is_valid and content[p] == BAR:
            p, width, scale, is_valid = scan_namespace(content, p + U1, buffers.prefix)
            if is_valid:
                p, n, status = scan_features(content, p, width, scale, n, buffers)
                if status == FULL:
                    return n_lines, np.int64(0), np.int64(-1), 0, 0
                is_valid = status == READ
        p = behind_returns(content, p)
        is_valid = is_valid and content[p] == NEWLINE
        while content[p] != NEWLINE:
            p += U1
        if is_valid:
            n_weighted += words > 1
            lines[rows] = n_lines
            rows += U1
            starts[rows] = n
        else:
            n = was
            bad[n_bad, 0], bad[n_bad, 1], bad[n_bad, 2] = n_lines, line, p
            n_bad += 1
        p += U1
        n_lines += 1
    return n_lines, np.int64(rows), np.int64(n), n_bad, n_weighted


@inner
def vw_hash(content: np.ndarray, a: np.uint64, b: np.uint64, seed: np.uint32) -> np.uint32:
    """Digits are a number, added to the seed; all else is hashed. Spaces and control characters at the ends go."""
    while a < b and content[a] <= SPACE:
        a += U1
    while a < b and content[b - U1] <= SPACE:
        b -= U1
    value = U0
    for p in range(a, b):
        if not is_digit(content[p]):
            return murmur3_32(content, a, b, seed)
        value = value * U10 + np.uint64(content[p] - ZERO)
    return np.uint32(value + np.uint64(seed))


@compiled
def hash_features(arena: np.ndarray, ends: np.ndarray, namespace: np.ndarray, hashes: np.ndarray) -> None:
    """hashes[k] = the hash of the feature whose name is arena[ends[k]:ends[k + 1]]. namespace: room to write in."""
    for k in range(len(hashes)):
        begin, end = np.uint64(ends[k]), np.uint64(ends[k + 1])
        caret = place_of(arena, begin, end, CARET)
        seed = np.uint32(0)
        if caret < end:
            for i in range(caret - begin):
                byte = arena[begin + i]
                namespace[i] = CARET if byte == BAR else byte
            seed = vw_hash(namespace, U0, caret - begin, seed)
            begin = caret + U1
        colon = place_of(arena, begin, end, COLON)
        hashes[k] = vw_hash(arena, begin, colon, seed)  # of no bytes it is the seed
        if colon < end:
            hashes[k] = vw_hash(arena, colon + U1, end, hashes[k])


# ---- interactions

Term = tuple[int, ...]  # first bytes of namespaces


class FeatureRows(NamedTuple):
    """Rows of numbered features, with their interactions if there are any."""

    starts: np.ndarray
    numbers: np.ndarray
    values: np.ndarray
    names: Names
    hashes: np.ndarray
    wrong: dict[int, str]  # rows that cannot be used, and why


class Interactions:
    """Products of features of two (`quadratic`) or three (`cubic`) namespaces, each given by their first letters."""

    def __init__(self, quadratic: Any, cubic: Any):
        self.given = {"quadratic": _check_terms(quadratic, "quadratic"), "cubic": _check_terms(cubic, "cubic")}
        terms = [_term(text, name) for name, texts in self.given.items() for text in texts]
        self.terms = tuple(distinct_terms(terms))

    def __bool__(self) -> bool:
        return bool(self.terms)

    def recipe(self) -> dict[str, list[str]]:
        return {name: texts for name, texts in self.given.items() if texts}

    def cut(self, piece: Piece) -> Iterator[Piece]:
        """Yield the piece in parts of whole lines that make no more features than fit into a block."""
        cuts = np.empty(np.count_nonzero(piece.content[: piece.size] == 10) + 1, np.int64)
        begin, first = 0, piece.first
        n = cut_lines(piece.content, piece.size, _as_array(self.terms), FEATURES_PER_PIECE, cuts)
        for end in cuts[:n].tolist():
            yield Piece(piece.path, piece.content[begin:], end - begin, first)
            begin, first = end, False

    def make(self, rows: FeatureRows, wants_names: bool) -> FeatureRows:
        """Return the rows with their interactions behind their features. wants_names: are the names of all needed?"""
        spaces = np.empty(len(rows.hashes), np.uint8)
        spaces_of(rows.names.arena, rows.names.ends, spaces)
        terms = _in_order(self.terms, bytes(np.unique(spaces)))
        made = interact(rows.starts, rows.numbers, rows.values, spaces, terms, MAX_FEATURES_PER_ROW)
        names = _escaped(rows.names)
        too_many = np.flatnonzero(made.counts > MAX_FEATURES_PER_ROW).tolist()
        faults = {row: _too_many(made.counts[row]) for row in too_many}
        for entry in np.flatnonzero(~(np.abs(made.values) <= LARGEST_FLOAT32)).tolist():
            row = int(np.searchsorted(made.starts, entry, "right")) - 1
            faults[row] = _too_large(names, made.parts[entry], float(made.values[entry]))
        begins = np.arange(0, made.parts.nbytes, PART_BYTES)
        numbers, distinct = local_names(made.parts.view(np.uint8).ravel(), begins, begins + PART_BYTES)
        parts = distinct.arena.view(np.int32).reshape(-1, 3)
        names = _joined_names(names, parts, distinct.counts) if wants_names else _unnamed(len(parts))
        return FeatureRows(made.starts, numbers, made.values, names, hash_parts(rows.hashes, parts), faults)


def _check_terms(terms: Any, name: str) -> list[str]:
    texts = [] if terms is None else [terms] if isinstance(terms, str) else list(terms)
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"{name} must be a list of texts such as {'abc'[: ORDERS[name]]!r}, not {text!r}.")
    return texts


def _term(text: str, name: str) -> Term:
    term = tuple(HEX.sub(lambda match: bytes([int(match[1], 16)]), text.encode("utf-8", "surrogateescape")))
    order = ORDERS[name]
    if len(term) != order:
        raise ValueError(
            f"{name} {shown(text)}: give the first letters of {order} namespaces, such as {'abc'[:order]}; : means"
            " all of them, a space the one without a name, and \\xC3 a byte."
        )
    return term


def distinct_terms(terms: Iterable[Term]) -> list[Term]:
    """Each once, whatever the order of its letters: the first by the alphabet, as VW has it.

    One that has a letter twice, and another, is sorted, so that those of one namespace stand side by side.
    """
    kept_terms: dict[Term, Term] = {}
    for term in sorted(terms):
        in_order = tuple(sorted(term))
        kept_terms.setdefault(in_order, in_order if 1 < len(set(term)) < len(term) else term)
    return list(kept_terms.values())


def expand_wildcards(terms: Iterable[Term], spaces: bytes) -> list[Term]:
    """Without wildcards, which stand for all namespaces that begin with a printed character of ASCII."""
    printed, results = [space for space in sorted(spaces) if SPACE <= space <= LAST_PRINTED], list[Term]()
    for term in terms:
        for spaces_of_term in combinations_with_replacement(printed, term.count(WILDCARD)):
            letters = iter(spaces_of_term if len(spaces_of_term) < 3 else spaces_of_term[::-1])  # as VW has them
            results.append(tuple(next(letters) if space == WILDCARD else space for space in term))
    return distinct_terms(results)


@lru_cache(maxsize=64)
def _in_order(terms: tuple[Term, ...], spaces: bytes) -> np.ndarray:
    return _as_array(sorted(expand_wildcards(terms, spaces), key=lambda term: term[0]))


def _as_array(terms: Iterable[Term]) -> np.ndarray:
    return np.array([(*term, NONE)[:3] for term in terms], np.int64).reshape(-1, 3)


def _escaped(names: Names) -> Names:
    """Return the names with "|*" for "*"; few have one."""
    stars = np.flatnonzero(names.arena == STAR)
    if not len(stars):
        return names
    ends = names.ends + np.searchsorted(stars, names.ends)
    return Names.of(np.insert(names.arena, stars, np.uint8(BAR)), ends, names.counts)


def _joined_names(names: Names, parts: np.ndarray, counts: np.ndarray) -> Names:
    """Return the names of features and interactions, given by the numbers of their parts."""
    lengths = np.append(np.diff(names.ends), -1)[parts].sum(axis=1) + 2  # a part that is none is the last
    arena, ends = np.empty(int(lengths.sum()), np.uint8), np.empty(len(parts) + 1, np.int64)
    join_names(names.arena, names.ends, parts, arena, ends)
    return Names.of(arena, ends, counts)


def _unnamed(n: int) -> Names:
    """As many names, for columns that follow from the hashes."""
    return Names(np.empty(0, np.uint8), np.zeros(1, np.int64), np.zeros(n, np.int64), np.empty(0, np.uint64))


def _too_many(n: float) -> str:
    message = f"its interactions make {n:,.0f} features, more than {MAX_FEATURES_PER_ROW:,}"
    return f"{message}: name fewer namespaces, or shorten the line"


def _too_large(names: Names, parts: np.ndarray, value: float) -> str:
    texts = [names.arena[names.ends[part] : names.ends[part + 1]].tobytes() for part in parts.tolist() if part >= 0]
    name = b"*".join(texts).decode("utf-8", "replace")
    return f"{shown(name)} is {value:g}, too large (at most {LARGEST_FLOAT32:.0e}): scale the values"


# ---- the reader


class VwReader(Reader):
    """Reads Vowpal Wabbit's text files.

    Features are hashed as VW's --hash strings does; values are float32, those of 0 left out, those of one column added
    up. No feature is constant: models have their intercept. A feature is called "namespace^feature", in the default
    namespace "feature". With hash_bits=0, every name has a column of its own. quadratic and cubic are interactions of
    namespaces, as VW's -q and --cubic, such as ["ab"]. Lines may be without labels if need_labels is False; a block has
    labels if all its lines have.
    """

    more_on_labels = True

    def __init__(self, paths: Inputs, options: ReadOptions) -> None:
        super().__init__(paths, options)
        hash_bits = options.hash_bits
        if options.columns is not None:
            check_bits(hash_bits, options.columns)
            hash_bits = options.columns.bits or 0
        self.hash_bits = DEFAULT_BITS if hash_bits is None else hash_bits
        self._interactions = Interactions(options.quadratic, options.cubic)
        self._begin()

    def _begin(self) -> None:
        self.columns = self.options.columns or Columns(self.hash_bits or None, signed=False)
        self.n_features = self.columns.n_columns

    def _recipe(self) -> Recipe:
        return {"hash_bits": self.hash_bits} | self._interactions.recipe()

    def _pieces(self) -> Iterator[Piece]:
        for piece in super()._pieces():
            yield from self._interactions.cut(piece) if self._interactions else [piece]

    def _parse(self, piece: Piece) -> ParsedPiece:
        with np.errstate(over="ignore"):  # hashes do, on purpose; NumPy would warn where nothing is compiled
            buffers, counts = self._scanned(piece)
            n_lines, n_rows, n_values, n_bad, n_weighted = counts
            ends = buffers.ends[: n_values + 1]
            numbers, names = local_names(buffers.names, ends[:-1], ends[1:])
            hashes = np.empty(len(names.counts), np.uint32)
            hash_features(names.arena, names.ends, buffers.prefix, hashes)
            rows = FeatureRows(buffers.starts[: n_rows + 1], numbers, buffers.values[:n_values], names, hashes, {})
            if self._interactions:
                assert self.columns is not None
                rows = self._interactions.make(rows, wants_names=not (self.columns.frozen and self.columns.bits))
        codes, texts = read_labels(piece.content, buffers.labels[:n_rows])
        labels = CodedColumn(codes, split_all(texts, COMMA))
        weight = buffers.weights[:n_rows] if n_weighted else None
        bad = bad_records(piece, buffers.bad[:n_bad], describe_line)
        return ParsedPiece(n_lines, buffers.lines[:n_rows], labels, rows, weight, bad)

    def _scanned(self, piece: Piece) -> tuple[VwBuffers, tuple[int, ...]]:
        n_lines, n_names = int(np.count_nonzero(piece.content[: piece.size] == 10)), 2 * piece.size + 1024
        while True:
            buffers = VwBuffers(
                values=np.empty(piece.size // 2 + 1),
                ends=np.empty(piece.size // 2 + 2, np.int64),
                names=np.empty(n_names, np.uint8),
                prefix=np.empty(MAX_NAMESPACE_BYTES + 1, np.uint8),
                starts=np.empty(n_lines + 1, np.int64),
                labels=np.empty((n_lines, 2), np.int64),
                weights=np.empty(n_lines),
                lines=np.empty(n_lines, np.int64),
                bad=np.empty((n_lines, 3), np.int64),
            )
            counts = scan_vw(piece.content, piece.size, buffers)
            if counts[2] >= 0:
                return buffers, counts
            n_names *= 2  # short features in a namespace of a long name

    def _unfit(self, parsed: ParsedPiece, piece: Piece) -> dict[int, tuple[str, int]]:
        return {row: (message, 1) for row, message in parsed.rows.wrong.items()}

    def _describe_unlabelled(self, line: bytes) -> Fault:
        return _describe_missing_label(line.decode("utf-8", "replace").partition("|")[0])

    def _matrix(self, parsed: ParsedPiece) -> Any:
        starts, numbers, values, names, hashes, _ = parsed.rows
        assert self.columns is not None
        name_columns = self.columns.find(names, hashes if self.columns.bits else None)
        self.n_features = self.columns.n_columns
        return assemble(NamedRows(starts, numbers, values, names), name_columns, self.n_features)


# ---- errors


def describe_line(content: bytes) -> Fault:
    """Return what is wrong with a malformed line, and the column, numbered from 1."""
    text = content.decode("utf-8", "surrogateescape").rstrip("\r")
    head, bar, body = text.partition("|")
    if not bar:
        return "there is no | in the line: write the features after it, such as 1 |words good news:2", 1
    for message, place in chain(_head_faults(head), _body_faults(body, len(head) + 1)):
        return message, place + 1
    return "not of the form label |namespace feature:value ...: correct or remove the line", 1


def _describe_missing_label(head: str) -> Fault:
    """Return what to say of a line without a label, and the column, counted from 1."""
    parts = list(re.finditer("[^ ]+", head))
    if parts and parts[-1][0][0] != "'":
        message = f"{shown(parts[-1][0])} touches the | and is therefore a tag, not a label: put a space between them"
        return message, parts[-1].start() + 1
    return LABEL, 1


def _head_faults(head: str) -> Iterator[Fault]:
    for bad in re.finditer("[\t\r]", head):
        yield f"{shown(bad[0])} before the |: separate label, importance and tag by spaces", bad.start()
    parts = list(re.finditer("[^ ]+", head))
    if parts and (parts[-1][0][0] == "'" or not head.endswith(" ")):
        parts.pop()  # a tag
    if not parts:
        return
    label, *numbers = parts
    if ":" in label[0]:
        yield f"{shown(label[0])}: labels with costs are not supported: {ONE_LABEL}", label.start()
    if re.search(r"[\x00-\x1f\x7f]", label[0]):
        yield f"{shown(label[0])} contains a control character, so it is not a label: remove it", label.start()
    for word, name in zip(numbers, ("importance", "base"), strict=False):
        if not NUMBER.fullmatch(word[0]):
            message = f"{shown(word[0])} is in the place of the {name} but is not a number: begin a tag with '"
        elif name == "base" and not _is_zero(word[0]):
            message = f"base {shown(word[0])} is not 0: initial predictions are not supported, so remove it"
        elif name == "importance" and not (_is_zero(word[0]) or MIN_WEIGHT <= float(word[0]) <= MAX_WEIGHT):
            message = f"importance {shown(word[0])} is not 0 or from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}"
            message += ": correct it, or remove the line"
        else:
            continue
        yield message, word.start()
    if len(parts) > 3:
        message = (
            f"{len(parts)} words before the |: at most a label, an importance and a base, and a tag that begins with '"
        )
        yield message, parts[3].start()


def _is_zero(number: str) -> bool:
    """Return whether a number is 0 as it is written. 1e-400 is not, but float() makes 0 of it."""
    return not re.search("[1-9]", re.split("[eE]", number)[0])


def _body_faults(body: str, begin: int) -> Iterator[Fault]:
    parts = body.split("|")
    for place, part in enumerate(parts):
        yield from _namespace_faults(part, begin, place + 1 == len(parts))
        begin += len(part) + 1


def _namespace_faults(part: str, begin: int, last: bool) -> Iterator[Fault]:
    for bad in re.finditer("\r", part):
        yield "there is a carriage return inside the line: remove it, or write a newline", begin + bad.start()
    scale, parts = 1.0, re.finditer("[^ \t]+", part)
    if part and part[0] not in " \t":
        namespace, colon, value = next(parts)[0].partition(":")
        if not namespace:
            yield f"{shown(':' + value)} after the |, where a namespace is expected: put a space between them", begin
        if len(namespace.encode("utf-8", "surrogateescape")) > MAX_NAMESPACE_BYTES:
            yield f"a namespace of more than {MAX_NAMESPACE_BYTES} bytes: give it a shorter name", begin
        if colon:
            message = _describe_number(value, 1.0)
            if message:
                yield message, begin + len(namespace) + 1
                return
            scale = float(value)
    for word in parts:
        name, colon, value = word[0].partition(":")
        message = None if not colon else _describe_value(value, scale, word.end() == len(part) and not last)
        if not colon and abs(scale) > LARGEST_FLOAT32:
            message = f"scale {scale:g} is too large (at most {LARGEST_FLOAT32:.0e}): scale the values"
        if message:
            yield message, begin + word.start() + len(name) + 1


def _describe_value(value: str, scale: float, touches: bool) -> str | None:
    if not re.match(r"[A-Za-z_\x80-\U0010ffff]", value) or NOT_FINITE.fullmatch(value):
        return _describe_number(value, scale)
    if touches:
        return f"{shown(value)} is a word that touches the |, so VW reads it as part of it: put a space between them"
    if re.fullmatch(r"[eE]-?[0-9]*", value) or re.match("(?i)nan|inf", value):
        return f"{shown(value)} is a word that VW reads as a number: rename it, for instance to {shown('_' + value)}"
    return None


def _describe_number(text: str, scale: float) -> str | None:
    if not text:
        return "there is no number after the colon: add it, or remove the feature"
    if NOT_FINITE.fullmatch(text):
        return f"{shown(text)} is not a finite number: replace it, or remove the feature"
    if not NUMBER.fullmatch(text):
        hint = "write decimals with a point" if "," in text else "correct it; values that are words begin with a letter"
        return f"{shown(text)} is not a number: {hint}"
    if not abs(float(text) * scale) <= LARGEST_FLOAT32:
        return f"{shown(text)} is too large (at most {LARGEST_FLOAT32:.0e}): scale the values"
    return None
