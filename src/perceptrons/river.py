"""Classifiers for River that wrap `Perceptron`: for its pipelines, metrics and evaluations. Needs the extra river.

Both hold a `Perceptron` and give it every example by `learn_one`, so that they learn the same weights to the bit.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

from perceptrons.engine.training.base import has_learned
from perceptrons.engine.training.parameters import (
    ALPHA,
    L1_RATIO,
    WINDOW,
    Combine,
    Multiclass,
    Penalty,
    Step,
    ZeroScore,
)
from perceptrons.linear import Perceptron

try:
    from river import base
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "river":
        raise
    raise ModuleNotFoundError(
        "perceptrons.river needs River: pip install 'perceptrons[river]'.", name="river"
    ) from error

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RiverMultiLabelPerceptron", "RiverPerceptron"]

TEXT = {str}


class _Online(base.Estimator):
    """The parameters of both classifiers, and the perceptron that learns."""

    def __init__(
        self, *, combine: Combine = "average", window: float = WINDOW, step: Step = "constant", eta0: float = 1.0,
        C: float = 1.0, margin: float | Literal["auto"] | None = "auto", cost: Any = None,
        penalty: Penalty | None = None, alpha: float = ALPHA, l1_ratio: float | None = L1_RATIO,
        multiclass: Multiclass = "joint", fit_intercept: bool = True,
        intercept_scaling: float | Literal["auto"] = "auto",
        zero_score: ZeroScore = "mistake", class_weight: Mapping[Any, float] | None = None,
    ) -> None:  # fmt: skip
        parameters = {name: value for name, value in locals().items() if name != "self"}
        vars(self).update(parameters)  # River reads them when it clones or prints a classifier
        self._hold(Perceptron(**parameters))

    def _hold(self, perceptron: Perceptron) -> None:
        self._perceptron = perceptron

    @classmethod
    def of(cls, perceptron: Perceptron) -> Self:
        """Return a classifier that keeps training this perceptron, for instance one that `perceptrons.load` read."""
        params = perceptron.get_params(deep=False)
        classifier = cls(**{name: params[name] for name in signature(cls).parameters})
        classifier._hold(perceptron)
        return classifier

    @property
    def perceptron(self) -> Perceptron:
        """The `Perceptron` that learns: save it, inspect it, ask it for explanations."""
        return self._perceptron

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> NoReturn:
        """Raise NotImplementedError: scores are not probabilities."""
        raise NotImplementedError(
            f"{type(self).__name__} has no predict_proba_one: its scores are not probabilities. Use predict_one, and "
            "metrics that compare labels."
        )

    @property
    def _knows_classes(self) -> bool:
        return has_learned(self._perceptron)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"combine": "last", "margin": 0.0}
        yield {"combine": "recent", "window": 50.0}
        yield {"step": "pa1", "C": 0.1}
        yield {"step": "arow"}


class RiverPerceptron(_Online, base.MiniBatchClassifier):
    """The perceptron as a River classifier, for two or more classes.

    Use it in River's pipelines, with its metrics, drift detectors and evaluations. If your data fit in memory or in a
    file, `Perceptron.fit` and `fit_stream` are many times faster.

    Features may come and go, and so may classes. A string counts as the feature "name=value". Names that are not
    strings count by their text: 1 and "1" are the same feature.

    It has no `predict_proba_one`, as scores are not probabilities. Use metrics that compare labels.

    Parameters
    ----------
    combine, window, step, eta0, C, margin, cost, penalty, alpha, l1_ratio, multiclass, fit_intercept, \
intercept_scaling, zero_score
        As in `Perceptron`, with its defaults.
    class_weight : dict or None, default=None
        As in `Perceptron`.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from perceptrons.river import RiverPerceptron
    >>> model = preprocessing.StandardScaler() | RiverPerceptron()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.43%
    """

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:
        """Learn from one example, as `Perceptron.learn_one` does."""
        self._perceptron.learn_one(with_text_names(x), y)

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:
        """Return the class of one example; None before the first was learned."""
        return self._perceptron.predict_one(with_text_names(x)) if self._knows_classes else None

    def learn_many(self, X: "pd.DataFrame", y: "pd.Series") -> None:
        """Learn from the rows of a frame, one after another: the weights are those of `learn_one`."""
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} rows, but y has {len(y)} labels: give one label per row.")
        for x, label in zip(records(X), y.tolist(), strict=True):
            self._perceptron.learn_one(x, label)

    def predict_many(self, X: "pd.DataFrame") -> "pd.Series":
        """Return the class of every row of a frame, with its index; None before the first example was learned."""
        import pandas as pd

        if not self._knows_classes:
            return pd.Series([None] * len(X), index=X.index, dtype=object)
        labels = [self._perceptron.predict_one(x) for x in records(X)]
        return pd.Series(labels, index=X.index, dtype=None if labels else object)


class RiverMultiLabelPerceptron(_Online, base.MultiLabelClassifier):
    """The perceptron as a multilabel River classifier: every label is a separate binary problem.

    A label is learned from the first example on that has it. Until then the answer for it is False.

    Parameters
    ----------
    combine, window, step, eta0, C, margin, cost, penalty, alpha, l1_ratio, multiclass, fit_intercept, \
intercept_scaling, zero_score, class_weight
        As in `RiverPerceptron`.

    Examples
    --------
    >>> from perceptrons.river import RiverMultiLabelPerceptron
    >>> model = RiverMultiLabelPerceptron()
    >>> for _ in range(3):
    ...     model.learn_one({"drums": 1, "loud": 1}, {"rock": True, "sad": False})
    ...     model.learn_one({"piano": 1}, {"rock": False, "sad": True})
    >>> model.predict_one({"drums": 1})
    {'rock': True, 'sad': False}
    """

    def _hold(self, perceptron: Perceptron) -> None:
        super()._hold(perceptron)
        classes = perceptron.classes_.tolist() if self._knows_classes else []
        self._labels: dict[Any, bool] = dict.fromkeys(classes, False)  # all labels of the stream so far

    def learn_one(self, x: dict[Hashable, Any], y: dict[Hashable, bool]) -> None:
        """Learn from one example: the labels that are True, and those that are not."""
        labels = frozenset(label for label, is_true in y.items() if is_true)
        if labels or self._knows_classes:
            self._perceptron.learn_one(with_text_names(x), labels)
        self._labels.update(dict.fromkeys(y, False))

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, bool]:
        """Return for every label of the stream so far whether the example has it."""
        predicted = self._perceptron.predict_one(with_text_names(x)) if self._knows_classes else ()
        return self._labels | dict.fromkeys(predicted, True)


def with_text_names(x: Mapping[Hashable, Any]) -> Mapping[str, Any]:
    """Return the example with the names of its features as text."""
    if {*map(type, x)} <= TEXT:
        return x  # type: ignore[return-value]
    renamed = {str(name): value for name, value in x.items()}
    if len(renamed) < len(x):
        raise ValueError(f"{sorted(map(repr, x))}: two features have the same name as text: rename one of them.")
    return renamed


def records(X: "pd.DataFrame") -> Iterable[dict[str, Any]]:
    """Return the rows of a frame as dicts of plain values."""
    names = [str(name) for name in X.columns]
    if len(set(names)) < len(names):
        raise ValueError("X has two columns with the same name as text: rename one of them.")
    columns = [X.iloc[:, place].tolist() for place in range(len(names))]
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)) if names else [{}] * len(X)
