"""Several labels per example: how a file says them, and what the reader makes of them.

A format gives the distinct labels of a piece as texts; a tuple of texts stands for several labels, or for none.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.streaming.blocks import FILES
from perceptrons.engine.training.labels import Target
from perceptrons.features.values import shown

Label = str | tuple[str, ...]  # one label as it is written ("": none), or a set of them
COMMA = ","
PRINTED = re.compile(r"[^\x00-\x20\x7f]{1,8}")


def check_separator(separator: Any) -> None:
    """Raise ValueError for what cannot stand between labels."""
    if separator is not None and not (isinstance(separator, str) and PRINTED.fullmatch(separator)):
        what = "give one to eight printable characters, such as ',' or '|', without spaces"
        raise ValueError(f"label_separator={separator!r}: {what}.")


def split(text: str, separator: str) -> tuple[str, ...]:
    """The labels of a text, without the spaces around them; none of an empty one."""
    return tuple(part.strip() for part in text.split(separator)) if text.strip() else ()


def split_all(labels: Iterable[Label], separator: str) -> list[Label]:
    """The same for distinct texts; those that have no separator stay one label each."""
    return [split(text, separator) if isinstance(text, str) and separator in text else text for text in labels]


def as_set(label: Label) -> tuple[str, ...]:
    """The labels that a text stands for where examples may have several."""
    return label if isinstance(label, tuple) else (label,) if label else ()


def any_sets(labels: Iterable[Label]) -> bool:
    return any(isinstance(label, tuple) for label in labels)


def in_words(label: Label) -> str:
    """A label or label set for a message: the first labels, quoted."""
    if isinstance(label, str):
        return shown(label)
    named = ", ".join(map(shown, label[:3]))
    return f"{named}, ..." if len(label) > 3 else named or "none"


class Members(NamedTuple):
    """Label sets as numbers of distinct labels."""

    labels: list[str]
    sets: sp.csr_matrix  # int64 (sets, labels)


def members(labels: Sequence[Label]) -> Members:
    """The distinct labels of these sets, and which each has; a label that a set names twice counts once."""
    number_of: dict[str, int] = {}
    parts = [[number_of.setdefault(one, len(number_of)) for one in as_set(label)] for label in labels]
    return Members(list(number_of), _matrix(parts, len(number_of)))


def _matrix(parts: list[list[int]], n_labels: int) -> sp.csr_matrix:
    starts = np.cumsum([0, *map(len, parts)])
    places = np.fromiter((place for part in parts for place in part), np.int32, int(starts[-1]))
    return _once(sp.csr_matrix((np.ones(len(places), np.int64), places, starts), shape=(len(parts), n_labels)))


def _once(sets: sp.csr_matrix) -> sp.csr_matrix:
    sets.sum_duplicates()
    sets.data[:] = 1
    return sets


def among(sets: sp.csr_matrix, places: np.ndarray, n_labels: int) -> sp.csr_matrix:
    """The same sets where label k is label places[k] of n_labels; labels may have become equal."""
    columns = places.astype(np.int32)[sets.indices]
    return _once(sp.csr_matrix((sets.data.copy(), columns, sets.indptr.copy()), shape=(sets.shape[0], n_labels)))


def sorted_sets(classes: np.ndarray, sets: sp.csr_matrix) -> tuple[np.ndarray, sp.csr_matrix]:
    """The labels in order, each once, and the sets of them."""
    known, places = np.unique(classes, return_inverse=True)
    return known, among(sets, places, len(known))


def joined(blocks: list[Any]) -> tuple[sp.csr_matrix, np.ndarray]:
    """The indicator matrix of all blocks, and the labels of its columns."""
    named = [block.classes for block in blocks if len(block.classes)]
    classes = np.unique(np.concatenate(named)) if named else np.empty(0, np.int64)
    parts = [among(block.y, np.searchsorted(classes, block.classes), len(classes)) for block in blocks]
    return sp.vstack(parts, format="csr"), classes


def target_of(y: sp.csr_matrix, classes: np.ndarray) -> Target:
    """What a learner takes: an indicator matrix whose columns are labels by name."""
    return Target(FILES, classes, np.zeros(y.shape[0], np.int32), y.astype(bool).toarray())


class Several:
    """Has every example one label, or any number? Asked, or decided by the first labels that are read.

    asked: True or False, or None to see by the data. separator: what stands between labels in a text, if it was said,
    which asks for several. of_model: was it a model that said so?
    """

    def __init__(self, asked: bool | None, separator: str | None, of_model: bool):
        if asked not in (None, True, False):
            raise ValueError(f"multilabel={asked!r}: give True, False or None.")
        check_separator(separator)
        if separator is not None and asked is False and not of_model:
            raise ValueError(
                "label_separator is for several labels per example, but multilabel=False: leave one of them out."
            )
        self.asked = True if separator is not None and asked is None else asked
        self.now, self.separator, self._of_model = self.asked, separator, of_model

    @property
    def model_gives_one(self) -> bool:
        """Are the files read for a model that was trained on one label per example?"""
        return self._of_model and self.asked is False

    def recipe(self) -> dict[str, Any]:
        """What a recipe of reading says of it."""
        if not self.now:
            return {}
        return {"multilabel": True} | ({} if self.separator is None else {"label_separator": self.separator})

    def begin(self) -> None:
        """Labels are read from the beginning."""
        self.now = self.now or self.asked

    def decide(self, labels: Sequence[Label], wait: bool) -> bool:
        """May the examples of this block have several labels? wait: the blocks to come may decide it."""
        if self.now is None and labels and (any_sets(labels) or not wait):
            self.now = any_sets(labels)
        return bool(self.now)

    def settle(self) -> None:
        """All has been read."""
        self.now = bool(self.now)

    def why_not(self, label: Label) -> str:
        """What is wrong with a label set where an example has one label."""
        what = f"several labels, {in_words(label)}" if label else "a list without a label"
        if self._of_model:
            return f"{what}, but the model was trained on one label per example: give one"
        if self.asked is False:
            return f"{what}, but multilabel=False means one label per example: give one"
        return f"{what}, but earlier examples have one label each: give multilabel=True (--multilabel)"
