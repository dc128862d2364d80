"""The weights of any fitted model, by class and feature name, and the units of the data that they are for.

A kernel model has coefficients of support vectors in their place. A model that was trained on scaled numbers learned
from (x - centre) / scale: its weight w is what one `scale` of x adds to the score, so weights can be compared with each
other. One unit of x adds w / scale, and the bias makes up for the centre.
"""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons.engine.training.base import learner_of
from perceptrons.engine.training.feature_names import (
    ColumnFeatures,
    ColumnNames,
    Units,
    factor_beside_words,
    units_of,
)
from perceptrons.engine.wording import short
from perceptrons.inspection.evaluation import several_labels
from perceptrons.inspection.metrics import Facts

if TYPE_CHECKING:
    from perceptrons.kernel import KernelPerceptron
    from perceptrons.linear import Perceptron
    from perceptrons.sequence import SequencePerceptron

STEPS = {"standard": "standard deviation", "max-abs": "largest absolute value"}  # the unit of a scaled number
START, STOP = "(start)", "(end)"  # of a sentence, among the labels of transitions
MAX_NEVER_UPDATED_NAMES = 20


# ---- names of features


@dataclass(frozen=True)
class DisplayNames:
    """The names that files have for features: given ones, those of hashed or remembered columns, or column numbers."""

    names: list[str] | None = None
    columns: ColumnNames | None = None
    is_zero_based: bool = False

    def __getitem__(self, column: int) -> str:
        return self.of_columns([column])[0].names[0]

    def of_columns(self, columns: list[int]) -> list[ColumnFeatures]:
        """Return the features of each column; several of them may share a hashed column."""
        if self.columns is not None:
            return self.columns.called(columns)
        return [ColumnFeatures([self._name(column)], [1]) for column in columns]

    def _name(self, column: int) -> str:
        if self.names is None:
            return f"column {column + (not self.is_zero_based)}"
        name = self.names[column]
        return f"column {name}" if name.isdecimal() else name


def names_in_files(model: Any) -> DisplayNames:
    """Return the names that files have for the features of a model."""
    if is_tagger(model):
        is_matrix = learner_of(model).features.kind == "matrix"
        return DisplayNames(None if is_matrix else [str(name) for name in model.attributes_])
    names, columns = getattr(model, "feature_names_in_", None), getattr(model, "columns_", None)
    if names is not None:
        return DisplayNames(list(names))
    if columns is not None:
        return DisplayNames(columns=ColumnNames(columns))
    return DisplayNames(is_zero_based=bool((getattr(model, "source_", None) or {}).get("zero_based")))


def names_as_files(model: Any) -> DisplayNames | None:
    """Return names as files have them; None if the model stores names itself."""
    names = names_in_files(model)
    return names if names.columns is None else None


def names_of_table(table: Any) -> list[str] | dict[int, str] | None:
    """Return the names of the features of a table; of hashed ones by column, with - for a negative sign."""
    names, columns = table.feature_names, table.columns
    if columns is None or columns.bits is None:
        return None if names is None else [DisplayNames(names)[column] for column in range(len(names))]
    places = sorted(set(columns.columns.tolist()))
    features = ColumnNames(columns).called(places)
    return {
        place: "-" * (one.signs[0] < 0) + one.names[0] + f" and {len(one.names) - 1} more" * (len(one.names) > 1)
        for place, one in zip(places, features, strict=True)
    }


def support_names(model: "KernelPerceptron", lines: np.ndarray | None = None) -> DisplayNames:
    """Return a name for each support vector: its line, its number among the training examples, or its own number."""
    rows = model.support_.tolist()
    if lines is not None:
        return DisplayNames([f"line {lines[row]}" for row in rows])
    return DisplayNames([f"support {place}" if row < 0 else f"example {row + 1}" for place, row in enumerate(rows, 1)])


# ---- units of scaled numbers


def are_scaled(model: object) -> bool:
    """Return whether a model learned from scaled numbers, so that its weights can be compared."""
    preparation = (getattr(model, "source_", None) or {}).get("preparation") or {}
    return preparation.get("scale", "none") != "none"


def step_of(model: Any) -> str | None:
    """Return the unit of scaled numbers as text, such as "standard deviation"; None without scaling."""
    if not are_scaled(model):
        return None
    preparation = model.source_["preparation"]
    steps = 1 / factor_beside_words(preparation)
    return STEPS[preparation["scale"]] if steps == 1 else f"{steps:.3g} {STEPS[preparation['scale']]}s"


def unit_with_article(step: str) -> str:
    """Return the unit of a scaled number with its article."""
    return step if step[0].isdecimal() else f"the {step}"


def _raw_intercepts(model: Any, rows: "list[Row]", units: Units) -> list[float]:
    """Return the bias of each row in the units of the data: less the sum of weight * centre / scale."""
    columns = model.columns_
    numbers = np.array([number for number, name in enumerate(columns.names()) if name in units], np.int64)
    shifts = np.array([units[name].centre / units[name].scale for name in columns.names(numbers)])
    places, shifts = columns.columns[numbers], shifts * columns.signs[numbers]
    return [row.bias - float(row.weights[places] @ shifts) for row in rows]


# ---- rows of weights


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

    def as_json(self) -> Facts:
        return {name: value for name, value in self._asdict().items() if value not in ((), None)}


class Row(NamedTuple):
    """The weights of a class, or of a pair of classes; positive ones are evidence for the last class of the row."""

    classes: tuple[object, ...]
    other: object  # the class that negative weights are evidence for; None: all others
    weights: np.ndarray
    bias: float
    thing: str = "class"  # or "pair" of classes, or "label" of a tagger

    def title(self, at_most: int = 28) -> str:
        return " vs ".join(short(str(label), at_most) for label in self.classes)

    def named(self) -> Facts:
        """Return the class or the pair for JSON."""
        return {self.thing: self.classes[0] if len(self.classes) == 1 else list(self.classes)}

    def is_about(self, label: str) -> bool:
        """Return whether the row is about the label that a user gave."""
        names = [str(known) for known in self.classes]
        return label in names or label == " vs ".join(names)


def is_tagger(model: object) -> bool:
    """Return whether a model labels sequences."""
    return hasattr(model, "templates")


def dense_coef(model: Any) -> Any:
    """Return the weights that predict as an array, even if `coef_` is sparse; for voting, the averaged weights."""
    coef = model.coef_average_ if getattr(model, "combine", None) == "vote" else model.coef_
    return coef.toarray() if sp.issparse(coef) else coef


def constant_feature(model: "Perceptron") -> float:
    """Return the value of the constant feature whose weight is the bias; 0 for a model without a bias."""
    return math.sqrt(learner_of(model).weights.one)


def rows_of(model: Any, mirrored: bool = True) -> list[Row]:
    """Return the rows of weights: one per class or label, or one per pair of classes for one-vs-one.

    Two classes share one row, that of the second. With `mirrored`, the first has a row with the opposite weights.
    A voting model has the averaged weights here, and a kernel model its coefficients.
    """
    classes = model.classes_.tolist()
    if is_tagger(model):
        return [Row((str(label),), None, w, 0.0, "label") for label, w in zip(classes, model.coef_, strict=True)]
    voting = model.combine == "vote"
    if hasattr(model, "kernel"):
        coef = model.dual_coef_average_ if voting else model.dual_coef_
        b = [0.0] * len(coef)
    else:
        coef = dense_coef(model)
        b = (model.intercept_average_ if voting else model.intercept_).tolist()
    if len(classes) == 2 and not several_labels(model):
        first, second = classes
        rows = [Row((first,), second, -coef[0], -b[0]), Row((second,), first, coef[0], b[0])]
        return rows if mirrored else rows[1:]
    if len(classes) > 2 and model.multiclass == "ovo" and not several_labels(model):
        duels = combinations(classes, 2)
        return [Row(duel, duel[0], w, bias, "pair") for duel, w, bias in zip(duels, coef, b, strict=True)]
    return [Row((label,), None, *row) for label, *row in zip(classes, coef, b, strict=True)]


def heaviest(weights: np.ndarray, n: int) -> list[int]:
    """Return the indices of the n largest numbers by absolute value, the largest first, without zeros."""
    sizes = np.abs(weights)
    places = np.flatnonzero(sizes)
    if len(places) > n:
        least = np.partition(sizes[places], -n)[-n]
        places = places[sizes[places] >= least]
    return places[np.argsort(-sizes[places], kind="stable")][:n].tolist()


def top(row: Row, names: DisplayNames, n: int, units: Units | None = None) -> list[Weight]:
    """Return the n largest weights by absolute value, without zeros. units: of the scaled features."""
    weights, places = [], heaviest(row.weights, n)
    for place, features in zip(places, names.of_columns(places), strict=True):
        name, *others = features.names
        weight = features.signs[0] * float(row.weights[place])  # with the sign -1, it is the opposite of the column's
        raw_weight = weight / units[name].scale if units and name in units else None
        weights.append(Weight(name, place, weight, tuple(others), raw_weight))
    return weights


def most_important(model: Any, rows: list[Row], n: int, lines: np.ndarray | None = None) -> Facts:
    """Return the n largest weights, or support vectors, of every row for JSON. lines: of the training examples."""
    names = DisplayNames() if hasattr(model, "kernel") else names_in_files(model)
    units = {} if is_tagger(model) else units_of(model)
    tops = [(row, top(row, names, n, units)) for row in rows]
    if is_tagger(model):
        features = [[{"feature": one.feature, "weight": one.weight} for one in weights] for _, weights in tops]
        return {"weights": [{**row.named(), "features": part} for row, part in zip(rows, features, strict=True)]}
    if hasattr(model, "kernel"):
        examples = [[_support_as_json(model, weight, lines) for weight in weights] for _, weights in tops]
        return {
            "support": [{"class": row.classes[0], "examples": part} for row, part in zip(rows, examples, strict=True)]
        }
    raw = [{"raw_intercept": bias} for bias in _raw_intercepts(model, rows, units)] if units else [{} for _ in rows]
    return {
        "weights": [
            {**row.named(), "intercept": row.bias, **more, "weights": [weight.as_json() for weight in weights]}
            for (row, weights), more in zip(tops, raw, strict=True)
        ]
    }


def _support_as_json(model: "KernelPerceptron", weight: Weight, lines: np.ndarray | None) -> Facts:
    """Return a support vector with its coefficient: its row counts from 0, its line from 1; None if not known."""
    row = int(model.support_[weight.column])
    line = None if row < 0 or lines is None else int(lines[row])
    return {"support": weight.column, "row": row if row >= 0 else None, "line": line, "coefficient": weight.weight}


def transitions(tagger: "SequencePerceptron", n: int, label: str | None) -> list[tuple[str, str, float]]:
    """Return (from, to, weight) of the n largest transitions, including the ends of sentences."""
    k = len(tagger.classes_)
    arcs = np.zeros((k + 1, k + 1))
    arcs[:-1, :-1], arcs[-1, :-1], arcs[:-1, -1] = tagger.transitions_, tagger.start_, tagger.stop_
    names = [str(name) for name in tagger.classes_.tolist()]
    largest = []
    for place in heaviest(arcs.ravel(), arcs.size):
        i, j = divmod(place, k + 1)
        before, after = [*names, START][i], [*names, STOP][j]
        if label is None or label in (before, after):
            largest.append((before, after, float(arcs[i, j])))
        if len(largest) == n:
            break
    return largest


class ScaledWeights(NamedTuple):
    """The scales of features in some examples, and the weights of a linear model times their deviations."""

    scaler: str | None  # to recommend, if the scales of the features differ widely
    largest: np.ndarray  # absolute value of each feature
    deviations: np.ndarray
    rows: list[Row]  # of weights; empty for a kernel model
    names: DisplayNames

    def extremes(self) -> list[tuple[str, float]]:
        """Return the features with the largest and the smallest values, and these values."""
        nonzero = np.flatnonzero(self.largest)
        if not len(nonzero):
            return []
        ends = nonzero[[self.largest[nonzero].argmax(), self.largest[nonzero].argmin()]].tolist()
        return [(self.names[column], float(self.largest[column])) for column in ends]

    def heaviest(self, n: int) -> list[Facts]:
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

    def to_dict(self, n: int) -> Facts:
        """Return both for JSON."""
        ends = [{"feature": name, "largest_value": value} for name, value in self.extremes()]
        return {"uneven": self.scaler is not None, "extremes": ends, "weights": self.heaviest(n)}


# ---- columns that several features share, or that were never updated


def hashing_audit(model: Any, rows: list[Row], top: int) -> Facts | None:
    """Return how features share columns, and the shared columns with the largest weights; None without hashing."""
    columns = getattr(model, "columns_", None)
    if columns is None or columns.bits is None or hasattr(model, "kernel"):
        return None
    weights = np.array([row.weights for row in rows])
    audit = {"bits": columns.bits, "signed": columns.signed, **columns.audit(weights, top)}
    features = ColumnNames(columns).called([entry["column"] for entry in audit["heaviest"]])
    for entry, shared in zip(audit["heaviest"], features, strict=True):
        entry |= {"names": shared.names, "signs": shared.signs}
    return audit


def never_updated(model: Any) -> Facts | None:
    """Return how many features were never updated, of how many, and some names; None for kernel models.

    With hashing, only columns with a known name count.
    """
    if hasattr(model, "kernel"):
        return None
    untouched, names = model.never_updated_, names_in_files(model)
    columns = None if names.columns is None else names.columns.columns
    if columns is not None and columns.bits is not None:
        used = np.unique(columns.columns)
        total, places = len(used), used[untouched[used]]
    else:
        total, places = len(untouched), np.flatnonzero(untouched)
    labels = [features.names[0] for features in names.of_columns(places[:MAX_NEVER_UPDATED_NAMES].tolist())]
    return {"count": len(places), "of": total, "features": labels}
