"""The labels of examples, and how often each example counts.

Labels are of any kind outside, one or several per example, and class numbers inside; predictions have the form of the
labels. Weights are sample weights times class weights.
"""

import sys
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import column_or_1d

from perceptrons.engine.training.inputs import as_configured, as_numbers
from perceptrons.engine.training.matrices import sound_csr

MIN_WEIGHT = 1e-20  # below what boosting makes; much smaller steps would vanish, in float32 first
MAX_WEIGHT = 1e6  # a weight is a number of repetitions; above this a single example could take minutes
MAX_LABEL_CHARACTERS = 1_000  # characters: arrays of strings give every label the room of the longest
MAX_TABLE_RANGE = 1_000_000  # whole-number labels within such a range are counted by a table instead of sorted


def check_labels(y: Any) -> np.ndarray:
    """Return y as an array of whole numbers, booleans or strings. Raise ValueError, with the row, for others."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()  # scikit-learn's conversion makes floats of pandas' nullable whole numbers
    refuse_long(y)
    original = y
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "T":
        y = y.astype(object)
    if y.dtype.kind == "f":
        finite = np.isfinite(y)
        if not finite.all():
            row = int(np.argmin(finite))
            raise ValueError(f"Input y contains NaN or infinity at row {row}: every example needs a class label.")
        is_whole = y == np.floor(y)
        if not is_whole.all():
            row = int(np.argmin(is_whole))
            raise ValueError(
                f"Unknown label type: continuous. y[{row}] = {y[row]!s} is not a class; "
                "give classes as whole numbers, booleans or strings, or use a regressor."
            )
        if isinstance(original, list | tuple):
            _refuse_rounded(original, y)
    elif y.dtype.kind == "O":
        return _check_objects(y)
    elif y.dtype.kind not in "biuU":
        raise ValueError(f"Unknown label type: {y.dtype}. Give classes as whole numbers, booleans or strings.")
    return y


def refuse_long(y: Any) -> None:
    """Raise ValueError for a label that is too long, before it widens the array that all others are in."""
    if isinstance(y, np.ndarray) and not (y.dtype.kind in "OT" or y.dtype.itemsize > 4 * MAX_LABEL_CHARACTERS):
        return
    if isinstance(y, list | tuple | np.ndarray):
        for row, label in enumerate(y):
            if isinstance(label, list | tuple) and len(label) == 1:
                label = label[0]
            if isinstance(label, str) and len(label) > MAX_LABEL_CHARACTERS:
                raise ValueError(f"Input y has {too_long(label)} at row {row}: use shorter class names.")


def too_long(label: str) -> str:
    return f"a label of {len(label):,} characters (at most {MAX_LABEL_CHARACTERS:,} are allowed)"


def _check_objects(y: np.ndarray) -> np.ndarray:
    for row, label in enumerate(y):
        if _is_missing(label):
            raise ValueError(f"Input y contains NaN (a missing label, {label!r}) at row {row}.")
    if all(isinstance(label, str) for label in y):
        return y
    if not all(isinstance(label, bool | int | float | np.number | np.bool_) for label in y):
        kinds = sorted({type(label).__name__ for label in y})
        raise ValueError(
            f"Unknown label type: {', '.join(kinds)}. Labels must be all strings or all numbers: convert y first."
        )
    plain = np.array(y.tolist())
    if plain.dtype == object:
        raise ValueError("Labels that do not fit in 64 bits cannot be distinguished as numbers: give them as strings.")
    if plain.dtype.kind == "f":
        _refuse_rounded(y.tolist(), plain)
    return check_labels(plain)


def _refuse_rounded(original: Sequence[Any], y: np.ndarray) -> None:
    """Raise ValueError if NumPy made floats of whole numbers, because some need int64 and others uint64."""
    if np.abs(y).max(initial=0) < 2**63:
        return
    largest = max((label for label in original if isinstance(label, int)), key=abs, default=0)
    if abs(largest) < 2**63:
        return
    raise ValueError(
        f"The label {largest} is too large to be kept exactly beside the other labels: give labels from -2^63 to "
        "2^63 - 1, or use strings."
    )


def _is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, or pandas' NA, which is not even equal to itself."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def distinct(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes in y, sorted, and for each example the number of its class."""
    numbers = y.astype(np.int64) if y.dtype.kind == "f" and np.abs(y).max(initial=0) < 2**53 else y
    if numbers.dtype.kind in "biu" and len(numbers):
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < MAX_TABLE_RANGE and high < 2**62:
            shifted = numbers.astype(np.int64) - low
            table = np.bincount(shifted) > 0
            classes = (np.flatnonzero(table) + low).astype(y.dtype)
            return classes, (np.cumsum(table) - 1).astype(np.int32)[shifted]
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int32)


def places_of(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the place of each label among the classes, all of which are there."""
    order = np.argsort(classes, kind="stable")
    return order[np.searchsorted(classes, labels, sorter=order)]


def merge(known: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return all classes of both, sorted; known ones keep the order that they were given in if nothing is new.

    TypeError if numbers and strings are mixed.
    """
    if not len(new) or not len(known):
        return known if len(known) else new
    textual = [array.dtype.kind in "UO" for array in (known, new)]
    if textual[0] != textual[1]:
        raise TypeError(
            f"Labels of different types: the model knows {known[:3].tolist()}, but y has {new[:3].tolist()}. Use "
            "strings or numbers, not both."
        )
    if len(known) > 1 and (known[1:] < known[:-1]).any():
        check_named(new, known)
        return known
    merged = np.unique(np.concatenate([known, new]))
    rounded = merged.dtype.kind == "f" and "f" not in (known.dtype.kind, new.dtype.kind)  # int64 beside uint64
    if rounded or (not textual[1] and merged.tolist() != sorted({*known.tolist(), *new.tolist()})):
        raise ValueError(
            f"The labels {known[:3].tolist()} and {new[:3].tolist()} cannot be distinguished as {merged.dtype}: give "
            "all labels the same type, or use strings."
        )
    return merged


MIN_EXAMPLES_TO_CALL_SORTED = 10  # examples of each of two classes, from which on a block can be called sorted
SETS = {"set": set, "frozenset": frozenset, "tuple": tuple, "list": list}  # forms of label sets
NO_SETS = (str, bytes, Mapping)  # a dict may say no of a label, as {"spam": 0}: its keys are no label set
FORMS = ("single", "array", "sparse", *SETS)


class Target(NamedTuple):
    """Checked labels: numbers of classes, or for several an indicator matrix, its columns the classes."""

    form: str
    classes: np.ndarray  # sorted, unless the user has put them in order
    codes: np.ndarray  # int32 (n,); all 0 for several labels
    indicator: np.ndarray | None = None  # bool (n, classes)

    @property
    def several(self) -> bool:
        return self.indicator is not None

    def part(self, rows: np.ndarray) -> "Target":
        """Return the labels of these examples."""
        indicator = None if self.indicator is None else self.indicator[rows]
        return Target(self.form, self.classes, self.codes[rows], indicator)

    def used(self) -> "Target":
        """Return the same labels without classes that do not occur."""
        if self.indicator is not None:
            return self
        places, codes = np.unique(self.codes, return_inverse=True)
        return Target(self.form, self.classes[places], codes.astype(np.int32))

    @property
    def truth(self) -> np.ndarray:
        """The number of each example's class; for several labels a matrix of flags."""
        return self.codes if self.indicator is None else self.indicator

    def among(self, classes: np.ndarray) -> "Target":
        """Return the same labels, numbered within more classes."""
        places = places_of(self.classes, classes)
        if self.indicator is None:
            return Target(self.form, classes, places.astype(np.int32)[self.codes])
        wider = np.zeros((len(self.codes), len(classes)), bool)
        wider[:, places] = self.indicator
        return Target(self.form, classes, self.codes, wider)

    def weights(
        self, sample_weight: Any, class_weight: Any, stream: bool
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the weights of the examples, and for several labels those of a label's negative and positive ones."""
        if self.indicator is None:
            return check_weights(sample_weight, class_weight, self.classes, self.codes, stream), None
        weight = check_weights(sample_weight, None, self.classes, self.codes, stream)
        by_label = label_weights(class_weight, self.classes, self.indicator, weight, stream)
        if by_label is not None and weight is not None:
            check_range(np.outer([weight[weight > 0].min(initial=1), weight.max(initial=1)], by_label))
        return weight, by_label


def read_target(y: Any, n: int, form: str = "") -> Target:
    """Read the labels of n examples: one each, an indicator matrix of two or more columns, or label sets.

    Lists or tuples of 0 and 1, all of one length, are an indicator matrix, or a column of labels if that length is 1,
    unless a model has been taught label sets: form is that of the labels it knows.
    """
    if type(y).__name__ == "LazyFrame":
        raise TypeError("y is a lazy frame: call its collect() first.")
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise ValueError("y is a masked array with masked labels: leave these examples out.")
    if hasattr(y, "to_list") and (np.dtype(object) == y.dtype or "List" in str(y.dtype)):
        y = y.to_list()  # a Series of lists
    if isinstance(y, Target):  # as readers of files give several labels
        target = y
    elif form in SETS and _are_sets(y):
        target = _label_sets(y)
    else:
        target = _indicator(y) if _is_matrix(y) else _label_sets(y) if _are_sets(y) and not _column(y) else _single(y)
    if len(target.codes) != n:
        raise ValueError(f"X has {n} rows, but y has labels for {len(target.codes)}: inconsistent numbers of samples.")
    return target


def read_classes(classes: Any) -> np.ndarray:
    """Return all classes that may come, as the user names them."""
    try:
        return np.unique(check_labels(sorted(classes) if isinstance(classes, set | frozenset) else classes))
    except (ValueError, TypeError) as error:
        raise ValueError(f"classes={classes!r} is not a list of labels: {error}") from error


def in_order(target: Target, classes: Any) -> Target:
    """Return the labels, numbered among the classes in the order that the user gave; None: the usual order."""
    if classes is None:
        return target
    if target.several:
        raise ValueError("classes is for one label per example, and y has several: leave it out.")
    ordered = check_order(classes)
    check_named(target.classes, ordered)
    return target.among(ordered)


def check_order(classes: Any) -> np.ndarray:
    """Return the classes in the order that the user gave."""
    try:
        check_labels(np.array(list(classes), dtype=object))  # as strings, numbers among strings would be strings
        ordered = check_labels(list(classes))
    except (ValueError, TypeError) as error:
        raise ValueError(f"classes={classes!r} is not a list of labels: {error}") from error
    if isinstance(classes, set | frozenset) or len(ordered) < 2 or len(np.unique(ordered)) < len(ordered):
        raise ValueError(f"classes={classes!r}: give two or more different labels, in order.")
    return ordered


def check_named(labels: np.ndarray, classes: np.ndarray) -> None:
    """Raise ValueError if there are classes that were not named."""
    unnamed = ~np.isin(labels, classes)
    if unnamed.any():
        raise ValueError(f"y has the labels {labels[unnamed].tolist()}, which are not in classes.")


def numbered(target: Target, classes: Any, known: np.ndarray | None) -> Target:
    """The labels of a block, numbered among all classes known by now. classes: as the user names them, or None."""
    if classes is None and known is not None and np.array_equal(known, target.classes):
        return target._replace(classes=known)
    listed = target.classes if classes is None else read_classes(classes)
    if target.form in ("array", "sparse") and len(listed) != len(target.classes):
        raise ValueError(
            f"y has {len(target.classes)} columns, but classes names {len(listed)} labels: an indicator matrix has "
            "one column per label."
        )
    check_named(target.classes, listed)
    return target.among(merge(listed[:0] if known is None else known, listed))


def winners(
    scores: np.ndarray, n_classes: int, several: bool = False, positive_at_zero: bool = False,
    threshold: float | None = None,
) -> np.ndarray:  # fmt: skip
    """Return the number of the winning class for every row of scores; for several labels a flag for each.

    Scores are (n, classes), or (n,) for at most two classes, positive for the second. threshold: of two classes, the
    second wins at or above it.
    """
    if not several and scores.ndim == 2:
        return scores.argmax(axis=1)
    if not several and n_classes == 1:
        return np.zeros(len(scores), np.intp)
    if threshold is not None:
        return (scores.astype(np.float64) >= threshold).astype(np.intp)  # in float32 the threshold would be rounded
    return (scores >= 0 if positive_at_zero else scores > 0).astype(np.intp)


def check_threshold(threshold: Any, classes: np.ndarray, form: str) -> float | None:
    """Return the threshold as a float, checked. None stands for the learned decision boundary."""
    if threshold is None:
        return None
    if form != "single" or len(classes) != 2:
        have = f"{len(classes)} classes" if form == "single" else "several labels per example"
        raise ValueError(f"threshold_ is for models with two classes, but this one has {have}.")
    number = isinstance(threshold, int | float | np.number) and not isinstance(threshold, bool)
    if not number or not np.isfinite(threshold):
        raise ValueError(f"threshold_={threshold!r}: give a finite number, or None for the learned decision boundary.")
    return float(threshold)


def warn_if_sorted(codes: np.ndarray) -> None:
    """Warn where a block is learned in the order it comes, and that is class after class.

    codes: of single labels. Ten examples of each of two classes are hardly ever sorted by chance.
    """
    if len(codes) < 2 * MIN_EXAMPLES_TO_CALL_SORTED:
        return
    changes = np.count_nonzero(codes[1:] != codes[:-1])
    counts = np.sort(np.bincount(codes - codes.min()))
    if changes == np.count_nonzero(counts) - 1 > 0 and counts[-2] >= MIN_EXAMPLES_TO_CALL_SORTED:
        warnings.warn(
            "partial_fit visits the rows in the given order, and these are sorted by label, so the last class "
            "dominates. Shuffle them first, X, y = sklearn.utils.shuffle(X, y), or use fit.",
            UserWarning,
            stacklevel=3,
        )


def answer(winners: np.ndarray, classes: np.ndarray, form: str) -> Any:
    """Return predictions in the form of the labels. winners: class numbers, or for several labels flags."""
    if form == "single":
        return classes[winners]
    if form == "array":
        return winners
    if form == "sparse":
        return as_configured(sp.csr_matrix(winners))
    return [SETS[form](classes[flags.astype(bool)].tolist()) for flags in winners]


def _single(y: Any) -> Target:
    classes, codes = distinct(check_labels(y))
    return Target("single", classes, codes)


def _is_matrix(y: Any) -> bool:
    if sp.issparse(y):
        return True
    if hasattr(y, "columns") or isinstance(y, np.ndarray):
        return len(y.shape) == 2 and y.shape[1] > 1
    return _are_sets(y) and _rectangular(y)


def _are_sets(y: Any) -> bool:
    """Return whether y is a list of collections."""
    if isinstance(y, list | tuple) or (hasattr(y, "__array__") and np.dtype(object) == getattr(y, "dtype", None)):
        return len(y) > 0 and all(isinstance(labels, Collection) and not isinstance(labels, NO_SETS) for labels in y)
    return False


def _column(y: Any) -> bool:
    """Return whether there is a single label in every row, written as [[1], [2]]."""
    return all(isinstance(row, list | tuple | np.ndarray) and len(row) == 1 for row in y)


def _rectangular(y: Any) -> bool:
    """Return whether the rows contain only 0 and 1 and have one length of at least 2, as an indicator matrix."""
    rows = list(y)
    if not all(isinstance(row, list | tuple | np.ndarray) and len(row) == len(rows[0]) > 1 for row in rows):
        return False
    return all(isinstance(flag, int | float | np.number | np.bool_) and flag in (0, 1) for row in rows for flag in row)


def _indicator(y: Any) -> Target:
    form = "sparse" if sp.issparse(y) else "array"
    if sp.issparse(y):
        y = sound_csr(y, "y")
        is_binary = y.dtype.kind in "biuf" and bool(np.isin(y.data, (0, 1)).all())
        matrix = y.astype(bool).toarray() if is_binary else y.toarray()
    else:
        matrix = np.asarray(y)
    if matrix.dtype == object:
        matrix = np.array(matrix.tolist())
    is_invalid = (matrix != 0) & (matrix != 1) if matrix.dtype.kind in "biuf" else np.ones(matrix.shape, bool)
    if is_invalid.any():
        row, column = (int(place[0]) for place in np.nonzero(is_invalid))
        raise ValueError(
            f"Unknown label type: y[{row}, {column}] = {matrix[row, column]!r}. A y with several columns must "
            "contain 0 and 1, for the labels of each example. Several outputs at once are not supported: train one "
            "model per output."
        )
    return Target(form, np.arange(matrix.shape[1]), np.zeros(len(matrix), np.int32), matrix.astype(bool, copy=False))


def _label_sets(y: Any) -> Target:
    every = [label for labels in y for label in labels]
    as_given = np.empty(len(every), object)  # NumPy would make strings of numbers among strings
    as_given[:] = every
    classes, codes = distinct(check_labels(as_given)) if every else (np.empty(0, np.int64), np.empty(0, np.intp))
    indicator = np.zeros((len(y), len(classes)), bool)
    indicator[np.repeat(np.arange(len(y)), [len(labels) for labels in y]), codes] = True
    form = next((name for name, kind in SETS.items() if isinstance(y[0], kind)), "list")
    return Target(form, classes, np.zeros(len(y), np.int32), indicator)


def same_form(known: str, new: str) -> bool:
    """Return whether a model that was trained on labels of one form may be trained on another."""
    groups = ({"single"}, {"array", "sparse"}, set(SETS))
    return any(known in group and new in group for group in groups)


# ---- weights


def check_weights(
    sample_weight: Any, class_weight: Any, classes: np.ndarray, codes: np.ndarray, stream: bool
) -> np.ndarray | None:
    """Return the weight of every example, sample weight times class weight, or None if all are 1.

    In a stream, class weights may name classes that come later, and a block may be of classes that weigh nothing.
    """
    n = len(codes)
    weight = None
    if sample_weight is not None:
        weight = as_numbers(sample_weight, "sample_weight")
        if weight.ndim == 0:
            weight = np.full(n, float(weight))
        if weight.shape != (n,):
            raise ValueError(f"sample_weight.shape == {weight.shape}, but X has {n} rows: it must be ({n},).")
        is_invalid = ~(weight >= 0) | np.isinf(weight)
        if is_invalid.any():
            row = int(np.argmax(is_invalid))
            raise ValueError(f"sample_weight[{row}] = {weight[row]}: weights must be finite and not negative.")
        if not weight.any():
            raise ValueError("All sample weights are zero: there is nothing to learn from.")
    if class_weight is not None:
        by_class = _class_weights(class_weight, classes, codes, weight, stream)
        weight = by_class[codes] if weight is None else weight * by_class[codes]
    if weight is None:
        return None
    if not (stream or weight.any()):
        raise ValueError("Sample and class weights leave nothing to learn from: all are zero.")
    check_range(weight)
    return None if (weight == 1).all() else weight


def check_range(weight: np.ndarray) -> None:
    if ((weight > 0) & (weight < MIN_WEIGHT)).any():
        raise ValueError(f"Weights must be 0 or at least {MIN_WEIGHT:g}: multiply all weights by the same number.")
    if weight.max(initial=0) > MAX_WEIGHT:
        raise ValueError(
            f"The largest weight is {weight.max():g}; a weight is the number of times its example is repeated, and "
            f"at most {MAX_WEIGHT:g} is allowed. Divide the weights by their mean."
        )


def label_weights(
    class_weight: Any, classes: np.ndarray, indicator: np.ndarray, weight: np.ndarray | None, stream: bool
) -> np.ndarray | None:
    """For several labels: the weight of the examples without and with each label, (labels, 2); None if all are 1."""
    if class_weight is None:
        return None
    if isinstance(class_weight, Mapping):
        positive = _class_weights(class_weight, classes, np.empty(0, np.int32), None, stream)
        by_label = np.stack([np.ones(len(classes)), positive], axis=1)
    else:
        total = float(len(indicator) if weight is None else weight.sum())
        having = indicator.sum(axis=0) if weight is None else weight @ indicator
        by_label = balanced_weights(np.stack([total - having, having], axis=1))
    check_range(by_label)
    return by_label


def balanced_weights(counts: np.ndarray) -> np.ndarray:
    """Weights that give all classes the same total, by how many examples each has, along the last axis; 0 for none.

    The rarest class has the weight 1, and the others less. A weight above 1 would repeat an example on the spot, and
    repetitions end as soon as it is right, mostly after one step: such a class would count little more than with 1.
    A weight below 1 shortens the step, by exactly that factor.
    """
    rarest = np.where(counts > 0, counts, np.inf).min(axis=-1, keepdims=True)
    return np.where(counts > 0, rarest / np.where(counts > 0, counts, 1), 0.0)


def _class_weights(
    class_weight: Any, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray | None, stream: bool
) -> np.ndarray:
    if class_weight == "balanced":
        return balanced_weights(np.bincount(codes, weights=weight, minlength=len(classes)))
    if isinstance(class_weight, Mapping):
        labels = classes.tolist()
        for label, value in class_weight.items():
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not (number and 0 <= value <= sys.float_info.max):
                raise ValueError(f"class_weight[{label!r}] = {value!r}: weights must be finite and not negative.")
            if label not in labels and not stream:
                raise ValueError(f"class_weight names the class {label!r}, which is not among {labels[:10]}.")
        return np.array([float(class_weight.get(label, 1.0)) for label in labels])
    raise ValueError(f"class_weight={class_weight!r}: give a dict {{class: weight}}, 'balanced' or None.")
