"""`Explanation`: what each feature, or support vector, adds to the scores of one example."""

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from perceptrons.engine.html import block, note, table
from perceptrons.engine.rows import Rows, Sparse
from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.feature_names import Units, names_of, raw_values, units_of
from perceptrons.engine.wording import short

IN_UNITS = "Values are in the units of the data; a number contributes weight * (value - centre) / scale."
SHOWN = 10  # contributions of a table
SHOWN_SCORES = 8
NOT_PROBABILITIES = "Scores are not probabilities."


class Contribution(NamedTuple):
    """One feature's part in a score: weight × value. Of a kernel: coefficient × kernel value."""

    feature: str
    column: int
    value: float
    weight: float
    contribution: float
    raw_value: float | None = None  # in the units of the data, of a number that was scaled


def largest(
    features: tuple[str, ...], columns: np.ndarray, values: np.ndarray, weights: np.ndarray, n: int
) -> list[Contribution]:
    """The n largest contributions by size, the largest first; none that are 0."""
    parts = weights * values
    places = np.flatnonzero(parts)
    places = places[np.argsort(-np.abs(parts[places]), kind="stable")][: max(0, int(n))]
    numbers = zip(*(part[places].tolist() for part in (columns, values, weights, parts)), strict=True)
    return [Contribution(features[k], *of_one) for k, of_one in zip(places.tolist(), numbers, strict=True)]


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a model answers one example as it does: `model.explain(x)` makes it.

    The contributions of a row and its bias add up to its score, which is what `decision_function` answers, but for
    two ways of deciding: one-vs-one, rows are pairs of classes, and the answers count won pairs; when voting, all
    weights that ever were decide, and the averaged ones stand for them here.

    When to use it: to see which features speak for and against an answer. When not: to compare features of different
    scales by their weights, for which there is
    `perceptrons.theory.scales.comparable_weights`.

    Attributes
    ----------
    classes : array of shape (n_classes,)
    rows : tuple of tuples
        What each row of weights is of: (label,), which positive contributions speak for; or one-vs-one (first, second),
        positive for the second. Two classes have one row, of the second.
    columns : array of shape (n,)
        The columns of the features that are not 0; of a kernel the numbers of support vectors.
    features : tuple of str
        Their names; x0, x1, ... if the model knows none. Of a kernel X[17]: the row of the X that was fitted.
    values, weights, contributions : arrays of shape (n,), (n_rows, n) and (n_rows, n)
        contributions = weights × values. Of a kernel: coefficients and kernel values.
    raw_values : array of shape (n,)
        The values in the units of the data, of numbers that were scaled before the model learned; NaN for others.
    bias, scores : arrays of shape (n_rows,)
    decision : array
        The answer of `decision_function`.
    prediction : label, or a list of labels where there may be several
    runner_up : label or None
        The class of the second highest score; None for several labels.
    combine : str
        The weights that predict: "average", "last", "pocket", or "vote".
    unknown : tuple of str
        Features of the example that the model has never met: they count 0.
    support : array or None
        Of a kernel: the rows of the X that was fitted, -1 where not known.
    threshold : float or None
        Of two classes: the score from which on the second is answered, if the model has such a threshold.
    probabilities : array of shape (n_classes,) or None
        The probability of each class, as `predict_proba` gives it, if the model is calibrated.

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
        """The weights and the bias that speak for a class; one-vs-one, summed over its pairs."""
        self._check(label)
        weights, bias = np.zeros(self.weights.shape[1]), 0.0
        for row, b, named in zip(self.weights, self.bias, self.rows, strict=True):
            sign = 1.0 if label == named[-1] else -1.0 if label in named or self._binary else 0.0
            if sign:
                weights, bias = weights + sign * row, bias + sign * float(b)
        return weights, bias

    def between(self, label: Any, other: Any) -> tuple[np.ndarray, float]:
        """The weights and the bias by which a class leads another: together with the values, by how much."""
        self._check(label)
        self._check(other)
        if label == other:
            return np.zeros(self.weights.shape[1]), 0.0
        pair = next((k for k, named in enumerate(self.rows) if {label, other} == set(named)), None)
        if pair is not None:
            sign = 1.0 if self.rows[pair][-1] == label else -1.0
            return sign * self.weights[pair], sign * float(self.bias[pair])
        if self._binary:
            return self.of(label)
        (for_one, b), (for_other, c) = self.of(label), self.of(other)
        return for_one - for_other, b - c

    def top(self, n: int = SHOWN, label: Any = None) -> list[Contribution]:
        """The n largest contributions, by size: to the score of a label.

        Without a label those that decided between the prediction and the runner-up, positive for the prediction; where
        there are several labels, those to the label of the highest score.
        """
        weights = self._deciding()[0] if label is None else self.of(label)[0]
        found = largest(self.features, self.columns, self.values, weights, n)
        return [
            part._replace(raw_value=self.units[part.feature].value(part.value)) if part.feature in self.units else part
            for part in found
        ]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain lists and numbers, for JSON."""
        named = {"rows": [list(row) for row in self.rows], "features": list(self.features)}
        numbers = ("columns", "values", "weights", "contributions", "bias", "scores", "decision")
        return {
            "classes": self.classes.tolist(),
            "prediction": self.prediction,
            "runner_up": self.runner_up,
            "combine": self.combine,
            **named,
            **{name: getattr(self, name).tolist() for name in numbers},
            "raw_values": [None if np.isnan(value) else value for value in self.raw_values.tolist()],
            "unknown": list(self.unknown),
            "threshold": self.threshold,
            "probabilities": None if self.probabilities is None else self.probabilities.tolist(),
            "support": None if self.support is None else self.support.tolist(),
        }

    def __str__(self) -> str:
        lines = self._lines()
        wide = [max(len(line[k]) for line in lines) for k in range(4)]
        laid = [f"{line[0]:<{wide[0]}}" + "".join(f"  {line[k]:>{wide[k]}}" for k in (1, 2, 3)) for line in lines]
        said, end = self._said()
        return "\n".join([*said, "", *(line.rstrip() for line in laid), "", *end])

    def _repr_html_(self) -> str:
        header, *lines = self._lines()
        said, end = self._said()
        return block(*map(note, said), table(lines, header), *map(note, end))

    # ---- the small steps

    @property
    def _binary(self) -> bool:
        """Does one row distinguish two classes?"""
        return len(self.rows) == 1 and len(self.classes) == 2 and not isinstance(self.prediction, list)

    def _check(self, label: Any) -> None:
        if label not in self.classes.tolist():
            known = ", ".join(map(_label, self.classes[:10].tolist()))
            raise ValueError(
                f"There is no class {_label(label)}: the classes are {known}{', ...' * (len(self.classes) > 10)}."
            )

    def _deciding(self) -> tuple[np.ndarray, float]:
        if self.runner_up is not None:
            return self.between(self.prediction, self.runner_up)
        return self.of(self._highest())

    def _highest(self) -> Any:
        return (
            self.classes.tolist()[int(np.argmax(self.decision))] if len(self.classes) > 1 else self.classes.tolist()[0]
        )

    def _lines(self) -> list[tuple[str, str, str, str]]:
        """The table: header, the largest contributions, the rest, the bias, the sum."""
        weights, bias = self._deciding()
        shown = self.top()
        parts = weights * self.values
        kernel = self.support is not None
        header = (
            ("example", "kernel value", "coefficient", "contribution")
            if kernel
            else ("feature", "value", "weight", "contribution")
        )
        lines = [
            (short(part.feature), self._value(part), f"{part.weight:+.4g}", f"{part.contribution:+.4g}")
            for part in shown
        ]
        others = int(np.count_nonzero(parts)) - len(shown)
        if others:
            rest = float(parts.sum() - sum(part.contribution for part in shown))
            lines.append((f"{others:,} other{'s' * (others > 1)}", "", "", f"{rest:+.4g}"))
        if not kernel:
            lines.append(("(bias)", "", "", f"{bias:+.4g}"))
        return [header, *lines, ("together", "", "", f"{float(parts.sum()) + bias:+.4g}")]

    def _value(self, part: Contribution) -> str:
        unit = self.units.get(part.feature)
        return f"{part.value:.4g}" if unit is None else unit.shown(part.value)

    def _said(self) -> tuple[list[str], list[str]]:
        """What stands before and behind the table."""
        end = list[str]()
        kind = "weights" if self.support is None else "coefficients"
        if isinstance(self.prediction, list):
            answer = ", ".join(map(_label, self.prediction)) or "no label"
            begin = [f"Predicted: {answer}.", self._of_all(), f"Evidence for {_label(self._highest())}:"]
        elif self.runner_up is None:
            begin = [f"Predicted: {_label(self.prediction)}, the only class that the model knows."]
        else:
            first, second = _label(self.prediction), _label(self.runner_up)
            begin = [f"Predicted: {first}; second best: {second}."] + [self._of_all()] * (len(self.classes) > 2)
            apart = len(self.classes) > 2 and len(self.rows[0]) == 1
            less = f"{kind.capitalize()} of {first} minus those of {second}: above" if apart else "Above"
            end.insert(0, f"{less} 0 is evidence for {first}, below 0 for {second}.")
            if self.threshold is not None:
                last = _label(self.classes.tolist()[1])
                begin.append(
                    f"The model predicts {last} for scores of {self.threshold:.4g} or more, instead of 0 or more."
                )
        if self.combine == "vote":
            begin.append(f"All {kind} of the training history voted; the averaged {kind} are shown here instead.")
            if self.runner_up is not None and self._lead() < 0:
                begin.append("Here the averaged weights would predict another class than the votes.")
        if self.probabilities is None:
            end.append(NOT_PROBABILITIES)
        else:
            named = "Probabilities of each label" if isinstance(self.prediction, list) else "Probabilities"
            begin.insert(1, f"{named}: {self._of_each(self.probabilities, '.1%')}.")
        if any(name in self.units for name in self.features):
            end.insert(0, IN_UNITS)
        if self.unknown:
            names = ", ".join(repr(short(name)) for name in self.unknown[:SHOWN])
            end.insert(0, f"Unknown to the model, so they count as 0: {names}{', ...' * (len(self.unknown) > SHOWN)}.")
        return begin, end

    def _lead(self) -> float:
        weights, bias = self._deciding()
        return float((weights * self.values).sum()) + bias

    def _of_all(self) -> str:
        """The answers of decision_function, the highest first."""
        kind = "Votes" if self.combine == "vote" else "Scores"
        return f"{kind}: {self._of_each(self.decision, '.4g')}."

    def _of_each(self, values: np.ndarray, form: str) -> str:
        """The value of each class, the highest first. form: how to write a value."""
        order = np.argsort(-values, kind="stable")[:SHOWN_SCORES].tolist()
        labels = self.classes.tolist()
        shown = ", ".join(f"{_label(labels[k])}: {values[k]:{form}}" for k in order)
        return f"{shown}{', ...' * (len(labels) > SHOWN_SCORES)}"


def rows_of(classes: np.ndarray, scheme: str) -> tuple[tuple[Any, ...], ...]:
    """What the rows of weights are of."""
    labels = classes.tolist()
    if scheme == "ovo" and len(labels) > 2:
        return tuple(combinations(labels, 2))
    return ((labels[-1],),) if len(labels) <= 2 and scheme != "labels" else tuple((label,) for label in labels)


def nonzeros(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The columns and the values of one row that are not 0."""
    values = (rows.values if isinstance(rows, Sparse) else rows.values[0]).astype(np.float64)
    places = np.flatnonzero(values)
    return (rows.columns[places].astype(np.int64) if isinstance(rows, Sparse) else places), values[places]


def verdict(
    classes: np.ndarray, decision: np.ndarray, winners: np.ndarray, several: bool, calibration: Any
) -> dict[str, Any]:
    """The prediction, the runner-up and the probabilities, by the scores of one example."""
    labels = classes.tolist()
    scores = np.ravel(decision).astype(np.float64)
    facts: dict[str, Any] = {"classes": classes, "decision": scores}
    facts["probabilities"] = None if calibration is None else np.ravel(calibration.of(scores[None]))
    if several:
        chosen = [label for label, flag in zip(labels, np.ravel(winners), strict=True) if flag]
        return {**facts, "prediction": chosen, "runner_up": None}
    first = int(np.ravel(winners)[0])
    rest = [k for k in range(len(labels)) if k != first]
    second = None if not rest else rest[0] if len(rest) == 1 else max(rest, key=lambda k: (scores[k], -k))
    runner_up = None if second is None else labels[second]
    return {**facts, "prediction": labels[first], "runner_up": runner_up}


def explain_weights(model: Any, rows: Rows, unknown: list[str]) -> Explanation:
    """The explanation of one example by a linear model. unknown: names in it that are not known."""
    learner, combine, zero_score = learner_of(model), model.combine, model.zero_score
    columns, values = nonzeros(rows)
    if combine == "pocket":
        w, b = learner.predicting("pocket")
        w = w[:, columns]
    else:
        w, b = learner.weights.last(columns) if combine == "last" else learner.weights.average(columns)
    names, signs = names_of(model, columns)
    decision = learner.score_one(rows, combine, zero_score)
    return Explanation(
        **verdict(
            learner.classes,
            decision,
            learner.winners(decision, zero_score),
            learner.scheme == "labels",
            learner.calibration,
        ),
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
