"""Vowpal Wabbit's text, "[label [importance]] ['tag]|namespace feature:value ..." a line. Compiled: `scan/vw.py`.

Several labels have commas between them, as VW has them with --multilabel_oaa: "1,3 | a b".

What VW would read only in part, or take for 0, is refused; all else is read as VW reads it, to the same columns.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from perceptrons.data.interactions import Interactions, Made
from perceptrons.data.label_sets import COMMA, split_all
from perceptrons.data.reader import PieceReader
from perceptrons.data.source import Piece
from perceptrons.data.table import Bad, Parsed, Texts, texts_of
from perceptrons.engine.scan.vw import LARGEST, LONGEST_NAMESPACE, Found, hash_features, scan_vw
from perceptrons.engine.training.example_weights import LARGEST_WEIGHT, SMALLEST_WEIGHT
from perceptrons.features import Columns
from perceptrons.features.named_rows import Workspaces, assemble_values, local_names
from perceptrons.features.values import NOT_FINITE, shown

NUMBER = re.compile(r"[+-]?(\d++\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
LABEL = (
    "the label is missing: start the line with it and a space, or, if examples may have several labels or none, give "
    "--multilabel"
)
ONE_LABEL = "write one label, or several separated by commas, then at most an importance"
Fault = tuple[str, int]  # and its place, from 0
BITS = 18  # as VW has it
WEIGHTS = SMALLEST_WEIGHT, LARGEST_WEIGHT  # of an example, if it is not 0


class VwReader(PieceReader):
    """Reads Vowpal Wabbit's text files.

    Features are hashed as VW's --hash strings does; values are float32, those of 0 left out, those of one column added
    up. No feature is constant: models have their intercept. A feature is called "namespace^feature", in the default
    namespace "feature". hash_bits: 0 for a column of its own for every name. columns: those of a model that is to
    predict. quadratic, cubic: interactions of namespaces, as VW's -q and --cubic, such as ["ab"]. Lines may be without
    labels if need_labels is False; a block has labels if all its lines have.
    """

    format = "vw"

    def __init__(
        self,
        paths: tuple[Any, ...],
        *,
        hash_bits: int | None = None,
        columns: Columns | None = None,
        quadratic: list[str] | None = None,
        cubic: list[str] | None = None,
        **shared: Any,
    ):
        super().__init__(paths, **shared)
        self._given = columns
        if columns is not None:
            if hash_bits is not None and hash_bits != (columns.bits or 0):
                raise ValueError(f"hash_bits={hash_bits}, but the columns have {columns.bits or 0} bits.")
            hash_bits = columns.bits or 0
        self.hash_bits = BITS if hash_bits is None else hash_bits
        self._interactions = Interactions(quadratic, cubic)
        self._rooms = Workspaces()
        self._begin()

    def _begin(self) -> None:
        self.columns = Columns(self.hash_bits or None, signed=False) if self._given is None else self._given
        self.n_features = self.columns.n_columns

    def recipe(self) -> dict[str, Any]:
        told = {"format": self.format, "hash_bits": self.hash_bits, "text_labels": self.text_labels}
        return told | self._interactions.recipe() | self._shared()

    def _pieces(self) -> Iterator[Piece]:
        for piece in super()._pieces():
            yield from self._interactions.cut(piece) if self._interactions else [piece]

    def _parse(self, piece: Piece) -> Parsed:
        with np.errstate(over="ignore"):  # hashes do, on purpose; NumPy would warn where nothing is compiled
            found, counts = self._scanned(piece)
            n_lines, n_rows, n_values, n_bad, n_weighted = counts
            ends = found.ends[: n_values + 1]
            numbers, names = local_names(found.names, ends[:-1], ends[1:], self._rooms.words)
            hashes = np.empty(len(names.counts), np.uint32)
            hash_features(names.arena, names.ends, found.prefix, hashes)
            rows = Made(found.starts[: n_rows + 1], numbers, found.values[:n_values], names, hashes, {})
            if self._interactions:
                assert self.columns is not None
                rows = self._interactions.make(*rows[:-1], named=not (self.columns.frozen and self.columns.bits))
        begin, end = np.ascontiguousarray(found.labels[:n_rows].T)
        of_rows, distinct = local_names(piece.content, begin, end, self._rooms.labels)
        labels = Texts(of_rows, split_all(texts_of(distinct), COMMA))
        weight = found.weights[:n_rows] if n_weighted else None
        bad = [
            Bad(line, *fault(piece.content[first:last].tobytes(), *WEIGHTS))
            for line, first, last in found.bad[:n_bad].tolist()
        ]
        return Parsed(n_lines, found.lines[:n_rows], labels, rows, weight, bad)

    def _scanned(self, piece: Piece) -> tuple[Found, tuple[int, ...]]:
        n_lines, n_names = int(np.count_nonzero(piece.content[: piece.size] == 10)), 2 * piece.size + 1024
        while True:
            found = Found(
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
            counts = scan_vw(piece.content, piece.size, *WEIGHTS, found)
            if counts[2] >= 0:
                return found, counts
            n_names *= 2  # short features in a namespace of a long name

    def _unfit(self, parsed: Parsed, piece: Piece) -> dict[int, tuple[str, int]]:
        return {row: (what, 1) for row, what in parsed.rows.wrong.items()}

    def _unlabelled(self, parsed: Parsed, piece: Piece, rows: list[int]) -> dict[int, tuple[str, int]]:
        lines = piece.content[: piece.size].tobytes().split(b"\n")
        return {row: _missing(lines[parsed.lines[row]].decode("utf-8", "replace").partition("|")[0]) for row in rows}

    def _matrix(self, parsed: Parsed) -> Any:
        starts, numbers, values, names, hashes, _ = parsed.rows
        assert self.columns is not None
        found = self.columns.find(names, hashes if self.columns.bits else None)
        self.n_features = self.columns.n_columns
        return assemble_values(starts, numbers, values, found, self.n_features)


def fault(content: bytes, least: float, most: float) -> Fault:
    """What is wrong with a malformed line, and the column, numbered from 1."""
    text = content.decode("utf-8", "surrogateescape").rstrip("\r")
    head, bar, body = text.partition("|")
    if not bar:
        return "there is no | in the line: write the features after it, such as 1 |words good news:2", 1
    for what, place in chain(_of_head(head, least, most), _of_body(body, len(head) + 1)):
        return what, place + 1
    return "not of the form label |namespace feature:value ...: correct or remove the line", 1


def _missing(head: str) -> Fault:
    """What to say of a line without a label, and the column, counted from 1."""
    words = list(re.finditer("[^ ]+", head))
    if words and words[-1][0][0] != "'":
        what = f"{shown(words[-1][0])} touches the | and is therefore a tag, not a label: put a space between them"
        return what, words[-1].start() + 1
    return LABEL, 1


def _of_head(head: str, least: float, most: float) -> Iterator[Fault]:
    for bad in re.finditer("[\t\r]", head):
        yield f"{shown(bad[0])} before the |: separate label, importance and tag by spaces", bad.start()
    words = list(re.finditer("[^ ]+", head))
    if words and (words[-1][0][0] == "'" or not head.endswith(" ")):
        words.pop()  # a tag
    if not words:
        return
    label, *numbers = words
    if ":" in label[0]:
        yield f"{shown(label[0])}: labels with costs are not supported: {ONE_LABEL}", label.start()
    if re.search(r"[\x00-\x1f\x7f]", label[0]):
        yield f"{shown(label[0])} contains a control character, so it is not a label: remove it", label.start()
    for word, name in zip(numbers, ("importance", "base"), strict=False):
        if not NUMBER.fullmatch(word[0]):
            what = f"{shown(word[0])} is in the place of the {name} but is not a number: begin a tag with '"
        elif name == "base" and not _is_zero(word[0]):
            what = f"base {shown(word[0])} is not 0: initial predictions are not supported, so remove it"
        elif name == "importance" and not (_is_zero(word[0]) or least <= float(word[0]) <= most):
            what = f"importance {shown(word[0])} is not 0 or from {least:g} to {most:g}: correct it, or remove the line"
        else:
            continue
        yield what, word.start()
    if len(words) > 3:
        what = (
            f"{len(words)} words before the |: at most a label, an importance and a base, and a tag that begins with '"
        )
        yield what, words[3].start()


def _is_zero(number: str) -> bool:
    """Return whether a number is 0 as it is written. 1e-400 is not, but float() makes 0 of it."""
    return not re.search("[1-9]", re.split("[eE]", number)[0])


def _of_body(body: str, begin: int) -> Iterator[Fault]:
    parts = body.split("|")
    for place, part in enumerate(parts):
        yield from _of_namespace(part, begin, place + 1 == len(parts))
        begin += len(part) + 1


def _of_namespace(part: str, begin: int, last: bool) -> Iterator[Fault]:
    for bad in re.finditer("\r", part):
        yield "there is a carriage return inside the line: remove it, or write a newline", begin + bad.start()
    scale, words = 1.0, re.finditer("[^ \t]+", part)
    if part and part[0] not in " \t":
        namespace, colon, value = next(words)[0].partition(":")
        if not namespace:
            yield f"{shown(':' + value)} after the |, where a namespace is expected: put a space between them", begin
        if len(namespace.encode("utf-8", "surrogateescape")) > LONGEST_NAMESPACE:
            yield f"a namespace of more than {LONGEST_NAMESPACE} bytes: give it a shorter name", begin
        if colon:
            what = _of_number(value, 1.0)
            if what:
                yield what, begin + len(namespace) + 1
                return
            scale = float(value)
    for word in words:
        name, colon, value = word[0].partition(":")
        what = None if not colon else _of_value(value, scale, word.end() == len(part) and not last)
        if not colon and abs(scale) > LARGEST:
            what = f"scale {scale:g} is too large (at most {LARGEST:.0e}): scale the values"
        if what:
            yield what, begin + word.start() + len(name) + 1


def _of_value(value: str, scale: float, touches: bool) -> str | None:
    if not re.match(r"[A-Za-z_\x80-\U0010ffff]", value) or NOT_FINITE.fullmatch(value):
        return _of_number(value, scale)
    if touches:
        return f"{shown(value)} is a word that touches the |, so VW reads it as part of it: put a space between them"
    if re.fullmatch(r"[eE]-?[0-9]*", value) or re.match("(?i)nan|inf", value):
        return f"{shown(value)} is a word that VW reads as a number: rename it, for instance to {shown('_' + value)}"
    return None


def _of_number(text: str, scale: float) -> str | None:
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
