"""Progressive validation for online learning: predict each example of a stream, count mistakes, then learn from it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Progress:
    """The result of progressive validation: every example was predicted before it was learned from."""

    examples: int = 0
    mistakes: int = 0
    comparator_mistakes: int | None = None
    table: list[tuple[int, float]] = field(default_factory=list)  # (examples, error so far) at 1, 2, 4, ... and the end

    @property
    def error(self) -> float:
        """The share of the examples that were predicted wrongly so far."""
        return self.mistakes / self.examples if self.examples else float("nan")

    @property
    def regret(self) -> int:
        """Mistakes made beyond those of the fixed comparator on the same examples."""
        if self.comparator_mistakes is None:
            raise ValueError("Regret needs a comparator: call progressive(..., comparator=model).")
        return self.mistakes - self.comparator_mistakes


def progressive(
    model: Any, examples: Iterable[tuple[Any, Any]], comparator: Any = None, scaler: Any = None
) -> Progress:
    """Evaluate and train a model on a stream of (x, label) pairs: predict each example, count mistakes, learn.

    Parameters
    ----------
    model : Perceptron
        A model with `predict_one` and `learn_one`; it may already be trained.
    examples : iterable of (x, label)
        x is a dict of features or a row of numbers.
    comparator : fitted model, optional
        A model that does not learn, for instance one fitted on all data, to compute the regret. It gets the examples
        unscaled.
    scaler : RunningScaler, optional
        A scaler for the examples: it learns from x, which needs no label, then transforms it.

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.online import progressive
    >>> stream = [({"free": 1}, "spam"), ({"hello": 1}, "ham"), ({"free": 1, "cash": 1}, "spam"), ({"hello": 1}, "ham")]
    >>> progress = progressive(Perceptron(), stream)
    >>> progress.mistakes, progress.table
    (2, [(1, 1.0), (2, 1.0), (4, 0.5)])
    """
    progress = Progress(comparator_mistakes=None if comparator is None else 0)
    can_predict = False
    for x, label in examples:
        if comparator is not None and progress.comparator_mistakes is not None:
            progress.comparator_mistakes += comparator.predict_one(x) != label
        if scaler is not None:
            x = scaler.learn_one(x).transform_one(x)
        can_predict = can_predict or hasattr(model, "classes_") or getattr(model, "classes", None) is not None
        progress.mistakes += not can_predict or model.predict_one(x) != label
        progress.examples += 1
        model.learn_one(x, label)
        if progress.examples & (progress.examples - 1) == 0:
            progress.table.append((progress.examples, progress.error))
    if progress.examples and progress.table[-1][0] != progress.examples:
        progress.table.append((progress.examples, progress.error))
    return progress
