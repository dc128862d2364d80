"""Texts with labels, a line each: fastText's "__label__x __label__y some text", or a label, a tab and a text.

Compiled: `scan/labelled.py` finds label and text, `scan/words.py` cuts the text into words.
"""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from perceptrons.data.label_sets import COMMA, Label, split_all
from perceptrons.data.reader import PieceReader
from perceptrons.data.source import Piece
from perceptrons.data.table import Bad, Parsed, Texts, no_text, texts_of
from perceptrons.engine.scan.labelled import PREFIX, Found, scan_labelled
from perceptrons.features import Columns, HashedText
from perceptrons.features.named_rows import Workspaces, assemble, cut_text, local_names

SPACES = b" \t\n\v\f\r\0"
LABEL = re.compile(rb"(?<![^ \t-\r\0])__label__([^ \t-\r\0]*)")
MARK = "__label__"
BETWEEN = re.compile(r"[ \t-\r\0]+__label__")
IN_WORDS, BEFORE_TAB, IN_FILES = FORMS = ("fasttext", "tab", "files")


class LabelledTextReader(PieceReader):
    """Reads lines of text in UTF-8 that have a label each.

    text: how words become features, or its parameters. hash_bits: instead of the bits of `text`, 0 for a column for
    every word. columns: those of a model that is to predict. form: "fasttext" if labels are words that begin with
    __label__, anywhere in the line, one or several; "tab" if they stand before a tab; None: by the first line.
    ("files", where each file is a text, is for `TextFilesReader`.)
    Without need_labels a line may be a text and no more; a block has labels if all its lines have.
    """

    format = "text"

    def __init__(
        self,
        paths: tuple[Any, ...],
        *,
        text: HashedText | dict[str, Any] | None = None,
        hash_bits: int | None = None,
        columns: Columns | None = None,
        form: str | None = None,
        **shared: Any,
    ):
        super().__init__(paths, **shared)
        if form not in (None, *FORMS):
            raise ValueError(
                f"form={form!r}: choose 'fasttext', 'tab' or 'files', or None to detect it from the first line."
            )
        self.text = clone(text) if isinstance(text, HashedText) else HashedText(**(text or {}))
        if hash_bits is not None:
            self.text.set_params(bits=hash_bits or None)
        if columns is not None:
            if hash_bits is not None and hash_bits != (columns.bits or 0):
                raise ValueError(f"hash_bits={hash_bits}, but the columns have {columns.bits or 0} bits.")
            self.text.set_params(bits=columns.bits, signed=columns.signed, seed=columns.seed)
        elif self.text.bits is None and self.text.min_count > 1:
            raise ValueError(
                "min_count needs to count the words of all texts first, but a stream is read once: leave it out."
            )
        self._rule = self.text.rule()
        self._given, self._asked = columns, form
        self._rooms = Workspaces()
        self._begin()

    def _begin(self) -> None:
        self.form = self._asked
        self.columns = self.text.new_columns() if self._given is None else self._given
        self.n_features = self.columns.n_columns

    def recipe(self) -> dict[str, Any]:
        text = {name: _plain(value) for name, value in self.text.get_params().items()}
        recipe = {"format": self.format, "form": self.form, "text": text, "text_labels": self.text_labels}
        return recipe | self._shared()

    def known(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        facts, arrays = super().known()
        return facts | {"form": self.form}, arrays

    def _know(self, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        super()._know(facts, arrays)
        self.form = facts["form"]

    def _pieces(self) -> Iterator[Piece]:
        for piece in super()._pieces():
            if self.form is None:
                begins = piece.content[: piece.size].tobytes().lstrip(SPACES)
                if begins:
                    self.form = IN_WORDS if _has_label(begins) else BEFORE_TAB
            yield piece

    def _parse(self, piece: Piece) -> Parsed:
        n_lines = int(np.count_nonzero(piece.content[: piece.size] == 10))
        found = Found(*(np.empty((n_lines, k) if k > 1 else n_lines, np.int64) for k in (2, 2, 1, 3, 4)))
        in_words = self.form == IN_WORDS
        with np.errstate(over="ignore"):  # NumPy would warn where nothing is compiled
            _, n_rows, n_bad, n_inside = scan_labelled(piece.content, piece.size, in_words, self.need_labels, found)
        content, named = piece.content, piece.content
        if n_inside:
            content, named = _taken_out(content, found.inside[:n_inside], found.labels)
        begin, end = np.ascontiguousarray(found.labels[:n_rows].T)
        numbers, names = local_names(named, begin, end, self._rooms.labels)
        labels = Texts(numbers, self._split(texts_of(names), in_words))
        begin, end = np.ascontiguousarray(found.texts[:n_rows].T)
        local = cut_text(content, begin, end, self._rule, self._rooms.words)
        bad = [
            Bad(line, *_wrong(piece.content[first:last].tobytes(), in_words))
            for line, first, last in found.bad[:n_bad].tolist()
        ]
        return Parsed(n_lines, found.lines[:n_rows], labels, local, None, bad)

    def _split(self, texts: list[str], in_words: bool) -> list[Label]:
        """Texts that hold several labels as sets."""
        if in_words:
            return [tuple(BETWEEN.split(text)) if MARK in text and BETWEEN.search(text) else text for text in texts]
        return split_all(texts, self._several.separator or COMMA) if self._several.asked else list(texts)

    def _unlabelled(self, parsed: Parsed, piece: Piece, rows: list[int]) -> dict[int, tuple[str, int]]:
        lines = piece.content[: piece.size].tobytes().split(b"\n")
        return {row: _wrong(lines[parsed.lines[row]], self.form == IN_WORDS) for row in rows}

    def _matrix(self, parsed: Parsed) -> Any:
        assert self.columns is not None
        found = self.columns.find(parsed.rows.names)
        self.n_features = self.columns.n_columns
        return assemble(parsed.rows, found, self.n_features, self.text.values, self.text.norm)


def _has_label(text: bytes) -> bool:
    """Does it begin with a label, or is its first line a text without one, where others have them?"""
    return text.startswith(PREFIX.tobytes()) or (b"\t" not in text.partition(b"\n")[0] and bool(LABEL.search(text)))


def _taken_out(content: np.ndarray, inside: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Texts without the labels among their words, and where the labels are: those with words between are written again.

    labels: where those of each row are, which is changed.
    """
    texts, more, size = content.copy(), list[bytes](), len(content)
    for first, last, row, scattered in inside.tolist():
        if not scattered:
            texts[first:last] = SPACES[0]
            continue
        found = list(LABEL.finditer(content[first:last].tobytes()))
        for one in found:
            texts[first + one.start() : first + one.end()] = SPACES[0]
        more.append(b" ".join(one[0] for one in found)[len(PREFIX) :])
        labels[row] = size, size + len(more[-1])
        size += len(more[-1])
    return texts, np.concatenate([content, np.frombuffer(b"".join(more), np.uint8)]) if more else content


def _plain(value: Any) -> Any:
    """A parameter as JSON has it."""
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def _wrong(line: bytes, in_words: bool) -> tuple[str, int]:
    """What is wrong with a line, and the column, counted from 1."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        place = len(line[: error.start].decode("utf-8")) + 1
        return f"{no_text(error)}, or remove the line", place
    labels = list(LABEL.finditer(line))
    if in_words:
        for label in labels:
            if not label[1]:
                what = "__label__ without a name: write the label after it, or remove the line"
                return what, _column(line, label.start())
        what = "there is no label (a word that begins with __label__): add one, or remove the line"
        return f"{what}, or give --multilabel if examples may have several labels or none", 1
    if b"\t" in line:
        return "there is no label before the tab: add one, or remove the line", 1
    hint = "fasttext form, give form='fasttext'" if labels else "write the label, a tab and the text"
    return f"there is no tab between a label and a text: {hint}", 1


def _column(line: bytes, place: int) -> int:
    return len(line[:place].decode("utf-8")) + 1
