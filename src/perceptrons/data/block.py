"""Blocks of examples on their way from a format to the learner, and their labels as written and as learned."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.data.table import whole_numbers
from perceptrons.features.local import Names
from perceptrons.features.values import is_label, no_label, shown
from perceptrons.inspection.evaluation import WHOLE


class Block(NamedTuple):
    """Some examples that follow each other in a file.

    Labels are numbers of `classes`, the labels of this block as they came: some may be equal, as 1 and 1.0 are, and
    some of no example. Both are None where there are no labels.
    """

    X: Any  # CSR matrix or array; as many columns as features are known by now
    codes: np.ndarray | None  # int32
    classes: np.ndarray | None
    weight: np.ndarray | None
    path: Path
    lines: np.ndarray | None  # where each example begins, from 1

    @property
    def y(self) -> np.ndarray | None:
        return None if self.codes is None or self.classes is None else self.classes[self.codes]

    def labels(self) -> list[Any]:
        """The distinct labels of the examples."""
        return [] if self.codes is None or self.classes is None else self.classes[np.unique(self.codes)].tolist()


class Texts(NamedTuple):
    """A column of strings: which distinct one each example has."""

    numbers: np.ndarray  # int32 (examples,)
    distinct: list[str]
    column: int = 1  # where in a record they stand


class Bad(NamedTuple):
    """A record that is no example."""

    line: int  # within the piece, from 0
    what: str
    column: int = 1


class Skipped(NamedTuple):
    """A record that was left out."""

    path: Path
    line: int  # from 1
    why: str  # "file:line:column: what is wrong: what to do"


Outcome = tuple[Block | None, list[Skipped]]


class Parsed(NamedTuple):
    """What a thread makes of a piece, before anything is known of the pieces before it."""

    n_lines: int
    lines: np.ndarray  # int64: of each example, within the piece, from 0
    labels: Texts | None
    rows: Any  # the format's own
    weight: np.ndarray | None
    bad: list[Bad]


def n_bytes(block: Block | None) -> int:
    """The size of the examples and labels of a block in memory."""
    if block is None:
        return 0
    X = block.X
    parts = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
    return sum(part.nbytes for part in (*parts, block.codes) if part is not None)


def texts_of(names: Names) -> list[str]:
    """Distinct names as strings; bytes that are not UTF-8 become surrogates, which no label may have."""
    arena, ends = names.arena.tobytes(), names.ends.tolist()
    return [arena[ends[k] : ends[k + 1]].decode("utf-8", "surrogateescape") for k in range(len(ends) - 1)]


class Labels:
    """Labels as they are written, and as they are learned: whole numbers if all of them look like it.

    A stream decides by its first block. While `wait` is set, labels stay as they are written until `settle`, so that a
    whole table decides by all of its labels.
    """

    def __init__(self, text: bool):
        self.wait = False
        self._text, self._settled = text, False  # by all labels that were read as a whole
        self._whole: bool | None = None

    def begin(self) -> None:
        """Labels are read from the beginning."""
        if not self._settled:
            self._whole = False if self._text else None

    def read(self, texts: list[str]) -> tuple[np.ndarray, dict[int, str]]:
        """The labels, and what is wrong with those that are none."""
        wrong = {
            number: f"{no_label(text)}: give one, or remove the record"
            for number, text in enumerate(texts)
            if not is_label(text) or not is_text(text)
        }
        sound = [text for number, text in enumerate(texts) if number not in wrong]
        if self._whole is None and sound and not self.wait:
            self._whole = all(WHOLE.fullmatch(text) for text in sound)
        if self.wait or not self._whole:
            return np.array(["" if number in wrong else text for number, text in enumerate(texts)], str), wrong
        for number, text in enumerate(texts):
            if number not in wrong and not WHOLE.fullmatch(text):
                what = "is no whole number, as all labels before it are"
                wrong[number] = (
                    f"label {shown(text)} {what}: if labels are words, give text_labels=True (--text-labels)"
                )
        return whole_numbers(texts), wrong

    def settle(self, blocks: list[Block]) -> None:
        """Decide by the labels of these blocks."""
        if self._whole is None:
            written = {text for block in blocks if is_written(block.classes) for text in block.labels()}
            self._whole = all(map(WHOLE.fullmatch, written)) if written else None
        self.wait, self._settled = False, self._whole is not None

    def settled(self, block: Block) -> Block:
        """A block whose labels were read before that was decided."""
        if not self._whole or not is_written(block.classes):
            return block
        assert block.classes is not None
        return block._replace(classes=whole_numbers(block.classes.tolist()))


def is_written(classes: np.ndarray | None) -> bool:
    """Are these labels as they are written?"""
    return classes is not None and classes.dtype.kind == "U"


def is_text(text: str) -> bool:
    """UTF-8, and without NUL, which NumPy's strings drop at the end."""
    if "\0" in text:
        return False
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)
