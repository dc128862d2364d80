"""Labels of files as they are learned: whole numbers or strings, one or several per example."""

import numpy as np
import scipy.sparse as sp

from perceptrons.data.label_sets import Label, members, sorted_sets
from perceptrons.data.table import Block, is_text, is_written, whole_numbers
from perceptrons.features.values import is_label, no_label, shown
from perceptrons.inspection.evaluation import WHOLE


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
            number: f"{no_label(text)}: add one, or remove the record"
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
                what = "is not a whole number, unlike all labels before it"
                wrong[number] = f"label {shown(text)} {what}: if labels are text, give text_labels=True (--text-labels)"
        return whole_numbers(texts), wrong

    def read_sets(self, labels: list[Label]) -> tuple[np.ndarray, sp.csr_matrix, dict[int, str]]:
        """The same where examples may have several: the labels, the sets of them, and what is wrong with sets."""
        texts, sets = members(labels)
        classes, wrong = self.read(texts)
        places = np.repeat(np.arange(sets.shape[0]), np.diff(sets.indptr))
        bad = np.isin(sets.indices, list(wrong))
        why = {int(place): wrong[int(k)] for place, k in zip(places[bad], sets.indices[bad], strict=True)}
        if not wrong:
            return *sorted_sets(classes, sets), why
        keep = np.setdiff1d(np.arange(len(classes)), list(wrong))
        return *sorted_sets(classes[keep], sets[:, keep]), why

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
        classes = whole_numbers(block.classes.tolist())
        if block.sets is None:
            return block._replace(classes=classes)
        classes, sets = sorted_sets(classes, block.sets)
        return block._replace(classes=classes, sets=sets)
