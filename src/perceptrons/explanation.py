"""`Explanation`: what each feature, or support vector, adds to the scores of one example."""

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.html import block, note, table
from perceptrons.engine.rows import Rows, Sparse
from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.feature_names import Units, names_of, raw_values, units_of
from perceptrons.engine.wording import count, short

IN_UNITS = "Values are in the units of the data; a number contributes weight * (value - centre) / scale."
MAX_CONTRIBUTIONS = 10  # of a table
MAX_SCORES = 8
NOT_PROBABILITIES = "Scores are not probabilities."


class Contribution(NamedTuple):
    """One feature's part in a score: weight × value. Of a kernel model: coefficient × kernel value."""

    feature: str
    column: int
    value: float
    weight: float
    contribution: float
    raw_value: float | None = None  # in the units of the data, of a number that was scaled


def largest(
    features: tuple[str, ...], columns: np.ndarray, values: np.ndarray, weights: np.ndarray, n: int
) -> list[Contribution]:
    """Return the n contributions farthest from 0, the largest first, without zeros."""
    contributions = weights * values
    places = np.flatnonzero(contributions)
    places = places[np.argsort(-np.abs(contributions[places]), kind="stable")][: max(0, int(n))].tolist()
    return [
        Contribution(features[k], int(columns[k]), float(values[k]), float(weights[k]), float(contributions[k]))
        for k in places
    ]


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a model predicts what it predicts for one example: `model.explain(x)` makes it.

    The contributions of a row and its bias add up to its score, which `decision_function` returns, with two exceptions:
    one-vs-one counts the pairs that each class wins, and voting counts all weights of the training history, for which
    the averaged weights stand here.

    When to use it: to see which features are evidence for and against a prediction. When not: to compare features of
    different scales by their weights; use `perceptrons.theory.scales.comparable_weights`.

    Attributes
    ----------
    classes : array of shape (n_classes,)
    rows : tuple of tuples
        The class of each row of weights: (label,), for which positive contributions are evidence; or one-vs-one
        (first, second), positive for the second. Two classes have one row, that of the second.
    columns : array of shape (n,)
        The columns of the features that are not 0; of a kernel model, the numbers of support vectors.
    features : tuple of str
        Their names; x0, x1, ... if the model knows none. Of a kernel model X[17]: a row of the X that was fitted.
    values, weights, contributions : arrays of shape (n,), (n_rows, n) and (n_rows, n)
        contributions = weights × values. Of a kernel model: coefficients and kernel values.
    raw_values : array of shape (n,)
        The values in the units of the data, of numbers that were scaled before training; NaN for others.
    bias, scores : arrays of shape (n_rows,)
    decision : array
        The value of `decision_function`.
    prediction : label, or a list of labels where there may be several
    runner_up : label or None
        The class of the second highest score; None for several labels.
    combine : str
        The weights that predict: "average", "last", "pocket", or "vote".
    unknown : tuple of str
        Features of the example that the model does not know: they count as 0.
    support : array or None
        Of a kernel model: the rows of the X that was fitted, -1 where not known.
    threshold : float or None
        Of two classes: the score from which on the second is predicted, if the model has such a threshold.
    probabilities : array of shape (n_classes,) or None
        The probability of each class, as `predict_proba` returns it, if the model is calibrated.

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> model = Perceptron()
    >>> for text, label in [("free cash now", "spam"), ("see you now", "ham"), ("free prize", "spam")]:
    ...     model = model.learn_one({word: 1 for word in text.split()}, label)
    >>> why = model.explain({"free": 2, "you": 1, "tickets": 1})
    >>> why.prediction, why.unknown
    ('spam', ('tickets',))
    >>> [(part.feature, round(part.contribution, 2)) for part in why.top(2)]
    [('free', 2.67), ('you', -0.67)]
    """

    classes: np.ndarray
    rows: tuple[tuple[Any, ...], ...]
    columns: np.ndarray
    features: tuple[str, ...]
    values: np.ndarray
    weights: np.ndarray
    bias: np.ndarray
    decision: np.ndarray
    prediction: Any
    runner_up: Any
    combine: str
    unknown: tuple[str, ...] = ()
    support: np.ndarray | None = None
    threshold: float | None = None
    probabilities: np.ndarray | None = None
    units: Units = field(default_factory=dict)

    @property
    def raw_values(self) -> np.ndarray:
        return raw_values(self.units, self.features, self.values)

    @property
    def contributions(self) -> np.ndarray:
        return self.weights * self.values

    @property
    def scores(self) -> np.ndarray:
        return self.contributions.sum(axis=1) + self.bias

    def of(self, label: Any) -> tuple[np.ndarray, float]:
        """Return the weights and the bias that are evidence for a class; one-vs-one, summed over its pairs."""
        return self._sum_of_rows(self._signs(label))

    def between(self, label: Any, other: Any) -> tuple[np.ndarray, float]:
        """Return the weights and the bias by which a class leads another: together with the values, by how much."""
        signs, signs_of_other = self._signs(label), self._signs(other)
        is_duel = np.array([{label, other} == set(row) for row in self.rows])
        if is_duel.any():  # one-vs-one
            signs *= is_duel
        elif not self._is_binary:
            signs -= signs_of_other
        return self._sum_of_rows(signs * (label != other))

    def _signs(self, label: Any) -> np.ndarray:
        """Return for each row of weights whether it is evidence for a class (1), against it (-1) or neither (0)."""
        if label not in self.classes.tolist():
            known = ", ".join(map(_label, self.classes[:10].tolist()))
            raise ValueError(
                f"There is no class {_label(label)}: the classes are {known}{', ...' * (len(self.classes) > 10)}."
            )
        is_against = [self._is_binary or label in row for row in self.rows]
        return np.array(
            [1.0 if label == row[-1] else -1.0 * against for row, against in zip(self.rows, is_against, strict=True)]
        )

    def _sum_of_rows(self, signs: np.ndarray) -> tuple[np.ndarray, float]:
        return signs @ self.weights, float(signs @ self.bias)

    def top(self, n: int = MAX_CONTRIBUTIONS, label: Any = None) -> list[Contribution]:
        """Return the n largest contributions to the score of a label, the largest first.

        Without a label, those that decided between the prediction and the runner-up, positive for the prediction; where
        there are several labels, those to the label of the highest score.
        """
        weights = self._deciding_weights()[0] if label is None else self.of(label)[0]
        return [
            part._replace(raw_value=self.units[part.feature].value(part.value)) if part.feature in self.units else part
            for part in largest(self.features, self.columns, self.values, weights, n)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists and numbers, for JSON."""
        arrays = ("columns", "values", "weights", "contributions", "bias", "scores", "decision")
        return {
            "classes": self.classes.tolist(),
            "prediction": self.prediction,
            "runner_up": self.runner_up,
            "combine": self.combine,
            "rows": [list(row) for row in self.rows],
            "features": list(self.features),
            **{name: getattr(self, name).tolist() for name in arrays},
            "raw_values": [None if np.isnan(value) else value for value in self.raw_values.tolist()],
            "unknown": list(self.unknown),
            "threshold": self.threshold,
            "probabilities": None if self.probabilities is None else self.probabilities.tolist(),
            "support": None if self.support is None else self.support.tolist(),
        }

    def __str__(self) -> str:
        lines, (before, after) = self._lines(), self._sentences()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rows = ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines]
        return "\n".join([*before, "", *rows, "", *after])

    def _repr_html_(self) -> str:
        (header, *lines), (before, after) = self._lines(), self._sentences()
        return block(*map(note, before), table(lines, header), *map(note, after))

    @property
    def _is_binary(self) -> bool:
        """Whether one row distinguishes two classes."""
        return len(self.rows) == 1 and len(self.classes) == 2 and not isinstance(self.prediction, list)

    def _deciding_weights(self) -> tuple[np.ndarray, float]:
        if self.runner_up is not None:
            return self.between(self.prediction, self.runner_up)
        return self.of(self._highest())

    def _highest(self) -> Any:
        """Return the label of the highest score."""
        return self.classes.tolist()[int(np.argmax(self.decision)) if len(self.classes) > 1 else 0]

    def _lines(self) -> list[tuple[str, ...]]:
        """Return the rows of the table: header, the largest contributions, the others, the bias, the sum."""
        weights, bias = self._deciding_weights()
        contributions, parts = weights * self.values, self.top()
        is_kernel = self.support is not None
        header = ("example", "kernel value", "coefficient") if is_kernel else ("feature", "value", "weight")
        lines: list[tuple[str, ...]] = [(*header, "contribution")]
        for part in parts:
            unit = self.units.get(part.feature)
            value = f"{part.value:.4g}" if unit is None else unit.shown(part.value)
            lines.append((short(part.feature), value, f"{part.weight:+.4g}", f"{part.contribution:+.4g}"))
        total = float(contributions.sum())
        if n_others := int(np.count_nonzero(contributions)) - len(parts):
            others = total - sum(part.contribution for part in parts)
            lines.append((count(n_others, "other"), "", "", f"{others:+.4g}"))
        if not is_kernel:
            lines.append(("(bias)", "", "", f"{bias:+.4g}"))
        return [*lines, ("together", "", "", f"{total + bias:+.4g}")]

    def _sentences(self) -> tuple[list[str], list[str]]:
        """Return the sentences before and after the table."""
        after: list[str] = []
        kind = "weights" if self.support is None else "coefficients"
        scores = f"{'Votes' if self.combine == 'vote' else 'Scores'}: {self._format_by_class(self.decision, '.4g')}."
        has_several, is_multiclass = isinstance(self.prediction, list), len(self.classes) > 2
        if has_several:
            labels = ", ".join(map(_label, self.prediction)) or "no label"
            before = [f"Predicted: {labels}.", scores, f"Evidence for {_label(self._highest())}:"]
        elif self.runner_up is None:
            before = [f"Predicted: {_label(self.prediction)}, the only class that the model knows."]
        else:
            first, second = _label(self.prediction), _label(self.runner_up)
            before = [f"Predicted: {first}; second best: {second}.", *([scores] if is_multiclass else [])]
            difference = is_multiclass and len(self.rows[0]) == 1
            above = f"{kind.capitalize()} of {first} minus those of {second}: above" if difference else "Above"
            after.append(f"{above} 0 is evidence for {first}, below 0 for {second}.")
            if self.threshold is not None:
                last = _label(self.classes.tolist()[1])
                before.append(
                    f"The model predicts {last} for scores of {self.threshold:.4g} or more, instead of 0 or more."
                )
        if self.combine == "vote":
            before.append(f"All {kind} of the training history voted; the averaged {kind} are shown here instead.")
            weights, bias = self._deciding_weights()
            if self.runner_up is not None and float((weights * self.values).sum()) + bias < 0:
                before.append("Here the averaged weights would predict another class than the votes.")
        if self.probabilities is None:
            after.append(NOT_PROBABILITIES)
        else:
            name = "Probabilities of each label" if has_several else "Probabilities"
            before.insert(1, f"{name}: {self._format_by_class(self.probabilities, '.1%')}.")
        if any(name in self.units for name in self.features):
            after.insert(0, IN_UNITS)
        if self.unknown:
            names = ", ".join(repr(short(name)) for name in self.unknown[:MAX_CONTRIBUTIONS])
            more = ", ..." * (len(self.unknown) > MAX_CONTRIBUTIONS)
            after.insert(0, f"Unknown to the model, so they count as 0: {names}{more}.")
        return before, after

    def _format_by_class(self, values: np.ndarray, form: str) -> str:
        """Return the values of the classes as text, the highest first. form: the format of a value."""
        order = np.argsort(-values, kind="stable")[:MAX_SCORES].tolist()
        labels = self.classes.tolist()
        pairs = ", ".join(f"{_label(labels[k])}: {values[k]:{form}}" for k in order)
        return f"{pairs}{', ...' * (len(labels) > MAX_SCORES)}"


def rows_of(classes: np.ndarray, scheme: str) -> tuple[tuple[Any, ...], ...]:
    """Return the class, or the pair of classes, of each row of weights."""
    labels = classes.tolist()
    if scheme == "ovo" and len(labels) > 2:
        return tuple(combinations(labels, 2))
    return ((labels[-1],),) if len(labels) <= 2 and scheme != "labels" else tuple((label,) for label in labels)


def verdict(
    classes: np.ndarray, decision: np.ndarray, winners: np.ndarray, several: bool, calibration: Any
) -> dict[str, Any]:
    """Return the prediction, the runner-up and the probabilities by the scores of one example."""
    labels, scores = classes.tolist(), np.ravel(decision).astype(np.float64)
    result: dict[str, Any] = {"classes": classes, "decision": scores, "runner_up": None}
    result["probabilities"] = None if calibration is None else np.ravel(calibration.of(scores[None]))
    if several:
        flags = np.ravel(winners)
        return result | {"prediction": [label for label, flag in zip(labels, flags, strict=True) if flag]}
    first = int(np.ravel(winners)[0])
    others = [k for k in range(len(labels)) if k != first]
    if others:  # two classes have one score
        second = others[0] if len(others) == 1 else max(others, key=lambda k: (scores[k], -k))
        result["runner_up"] = labels[second]
    return result | {"prediction": labels[first]}


def explain_weights(model: Any, rows: Rows, unknown: list[str]) -> Explanation:
    """Return the explanation of one example by a linear model. unknown: names in it that the model does not know."""
    learner, combine, zero_score = learner_of(model), model.combine, model.zero_score
    values = (rows.values if isinstance(rows, Sparse) else rows.values[0]).astype(np.float64)
    places = np.flatnonzero(values)
    columns, values = rows.columns[places].astype(np.int64) if isinstance(rows, Sparse) else places, values[places]
    if combine == "pocket":
        w, b = learner.predicting("pocket")
        w = w[:, columns]
    else:
        w, b = learner.weights.last(columns) if combine == "last" else learner.weights.average(columns)
    names, signs = names_of(model, columns)
    decision = learner.score_one(rows, combine, zero_score)
    winners = learner.winners(decision, zero_score)
    return Explanation(
        **verdict(learner.classes, decision, winners, learner.scheme == "labels", learner.calibration),
        rows=rows_of(learner.classes, learner.scheme),
        columns=columns,
        features=names,
        values=values * signs,
        weights=w.astype(np.float64) * signs,
        bias=b.astype(np.float64),
        combine=combine,
        unknown=tuple(unknown),
        threshold=learner.threshold,
        units=units_of(model),
    )


def _label(label: Any) -> str:
    return short(repr(label))
