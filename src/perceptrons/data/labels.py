"""Labels of files, as they are written and as they are learned: one or several per example, whole numbers or strings.

A format gives the distinct labels of a piece as texts; a tuple of texts stands for several labels, or for none.
"""

import re
from collections.abc import Collection, Iterable, Sequence
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
COMMA = ","
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


def members(labels: Sequence[Label]) -> tuple[list[str], sp.csr_matrix]:
    """Return the distinct labels of these sets, and which each has; a label that a set names twice counts once."""
    number_of: dict[str, int] = {}
    parts = [[number_of.setdefault(name, len(number_of)) for name in as_set(label)] for label in labels]
    starts = np.cumsum([0, *map(len, parts)])
    places = np.fromiter((place for part in parts for place in part), np.int32, int(starts[-1]))
    sets = sp.csr_matrix((np.ones(len(places), np.int64), places, starts), shape=(len(parts), len(number_of)))
    return list(number_of), _once(sets)


def _once(sets: sp.csr_matrix) -> sp.csr_matrix:
    sets.sum_duplicates()
    sets.data[:] = 1
    return sets


def among(sets: sp.csr_matrix, places: np.ndarray, n_labels: int) -> sp.csr_matrix:
    """Return the same sets where label k is label places[k] of n_labels; labels may have become equal."""
    columns = places.astype(np.int32)[sets.indices]
    return _once(sp.csr_matrix((sets.data.copy(), columns, sets.indptr.copy()), shape=(sets.shape[0], n_labels)))


def sorted_sets(classes: np.ndarray, sets: sp.csr_matrix) -> tuple[np.ndarray, sp.csr_matrix]:
    """Return the labels in order, each once, and the sets of them."""
    distinct, places = np.unique(classes, return_inverse=True)
    return distinct, among(sets, places, len(distinct))


def joined_label_sets(blocks: list[Any]) -> tuple[sp.csr_matrix, np.ndarray]:
    """Return the indicator matrix of all blocks, and the labels of its columns."""
    class_lists = [block.classes for block in blocks if len(block.classes)]
    classes = np.unique(np.concatenate(class_lists)) if class_lists else np.empty(0, np.int64)
    parts = [among(block.y, np.searchsorted(classes, block.classes), len(classes)) for block in blocks]
    return sp.vstack(parts, format="csr"), classes


def target_of(y: sp.csr_matrix, classes: np.ndarray) -> Target:
    """Return what a learner takes: an indicator matrix whose columns are labels by name."""
    return Target(FILES, classes, np.zeros(y.shape[0], np.int32), y.astype(bool).toarray())


FEW_CLASSES = 20  # this number of classes is always accepted


class LabelReader:
    """Labels as they are written, and as they are learned: one per example or several, whole numbers or strings.

    Whole numbers are learned if all labels look like it, and several per example if one has several. A stream decides
    both by its first block. While `wait` is set, labels stay as they are written until `settle`, so that a whole table
    decides by all of its labels.

    text: keep labels as strings. multilabel: may an example have several labels? None: see by the data. separator: what
    stands between labels in a text, if the user gave it, which implies several. of_model: was it a model that said so?
    """

    def __init__(self, text: bool, multilabel: bool | None, separator: str | None, of_model: bool):
        if multilabel not in (None, True, False):
            raise ValueError(f"multilabel={multilabel!r}: give True, False or None.")
        if separator is not None and not (isinstance(separator, str) and PRINTED.fullmatch(separator)):
            message = "give one to eight printable characters, such as ',' or '|', without spaces"
            raise ValueError(f"label_separator={separator!r}: {message}.")
        if separator is not None and multilabel is False and not of_model:
            raise ValueError(
                "label_separator is for several labels per example, but multilabel=False: leave one of them out."
            )
        self.multilabel = True if separator is not None and multilabel is None else multilabel
        self.several, self.separator, self._of_model = self.multilabel, separator, of_model
        self.wait = False
        self._text, self._settled = text, False  # by all labels that were read as a whole
        self._whole: bool | None = None

    @property
    def model_gives_one(self) -> bool:
        """Are the files read for a model that was trained on one label per example?"""
        return self._of_model and self.multilabel is False

    def recipe(self) -> dict[str, Any]:
        """Return what a recipe of reading says of several labels."""
        if not self.several:
            return {}
        return {"multilabel": True} | ({} if self.separator is None else {"label_separator": self.separator})

    def begin(self) -> None:
        """Labels are read from the beginning."""
        self.several = self.several or self.multilabel
        if not self._settled:
            self._whole = False if self._text else None

    def read(self, labels: list[Label]) -> tuple[np.ndarray, sp.csr_matrix | None, dict[int, str]]:
        """Return the labels, the label sets if examples may have several, and what is wrong with some of them."""
        has_sets = any(isinstance(label, tuple) for label in labels)
        if self.several is None and labels and (has_sets or not self.wait):
            self.several = has_sets
        if not self.several:
            sets = {number: self.why_not(label) for number, label in enumerate(labels) if isinstance(label, tuple)}
            classes, faults = self.read_one_each(["" if isinstance(label, tuple) else label for label in labels])
            return classes, None, faults | sets
        texts, members_of = members(labels)
        classes, faults = self.read_one_each(texts)
        places = np.repeat(np.arange(members_of.shape[0]), np.diff(members_of.indptr))
        bad = np.isin(members_of.indices, list(faults))
        reasons = {int(place): faults[int(k)] for place, k in zip(places[bad], members_of.indices[bad], strict=True)}
        if faults:
            keep = np.setdiff1d(np.arange(len(classes)), list(faults))
            classes, members_of = classes[keep], members_of[:, keep]
        return *sorted_sets(classes, members_of), reasons

    def read_one_each(self, texts: list[str]) -> tuple[np.ndarray, dict[int, str]]:
        """Return the labels, and what is wrong with those that are none."""
        faults = {
            number: f"{no_label(text)}: add one, or remove the record"
            for number, text in enumerate(texts)
            if not is_label(text) or not is_encodable(text)
        }
        valid = [text for number, text in enumerate(texts) if number not in faults]
        if self._whole is None and valid and not self.wait:
            self._whole = all(WHOLE_NUMBER.fullmatch(text) for text in valid)
        if self.wait or not self._whole:
            return np.array(["" if number in faults else text for number, text in enumerate(texts)], str), faults
        for number, text in enumerate(texts):
            if number not in faults and not WHOLE_NUMBER.fullmatch(text):
                message = "is not a whole number, unlike all labels before it"
                faults[number] = (
                    f"label {shown(text)} {message}: if labels are text, give text_labels=True (--text-labels)"
                )
        return whole_numbers(texts), faults

    def why_not(self, label: Label) -> str:
        """Return what is wrong with a label set where an example has one label."""
        message = f"several labels, {format_labels(label)}" if label else "a list without a label"
        if self._of_model:
            return f"{message}, but the model was trained on one label per example: give one"
        if self.multilabel is False:
            return f"{message}, but multilabel=False means one label per example: give one"
        return f"{message}, but earlier examples have one label each: give multilabel=True (--multilabel)"

    def settle(self, blocks: list["Block"]) -> None:
        """Decide by the labels of these blocks, which are all that have been read."""
        if self._whole is None:
            texts = {text for block in blocks if is_written(block.classes) for text in block.labels()}
            self._whole = all(map(WHOLE_NUMBER.fullmatch, texts)) if texts else None
        self.wait, self._settled, self.several = False, self._whole is not None, bool(self.several)

    def finished(self, block: "Block") -> "Block":
        """Return a block that was read before it was known what others are."""
        classes, sets = block.classes, block.sets
        if classes is None or block.codes is None:
            return block
        if self.several and sets is None:
            classes, sets = sorted_sets(classes, sp.identity(len(classes), np.int64, "csr"))
        if self._whole and is_written(classes):
            classes = whole_numbers(classes.tolist())
            if sets is not None:
                classes, sets = sorted_sets(classes, sets)
        return block._replace(classes=classes, sets=sets)


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
        return whole_numbers(texts)
    return np.array(texts, dtype=str)


def whole_numbers(texts: list[str]) -> np.ndarray:
    """Return labels as whole numbers; 0 for those that are none."""
    return np.array([int(text.partition(".")[0]) if WHOLE_NUMBER.fullmatch(text) else 0 for text in texts], np.int64)


def is_written(classes: np.ndarray | None) -> bool:
    """Return whether these labels are as they are written."""
    return classes is not None and classes.dtype.kind == "U"


def is_encodable(text: str) -> bool:
    """UTF-8, and without NUL, which NumPy's strings drop at the end."""
    if "\0" in text:
        return False
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)
