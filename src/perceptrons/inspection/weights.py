"""The weights of a model, row by row and by feature name, or its coefficients by example: the largest matter most."""

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
    """One weight: of which feature, and its column counted from 0; others: features that share the column."""

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
    """A row of weights of a class, or of a pair of them; positive ones speak for the (last) one that it names."""

    classes: tuple[Any, ...]
    other: Any  # the class that negative weights speak for; None where they speak for all others
    weights: np.ndarray
    bias: float

    @property
    def thing(self) -> str:
        return "class" if len(self.classes) == 1 else "pair"

    def title(self, at_most: int = 28) -> str:
        return " vs ".join(short(str(label), at_most) for label in self.classes)

    def named(self) -> dict[str, Any]:
        """The class or the pair, for JSON."""
        return {self.thing: self.classes[0] if len(self.classes) == 1 else list(self.classes)}

    def is_about(self, label: str) -> bool:
        """Is this the row, or one of the rows, that a user means?"""
        names = [str(known) for known in self.classes]
        return label in names or label == " vs ".join(names)


def dense_coef(model: Any) -> Any:
    """The weights that predict as an array, also of a model whose `coef_` is sparse; for voting the averaged ones."""
    coef = model.coef_average_ if getattr(model, "combine", None) == "vote" else model.coef_
    return coef.toarray() if sp.issparse(coef) else coef


def constant_feature(model: "Perceptron") -> float:
    """Return the value of the constant feature whose weight is the bias; 0 for a model without a bias."""
    return math.sqrt(learner_of(model).weights.one)


def rows_of(model: Any, mirrored: bool = True) -> list[Row]:
    """The rows of weights: one a class, or a pair if classes were learned one against one.

    Two classes have one row, the second one's; the first one's is its opposite, and there if `mirrored`.
    Voting has no single weights: the averaged ones stand for it. Of a kernel model, coefficients are the weights.
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
    """The n weights farthest from 0, the farthest first; none that are 0. units: of the features that were scaled."""
    places = heaviest(row.weights, n)
    if isinstance(names, ColumnNames):  # a feature may count negatively in its column: its weight is the opposite then
        found = [
            Weight(called.names[0], place, called.signs[0] * float(row.weights[place]), tuple(called.names[1:]))
            for place, called in zip(places, names.called(places), strict=True)
        ]
        return [one._replace(raw_weight=one.weight / units[one.feature].scale) if units and one.feature in units
                else one for one in found]  # fmt: skip
    return [Weight(name_of(names, place), place, float(row.weights[place])) for place in places]


def heaviest(weights: np.ndarray, n: int) -> list[int]:
    """The places of the n numbers farthest from 0, the farthest first; none that are 0."""
    sizes = np.abs(weights)
    places = np.flatnonzero(sizes)
    if len(places) > n:
        least = np.partition(sizes[places], -n)[-n]
        places = places[sizes[places] >= least]
    return places[np.argsort(-sizes[places], kind="stable")][:n].tolist()


def top_by_row(model: Any, rows: list[Row], n: int) -> list[dict[str, Any]]:
    """The top weights of every row, for machines; where numbers were scaled, also in the units of the data."""
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
    """The scales of the features in some examples, and of a linear model its weights times their deviations."""

    scaler: str | None  # to advise, if the features differ widely in scale
    largest: np.ndarray  # by size, of each feature
    deviations: np.ndarray
    rows: list[Row]  # of weights; none of a kernel model
    names: Names

    def extremes(self) -> list[tuple[str, float]]:
        """The features of the largest and the smallest values, and how large these get."""
        there = np.flatnonzero(self.largest)
        if not len(there):
            return []
        ends = there[[self.largest[there].argmax(), self.largest[there].argmin()]].tolist()
        return [(name_of(self.names, column), float(self.largest[column])) for column in ends]

    def heaviest(self, n: int) -> list[dict[str, Any]]:
        """The features of the largest weight × deviation in any row, the largest first, with the row it is in."""
        if not self.rows:
            return []
        weights = np.array([row.weights for row in self.rows], dtype=np.float64)
        which = np.abs(weights).argmax(axis=0)
        usual = weights[which, np.arange(weights.shape[1])] * self.deviations
        found = []
        for one in top(Row(("",), None, usual, 0.0), self.names, n):
            row, deviation = self.rows[which[one.column]], float(self.deviations[one.column])
            found.append({
                "feature": one.feature, "column": one.column, **row.named(),
                "weight": one.weight / deviation, "deviation": deviation, "weight_times_deviation": one.weight,
            })  # fmt: skip
        return found

    def to_dict(self, n: int) -> dict[str, Any]:
        """For JSON."""
        ends = [{"feature": name, "largest_value": value} for name, value in self.extremes()]
        return {"uneven": self.scaler is not None, "extremes": ends, "weights": self.heaviest(n)}
