"""The weights of a model by row and feature name, or the coefficients of a kernel model by support vector."""

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.feature_names import ColumnNames, Units, units_of
from perceptrons.engine.wording import short
from perceptrons.inspection.evaluation import several_labels
from perceptrons.inspection.names import Names, name_of, names_in_files
from perceptrons.inspection.units import centring

if TYPE_CHECKING:
    from perceptrons.linear import Perceptron


class Weight(NamedTuple):
    """The weight of a feature. column: counted from 0. others: features that share the column."""

    feature: str
    column: int
    weight: float
    others: tuple[str, ...] = ()
    raw_weight: float | None = None  # per unit of the data, of a number that was scaled

    def shown(self, at_most: int) -> str:
        more = f" +{len(self.others)} more" if self.others else ""
        return short(self.feature, at_most - len(more)) + more

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if value not in ((), None)}


class Row(NamedTuple):
    """The weights of a class, or of a pair of classes; positive ones are evidence for the last class of the row."""

    classes: tuple[Any, ...]
    other: Any  # the class that negative weights are evidence for; None: all others
    weights: np.ndarray
    bias: float

    @property
    def thing(self) -> str:
        return "class" if len(self.classes) == 1 else "pair"

    def title(self, at_most: int = 28) -> str:
        return " vs ".join(short(str(label), at_most) for label in self.classes)

    def named(self) -> dict[str, Any]:
        """Return the class or the pair for JSON."""
        return {self.thing: self.classes[0] if len(self.classes) == 1 else list(self.classes)}

    def is_about(self, label: str) -> bool:
        """Return whether the row is about the label that a user gave."""
        names = [str(known) for known in self.classes]
        return label in names or label == " vs ".join(names)


def dense_coef(model: Any) -> Any:
    """Return the weights that predict as an array, even if `coef_` is sparse; for voting, the averaged weights."""
    coef = model.coef_average_ if getattr(model, "combine", None) == "vote" else model.coef_
    return coef.toarray() if sp.issparse(coef) else coef


def constant_feature(model: "Perceptron") -> float:
    """Return the value of the constant feature whose weight is the bias; 0 for a model without a bias."""
    return math.sqrt(learner_of(model).weights.one)


def rows_of(model: Any, mirrored: bool = True) -> list[Row]:
    """Return the rows of weights: one per class, or one per pair of classes for one-vs-one.

    Two classes share one row, that of the second. With `mirrored`, the first has a row with the opposite weights.
    A voting model has the averaged weights here, and a kernel model its coefficients.
    """
    voting = model.combine == "vote"
    if hasattr(model, "kernel"):
        coef = model.dual_coef_average_ if voting else model.dual_coef_
        b = [0.0] * len(coef)
    else:
        coef = dense_coef(model)
        b = (model.intercept_average_ if voting else model.intercept_).tolist()
    classes = model.classes_.tolist()
    if len(classes) == 2 and not several_labels(model):
        first, second = classes
        rows = [Row((first,), second, -coef[0], -b[0]), Row((second,), first, coef[0], b[0])]
        return rows if mirrored else rows[1:]
    if len(classes) > 2 and model.multiclass == "ovo" and not several_labels(model):
        duels = combinations(classes, 2)
        return [Row(duel, duel[0], *row) for duel, *row in zip(duels, coef, b, strict=True)]
    return [Row((label,), None, *row) for label, *row in zip(classes, coef, b, strict=True)]


def top(row: Row, names: Names, n: int, units: Units | None = None) -> list[Weight]:
    """Return the n largest weights by absolute value, without zeros. units: of the scaled features."""
    places = heaviest(row.weights, n)
    if isinstance(names, ColumnNames):  # a feature with the sign -1 has the opposite of the weight of its column
        weights = []
        for place, features in zip(places, names.called(places), strict=True):
            name, *others = features.names
            weight = features.signs[0] * float(row.weights[place])
            raw_weight = weight / units[name].scale if units and name in units else None
            weights.append(Weight(name, place, weight, tuple(others), raw_weight))
        return weights
    return [Weight(name_of(names, place), place, float(row.weights[place])) for place in places]


def heaviest(weights: np.ndarray, n: int) -> list[int]:
    """Return the indices of the n largest numbers by absolute value, the largest first, without zeros."""
    sizes = np.abs(weights)
    places = np.flatnonzero(sizes)
    if len(places) > n:
        least = np.partition(sizes[places], -n)[-n]
        places = places[sizes[places] >= least]
    return places[np.argsort(-sizes[places], kind="stable")][:n].tolist()


def top_by_row(model: Any, rows: list[Row], n: int) -> list[dict[str, Any]]:
    """Return the top weights of every row for JSON; for scaled numbers, also in the units of the data."""
    names, units, (columns, shifts) = names_in_files(model), units_of(model), centring(model)
    return [
        {
            **row.named(),
            "intercept": row.bias,
            **({"raw_intercept": row.bias - float(row.weights[columns] @ shifts)} if units else {}),
            "weights": [weight.as_json() for weight in top(row, names, n, units)],
        }
        for row in rows
    ]


class ScaledWeights(NamedTuple):
    """The scales of features in some examples, and the weights of a linear model times their deviations."""

    scaler: str | None  # to recommend, if the scales of the features differ widely
    largest: np.ndarray  # absolute value of each feature
    deviations: np.ndarray
    rows: list[Row]  # of weights; empty for a kernel model
    names: Names

    def extremes(self) -> list[tuple[str, float]]:
        """Return the features with the largest and the smallest values, and these values."""
        nonzero = np.flatnonzero(self.largest)
        if not len(nonzero):
            return []
        ends = nonzero[[self.largest[nonzero].argmax(), self.largest[nonzero].argmin()]].tolist()
        return [(name_of(self.names, column), float(self.largest[column])) for column in ends]

    def heaviest(self, n: int) -> list[dict[str, Any]]:
        """Return the features with the largest weight × deviation in any row, the largest first, with that row."""
        if not self.rows:
            return []
        weights = np.array([row.weights for row in self.rows], dtype=np.float64)
        row_numbers = np.abs(weights).argmax(axis=0)
        products = weights[row_numbers, np.arange(weights.shape[1])] * self.deviations
        entries = []
        for product in top(Row(("",), None, products, 0.0), self.names, n):
            row, deviation = self.rows[row_numbers[product.column]], float(self.deviations[product.column])
            entries.append({
                "feature": product.feature, "column": product.column, **row.named(),
                "weight": product.weight / deviation, "deviation": deviation,
                "weight_times_deviation": product.weight,
            })  # fmt: skip
        return entries

    def to_dict(self, n: int) -> dict[str, Any]:
        """Return both for JSON."""
        ends = [{"feature": name, "largest_value": value} for name, value in self.extremes()]
        return {"uneven": self.scaler is not None, "extremes": ends, "weights": self.heaviest(n)}
