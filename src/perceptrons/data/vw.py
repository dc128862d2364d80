"""Vowpal Wabbit's text, "[label [importance]] ['tag]|namespace feature:value ..." per line, and its interactions.

Several labels have commas between them, as VW has them with --multilabel_oaa: "1,3 | a b". Lines that VW would read
only in part, or take for 0, are refused; everything else is read as VW reads it, to the same columns.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np

from perceptrons.data.labels import COMMA, split_all
from perceptrons.data.reader import Reader, bad_records, check_bits, read_labels
from perceptrons.data.source import Inputs, Piece
from perceptrons.data.table import ParsedPiece
from perceptrons.engine.hashing import SECRET
from perceptrons.engine.scan.bytes import ROOM
from perceptrons.engine.scan.interactions import (
    LAST_PRINTED,
    NONE,
    STAR,
    WILDCARD,
    Groups,
    Plain,
    Products,
    Terms,
    count_products,
    cut_lines,
    join_names,
    multiply,
    spaces_of,
)  # fmt: skip
from perceptrons.engine.scan.name_table import key_names, power_of_two
from perceptrons.engine.scan.numbers import SPACE
from perceptrons.engine.scan.vw import BAR, LARGEST, LONGEST_NAMESPACE, Found, hash_features, scan_vw
from perceptrons.engine.training.labels import MAX_WEIGHT, MIN_WEIGHT
from perceptrons.features import Columns
from perceptrons.features.cells import CodedColumn
from perceptrons.features.named_rows import (
    Names,
    Workspaces,
    assemble_values,
    joined,
    local_names,
    order_of_coming,
    renumbered,
)
from perceptrons.features.values import NOT_FINITE, Recipe, shown

MAX_FEATURES_PER_ROW = 2**20  # features that interactions may make of one line
FEATURES_PER_PIECE = 2**18  # in one block, unless one line has more: memory is bounded by it
ORDERS = {"quadratic": 2, "cubic": 3}
HEX = re.compile(rb"\\x([0-9a-fA-F]{2})")
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
        starts, numbers, values, names, hashes, _ = rows
        plain = Plain(starts, numbers, values, np.empty(len(hashes), np.uint8), hashes)
        spaces_of(names.arena, names.ends, plain.spaces)
        terms, groups = _in_order(self.terms, bytes(np.unique(plain.spaces))), _new_groups(starts)
        counts = np.empty(len(starts) - 1)
        count_products(plain, terms, groups, counts)
        skip = counts > MAX_FEATURES_PER_ROW
        products = _new_products(plain, int(counts[~skip].sum()))
        n, used = multiply(plain, terms, groups, skip, products, SECRET)
        numbers_made, parts, names = products.numbers[:n], products.parts[:used], _escaped(names)
        faults = {row: _too_many(counts[row]) for row in np.flatnonzero(skip).tolist()}
        for row in np.flatnonzero(products.large).tolist():
            at = int(products.large[row]) - 1
            faults[row] = _too_large(names, parts[numbers_made[at] - len(hashes)], float(products.values[at]))
        extra = numbers_made[numbers_made >= len(hashes)] - len(hashes)
        hashes = np.concatenate([hashes, products.hashes[:used]])
        if not wants_names:
            return FeatureRows(
                products.starts, numbers_made, products.values[:n], _unnamed(len(hashes)), hashes, faults
            )
        names = _with_products(names, parts, extra)
        if len(starts) > 2:
            order = order_of_coming(numbers_made, len(hashes))
            names, hashes = renumbered(names, order), hashes[order]
            numbers_made = np.argsort(order).astype(np.int32)[numbers_made]
        return FeatureRows(products.starts, numbers_made, products.values[:n], names, hashes, faults)


# ---- which there are


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
def _in_order(terms: tuple[Term, ...], spaces: bytes) -> Terms:
    terms_array = _as_array(sorted(expand_wildcards(terms, spaces), key=lambda term: term[0]))
    return Terms(terms_array, np.searchsorted(terms_array[:, 0], np.arange(257)))


def _as_array(terms: Iterable[Term]) -> np.ndarray:
    return np.array([(*term, NONE)[:3] for term in terms], np.int64).reshape(-1, 3)


# ---- what they make


def _new_groups(starts: np.ndarray) -> Groups:
    longest = int(np.diff(starts).max(initial=0))
    counts, begins, met = (np.zeros(256, kind) for kind in (np.int64, np.int64, np.uint8))
    return Groups(counts, begins, met, np.empty(longest, np.int32), np.empty(longest, np.float32))


def _new_products(plain: Plain, max_products: int) -> Products:
    n = len(plain.numbers) + max_products
    return Products(
        starts=np.empty(len(plain.starts), np.int64),
        numbers=np.empty(n, np.int32),
        values=np.empty(n),
        parts=np.empty((max_products, 3), np.int32),
        hashes=np.empty(max_products, np.uint32),
        slots=np.zeros((power_of_two(2 * max_products + 1), 2), np.uint64),
        large=np.zeros(len(plain.starts) - 1, np.int64),
    )


def _escaped(names: Names) -> Names:
    """Return the names with "|*" for "*"; few have one."""
    stars = np.flatnonzero(names.arena == STAR)
    if not len(stars):
        return names
    ends = names.ends + np.searchsorted(stars, names.ends)
    return _keyed(np.insert(names.arena, stars, np.uint8(BAR)), ends, names.counts)


def _with_products(names: Names, parts: np.ndarray, numbers_made: np.ndarray) -> Names:
    """Return the names of plain features, then those of interactions. made: how many there are of each."""
    lengths = np.append(np.diff(names.ends), -1)[parts].sum(axis=1) + 2  # a part that is none is the last
    arena, ends = np.empty(int(lengths.sum()), np.uint8), np.empty(len(parts) + 1, np.int64)
    join_names(names.arena, names.ends, parts, arena, ends)
    return joined(names, _keyed(arena, ends, np.bincount(numbers_made, minlength=len(parts))))


def _unnamed(n: int) -> Names:
    """As many names, for columns that follow from the hashes."""
    return Names(np.empty(0, np.uint8), np.zeros(1, np.int64), np.zeros(n, np.int64), np.empty(0, np.uint64))


def _keyed(arena: np.ndarray, ends: np.ndarray, counts: np.ndarray) -> Names:
    keys, padded = np.empty(len(counts), np.uint64), np.concatenate([arena, np.zeros(ROOM, np.uint8)])
    key_names(padded, ends, SECRET, keys)
    return Names(padded[: len(arena)], ends, counts, keys)


def _too_many(n: float) -> str:
    message = f"its interactions make {n:,.0f} features, more than {MAX_FEATURES_PER_ROW:,}"
    return f"{message}: name fewer namespaces, or shorten the line"


def _too_large(names: Names, parts: np.ndarray, value: float) -> str:
    texts = [names.arena[names.ends[part] : names.ends[part + 1]].tobytes() for part in parts.tolist() if part >= 0]
    name = b"*".join(texts).decode("utf-8", "replace")
    return f"{shown(name)} is {value:g}, too large (at most {LARGEST:.0e}): scale the values"


NUMBER = re.compile(r"[+-]?(\d++\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
LABEL = (
    "the label is missing: start the line with it and a space, or, if examples may have several labels or none, give "
    "--multilabel"
)
ONE_LABEL = "write one label, or several separated by commas, then at most an importance"
Fault = tuple[str, int]  # and its place, from 0
BITS = 18  # as VW has it
WEIGHTS = MIN_WEIGHT, MAX_WEIGHT  # of an example, if it is not 0


class VwReader(Reader):
    """Reads Vowpal Wabbit's text files.

    Features are hashed as VW's --hash strings does; values are float32, those of 0 left out, those of one column added
    up. No feature is constant: models have their intercept. A feature is called "namespace^feature", in the default
    namespace "feature". hash_bits: 0 for a column of its own for every name. columns: those of a model that is to
    predict. quadratic, cubic: interactions of namespaces, as VW's -q and --cubic, such as ["ab"]. Lines may be without
    labels if need_labels is False; a block has labels if all its lines have.
    """

    format = "vw"
    more_on_labels = True

    def __init__(
        self,
        paths: Inputs,
        *,
        hash_bits: int | None = None,
        columns: Columns | None = None,
        quadratic: list[str] | None = None,
        cubic: list[str] | None = None,
        **shared: Any,
    ):
        super().__init__(paths, **shared)
        self._given_columns = columns
        if columns is not None:
            check_bits(hash_bits, columns)
            hash_bits = columns.bits or 0
        self.hash_bits = BITS if hash_bits is None else hash_bits
        self._interactions = Interactions(quadratic, cubic)
        self._workspaces = Workspaces()
        self._begin()

    def _begin(self) -> None:
        self.columns = (
            Columns(self.hash_bits or None, signed=False) if self._given_columns is None else self._given_columns
        )
        self.n_features = self.columns.n_columns

    def recipe(self) -> Recipe:
        options = {"format": self.format, "hash_bits": self.hash_bits, "text_labels": self.text_labels}
        return options | self._interactions.recipe() | self._shared()

    def _pieces(self) -> Iterator[Piece]:
        for piece in super()._pieces():
            yield from self._interactions.cut(piece) if self._interactions else [piece]

    def _parse(self, piece: Piece) -> ParsedPiece:
        with np.errstate(over="ignore"):  # hashes do, on purpose; NumPy would warn where nothing is compiled
            buffers, counts = self._scanned(piece)
            n_lines, n_rows, n_values, n_bad, n_weighted = counts
            ends = buffers.ends[: n_values + 1]
            numbers, names = local_names(buffers.names, ends[:-1], ends[1:], self._workspaces.words)
            hashes = np.empty(len(names.counts), np.uint32)
            hash_features(names.arena, names.ends, buffers.prefix, hashes)
            rows = FeatureRows(buffers.starts[: n_rows + 1], numbers, buffers.values[:n_values], names, hashes, {})
            if self._interactions:
                assert self.columns is not None
                rows = self._interactions.make(rows, wants_names=not (self.columns.frozen and self.columns.bits))
        codes, texts = read_labels(piece.content, buffers.labels[:n_rows], self._workspaces.labels)
        labels = CodedColumn(codes, split_all(texts, COMMA))
        weight = buffers.weights[:n_rows] if n_weighted else None
        bad = bad_records(piece, buffers.bad[:n_bad], describe_line)
        return ParsedPiece(n_lines, buffers.lines[:n_rows], labels, rows, weight, bad)

    def _scanned(self, piece: Piece) -> tuple[Found, tuple[int, ...]]:
        n_lines, n_names = int(np.count_nonzero(piece.content[: piece.size] == 10)), 2 * piece.size + 1024
        while True:
            buffers = Found(
                values=np.empty(piece.size // 2 + 1),
                ends=np.empty(piece.size // 2 + 2, np.int64),
                names=np.empty(n_names, np.uint8),
                prefix=np.empty(LONGEST_NAMESPACE + 1, np.uint8),
                starts=np.empty(n_lines + 1, np.int64),
                labels=np.empty((n_lines, 2), np.int64),
                weights=np.empty(n_lines),
                lines=np.empty(n_lines, np.int64),
                bad=np.empty((n_lines, 3), np.int64),
            )
            counts = scan_vw(piece.content, piece.size, *WEIGHTS, buffers)
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
        return assemble_values(starts, numbers, values, name_columns, self.n_features)


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
        elif name == "importance" and not (_is_zero(word[0]) or WEIGHTS[0] <= float(word[0]) <= WEIGHTS[1]):
            message = f"importance {shown(word[0])} is not 0 or from {WEIGHTS[0]:g} to {WEIGHTS[1]:g}"
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
        if len(namespace.encode("utf-8", "surrogateescape")) > LONGEST_NAMESPACE:
            yield f"a namespace of more than {LONGEST_NAMESPACE} bytes: give it a shorter name", begin
        if colon:
            message = _describe_number(value, 1.0)
            if message:
                yield message, begin + len(namespace) + 1
                return
            scale = float(value)
    for word in parts:
        name, colon, value = word[0].partition(":")
        message = None if not colon else _describe_value(value, scale, word.end() == len(part) and not last)
        if not colon and abs(scale) > LARGEST:
            message = f"scale {scale:g} is too large (at most {LARGEST:.0e}): scale the values"
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
    if not abs(float(text) * scale) <= LARGEST:
        return f"{shown(text)} is too large (at most {LARGEST:.0e}): scale the values"
    return None
