"""One visit of an example while a model learns, and the weights after it. Recorded by `trace.py`."""

from typing import Any, NamedTuple

import numpy as np


class Weights(NamedTuple):
    """Weights at one moment: the last ones and the average so far. Of two classes one row; of kernels alpha alone."""

    coef: Any  # (rows, features); None for kernels, and so the next three
    intercept: Any  # (rows,)
    coef_average: Any
    intercept_average: Any
    alpha: Any = None  # (examples, rows); None for linear models, and so the next
    alpha_average: Any = None

    @classmethod
    def of(cls, w: np.ndarray, b: np.ndarray, mean_w: np.ndarray, mean_b: np.ndarray) -> "Weights":
        return cls(w, b, mean_w, mean_b)

    @classmethod
    def of_alpha(cls, alpha: np.ndarray, mean: np.ndarray) -> "Weights":
        return cls(None, None, None, None, alpha, mean)

    def sharing(self, before: "Weights") -> "Weights":
        """The same, with the arrays of a moment before where nothing changed: they take no memory then."""
        same = (
            old if old is not None and np.array_equal(old, new) else new for old, new in zip(before, self, strict=True)
        )
        return Weights(*same)

    @property
    def size(self) -> int:
        """Numbers in it."""
        return sum(part.size for part in self if part is not None)

    def moved(self, before: "Weights") -> tuple[int, ...]:
        """The rows that an update moved."""
        if self.alpha is not None:
            return tuple(np.flatnonzero((self.alpha != before.alpha).any(axis=0)).tolist())
        changed = (self.coef != before.coef).any(axis=1) | (self.intercept != before.intercept)
        return tuple(np.flatnonzero(changed).tolist())


class Visit(NamedTuple):
    """One visit of an example, and the weights after it.

    Attributes
    ----------
    k : int
        Updates so far, that of this visit included.
    epoch : int
        Counted from 1.
    example : int
        The row of X, counted from 0.
    x : array of shape (n_features,)
    y, predicted : labels
        The true class, and the answer before the visit.
    score : float, or array of shape (n_classes,) for three or more classes
        Before the visit.
    margin : float
        y * score; for three or more classes the score of y less the largest of the other classes.
    mistake, update : bool
        Was the answer wrong? Did the weights learn from it? A margin makes them learn from right answers, too.
    weights : Weights
        After the visit.
    moved : tuple of labels
        For three or more classes, those whose weights the visit changed.
    """

    k: int
    epoch: int
    example: int
    x: np.ndarray
    y: Any
    predicted: Any
    score: Any
    margin: float
    mistake: bool
    update: bool
    weights: Weights
    moved: tuple[Any, ...]

    @property
    def coef(self) -> np.ndarray | None:
        """Weights after the visit: (n_features,), or one row per class. None for kernels."""
        return alone(self.weights.coef)

    @property
    def intercept(self) -> Any:
        """The bias after the visit, or one per class. None for kernels."""
        return alone(self.weights.intercept)

    @property
    def coef_average(self) -> np.ndarray | None:
        """The mean of the weights after every visit so far."""
        return alone(self.weights.coef_average)

    @property
    def intercept_average(self) -> Any:
        """The mean of the bias after every visit so far."""
        return alone(self.weights.intercept_average)

    @property
    def alpha(self) -> np.ndarray | None:
        """Of kernels: the coefficient of every example, (n_examples,), or (n_examples, n_classes). Else None."""
        if self.weights.alpha is None:
            return None
        return self.weights.alpha[:, 0] if self.weights.alpha.shape[1] == 1 else self.weights.alpha

    @property
    def verdict(self) -> str:
        """In one word or two."""
        return "mistake" if self.mistake else "too close" if self.update else "right"


def alone(part: np.ndarray | None) -> Any:
    """A row by itself where there is one: a vector of weights, or the number that the bias is."""
    if part is None or len(part) > 1:
        return part
    return part[0] if part.ndim == 2 else float(part[0])


def rounded(value: Any, largest: float = 0.0, digits: int = 4) -> str:
    """A number in few digits. What is nothing beside the largest number about it is the rounding of sums: 0."""
    number = float(value)
    return "0" if abs(number) < 1e-12 * largest or number == 0 else f"{number:.{digits}g}"
