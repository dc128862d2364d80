"""`TermWeights`: how words of texts, and the other features beside them, are weighed.

A word that few texts contain says more than one that all contain: its weight is its inverse document frequency,

    idf = 1 + ln((1 + texts) / (1 + texts with the word)), as in scikit-learn's `TfidfTransformer`, in steps of 1/16

In steps, a weight takes one byte, so that the recipe of a model can keep the weights of all words.
"""

import base64
import binascii
import math
import zlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

STEPS = 16  # per unit
KINDS = {"columns": int, "levels": str, "unseen": int, "beside": float}
MOST = 2**22  # columns with a weight of their own; of more, those that are this far apart share one


class Occurrences(NamedTuple):
    """Which columns the words of some texts have: a word stands once in a text."""

    starts: np.ndarray  # (texts + 1,)
    columns: np.ndarray  # -1 where a word has none
    counted: np.ndarray  # which texts count


class TermWeights(NamedTuple):
    """A weight for the words of every column.

    unseen: of those that were in no text. beside: what the other features are multiplied by, so that all of them
    together are about as long as one text.
    """

    levels: np.ndarray  # uint8
    unseen: int
    beside: float = 1.0

    @classmethod
    def measured(cls, parts: Iterable[Occurrences], n_columns: int, n_others: int = 0) -> "TermWeights":
        """Return the weights by how many texts have the words of each column. others: features of a row beside them."""
        with_word, texts = np.zeros(min(n_columns, MOST), np.int64), 0
        for starts, columns, is_counted in parts:
            texts += int(np.count_nonzero(is_counted))
            there = np.repeat(is_counted, np.diff(starts)) & (columns >= 0)
            with_word += np.bincount(columns[there] & (MOST - 1), minlength=len(with_word))
        ratio = np.maximum((1 + texts) / (1 + np.append(with_word, 0)), 1.0)  # words that share a column may be more
        levels = np.minimum(np.rint(STEPS * np.log(ratio)), 255).astype(np.uint8)
        return cls(levels[:-1], int(levels[-1]), 1 / math.sqrt(max(n_others, 1)))

    def of(self, columns: np.ndarray) -> np.ndarray:
        """Return the weights of words in these columns."""
        places = columns & (MOST - 1) if len(self.levels) == MOST else columns
        have_weight = (places >= 0) & (places < len(self.levels))
        levels = np.full(len(columns), self.unseen, np.uint8)
        levels[have_weight] = self.levels[places[have_weight]]
        return 1.0 + levels / STEPS

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        packed = base64.b64encode(zlib.compress(self.levels.tobytes())).decode()
        return {"columns": len(self.levels), "levels": packed, "unseen": self.unseen, "beside": self.beside}

    @classmethod
    def from_dict(cls, facts: Any) -> "TermWeights":
        """Return the weights that `as_dict` wrote. Raises ValueError for what it cannot have written."""
        is_complete = isinstance(facts, dict) and facts.keys() == KINDS.keys()
        if not (is_complete and all(type(facts[name]) is kind for name, kind in KINDS.items())):
            raise ValueError("expected all that weights of words have")
        if not (0 <= facts["columns"] <= MOST and 0 <= facts["unseen"] <= 255 and 0 < facts["beside"] <= 1):
            raise ValueError("expected the weights of words")
        return cls(_unpacked(facts["levels"], facts["columns"]), facts["unseen"], facts["beside"])


@lru_cache(maxsize=8)  # a model that predicts one record at a time asks for the same again
def _unpacked(packed: str, n: int) -> np.ndarray:
    try:
        levels = zlib.decompressobj().decompress(base64.b64decode(packed, validate=True), MOST + 1)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"expected packed weights of words ({error})") from error
    if len(levels) != n:
        raise ValueError("expected a weight of words for every column")
    return np.frombuffer(levels, np.uint8)
