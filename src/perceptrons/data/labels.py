"""Labels of files, as they are written and as they are learned: one or several per example, whole numbers or strings.

A format gives the distinct labels of a piece as texts. A tuple of texts stands for several labels, or for none.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.streaming.blocks import FILES
from perceptrons.engine.training.labels import Target
from perceptrons.features.values import is_label, no_label, shown
from perceptrons.inspection.evaluation import WHOLE_NUMBER

if TYPE_CHECKING:
    from perceptrons.data.table import Block


Label = str | tuple[str, ...]  # one label as it is written ("": none), or a set of them
LearnedLabel = Any  # int, str or bool, or a tuple of them
COMMA = ","
USUAL_LABELS = ("label", "y", "target", "class")  # names of label columns
PRINTED = re.compile(r"[^\x00-\x20\x7f]{1,8}")


def split_labels(text: str, separator: str) -> tuple[str, ...]:
    """Return the labels of a text, without the spaces around them; none of an empty one."""
    return tuple(part.strip() for part in text.split(separator)) if text.strip() else ()


def split_all(labels: Iterable[Label], separator: str) -> list[Label]:
    """Return the same for distinct texts; those that have no separator stay one label each."""
    return [split_labels(text, separator) if isinstance(text, str) and separator in text else text for text in labels]


def as_set(label: Label) -> tuple[str, ...]:
    """Return the labels that a text stands for where examples may have several."""
    return label if isinstance(label, tuple) else (label,) if label else ()


def format_labels(label: Label) -> str:
    """Return a label or label set for a message: the first labels, quoted."""
    if isinstance(label, str):
        return shown(label)
    quoted = ", ".join(map(shown, label[:3]))
    return f"{quoted}, ..." if len(label) > 3 else quoted or "none"


def label_matrix(label_sets: Sequence[tuple[Any, ...]]) -> tuple[np.ndarray, sp.csr_matrix]:
    """Return the distinct labels in order, and an indicator matrix of which label set has which label."""
    flat = list(chain.from_iterable(label_sets))
    classes, columns = np.unique(flat, return_inverse=True) if flat else (np.empty(0, np.int64), np.empty(0, np.intp))
    starts = np.cumsum([0, *map(len, label_sets)])
    shape = len(label_sets), len(classes)
    matrix = sp.csr_matrix((np.ones(len(flat), np.int64), columns.astype(np.int32), starts), shape=shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return classes, matrix


def joined_label_sets(blocks: Sequence["Block"]) -> tuple[sp.csr_matrix, np.ndarray]:
    """Return the indicator matrix of all blocks, and the labels of its columns."""
    distinct, codes = list[tuple[Any, ...]](), list[np.ndarray]()
    for block in blocks:
        assert block.codes is not None
        codes.append(block.codes + len(distinct))
        distinct += block.distinct or []
    classes, matrix = label_matrix(distinct)
    return matrix[np.concatenate(codes)], classes


def target_of(y: sp.csr_matrix, classes: np.ndarray) -> Target:
    """Return what a learner takes: an indicator matrix whose columns are labels by name."""
    return Target(FILES, classes, np.zeros(y.shape[0], np.int32), y.astype(bool).toarray())


def as_whole_number(label: Any) -> Any:
    """Return the whole number that a text stands for, 0 if it is none; labels that are no texts as they are."""
    if not isinstance(label, str):
        return label
    return int(label.partition(".")[0]) if WHOLE_NUMBER.fullmatch(label) else 0


FEW_CLASSES = 20  # this number of classes is always accepted


class LabelReader:
    """Turns labels as they are written into labels as they are learned.

    Whole numbers are learned if all labels look like it, and several per example if one has several. A stream decides
    both by its first block. While `is_deferred`, labels stay as they are written until `settle`, so that a whole table
    decides by all of its labels.

    Parameters
    ----------
    text : bool
        Keep labels as strings.
    multilabel : bool, optional
        May an example have several labels? None: the data decide.
    separator : str, optional
        The text between several labels, which implies that there may be several.
    for_model : bool
        Whether the files are read for a model, which then decided these options.
    """

    def __init__(self, text: bool, multilabel: bool | None, separator: str | None, for_model: bool):
        if multilabel not in (None, True, False):
            raise ValueError(f"multilabel={multilabel!r}: give True, False or None.")
        if separator is not None and not (isinstance(separator, str) and PRINTED.fullmatch(separator)):
            message = "give one to eight printable characters, such as ',' or '|', without spaces"
            raise ValueError(f"label_separator={separator!r}: {message}.")
        if separator is not None and multilabel is False and not for_model:
            raise ValueError(
                "label_separator is for several labels per example, but multilabel=False: leave one of them out."
            )
        self.multilabel = True if separator is not None and multilabel is None else multilabel
        self.several, self.separator, self._for_model = self.multilabel, separator, for_model
        self.is_deferred = False
        self._keep_text, self._is_settled = text, False  # settled by all labels that were read as a whole
        self._are_whole: bool | None = None

    @property
    def model_gives_one(self) -> bool:
        """Are the files read for a model that was trained on one label per example?"""
        return self._for_model and self.multilabel is False

    def recipe(self) -> dict[str, Any]:
        """Return what a recipe of reading says of several labels."""
        if not self.several:
            return {}
        return {"multilabel": True} | ({} if self.separator is None else {"label_separator": self.separator})

    def begin(self) -> None:
        """Read labels from the beginning of the files."""
        self.several = self.several or self.multilabel
        if not self._is_settled:
            self._are_whole = False if self._keep_text else None

    def read(self, labels: Sequence[Label]) -> tuple[list[LearnedLabel], dict[int, str]]:
        """Return distinct labels as they are learned, and what is wrong with some of them, by their numbers."""
        has_sets = any(isinstance(label, tuple) for label in labels)
        if self.several is None and labels and (has_sets or not self.is_deferred):
            self.several = has_sets
        sets = [as_set(label) if self.several else () if isinstance(label, tuple) else (label,) for label in labels]
        bad = self._check(dict.fromkeys(chain.from_iterable(sets)))
        faults = {number: bad[text] for number, texts in enumerate(sets) for text in texts if text in bad}
        if self.several:
            return self._converted([tuple(text for text in texts if text not in bad) for texts in sets]), faults
        faults |= {number: self.why_not(label) for number, label in enumerate(labels) if isinstance(label, tuple)}
        return self._converted([texts[0] if texts else "" for texts in sets]), faults

    def _check(self, texts: Iterable[str]) -> dict[str, str]:
        """Return what is wrong with texts that are no labels. The first texts decide whether labels are numbers."""
        faults = {
            text: f"{no_label(text)}: add one, or remove the record"
            for text in texts
            if not is_label(text) or not is_encodable(text)
        }
        valid = [text for text in texts if text not in faults]
        if self._are_whole is None and valid and not self.is_deferred:
            self._are_whole = all(map(WHOLE_NUMBER.fullmatch, valid))
        for text in valid if self._are_whole and not self.is_deferred else ():
            if not WHOLE_NUMBER.fullmatch(text):
                message = f"label {shown(text)} is not a whole number, unlike all labels before it"
                faults[text] = f"{message}: if labels are text, give text_labels=True (--text-labels)"
        return faults

    def _converted(self, labels: Sequence[LearnedLabel]) -> list[LearnedLabel]:
        if self.is_deferred or not self._are_whole:
            return list(labels)
        return [tuple(map(as_whole_number, label)) if isinstance(label, tuple) else as_whole_number(label)
                for label in labels]  # fmt: skip

    def why_not(self, label: Label) -> str:
        """Return what is wrong with a label set where an example has one label."""
        message = f"several labels, {format_labels(label)}" if label else "a list without a label"
        if self._for_model:
            return f"{message}, but the model was trained on one label per example: give one"
        if self.multilabel is False:
            return f"{message}, but multilabel=False means one label per example: give one"
        return f"{message}, but earlier examples have one label each: give multilabel=True (--multilabel)"

    def settle(self, blocks: Sequence["Block"]) -> None:
        """Decide by the labels of these blocks, which are all that have been read."""
        if self._are_whole is None:
            texts = {text for block in blocks for text in block.labels() if isinstance(text, str)}
            self._are_whole = all(map(WHOLE_NUMBER.fullmatch, texts)) if texts else None
        self.is_deferred, self._is_settled, self.several = False, self._are_whole is not None, bool(self.several)

    def finished(self, block: "Block") -> "Block":
        """Return a block whose labels stayed as they are written, with labels as they are learned."""
        if block.distinct is None:
            return block
        labels = [label if isinstance(label, tuple) or not self.several else (label,) for label in block.distinct]
        return block._replace(distinct=self._converted(labels))


def not_classes(labels: Collection[Any], n: int, column: str | None = None) -> str | None:
    """Return why the labels of n examples are too many to be classes; None if they may be classes."""
    if len(labels) <= FEW_CLASSES or len(labels) <= n / 2:
        return None
    some = ", ".join(shown(str(label)) for label in list(labels)[:2])
    place = "" if column is None else f" in column {shown(column)}"
    name = "" if column is None else "name the right column with label_column (--label-column), "
    return (
        f"{len(labels):,} different labels{place} among {n:,} examples, such as {some}, do not look like classes: "
        f"{name}{'or ' * bool(name)}allow them with many_classes=True (--many-classes)"
    )


def as_labels(texts: list[str], keep_text: bool) -> np.ndarray:
    """Return whole numbers if all labels look like it, else strings."""
    if not keep_text and all(WHOLE_NUMBER.fullmatch(text) for text in set(texts)):
        return np.array(list(map(as_whole_number, texts)), np.int64)
    return np.array(texts, dtype=str)


def is_encodable(text: str) -> bool:
    """UTF-8, and without NUL, which NumPy's strings drop at the end."""
    if "\0" in text:
        return False
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)
