"""What the recipe is given, checked before any work is done: forms that go together, labels that are classes."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import column_or_1d

from perceptrons.selection.seal import SealedTest, row_digests
from perceptrons.selection.splitting import Part, Parts, is_single
from perceptrons.training.structure import sound_csr


def as_given(X: Any, y: Any) -> tuple[Any, Any]:
    """Examples in a form that rows can be taken of; a column of labels as the list that it means."""
    if sp.issparse(X) or hasattr(X, "tocsr"):
        X = sound_csr(X if sp.issparse(X) else X.tocsr())
    if hasattr(y, "tocsr"):
        y = sound_csr(y if sp.issparse(y) else y.tocsr(), "y")
    elif hasattr(y, "to_numpy") and len(getattr(y, "shape", ())) == 2:
        y = y.to_numpy()
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    if isinstance(y, np.ndarray) and y.dtype == object and len(y) and isinstance(y[0], list | tuple | set | frozenset):
        y = y.tolist()  # sequences, or sets of labels
    return X, y


def part_as_given(part: Any, X: Any, name: str) -> Any:
    """Development or test examples of their own: like X."""
    if not isinstance(part, tuple) or len(part) != 2:
        return part
    other, y = as_given(*part)
    if isinstance(X, np.ndarray) and isinstance(other, list | tuple):
        other = np.asarray(other)
    kinds = [_kind(values) for values in (X, other)]
    if kinds[0] != kinds[1]:
        raise ValueError(f"X is {kinds[0]}, and that of {name} is {kinds[1]}: give both in the same form.")
    widths = [values.shape[1] if len(getattr(values, "shape", ())) == 2 else None for values in (X, other)]
    if widths[0] != widths[1]:
        raise ValueError(f"{name}: has {widths[1]:,} features, and X has {widths[0]:,}: give the same.")
    return other, y


def check_labels_meet(parts: Parts) -> None:
    """Refuse development and test labels that are nowhere among those learned from: all answers would be wrong."""
    known = _labels(parts.train)
    for name, part in (("development", parts.dev), ("test", parts.test)):
        labels = None if part is None else _labels(part)
        if known and labels and not known & labels:
            raise ValueError(
                f"None of the labels of the {name} examples ({_some(labels)}) is among those learned from "
                f"({_some(known)}): are they the same classes, written in the same way?"
            )


def overlap(parts: Parts, sealed: SealedTest) -> int:
    """How many test examples that came by themselves are also among those to learn from or to choose by.

    All of them: that is no test, and is refused.
    """
    if parts.test is None or (parts.test.rows is not None and parts.dev.rows is not None):
        return 0
    others = {*row_digests(*parts.train.taken()), *row_digests(*parts.dev.taken())}
    twice = sum(one in others for one in sealed.each)
    if twice == sealed.n:
        raise ValueError(
            f"All {sealed.n:,} test examples are among those to learn from or to choose by, so that this is no test: "
            "give others."
        )
    return twice


def _labels(part: Part) -> set[Any]:
    y = part.taken()[1]
    return set(np.asarray(y).tolist()) if is_single(y) else set()


def _kind(X: Any) -> str:
    if sp.issparse(X):
        return "a sparse matrix"
    return "a frame" if hasattr(X, "columns") else "an array or a list"


def _some(labels: set[Any]) -> str:
    shown = sorted(map(repr, labels))
    return ", ".join(shown[:3]) + (", ..." if len(shown) > 3 else "")
